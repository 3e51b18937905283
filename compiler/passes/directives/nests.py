"""Directives that join loop nests and take them apart: fuse, distribute."""

from __future__ import annotations

from dataclasses import replace

from compiler.ir.program import Program
from compiler.passes.directives.errors import TransformError
from compiler.passes.directives.place import Place, places
from compiler.passes.directives.rewrite import moved

__all__ = ["distribute", "fuse"]


def fuse(program: Program, first: str, second: str, depth: int = 1) -> Program:
    """The nest around statement `second` joins that around `first`: they share their `depth` outermost loops.

    All statements that share those loops with `second` come along, and run behind those of `first` in each
    iteration. Raises `TransformError` if dependent instances would change places; `shift` may help.
    """
    where = places(program)
    target, source = where[program.statement(first).name], where[program.statement(second).name]
    for name, place in ((first, target), (second, source)):
        if not 0 < depth <= len(place.loops):
            raise TransformError(f"statement '{name}' has {len(place.loops)} loops; fusion at depth {depth} needs them")
    if target.positions[:depth] == source.positions[:depth]:
        raise TransformError(f"statements '{first}' and '{second}' share {depth} loops already")
    behind = 1 + max(place.positions[depth] for place in _members(where, target, depth).values())
    for name, place in _members(where, source, depth).items():
        positions = (*target.positions[:depth], place.positions[depth] + behind, *place.positions[depth + 1 :])
        where[name] = replace(place, positions=positions)
    return moved(program, where, f"fusion of '{first}' and '{second}' at depth {depth}")


def distribute(program: Program, statement: str, depth: int = 1) -> Program:
    """Loop fission: `statement` and what follows it leave loop number `depth` (from 1) for a loop behind it.

    They leave the loops inside it that they share with earlier statements too. Raises `TransformError` if dependent
    instances would change places, or if nothing stands before the statement in that loop.
    """
    where = places(program)
    place = where[program.statement(statement).name]
    if not 0 < depth <= len(place.loops):
        raise TransformError(f"statement '{statement}' has {len(place.loops)} loops, not {depth}")
    left = [_leave(where, statement, level) for level in range(len(place.loops), depth - 1, -1)]
    if not left[-1]:
        raise TransformError(f"nothing stands before statement '{statement}' in its loop number {depth}")
    return moved(program, where, f"distribution before '{statement}' at depth {depth}")


def _leave(where: dict[str, Place], statement: str, depth: int) -> bool:
    """Give `statement` and what follows it in loop number `depth` a copy of that loop; False if all would leave."""
    place = where[statement]
    members = _members(where, place, depth)
    leaving = {name for name, other in members.items() if other.positions[depth] >= place.positions[depth]}
    level = depth - 1
    if leaving == set(members):
        return False
    for name, other in _members(where, place, level).items():
        if name in leaving or other.positions[level] > place.positions[level]:
            where[name] = other.moved(level, other.positions[level] + 1)
    return True


def _members(where: dict[str, Place], place: Place, depth: int) -> dict[str, Place]:
    """Statements that share the `depth` outermost loops of `place`."""
    prefix = place.positions[:depth]
    return {name: other for name, other in where.items()
            if other.positions[:depth] == prefix and len(other.loops) >= depth}
