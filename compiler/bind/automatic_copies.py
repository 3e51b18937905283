"""How many iterations of a program's loops are computed side by side, where nobody says it, and which short loops are
unrolled whole: the fewest with which more gain little.

With each set of short loops, numbers of iterations are tried as long as they make designs faster; without any, all.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from time import process_time
from typing import Any, TypeAlias

from compiler.bind.design import Design
from compiler.passes.scheduled import Copies, ScheduledProgram
from compiler.sched.search.driver import search
from compiler.sched.search.space import Infeasible, Step, Strategy

__all__ = ["choose_copies"]

_COUNTS = (2, 4, 8, 16)
_ALIKE = 1.05
"""Designs whose cycles are within this factor of the fewest are as good as that one."""
_PATIENCE = 15.0
"""Seconds of the processor, which others' work does not change, of compiling a design from which on no more copies are
tried."""
_MOST_DESIGNS = 20
"""Designs that are compiled in all."""


@dataclass(frozen=True)
class _Candidate:
    count: int
    blocks: bool
    whole: tuple[str, ...] = ()

    def __str__(self) -> str:
        unrolled = f", {' and '.join(self.whole)} unrolled" if self.whole else ""
        return f"{self.count} {'blocks' if self.blocks else 'iterations'} side by side{unrolled}"


_Timed: TypeAlias = tuple[Design, float]
"""A design, and the processor's seconds of compiling it."""


def choose_copies(program: ScheduledProgram, compile_with: Callable[[ScheduledProgram], Design],
                  kinds: Sequence[bool]) -> Design:
    """The design of `program` with a number of the copies that it lets be chosen; `compile_with` compiles for a target.
    `kinds`: whether copies are blocks, those that differ on that target. Raises what `compile_with` raises for the
    program without copies."""
    def stage(candidate: _Candidate) -> tuple[Design, float]:
        start = process_time()
        design = compile_with(replace(program, chooses=False, copies=_limited(program.copies, candidate)))
        return design, process_time() - start

    found = search(partial(_strategy, stage, kinds, _sets(program.copies)), cycles=_cycles)
    if isinstance(found, Infeasible):
        raise found.cause
    return found[0]


def _cycles(found: _Timed) -> int:
    return found[0].expected_start_to_done


def _sets(copies: Sequence[Copies]) -> list[tuple[str, ...]]:
    """What can be unrolled whole, few loops first; nothing is the first."""
    names = sorted({c.whole for c in copies if c.whole})
    return [chosen for size in range(len(names) + 1) for chosen in combinations(names, size)]


def _limited(copies: Sequence[Copies], candidate: _Candidate) -> tuple[Copies, ...]:
    """What `candidate` has of the copies."""
    found: list[Copies] = []
    for c in copies:
        if c.whole in candidate.whole:
            found.append(c)
        elif not c.whole and candidate.count > 1 and c.blocks == candidate.blocks:
            found.append(replace(c, count=min(candidate.count, c.count)))
    return tuple(found)


def _strategy(stage: Callable[[_Candidate], _Timed], kinds: Sequence[bool],
              sets: Sequence[tuple[str, ...]]) -> Strategy[_Candidate, _Timed]:
    found: list[_Timed] = []
    room = _MOST_DESIGNS
    for whole in sets:
        if room <= 0 or (found and found[0][1] > _PATIENCE):
            break
        first = yield _step(stage, _Candidate(1, False, whole))
        room -= 1
        if isinstance(first, Infeasible):
            if not whole:
                return first
            continue
        found.append(first)
        for kind in kinds:
            tried = yield from _counts(stage, kind, whole, first, room)
            found += tried
            room -= len(tried)
    least = min(map(_cycles, found))
    return next(timed for timed in found if _cycles(timed) <= _ALIKE * least)


def _counts(stage: Callable[[_Candidate], _Timed], kind: bool, whole: tuple[str, ...], first: _Timed,
            room: int) -> Generator[Step[_Candidate], Any, list[_Timed]]:
    """Designs with more and more copies of one kind."""
    found: list[_Timed] = []
    last = first
    for count in _COUNTS[:max(room, 0)]:
        if last[1] > _PATIENCE:
            break
        answer = yield _step(stage, _Candidate(count, kind, whole))
        if isinstance(answer, Infeasible):
            break
        found.append(answer)
        if whole and _cycles(answer) >= _cycles(last):
            break
        last = answer
    return found


def _step(stage: Callable[[_Candidate], _Timed], candidate: _Candidate) -> Step[_Candidate]:
    return Step(stage, candidate, candidate, final=True)
