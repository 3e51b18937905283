"""One space of loops for all statements: those inside fewer loops get a place in the others.

Imperfect nests and several statements (Wang 2021, section 4.1) become points of one iteration space, so that every
dependence has a distance. A statement without loop ``k`` sits at a value of ``k`` that is constant or follows one of
its own loops; the place chosen is the one that makes its dependences uniform and short.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import islpy as isl

from compiler.ir.program import Program, Statement
from compiler.passes.recurrence.shorten_recurrences import hull
from compiler.sched.process_network.transfers import is_copy
from compiler.sched.space_time.errors import SpaceTimeError
from compiler.sched.space_time.places import make_place

__all__ = ["Nest", "common_loops", "identity"]


@dataclass(frozen=True)
class Nest:
    """`loops`: names, outermost first; `places`: statement -> {instance -> point of the loops}."""

    loops: tuple[str, ...]
    places: Mapping[str, isl.Map]

    def place(self, statement: str) -> isl.Map:
        """Where the instances of `statement` are."""
        return self.places[statement]


def common_loops(program: Program) -> tuple[str, ...]:
    """Loops of the deepest statement; if there are several, of one that does not only copy, with most instances. Raises
    `SpaceTimeError` if it has none."""
    deepest = max(program.statements, key=lambda s: (len(s.iterators), not is_copy(s), _volume(s)))
    if not deepest.iterators:
        raise SpaceTimeError(f"program '{program.name}' has no loop around any statement; an array needs at least one")
    return deepest.iterators


def _volume(statement: Statement) -> int:
    """Instances in the box around the domain."""
    return prod(high - low + 1 for low, high in hull(statement).values())


def identity(statement: Statement, loops: tuple[str, ...]) -> isl.Map | None:
    """The place of a statement that has all `loops`, None for others."""
    if len(statement.iterators) != len(loops):
        return None
    return make_place(statement, statement.iterators)
