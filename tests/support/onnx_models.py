"""Quantised ONNX models with random weights, and what onnxruntime makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from compiler.frontend.onnx import Network, load_network, run_steps
from compiler.ir.interpret import interpret

__all__ = ["ModelBuilder", "draw_inputs", "mobilenet_block", "require_runtime_results", "resnet_block", "run_reference"]


class ModelBuilder:
    """A model that grows by operators. Activations are uint8, weights int8 of 7 bits: onnxruntime saturates sums of two
    products of larger ones on processors without VNNI. Tensors are (name, channels, scale, zero point)."""

    def __init__(self, seed: int = 0, activation: type = np.uint8) -> None:
        self.random = np.random.default_rng(seed)
        self.activation = activation
        self.nodes: list[Any] = []
        self.constants: dict[str, np.ndarray] = {}
        self.inputs: list[Any] = []
        self.outputs: list[str] = []

    def constant(self, value: Any, dtype: Any) -> str:
        """The name of an initializer."""
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(value, dtype)
        return name

    def add(self, op: str, inputs: Sequence[str], domain: str = "", **attributes: Any) -> str:
        """The name of the result of an operator."""
        from onnx import helper

        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], f"{op}_{len(self.nodes)}", domain=domain,
                                           **attributes))
        return name

    def input(self, name: str, shape: Sequence[Any], dtype: Any = None) -> str:
        """A graph input."""
        from onnx import helper

        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype or self.activation))
        self.inputs.append(helper.make_tensor_value_info(name, kind, list(shape)))
        return name

    def levels(self, scale: float, zero: int) -> list[str]:
        """Scale and zero point as initializers."""
        return [self.constant(scale, np.float32), self.constant(zero, self.activation)]

    def weights(self, shape: Sequence[int], per_channel: bool = True, axis: int = 0) -> list[str]:
        """Weights with scales and zero points."""
        count = shape[axis] if per_channel else 1
        values = self.random.integers(-64, 64, shape)
        scales = self.random.uniform(0.004, 0.02, count)
        return [self.constant(values, np.int8), self.constant(scales if per_channel else scales[0], np.float32),
                self.constant(np.zeros(count) if per_channel else 0, np.int8)]

    def convolution(self, x: str, x_levels: list[str], shape: Sequence[int], y_levels: list[str],
                    **attributes: Any) -> str:
        """QLinearConv with a bias."""
        bias = self.constant(self.random.integers(-900, 900, shape[0]), np.int32)
        return self.add("QLinearConv", [x, *x_levels, *self.weights(shape), *y_levels, bias], **attributes)

    def bytes(self, *outputs: str, rank: int = 4) -> bytes:
        """The model as a file has it; its outputs have `rank` dimensions."""
        from onnx import helper, numpy_helper

        kind = helper.np_dtype_to_tensor_dtype(np.dtype(self.activation))
        results = [helper.make_tensor_value_info(name, kind, [None] * rank) for name in outputs]
        graph = helper.make_graph(self.nodes, "model", self.inputs, results,
                                  [numpy_helper.from_array(value, name) for name, value in self.constants.items()])
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()


def resnet_block(channels: int, size: int, seed: int = 0) -> bytes:
    """Two 3x3 convolutions around which the input goes, and a convolution with stride 2 behind."""
    made = ModelBuilder(seed)
    levels, middle, result = made.levels(0.03, 119), made.levels(0.05, 0), made.levels(0.08, 130)
    image = made.input("image", (1, channels, size, size))
    shape = (channels, channels, 3, 3)
    first = made.convolution(image, levels, shape, middle, pads=[1, 1, 1, 1])
    second = made.convolution(first, middle, shape, result, pads=[1, 1, 1, 1])
    total = made.levels(0.09, 117)
    added = made.add("QLinearAdd", [image, *levels, second, *result, *total], "com.microsoft")
    limited = made.add("Clip", [added, made.constant(117, np.uint8), ""])
    last = made.convolution(limited, total, (channels + 1, channels, 3, 3), made.levels(0.11, 3), pads=[1, 1, 1, 1],
                            strides=[2, 2])
    return made.bytes(last)


def mobilenet_block(channels: int, size: int, seed: int = 0) -> bytes:
    """An inverted residual: wider by 1x1, depthwise 3x3, narrower by 1x1, and the input added; then the mean of each
    channel and a product with a matrix."""
    made = ModelBuilder(seed)
    levels, wide, deep, result = (made.levels(s, z) for s, z in ((0.02, 128), (0.04, 0), (0.05, 0), (0.06, 121)))
    image = made.input("image", (1, channels, size, size))
    first = made.convolution(image, levels, (2 * channels, channels, 1, 1), wide)
    second = made.convolution(first, wide, (2 * channels, 1, 3, 3), deep, group=2 * channels, pads=[1, 1, 1, 1])
    third = made.convolution(second, deep, (channels, 2 * channels, 1, 1), result)
    total, mean = made.levels(0.07, 125), made.levels(0.03, 120)
    added = made.add("QLinearAdd", [image, *levels, third, *result, *total], "com.microsoft")
    pooled = made.add("QLinearGlobalAveragePool", [added, *total, *mean], "com.microsoft", channels_last=0)
    flat = made.add("Flatten", [pooled])
    last = made.add("QLinearMatMul", [flat, *mean, *made.weights((channels, 5), False), *made.levels(0.02, 128)])
    return made.bytes(last, rank=2)


def run_reference(data: bytes, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The outputs that onnxruntime computes."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, dict(inputs)), strict=True))


def draw_inputs(network: Network, seed: int = 0) -> dict[str, np.ndarray]:
    """Random integers for all inputs."""
    random = np.random.default_rng(seed)
    return {name: random.integers(value.type.minimum, value.type.maximum, value.shape, value.type.dtype, endpoint=True)
            for name, value in network.inputs.items()}


def require_runtime_results(data: bytes, seed: int = 0) -> Network:
    """The network of a model whose program, and chain of programs, compute what onnxruntime does; and do not with other
    weights or inputs, which the caller sees to by results that vary."""
    network = load_network(data)
    inputs = draw_inputs(network, seed)
    wanted = run_reference(data, inputs)
    arrays = {value.array: inputs[name].reshape(value.stored) for name, value in network.inputs.items()}
    whole = interpret(network.program, arrays)
    chain = run_steps(network, network.steps(), inputs, interpret)
    for name, value in network.outputs.items():
        assert np.array_equal(whole[value.array].reshape(value.shape), wanted[name]), name
        assert np.array_equal(chain[name], wanted[name]), name
        assert np.unique(wanted[name]).size > 2, name
    return network
