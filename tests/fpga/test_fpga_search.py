"""What the search for a pipeline does not try: what it has learnt to end the same way, or no earlier."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import compiler
from compiler.attempts import record_attempts
from compiler.bind.fpga.distinct_words import distinct, first_places, last_places
from compiler.frontend.c_scop import load_c, parse_scop

APPS = Path(__file__).parents[2] / "apps"
KERNELS, IRREGULAR = APPS / "polybench", APPS / "irregular"


def test_a_walk_that_no_interval_changes_ends_the_intervals() -> None:
    """Right-looking, `A[j][j]` is read in an order that no counter follows, whatever the intervals of the triangular
    solves behind are; without that, every interval up to 16 was tried three times."""
    with record_attempts() as record:
        design = compiler.compile(load_c(KERNELS / "ludcmp.c", N=12), target="fpga")
    uneven = [one for one in record if "no counters" in one.outcome]
    assert uneven and all(one.choice.startswith("initiation interval 1;") for one in uneven)
    assert len(record) < 40 and design.predicted_start_to_done <= 2187


def test_no_design_is_built_twice_for_the_cycles_of_its_start() -> None:
    """Sources selected by conditions have the schedule of those told apart along diagonals: they gain nothing."""
    with record_attempts() as record:
        compiler.compile(load_c(KERNELS / "lu.c", N=12), target="fpga")
    finished = [one for one in record if one.outcome.endswith(" cycles")]
    assert finished and not any("selected by conditions" in one.choice for one in finished)


def test_intervals_below_what_a_recurrence_takes_are_not_tried() -> None:
    """The division of PolyBench adi takes many cycles and is needed in the next iteration: between 1 and 36 no interval
    is long enough as the loops are."""
    with record_attempts() as record:
        design = compiler.compile(load_c(KERNELS / "adi.c"), target="fpga")
    asked = [one.choice for one in record if "loops changed" not in one.choice]
    tried = {int(choice.removeprefix("initiation interval ").split()[0].strip(";,")) for choice in asked}
    assert tried == {1, 36} and design.predicted_start_to_done <= 1136


def test_recurrences_in_loops_of_their_own_do_not_add_up() -> None:
    """A division and a product, each for the next iteration of a loop of its own: the interval of the slower one."""
    program = parse_scop("""void two(const int x[32], const int z[32], int y[2]) {
    int a = 1000000, b = 99999;
    for (int i = 0; i < 32; i++)
        a = a / (x[i] | 1) + 1000;
    for (int i = 0; i < 32; i++)
        b = (b * 3 + z[i]) * 5 + 7;
    y[0] = a;
    y[1] = b;
}""", "two.c")
    design = compiler.compile(program, target="fpga")
    assert 32 * 33 < design.predicted_cycles <= 32 * 34 + 20


def test_a_factor_is_copied_at_the_rate_of_its_loop() -> None:
    """A nest that another one waits for in every iteration around both need not be as slow as that."""
    design = compiler.compile(load_c(KERNELS / "cholesky.c", N=40), target="fpga")
    assert design.schedule.pace.interval == 1 and design.predicted_start_to_done <= 61_000


def test_passes_over_an_array_wait_for_the_last_one() -> None:
    """Merge sort: a pass needs all of the last one, whatever its size, and copies a number a cycle; so it does if it
    waits for a small part of the numbers of all passes."""
    spent = []
    for passes in (4, 6, 8):
        count = 1 << passes
        with record_attempts() as record:
            design = compiler.compile(load_c(IRREGULAR / "merge_sort.c", N=count, PASSES=passes), target="fpga")
        assert design.predicted_cycles <= passes * (5 * count + 20) + 2 * count
        spent.append(len(record))
    assert max(spent) <= 22


@pytest.mark.parametrize("most", [4, 40, 1 << 40])
def test_distinct_words_are_those_of_numpy(most: int) -> None:
    words = np.random.default_rng(most).integers(-most, most, 60)
    names, first = np.unique(words, return_index=True)
    np.testing.assert_array_equal(distinct(words), names)
    for found, expected in zip(first_places(words), (names, first), strict=True):
        np.testing.assert_array_equal(found, expected)
    found, last = last_places(words)
    np.testing.assert_array_equal(found, names)
    assert all(words[place] == name and name not in words[place + 1:] for name, place in zip(found, last, strict=True))
    assert not len(distinct(words[:0]))
