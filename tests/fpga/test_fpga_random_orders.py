"""Random loops in all directions and outputs in all orders: gcc's results on the pipeline, proved on the network."""

from __future__ import annotations

from random import Random

import pytest
from c_targets import MODELS, require_gcc_results
from random_data import function_data
from random_orders import order_function

from hw.errors import SluiceError

SEEDS = {"fpga": range(24), "dataflow": range(12)}
OPTIONS = {"fpga": ("operator_latency", "multiplier_latency"), "dataflow": ()}


@pytest.mark.parametrize("target", OPTIONS)
def test_results_are_gcc_s(target):
    """Nearly all programs are taken, and those that are have the right results."""
    refused = 0
    for seed in SEEDS[target]:
        random = Random(seed)
        text = order_function(random, "f")
        options = {name: random.randint(1, 3) for name in OPTIONS[target]}
        try:
            require_gcc_results(text, "f", function_data(text, "f", seed), MODELS[target], options)
        except SluiceError as error:
            assert "statement '" in str(error), error
            refused += 1
    assert refused <= len(SEEDS[target]) // 4
