"""Windows over resampled arrays: ``a[(x + i) // 2]`` for several i becomes a window over one stream.

Reads that repeat elements have no constant distance from the producer, so each would take a memory of its own. But
reads of one array that differ only by a shift of the iterators are the same stream at different times: a statement
that copies what one of them reads, for all iterations together, makes them taps of a delay line (Liu 2023, section
5.1.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import islpy as isl
import numpy as np

from compiler.analysis.dependences import DependenceError, flow
from compiler.ir.expr import Read
from compiler.ir.names import fresh_name
from compiler.ir.points import evaluate_map
from compiler.ir.program import Access, Array, Program, Statement, shared_depth
from compiler.ir.verify import verify
from compiler.passes.directives.errors import TransformError
from compiler.passes.directives.place import Place, order_of_places, places

__all__ = ["insert_window_copies"]

_FARTHEST = 8
"""Largest shift of an iterator between two reads that are looked for."""

Shift = tuple[int, ...]


def insert_window_copies(program: Program) -> Program:
    """`program` with a copying statement for every window over an array that a statement reads at a rate of its own."""
    for statement in program.statements:
        for array in dict.fromkeys(read.array for read in statement.reads):
            window = _window(program, statement, array)
            if window is not None:
                program = _shared(program, window)
                statement = program.statement(statement.name)
    return program


@dataclass(frozen=True)
class _Window:
    """Reads of `array` by `statement`: number k sees what the first of them sees `shifts[k]` iterations later."""

    statement: Statement
    array: Array
    depth: int
    shifts: dict[int, Shift]

    @property
    def base(self) -> Access:
        """The read that has no shift."""
        return self.statement.reads[next(iter(self.shifts))]

    def bounds(self) -> list[tuple[int, int]]:
        """First and last value of every iterator of all reads together, rounded out to whole groups of iterations that
        read one element, so that every element is read equally often."""
        box = self.statement.box()
        assert box is not None
        found = []
        for number, (low, high) in enumerate(box.values()):
            steps = [shift[number] for shift in self.shifts.values()]
            low, high = low + min(steps), high + max(steps)
            group, phase = _group(self.statement, self.base, number) if number >= self.depth else (1, 0)
            found.append((low - (low + phase) % group, high + group - 1 - (high + phase) % group))
        return found


def _group(statement: Statement, read: Access, iterator: int) -> tuple[int, int]:
    """How many iterations in a row read one element, and how many of them come before iteration 0."""
    box = statement.box()
    assert box is not None
    low, high = list(box.values())[iterator]
    line = np.arange(low - _FARTHEST, high + _FARTHEST + 1)
    columns = [line if k == iterator else np.full(len(line), first) for k, (first, _) in enumerate(box.values())]
    ends = [f"{min(c)} <= {n} <= {max(c)}" for n, c in zip(statement.iterators, columns, strict=True)]
    domain = isl.Set(f"{{ {statement.name}[{', '.join(statement.iterators)}] : {' and '.join(ends)} }}")
    elements = np.stack(evaluate_map(_function(read.map), domain, columns, len(line)))
    changes = line[1:][(elements[:, 1:] != elements[:, :-1]).any(axis=0)]
    if len(changes) < 2:
        return 1, 0
    group = int(np.gcd.reduce(np.diff(changes)))
    return group, int(-changes[0] % group)


def _window(program: Program, statement: Statement, array: str) -> _Window | None:
    numbers = [k for k, read in enumerate(statement.reads) if read.array == array]
    depth = min(shared_depth(program), len(statement.iterators) - 1)
    if len(numbers) < 2 or statement.box() is None or not all(_resamples(statement.reads[k]) for k in numbers):
        return None
    base = statement.reads[numbers[0]].map
    shifts: dict[int, Shift] = {}
    for k in numbers:
        shift = _shift(statement, base, statement.reads[k].map, depth)
        if shift is None:
            return None
        shifts[k] = shift
    window = _Window(statement, program.array(array), depth, shifts)
    return window if len(set(shifts.values())) > 1 and _in_bounds(window) else None


def _resamples(read: Access) -> bool:
    """Whether the address has a division: neighbouring iterations may read the same element."""
    parts: list[isl.MultiAff] = []
    isl.PwMultiAff.from_map(read.map).foreach_piece(lambda _, function: parts.append(function))
    return any(function.get_aff(k).dim(isl.dim_type.div) for function in parts
               for k in range(function.dim(isl.dim_type.out)))


def _shift(statement: Statement, base: isl.Map, other: isl.Map, depth: int) -> Shift | None:
    """How many iterations later `base` sees what `other` sees."""
    wanted = other.intersect_domain(statement.domain)
    for shift in _near(len(statement.iterators) - depth):
        full = (*[0] * depth, *shift)
        moved = _translation(statement, full).apply_range(_function(base))
        if moved.intersect_domain(statement.domain).is_equal(wanted):
            return full
    return None


def _near(count: int) -> Iterator[Shift]:
    """Shifts, the nearest first."""
    if count <= 2:
        every = product(range(-_FARTHEST, _FARTHEST + 1), repeat=count)
        yield from sorted(every, key=lambda shift: sum(map(abs, shift)))


def _translation(statement: Statement, shift: Shift) -> isl.Map:
    here = ", ".join(f"i{k}" for k in range(len(shift)))
    there = ", ".join(f"i{k} + {step}" for k, step in enumerate(shift))
    return isl.Map(f"{{ {statement.name}[{here}] -> {statement.name}[{there}] }}")


def _function(access: isl.Map) -> isl.Map:
    """The access beyond the statement's domain."""
    parts: list[isl.MultiAff] = []
    isl.PwMultiAff.from_map(access).foreach_piece(lambda _, function: parts.append(function))
    return isl.Map.from_multi_aff(parts[0]) if len(parts) == 1 else access


def _in_bounds(window: _Window) -> bool:
    """Whether the copy touches nothing outside the array."""
    touched = _function(window.base.map).intersect_domain(_box(window, window.statement.name)).range()
    return all(touched.dim_min_val(k).to_python() >= 0 and touched.dim_max_val(k).to_python() < size
               for k, size in enumerate(window.array.shape))


def _box(window: _Window, name: str) -> isl.Set:
    iterators = window.statement.iterators
    bounds = [f"{low} <= {n} <= {high}" for n, (low, high) in zip(iterators, window.bounds(), strict=True)]
    return isl.Set(f"{{ {name}[{', '.join(iterators)}] : {' and '.join(bounds)} }}")


def _shared(program: Program, window: _Window) -> Program:
    """`program` with the copy; itself if there is no place for it before the window and after its producers."""
    taken = program.names
    name = fresh_name(f"{window.array.name}_resampled", taken)
    bounds = window.bounds()[window.depth:]
    shape = tuple(high - low + 1 for low, high in bounds)
    array = Array(name, shape, window.array.type, "intermediate", window.array.level)
    copy = _copy(window, fresh_name(f"Resample_{window.array.name}", taken), name)
    reads = tuple(_tap(window, copy, name, window.shifts[k], read) if k in window.shifts else read
                  for k, read in enumerate(window.statement.reads))
    changed = replace(window.statement, reads=reads)
    statements: list[Statement] = []
    for statement in program.statements:
        statements += [copy, changed] if statement.name == changed.name else [statement]
    try:
        where = _placed_before(places(program), changed, copy, window.depth)
    except TransformError:
        return program
    result = replace(program, arrays=(*program.arrays, array), statements=tuple(statements),
                     order=order_of_places(tuple(statements), where))
    before = {d.source for d in flow(program) if (d.sink, d.read) in {(changed.name, k) for k in window.shifts}}
    try:
        after = {d.source for d in flow(result) if d.sink == copy.name}
    except DependenceError:
        return program  # the window's own results are among what it reads
    if before != after:
        return program
    verify(result, guarded=True)
    return result


def _copy(window: _Window, name: str, target: str) -> Statement:
    old = window.statement
    domain = _box(window, name)
    rename = isl.Map(f"{{ {name}[{', '.join(old.iterators)}] -> {old.name}[{', '.join(old.iterators)}] }}")
    read = rename.apply_range(_function(window.base.map)).intersect_domain(domain)
    return Statement(name, old.iterators, domain, (Access(window.array.name, read, window.base.location),),
                     Access(target, _place(window, name, target, (0,) * len(old.iterators))),
                     Read(0, window.array.type), old.location)


def _place(window: _Window, statement: str, target: str, shift: Shift) -> isl.Map:
    """{iteration -> the element of the copy for the iteration `shift` later}."""
    names = window.statement.iterators
    lows = [low for low, _ in window.bounds()]
    place = [f"{n} + {step} - ({low})" for n, step, low in zip(names, shift, lows, strict=True)][window.depth:]
    return isl.Map(f"{{ {statement}[{', '.join(names)}] -> {target}[{', '.join(place)}] }}")


def _tap(window: _Window, copy: Statement, target: str, shift: Shift, read: Access) -> Access:
    place = _place(window, window.statement.name, target, shift).intersect_domain(window.statement.domain)
    return Access(target, place, read.location)


def _placed_before(where: dict[str, Place], statement: Statement, copy: Statement, depth: int) -> dict[str, Place]:
    """Places with `copy` right before what surrounds `statement` inside its outer `depth` loops."""
    mine = where[statement.name]
    prefix = mine.positions[:depth]
    spread = {
        name: place.moved(depth, 2 * place.positions[depth] + 1)
        if place.positions[:depth] == prefix and len(place.positions) > depth else place
        for name, place in where.items()
    }
    local = isl.LocalSpace.from_space(copy.domain.get_space())
    loops = tuple(isl.Aff.var_on_domain(local, isl.dim_type.set, k) for k in range(len(copy.iterators)))
    positions = (*prefix, 2 * mine.positions[depth], *[0] * (len(loops) - depth))
    return spread | {copy.name: Place(positions, loops)}
