"""The driver of searches: what it works on, what it leaves out, and what it remembers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from compiler.attempts import record_attempts
from compiler.sched.search.driver import search
from compiler.sched.search.space import NEVER, Infeasible, Refused, Step, Strategy, TooLateError
from hw.errors import SluiceError


@dataclass(frozen=True)
class Choice:
    cycles: int
    possible: bool = True

    def __str__(self) -> str:
        return f"{self.cycles} cycles long"


class Impossible(SluiceError):
    pass


class Workshop:
    """Makes "designs", which are numbers of cycles, and keeps what it was asked for."""

    def __init__(self) -> None:
        self.made: list[Choice] = []

    def design(self, choice: Choice) -> int:
        self.made.append(choice)
        if not choice.possible:
            raise Impossible(f"{choice.cycles} is impossible")
        return choice.cycles

    def step(self, choice: Choice, limit: int = NEVER) -> Step[Choice]:
        return Step(self.design, choice, choice, lambda c: c.cycles, limit, final=True)

    def first_of(self, *choices: Choice, limit: int = NEVER) -> Strategy[Choice, int]:
        found: int | Infeasible = Infeasible(Impossible("nothing"))
        for choice in choices:
            found = yield self.step(choice, limit)
            if not isinstance(found, Infeasible):
                return found
        return found


class Clock:
    """Limits that are spent after some looks at them."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    @property
    def spent(self) -> bool:
        self.looks -= 1
        return self.looks < 0

    def out_of_time(self, failure: SluiceError) -> SluiceError:
        return Impossible(f"{failure}; no time is left")


def cycles_of(design: int) -> int:
    return design


def test_failures_are_sent_back_and_recorded() -> None:
    shop = Workshop()
    with record_attempts() as record:
        found = search(lambda: shop.first_of(Choice(3, False), Choice(5)), cycles_of)
    assert found == 5
    assert [(one.choice, one.bound, one.outcome) for one in record] == [
        ("3 cycles long", 3, "3 is impossible"), ("5 cycles long", 5, "5 cycles")]


def test_equal_steps_are_worked_on_once() -> None:
    shop = Workshop()
    found = search(lambda: shop.first_of(Choice(3, False), Choice(3, False), Choice(4)), cycles_of)
    assert (found, shop.made) == (4, [Choice(3, False), Choice(4)])


def test_what_cannot_end_before_the_limit_is_not_worked_on() -> None:
    shop = Workshop()
    found = search(lambda: shop.first_of(Choice(9), limit=9), cycles_of)
    assert isinstance(found, Infeasible) and found.because(TooLateError)
    assert shop.made == []
    assert search(lambda: shop.first_of(Choice(8), limit=9), cycles_of) == 8


@pytest.mark.parametrize(("looks", "wanted"), [(1, "3 is impossible; no time is left"), (9, 5)])
def test_the_search_ends_when_its_time_does(looks: int, wanted: int | str) -> None:
    found = search(lambda: Workshop().first_of(Choice(3, False), Choice(5)), cycles_of, Clock(looks))
    assert (str(found.cause) if isinstance(found, Infeasible) else found) == wanted


def test_a_design_is_kept_when_time_is_over() -> None:
    def both(shop: Workshop) -> Strategy[Choice, int]:
        yield shop.step(Choice(5))
        return (yield shop.step(Choice(3)))

    assert search(lambda: both(Workshop()), cycles_of, Clock(1)) == 5


def test_other_errors_are_no_results() -> None:
    def wrong(choice: Choice) -> int:
        raise ValueError("a fault of the compiler")

    def strategy() -> Strategy[Choice, int]:
        return (yield Step(wrong, Choice(1), "key"))

    with pytest.raises(ValueError, match="a fault"):
        search(strategy, cycles_of)


def prove_all_but(*refused: int) -> Callable[[int], int]:
    def prove(design: int) -> int:
        if design in refused:
            raise Impossible(f"{design} is wrong")
        return design

    return prove


def first_to_end(shop: Workshop, *choices: Choice) -> Strategy[Choice, int]:
    """The fewest cycles of all choices, each with twice as many where it is refused."""
    found: list[int | Infeasible] = []
    for choice in choices:
        design = yield shop.step(choice)
        if isinstance(design, Refused):
            design = yield shop.step(Choice(2 * choice.cycles))
        found.append(design)
    designs = [design for design in found if not isinstance(design, Infeasible)]
    return min(designs) if designs else found[0]


@pytest.mark.parametrize(("refused", "wanted", "made", "proofs"), [
    ((), 3, [7, 3], ["3 proven"]),
    ((7,), 3, [7, 3], ["3 proven"]),  # nobody asks
    ((3,), 6, [7, 3, 6], ["3 3 is wrong", "6 proven"]),
    ((3, 6), 7, [7, 3, 6], ["3 3 is wrong", "6 6 is wrong", "7 proven"]),
])
def test_only_what_would_be_taken_is_proven(refused: tuple[int, ...], wanted: int, made: list[int],
                                            proofs: list[str]) -> None:
    """Where it is refused the search goes on, and makes nothing again."""
    shop = Workshop()
    with record_attempts() as record:
        found = search(lambda: first_to_end(shop, Choice(7), Choice(3)), cycles_of, prove=prove_all_but(*refused))
    assert found == wanted and [choice.cycles for choice in shop.made] == made
    assert [f"{one.choice.split()[1]} {one.outcome}" for one in record if one.choice.startswith("proof, ")] == proofs
    assert len(record) == len(made) + len(proofs)


def test_why_everything_is_refused() -> None:
    found = search(lambda: first_to_end(Workshop(), Choice(3)), cycles_of, prove=prove_all_but(3, 6))
    assert isinstance(found, Refused) and str(found.cause) == "6 is wrong"


def test_a_search_without_time_does_not_go_on_behind_a_proof() -> None:
    def both(shop: Workshop) -> Strategy[Choice, int]:
        yield shop.step(Choice(5))
        return (yield shop.step(Choice(3)))

    found = search(lambda: both(Workshop()), cycles_of, Clock(1), prove_all_but(5))
    assert isinstance(found, Refused) and str(found.cause) == "5 is wrong"
