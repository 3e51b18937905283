"""Quantised operators, and those that onnxruntime runs on integers as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from compiler.frontend.onnx.layers import Value
from compiler.frontend.onnx.model import Node
from compiler.frontend.onnx.quantization import byte_type, check_channels, without_zeros
from compiler.frontend.onnx.reductions import Operands, average, convolution, maximum_pool, product
from compiler.frontend.onnx.runtime import scale_of_products
from compiler.frontend.onnx.state import Lowering, Real, shape_text
from compiler.ir.types import Int

__all__ = ["OPERATORS", "VIEWS", "keep_real"]

VIEWS = ("Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze")


def keep_real(state: Lowering, node: Node) -> None:
    """Real numbers, which QuantizeLinear looks at."""
    state.reals[node.outputs[0]] = Real(node)


def _convolution(state: Lowering, node: Node) -> None:
    x = state.value(node)
    weights = state.constants.get(node, 3, "its weights")
    y_type = byte_type(node, state.constants.get(node, 7, "the zero point of y").dtype, "y")
    bias = state.constants.get(node, 8, "its bias") if node.input(8) else np.zeros(len(weights), np.int64)
    operands = _operands(state, node, x, weights, y_type, (1, 2, 4, 5, 6, 7), bias, 0)
    state.add_layer(node, convolution(node, state.name(node.name), x, state.name(node.outputs[0]), y_type, operands))


def _operands(state: Lowering, node: Node, x: Value, weights: np.ndarray, y_type: Int, places: Sequence[int],
              bias: np.ndarray, axis: int) -> Operands:
    """`places`: numbers of the operands that are scale and zero point of x, weights and y; `axis`: that of the channels
    in the weights."""
    x_levels = state.constants.levels(node, places[0], places[1], x.type, "x")
    y_levels = state.constants.levels(node, places[4], places[5], y_type, "y")
    byte_type(node, weights.dtype, "its weights")
    channels = weights.shape[axis]
    whole = without_zeros(node, weights, state.constants.zeros(node, places[3], "its weights"), axis)
    scales = check_channels(node, state.constants.scales(node, places[2], "its weights"), channels,
                            "the scale of its weights")
    return Operands(x_levels, y_levels, whole, check_channels(node, bias.astype(np.int64), channels, "its bias"),
                    scale_of_products(x_levels, scales, y_levels))


def _product(state: Lowering, node: Node) -> None:
    x, weights = state.value(node), state.constants.get(node, 3, "its second factor")
    if weights.ndim != 2:
        raise node.error(f"its second factor has {weights.ndim} dimensions; give it two")
    y_type = byte_type(node, state.constants.get(node, 7, "the zero point of y").dtype, "y")
    operands = _operands(state, node, x, weights, y_type, (1, 2, 4, 5, 6, 7), np.zeros(weights.shape[1], np.int64), 1)
    state.add_layer(node, product(node, state.name(node.name), x, state.name(node.outputs[0]), y_type, operands))


def _sum(state: Lowering, node: Node) -> None:
    operands = [state.value(node, number) for number in (0, 3)]
    levels = [state.constants.levels(node, number + 1, number + 2, value.type, what)
              for number, value, what in zip((0, 3), operands, ("a", "b"), strict=True)]
    state.add_sum(node, operands, levels, state.constants.levels(node, 6, 7, operands[0].type, "y"))


def _average(state: Lowering, node: Node) -> None:
    x = state.value(node)
    if node.attributes.get("channels_last"):
        raise node.error("its channels come last; transpose its input and leave out channels_last")
    x_levels, y_levels = (state.constants.levels(node, k, k + 1, x.type, what) for k, what in ((1, "x"), (3, "y")))
    state.add_layer(node, average(node, state.name(node.name), x, state.name(node.outputs[0]), x_levels, y_levels))


def _maximum_pool(state: Lowering, node: Node) -> None:
    if node.input(0) in state.reals:
        keep_real(state, node)
        return
    if any(node.outputs[1:]):
        raise node.error("it gives the places of its maxima; leave out its second output")
    state.add_layer(node, maximum_pool(node, state.name(node.name), state.value(node), state.name(node.outputs[0])))


def _limits(state: Lowering, node: Node) -> None:
    if node.input(0) in state.reals:
        keep_real(state, node)
        return
    x = state.value(node)
    low, high = x.type.minimum, x.type.maximum
    if node.op == "Relu":
        low = max(low, 0)
    elif node.input(1):
        low = int(state.constants.get(node, 1, "its least value").flat[0])
    if node.op == "Clip" and node.input(2):
        high = int(state.constants.get(node, 2, "its greatest value").flat[0])
    state.add_limits(node, x, low, max(low, high))


def _view(state: Lowering, node: Node) -> None:
    if node.input(0) in state.reals:
        keep_real(state, node)
        return
    x = state.value(node)
    state.values[node.outputs[0]] = x.reshaped(_view_shape(state, node, x))


def _view_shape(state: Lowering, node: Node, x: Value) -> tuple[int, ...]:
    """The shape after a view. Raises `ModelError` if it has another batch."""
    shape = list(x.shape)
    if node.op == "Flatten":
        axis = node.attributes.get("axis", 1) % (len(shape) + 1)
        shape = [prod(shape[:axis]), prod(shape[axis:])]
    elif node.op == "Reshape":
        wanted = [int(v) for v in state.constants.get(node, 1, "its shape").ravel()]
        shape = [x.shape[k] if extent == 0 else extent for k, extent in enumerate(wanted)]
        if -1 in shape:
            shape[shape.index(-1)] = x.size // -prod(shape)
    elif node.op in ("Squeeze", "Unsqueeze"):
        shape = _squeezed(state, node, shape)
    if prod(shape) != x.size:
        raise node.error(f"it makes {shape_text(shape)} of {shape_text(x.shape)}; give it a shape with as many "
                         "elements")
    return tuple(shape)


def _squeezed(state: Lowering, node: Node, shape: list[int]) -> list[int]:
    given = state.constants.get(node, 1, "its axes").ravel() if node.input(1) else list(node.attributes.get("axes", []))
    if node.op == "Squeeze":
        dropped = {int(axis) % len(shape) for axis in given} or {k for k, e in enumerate(shape) if e == 1}
        return [extent for k, extent in enumerate(shape) if k not in dropped]
    rank = len(shape) + len(given)
    added = {int(axis) % rank for axis in given}
    rest = iter(shape)
    return [1 if k in added else next(rest) for k in range(rank)]


OPERATORS: dict[str, Callable[[Lowering, Node], None]] = {
    "QLinearConv": _convolution, "QLinearMatMul": _product, "QLinearAdd": _sum, "QLinearGlobalAveragePool": _average,
    "MaxPool": _maximum_pool, "Relu": _limits, "Clip": _limits, **dict.fromkeys(VIEWS, _view)}
