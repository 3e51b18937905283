"""The programs of `apps/irregular`: random data for each, and what gcc makes of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from c_targets import gcc_results, inputs_of

from compiler.frontend.c_scop import load_c
from compiler.ir.program import Program

__all__ = ["DATA", "case_of", "program_of", "text_of"]

_FOLDER = Path(__file__).resolve().parents[2] / "apps" / "irregular"

Data = dict[str, np.ndarray]


def _bytes(random: np.random.Generator, count: int) -> np.ndarray:
    """Bytes of which some are frequent, so that equal addresses follow each other."""
    return np.where(random.random(count) < 0.5, random.integers(0, 256, count), 77).astype(np.uint8)


def _words(random: np.random.Generator, *shape: int, limit: int = 99) -> np.ndarray:
    return random.integers(-limit, limit, shape).astype(np.int32)


DATA: dict[str, Callable[[np.random.Generator], Data]] = {
    "histogram": lambda r: {"x": _bytes(r, 64), "bins": _words(r, 256)},
    "gamma_table": lambda r: {"in": _bytes(r, 64), "table": _bytes(r, 256), "out": _bytes(r, 64)},
    "equalise": lambda r: {"in": _bytes(r, 64), "out": _bytes(r, 64)},
    "ellpack": lambda r: {"values": _words(r, 16, 4), "columns": _words(r, 16, 4), "x": _words(r, 16),
                          "y": _words(r, 16)},
    "radix_sort": lambda r: {"keys": _bytes(r, 64), "sorted": _bytes(r, 64)},
    "crc_table": lambda r: {"message": _bytes(r, 32),
                            "table": r.integers(0, 1 << 32, 256).astype(np.uint32), "crc": np.zeros(1, np.uint32)},
}
"""By program: its arrays, in the order of the function's parameters."""


@cache
def program_of(name: str) -> Program:
    """The program at the sizes that its file states."""
    return load_c(_FOLDER / f"{name}.c")


def text_of(name: str) -> str:
    """Its C text."""
    return (_FOLDER / f"{name}.c").read_text()


def case_of(name: str, seed: int) -> tuple[Data, Data]:
    """Inputs of the program, and what gcc's function leaves in all arrays."""
    data = DATA[name](np.random.default_rng(seed))
    return inputs_of(program_of(name), data), gcc_results(text_of(name), name, data)
