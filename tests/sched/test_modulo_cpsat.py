"""Offsets of statements that share units: where first fit is not the best, the exact search is."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from compiler.sched.static.modulo_cpsat import Precedence, SharedUnitsProblem
from compiler.sched.static.reservation import ReservationTables


def problem(period: int | None, *, lags: tuple[Precedence, ...] = ()) -> SharedUnitsProblem:
    """A dense statement, and one that comes every second cycle."""
    cycles = {"Dense": np.arange(4), "Sparse": np.arange(0, 6, 2), "Last": np.arange(2)}
    return SharedUnitsProblem(cycles, lags, [("Dense", "Sparse", "Last")], ["Last"], period)


def ends(turns: SharedUnitsProblem, most: int) -> set[int]:
    """Cycles of the last result of all legal offsets up to `most`, one by one."""
    names = list(turns.cycles)
    found = set()
    for starts in product(range(most), repeat=len(names)):
        offsets = dict(zip(names, starts, strict=True))
        taken = np.concatenate([turns.cycles[n] + offsets[n] for n in names])
        places = taken if turns.period is None else taken % turns.period
        if len(np.unique(places)) == len(places) and all(
                offsets[lag.sink] - offsets[lag.source] >= lag.least for lag in turns.lags):
            found.add(turns.last(offsets))
    return found


@pytest.mark.parametrize("lags", [
    (), (Precedence("Dense", "Last", 3),), (Precedence("Sparse", "Last", 1), Precedence("Dense", "Sparse", 2)),
])  # fmt: skip
@pytest.mark.parametrize("period", [None, 10, 12])
def test_no_legal_offsets_end_earlier(period: int | None, lags: tuple[Precedence, ...]) -> None:
    turns = problem(period, lags=lags)
    everything = ends(turns, 12)
    found = turns.solve(24)
    if not everything:
        assert found is None or turns.last(found.offsets) >= 12
        return
    assert found is not None
    assert found.proven
    assert turns.last(found.offsets) == min(everything)


def test_a_period_without_room_has_no_offsets() -> None:
    assert problem(8).solve(40) is None


def test_first_fit_can_be_worse() -> None:
    """First fit puts what comes first in the text first, even where the result waits for the other one."""
    cycles = {"Long": np.arange(8), "Short": np.arange(2), "Result": np.arange(2)}
    turns = SharedUnitsProblem(cycles, [Precedence("Short", "Result", 2)], [("Long", "Short")], ["Result"], None)
    table = ReservationTables((("Long", "Short"),), None)
    strides = {"Long": 8, "Short": 2}
    greedy = {name: table.place(name, 0, {"x": 1}, {"x": trips}) for name, trips in strides.items()}
    assert greedy == {"Long": 0, "Short": 8}
    found = turns.solve(20)
    assert found is not None
    assert turns.last(found.offsets) == 3 < greedy["Short"] + 2 + 1


def test_the_bound_is_the_longest_path() -> None:
    turns = problem(None, lags=(Precedence("Dense", "Sparse", 2), Precedence("Sparse", "Last", 5)))
    assert turns.earliest() == {"Dense": 0, "Sparse": 2, "Last": 7}
    assert turns.last(turns.earliest()) == 8


def test_the_bound_counts_the_turns_of_a_group() -> None:
    """Instances on one set of units take a cycle each, if a result waits for the last of all of them."""
    cycles = {"First": np.arange(8), "Second": np.arange(8), "Third": np.arange(4)}
    lags = (Precedence("First", "Second", 0), Precedence("Second", "Third", 4))
    turns = SharedUnitsProblem(cycles, lags, [("First", "Second", "Third")], ["Third"], None)
    assert turns.last(turns.earliest()) == 7
    found = turns.solve(40)
    assert found is not None and found.proven
    assert turns.bound() == turns.last(found.offsets) == 19
    unawaited = SharedUnitsProblem(cycles, lags[:1], [("First", "Third")], ["Third"], None)
    assert unawaited.bound() == 3
