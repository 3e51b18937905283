"""ONNX models that are refused: one line that names the node, the reason and a rewrite."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx")

from onnx_models import ModelBuilder, mobilenet_block

from compiler.cli.main import main
from compiler.frontend.apps import load
from compiler.frontend.onnx import ModelError, load_network


def refused(made, result, rank=4):
    with pytest.raises(ModelError) as caught:
        load_network(made.bytes(result, rank=rank))
    text = str(caught.value)
    assert "\n" not in text
    return text


def image_model(shape=(1, 3, 6, 6), activation=np.uint8):
    made = ModelBuilder(0, activation)
    return made, made.input("image", shape)


def test_operators_that_there_are_not():
    made, image = image_model()
    assert refused(made, made.add("Transpose", [image])).startswith(
        "node 'Transpose_0' (Transpose): there is no such layer here; write it with: Add, Clip, Conv, ")


def test_a_convolution_of_real_numbers():
    made = ModelBuilder()
    image = made.input("image", (1, 1, 4, 4), np.float32)
    result = made.add("Conv", [image, made.constant(np.ones((1, 1, 3, 3)), np.float32)])
    result = made.add("QuantizeLinear", [result, *made.levels(0.1, 3)])
    assert refused(made, result) == ("node 'Conv_0' (Conv): its operand 'image' is no result of DequantizeLinear; "
                                     "quantise what makes it")


def test_weights_that_are_computed():
    made, image = image_model()
    weights = made.input("weights", (1, 3, 1, 1))
    one = made.levels(0.1, 3)
    result = made.add("QLinearConv", [image, *one, weights, *one, *one])
    assert refused(made, result) == ("node 'QLinearConv_0' (QLinearConv): its weights ('weights') is computed when the "
                                     "model runs; make it an initializer")


@pytest.mark.parametrize(("change", "message"), [
    ({"ceil_mode": 1}, "ceil_mode makes windows that reach beyond the padding; use pads and ceil_mode=0"),
    ({"kernel_shape": [9, 2]}, "its window is larger than its input in dimension y; use a smaller one")])
def test_windows(change, message):
    made, image = image_model()
    result = made.add("MaxPool", [image], **{"kernel_shape": [2, 2]} | change)
    assert refused(made, result) == f"node 'MaxPool_0' (MaxPool): {message}"


def test_shapes_and_batches():
    made, image = image_model((2, 3, 6, 6))
    assert refused(made, made.add("Identity", [image])) == "input 'image' has a batch of 2; give it one of 1"
    made, image = image_model((1, 3, "height", 6))
    result = made.add("Identity", [image])
    assert refused(made, result) == ("input 'image': dimension 2 has no size (height); give it one, with height=SIZE "
                                     "or in the model")
    assert load_network(made.bytes(result), height=5).inputs["image"].shape == (1, 3, 5, 6)
    with pytest.raises(ModelError, match="the model has no size 'depth'; it has: height"):
        load_network(made.bytes(result), height=5, depth=4)


def test_operands_of_sums():
    made, image = image_model()
    one = made.levels(0.1, 3)
    pooled = made.add("MaxPool", [image], kernel_shape=[2, 2], strides=[2, 2])
    result = made.add("QLinearAdd", [image, *one, pooled, *one, *one], "com.microsoft")
    assert refused(made, result) == ("node 'QLinearAdd_1' (QLinearAdd): its operands have shapes 1x3x6x6 and 1x3x3x3; "
                                     "give them one")


def test_accumulators_that_overflow():
    made, image = image_model((1, 3, 1, 1))
    weights = [made.constant(np.full((1, 3, 1, 1), 127), np.int8), *made.levels(0.1, 0)[:1],
               made.constant(0, np.int8)]
    result = made.add("QLinearConv", [image, *made.levels(0.1, 0), *weights, *made.levels(0.1, 0),
                                      made.constant([2 ** 31 - 1], np.int32)])
    assert refused(made, result) == ("node 'QLinearConv_0' (QLinearConv): its sums reach 2147580802, which overflows "
                                     "int32; use smaller weights or fewer channels")


def test_limits_that_saturation_does_not_have():
    made, image = image_model()
    levels = made.levels(0.1, 30)
    real = made.add("Relu", [made.add("DequantizeLinear", [image, *levels])])
    text = refused(made, made.add("QuantizeLinear", [real, *levels]))
    assert text == ("node 'Relu_1' (Relu): it cuts off numbers that the integers after it have; choose their zero "
                    "point and scale so that saturation cuts them off, or put it behind QuantizeLinear")


def test_damaged_files_are_one_line_errors(tmp_path, capsys):
    """One bit or a part of the file: an error in one line, or another model."""
    data = mobilenet_block(2, 4)
    random = np.random.default_rng(0)
    refusals = 0
    for number in range(40):
        damaged = bytearray(data)
        damaged[random.integers(len(data))] ^= 1 << random.integers(8)
        damaged = bytes(damaged) if number % 4 else data[:random.integers(1, len(data))]
        try:
            load_network(damaged)
        except ModelError as error:
            refusals += 1
            assert "\n" not in str(error)
    assert refusals > 10
    file = tmp_path / "model.onnx"
    file.write_bytes(data[:200])
    assert main([str(file), "--target", "fpga", "--simulator", "none"]) == 1
    assert f"{file} is no valid ONNX model: " in capsys.readouterr().err


def test_missing_files_and_settings(tmp_path, capsys):
    with pytest.raises(ModelError, match=r"nothing\.onnx cannot be read: No such file or directory"):
        load_network(tmp_path / "nothing.onnx")
    file = tmp_path / "model.onnx"
    file.write_bytes(mobilenet_block(2, 4))
    assert load(str(file)).name == "model"
    assert main([str(file), "--set", "designs=some"]) == 1
    assert "--set designs=some: write one of one, layers" in capsys.readouterr().err
    assert main([str(file), "--target", "systolic", "--explain"]) == 1
    assert "--explain is for one design, and this model becomes several" in capsys.readouterr().err
    assert main([str(file), "--target", "systolic"]) == 1
    assert "model model needs more inputs: image; add --input NAME=FILE.npy or --random SEED" in capsys.readouterr().err
