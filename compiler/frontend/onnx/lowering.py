"""From the nodes of a model to layers."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.frontend.onnx.errors import ModelError
from compiler.frontend.onnx.integer_operators import OPERATORS
from compiler.frontend.onnx.layers import Layer, Value
from compiler.frontend.onnx.model import Model
from compiler.frontend.onnx.real_operators import REAL_OPERATORS
from compiler.frontend.onnx.state import Lowering

__all__ = ["Lowered", "lower"]


@dataclass(frozen=True)
class Lowered:
    """The layers of a model, its inputs and outputs by their own names, and which of these the model has as real
    numbers that are quantised before, or dequantised after."""

    layers: tuple[Layer, ...]
    inputs: dict[str, Value]
    outputs: dict[str, Value]
    remarks: tuple[str, ...]


def lower(model: Model) -> Lowered:
    """The layers of a model. Raises `ModelError`, which names the node."""
    state = Lowering(model)
    for name, tensor in model.inputs.items():
        if tensor.dtype.kind != "f":
            state.add_input(name, tensor.shape, tensor.dtype)
    known = {**OPERATORS, **REAL_OPERATORS}
    for node in model.nodes:
        if node.op not in known:
            raise node.error(f"there is no such layer here; write it with: {', '.join(sorted(known))}")
        known[node.op](state, node)
    outputs = {name: _output(state, name) for name in model.outputs}
    return Lowered(tuple(state.layers), state.inputs, outputs, tuple(state.remarks))


def _output(state: Lowering, name: str) -> Value:
    real = state.reals.get(name)
    if real is not None and real.integers is not None:
        state.remarks.append(f"output '{name}' is '{real.integers.array}' before DequantizeLinear")
        return real.integers
    if name not in state.values:
        raise ModelError(f"output '{name}' are real numbers; put QuantizeLinear before it")
    return state.values[name]
