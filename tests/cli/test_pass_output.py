"""What the command line shows of passes."""

import re

import pytest

from compiler.attempts import attempt, record_attempts
from compiler.cli.main import main
from compiler.passes.registry import PASSES

BLUR = ("gaussian", "--set", "width=8", "--set", "height=8", "--simulator", "none")


def test_passes_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--list-passes"])
    lines = capsys.readouterr().out.splitlines()
    assert end.value.code == 0 and [line.split()[0] for line in lines] == list(PASSES)
    assert "normalize-loops              Iterators become the loops: in the order of execution, counting up" in lines


@pytest.mark.parametrize("target", ["cgra", "fpga"])
def test_the_program_after_a_pass_is_printed(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*BLUR, "--target", target, "--print-after", "pad-domains", "--time-passes"]) == 0
    printed = capsys.readouterr().out
    assert "// after pad-domains\nprogram" in printed
    assert "partition-arrays" in printed and "seconds" in printed


def test_all_passes_that_change_the_program_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*BLUR, "--print-after", "all"]) == 0
    printed = capsys.readouterr().out
    assert "// after expand-arrays\nprogram" in printed and "// after legalize-arrays" not in printed


@pytest.mark.parametrize(("arguments", "message"), [
    (("--print-after", "nothing"), "error: there is no pass 'nothing'; there are: directives"),
    (("--passes", "normalize-loops,"), "error: 'normalize-loops,' is no list of passes"),
    (("--target", "systolic", "--passes", "normalize-loops"), "error: target systolic has no option 'passes'"),
])
def test_wrong_passes_are_refused(arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*BLUR, *arguments]) == 1
    assert "".join(capsys.readouterr()).startswith(message)


@pytest.mark.parametrize(("target", "choice"), [
    ("cgra", "initiation interval 1, buffers share tiles"), ("fpga", "initiation interval 1"),
    ("dataflow", "schedule of 64 firings")])
def test_the_search_is_explained(target: str, choice: str, capsys: pytest.CaptureFixture[str],
                                 monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert main([*BLUR, "--target", target, "--explain"]) == 0
    printed = capsys.readouterr().out
    assert "search: what was tried" in printed
    assert re.search(rf"{choice} *│ *\d* │ \d+ (cycles|ticks) *│ *\d+\.\d\d", printed), printed


def test_the_search_is_explained_after_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["harris", "--array", "2x4", "--simulator", "none", "--explain"]) == 1
    assert "search: what was tried" in "".join(capsys.readouterr())


def test_attempts_are_kept_with_what_was_tried_inside() -> None:
    with record_attempts() as found:
        with attempt("outer") as tried:
            with pytest.raises(ValueError, match="no"), attempt("inner"):
                raise ValueError("no way")
            tried.outcome = "3 cycles"
    assert [(one.choice, one.outcome) for one in found] == [("outer", "3 cycles")]
    assert [(one.choice, one.outcome) for one in found[0].inner] == [("inner", "no way")]
