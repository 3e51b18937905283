"""What a search is made of: stages of candidates that the driver works on, and strategies that ask for them.

A *candidate* is a frozen dataclass: every decision that a target takes, as data. A *strategy* is a generator that says
in which order candidates are tried. It yields a `Step`, a stage of a candidate, and is sent the stage's result, or
`Infeasible`: why there is none, from which it learns. What it returns is its own result. Strategies are made of others
with ``yield from``. What a strategy asks for depends on what it has been sent, and on nothing else: so a search can go
back to where it was sent one result, and on from there as if there was none.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from hw.errors import SluiceError

__all__ = ["NEVER", "Infeasible", "KeptResults", "Refused", "Step", "Strategy", "TooLateError", "ask"]

C = TypeVar("C", bound=Hashable)
D = TypeVar("D")

NEVER = 1 << 60
"""A cycle that no program reaches."""


class TooLateError(SluiceError):
    """No design of a program ends before one that is known."""


@dataclass(frozen=True)
class Infeasible:
    """Why a stage of a candidate has no result."""

    cause: SluiceError

    def because(self, *kinds: type[SluiceError]) -> bool:
        """Whether the cause is of one of these kinds."""
        return isinstance(self.cause, kinds)


@dataclass(frozen=True)
class Refused(Infeasible):
    """Why a design that would have been taken is none: its proof has failed. Others of the same program may be proven.
    """


@dataclass(frozen=True)
class Step(Generic[C]):
    """One `stage` of a `candidate`: a function of it, whose result depends on `key` only. It is worth the work only if
    the candidate's lower bound, which `bound` computes, is below `limit` cycles. `final`: the result is a design, of
    which the record tells the cycles. `explain` puts a failure in words of the user's program."""

    stage: Callable[[C], Any]
    candidate: C
    key: Hashable
    bound: Callable[[C], int] | None = None
    limit: int = NEVER
    final: bool = False
    explain: Callable[[C, SluiceError], SluiceError] = lambda _, error: error


Strategy: TypeAlias = Generator[Step[C], Any, D | Infeasible]


def ask(stage: Callable[[C], D], candidate: C) -> Strategy[C, D]:
    """The result of a stage that gives no design; it depends on the whole candidate."""
    return (yield Step(stage, candidate, (stage.__name__, candidate)))


class KeptResults:
    """Results of stages that depend on less than the whole candidate, so that candidates have them in common."""

    def __init__(self) -> None:
        self._found: dict[Hashable, Any] = {}

    def once(self, key: Hashable, compute: Callable[[], D]) -> D:
        """What `compute` returns, which depends on `key` only."""
        if key not in self._found:
            self._found[key] = compute()
        return self._found[key]
