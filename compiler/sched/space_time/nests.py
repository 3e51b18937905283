"""One space of loops for all statements: those inside fewer loops get a place in the others.

Imperfect nests and several statements (seed 002, section 4.1) become points of one iteration space, so that every
dependence has a distance. A statement without loop ``k`` sits at a value of ``k`` that is constant or follows one of
its own loops; the place chosen is the one that makes its dependences uniform and short.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, permutations, product
from math import prod

import islpy as isl

from compiler.ir.program import Program, Statement
from compiler.sched.process_network.transfers import is_copy
from compiler.sched.reductions import hull
from compiler.sched.space_time.errors import SpaceTimeError

__all__ = ["Nest", "candidates", "common_loops", "identity"]


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
    return _place(statement, [str(name) for name in statement.iterators])


def candidates(statement: Statement, loops: tuple[str, ...], bounds: Mapping[str, tuple[int, int]], *,
               by_name: bool = True) -> Iterator[isl.Map]:
    """Places of a statement of fewer loops, the most natural ones first. `by_name`: loops of the same name are the
    same; else those places in which some are not."""
    same = _positions(statement, loops)
    every = same if by_name else [p for p in permutations(range(len(loops)), len(statement.iterators)) if p not in same]
    for positions in every:
        own = dict(zip(positions, statement.iterators, strict=True))
        missing = [k for k in range(len(loops)) if k not in own]
        offers = [_values(statement, bounds[loops[k]]) for k in missing]
        for chosen in product(*offers):
            values = dict(zip(missing, chosen, strict=True)) | own
            yield _place(statement, [values[k] for k in range(len(loops))])


def _positions(statement: Statement, loops: tuple[str, ...]) -> list[tuple[int, ...]]:
    """Which of the loops the statement's own ones are: those of the same names, else any in the same order."""
    if set(statement.iterators) <= set(loops):
        return [tuple(loops.index(name) for name in statement.iterators)]
    return list(combinations(range(len(loops)), len(statement.iterators)))


def _values(statement: Statement, bounds: tuple[int, int]) -> list[str]:
    low, high = bounds
    constants = list(dict.fromkeys((low, high, low - 1, high + 1)))
    own = [f"{name}{offset}" for offset in ("", " + 1", " - 1") for name in statement.iterators]
    return [*map(str, constants), *own]


def _place(statement: Statement, values: list[str]) -> isl.Map:
    names = ", ".join(statement.iterators)
    place = isl.Map(f"{{ {statement.name}[{names}] -> [{', '.join(values)}] }}")
    return place.intersect_domain(statement.domain)
