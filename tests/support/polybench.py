"""The kernels of `apps/polybench`: their data, and what gcc makes of them."""

from __future__ import annotations

import re
import shutil
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from c_reference import call, compile_c

from benchmarks.polybench import FOLDER
from compiler.frontend.c_scop import load_c
from compiler.ir.program import Program


@cache
def program_of(kernel: str) -> Program:
    return load_c(FOLDER / f"{kernel}.c")


def parameters(kernel: str) -> tuple[str, dict[str, tuple[int, ...]]]:
    """The function's name, and extents of its parameters in their order; scalars have none."""
    text = (FOLDER / f"{kernel}.c").read_text()
    sizes = dict(re.findall(r"#define (\w+) (\d+)", text))
    ((function, head),) = re.findall(r"^void (\w+)\(([^)]*)\)", text, re.MULTILINE)
    found = {}
    for name, extents in re.findall(r"DATA_TYPE (\w+)((?:\[\w+\])*)", head):
        found[name] = tuple(int(sizes.get(extent, extent)) for extent in re.findall(r"\w+", extents))
    return function, found


def arguments(kernel: str, seed: int) -> dict[str, np.ndarray | np.int16]:
    """Random small and large numbers."""
    generator = np.random.default_rng(seed)
    large = seed % 2 == 0

    def numbers(shape: tuple[int, ...]) -> np.ndarray:
        limit = 1 << 15 if large else 20
        return generator.integers(-limit, limit, shape, np.int16)

    return {name: numbers(shape) if shape else np.int16(numbers(())) for name, shape in parameters(kernel)[1].items()}


def gcc_results(kernel: str, data: dict[str, np.ndarray | np.int16]) -> dict[str, np.ndarray | np.int16]:
    """What the arrays hold after the function that gcc makes of the file."""
    memory = {name: value.copy() for name, value in data.items()}
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(FOLDER / "integers.h", folder)
        library = compile_c(Path(folder), {"kernel": (FOLDER / f"{kernel}.c").read_text()})
        call(library, parameters(kernel)[0], list(memory.values()))
    return memory


def inputs_of(kernel: str, data: dict[str, np.ndarray | np.int16]) -> dict[str, np.ndarray]:
    """The inputs of the kernel's program."""
    return {array.name: np.reshape(data[array.name if array.name in data else array.name.removesuffix("_in")],
                                   array.shape) for array in program_of(kernel).inputs}
