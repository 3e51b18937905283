"""Networks from ONNX models in RTL: outputs equal onnxruntime's, cycles the prediction."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from onnx_models import ModelBuilder, draw_inputs, mobilenet_block, resnet_block, run_reference

from compiler.bind.networks import place_network
from compiler.frontend.onnx import load_network


def require_equal(data, target, simulator):
    """Every output of the model, from RTL, is onnxruntime's. Returns the placed network."""
    network = load_network(data)
    placed = place_network(network, target)
    inputs = draw_inputs(network, 3)
    found, wanted = placed.simulate(inputs, simulator), run_reference(data, inputs)
    for name in network.outputs:
        assert np.array_equal(found[name], wanted[name]), name
        assert np.unique(wanted[name]).size > 2
    for step, design in zip(placed.steps, placed.designs, strict=True):
        if design.predicts_exactly:
            assert placed.runs[step.program.name].cycles == design.predicted_cycles
    return placed


@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
@pytest.mark.parametrize("block", [resnet_block, mobilenet_block])
def test_a_block_is_one_pipeline(block, simulator):
    placed = require_equal(block(1, 4, 1), "fpga", simulator)
    assert len(placed.designs) == 1


@pytest.mark.parametrize(("simulator", "layers"), [("verilator", 1), ("icarus", 2)])
def test_layers_are_systolic_arrays(simulator, layers):
    """Padding is the host's, weights come from memory."""
    made = ModelBuilder(9)
    middle = made.levels(0.05, 40)
    image = made.input("image", (1, layers, 3, 3))
    result = made.convolution(image, made.levels(0.03, 119), (2, layers, 3, 3), middle, pads=[1, 1, 1, 1])
    if layers == 2:
        result = made.add("MaxPool", [result], kernel_shape=[2, 2])
    placed = require_equal(made.bytes(result), "systolic", simulator)
    assert len(placed.designs) == layers
