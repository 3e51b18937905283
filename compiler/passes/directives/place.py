"""Where a statement stands in the loop tree: the 2d+1 form of its part of the order, taken apart and put together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import islpy as isl

from compiler.ir.program import Program, Statement
from compiler.passes.directives.errors import TransformError

__all__ = ["Place", "order_of_places", "places", "set_apart"]


@dataclass(frozen=True)
class Place:
    """`loops`: the time of every loop around a statement, outermost first, as functions of its iterators.

    `positions`: position among siblings at every depth, one more than there are loops. Statements share loop k if
    their first k + 1 positions agree.
    """

    positions: tuple[int, ...]
    loops: tuple[isl.Aff, ...]

    def iterator(self, depth: int) -> int | None:
        """The only iterator (its number) that the time of loop `depth` depends on, None if there are several."""
        loop = self.loops[depth]
        used = [k for k in range(loop.dim(isl.dim_type.in_)) if loop.involves_dims(isl.dim_type.in_, k, 1)]
        return used[0] if len(used) == 1 else None

    def depth_of(self, iterator: int) -> int | None:
        """The loop that walks `iterator` (its number) alone, None if there is none."""
        return next((depth for depth in range(len(self.loops)) if self.iterator(depth) == iterator), None)

    def moved(self, depth: int, position: int) -> Place:
        """The same place with another position at `depth`."""
        return replace(self, positions=(*self.positions[:depth], position, *self.positions[depth + 1 :]))


def places(program: Program) -> dict[str, Place]:
    """The place of every statement. Raises `TransformError` if the order is not of the 2d+1 form."""
    return {statement.name: _place(program, statement) for statement in program.statements}


def _place(program: Program, statement: Statement) -> Place:
    order = program.order_of(statement.name)
    found: list[isl.MultiAff] = []
    isl.PwMultiAff.from_map(order.coalesce()).foreach_piece(lambda _, function: found.append(function))
    if len(found) != 1:
        raise TransformError(f"{statement}: its place in the order has {len(found)} pieces; directives need loops")
    times = [found[0].get_aff(k) for k in range(found[0].dim(isl.dim_type.out))]
    while len(times) > 1 and _is_padded(times):
        times = times[:-2] if len(times) % 2 else times[:-1]
    positions = tuple(_position(statement, time) for time in times[0::2])
    if len(times) % 2 == 0:
        positions = (*positions, 0)
    return Place(positions, tuple(times[1::2]))


def _is_padded(times: list[isl.Aff]) -> bool:
    """Whether a time vector ends with zeros that only pad it: a loop and a position in it, or a loop alone. Another
    constant is the one iteration of a loop in which the statement is."""
    end = times[-2:] if len(times) % 2 else times[-1:]
    return all(time.is_cst() and _constant(time) == 0 for time in end)


def _position(statement: Statement, time: isl.Aff) -> int:
    if not time.is_cst():
        raise TransformError(f"{statement}: its place in the order is not of the 2d+1 form")
    return _constant(time)


def _constant(time: isl.Aff) -> int:
    return time.get_constant_val().to_python()


def set_apart(where: Mapping[str, Place], statement: str, depth: int) -> dict[str, Place]:
    """Places with `statement` in a loop number `depth` (or at a place in the loop around that) of its own, what shares
    it in others before and behind it, and room for three statements."""
    mine = where[statement]
    inner = mine.positions[depth + 1 :]
    spread = {}
    for name, place in where.items():
        if place.positions[:depth] == mine.positions[:depth] and len(place.positions) > depth:
            together = place.positions[: depth + 1] == mine.positions[: depth + 1]
            offset = 1 if name == statement else 4 if together and place.positions[depth + 1 :] > inner else 0
            place = place.moved(depth, 5 * place.positions[depth] + offset)
        spread[name] = place
    return spread


def order_of_places(statements: tuple[Statement, ...], where: Mapping[str, Place]) -> isl.UnionMap:
    """The order that puts every statement at its place, time vectors padded with zeros to one length."""
    length = max((len(where[s.name].loops) for s in statements), default=0) * 2 + 1
    parts = [_order(statement, where[statement.name], length) for statement in statements]
    order = isl.UnionMap.from_map(parts[0])
    for part in parts[1:]:
        order = order.union(isl.UnionMap.from_map(part))
    return order


def _order(statement: Statement, place: Place, length: int) -> isl.Map:
    space = statement.domain.get_space()
    local = isl.LocalSpace.from_space(space)
    times: list[isl.Aff] = []
    for depth, position in enumerate(place.positions):
        times.append(isl.Aff.zero_on_domain(local).set_constant_val(position))
        times += place.loops[depth : depth + 1]
    times += [isl.Aff.zero_on_domain(local)] * (length - len(times))
    result = isl.MultiAff.zero(space.from_domain().add_dims(isl.dim_type.out, length))
    for index, time in enumerate(times):
        result = result.set_aff(index, time)
    return isl.Map.from_multi_aff(result)
