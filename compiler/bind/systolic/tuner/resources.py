"""Resources of many tilings at once, without synthesis (Wang 2021, section 7.2).

Multipliers and block RAM are counted. LUTs and flip-flops are linear in features of the array; the coefficients are
fitted to yosys results by `benchmarks.systolic_resources` and recorded in ``resource_model.json``. Operators on
floating-point numbers come on top, with the areas of `hw.float.area`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np

from compiler.bind.systolic.body import adder_cycles, operators
from compiler.bind.systolic.kernel import Kernel
from compiler.bind.systolic.tuner.budget import TunerError
from compiler.bind.systolic.tuner.estimate import Column, Geometry, Tilings, power_of_two
from compiler.ir.expr import Apply, Cast, Const, Expr, postorder
from compiler.ir.types import Float, Int
from hw.dataflow.floating import float_spec, is_floating
from hw.dataflow.spec import Operator
from hw.float import Float as FloatFormat
from hw.float import FloatSpec
from hw.float.area import FloatArea, float_area
from hw.ops import MULTIPLICATIONS
from hw.systolic.buffers import late_places

__all__ = ["FEATURES", "MODEL_FILE", "Resources", "block_rams", "evaluate_resources", "features", "kernel_multipliers",
           "load_model", "operator_cells"]

MODEL_FILE = Path(__file__).with_name("resource_model.json")

_LUT_RAM_WORDS = 64
"""Accumulators and queues of more words than this are block RAM (`hw.systolic.buffers`)."""

_LUT_RAM_BITS = 2048
"""Feeders of more bits than this are block RAM (yosys decides)."""

_BLOCK_SHAPES = ((512, 36), (1024, 18), (2048, 9), (4096, 4), (8192, 2), (16384, 1))
_MULTIPLIER_BITS = 18
FEATURES = ("array", "streams", "stream loops", "bus bits", "elements", "forwarded bits", "beat bits", "exit bits",
            "partial bits", "lut ram bits", "operator bits")
"""What LUTs and flip-flops are linear in: 1; streams from and to memory; counters and strides of all of them; bits of
memory's beats where they become others; PEs; bits that PEs pass on; bits of all places of daisy chains of operands, and
of results; bits of partial results that PEs send each other; bits of memories in LUTs; bits of adders, comparisons and
choices of integers, of all bodies, accumulators and functions of single elements."""

_FREE = ("read", "const", "cast")
_SHIFTS = ("shl", "shr")
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


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
    floats = operator_cells(tilings)
    linear = {name: sum(model[name][feature] * column for feature, column in columns.items()) + floats[name]
              for name in ("luts", "flip_flops")}
    count = multipliers(tilings.kernel.body) * tilings.shape.macs + _function_multipliers(tilings)
    count = count + floats["multipliers"]
    blocks = np.full(len(tilings.times), _streams(geometry) * -(-tilings.bus_bits // _BLOCK_SHAPES[0][1]))
    for memory in _memories(tilings):
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


def multipliers(value: Expr) -> int:
    """18 x 18 multipliers of the products of integers in one evaluation of `value`."""
    return sum(_pieces(node) for node in postorder(value)
               if isinstance(node, Apply) and node.op in MULTIPLICATIONS and not isinstance(node.type, Float))


def kernel_multipliers(kernel: Kernel, delays: Mapping[str, int] | None = None) -> int:
    """18 x 18 multipliers of one evaluation of the body; `delays` as those of `Tilings`."""
    return multipliers(kernel.body) + sum(area.multipliers for area in _areas(operators(kernel, delays)))


def _areas(body: Sequence[Operator]) -> list[FloatArea]:
    """Of the operators of a function that compute with floating-point numbers."""
    found = []
    for operator in body:
        words = [body[k].word for k in operator.operands]
        if is_floating(operator.op, (operator.word, *words)):
            found.append(float_area(float_spec(operator.op, words, operator.word, operator.latency)))
    return found


def operator_cells(tilings: Tilings) -> dict[str, Column]:
    """``luts``, ``flip_flops`` and ``multipliers`` of all operators on floating-point numbers, and of what waits for
    them."""
    floats = _float_areas(tilings)
    found = {name: sum((number * getattr(area, name) for area, number in floats), 0 * tilings.steps)
             for name in ("luts", "flip_flops", "multipliers")}
    if tilings.kernel.floating:
        found["flip_flops"] = found["flip_flops"] + _late_bits(tilings)
    return found


def _float_areas(tilings: Tilings) -> list[tuple[FloatArea, Column]]:
    """All of an array, each with how many of it there are."""
    kernel, shape, results = tilings.kernel, tilings.shape, tilings.geometry.results
    one = np.ones_like(tilings.steps)
    found = [(area, one * shape.macs) for area in _areas(operators(kernel, tilings.delays))]
    for stream in (*tilings.geometry.operands, results):
        found += [(area, one * stream.pack * stream.elements) for area in _areas(stream.function)]
    if kernel.rounds:
        assert isinstance(kernel.type, Float)
        form = FloatFormat(kernel.type.exponent, kernel.type.mantissa)
        adder = float_area(FloatSpec("add", form, adder_cycles(kernel, tilings.delays)))
        levels = np.ceil(np.log2(tilings.parts)).astype(np.int64)
        sums = (_adders(tilings) + levels * _places(tilings.geometry)) * results.elements
        found.append((adder, sums + _tree_adders(tilings)))
    return found


def _adders(tilings: Tilings) -> int:
    """Words of results that are added at once: to accumulators, and to those of neighbours."""
    geometry = tilings.geometry
    elements = geometry.rows * geometry.columns
    return {"none": elements, "columns": elements + geometry.rows, "both": elements + geometry.rows + 1}[geometry.space]


def _tree_adders(tilings: Tilings) -> int:
    """Adders of the trees over lanes."""
    geometry = tilings.geometry
    return 0 if geometry.lanes_in_results else (tilings.shape.lanes - 1) * geometry.rows * geometry.columns


def _places(geometry: Geometry) -> int:
    """Where there are accumulators."""
    return {"none": geometry.rows * geometry.columns, "columns": geometry.rows, "both": 1}[geometry.space]


def _function_multipliers(tilings: Tilings) -> Column:
    """Those of functions of single elements: one function for each element of a beat."""
    kernel, geometry = tilings.kernel, tilings.geometry
    found = 0 * tilings.steps
    for value, stream in ((kernel.start, geometry.operands[-1] if geometry.operands else None),
                          (kernel.finish, geometry.results)):
        if value is not None and stream is not None:
            found = found + multipliers(value) * stream.pack * stream.elements
    return found


def _pieces(node: Apply) -> int:
    """Factors of more than 18 bits are cut into pieces of 17, whose products are left out where all of their bits are
    beyond those of the result. A factor that is a power of two is a shift."""
    first, second = (_source(arg) for arg in node.args[:2])
    if any(isinstance(arg, Const) and not int(arg.value) & (int(arg.value) - 1) for arg in (first, second)):
        return 0
    counts = [1 if width <= _MULTIPLIER_BITS else -(-width // (_MULTIPLIER_BITS - 1))
              for width in (_significant(first), _significant(second))]
    return sum((_MULTIPLIER_BITS - 1) * (a + b) < _width(node) for a, b in product(*map(range, counts)))


def _source(node: Expr) -> Expr:
    """What is converted: products of extended words are products of words."""
    while isinstance(node, Cast) and _width(node) >= _width(node.arg):
        node = node.arg
    return node


def _significant(node: Expr) -> int:
    """Bits that a factor really has: a product has those of its factors."""
    node = _source(node)
    if isinstance(node, Const):
        return int(node.value).bit_length() + 1
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


def _memories(tilings: Tilings) -> list[_Memory]:
    """Feeders, accumulators, queues of results, and queues between PEs that sums go through."""
    geometry = tilings.geometry
    found = []
    for stream in geometry.operands:
        depth, width = 2 * power_of_two(-(-stream.words // stream.pack)), stream.pack * stream.bits
        found.append(_Memory(depth, width, stream.feeders, depth * width > _LUT_RAM_BITS))
    results, places = geometry.results, _places(geometry)
    for words in (results.own * tilings.parts, results.own):
        found.append(_Memory(words, results.bits, places, words > _LUT_RAM_WORDS))
    return found + _late_queues(tilings)


def _late_queues(tilings: Tilings) -> list[_Memory]:
    """Steps and sums that wait between PEs as long as an adder takes (`hw.systolic.buffers`)."""
    geometry, adder = tilings.geometry, adder_cycles(tilings.kernel, tilings.delays)
    if geometry.space == "none" or not adder:
        return []
    elements, one = geometry.rows * geometry.columns, np.ones_like(tilings.steps)
    places = late_places(adder)
    forwarded = [stream for stream in geometry.operands if stream.feeders < elements or elements == 1]
    return [*(_Memory(places * one, stream.bits, elements, one < 0) for stream in forwarded),
            _Memory(2 * places * one, geometry.results.bits, elements, one < 0)]


def features(tilings: Tilings) -> dict[str, Column]:
    """The features of all tilings, by name."""
    geometry, results = tilings.geometry, tilings.geometry.results
    one = np.ones(len(tilings.times))
    elements = geometry.rows * geometry.columns
    forwarded = sum(stream.bits for stream in geometry.operands if stream.feeders < elements or elements == 1)
    beats = [stream.feeders * stream.pack * stream.bits for stream in geometry.operands]
    exits = results.images * results.pack * results.bits
    if geometry.space == "none":
        exits = exits + elements * results.row_pack * results.bits
    small = [memory.lut_ram_bits for memory in _memories(tilings)]
    return {
        "array": one, "streams": _streams(geometry) * one, "stream loops": _stream_loops(tilings) * one,
        "bus bits": _streams(geometry) * tilings.bus_bits * one, "elements": elements * one,
        "forwarded bits": elements * forwarded * one, "beat bits": sum(beats, 0 * one), "exit bits": exits * one,
        "partial bits": (geometry.space != "none") * elements * results.bits * one,
        "lut ram bits": sum(small, 0 * one), "operator bits": _operator_bits(tilings) * one,
    }


def _late_bits(tilings: Tilings) -> Column:
    """Bits of registers in which words wait for other operands of an operator, and what goes with a step for its
    result: whether there is one, which, and whether it is its first or last term."""
    geometry = tilings.geometry
    control = 3 + np.ceil(np.log2(np.maximum(geometry.results.own * tilings.parts, 1))).astype(np.int64)
    bits = tilings.shape.macs * _waiting_bits(tilings.form.schedule(operators(tilings.kernel, tilings.delays)))
    for stream in (*geometry.operands, geometry.results):
        bits = bits + _waiting_bits(stream.function) * stream.pack * stream.elements
    return bits + _places(geometry) * control * tilings.latency


def _waiting_bits(body: Sequence[Operator]) -> int:
    """Bits of registers behind the operators of a function whose results wait for a user's start."""
    late = [0] * len(body)
    for operator in body:
        for k in operator.operands:
            late[k] = max(late[k], operator.start - body[k].done)
    return sum(cycles * operator.word.width for cycles, operator in zip(late, body, strict=True)
               if operator.op != "const")


def _streams(geometry: Geometry) -> int:
    """Streams from and to memory."""
    return len(geometry.operands) + len(geometry.extras) + 1


def _operator_bits(tilings: Tilings) -> Column:
    """Bits of all operators but multipliers and what costs nothing, accumulators and trees over lanes included."""
    shape, results = tilings.shape, tilings.geometry.results
    bits = 0 * tilings.steps
    if not tilings.kernel.rounds:
        bits = bits + (_adders(tilings) + _tree_adders(tilings)) * results.bits
    bits = bits + shape.macs * _bits_of(tilings.form.schedule(operators(tilings.kernel)))
    for stream in (*tilings.geometry.operands, results):
        bits = bits + _bits_of(stream.function) * stream.pack * stream.elements
    return bits


def _bits_of(body: Sequence[Operator]) -> int:
    """Bits of the operators of a function of integers that take LUTs: a comparison those of its operands."""
    found = 0
    for operator in body:
        constant = any(body[k].op == "const" for k in operator.operands)
        if operator.op in _FREE or operator.op.startswith(MULTIPLICATIONS) or (operator.op in _SHIFTS and constant):
            continue
        words = [body[k].word for k in operator.operands]
        if is_floating(operator.op, (operator.word, *words)):
            continue
        widths = [word.width for word in words]
        found += max(widths) if operator.op in _COMPARISONS else operator.word.width
    return found


def _stream_loops(tilings: Tilings) -> int:
    """Tile loops that streams count, and those that they have strides for."""
    kernel, geometry = tilings.kernel, tilings.geometry
    strides = sum(reference.depends(k) for reference in kernel.references for k in range(len(kernel.loops)))
    plain = len(kernel.loops) - len(kernel.reduction_loops)
    return strides + sum(stream.loops for stream in geometry.operands) + 2 * plain * (1 + len(geometry.extras))
