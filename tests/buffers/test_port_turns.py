"""Shifts with which users of one port never meet, against trying them all."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.bind.buffers.port_turns import PortTurns

USERS = st.lists(st.lists(st.integers(-9, 30), min_size=1, max_size=5, unique=True).map(sorted), min_size=1, max_size=3)
SHIFTS = st.lists(st.lists(st.integers(-6, 6), min_size=1, max_size=4, unique=True), min_size=3, max_size=3)


def brute_force(users: list[list[int]], shifts: list[list[int]], cyclic: int | None) -> tuple[int, ...] | None:
    for choice in product(*shifts):
        moved = [{(c + s) % cyclic if cyclic else c + s for c in user} for user, s in zip(users, choice, strict=True)]
        if sum(map(len, moved)) == len(set().union(*moved)):
            return choice
    return None


@settings(max_examples=150, deadline=None)
@given(USERS, SHIFTS, st.sampled_from((None, 4, 7)))
def test_the_first_combination_without_a_meeting(users: list[list[int]], shifts: list[list[int]],
                                                 cyclic: int | None) -> None:
    mine = shifts[: len(users)]
    turns = PortTurns([np.array(user) for user in users], cyclic)
    assert turns.choose(mine) == brute_force(users, mine, cyclic)


def test_a_user_that_meets_itself_has_no_turn() -> None:
    assert PortTurns([np.array([3, 5, 3])], None).choose([[0, 1]]) is None
