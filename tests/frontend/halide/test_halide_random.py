"""Random pipelines: the interpreter computes what Halide computes."""

from __future__ import annotations

from random import Random

import pytest
from halide_check import check_pipeline
from random_halide import random_pipeline

hl = pytest.importorskip("halide")


@pytest.mark.parametrize("seed", range(8))
def test_random_pipelines(seed):
    check_pipeline(random_pipeline(Random(seed), hl), [7, 5], seed)
