"""Random programs equal numpy, for several machines; small scratchpads force many tiles."""

from __future__ import annotations

import numpy as np
import pytest
from compiled import check
from hypothesis import given, settings
from hypothesis import strategies as st
from random_arrays import RandomProgram, random_inputs

from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.target import Options, compile_arrays

MACHINES = [(1, None, False), (4, None, True), (2, 512, True), (1, 1024, False), (16, 2048, False), (64, 4096, False)]
"""Lanes, bytes of the scratchpad, and whether the fastest plan is searched for."""


@pytest.mark.parametrize(("lanes", "scratchpad", "search"), MACHINES)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_random_programs(lanes: int, scratchpad: int | None, search: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    program = RandomProgram(rng).grow(int(rng.integers(1, 9)))
    try:
        design = compile_arrays(program, Options(lanes=lanes, scratchpad=scratchpad, search=search))
    except VectorTargetError as error:
        assert scratchpad is not None and "is too small for a segment of" in str(error)
        return
    check(design, random_inputs(program, rng))
    assert design.lower_bound <= design.predicted_cycles
