"""Loop distribution of recurrences within an iteration of an outer loop, over a few steps, by index-set splitting.

In Floyd and Warshall's shortest paths, elements behind the pivot's row or column read what the same iteration of the
outermost loop has stored there, those before them what the iteration before has left. In the program's order a step
waits for the one before. Split by the number of steps that have to come first (none in the quadrant up to the pivot,
one in those beside and below it, two in the last), and each part in loops of its own, only the parts wait for each
other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import islpy as isl

from compiler.analysis.dependences import flow
from compiler.ir.expr import with_children
from compiler.ir.names import fresh_name
from compiler.ir.program import Program, Statement
from compiler.passes.directives.errors import TransformError
from compiler.passes.directives.instances import Renaming
from compiler.passes.directives.place import Place, places
from compiler.passes.directives.rewrite import rewritten, unchanged

__all__ = ["distribute_recurrences"]

_MOST = 8
"""Most parts of one loop nest."""


@dataclass(frozen=True)
class _Body:
    """The statements in one iteration of `place`'s loops, each of which walks an iterator of all of them.

    `domain`: iterations in which there is one of them; `back`: {iteration -> later one that reads a value of it}.
    """

    members: tuple[Statement, ...]
    place: Place
    domain: isl.Set
    back: isl.Map


def distribute_recurrences(program: Program) -> Program:
    """`program` with every loop nest distributed that allows it; the same program if there is none."""
    try:
        bodies = list(_bodies(program))
    except TransformError:  # the order is not one of loops
        return program
    for body in bodies:
        try:
            program = _distributed(program, body)
        except TransformError:  # what is kept in memories in between forbids it
            continue
    return program


def _bodies(program: Program) -> Iterator[_Body]:
    where = places(program)
    nests: dict[tuple[int, ...], list[Statement]] = defaultdict(list)
    for statement in program.statements:
        place = where[statement.name]
        depths = [place.iterator(depth) for depth in range(len(place.loops))]
        if depths == list(range(len(statement.iterators))):
            nests[place.positions[: len(depths)]].append(statement)
    for members in nests.values():
        back = _back(program, members)
        if back is not None:
            iterations = [_iterations(statement.domain) for statement in members]
            yield _Body(tuple(members), where[members[0].name], reduce(isl.Set.union, iterations), back)


def _back(program: Program, members: Sequence[Statement]) -> isl.Map | None:
    """Between iterations; None if there is nothing."""
    names = {statement.name for statement in members}
    found = None
    for dependence in flow(program):
        if {dependence.source, dependence.sink} <= names:
            back = dependence.relation.reverse()
            back = back.set_tuple_name(isl.dim_type.in_, "").set_tuple_name(isl.dim_type.out, "")
            found = back if found is None else found.union(back)
    return None if found is None else found.subtract(isl.Map.identity(found.get_space()))


def _iterations(domain: isl.Set) -> isl.Set:
    return domain.set_tuple_name("")


def _distributed(program: Program, body: _Body) -> Program:
    """Raises `TransformError` if the parts may not change places."""
    depths = len(body.place.loops)
    for depth in range(1, depths):
        within = body.back
        for outer in range(depth):
            within = within.equate(isl.dim_type.in_, outer, isl.dim_type.out, outer)
        parts = _parts(body.domain, within)
        if len(parts) > 1:
            return _apart(program, body, depth, parts)
    return program


def _parts(domain: isl.Set, relation: isl.Map) -> list[isl.Set]:
    """The iterations, by the most steps that have to come before, in basic sets.

    None if there are too many: more steps than half the trips of a loop along which values come back. A sum takes as
    many as its loop has, and a wavefront more, whatever their number.
    """
    found: list[isl.Set] = []
    rest = domain
    for _ in range(_fewest_trips(domain, relation) // 2):
        later = relation.intersect_domain(rest).range().intersect(rest)
        found += _basic_sets(rest.subtract(later))
        if later.is_empty() or len(found) > _MOST:
            return found if len(found) <= _MOST else []
        rest = later
    return []


def _fewest_trips(domain: isl.Set, relation: isl.Map) -> int:
    """Of the loops along which values come back; 0 if there is none."""
    distances = relation.deltas()
    still = (distances.fix_val(isl.dim_type.set, k, 0) for k in range(domain.dim(isl.dim_type.set)))
    return min((_trips(domain, k) for k, kept in enumerate(still) if not distances.is_subset(kept)), default=0)


def _trips(domain: isl.Set, place: int) -> int:
    """Of loop number `place`, from its first value to the last."""
    return domain.dim_max_val(place).sub(domain.dim_min_val(place)).to_python() + 1


def _basic_sets(points: isl.Set) -> list[isl.Set]:
    pieces: list[isl.Set] = []
    points.coalesce().make_disjoint().coalesce().foreach_basic_set(
        lambda piece: pieces.append(isl.Set.from_basic_set(piece)))
    return pieces


def _apart(program: Program, body: _Body, depth: int, parts: Sequence[isl.Set]) -> Program:
    """The parts one behind the other in the loops outside of `depth`, their statements in loops of their own."""
    where = places(program)
    spread = {name: _moved_apart(place, body.place, depth, len(parts)) for name, place in where.items()}
    images, made = unchanged(program), {statement.name: [statement] for statement in program.statements}
    for statement in body.members:
        mine = spread.pop(statement.name)
        renamed = list(_renamed(program, statement, parts))
        images[statement.name] = [renaming.image for _, renaming in renamed]
        made[statement.name] = [renaming.statement(with_children) for _, renaming in renamed]
        for number, renaming in renamed:
            spread[renaming.name] = replace(mine.moved(depth, mine.positions[depth] + number),
                                            loops=tuple(map(renaming.time, mine.loops)))
    statements = tuple(part for statement in program.statements for part in made[statement.name])
    return rewritten(program, statements, spread, images, f"distribution of {body.members[0]}")


def _renamed(program: Program, statement: Statement, parts: Sequence[isl.Set]) -> Iterator[tuple[int, Renaming]]:
    """The parts of a statement, by number, that have instances."""
    walked = [f"n{k}" for k in range(len(statement.iterators))]
    for number, part in enumerate(parts):
        domain = statement.domain.intersect(part.set_tuple_name(statement.name)).coalesce()
        if not domain.is_empty():
            name = fresh_name(f"{statement.name}_step{number}", program.names)
            yield number, Renaming(replace(statement, domain=domain), name, statement.iterators, walked)


def _moved_apart(place: Place, mine: Place, depth: int, count: int) -> Place:
    """With room for `count` positions between those at `depth`, for what shares the loops outside."""
    beside = len(place.positions) > depth and place.positions[:depth] == mine.positions[:depth]
    return place.moved(depth, count * place.positions[depth]) if beside else place
