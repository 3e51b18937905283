"""The programs of `apps/irregular`: random data for each, and what gcc makes of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from c_targets import gcc_results, inputs_of

import compiler
from compiler.bind.design import Design
from compiler.frontend.c_scop import load_c
from compiler.ir.program import Program

__all__ = ["DATA", "INTEGERS", "case_of", "design_of", "program_of", "text_of"]

_FOLDER = Path(__file__).resolve().parents[2] / "apps" / "irregular"

Data = dict[str, np.ndarray]


def _bytes(random: np.random.Generator, count: int) -> np.ndarray:
    """Bytes of which some are frequent, so that equal addresses follow each other."""
    return np.where(random.random(count) < 0.5, random.integers(0, 256, count), 77).astype(np.uint8)


def _words(random: np.random.Generator, *shape: int, limit: int = 99) -> np.ndarray:
    return random.integers(-limit, limit, shape).astype(np.int32)


def _wave(function: np.ufunc, count: int) -> np.ndarray:
    """A function over half a circle, with 14 bits of fraction."""
    return np.rint(function(np.pi * np.arange(count) / count) * (1 << 14)).astype(np.int16)


DATA: dict[str, Callable[[np.random.Generator], Data]] = {
    "histogram": lambda r: {"x": _bytes(r, 64), "bins": _words(r, 256)},
    "gamma_table": lambda r: {"in": _bytes(r, 64), "table": _bytes(r, 256), "out": _bytes(r, 64)},
    "equalise": lambda r: {"in": _bytes(r, 64), "out": _bytes(r, 64)},
    "ellpack": lambda r: {"values": _words(r, 16, 4), "columns": _words(r, 16, 4), "x": _words(r, 16),
                          "y": _words(r, 16)},
    "radix_sort": lambda r: {"keys": _bytes(r, 64), "sorted": _bytes(r, 64)},
    "crc_table": lambda r: {"message": _bytes(r, 32),
                            "table": r.integers(0, 1 << 32, 256).astype(np.uint32), "crc": np.zeros(1, np.uint32)},
    "kmp": lambda r: {"pattern": np.array([1, 2, 1, 3], np.int8), "text": r.integers(1, 4, 32).astype(np.int8),
                      "failure": np.array([0, 0, 1, 0], np.int32), "matches": np.zeros(1, np.int32)},
    "kmp_steps": lambda r: {"pattern": np.array([1, 2, 1, 3], np.int8), "text": r.integers(1, 4, 32).astype(np.int8),
                            "failure": np.array([0, 0, 1, 0], np.int32), "matches": np.zeros(1, np.int32)},
    "first_equal": lambda r: {"x": _words(r, 32, limit=9), "wanted": _words(r, 1, limit=9), "where": _words(r, 1)},
    "merge_sort": lambda r: {"x": _words(r, 11)},
    "crs": lambda r: {"values": _words(r, 32), "columns": _words(r, 32),
                      "first": np.cumsum([0, *r.integers(0, 5, 8)]).astype(np.int32), "x": _words(r, 8),
                      "y": _words(r, 8)},
    "viterbi": lambda r: {"symbols": _bytes(r, 8), "start": r.integers(0, 99, 4).astype(np.int16),
                          "step": r.integers(0, 99, (4, 4)).astype(np.int16),
                          "emit": r.integers(0, 99, (4, 8)).astype(np.int16), "path": _bytes(r, 8)},
    "breadth_first": lambda r: {"tail": _words(r, 16), "head": _words(r, 16), "distance": _words(r, 8)},
    "bit_packer": lambda r: {"symbols": _bytes(r, 32), "codes": r.integers(0, 1 << 16, 16).astype(np.uint16),
                             "lengths": r.integers(1, 15, 16).astype(np.uint8), "words": np.zeros(32, np.uint32)},
    "needleman_wunsch": lambda r: {"a": r.integers(65, 68, 8).astype(np.uint8),
                                   "b": r.integers(65, 68, 8).astype(np.uint8), "above": _bytes(r, 16),
                                   "below": _bytes(r, 16), "length": _words(r, 1)},
    "fft": lambda r: {"real": r.integers(-9999, 9999, 8).astype(np.int16),
                      "imag": r.integers(-9999, 9999, 8).astype(np.int16), "cosine": _wave(np.cos, 4),
                      "sine": _wave(np.sin, 4)},
    "components": lambda r: {"tail": r.integers(0, 8, 8).astype(np.int32), "head": r.integers(0, 8, 8).astype(np.int32),
                             "label": _words(r, 8), "passes": _words(r, 1)},
    "bilateral_grid": lambda r: {"in": _bytes(r, 64).reshape(8, 8), "out": _bytes(r, 64).reshape(8, 8)},
    "forces": lambda r: {**{name: r.integers(-60, 60, 8).astype(np.int16) for name in "xyz"},
                         "neighbours": _bytes(r, 32).reshape(8, 4), "power": r.integers(0, 999, 64).astype(np.int16),
                         **{name: _words(r, 8) for name in ("fx", "fy", "fz")}},
    "forces_float": lambda r: {**{name: r.normal(size=8).astype(np.float32) for name in "xyz"},
                               "neighbours": (np.arange(8)[:, None] + r.integers(1, 8, (8, 4))).astype(np.uint8),
                               **{name: np.zeros(8, np.float32) for name in ("fx", "fy", "fz")}},
}
"""By program: its arrays, in the order of the function's parameters."""


INTEGERS = [name for name in DATA if not name.endswith("float")]
"""Those without floating-point numbers, which every target computes."""


@cache
def program_of(name: str) -> Program:
    """The program."""
    return load_c(_FOLDER / f"{name}.c")


@cache
def design_of(name: str, target: str = "fpga") -> Design:
    """Its hardware."""
    return compiler.compile(program_of(name), target=target)


def text_of(name: str) -> str:
    """Its C text."""
    return (_FOLDER / f"{name}.c").read_text()


def case_of(name: str, seed: int) -> tuple[Data, Data]:
    """Inputs of the program, and what gcc's function leaves in all arrays."""
    data = DATA[name](np.random.default_rng(seed))
    return inputs_of(program_of(name), data), gcc_results(text_of(name), name, data)
