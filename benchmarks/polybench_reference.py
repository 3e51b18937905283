"""The kernels of `apps/polybench` in every type of elements: their programs, data, and what gcc makes of them."""

from __future__ import annotations

import ctypes
import re
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np

from compiler.frontend.c_scop import load_c
from compiler.ir.program import Program
from hw.errors import SluiceError

__all__ = ["FOLDER", "TYPES", "arguments", "gcc_results", "inputs_of", "program_of"]

FOLDER = Path(__file__).parents[1] / "apps" / "polybench"

TYPES: Mapping[str, tuple[int, type[np.generic]]] = {
    "int16": (0, np.int16), "float": (32, np.float32), "double": (64, np.float64)}
"""Types of elements: the kernels' macro `FLOAT_BITS`, and numpy's name."""

Macros = tuple[tuple[str, int], ...]
"""Values of a kernel's macros where they are not those of its file."""

_FLAGS = ("-std=gnu11", "-O1", "-fwrapv", "-ffp-contract=off", "-w", "-fPIC", "-shared")


@cache
def program_of(kernel: str, kind: str = "int16", macros: Macros = ()) -> Program:
    """The kernel's program."""
    return load_c(FOLDER / f"{kernel}.c", FLOAT_BITS=TYPES[kind][0], **dict(macros))


def _parameters(kernel: str, macros: Macros) -> tuple[str, dict[str, tuple[int, ...]]]:
    """The function's name, and extents of its parameters in their order; scalars have none."""
    text = (FOLDER / f"{kernel}.c").read_text()
    sizes = dict(re.findall(r"#define (\w+) (\d+)", text)) | dict(macros)
    ((function, head),) = re.findall(r"^void (\w+)\(([^)]*)\)", text, re.MULTILINE)
    found = {}
    for name, extents in re.findall(r"DATA_TYPE (\w+)((?:\[\w+\])*)", head):
        found[name] = tuple(int(sizes.get(extent, extent)) for extent in re.findall(r"\w+", extents))
    return function, found


def arguments(kernel: str, seed: int, kind: str = "int16", macros: Macros = ()) -> dict[str, np.ndarray]:
    """Random numbers for all parameters, scalars as arrays without dimensions: small integers, or large ones if `seed`
    is even; floating-point numbers around zero, in matrices that can be decomposed."""
    generator = np.random.default_rng(seed)
    limit = 20 if seed % 2 else 1 << 15

    def numbers(shape: tuple[int, ...]) -> np.ndarray:
        drawn = generator.integers(-limit, limit, shape, np.int16) if kind == "int16" else _reals(generator, shape)
        return np.asarray(drawn, TYPES[kind][1])

    return {name: numbers(shape) for name, shape in _parameters(kernel, macros)[1].items()}


def _reals(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers around zero; square matrices are positive definite."""
    drawn = np.asarray(generator.standard_normal(shape) / max((*shape, 1)))
    square = len(shape) == 2 and shape[0] == shape[1]
    return drawn @ drawn.T + np.eye(shape[0]) if square else drawn


def gcc_results(kernel: str, data: Mapping[str, np.ndarray], kind: str = "int16", macros: Macros = ()
                ) -> dict[str, np.ndarray]:
    """What the parameters hold after the function that gcc makes of the file, without contraction of products and sums.
    Raises `SluiceError` if gcc does not compile it."""
    memory = {name: value.copy() for name, value in data.items()}
    defines = [f"-D{name}={value}" for name, value in (("FLOAT_BITS", TYPES[kind][0]), *macros)]
    with tempfile.TemporaryDirectory(prefix="sluice-gcc-") as folder:
        library = Path(folder) / "kernel.so"
        done = subprocess.run(["gcc", *_FLAGS, *defines, "-o", library, FOLDER / f"{kernel}.c", "-lm"],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            raise SluiceError(f"gcc does not compile {kernel}.c: {done.stderr.splitlines()[0]}")
        function = getattr(ctypes.CDLL(str(library)), _parameters(kernel, macros)[0])
        function(*(ctypes.c_void_p(value.ctypes.data) if value.ndim
                   else np.ctypeslib.as_ctypes_type(value.dtype)(value.item()) for value in memory.values()))
    return memory


def inputs_of(program: Program, data: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The inputs of a kernel's program."""
    return {array.name: np.reshape(data[array.name if array.name in data else array.name.removesuffix("_in")],
                                   array.shape) for array in program.inputs}
