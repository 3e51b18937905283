"""Ways to move a program's arrays over the memory bus, and which of them ends first.

An array whose readers (or writers) take it in another order than that of memory, or more than once, wastes the bus: a
burst brings one element. Candidates are data: the numbers of tile loops, each with arrays moved in the order of their
readers, or those that waste the bus moved once, in the order of memory, through a buffer on the chip. Each has a lower
bound, its unstalled cycles; they are built best bound first, until no bound is below what has been predicted from start
to done.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

import islpy as isl

from compiler.analysis.affine import affine_form
from compiler.analysis.dependences import constant_bounds
from compiler.bind.bounds import Bounds, full_beats
from compiler.bind.design import between, expected
from compiler.bind.fpga.build import BuiltPipeline
from compiler.bind.fpga.early_exit import EarlyExit, with_exit
from compiler.bind.fpga.memory import stream_of
from compiler.bind.fpga.options import Options
from compiler.bind.fpga.start_to_done import start_to_done
from compiler.ir.expr import Const
from compiler.ir.program import Program, Statement
from compiler.sched.static.schedule import Schedule
from compiler.sched.streams.streams import StagedProgram, StreamError, row_major, stage_streams
from hw.pipeline.spec import BufferCell, LineCell
from hw.pipeline.streams import ArrayStream
from hw.pipeline.system import SystemSpec

__all__ = ["START_UP", "BuiltSystem", "choose", "in_system", "is_close", "is_worth", "moved_beats", "stagings",
           "tile_script", "unstalled_cycles"]

_T = TypeVar("_T")

_WASTEFUL = 1.25
"""Beats of an array against those that hold it, or of a system against the fewest, from which on it wastes the bus."""

_SLOWER = 1.02
"""A design may take this many times longer than the fastest one, if it takes less memory."""

_LEAST_TILE = 8
_LARGEST_TILE = 32
"""Elements along a loop of a tile, in which two orders meet."""

_CLOSE = 1.05
"""A design within this of its lower bound is not tiled."""

START_UP = 150
"""Cycles that every run has before the first and after the last word, about."""


@dataclass(frozen=True)
class BuiltSystem:
    """A pipeline in its system. `early`: the loop that data can end early, or why there is none. `most`: cycles from
    start to done with all iterations."""

    built: BuiltPipeline
    system: SystemSpec
    early: EarlyExit | str
    most: int

    def __str__(self) -> str:
        return f"{between(self.least, self.most)} cycles"

    @property
    def least(self) -> int:
        """Cycles from start to done if the loop ends as early as it can."""
        return self.most - (self.system.pipeline.cycles - self.system.pipeline.least_cycles)

    @property
    def cycles(self) -> int:
        """By what systems are compared (`compiler.bind.design.expected`)."""
        return expected(self.least, self.most)

    @property
    def memory_bits(self) -> int:
        """Bits of delay lines and buffers."""
        cells = self.system.pipeline.cells
        return sum(cell.depth * cell.word.width for cell in cells if isinstance(cell, LineCell | BufferCell))

    @property
    def beats(self) -> int:
        """Beats of all streams over the bus."""
        return sum(moved_beats(stream, self.system.bus_bits) for stream in (*self.system.inputs, *self.system.outputs))

    @property
    def words(self) -> int:
        """Words of all buffers, with those in registers."""
        return sum(storage.words for storage in self.built.storage.values())


def moved_beats(stream: ArrayStream, bus_bits: int) -> int:
    """Beats that a stream takes at least: rows begin in a beat of their own."""
    return stream.words(bus_bits // 8) * stream.rows


def stagings(program: Program, options: Options) -> list[StagedProgram]:
    """The program with every number of tile loops that there can be, or with that of the options; and each of these
    also with the arrays that waste the bus in the order of memory."""
    found: list[StagedProgram] = []
    for depth in _depths(program, options):
        plain = stage_streams(program, depth)
        found.append(plain)
        wasteful = frozenset(_wasteful(program, plain, options.bus_bits))
        if wasteful:
            with suppress(StreamError):
                found.append(stage_streams(program, depth, in_order=wasteful))
    return found


def _depths(program: Program, options: Options) -> Iterator[int]:
    if options.tile_depth is not None:
        yield options.tile_depth
        return
    depth = 0
    yield depth
    with suppress(StreamError):
        while True:
            depth += 1
            stage_streams(program, depth)
            yield depth


def _wasteful(program: Program, staged: StagedProgram, bus_bits: int) -> Iterator[str]:
    """Arrays that take more beats than they fill. An output of constants is none: nothing stores what no buffer
    holds."""
    constant = {s.write.array for s in program.statements if isinstance(s.value, Const)}
    for footprint in (*staged.inputs, *(f for f in staged.outputs if f.array not in constant)):
        array = program.array(footprint.array)
        stream = stream_of(staged, footprint, array)
        if moved_beats(stream, bus_bits) > _WASTEFUL * full_beats(array, bus_bits) + 1:
            yield array.name


def unstalled_cycles(schedule: Schedule) -> int:
    """Cycles of a schedule until its last word."""
    ends = [schedule.statements[name].last for name in schedule.staged.roots]
    return (schedule.staged.tiles - 1) * schedule.period + max(ends) + 1


def is_worth(bound: int, found: Collection[BuiltSystem], options: Options) -> bool:
    """Whether what takes at least `bound` cycles may be chosen beside the systems that were `found`."""
    best = min((item.cycles for item in found if item.memory_bits <= options.buffer_bits), default=None)
    return best is None or bound <= _SLOWER * best


def is_close(cycles: int, bounds: Bounds) -> bool:
    """Whether nothing that begins and ends as runs do takes much less."""
    return cycles <= _CLOSE * bounds.cycles + START_UP


def choose(found: Mapping[_T, BuiltSystem], options: Options) -> _T:
    """The key of the system that ends first from start to done; of those that take about as long the one with the least
    memory that moves hardly more than has to be. What takes more memory than the options allow counts only if all do.
    """
    within = {key: item for key, item in found.items() if item.memory_bits <= options.buffer_bits} or found
    fastest = min(item.cycles for item in within.values())
    alike = {key: item for key, item in within.items() if item.cycles <= _SLOWER * fastest}
    fewest = min(item.beats for item in alike.values())
    return min((key for key, item in alike.items() if item.beats <= _WASTEFUL * fewest),
               key=lambda key: alike[key].words)


def in_system(built: BuiltPipeline, early: EarlyExit | str, program: Program, options: Options) -> BuiltSystem:
    """The pipeline with the streams of its arrays; its loop ends early, if one can."""
    staged, spec = built.schedule.staged, built.spec
    place = {f.array: stream_of(staged, f, program.array(f.array)) for f in (*staged.inputs, *staged.outputs)}
    system = SystemSpec(spec, tuple(place[c.name] for c in spec.inputs), tuple(place[c.name] for c in spec.outputs),
                        options.bus_bits)
    most = start_to_done(system, options.main_memory(options.bus_bits))
    return BuiltSystem(built, with_exit(system, early), early, most)


# Tiles in which two orders meet.


def tile_script(program: Program, cycles: int, bounds: Bounds, in_order: Sequence[str]) -> str:
    """The directive that cuts a program into tiles, where it takes `cycles` with the arrays `in_order` moved in the
    order of memory: the loops that move along memory, for all arrays; empty if it is close to its bounds, or if there
    are no two such loops."""
    if not in_order or is_close(cycles, bounds) or len(program.statements) != 1:
        return ""
    [statement] = program.statements
    trips = {name: high - low + 1 for name, (low, high) in constant_bounds(statement).items()}
    names = sorted(set(_along_memory(program, statement)), key=statement.iterators.index)
    sizes = {name: _tile(trips[name]) for name in names}
    if len(sizes) < 2 or None in sizes.values():
        return ""
    return f"tile({', '.join(f'{name}={size}' for name, size in sizes.items())})"


def _tile(trips: int) -> int | None:
    """Iterations in a tile: the least divisor that makes whole beats of bytes."""
    return next((n for n in range(_LEAST_TILE, _LARGEST_TILE + 1) if trips % n == 0 and n < trips), None)


def _along_memory(program: Program, statement: Statement) -> Iterator[str]:
    """For each access to main memory the iterator that moves it by the fewest elements."""
    for access in (*statement.reads, statement.write):
        array = program.array(access.array)
        function = isl.PwMultiAff.from_map(access.map.intersect_domain(statement.domain))
        total = [0] * len(statement.iterators)
        for dimension, words in enumerate(row_major(array.shape)):
            form = affine_form(function.get_pw_aff(dimension))
            if form is None:
                return
            total = [have + words * step for have, step in zip(total, form[0], strict=True)]
        moving = [(abs(step), name) for step, name in zip(total, statement.iterators, strict=True) if step]
        if array.role != "intermediate" and moving:
            yield min(moving)[1]
