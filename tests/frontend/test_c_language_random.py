"""Random programs of the constructs of docs/c.md: the interpreter computes what gcc's code computes."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from c_reference import call, compile_c
from c_targets import inputs_of
from random_control import control_function
from random_data import function_data
from random_language import language_function
from random_loop_heads import loop_head_function

from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret

SEEDS = {language_function: (0, 1, 2, 5), control_function: (0, 1, 2, 3, 5, 6, 7, 8, 10, 12, 27, 38),
         loop_head_function: range(20)}
NAMES = [(draw, seed, f"{draw.__name__}{seed}") for draw, seeds in SEEDS.items() for seed in seeds]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    texts = {name: draw(Random(seed), name) for draw, seed, name in NAMES}
    return compile_c(tmp_path_factory.mktemp("gcc"), texts), texts


@pytest.mark.parametrize(("seed", "name"), [(seed, name) for _, seed, name in NAMES])
def test_random_constructs_compute_what_gcc_computes(seed, name, library):
    compiled, texts = library
    program = parse_scop(texts[name], function=name)
    data = function_data(texts[name], name, seed)
    found = interpret(program, inputs_of(program, data))
    call(compiled, name, list(data.values()))
    for array, values in found.items():
        np.testing.assert_array_equal(values, data[array])
