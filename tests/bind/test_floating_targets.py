"""Floating-point programs: which targets take them, what others say, and their data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from compiler.bind.design import InputError, check_inputs
from compiler.bind.registry import TargetError, compile_program
from compiler.cli.input_files import random_inputs, read_inputs
from compiler.cli.main import main
from compiler.cli.output_files import output_paths
from compiler.frontend.c_scop import load_c

APPS = Path(__file__).resolve().parents[2] / "apps" / "float"


def test_other_targets_refuse_them() -> None:
    with pytest.raises(TargetError) as error:
        compile_program(load_c(APPS / "stencil.c"), "cgra")
    assert str(error.value).startswith("statement 'S0' (apps/float/stencil.c:12) computes with float8.23: target cgra "
                                       "has integers only; with floating-point numbers: dataflow, fpga, systolic, "
                                       "vector")


def test_numbers_from_files(tmp_path: Path) -> None:
    program = load_c(APPS / "jacobi.c")
    values = np.linspace(0, 1, 40, dtype=np.float32)
    np.save(tmp_path / "a.npy", values)
    found = read_inputs(program, [f"a_in={tmp_path / 'a.npy'}"])["a_in"]
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, values)
    drawn = random_inputs(program, 1)["a_in"]
    assert drawn.dtype == np.float32 and 0.5 < drawn.std() < 1.5


@pytest.mark.parametrize(("data", "message"), [
    (np.full(40, 0.1), "input a_in holds 0.1 at (0,), which is no number of type float8.23"),
    (np.full(40, 1j), "input a_in holds complex128"),
])
def test_other_data_are_refused(data: np.ndarray, message: str) -> None:
    with pytest.raises(InputError) as error:
        check_inputs(load_c(APPS / "jacobi.c"), {"a_in": data})
    assert str(error.value) == message


def test_pictures_are_refused() -> None:
    program = load_c(APPS / "matmul.c")
    with pytest.raises(InputError) as error:
        read_inputs(program, ["A=photo.png"])
    assert str(error.value) == ("input A has elements of type float8.23 and cannot be an image such as photo.png; give "
                                "a .npy file")
    with pytest.raises(InputError) as error:
        output_paths(program, ["C=out.png"])
    assert str(error.value) == ("output C has elements of type float8.23 and cannot be written as image out.png; take "
                                "a .npy file")


def test_the_command_line_compiles_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(APPS / "matmul.c"), "--target", "dataflow", "--random", "1", "--simulator", "none"]) == 0
    assert "1749" in capsys.readouterr().out
