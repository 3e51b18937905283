"""Layers of ONNX models, as one program and as a chain, against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from onnx_models import ModelBuilder, mobilenet_block, require_runtime_results, resnet_block


@pytest.mark.parametrize("block", [resnet_block, mobilenet_block])
@pytest.mark.parametrize(("channels", "size", "seed"), [(2, 5, 1), (3, 8, 2)])
def test_blocks_of_networks(block, channels, size, seed):
    require_runtime_results(block(channels, size, seed), seed)


@pytest.mark.parametrize("attributes", [
    {"pads": [0, 1, 2, 0], "strides": [2, 1]}, {"dilations": [2, 1], "pads": [1, 1, 1, 1]},
    {"auto_pad": "SAME_UPPER", "strides": [2, 2]}, {"auto_pad": "SAME_LOWER", "strides": [1, 2]},
    {"auto_pad": "VALID"}, {"group": 2, "pads": [1, 0, 1, 0]}])
def test_windows_of_convolutions(attributes):
    made = ModelBuilder(3)
    image = made.input("image", ("batch", 4, 6, 7))
    shape = (6, 4 // attributes.get("group", 1), 3, 2)
    result = made.convolution(image, made.levels(0.04, 77), shape, made.levels(0.07, 90), **attributes)
    require_runtime_results(made.bytes(result))


@pytest.mark.parametrize(("activation", "weights"), [(np.int8, np.int8), (np.uint8, np.uint8)])
def test_types_and_zero_points(activation, weights):
    """Weights of all 8 bits, with a zero point where they are unsigned."""
    made = ModelBuilder(4, activation)
    ends = np.iinfo(weights)
    image = made.input("image", (1, 3, 5, 5))
    values = made.constant(made.random.integers(ends.min, ends.max, (4, 3, 3, 3), endpoint=True), weights)
    given = [values, made.constant(0.006, np.float32), made.constant(ends.max // 2 if ends.min == 0 else 0, weights)]
    result = made.add("QLinearConv", [image, *made.levels(0.05, 30), *given, *made.levels(0.2, 12)],
                      pads=[1, 1, 1, 1])
    require_runtime_results(made.bytes(result))


@pytest.mark.parametrize("activation", [np.uint8, np.int8])
def test_pooling_and_views(activation):
    made = ModelBuilder(5, activation)
    image = made.input("image", (1, 3, 6, 6))
    pooled = made.add("MaxPool", [image], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    flat = made.add("Reshape", [pooled, made.constant([0, -1], np.int64)])
    result = made.add("QLinearMatMul", [flat, *made.levels(0.02, 9), *made.weights((27, 4), False),
                                        *made.levels(0.05, 100)])
    require_runtime_results(made.bytes(result, rank=2))


def test_relu_of_integers():
    made = ModelBuilder(6, np.int8)
    image = made.input("image", (1, 2, 4, 4))
    result = made.add("Relu", [made.convolution(image, made.levels(0.04, 3), (3, 2, 3, 3), made.levels(0.05, 0))])
    require_runtime_results(made.bytes(result))


def test_products_of_matrices():
    made = ModelBuilder(7)
    rows = made.input("rows", (1, 5, 9))
    result = made.add("QLinearMatMul", [rows, *made.levels(0.02, 99), *made.weights((9, 4), False),
                                        *made.levels(0.05, 100)])
    require_runtime_results(made.bytes(result, rank=3))


def dequantized(made, name, levels):
    return made.add("DequantizeLinear", [name, *levels])


def test_layers_between_dequantize_and_quantize():
    """The form that quantisers write: real numbers in and out, and around every operator."""
    made = ModelBuilder(8)
    x_levels, y_levels, total = made.levels(0.03, 119), made.levels(0.05, 0), made.levels(0.09, 128)
    image = made.input("image", (1, 3, 6, 6))
    x = dequantized(made, image, x_levels)
    scales = made.random.uniform(0.004, 0.02, 3).astype(np.float32)
    weights = made.add("DequantizeLinear", [made.constant(made.random.integers(-64, 64, (3, 3, 3, 3)), np.int8),
                                            made.constant(scales, np.float32), made.constant(np.zeros(3), np.int8)],
                       axis=0)
    bias = made.add("DequantizeLinear", [made.constant(made.random.integers(-900, 900, 3), np.int32),
                                         made.constant(np.float32(0.03) * scales, np.float32)], axis=0)
    y = made.add("Relu", [made.add("Conv", [x, weights, bias], pads=[1, 1, 1, 1])])
    y = dequantized(made, made.add("QuantizeLinear", [y, *y_levels]), y_levels)
    y = dequantized(made, made.add("QuantizeLinear", [made.add("Add", [x, y]), *total]), total)
    y = dequantized(made, made.add("QuantizeLinear", [made.add("MaxPool", [y], kernel_shape=[2, 2], strides=[2, 2]),
                                                      *total]), total)
    result = made.add("QuantizeLinear", [made.add("Flatten", [y]), *total])
    require_runtime_results(made.bytes(result, rank=2))
