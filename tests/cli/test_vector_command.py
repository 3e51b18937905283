"""The command line with parallel arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from compiler.cli.main import main

SMALL = ("life", "--target", "vector", "--set", "rows=12", "--set", "columns=16", "--lanes", "1", "--simulator", "none")


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")


def test_it_compiles_and_writes_the_programs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    np.save(tmp_path / "cells.npy", np.ones((12, 16), np.uint32))
    assert main([*SMALL, "--input", f"cells={tmp_path / 'cells.npy'}", "-o", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert "life on 1 vector lanes" in printed and "start to done predicted (model)" in printed
    assert "vector_dma_to_vector" in (tmp_path / "out" / "life.c").read_text()


@pytest.mark.parametrize(("arguments", "message"), [
    (("--array", "4x4"), "--array is no option of target vector"),
    (("--stall-seed", "1"), "--stall-seed needs a simulation, and --simulator none asks for none"),
    (("--input", "photo.png"),
     "--input photo.png: write NAME=FILE with a .npy file; program life has: cells"),
    (("--input", "cells=none.npy"), "there is no file none.npy"),
    (("--lanes", "3"), None),
    (("--set", "columns=x"), None),
])  # fmt: skip
def test_a_wrong_request_is_one_line(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...],
                                     message: str | None) -> None:
    assert main([*SMALL, *arguments]) == 1
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.startswith("error: ") and captured.err.count("\n") == 1
    if message is not None:
        assert captured.err == f"error: {message}\n"


def test_data_of_another_shape(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    np.save(tmp_path / "cells.npy", np.ones((3, 3), np.uint8))
    assert main([*SMALL, "--input", f"cells={tmp_path / 'cells.npy'}"]) == 1
    assert "input cells has shape (3, 3), the program needs (12, 16)" in capsys.readouterr().err
