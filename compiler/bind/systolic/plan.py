"""From a kernel and choices to the description of an array: loops in parts, words, directions, guards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd, prod
from typing import Literal

from compiler.bind.dataflow.expressions import word
from compiler.bind.systolic.body import adder_cycles, conversion, operators, padding_counts
from compiler.bind.systolic.errors import MappingError
from compiler.bind.systolic.float_sums import in_order
from compiler.bind.systolic.kernel import Kernel, Reference
from compiler.bind.systolic.split import Split
from compiler.bind.systolic.words import Words, number_words
from compiler.ir.types import Float, Int
from compiler.sched.space_time import check_space, enumerate_arrays
from hw.dataflow.registers import element_bytes
from hw.dataflow.spec import Word
from hw.drivers.interface import c_identifier
from hw.labels import Label
from hw.systolic.spec import (
    BITS_OF_A_BEAT,
    EAST,
    INTERIOR,
    SOUTH,
    Address,
    ArraySpec,
    Conversion,
    Direction,
    ExtraSpec,
    GuardSpec,
    OperandSpec,
    ResultSpec,
    TileLoop,
    TimeLoop,
)

__all__ = ["Choice", "Plan", "Source", "check_loops", "extras_limit", "keeps_order", "legal_spaces", "make_plan",
           "reductions_innermost", "row_pack_limit", "space_axes"]

_MOST_BEAT_BITS = 1024


@dataclass(frozen=True)
class Choice:
    """All that is decided about an array: `space` loops and positions along each, steps per tile (`time`, by loop),
    `order` of the time loops, `simd` loop ("" for none) and `lanes`, words per `pack`; `latency`: cycles of operations
    on floating-point numbers (None: those of `hw.dataflow.floating.FLOAT_LATENCY`); `partial_sums` of each result that
    take turns in the innermost loop of a tile."""

    space: tuple[str, ...]
    array: tuple[int, ...]
    time: Mapping[str, int]
    order: tuple[str, ...]
    simd: str = ""
    lanes: int = 1
    pack: int | None = None
    double_buffering: bool = True
    bus_bits: int = 64
    latency: Mapping[str, int] | None = None
    partial_sums: int = 1


@dataclass(frozen=True)
class Source:
    """Where the words of an operand come from: a reference of the kernel, and how a feeder's words are numbered."""

    reference: Reference
    words: Words


@dataclass(frozen=True)
class Plan:
    """An array for a kernel. `splits`: one per loop of the kernel; `sources`: one per stream of `spec`."""

    kernel: Kernel
    choice: Choice
    splits: tuple[Split, ...]
    spec: ArraySpec
    sources: tuple[Source, ...]

    def split(self, loop: str) -> Split:
        """The parts of `loop`."""
        return self.splits[self.kernel.loops.index(loop)]

    @cached_property
    def tiles(self) -> tuple[int, ...]:
        """Extents of the tile loops of the spec, for the kernel's sizes."""
        return tuple(self.split(loop.name).tiles(self.kernel.extent(loop.name)) for loop in self.spec.tile_loops)

    @property
    def steps(self) -> int:
        """Steps of every processing element."""
        return prod(self.tiles) * self.spec.steps

    @property
    def idle(self) -> int:
        """In memory, an initial value from which nothing is added."""
        return _idle(self.kernel)

    def resized(self, kernel: Kernel) -> Plan:
        """The same array at work on `kernel`, which differs in its sizes only. Raises `MappingError` if it does not."""
        for name in ("loops", "body", "combine", "type", "output", "start", "finish"):
            if getattr(kernel, name) != getattr(self.kernel, name):
                raise MappingError(f"the array for '{self.kernel.program.name}' cannot run program "
                                   f"'{kernel.program.name}': its {name} differ")
        for own, other in zip((*self.kernel.reads, self.kernel.initial, *self.kernel.extras),
                              (*kernel.reads, kernel.initial, *kernel.extras), strict=True):
            if _moving(own) != _moving(other):
                raise MappingError(f"the array for '{self.kernel.program.name}' cannot run program "
                                   f"'{kernel.program.name}': its subscripts differ in more than constants")
        sources = tuple(
            replace(source, reference=reference)
            for source, reference in zip(self.sources, (*kernel.references, *kernel.extras), strict=True))
        found = replace(self, kernel=kernel, sources=sources)
        _check_sums(found)
        return found


def _idle(kernel: Kernel) -> int:
    if kernel.idle is None:
        name = kernel.initial.array if kernel.initial else None
        raise MappingError(f"with sums along both axes of the array, what is computed from '{name}' before they begin "
                           "must leave them alone for some number; choose other space loops")
    return kernel.idle


def _moving(reference: Reference | None) -> object:
    """What the array is built for: the coefficients."""
    return reference and (reference.type, reference.array is None, [s.coefficients for s in reference.subscripts])


def make_plan(kernel: Kernel, choice: Choice) -> Plan:
    """The array that `choice` describes. Raises `MappingError`, `SpaceTimeError` for space loops that are not legal,
    and `SystolicError` for what the hardware cannot have."""
    check_loops(kernel, choice.space, choice.simd)
    splits = _splits(kernel, choice)
    order = _order(kernel, choice)
    times = tuple(TimeLoop(name, splits[kernel.loops.index(name)].time, name in kernel.reduction_loops)
                  for name in order)
    plain = [name for name in kernel.loops if name not in kernel.reduction_loops]
    tile_loops = tuple(TileLoop(name, name in kernel.reduction_loops) for name in (*plain, *kernel.reduction_loops))
    sources = tuple(Source(r, number_words(r, kernel.loops, splits, order)) for r in kernel.references)
    extras = tuple(Source(r, Words((), (0,) * len(r.subscripts))) for r in kernel.extras)
    rows, columns = (_count(splits, axis) for axis in (0, 1))
    build = _Build(kernel, choice, splits, times, tile_loops, rows, columns)
    names = _operand_names(kernel)
    spec = ArraySpec(
        name=c_identifier(kernel.program.name), rows=rows, columns=columns, tile_loops=tile_loops, time_loops=times,
        operands=tuple(build.operand(name, source, number == len(kernel.reads))
                       for number, (name, source) in enumerate(zip(names, sources, strict=False))),
        body=operators(kernel, choice.latency), result=build.result(), lanes=choice.lanes, guards=build.guards(),
        bus_bits=choice.bus_bits, extras=tuple(
            ExtraSpec(name, _word(source.reference.type))
            for name, source in zip(names[len(sources):], extras, strict=True)),
        format="float" if kernel.floating else "integer",
        label=Label(kernel.update, kernel.analysis.program.statement(kernel.update).source))
    plan = Plan(kernel, choice, splits, spec, (*sources, *extras))
    _check_sums(plan)
    return plan


def _word(type_: Int | Float) -> Word:
    return word(type_, "the array")


def check_loops(kernel: Kernel, space: Sequence[str], simd: str = "") -> None:
    """Raise `SpaceTimeError` for space loops that are not legal, and `MappingError` for space and SIMD loops over which
    sums would be made in another order than the program's, where that matters."""
    check_space(kernel.analysis, tuple(space))
    for what, name in (*(("a space loop", name) for name in space), ("a loop in lanes", simd)):
        if kernel.ordered and name in kernel.reduction_loops:
            others = ", ".join(n for n in kernel.loops if n not in kernel.reduction_loops)
            raise MappingError(f"{kernel.analysis.program.statement(kernel.update)}: '{name}' as {what} would add "
                               "floating-point numbers in another order than the program, which rounds otherwise; "
                               f"legal are {others}, or simd=off, or any with reassociate=True")


def legal_spaces(kernel: Kernel) -> tuple[tuple[str, ...], ...]:
    """All choices of space loops that `check_loops` lets pass."""
    return tuple(space for space in enumerate_arrays(kernel.analysis)
                 if not (kernel.ordered and set(space) & set(kernel.reduction_loops)))


def keeps_order(plan: Plan) -> bool:
    """Whether the terms of every sum are added in the order of the reduction loops, one after the other."""
    kernel, spec = plan.kernel, plan.spec
    loops = kernel.reduction_loops
    splits = [plan.split(name) for name in loops]
    tiles = [split.tiles(extent) for split, extent in zip(splits, map(kernel.extent, loops), strict=True)]
    alone = spec.result.parts == 1 and all(split.count * split.lanes == 1 for split in splits)
    return alone and in_order(
        loops, tiles, [(loop.name, loop.extent) for loop in spec.time_loops])


def _check_sums(plan: Plan) -> None:
    """Raise `MappingError` unless terms of floating-point sums come in the program's order, where they have to."""
    kernel = plan.kernel
    if kernel.ordered and not keeps_order(plan):
        loops = kernel.reduction_loops
        raise MappingError(f"{kernel.analysis.program.statement(kernel.update)}: these tiles and this order would add "
                           "floating-point numbers in another order than the program, which rounds otherwise; keep "
                           f"{', '.join(loops)} in this order, and cut only the first of them that has several steps "
                           "into tiles, or let sums change with reassociate=True")


def _operand_names(kernel: Kernel) -> list[str]:
    """Array names, those of extras last, numbered where one array is read in several ways."""
    found: list[str] = []
    for reference in (*kernel.references, *kernel.extras):
        base = reference.array or "initial"
        name, number = base, 1
        while name in found:
            number += 1
            name = f"{base}_{number}"
        found.append(name)
    return found


def row_pack_limit(exits: int, bus_words: int, room: int) -> int:
    """Results per beat along rows, at most: what fills a memory beat of `bus_words` results from `exits` rows in every
    cycle, but with several rows not more than the `room` results that the widest word of an operand is as wide as; a
    power of two."""
    wanted = 1 << (-(-bus_words // exits) - 1).bit_length()
    if exits == 1:
        return wanted
    return min(wanted, 1 << max(1, room).bit_length() - 1)


def extras_limit(kernel: Kernel, elements: int) -> int:
    """Results of so many elements per beat for which a beat of extras is as wide as beats may be, a power of two."""
    widths = [elements * element_bytes(extra.type.width) for extra in kernel.extras]
    return min((BITS_OF_A_BEAT // 8 >> (width - 1).bit_length() for width in widths), default=BITS_OF_A_BEAT)


# Loops.


def _splits(kernel: Kernel, choice: Choice) -> tuple[Split, ...]:
    if len(choice.array) != len(choice.space):
        raise MappingError(f"array has {len(choice.array)} extents for {len(choice.space)} space loops")
    axes = space_axes(kernel, choice.space)
    for option, names in (("time", choice.time), ("simd", (choice.simd,) if choice.simd else ())):
        for name in names:
            if name not in kernel.loops:
                raise MappingError(f"{option} names '{name}', which is no loop of program '{kernel.program.name}'; its "
                                   f"loops are {', '.join(kernel.loops)}")
    counts = dict(zip(choice.space, choice.array, strict=True))
    return tuple(Split(name, axes.get(name), counts.get(name, 1), choice.time.get(name, 1),
                       choice.lanes if name == choice.simd else 1) for name in kernel.loops)


def space_axes(kernel: Kernel, space: tuple[str, ...]) -> dict[str, int]:
    """Rows or columns, by space loop: a loop that results are summed along lies along the columns."""
    if len(space) == 1:
        return {space[0]: 1}
    first, second = space
    if first in kernel.reduction_loops and second not in kernel.reduction_loops:
        return {first: 1, second: 0}
    return {first: 0, second: 1}


def _count(splits: Sequence[Split], axis: int) -> int:
    return prod(split.count for split in splits if split.axis == axis)


def reductions_innermost(kernel: Kernel) -> tuple[str, ...]:
    """An order of the loops of a tile in which its results come one after the other, and leave while others are
    computed."""
    return (*(name for name in kernel.loops if name not in kernel.reduction_loops), *kernel.reduction_loops)


def _order(kernel: Kernel, choice: Choice) -> tuple[str, ...]:
    for name in choice.order:
        if name not in kernel.loops:
            raise MappingError(f"order names '{name}', which is no loop of program '{kernel.program.name}'; its loops "
                               f"are {', '.join(kernel.loops)}")
    return (*(name for name in kernel.loops if name not in choice.order), *choice.order)


@dataclass(frozen=True)
class _Build:
    """Parts of the description."""

    kernel: Kernel
    choice: Choice
    splits: tuple[Split, ...]
    times: tuple[TimeLoop, ...]
    tile_loops: tuple[TileLoop, ...]
    rows: int
    columns: int

    def operand(self, name: str, source: Source, initial: bool) -> OperandSpec:
        reference = source.reference
        direction, copied = self._direction(reference)
        if initial and self._space() == "both":
            _idle(self.kernel)
            direction, copied = EAST, False
        loops = self.kernel.loops
        vector = self._vector(reference) or (initial and self._result_vector())
        kind, start = reference.type, None
        if initial and self.kernel.start is not None:
            kind, start = self.kernel.type, conversion(self.kernel, self.kernel.start, reference.type,
                                                       self.choice.latency)
        return OperandSpec(
            name, _word(kind), direction, source.words.count,
            source.words.address(len(self.times)),
            tuple(k for k, loop in enumerate(self.tile_loops) if reference.depends(loops.index(loop.name))),
            vector=vector, copied=copied, pack=self._pack(max(kind.width, reference.type.width), vector,
                                                          source.words.count),
            double_buffered=self.choice.double_buffering, initial=initial, conversion=start)

    def _direction(self, reference: Reference) -> tuple[Direction, bool]:
        """Along the axis on which the reference does not depend (Wang 2021, algorithm 2: the direction of its read
        dependence); on one that it depends on neither, all feeders hold the same."""
        depends = [any(reference.depends(k) for k, split in enumerate(self.splits) if split.axis == axis)
                   for axis in (0, 1)]
        if all(depends):
            return INTERIOR, False
        return (SOUTH, False) if depends[1] else (EAST, not depends[0])

    def _vector(self, reference: Reference) -> bool:
        return any(split.lanes > 1 and reference.depends(k) for k, split in enumerate(self.splits))

    def _result_vector(self) -> bool:
        return any(split.lanes > 1 and split.loop not in self.kernel.reduction_loops for split in self.splits)

    def _pack(self, width: int, vector: bool, words: int) -> int:
        """Words per beat: as many as a beat of memory holds, but no more than `words`, rounded up to a power of two."""
        elements = self.choice.lanes if vector else 1
        size = 1 << (elements * max(8, 1 << (width - 1).bit_length()) - 1).bit_length()
        if self.choice.pack is not None:
            return max(1, min(self.choice.pack, _MOST_BEAT_BITS // size))
        pack = 1
        while pack * 2 * size <= self.choice.bus_bits and pack < words:
            pack *= 2
        return pack

    def _space(self) -> Literal["none", "columns", "both"]:
        reduced = {split.axis for split in self.splits if split.axis is not None
                   and split.loop in self.kernel.reduction_loops}
        if not reduced:
            return "none"
        return "both" if reduced == {0, 1} else "columns"

    def result(self) -> ResultSpec:
        coefficients, words = [0] * len(self.times), 1
        for number in reversed(range(len(self.times))):
            if not self.times[number].reduction:
                coefficients[number] = words
                words *= self.times[number].extent
        kind, vector = self.kernel.type, self._result_vector()
        row_pack, pack = self._result_packs(kind.width, vector, words)
        return ResultSpec(
            _word(kind), words, Address(tuple(coefficients)), self.kernel.combine,
            space=self._space(), vector=vector, pack=pack, double_buffered=self.choice.double_buffering,
            row_pack=row_pack, conversion=self._finish(),
            latency=adder_cycles(self.kernel, self.choice.latency), parts=self.choice.partial_sums)

    def _finish(self) -> Conversion | None:
        finish = self.kernel.finish
        if finish is None:
            return None
        assert isinstance(finish.type, Int | Float)
        return conversion(self.kernel, finish, finish.type, self.choice.latency)

    def _result_packs(self, width: int, vector: bool, words: int) -> tuple[int, int]:
        """Results per beat along rows and down the edge, where a beat wider than what all rows give per cycle would not
        be faster."""
        where, lanes = self._space(), self.choice.lanes
        exits, turn = 1 if where == "both" else self.rows, 1
        if where == "none":
            widest = max((r.type.width * (lanes if self._vector(r) else 1) for r in self.kernel.references), default=0)
            bus = self._pack(width, vector, self.choice.bus_bits)
            turn = gcd(words, row_pack_limit(exits, bus, widest // (width * (lanes if vector else 1))))
        count = words * (self.columns if where == "none" else 1)
        most = extras_limit(self.kernel, lanes if vector else 1)
        return min(turn, most), min(self._pack(width, vector, min(count, exits * turn)), most)

    def guards(self) -> tuple[GuardSpec, ...]:
        return tuple(self._guard(name) for name in self.kernel.reduction_loops
                     if padding_counts(self.kernel, self.kernel.loops.index(name)))

    def _guard(self, name: str) -> GuardSpec:
        split = self.splits[self.kernel.loops.index(name)]
        number = next(k for k, loop in enumerate(self.tile_loops) if loop.name == name)
        coefficients = tuple(split.lanes if loop.name == name else 0 for loop in self.times)
        return GuardSpec(
            name, number, split.tile, coefficients, rows=split.position if split.axis == 0 else 0,
            columns=split.position if split.axis == 1 else 0, lanes=int(split.lanes > 1))
