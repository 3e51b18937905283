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
from compiler.bind.systolic.tuner.estimate import Column, Geometry, Tilings, power_of_two
from compiler.ir.expr import Apply, Cast, Const, Expr, postorder
from compiler.ir.types import Int

__all__ = ["FEATURES", "MODEL_FILE", "Resources", "block_rams", "evaluate_resources", "features", "load_model"]

MODEL_FILE = Path(__file__).with_name("resource_model.json")

_LUT_RAM_WORDS = 64
"""Accumulators and queues of more words than this are block RAM (`hw.systolic.buffers`)."""

_LUT_RAM_BITS = 2048
"""Feeders of more bits than this are block RAM (yosys decides)."""

_BLOCK_SHAPES = ((512, 36), (1024, 18), (2048, 9), (4096, 4), (8192, 2), (16384, 1))
_MULTIPLIER_BITS = 18
_PRODUCTS = ("mul", "mul_mid", "mul_high", "mad")

FEATURES = ("array", "stream loops", "elements", "forwarded bits", "beat bits", "lut ram bits", "function bits")
"""What LUTs and flip-flops are linear in: 1; counters and strides of all streams from and to memory; PEs; bits that
PEs pass on; bits of all places of daisy chains; bits of memories in LUTs; bits of operators between memory and the
array."""


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
    blocks = np.full(len(tilings.times), (len(geometry.operands) + 1) * -(-tilings.bus_bits // _BLOCK_SHAPES[0][1]))
    for memory in _memories(geometry):
        blocks = blocks + memory.number * np.where(memory.in_blocks, block_rams(memory.depth, memory.width), 0)
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
    first, second = (-(-_significant(arg) // _MULTIPLIER_BITS) for arg in args[:2])
    return first * second


def _source(node: Expr) -> Expr:
    """What is converted: products of extended words are products of words."""
    while isinstance(node, Cast) and _width(node) >= _width(node.arg):
        node = node.arg
    return node


def _significant(node: Expr) -> int:
    """Bits that a factor really has: a product has those of its factors."""
    node = _source(node)
    if isinstance(node, Apply) and node.op == "mul":
        return min(_width(node), sum(_significant(arg) for arg in node.args))
    return _width(node)


def _width(node: Expr) -> int:
    return node.type.width if isinstance(node.type, Int) else 1


def block_rams(depth: Column, width: Column | int) -> Column:
    """18 Kbit blocks of a memory of `depth` words of `width` bits."""
    return np.minimum.reduce([-(-depth // rows) * -(-width // bits) for rows, bits in _BLOCK_SHAPES])


@dataclass(frozen=True)
class _Memory:
    """`number` memories of `depth` words of `width` bits."""

    depth: Column
    width: Column | int
    number: int
    in_blocks: Column

    @property
    def lut_ram_bits(self) -> Column:
        """Bits of those that are LUT RAM."""
        return np.where(self.in_blocks | (self.depth < 2), 0, self.depth * self.width * self.number)


def _memories(geometry: Geometry) -> list[_Memory]:
    """Feeders, accumulators, queues of results."""
    found = []
    for stream in geometry.operands:
        depth, width = 2 * power_of_two(-(-stream.words // stream.pack)), stream.pack * stream.bits
        found.append(_Memory(depth, width, stream.feeders, depth * width > _LUT_RAM_BITS))
    results = geometry.results
    places = {"none": geometry.rows * geometry.columns, "columns": geometry.rows, "both": 1}[geometry.space]
    found += [_Memory(results.own, results.bits, places, results.own > _LUT_RAM_WORDS)] * 2
    return found


def features(tilings: Tilings) -> dict[str, Column]:
    """The features of all tilings, by name."""
    geometry = tilings.geometry
    one = np.ones(len(tilings.times))
    elements = geometry.rows * geometry.columns
    forwarded = sum(stream.bits for stream in geometry.operands if stream.feeders < elements or elements == 1)
    beats = [stream.feeders * stream.pack * stream.bits for stream in geometry.operands]
    small = [memory.lut_ram_bits for memory in _memories(geometry)]
    return {
        "array": one, "stream loops": _stream_loops(tilings) * one, "elements": elements * one,
        "forwarded bits": elements * forwarded * one, "beat bits": sum(beats, 0 * one),
        "lut ram bits": sum(small, 0 * one), "function bits": _function_bits(tilings) * one,
    }


def _function_bits(tilings: Tilings) -> Column:
    """Bits of what is computed of single elements on their way to and from the array, for whole beats of them."""
    bits = 0 * tilings.steps
    for stream in (*tilings.geometry.operands, tilings.geometry.results):
        each = sum(o.word.width for o in stream.function if o.op not in ("read", "const", "cast"))
        bits = bits + each * stream.pack * stream.elements
    return bits


def _stream_loops(tilings: Tilings) -> int:
    """Tile loops that streams count, and those that they have strides for."""
    kernel = tilings.kernel
    strides = sum(reference.depends(k) for reference in kernel.references for k in range(len(kernel.loops)))
    plain = len(kernel.loops) - len(kernel.reduction_loops)
    return strides + sum(stream.innermost + 1 for stream in tilings.geometry.operands) + 2 * plain
