"""Loop coalescing: loops over tiles that an author wrote, and the loops inside a tile, become one loop each again.

Tiles fit a machine with a cache; hardware that is made for the program chooses its own, and each tile loop left over
costs it a start (Polychronopoulos 1987 names the transformation). Loops are coalesced only where all dependences keep
their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import islpy as isl

from compiler.ir.program import Program, Statement
from compiler.passes.directives.errors import TransformError
from compiler.passes.directives.place import Place, places
from compiler.passes.directives.rewrite import rewritten, unchanged
from compiler.passes.normalize.coalesced_statement import CoalescedStatement, coalesced
from compiler.passes.recurrence.shorten_recurrences import reduction

__all__ = ["coalesce_tile_loops", "without_tile_loops"]

_Loop = tuple[tuple[int, ...], ...]
"""Positions of a loop among its siblings from the outermost loop on: the statements in it have them in common."""


def coalesce_tile_loops(program: Program) -> Program:
    """`program` without the loops that are tile loops of all statements in them; the others keep their order. Itself if
    there are none, or if its order is not made of loops. A tile loop stays where dependent instances would change
    places, other than those of a sum of integers or the like; all stay in a program with memories, whose loads and
    stores have an order of their own."""
    if program.memories:
        return program
    try:
        start = _Draft.of(program)
    except TransformError:
        return program
    whole = start.without_all()
    if whole is start:
        return program
    return whole.legal(program) or _one_by_one(program, start)


def _one_by_one(program: Program, draft: _Draft) -> Program:
    """`program` without as many tile loops as dependences allow, of those from the outermost on."""
    result = program
    while True:
        for loop in draft.loops():
            fewer = draft.without(loop)
            made = fewer and fewer.legal(program)
            if fewer is not None and made is not None:
                draft, result = fewer, made
                break
        else:
            return result


def without_tile_loops(program: Program) -> Program:
    """`program` whose statements are not in tile loops, while the order of instances stays what it was: for targets
    that choose an order of their own."""
    order = isl.UnionMap.empty(program.order.get_space().params())
    statements = []
    for statement in program.statements:
        time = program.order_of(statement.name)
        while (change := _first_change(statement)) is not None:
            time = change.image.reverse().apply_range(time)
            statement = change.statement
        statements.append(statement)
        order = order.union(isl.UnionMap.from_map(time))
    return replace(program, statements=tuple(statements), order=order)


def _first_change(statement: Statement) -> CoalescedStatement | None:
    changes = (coalesced(statement, k) for k in range(len(statement.iterators)))
    return next((change for change in changes if change is not None), None)


@dataclass(frozen=True)
class _Site:
    """A statement on its way: `positions` (of loops that are one now, those of all) and `times` of its loops. `image`:
    {instance of the old statement -> instance of this one}."""

    statement: Statement
    positions: tuple[tuple[int, ...], ...]
    times: tuple[isl.Aff, ...]
    image: isl.Map

    def is_in(self, loop: _Loop) -> bool:
        return len(self.times) >= len(loop) and self.positions[:len(loop)] == loop

    def without(self, depth: int) -> _Site | None:
        """The statement without its loop at `depth`, None if that is no tile loop of it."""
        number = Place((), self.times).iterator(depth)
        change = None if number is None else coalesced(self.statement, number)
        if change is None:
            return None
        times = [change.time(time) for k, time in enumerate(self.times) if k != depth]
        kept = [time for time in times if time is not None]
        if len(kept) < len(times):
            return None
        joined = self.positions[depth] + self.positions[depth + 1]
        positions = (*self.positions[:depth], joined, *self.positions[depth + 2:])
        return _Site(change.statement, positions, tuple(kept), self.image.apply_range(change.image))


@dataclass(frozen=True)
class _Draft:
    """The statements of a program on their way, by their names."""

    sites: Mapping[str, _Site]

    @staticmethod
    def of(program: Program) -> _Draft:
        """The program as it is. Raises `TransformError` if its order is not of the 2d+1 form."""
        where, images = places(program), unchanged(program)
        return _Draft({s.name: _Site(s, tuple((p,) for p in where[s.name].positions), where[s.name].loops,
                                     images[s.name][0].intersect_domain(s.domain)) for s in program.statements})

    def loops(self) -> list[_Loop]:
        """All loops, outer ones before inner ones."""
        found = {site.positions[:depth + 1] for site in self.sites.values() for depth in range(len(site.times))}
        return sorted(found, key=lambda loop: (len(loop), loop))

    def without(self, loop: _Loop) -> _Draft | None:
        """The same without a loop; None if it is no tile loop of all statements in it."""
        changed: dict[str, _Site] = {}
        for name, site in self.sites.items():
            if site.is_in(loop):
                fewer = site.without(len(loop) - 1)
                if fewer is None:
                    return None
                changed[name] = fewer
        return _Draft({**self.sites, **changed})

    def without_all(self) -> _Draft:
        """The same without any tile loop; itself if there is none."""
        for loop in self.loops():
            fewer = self.without(loop)
            if fewer is not None:
                return fewer.without_all()
        return self

    def legal(self, program: Program) -> Program | None:
        """The program that the draft of `program` stands for; None if a dependence of it changed direction."""
        statements = tuple(self.sites[s.name].statement for s in program.statements)
        numbered = _numbered({name: site.positions for name, site in self.sites.items()})
        where = {name: Place(numbered[name], site.times) for name, site in self.sites.items()}
        images = {name: [site.image] for name, site in self.sites.items()}
        sums = {s.name for s in program.statements if reduction(program, s) is not None}
        try:
            return rewritten(program, statements, where, images, "coalescing of tile loops", sums)
        except TransformError:
            return None


def _numbered(positions: Mapping[str, tuple[tuple[int, ...], ...]]) -> dict[str, tuple[int, ...]]:
    """Positions among siblings as numbers from 0 on, in the same order."""
    return {name: tuple(_rank(mine, depth, positions.values()) for depth in range(len(mine)))
            for name, mine in positions.items()}


def _rank(mine: _Loop, depth: int, every: Iterable[_Loop]) -> int:
    siblings = {other[depth] for other in every if len(other) > depth and other[:depth] == mine[:depth]}
    return sorted(siblings).index(mine[depth])
