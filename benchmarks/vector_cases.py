"""The benchmarks of the vector processor: data, numpy references and lower bounds.

Liu 2012, section 5.2, names them; where it gives no definition, `benchmarks/vector_c/README.md` says which one is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["CASES", "ELEMENTS", "Arrays", "Case", "element_types"]

Arrays = dict[str, np.ndarray[Any, Any]]

ELEMENTS = {"word": 4, "half": 2, "byte": 1}
"""Bytes of the element types."""


def element_types(size: int) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """Signed and unsigned numpy types of an element of `size` bytes."""
    return np.dtype(f"<i{size}"), np.dtype(f"<u{size}")


@dataclass(frozen=True)
class Case:
    """One benchmark.

    * `source`: file name of the C program without suffix; its plain C version has ``_scalar`` appended.
    * `elements`: names of the element types that its data allow.
    * `sizes`, `smoke`: macros of the full and of a small problem.
    * `part`: plain C runs only one of so many parts of the full problem's rows, which all cost the same.
    * `inputs(size, macros, rng)`: contents of the program's input arrays.
    * `reference(size, macros, inputs)`: expected contents of its output arrays, what must stay 0 included.
    """

    name: str
    source: str
    elements: tuple[str, ...]
    sizes: Mapping[str, int]
    smoke: Mapping[str, int]
    inputs: Callable[[int, Mapping[str, int], np.random.Generator], Arrays]
    reference: Callable[[int, Mapping[str, int], Arrays], Arrays]
    part: int = 1


def _random(rng: np.random.Generator, kind: np.dtype[Any], shape: Any) -> np.ndarray[Any, Any]:
    limits = np.iinfo(kind)
    return rng.integers(limits.min, limits.max, shape, dtype=kind, endpoint=True)


# --- fir --------------------------------------------------------------------------------------------------------------

_TAPS = 16


def _fir_inputs(size: int, macros: Mapping[str, int], rng: np.random.Generator) -> Arrays:
    signed, _ = element_types(size)
    return {"x": _random(rng, signed, macros["N"] + _TAPS), "h": _random(rng, signed, _TAPS)}


def _fir_reference(size: int, macros: Mapping[str, int], inputs: Arrays) -> Arrays:
    signed, _ = element_types(size)
    x, h = inputs["x"].astype(np.int64), inputs["h"].astype(np.int64)
    with np.errstate(over="ignore"):
        y = sum((x[i:i + macros["N"]] * h[i] for i in range(1, _TAPS)), x[:macros["N"]] * h[0])
    return {"y": y.astype(signed)}


# --- 2-D fir ----------------------------------------------------------------------------------------------------------


def _fir2d_inputs(size: int, macros: Mapping[str, int], rng: np.random.Generator) -> Arrays:
    signed, _ = element_types(size)
    return {"image": _random(rng, signed, (macros["ROWS"], macros["COLUMNS"])), "c": _random(rng, signed, (3, 3))}


def _fir2d_reference(size: int, macros: Mapping[str, int], inputs: Arrays) -> Arrays:
    signed, _ = element_types(size)
    rows, columns = macros["ROWS"] - 3, macros["COLUMNS"] - 3
    image, c = inputs["image"].astype(np.int64), inputs["c"].astype(np.int64)
    total = np.zeros((rows, columns), np.int64)
    for j in range(3):
        for i in range(3):
            total += image[j:j + rows, i:i + columns] * c[j, i]
    out = np.zeros((macros["ROWS"], macros["COLUMNS"]), signed)
    out[:rows, :columns] = total.astype(signed) >> 8
    return {"filtered": out}


# --- life -------------------------------------------------------------------------------------------------------------


def _life_inputs(size: int, macros: Mapping[str, int], rng: np.random.Generator) -> Arrays:
    _, unsigned = element_types(size)
    return {"cells": (rng.random((macros["ROWS"], macros["COLUMNS"])) < 0.4).astype(unsigned)}


def _life_reference(size: int, macros: Mapping[str, int], inputs: Arrays) -> Arrays:
    _, unsigned = element_types(size)
    cells = inputs["cells"].astype(np.int64)
    rows, columns = cells.shape
    padded = np.pad(cells, 1)
    around = sum(padded[j:j + rows, i:i + columns] for j in range(3) for i in range(3)) - cells
    return {"next_cells": ((around == 3) | ((cells == 1) & (around == 2))).astype(unsigned)}


# --- imgblend ---------------------------------------------------------------------------------------------------------

_ALPHA = 26


def _blend_inputs(size: int, macros: Mapping[str, int], rng: np.random.Generator) -> Arrays:
    _, unsigned = element_types(size)
    gap = 64 // size
    return {"sources": rng.integers(0, 256, (2, macros["N"] + gap)).astype(unsigned)}


def _blend_reference(size: int, macros: Mapping[str, int], inputs: Arrays) -> Arrays:
    _, unsigned = element_types(size)
    p, q = inputs["sources"][:, :macros["N"]].astype(np.int64)
    return {"blended": (_ALPHA * p + (256 - _ALPHA) * q >> 8).astype(unsigned)}


# --- median -----------------------------------------------------------------------------------------------------------

_WINDOW = 5


def _median_inputs(size: int, macros: Mapping[str, int], rng: np.random.Generator) -> Arrays:
    _, unsigned = element_types(size)
    shape = (macros["ROWS"] + _WINDOW - 1, macros["COLUMNS"] + _WINDOW - 1)
    return {"image": _random(rng, unsigned, shape)}


def _median_reference(size: int, macros: Mapping[str, int], inputs: Arrays) -> Arrays:
    windows = np.lib.stride_tricks.sliding_window_view(inputs["image"], (_WINDOW, _WINDOW))
    return {"middle": np.sort(windows.reshape(*windows.shape[:2], -1), axis=-1)[..., _WINDOW * _WINDOW // 2]}


# --- motest -----------------------------------------------------------------------------------------------------------

_SIDE = 16


def _motest_inputs(size: int, macros: Mapping[str, int], rng: np.random.Generator) -> Arrays:
    _, unsigned = element_types(size)
    return {name: rng.integers(0, 256, (side, side)).astype(unsigned)
            for name, side in (("block", _SIDE), ("window", 2 * _SIDE))}


def _motest_reference(size: int, macros: Mapping[str, int], inputs: Arrays) -> Arrays:
    block, window = inputs["block"].astype(np.int64), inputs["window"].astype(np.int64)
    views = np.lib.stride_tricks.sliding_window_view(window, (_SIDE, _SIDE))[:_SIDE, :_SIDE]
    return {"sad": np.abs(views - block).sum(axis=(2, 3)).astype(np.uint32)}


_ALL = ("word", "half", "byte")

CASES: dict[str, Case] = {case.name: case for case in (
    Case("fir", "fir", _ALL, {"N": 8192}, {"N": 640}, _fir_inputs, _fir_reference),
    Case("2Dfir", "fir2d", ("word", "half"), {"ROWS": 240, "COLUMNS": 320}, {"ROWS": 23, "COLUMNS": 64}, _fir2d_inputs,
         _fir2d_reference),
    Case("life", "life", _ALL, {"ROWS": 256, "COLUMNS": 256}, {"ROWS": 64, "COLUMNS": 64}, _life_inputs,
         _life_reference),
    Case("imgblend", "imgblend", _ALL, {"N": 76800}, {"N": 5000}, _blend_inputs, _blend_reference),
    Case("median", "median", _ALL, {"ROWS": 128, "COLUMNS": 128}, {"ROWS": 64, "COLUMNS": 32}, _median_inputs,
         _median_reference, part=8),
    Case("motest", "motest", _ALL, {}, {}, _motest_inputs, _motest_reference),
)}
