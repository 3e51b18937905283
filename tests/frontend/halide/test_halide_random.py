"""Random pipelines: the interpreter computes what Halide computes."""

from __future__ import annotations

from random import Random

import pytest
from halide_check import check_pipeline
from random_halide import random_pipeline

from tests.fuzz.halide import HalideCase
from tests.fuzz.programs import FRONT_END, Job, check

hl = pytest.importorskip("halide")


@pytest.mark.parametrize("seed", range(8))
def test_random_pipelines(seed):
    check_pipeline(random_pipeline(Random(seed), hl), [7, 5], seed)


@pytest.mark.parametrize("target", [FRONT_END, "dataflow"])
def test_jobs_of_the_random_search(target):
    outcome = check(Job(3, target), HalideCase(3), 60)
    assert outcome.kind == "right", outcome.reason


def test_inputs_are_as_large_as_halide_asks_for():
    """Its bounds of a clamped index that is mirrored are too large; it refuses inputs without the elements beside."""
    case = HalideCase(2005)
    assert case.interpreted is case.program
