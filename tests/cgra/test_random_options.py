"""Random C functions with random options of the array: proved against the program, whose results are those of gcc."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from c_targets import on_array, require_gcc_results
from random_constants import constant_function
from random_data import function_data
from random_orders import order_function
from random_target_options import array_options
from random_triangles import random_triangle

from compiler.bind.cgra.options import Options

SIZE = 6


GENERATORS: tuple[Callable[[Random], str], ...] = (
    lambda random: constant_function(random, "f"),
    lambda random: order_function(random, "f"),
    lambda random: random_triangle(random, SIZE),
)


ACCEPTED = (1, 3, 4, 7, 8, 15, 18, 19, 21, 22, 26, 28)
"""Seeds whose programs the array takes with their options, in about a second each."""


@pytest.mark.parametrize("seed", ACCEPTED)
def test_random_options(seed: int) -> None:
    random = Random(seed)
    draw = random.choice(GENERATORS)
    text, options = draw(random), array_options(random)
    require_gcc_results(text, "f", function_data(text, "f", seed), on_array, options)


def test_every_option_is_drawn() -> None:
    drawn = [array_options(Random(seed)) for seed in range(200)]
    for option, value in vars(Options()).items():
        if option not in ("transform", "hardware"):
            assert len({options[option] for options in drawn}) > 1 and value in {o[option] for o in drawn}, option
