"""Directives that keep the statements and change the order of their instances: reorder, reverse, shift."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import islpy as isl

from compiler.ir.program import Program, Statement
from compiler.passes.directives.errors import TransformError
from compiler.passes.directives.place import Place, places
from compiler.passes.directives.rewrite import chosen, depth_of, moved

__all__ = ["reorder", "reverse", "shift"]


def reorder(program: Program, iterators: Sequence[str], statements: Iterable[str] | None = None) -> Program:
    """The loops named, outermost first, in this order; they keep the depths that they have between them.

    Raises `TransformError` if dependent instances would change places.
    """
    if len(set(iterators)) != len(iterators):
        raise TransformError(f"reorder names an iterator twice: {', '.join(iterators)}")
    where = places(program)
    for statement in chosen(program, iterators, statements):
        place = where[statement.name]
        depths = [depth_of(statement, place, name) for name in iterators]
        loops = list(place.loops)
        for target, source in zip(sorted(depths), depths, strict=True):
            loops[target] = place.loops[source]
        where[statement.name] = replace(place, loops=tuple(loops))
    return moved(program, where, f"reorder to {', '.join(iterators)}")


def reverse(program: Program, iterator: str, statements: Iterable[str] | None = None) -> Program:
    """The loop runs from its last iteration to its first. Statements that share it are reversed about one centre.

    Raises `TransformError` if dependent instances would change places.
    """
    picked = chosen(program, (iterator,), statements)
    total = sum(_extremes(statement, iterator)[0] for statement in picked[:1])
    last = max(_extremes(statement, iterator)[1] for statement in picked)

    def change(time: isl.Aff) -> isl.Aff:
        return time.neg().add_constant_val(total + last)

    return _with_times(program, picked, iterator, change, f"reversal of '{iterator}'")


def shift(program: Program, iterator: str, distance: int, statements: Iterable[str] | None = None) -> Program:
    """Instances run `distance` iterations later in the loop, beside later iterations of the other statements in it.

    Aligns a consumer with its producer before `fuse`. Raises `TransformError` if dependent instances change places.
    """
    picked = chosen(program, (iterator,), statements)
    return _with_times(program, picked, iterator, lambda time: time.add_constant_val(distance),
                       f"shift of '{iterator}' by {distance}")


def _extremes(statement: Statement, iterator: str) -> tuple[int, int]:
    number = statement.iterators.index(iterator)
    return statement.domain.dim_min_val(number).to_python(), statement.domain.dim_max_val(number).to_python()


def _with_times(program: Program, picked: Iterable[Statement], iterator: str, change: Callable[[isl.Aff], isl.Aff],
                directive: str) -> Program:
    where = places(program)
    for statement in picked:
        place = where[statement.name]
        where[statement.name] = _with_time(place, depth_of(statement, place, iterator), change)
    return moved(program, where, directive)


def _with_time(place: Place, depth: int, change: Callable[[isl.Aff], isl.Aff]) -> Place:
    return replace(place, loops=(*place.loops[:depth], change(place.loops[depth]), *place.loops[depth + 1 :]))
