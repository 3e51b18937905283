"""Random damage: whatever validation lets through must still compute the program, on a model of the array."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from local_feedback_programs import running_sums
from verify_mappings import Mapping, mapping, mapping_of
from verify_model import ArrayModel

from compiler.bind.cgra.validate import ValidationError, validate
from compiler.ir.interpret import interpret
from hw.fabric.config import decode_array

SMALL = {
    "gaussian": {"width": 14, "height": 5},
    "upsample": {"width": 6, "height": 5},
    "brighten_blur": {"tiles": 3, "size": 6, "half_words": 64},
    "gaussian_tiled": {"width": 10, "tile": 4, "half_words": 64},
}
SUMS = "running sums, whose recurrence is inside an element"
CASES = [(app, memory) for app in (*SMALL, SUMS) for memory in ("pub", "dual-port")]


@cache
def small(app: str, memory: str) -> Mapping:
    if app == SUMS:
        return mapping_of(running_sums(), memory)
    return mapping(app, memory, **SMALL[app])


def agrees(damaged: Mapping) -> bool:
    """Whether the model of the array computes what the interpreter does, for random images."""
    random = np.random.default_rng(7)
    program = damaged.program
    inputs = {a.name: random.integers(0, 1 << 16, a.shape, dtype=np.uint16) for a in program.inputs}
    model = ArrayModel(damaged, inputs)
    model.run()
    expected = interpret(program, inputs)
    return all(np.array_equal(model.output(name), expected[name]) for name in expected)


@pytest.mark.parametrize(("app", "memory"), CASES)
def test_model_of_the_array_computes_the_program(app, memory):
    assert agrees(small(app, memory))


@pytest.mark.parametrize(("app", "memory"), CASES)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_what_passes_after_a_flipped_bit_computes_the_program(app, memory, data):
    good = small(app, memory)
    words = good.config.words(good.spec)
    place = data.draw(st.integers(1, len(words) - 1), label="word")
    bit = data.draw(st.integers(0, 31), label="bit")
    address, value = words[place]
    words[place] = address, value ^ 1 << bit
    try:
        validate(good.program, good.application, good.physical, words, good.plan, good.addresses, good.spec)
    except ValidationError:
        return
    assert agrees(replace(good, config=decode_array(words, good.spec)))
