"""What lowering knows while it goes through the nodes of a model, and the layers that it adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from compiler.frontend.onnx.errors import ModelError
from compiler.frontend.onnx.layers import Elementwise, Index, Layer, Loop, Value
from compiler.frontend.onnx.model import Model, Node
from compiler.frontend.onnx.quantization import Constants, byte_type
from compiler.frontend.onnx.rounding import NoForm
from compiler.frontend.onnx.runtime import Levels
from compiler.frontend.onnx.sums import fit_sum
from compiler.ir.names import fresh_name, legal_name

__all__ = ["Lowering", "Real", "shape_text"]


@dataclass(frozen=True)
class Real:
    """Real numbers: the node that makes them, and of which; or integers with their levels."""

    node: Node
    integers: Value | None = None
    levels: Levels | None = None


class Lowering:
    """The work on one model. `names`: of all arrays and statements so far."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.constants = Constants(model.constants)
        self.values: dict[str, Value] = {}
        self.reals: dict[str, Real] = {}
        self.layers: list[Layer] = []
        self.inputs: dict[str, Value] = {}
        self.remarks: list[str] = []
        self.names: set[str] = set()

    def name(self, text: str) -> str:
        """A new name for an array or a layer."""
        found = fresh_name(legal_name(text), self.names)
        self.names.add(found)
        return found

    def value(self, node: Node, number: int = 0) -> Value:
        """An operand that is computed. Raises `ModelError`."""
        name = node.input(number)
        if name in self.values:
            return self.values[name]
        if name in self.constants:
            raise node.error(f"its operand '{name}' is a constant; compute the result, and make that an initializer")
        raise node.error(f"its operand '{name}' are real numbers; put QuantizeLinear before it")

    def add_input(self, name: str, shape: tuple[int, ...], dtype: np.dtype) -> Value:
        if dtype.name not in ("uint8", "int8"):
            raise ModelError(f"input '{name}' is of type {dtype.name}; quantise it to uint8 or int8")
        _check_batch(f"input '{name}'", shape)
        type = byte_type(Node(name, "", (), ()), dtype, "it")
        value = Value(self.name(name), shape, shape[1:] if len(shape) > 1 else shape, type)
        self.values[name] = self.inputs[name] = value
        return value

    def add_layer(self, node: Node, layer: Layer) -> None:
        """A layer whose result is the node's."""
        self.layers.append(layer)
        self.values[node.outputs[0]] = layer.y

    def add_limits(self, node: Node, x: Value, low: int, high: int) -> None:
        """The integers of `x` between two others."""
        loops, index = _whole(x)
        y = replace(x, array=self.name(node.outputs[0]))
        self.add_layer(node, Elementwise(self.name(node.name), (x,), y, loops, (index,), index, None, low, high))

    def add_sum(self, node: Node, operands: Sequence[Value], levels: Sequence[Levels], y: Levels) -> None:
        """QLinearAdd of tensors of one shape."""
        a, b = operands
        if a.shape != b.shape or a.stored != b.stored:
            raise node.error(f"its operands have shapes {shape_text(a.shape)} and {shape_text(b.shape)}; give them one")
        if a.type != b.type:
            raise node.error(f"its operands are of types {a.type} and {b.type}; quantise them alike")
        try:
            form = fit_sum(levels[0], levels[1], y)
        except NoForm as error:
            raise node.error(f"{error}; use other scales") from None
        loops, index = _whole(a)
        result = replace(a, array=self.name(node.outputs[0]))
        self.add_layer(node, Elementwise(self.name(node.name), (a, b), result, loops, (index, index), index, form))


def _check_batch(what: str, shape: tuple[int, ...]) -> None:
    if len(shape) > 1 and shape[0] != 1:
        raise ModelError(f"{what} has a batch of {shape[0]}; give it one of 1")


def shape_text(shape: Sequence[int]) -> str:
    """As messages write it."""
    return "x".join(map(str, shape))


def _whole(x: Value) -> tuple[tuple[Loop, ...], tuple[Index, ...]]:
    """Loops over an array, channels innermost, and its index."""
    names = [f"i{k}" for k in range(len(x.stored))]
    loops = [Loop(name, extent) for name, extent in zip(names, x.stored, strict=True)]
    order = [*loops[1:], loops[0]]
    return tuple(order), tuple({name: 1} for name in names)
