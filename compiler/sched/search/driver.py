"""The one driver of all searches: it works on the steps that a strategy asks for, and keeps the record."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, Protocol, TypeVar

from compiler.attempts import attempt
from compiler.sched.search.space import NEVER, Infeasible, Refused, Step, Strategy, TooLateError
from hw.errors import SluiceError

__all__ = ["Limits", "search"]

C = TypeVar("C", bound=Hashable)
D = TypeVar("D")


class Limits(Protocol):
    """How long a search may take."""

    @property
    def spent(self) -> bool:
        """Whether nothing is left."""
        ...

    def out_of_time(self, failure: SluiceError) -> SluiceError:
        """The error of a search that has ended with `failure` so far."""
        ...


def search(strategy: Callable[[], Strategy[C, D]], cycles: Callable[[Any], int], limits: Limits | None = None,
           prove: Callable[[D], D] | None = None, told: Callable[[Any], str] | None = None) -> D | Infeasible:
    """What `strategy` returns when every step that it asks for has been worked on, one after the other.

    A step is not worked on if an equal one was, or if its candidate's lower bound is not below its limit. Once `limits`
    are spent the search ends, with the result of the fewest `cycles` or with the first failure. Every candidate that
    ends in a design or fails is kept for ``--explain``: with its bound, and its cycles (as `told`) or the reason.

    `prove` looks at the result, which is the answer to one of the steps, and returns it, proven. Where it raises an
    error that is the answer to that step, as `Refused`, and the search goes on: from there, as no other step is worked
    on again. So only designs that would be taken are proven.
    """
    return _Driver(strategy, cycles, limits, prove, told or (lambda found: f"{cycles(found)} cycles")).run()


class _Driver(Generic[C, D]):
    def __init__(self, strategy: Callable[[], Strategy[C, D]], cycles: Callable[[Any], int], limits: Limits | None,
                 prove: Callable[[D], D] | None, told: Callable[[Any], str]) -> None:
        self._strategy, self._cycles, self._limits, self._prove, self._told = strategy, cycles, limits, prove, told
        self._known: dict[Hashable, tuple[Step[C], Any]] = {}
        self._best: D | None = None
        self._failure: Infeasible | None = None

    def run(self) -> D | Infeasible:
        while True:
            found = self._found()
            if isinstance(found, Infeasible) or self._prove is None:
                return found
            proven = self._proven(found, self._prove)
            if not isinstance(proven, Refused) or self._stopped() is not None:
                return proven

    def _found(self) -> D | Infeasible:
        """What the strategy returns with the answers so far, and others to what else it asks for."""
        answer: Any = None
        strategy = self._strategy()
        try:
            while (stopped := self._stopped()) is None:
                answer = self._answer(strategy.send(answer))
        except StopIteration as end:
            return end.value
        strategy.close()
        return stopped

    def _proven(self, found: D, prove: Callable[[D], D]) -> D | Refused:
        """The result, proven; else the reason why it is none, which is the answer to its step from now on."""
        step = next(step for step, answer in self._known.values() if answer is found)
        with attempt(f"proof, {step.candidate}") as tried:
            try:
                proven = prove(found)
            except SluiceError as error:
                refused = Refused(step.explain(step.candidate, error))
                tried.outcome = str(refused.cause)
                self._known[step.key] = step, refused
                return refused
            tried.outcome = "proven"
        return proven

    def _stopped(self) -> D | Infeasible | None:
        """The result of a search whose time is over; None if it goes on."""
        if self._limits is None or not self._limits.spent:
            return None
        if self._best is not None:
            return self._best
        return Infeasible(self._limits.out_of_time(self._failure.cause)) if self._failure else None

    def _answer(self, step: Step[C]) -> Any:
        """What the step has as its result, or `Infeasible`."""
        if step.key not in self._known:
            answer = self._worked(step)
            if isinstance(answer, Infeasible) and answer.because(TooLateError):
                return answer  # it depends on the limit
            self._known[step.key] = step, answer
        return self._known[step.key][1]

    def _worked(self, step: Step[C]) -> Any:
        """The result of the step, which the record keeps if it is a design or a failure."""
        with attempt(str(step.candidate), partial=not step.final) as tried:
            try:
                tried.bound = step.bound(step.candidate) if step.bound else None
                if step.limit < NEVER and tried.bound is not None and tried.bound >= step.limit:
                    raise TooLateError(f"ends after cycle {step.limit}, before which another design does")
                answer = step.stage(step.candidate)
            except SluiceError as error:
                cause = step.explain(step.candidate, error)
                self._failure = self._failure or Infeasible(cause)
                tried.outcome = str(cause)
                return Infeasible(cause)
            if step.final:
                tried.outcome = self._told(answer)
        if step.final and (self._best is None or self._cycles(answer) < self._cycles(self._best)):
            self._best = answer
        return answer
