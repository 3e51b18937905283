"""Resources of many tilings at once, without synthesis (seed 002, section 7.2).

Multipliers and block RAM are counted. LUTs and flip-flops are linear in features of the array; the coefficients are
fitted to yosys results by `benchmarks.systolic_resources` and recorded in ``resource_model.json``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from compiler.bind.systolic.kernel import Kernel
from compiler.bind.systolic.tuner.budget import TunerError
from compiler.bind.systolic.tuner.estimate import Column, Geometry, Stream, Tilings
from compiler.ir.expr import Apply, Cast, Const, Expr, postorder
from compiler.ir.types import Int

__all__ = ["FEATURES", "MODEL_FILE", "Resources", "block_rams", "evaluate_resources", "features", "load_model"]

MODEL_FILE = Path(__file__).with_name("resource_model.json")

LUT_RAM_DEPTH = 64
"""Memories of more words than this are block RAM (`hw.systolic.buffers`)."""

_BLOCK_SHAPES = ((512, 36), (1024, 18), (2048, 9), (4096, 4), (8192, 2), (16384, 1))
_MULTIPLIER_BITS = 18
_PRODUCTS = ("mul", "mul_mid", "mul_high", "mad")

FEATURES = ("array", "elements", "forwarded bits", "computed bits", "feeders", "beat bits", "lut ram bits",
            "result bits")
"""What LUTs and flip-flops are linear in: 1; PEs; bits that PEs pass on; bits of all adders and comparators; feeders;
bits of all places of daisy chains; bits of memories in LUTs; bits of results on their way, per PE."""


@dataclass(frozen=True)
class Resources:
    """Of every tiling."""

    multipliers: Column
    block_ram: Column
    luts: Column
    flip_flops: Column


def evaluate_resources(tilings: Tilings, model: Mapping[str, Mapping[str, float]] | None = None) -> Resources:
    """The resources of all tilings."""
    model = model or load_model()
    geometry = tilings.geometry
    columns = features(tilings)
    linear = {name: sum(model[name][feature] * column for feature, column in columns.items())
              for name in ("luts", "flip_flops")}
    count = np.full(len(tilings.times), multipliers(tilings.kernel) * tilings.shape.macs)
    blocks = sum((block_rams(depth, width) * number for depth, width, number in _memories(geometry)),
                 np.zeros(len(tilings.times), np.int64))
    return Resources(count, blocks, *(np.maximum(0, np.round(linear[k])).astype(np.int64)
                                      for k in ("luts", "flip_flops")))


@cache
def load_model() -> dict[str, dict[str, float]]:
    """The recorded coefficients. Raises `TunerError` if the file is damaged."""
    try:
        model = json.loads(MODEL_FILE.read_text())["coefficients"]
        return {name: {feature: float(model[name][feature]) for feature in FEATURES} for name in ("luts", "flip_flops")}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TunerError(f"the resource model {MODEL_FILE.name} cannot be read: {error}") from None


def multipliers(kernel: Kernel) -> int:
    """18 x 18 multipliers of one evaluation of the body."""
    return sum(_pieces(node.args) for node in postorder(kernel.body)
               if isinstance(node, Apply) and node.op in _PRODUCTS)


def _pieces(args: tuple[Expr, ...]) -> int:
    if any(isinstance(_source(arg), Const) for arg in args[:2]):
        return 0
    first, second = (-(-_width(_source(arg)) // _MULTIPLIER_BITS) for arg in args[:2])
    return first * second


def _source(node: Expr) -> Expr:
    """What is converted: products of extended words are products of words."""
    while isinstance(node, Cast) and _width(node) >= _width(node.arg):
        node = node.arg
    return node


def _width(node: Expr) -> int:
    return node.type.width if isinstance(node.type, Int) else 1


def block_rams(depth: Column, width: Column | int) -> Column:
    """18 Kbit blocks of memories of `depth` words of `width` bits each; none for those that are LUT RAM."""
    counts = [-(-depth // rows) * -(-width // bits) for rows, bits in _BLOCK_SHAPES]
    return np.where(depth > LUT_RAM_DEPTH, np.minimum.reduce(counts), 0)


def _memories(geometry: Geometry) -> list[tuple[Column, Column | int, int]]:
    """Depth, width and number of all memories: feeders, accumulators, queues of results."""
    found: list[tuple[Column, Column | int, int]] = []
    for stream in geometry.operands:
        depth = 2 * _power(-(-stream.words // stream.pack))
        found.append((depth, stream.pack * stream.bits, stream.feeders))
    results = geometry.results
    places = 1 if geometry.space == "both" else geometry.rows * (1 if geometry.space == "columns" else geometry.columns)
    found += [(results.own, results.bits, places)] * 2
    return found


def _power(count: Column) -> Column:
    return np.left_shift(1, np.ceil(np.log2(np.maximum(count, 1))).astype(np.int64))


def features(tilings: Tilings) -> dict[str, Column]:
    """The features of all tilings, by name."""
    geometry = tilings.geometry
    one = np.ones(len(tilings.times))
    elements = geometry.rows * geometry.columns
    forwarded = sum(stream.bits for stream in geometry.operands if stream.feeders < elements or elements == 1)
    computed = sum(_width(node) for node in postorder(tilings.kernel.body) if isinstance(node, Apply))
    computed = computed * tilings.shape.lanes + tilings.kernel.type.width * tilings.shape.lanes
    small = [np.where((depth <= LUT_RAM_DEPTH) & (depth > 1), depth * width * number, 0)
             for depth, width, number in _memories(geometry)]
    beats = sum((_beat_bits(stream) for stream in geometry.operands), 0 * one)
    return {
        "array": one, "elements": elements * one, "forwarded bits": elements * forwarded * one,
        "computed bits": elements * computed * one, "feeders": sum(s.feeders for s in geometry.operands) * one,
        "beat bits": beats, "lut ram bits": sum(small, 0 * one), "result bits": elements * geometry.results.bits * one,
    }


def _beat_bits(stream: Stream) -> Column:
    return stream.feeders * stream.pack * stream.bits
