"""Random programs of the constructs of docs/c.md: the interpreter computes what gcc's code computes."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from c_reference import call, compile_c
from random_constants import constant_data
from random_language import language_function

from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret

COUNT = 6


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    texts = {f"f{seed}": language_function(Random(seed), f"f{seed}") for seed in range(COUNT)}
    return compile_c(tmp_path_factory.mktemp("gcc"), texts), texts


@pytest.mark.parametrize("seed", range(COUNT))
def test_random_constructs_compute_what_gcc_computes(seed, library):
    compiled, texts = library
    program = parse_scop(texts[f"f{seed}"])
    data = constant_data(texts[f"f{seed}"], seed)
    inputs = {array.name: data[array.name.removesuffix("_in")] for array in program.inputs}
    found = interpret(program, inputs)["y"]
    call(compiled, f"f{seed}", [data[name] for name in ("a", "b", "y")])
    np.testing.assert_array_equal(found, data["y"])
