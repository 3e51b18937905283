"""The models of latency and memory for many tilings of one shape at once, as columns of numbers.

The formulas are those of `compiler.bind.systolic.plan`, `words` and `latency`, which the tests hold this to; a plan per
tiling would take a thousand times as long.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from compiler.bind.systolic.body import adder_cycles, conversion, operators, partial_sums
from compiler.bind.systolic.kernel import Kernel, Reference
from compiler.bind.systolic.latency import DRAIN, FILL, QUEUE
from compiler.bind.systolic.plan import extras_limit, row_pack_limit, space_axes
from compiler.bind.systolic.tuner.shapes import Shape
from compiler.ir.expr import Expr
from compiler.ir.types import Float, Int
from hw.dataflow.registers import element_bytes
from hw.systolic.feeder import FEEDER_LUT_RAM_BITS
from hw.systolic.formats import Format, find_format

__all__ = ["Column", "Geometry", "Results", "Stream", "Tilings"]

Column = np.ndarray


@dataclass(frozen=True)
class Tilings:
    """Tilings of a kernel on a shape: `times` of shape [tilings, loops], iterations per tile of each PE; `delays`:
    cycles of operations on floating-point numbers, as `compiler.bind.systolic.plan.Choice.latency`."""

    kernel: Kernel
    shape: Shape
    times: np.ndarray
    bus_bits: int
    delays: Mapping[str, int] | None = None

    @cached_property
    def tile_order(self) -> list[int]:
        """Loops as tile loops, outermost first: those of the results, then reductions."""
        names = self.kernel.reduction_loops
        return sorted(range(len(self.kernel.loops)), key=lambda k: self.kernel.loops[k] in names)

    @cached_property
    def counts(self) -> Column:
        """Tiles per loop, in the order of the tile loops: [tilings, loops]."""
        tile = self.times * np.array(self.shape.counts(self.kernel.loops))
        return (-(-np.array(self.kernel.extents) // tile))[:, self.tile_order]

    @property
    def steps(self) -> Column:
        """Steps of a tile."""
        return self.times.prod(axis=1)

    @property
    def step_cycles(self) -> Column:
        """Cycles in which a PE begins the steps of a tile, as `hw.systolic.spec.ArraySpec` has them for the order in
        which most results, or partial sums, come in turns."""
        adder, turns = adder_cycles(self.kernel, self.delays), np.maximum(self.geometry.results.own, self.parts)
        return self.steps * -(-(adder + 1) // turns) if adder else self.steps

    @cached_property
    def parts(self) -> Column:
        """Partial sums of each result: as many as keep the adder busy where results alone do not, and sums may be made
        in any order; fewer if the innermost reduction has not so many steps."""
        adder, own = adder_cycles(self.kernel, self.delays), self.geometry.results.own
        if not adder or not self.kernel.reassociated:
            return np.ones_like(own)
        inner = self.times[:, self.kernel.loops.index(self.kernel.reduction_loops[-1])]
        most = np.minimum(inner & -inner, partial_sums(self.kernel, self.delays))
        return np.where((own <= adder) & (own < most), most, 1)

    @property
    def form(self) -> Format:
        """The arithmetic."""
        return find_format("float" if self.kernel.floating else "integer")

    @cached_property
    def geometry(self) -> Geometry:
        """Streams of words and how the array lies."""
        return Geometry(self)

    @property
    def feeder_bits(self) -> Column:
        """Bits of all feeders."""
        return 2 * _total(stream.words * stream.bits * stream.feeders for stream in self.geometry.operands)

    @property
    def accumulator_bits(self) -> Column:
        """Bits of all accumulators."""
        results = self.geometry.results
        return results.own * self.parts * results.bits * self.geometry.rows * self.geometry.columns

    @property
    def latency(self) -> Column:
        """Cycles from the start of a step until its result, as `hw.systolic.compute.Compute.completion`."""
        geometry, kernel = self.geometry, self.kernel
        reading = _largest([0 * self.steps, *(stream.in_blocks for stream in geometry.operands if stream.interior)]) + 1
        levels = 0 if geometry.lanes_in_results else (self.shape.lanes - 1).bit_length()
        early = kernel.initial is not None and geometry.space == "none"
        body = self.form.schedule(operators(kernel, self.delays))
        adder = adder_cycles(kernel, self.delays)
        sums = adder * (1 + np.ceil(np.log2(self.parts)).astype(np.int64))
        return np.maximum(2, reading + max(body[-1].done + levels * max(1, adder), int(early))) + sums

    @property
    def skew(self) -> int:
        """As `hw.systolic.spec.ArraySpec.skew`."""
        geometry = self.geometry
        hops = {"none": 0, "columns": geometry.columns, "both": geometry.columns + geometry.rows}
        return hops[geometry.space] * adder_cycles(self.kernel, self.delays)

    @cached_property
    def cycles(self) -> Column:
        """Cycles of a run, as `compiler.bind.systolic.latency.predict` has them, double-buffered."""
        geometry, results = self.geometry, self.geometry.results
        operands, streams = geometry.operands, (*geometry.operands, *geometry.extras)
        bytes_ = self.bus_bits // 8
        loads = _total([0 * self.steps, *(o.memory_bytes for o in operands)]) // bytes_
        whole = _total([0 * self.steps, *(o.memory_bytes * (o.streams == 1) for o in operands)]) // bytes_
        parts = _total([0 * self.steps, *(o.memory_bytes // bytes_ // o.streams * (o.streams > 1) for o in operands)])
        fill = FILL + np.maximum.reduce([whole + parts, loads - self.step_cycles, *(np.where(
            o.streams > 1, np.maximum(o.chain // o.streams, o.chain - self.step_cycles), o.chain) + o.delay
            for o in operands)])
        leave = np.maximum.reduce([results.memory_bytes // bytes_, results.chain,
                                    results.words // results.row_pack])
        left = leave - np.minimum(leave // results.own, self.step_cycles // results.own) * (results.own - 1)
        drain = DRAIN + self.latency + geometry.rows + geometry.columns + self.skew + left + results.delay
        even = _largest([0 * self.steps, *(o.memory_bytes for o in operands)]) <= QUEUE * bytes_
        return fill + np.where(even, *self._steady(streams, leave)) + drain

    def _steady(self, streams: Sequence[Operand | Extra], leave: Column) -> tuple[Column, Column]:
        """Cycles from the first step to the last one: where tiles fit the queues, and where they do not."""
        stages = self._stages(streams)
        plain = len(self.kernel.loops) - len(self.kernel.reduction_loops)
        results = self.counts[:, :plain].prod(axis=1)
        even = np.maximum(results * leave, _total(count * stage for count, stage in stages).max(axis=0))
        inner = [count * stage.max(axis=0) for count, stage in stages[1 + plain :]]
        between = _total([0 * leave, *inner]) // results
        uneven = _total(count * np.maximum(stage.max(axis=0) + between, leave) for count, stage in stages[: 1 + plain])
        return even, uneven

    def _stages(self, streams: Sequence[Operand | Extra]) -> list[tuple[Column, np.ndarray]]:
        """Of every class of tiles their number, and the cycles of steps, loads and chains of one: [3, tilings]."""
        nothing = 0 * self.steps
        found = [(nothing + 1, np.stack([self.step_cycles, nothing, nothing]))]
        outer = nothing + 1
        for loop in range(len(self.tile_order)):
            load = _total([nothing, *(o.memory_bytes * (o.innermost >= loop) for o in streams)]) // (self.bus_bits // 8)
            chain = _largest([nothing, *(o.chain * (o.innermost >= loop) for o in streams)])
            found.append((outer * (self.counts[:, loop] - 1), np.stack([self.step_cycles, load, chain])))
            outer = outer * self.counts[:, loop]
        return found


def _number(value: Expr) -> Int | Float:
    assert isinstance(value.type, Int | Float)
    return value.type


def _total(columns: Iterable[np.ndarray]) -> np.ndarray:
    return np.sum(list(columns), axis=0)


def _largest(columns: Iterable[np.ndarray]) -> np.ndarray:
    return np.max(list(columns), axis=0)


class Geometry:
    """How a shape lies: `rows` and `columns`, `axes` (by space loop), where results are combined in `space` (as in
    `hw.systolic.spec.ResultSpec`), and the streams of `operands`, `extras` and `results`."""

    def __init__(self, tilings: Tilings) -> None:
        kernel, shape = tilings.kernel, tilings.shape
        placed = dict(zip(shape.space, shape.array, strict=True))
        self.axes = space_axes(kernel, shape.space)
        self.rows, self.columns = (prod(placed[n] for n, axis in self.axes.items() if axis == wanted)
                                   for wanted in (0, 1))
        reduced = {self.axes[name] for name in shape.space if name in kernel.reduction_loops}
        self.space = "none" if not reduced else "both" if reduced == {0, 1} else "columns"
        self.lanes_in_results = shape.lanes > 1 and shape.simd not in kernel.reduction_loops
        self.operands = [Operand(tilings, self, reference, number == len(kernel.reads))
                         for number, reference in enumerate(kernel.references)]
        self.results = Results(tilings, self)
        self.extras = [Extra(tilings, self.results, extra.type.width) for extra in kernel.extras]


def bus_words(width: int, elements: int, bus_bits: int) -> int:
    """Words of so many elements that a beat of memory holds: a power of two, at least 1."""
    size = 8 << (elements * element_bytes(width) - 1).bit_length()
    return max(1, bus_bits // size)


def power_of_two(count: Column) -> Column:
    """The smallest powers of two that are not below `count`."""
    return np.left_shift(1, np.ceil(np.log2(np.maximum(count, 1))).astype(np.int64))


def innermost_loop(tilings: Tilings, depends: np.ndarray) -> Column:
    """The innermost tile loop with several turns among those that `depends` marks, -1 if there is none."""
    return np.where((tilings.counts > 1) & depends, np.arange(len(depends)), -1).max(axis=1)


class Stream:
    """What operands and results have in common: `words` of `bits` of a tile in each of `images` places, with `elements`
    that have `stored` bits each in memory, `pack` of them to a beat; cycles on the daisy `chain`, and bytes in memory
    of a tile. `function`: what the elements go through on their way (None: nothing), in `delay` cycles. `most`: no more
    words than these to a beat."""

    def __init__(self, tilings: Tilings, width: int, elements: int, words: Column, images: int,
                 most: Column | None = None, stored: int | None = None, function: Expr | None = None) -> None:
        self.words, self.elements, self.images, self.stored = words, elements, images, stored or width
        self.bits = width * elements
        size = 1 << (elements * element_bytes(self.stored) - 1).bit_length()
        together = power_of_two(words if most is None else np.minimum(words, most))
        self.pack = np.minimum(bus_words(width if most is not None else max(width, self.stored), elements,
                                         tilings.bus_bits), together)
        beats = -(-words // self.pack)
        self.chain = images * beats
        bus = tilings.bus_bits // 8
        self.memory_bytes = -(-(images * beats * self.pack * size) // bus) * bus
        self.function = () if function is None else tilings.form.schedule(
            conversion(tilings.kernel, function, _number(function), tilings.delays).body)

    @property
    def delay(self) -> int:
        """Cycles that the function takes, as `hw.systolic.elementwise.conversion_latency` has them."""
        return self.function[-1].done + 2 if self.function else 0


class Operand(Stream):
    """One read reference; `feeders` of them, `interior` if every PE has one, in block RAM if `in_blocks`; tile `loops`
    up to the last one on which it depends, `innermost` of these that has several turns. `streams`: beats of a
    feeder if steps begin when the first of them is there, else 1."""

    def __init__(self, tilings: Tilings, geometry: Geometry, reference: Reference, initial: bool) -> None:
        kernel, shape = tilings.kernel, tilings.shape
        along = {geometry.axes[name] for name in shape.space if reference.depends(kernel.loops.index(name))}
        if initial and geometry.space == "both":
            along = {0}
        self.interior = len(along) == 2
        self.feeders = (geometry.columns if along == {1} else geometry.rows) if len(along) < 2 else (
            geometry.rows * geometry.columns)
        vector = shape.lanes > 1 and reference.depends(kernel.loops.index(shape.simd))
        vector = vector or (initial and geometry.lanes_in_results)
        depends = np.array([reference.depends(k) for k in tilings.tile_order])
        self.loops = int(np.flatnonzero(depends).max(initial=-1)) + 1
        self.innermost = innermost_loop(tilings, depends)
        by_loop = _by_loop(tilings, reference)
        words = np.minimum(by_loop, _by_window(tilings, reference))
        elements = shape.lanes if vector else 1
        start = kernel.start if initial else None
        width = reference.type.width if start is None else kernel.type.width
        super().__init__(tilings, width, elements, words, self.feeders if along else 1, stored=reference.type.width,
                         function=start)
        beats = -(-words // self.pack)
        self.streams = np.where(words == by_loop, beats, 1)
        depth = 2 * power_of_two(beats)
        self.in_blocks = depth * self.pack * self.bits > FEEDER_LUT_RAM_BITS


class Results(Stream):
    """The results of a tile; each place that accumulates has `own` of them."""

    def __init__(self, tilings: Tilings, geometry: Geometry) -> None:
        kernel = tilings.kernel
        plain = [k for k, name in enumerate(kernel.loops) if name not in kernel.reduction_loops]
        self.own = tilings.times[:, plain].prod(axis=1)
        elements = tilings.shape.lanes if geometry.lanes_in_results else 1
        exits = 1 if geometry.space == "both" else geometry.rows
        leaving = self.own * (geometry.columns if geometry.space == "none" else 1)
        self.row_pack = np.ones_like(self.own)
        if geometry.space == "none":
            bits, bus = kernel.type.width * elements, bus_words(kernel.type.width, elements, tilings.bus_bits)
            room = max((operand.stored * operand.elements for operand in geometry.operands), default=0) // bits
            self.row_pack = np.gcd(self.own, row_pack_limit(exits, bus, room))
        limit = extras_limit(kernel, elements)
        self.row_pack = np.minimum(self.row_pack, limit)
        stored = None if kernel.finish is None else _number(kernel.finish).width
        super().__init__(tilings, kernel.type.width, elements, leaving, exits,
                         np.minimum(exits * self.row_pack, limit), stored, kernel.finish)


class Extra:
    """Elements of `bits` bits that go with results: a word with each of them in memory."""

    def __init__(self, tilings: Tilings, results: Results, width: int) -> None:
        size = 1 << (results.elements * element_bytes(width) - 1).bit_length()
        bus = tilings.bus_bits // 8
        self.memory_bytes = -(-(results.chain * results.pack * size) // bus) * bus
        self.chain = 0 * results.chain
        self.innermost = innermost_loop(tilings, np.arange(len(tilings.tile_order)) < len(tilings.kernel.loops) - len(
            tilings.kernel.reduction_loops))


def _by_loop(tilings: Tilings, reference: Reference) -> Column:
    """Words of a feeder, numbered by time loops."""
    used = [k for k in range(len(tilings.kernel.loops)) if reference.depends(k)]
    return tilings.times[:, used].prod(axis=1)


def _by_window(tilings: Tilings, reference: Reference) -> Column:
    """Words of a feeder, numbered by windows of the array."""
    kernel, shape = tilings.kernel, tilings.shape
    lanes = np.array([shape.lanes if name == shape.simd else 1 for name in kernel.loops])
    words = np.ones(len(tilings.times), np.int64)
    for subscript in reference.subscripts:
        moves = np.where(tilings.times > 1, np.abs(np.array(subscript.coefficients) * lanes), 0)
        unit = np.maximum(np.gcd.reduce(moves, axis=1), 1)
        words = words * ((moves // unit[:, None] * (tilings.times - 1)).sum(axis=1) + 1)
    return words
