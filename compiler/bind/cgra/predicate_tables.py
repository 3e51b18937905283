"""Control streams: bits that say which instances of a statement take which of several values.

A read whose value comes from another statement in the first step of a reduction than in later ones gets both streams
and a *merge*: a processing element that selects by a bit. Which instances take which source depends on a few loops
only, so the bit is a table over those loops, in a memory tile that no stream writes, walked by its affine controllers.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import islpy as isl
import numpy as np

from compiler.bind.buffers.counters import counted
from compiler.bind.cgra.address_patterns import AddressPattern, Level
from compiler.ir.points import contains
from compiler.ir.program import Statement
from compiler.sched.static.schedule import Schedule, StatementSchedule
from hw.errors import SluiceError
from hw.memtile import (
    AddressedConfig,
    AddressedOutput,
    Affine,
    AffineNest,
    DualPortConfig,
    DualPortOutput,
    MemTileSpec,
    PubConfig,
    PubOutput,
)

__all__ = ["ControlError", "PredicateTable", "control_factors", "control_pattern", "control_table", "plan_control"]

_MOST_HELD = 1 << 22
"""Cases that are looked at for a shorter table."""

_OPERANDS = 3
"""Bits that a truth table has."""

_LEAD = 2
"""Cycles by which a fetch precedes its first read; nothing else uses the SRAM of a control table."""


class ControlError(SluiceError):
    """The choice between two values needs a larger table than a memory tile holds."""


@dataclass(frozen=True)
class PredicateTable:
    """Entry ``sum(strides * iteration)`` of `contents` is read in cycle ``offset + sum(times * iteration)``; innermost
    loop first, tiles not included."""

    contents: tuple[int, ...]
    ranges: tuple[int, ...]
    times: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int

    def delay_from(self, other: PredicateTable) -> int | None:
        """Cycles by which this stream is later than `other`, None if they differ in anything else."""
        same = self.contents == other.contents and (self.ranges, self.times, self.strides) == (
            other.ranges, other.times, other.strides)
        return self.offset - other.offset if same else None


def control_table(schedule: Schedule, statement: Statement, chosen: isl.Set, mem: MemTileSpec,
                  held: bool = True) -> PredicateTable:
    """1 for the instances in `chosen`, 0 for all others. `held`: an entry may stand for several steps of a loop, in
    which the output of the memory holds it. Raises `ControlError` if no memory tile holds the table."""
    entry = schedule.statements[statement.name]
    first = schedule.staged.tile_depth
    inner = statement.iterators[first:]
    needed = [n for n in inner if not _is_free(statement.domain, chosen, statement.iterators.index(n))]
    size = prod(entry.trips[n] for n in needed)
    if size > mem.sram_words:
        short = _held(statement, chosen, entry, needed, first) if held and size <= _MOST_HELD else None
        if short is not None and len(short.contents) <= mem.sram_words:
            return short
        raise ControlError(f"{statement}: which of its values comes from where depends on {', '.join(needed)}, "
                           f"{size} cases; the SRAM of a memory tile has {mem.sram_words} addresses")
    strides = _strides(entry, needed)
    contents = _contents(statement, chosen, entry, needed, first)
    order = list(reversed(inner)) or [""]
    return PredicateTable(contents, tuple(entry.trips.get(n, 1) for n in order),
                        tuple(entry.strides.get(n, 0) for n in order), tuple(strides.get(n, 0) for n in order),
                        entry.offset)


def control_factors(statement: Statement, chosen: isl.Set) -> tuple[list[isl.Set], bool] | None:
    """Conditions on one iterator each that hold together for the instances in `chosen`, or, if the second part of the
    result is true, for all others; None if there are none, or more than a truth table takes."""
    for wanted, inverted in ((chosen.intersect(statement.domain), False), (statement.domain.subtract(chosen), True)):
        cylinders = [_cylinder(statement.domain, wanted, k) for k in range(len(statement.iterators))]
        parts = [part for part in cylinders if not part.is_equal(statement.domain)]
        together = statement.domain
        for part in parts:
            together = together.intersect(part)
        if 2 <= len(parts) <= _OPERANDS and together.is_equal(wanted):
            return parts, inverted
    return None


def _cylinder(domain: isl.Set, wanted: isl.Set, dimension: int) -> isl.Set:
    """The instances with a value of one iterator that some of the `wanted` have."""
    low, count = dimension, domain.dim(isl.dim_type.set)
    some = wanted.project_out(isl.dim_type.set, low + 1, count - low - 1).project_out(isl.dim_type.set, 0, low)
    some = some.insert_dims(isl.dim_type.set, 0, low).insert_dims(isl.dim_type.set, low + 1, count - low - 1)
    return some.set_tuple_name(domain.get_tuple_name()).intersect(domain)


def _held(statement: Statement, chosen: isl.Set, entry: StatementSchedule, needed: list[str],
          tile_loops: int) -> PredicateTable | None:
    """The table with two entries for the innermost loop that it depends on, the one in whose first steps the bit
    differs from that in its later ones; None if it changes more often. Loops inside need no entries of their own."""
    *others, loop = needed
    trips = entry.trips[loop]
    bits = np.array(_contents(statement, chosen, entry, needed, tile_loops)).reshape(-1, trips)
    changes = np.unique(np.nonzero(np.diff(bits, axis=1))[1])
    if len(changes) != 1:
        return None
    step = int(changes[0]) + 1
    inner = statement.iterators[tile_loops:]
    outer = list(reversed(inner[: inner.index(loop)]))
    strides = {name: 2 * words // trips for name, words in _strides(entry, needed).items() if name in others}
    return PredicateTable(tuple(bits[:, [0, step]].ravel().tolist()),
                          (2, *(entry.trips[n] for n in outer)), (step * entry.strides[loop],
                                                                  *(entry.strides[n] for n in outer)),
                          (1, *(strides.get(n, 0) for n in outer)), entry.offset)


def _is_free(domain: isl.Set, chosen: isl.Set, dimension: int) -> bool:
    """Whether being in `chosen` does not depend on one dimension of the domain."""
    some = chosen.project_out(isl.dim_type.set, dimension, 1).insert_dims(isl.dim_type.set, dimension, 1)
    some = some.set_tuple_name(domain.get_tuple_name()).intersect(domain)
    return some.is_equal(chosen.intersect(domain))


def _strides(entry: StatementSchedule, needed: list[str]) -> dict[str, int]:
    strides, size = {}, 1
    for name in reversed(needed):
        strides[name] = size
        size *= entry.trips[name]
    return strides


def _contents(statement: Statement, chosen: isl.Set, entry: StatementSchedule, needed: list[str],
              tile_loops: int) -> tuple[int, ...]:
    sizes = [entry.trips[n] for n in needed]
    grid = np.indices(sizes).reshape(len(sizes), -1) if sizes else np.zeros((0, 1), np.int64)
    count = grid.shape[1]
    lows = {name: statement.domain.dim_min_val(k).to_python() for k, name in enumerate(statement.iterators)}
    columns = [grid[needed.index(n)] + lows[n] if n in needed and k >= tile_loops else np.full(count, lows[n])
               for k, n in enumerate(statement.iterators)]
    return tuple(int(v) for v in contains(chosen, columns, count))


def control_pattern(table: PredicateTable, period: int, spec: MemTileSpec) -> AddressPattern:
    """The addresses of `table`, for processing elements to compute."""
    levels = [*map(Level, table.times, table.strides, table.ranges), Level(period, 0, None)]
    return AddressPattern.of(levels, 0, spec.capacity_words, table.offset)


def plan_control(table: PredicateTable, shift: int, tiles: int, period: int,
                 spec: MemTileSpec) -> PubConfig | DualPortConfig | AddressedConfig:
    """Configuration of the memory tile that plays `table`; `shift` is added to logical cycles to get firing cycles."""
    ranges, times = (*table.ranges, tiles), (*table.times, period)
    start = table.offset + shift
    if spec.kind == "dual-port-pe":
        return AddressedConfig(outputs=(AddressedOutput(),), contents=table.contents)
    if spec.kind == "dual-port":
        nest = AffineNest(ranges, times, start, (Affine((*table.strides, 0)),))
        return DualPortConfig(outputs=(DualPortOutput(counted(nest)),), contents=table.contents)
    # One entry to a wide word: every event fetches its word into the next block of the transpose buffer.
    words = tuple(bit for entry in table.contents for bit in (entry, *[0] * (spec.fetch_width - 1)))
    steps = []
    size = 1
    for count in ranges:
        steps.append(size)
        size *= count
    fetch = AffineNest(ranges, times, start - _LEAD, (Affine((*table.strides, 0)), Affine(tuple(steps))))
    read = AffineNest(ranges, times, start, (Affine(tuple(spec.fetch_width * s for s in steps)),))
    return PubConfig(outputs=(PubOutput(counted(fetch), counted(read)),), contents=words)
