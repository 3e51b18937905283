"""The C front end against gcc: kernels in the styles of PolyBench and AutoSA, and every corner of C's arithmetic."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from c_reference import call, compile_c, global_array

from compiler.frontend.c_scop import load_c, parse_scop
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.ir.text import parse_program, print_program
from compiler.ir.verify import verify

FOLDER = Path(__file__).parent / "c_kernels"
_I8, _U8, _I16, _U16, _I32, _U32, _I64 = np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64

Argument = tuple[str, type, tuple[int, ...]] | tuple[str, type, int]
"""Name and element type of a parameter, with the shape of an array or the value of a scalar."""

KERNELS: dict[str, list[Argument]] = {
    "mm_autosa": [("A", _I16, (6, 7)), ("B", _I16, (5, 7)), ("C", _I32, (6, 5))],
    "gemm_polybench": [("ni", _I32, 6), ("nj", _I32, 4), ("nk", _I32, 5), ("alpha", _I32, -3), ("beta", _I32, 70001),
                       ("C", _I32, (6, 4)), ("A", _I32, (6, 5)), ("B", _I32, (5, 4))],
    "mm_accumulator": [("a", _I8, (5, 6)), ("b", _I8, (6, 5)), ("c", _I16, (5, 5))],
    "mm_bare": [("A", _U8, (4, 4)), ("B", _U8, (4, 4)), ("C", _U16, (4, 4))],
    "conv": [("in", _I8, (2, 7, 8)), ("w", _I8, (3, 2, 3, 3)), ("out", _I32, (3, 5, 6))],
    "conv_border": [("in", _U8, (7, 6)), ("zero", _U8, (7, 6)), ("clamped", _U8, (7, 6))],
    "jacobi_1d": [("A", _I32, (12,)), ("B", _I32, (12,))],
    "jacobi_2d": [("A", _U16, (7, 7)), ("B", _U16, (7, 7))],
    "fir_shift": [("x", _I16, (20,)), ("h", _I16, (4,)), ("y", _I16, (17,))],
    "lu": [("A", _I32, (6, 6))],
    "trisolv": [("L", _I32, (7, 7)), ("x", _I32, (7,)), ("b", _I32, (7,))],
    "syrk": [("alpha", _I16, 1234), ("beta", _I16, -32768), ("C", _I32, (5, 5)), ("A", _I16, (5, 4))],
    "prefix": [("a", _I16, (9,)), ("sums", _I32, (10,))],
    "mixed": [("a", _I8, (40,)), ("b", _U8, (40,)), ("c", _U16, (40,)), ("d", _I32, (40,)), ("e", _U32, (40,)),
              ("o8", _I8, (40,)), ("o16", _U16, (40,)), ("o32", _I32, (40,)), ("ou", _U32, (40,)),
              ("o64", _I64, (40,)), ("flags", _U8, (40,))],
    "divisions": [("a", _I32, (64,)), ("b", _U32, (64,)), ("c", _I8, (64,)), ("q", _I32, (12, 64)),
                  ("u", _U32, (8, 64))],
    "shifts": [("a", _I32, (30,)), ("n", _U8, (30,)), ("s", _I16, (30,)), ("l", _I32, (30,)), ("r", _I32, (30,)),
               ("u", _U32, (30,)), ("t", _I16, (30,))],
    "conditions": [("a", _I16, (11, 11)), ("b", _I16, (11, 11)), ("m", _I16, (11,)), ("count", _U8, (1,))],
    "tables": [("phase", _U8, (16,)), ("out", _I16, (16,)), ("reversed", _I32, (8,))],
    "brighten": [("image", _U8, (6, 9)), ("result", _U8, (5, 8))],
    "pingpong": [("data", _I32, (10,)), ("out", _I32, (10,))],
    "macro_functions": [("a", _I16, (6, 6)), ("b2", _I16, (6, 6)), ("c", _I32, (6, 6))],
    "variable_size": [("n", _I32, 5), ("m", _I32, 3), ("a", _I32, (5, 3)), ("b", _I32, (3, 5))],
}
"""Every file of `c_kernels`, whose function has the name of the file, with that function's parameters."""

SIZES = {"gemm_polybench": ("ni", "nj", "nk"), "variable_size": ("n", "m")}
"""Scalar parameters that loop bounds depend on: they get their values at compile time."""

GLOBALS = {"prefix": [("total", _I32, ()), ("history", _I16, (9,))]}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return compile_c(tmp_path_factory.mktemp("kernels"), {name: (FOLDER / f"{name}.c").read_text() for name in KERNELS})


def _data(kernel: str, seed: int) -> dict[str, np.ndarray | np.generic]:
    """Full-range random data for arrays, every other time small numbers; the given values for scalars."""
    generator = np.random.default_rng(seed)
    data: dict[str, np.ndarray | np.generic] = {}
    for name, dtype, shape in KERNELS[kernel]:
        info = np.iinfo(dtype)
        low, high = (int(info.min), int(info.max) + 1) if seed % 2 == 0 else (max(int(info.min), -9), 10)
        data[name] = generator.integers(low, high, shape, dtype) if isinstance(shape, tuple) else dtype(shape)
    return data


def _sizes(kernel: str) -> dict[str, int]:
    wanted = SIZES.get(kernel, ())
    return {name: value for name, _, value in KERNELS[kernel] if name in wanted and isinstance(value, int)}


def _inputs(program: Program, data: dict[str, np.ndarray | np.generic]) -> dict[str, np.ndarray]:
    """What C has in memory for each input of the program: the pair's input has the suffix `_in`."""
    found = {}
    for array in program.inputs:
        name = array.name if array.name in data else array.name.removesuffix("_in")
        found[array.name] = np.array(data[name]).reshape(array.shape)
    return found


def test_every_kernel_file_is_listed() -> None:
    assert set(KERNELS) == {path.stem for path in FOLDER.glob("*.c")}


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_compute_what_gcc_computes(library: ctypes.CDLL, kernel: str) -> None:
    sizes = _sizes(kernel)
    text = (FOLDER / f"{kernel}.c").read_text()
    programs = [load_c(FOLDER / f"{kernel}.c", **sizes), parse_scop(text, narrowed=False, **sizes)]
    for seed in range(4):
        data = _data(kernel, seed)
        results = [interpret(program, _inputs(program, data)) for program in programs]
        call(library, kernel, list(data.values()))
        memory = dict(data)
        for name, dtype, shape in GLOBALS.get(kernel, []):
            memory[name] = global_array(library, name, shape, dtype)
        for name in results[0]:
            expected = np.asarray(memory[name]).reshape(results[0][name].shape)
            for result in results:
                np.testing.assert_array_equal(result[name], expected, err_msg=f"{kernel}: {name}, seed {seed}")


@pytest.mark.parametrize("kernel", KERNELS)
def test_programs_are_verified_and_print(kernel: str) -> None:
    sizes = _sizes(kernel)
    program = load_c(FOLDER / f"{kernel}.c", **sizes)
    verify(program)
    assert parse_program(print_program(program)) == program
