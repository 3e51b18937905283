"""Operators on real numbers between DequantizeLinear and QuantizeLinear, which onnxruntime runs as quantised ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from compiler.frontend.onnx.integer_operators import OPERATORS, VIEWS, keep_real
from compiler.frontend.onnx.layers import Value
from compiler.frontend.onnx.model import Node
from compiler.frontend.onnx.quantization import byte_type, check_channels, without_zeros
from compiler.frontend.onnx.reductions import Operands, average, convolution, product
from compiler.frontend.onnx.runtime import Levels, scale_of_products
from compiler.frontend.onnx.state import Lowering, Real
from compiler.ir.types import Int

__all__ = ["REAL_OPERATORS"]


def _dequantize(state: Lowering, node: Node) -> None:
    if node.input(0) in state.constants:
        keep_real(state, node)
        return
    value = state.value(node)
    state.reals[node.outputs[0]] = Real(node, value, state.constants.levels(node, 1, 2, value.type, "it"))


def _quantize(state: Lowering, node: Node) -> None:
    zero = state.constants.get(node, 2, "its zero point").dtype if node.input(2) else np.dtype(np.uint8)
    type = byte_type(node, zero, "its result")
    levels = state.constants.levels(node, 1, 2, type, "it")
    tensor = state.model.inputs.get(node.input(0))
    if tensor is not None and tensor.dtype.kind == "f":
        state.values[node.outputs[0]] = state.add_input(node.outputs[0], tensor.shape, zero)
        state.remarks.append(f"input '{node.input(0)}' is given as '{node.outputs[0]}', after QuantizeLinear")
        return
    _quantize_real(state, node, node.input(0), type, levels)


def _quantize_real(state: Lowering, node: Node, name: str, type: Int, levels: Levels) -> None:
    """What makes the real numbers `name`, as an operator whose result has `levels`."""
    real = state.reals.get(name)
    if real is None:
        raise node.error(f"its operand '{name}' are not the real numbers of a layer; put DequantizeLinear before it")
    maker = replace(real.node, outputs=node.outputs)
    if real.integers is not None:
        if (real.integers.type, real.levels) != (type, levels):
            raise node.error("it gives integers another scale; use one for both, or an operator that scales")
        state.values[node.outputs[0]] = real.integers
        return
    lowering = _OF_REALS.get(maker.op)
    if lowering is None:
        raise maker.error(f"on real numbers there are only: {', '.join(sorted(_OF_REALS))}")
    lowering(state, maker, type, levels)


def _integers(state: Lowering, node: Node, number: int) -> tuple[Value, Levels]:
    """An operand's integers. Raises `ModelError` if it has none."""
    real = state.reals.get(node.input(number))
    if real is None or real.integers is None or real.levels is None:
        raise node.error(f"its operand '{node.input(number)}' is no result of DequantizeLinear; quantise what makes it")
    return real.integers, real.levels


def _weights(state: Lowering, node: Node, number: int, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Constant weights without their zero points, and the scale of each channel."""
    real = state.reals.get(node.input(number))
    if real is None or real.node.op != "DequantizeLinear" or real.node.input(0) not in state.constants:
        raise node.error(f"its operand '{node.input(number)}' are no quantised constants; put DequantizeLinear of an "
                         "initializer there")
    values = state.constants.get(real.node, 0, "it")
    byte_type(real.node, values.dtype, "it")
    scales = check_channels(node, state.constants.scales(real.node, 1, "it"), values.shape[axis],
                            "the scale of its weights")
    return without_zeros(node, values, state.constants.zeros(real.node, 2, "it"), axis), scales


def _real_bias(state: Lowering, node: Node, number: int, scales: np.ndarray) -> np.ndarray:
    """The bias in units of the accumulators, which its DequantizeLinear says."""
    if not node.input(number):
        return np.zeros(scales.size, np.int64)
    real = state.reals.get(node.input(number))
    if real is None or real.node.op != "DequantizeLinear" or real.node.input(0) not in state.constants:
        raise node.error(f"its bias '{node.input(number)}' are no quantised constants; put DequantizeLinear of an "
                         "int32 initializer there")
    found = state.constants.scales(real.node, 1, "its bias")
    if not np.allclose(np.broadcast_to(found, scales.shape), scales, rtol=1e-5):
        raise node.error("the scale of its bias is not that of x times that of its weights; quantise it so")
    return state.constants.get(real.node, 0, "its bias").astype(np.int64)


def _real_convolution(state: Lowering, node: Node, type: Int, levels: Levels) -> None:
    x, x_levels = _integers(state, node, 0)
    weights, scales = _weights(state, node, 1, 0)
    bias = _real_bias(state, node, 2, x_levels.scale * scales)
    operands = Operands(x_levels, levels, weights, check_channels(node, bias, len(weights), "its bias"),
                        scale_of_products(x_levels, scales, levels))
    state.add_layer(node, convolution(node, state.name(node.name), x, state.name(node.outputs[0]), type, operands))


def _real_product(state: Lowering, node: Node, type: Int, levels: Levels) -> None:
    x, x_levels = _integers(state, node, 0)
    if node.attributes.get("transA") or node.attributes.get("alpha", 1) != 1 or node.attributes.get("beta", 1) != 1:
        raise node.error("it has transA, alpha or beta; put them into its operands")
    across = bool(node.attributes.get("transB"))
    weights, scales = _weights(state, node, 1, 0 if across else 1)
    weights = weights.T if across else weights
    bias = _real_bias(state, node, 2, x_levels.scale * scales)
    operands = Operands(x_levels, levels, weights, check_channels(node, bias, weights.shape[1], "its bias"),
                        scale_of_products(x_levels, scales, levels))
    state.add_layer(node, product(node, state.name(node.name), x, state.name(node.outputs[0]), type, operands))


def _real_sum(state: Lowering, node: Node, type: Int, levels: Levels) -> None:
    (a, a_levels), (b, b_levels) = (_integers(state, node, number) for number in (0, 1))
    if a.type != type:
        raise node.error(f"its operands are of type {a.type} and its result of type {type}; quantise them alike")
    state.add_sum(node, (a, b), (a_levels, b_levels), levels)


def _real_average(state: Lowering, node: Node, type: Int, levels: Levels) -> None:
    x, x_levels = _integers(state, node, 0)
    if x.type != type:
        raise node.error(f"its operand is of type {x.type} and its result of type {type}; quantise them alike")
    state.add_layer(node, average(node, state.name(node.name), x, state.name(node.outputs[0]), x_levels, levels))


def _real_limits(state: Lowering, node: Node, type: Int, levels: Levels) -> None:
    """Only limits that saturation has anyway: onnxruntime leaves these out, and computes others in float32."""
    low = 0.0 if node.op == "Relu" else _limit(state, node, 1, -np.inf)
    high = np.inf if node.op == "Relu" else _limit(state, node, 2, np.inf)
    least, greatest = ((end - levels.zero) * float(levels.scale) for end in (levels.low, levels.high))
    if low > least or high < greatest:
        raise node.error("it cuts off numbers that the integers after it have; choose their zero point and scale so "
                         "that saturation cuts them off, or put it behind QuantizeLinear")
    _quantize_real(state, node, node.input(0), type, levels)


def _limit(state: Lowering, node: Node, number: int, otherwise: float) -> float:
    return float(state.constants.get(node, number, "its limit").flat[0]) if node.input(number) else otherwise


def _real_same(state: Lowering, node: Node, type: Int, levels: Levels) -> None:
    """Operators that move or choose numbers: of integers with the same levels."""
    x, x_levels = _integers(state, node, 0)
    if (x.type, x_levels) != (type, levels):
        raise node.error("its operand and its result have other scales; use one for both")
    operand = f"{node.input(0)} as integers"
    state.values[operand] = x
    OPERATORS[node.op](state, replace(node, inputs=(operand, *node.inputs[1:])))


_OF_REALS: dict[str, Callable[[Lowering, Node, Int, Levels], None]] = {
    "Conv": _real_convolution, "MatMul": _real_product, "Gemm": _real_product, "Add": _real_sum,
    "GlobalAveragePool": _real_average, "Relu": _real_limits, "Clip": _real_limits, "MaxPool": _real_same,
    **dict.fromkeys(VIEWS, _real_same)}

REAL_OPERATORS: dict[str, Callable[[Lowering, Node], None]] = {
    "DequantizeLinear": _dequantize, "QuantizeLinear": _quantize,
    **dict.fromkeys(("Conv", "MatMul", "Gemm", "Add", "GlobalAveragePool"), keep_real)}
