"""How many iterations of a program's loops are computed side by side, where nobody says it: the fewest with which more
gain little."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from compiler.bind.design import Design
from compiler.passes.scheduled import Copies, ScheduledProgram
from compiler.sched.search.driver import search
from compiler.sched.search.space import Infeasible, Step, Strategy

__all__ = ["choose_copies"]

_COUNTS = (2, 4, 8, 16)
_ALIKE = 1.05
"""Designs whose cycles are within this factor of the fewest are as good as that one."""
_PATIENCE = 10.0
"""Seconds of compiling a design from which on no more copies are tried."""


@dataclass(frozen=True)
class _Candidate:
    count: int
    blocks: bool

    def __str__(self) -> str:
        return f"{self.count} {'blocks' if self.blocks else 'iterations'} side by side"


def choose_copies(program: ScheduledProgram, compile_with: Callable[[ScheduledProgram], Design],
                  kinds: Sequence[bool]) -> Design:
    """The design of `program` with a number of the copies that it lets be chosen; `compile_with` compiles for a target.
    `kinds`: whether copies are blocks, those that differ on that target. Raises what `compile_with` raises for the
    program without copies."""
    def stage(candidate: _Candidate) -> Design:
        return compile_with(replace(program, chooses=False, copies=_limited(program.copies, candidate)))

    found = search(_strategy(stage, kinds), cycles=lambda design: design.predicted_start_to_done)
    if isinstance(found, Infeasible):
        raise found.cause
    return found


def _limited(copies: Sequence[Copies], candidate: _Candidate) -> tuple[Copies, ...]:
    return tuple(replace(c, count=min(candidate.count, c.count)) for c in copies
                 if candidate.count > 1 and c.blocks == candidate.blocks)


def _strategy(stage: Callable[[_Candidate], Design], kinds: Sequence[bool]) -> Strategy[_Candidate, Design]:
    first = yield _step(stage, _Candidate(1, False))
    found: list[Design] = [] if isinstance(first, Infeasible) else [first]
    for kind in kinds if found else ():
        for count in _COUNTS:
            answer = yield _step(stage, _Candidate(count, kind))
            if isinstance(answer, Infeasible):
                break
            found.append(answer)
            if answer.compile_seconds > _PATIENCE:
                break
    least = min((design.predicted_start_to_done for design in found), default=0)
    return next((design for design in found if design.predicted_start_to_done <= _ALIKE * least), first)


def _step(stage: Callable[[_Candidate], Design], candidate: _Candidate) -> Step[_Candidate]:
    return Step(stage, candidate, candidate, final=True)
