"""The command line's ``--sizes``: one kernel for many sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.cli.main import main

MATMUL = str(Path(__file__).resolve().parents[2] / "apps" / "dataflow" / "matmul.c")


def run(*arguments: str) -> int:
    return main([MATMUL, "--target", "dataflow", *arguments])


def test_several_sizes_run_on_one_kernel(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run("--sizes", "N=2..4", "--simulator", "icarus", "--stall-seed", "1", "-o", str(tmp_path)) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if "N=" in line]
    found = {row[1]: [row[k] for k in (7, 9, 13)] for row in rows if len(row) > 13}
    assert found == {"N=2": ["13", "13", "yes"], "N=4": ["69", "69", "yes"]}
    assert (tmp_path / "rtl" / "dataflow_system.v").exists()


def test_one_of_the_sizes_runs_like_any_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--sizes", "N=2..4", "--set", "N=3", "--random", "1", "--simulator", "none") == 0
    assert "cycles predicted" in (text := capsys.readouterr().out)
    assert "32" in text


@pytest.mark.parametrize(("arguments", "message"), [
    (["--sizes", "N=2"], "--sizes N=2: write NAME=LEAST..GREATEST, like N=2..5"),
    (["--sizes", "N=2..3", "--sizes", "N=4..5"], "--sizes gives N twice"),
    (["--sizes", "N=5..2"], "size N: 5 to 2 is no range of sizes"),
    (["--sizes", "N=1..999"], "there are 999 combinations of sizes, not 1 to 256"),
    (["--sizes", "N=2..3", "--sizes", "M=2..3", "--set", "N=2"], "--set gives N, and of the sizes also M is needed"),
    (["--sizes", "N=2..3", "--set", "N=x"], "--set N=x: a size is a whole number"),
    (["--sizes", "N=2..3", "--set", "N=4", "--random", "1"], "size N is 4, not in 2..3 that the kernel is made for"),
    (["--sizes", "N=2..3", "--report", "."], "--report is for one size: choose it, like --set N=2"),
    (["--sizes", "M=2..3"], "there is no macro or scalar parameter 'M'; there are: N"),
    (["--sizes", "N=2..3", "--target", "cgra"], "target cgra has no run-time sizes; with them: dataflow"),
])
def test_what_sizes_cannot_be(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*arguments, "--simulator", "none") == 1
    assert message in " ".join(capsys.readouterr().err.split())
