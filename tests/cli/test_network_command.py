"""The command line for ONNX models."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx")

from onnx_models import ModelBuilder

from compiler.cli.main import main


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    made = ModelBuilder(2)
    image = made.input("image", (1, 1, 4, 4))
    made.convolution(image, made.levels(0.03, 119), (2, 1, 3, 3), made.levels(0.05, 40), pads=[1, 1, 1, 1])
    result = made.add("MaxPool", ["t0"], kernel_shape=[2, 2], strides=[2, 2])
    file = tmp_path_factory.mktemp("models") / "small.onnx"
    file.write_bytes(made.bytes(result))
    return file


def test_a_chain_is_listed_and_written(model, tmp_path, capsys):
    assert main([str(model), "--target", "systolic", "--simulator", "none", "-o", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "small on the systolic array" in text and "small_MaxPool_1" in text
    with np.load(tmp_path / "small_QLinearConv_0" / "constants.npz", allow_pickle=False) as constants:
        assert constants["QLinearConv_0_weights"].shape == (2, 1, 3, 3)
    assert (tmp_path / "small_MaxPool_1" / "manifest.json").is_file()


def test_one_design(model, capsys):
    assert main([str(model), "--target", "dataflow", "--simulator", "none"]) == 0
    assert "small on the dataflow engine" in capsys.readouterr().out
