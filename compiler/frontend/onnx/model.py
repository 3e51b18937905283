"""Reading ONNX models: nodes with plain attributes, constants as numpy arrays, shapes of inputs. Nothing else in this
project imports the package `onnx`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from compiler.frontend.onnx.errors import ModelError

__all__ = ["Model", "Node", "Tensor", "read_model"]


@dataclass(frozen=True)
class Node:
    """One operator. Inputs that are left out are ""."""

    name: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def error(self, reason: str) -> ModelError:
        """What is raised for this node: `reason` ends in a rewrite."""
        return ModelError(f"node '{self.name}' ({self.op}): {reason}")

    def input(self, number: int) -> str:
        """The name of an input, "" if it is left out."""
        return self.inputs[number] if number < len(self.inputs) else ""


@dataclass(frozen=True)
class Tensor:
    """Shape and numpy type of a graph's input."""

    shape: tuple[int, ...]
    dtype: np.dtype


@dataclass(frozen=True)
class Model:
    """A graph: `nodes` in an order in which they can run."""

    name: str
    nodes: tuple[Node, ...]
    constants: Mapping[str, np.ndarray]
    inputs: Mapping[str, Tensor]
    outputs: tuple[str, ...]


def import_onnx() -> Any:
    """The package. Raises `ModelError` if it is not installed."""
    try:
        import onnx
        import onnx.checker
        import onnx.numpy_helper
    except ImportError:
        raise ModelError("this needs the package onnx: type `pip install sluice[onnx]`") from None
    return onnx


def read_model(data: bytes, name: str, sizes: Mapping[str, int] | None = None) -> Model:
    """The model in the bytes of a file. `sizes`: extents of dimensions that have a name. Raises `ModelError`, in one
    line that begins with `name`, for damaged bytes too."""
    onnx = import_onnx()
    try:
        proto = onnx.load_model_from_string(data)
        onnx.checker.check_model(proto)
        return _model(onnx, proto.graph, name, sizes or {})
    except ModelError:
        raise
    except Exception as error:  # the package's own, those of protobuf, and what numpy says of damaged constants
        text = " ".join(str(error).split())
        raise ModelError(f"{name} is no valid ONNX model: {text[:200] or type(error).__name__}") from None


def _model(onnx: Any, graph: Any, name: str, sizes: Mapping[str, int]) -> Model:
    constants = {_name(tensor.name): _array(onnx, tensor) for tensor in graph.initializer}
    nodes: list[Node] = []
    for number, proto in enumerate(graph.node):
        node = _node(onnx, proto, number)
        if node.op == "Constant":
            constants[node.outputs[0]] = _constant(node)
        else:
            nodes.append(node)
    inputs = {_name(value.name): _tensor(onnx, value, sizes) for value in graph.input if value.name not in constants}
    _check_sizes(graph, sizes)
    return Model(name, tuple(nodes), constants, inputs, tuple(_name(value.name) for value in graph.output))


def _array(onnx: Any, tensor: Any) -> np.ndarray:
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        raise ModelError(f"constant '{tensor.name}' is in a file of its own: put it into the model, with "
                         "onnx.save(onnx.load(FILE), FILE)")
    return onnx.numpy_helper.to_array(tensor)


def _node(onnx: Any, proto: Any, number: int) -> Node:
    attributes: dict[str, Any] = {}
    for attribute in proto.attribute:
        value = onnx.helper.get_attribute_value(attribute)
        if attribute.type == onnx.AttributeProto.TENSOR:
            value = _array(onnx, value)
        attributes[_name(attribute.name)] = value.decode() if isinstance(value, bytes) else value
    inputs, outputs = (tuple(map(_name, names)) for names in (proto.input, proto.output))
    return Node(_name(proto.name) or f"number {number}", _name(proto.op_type), inputs, outputs, attributes)


def _name(text: str | bytes) -> str:
    """A name; protobuf gives bytes where they are no text."""
    if isinstance(text, bytes):
        raise ModelError(f"the name {text!r} is no text in UTF-8; give it another")
    return text


def _constant(node: Node) -> np.ndarray:
    for key, dtype in (("value", None), ("value_int", np.int64), ("value_ints", np.int64), ("value_float", np.float32),
                       ("value_floats", np.float32)):
        if key in node.attributes:
            return np.asarray(node.attributes[key], dtype)
    raise node.error("its value is neither a tensor nor numbers; make it an initializer")


def _tensor(onnx: Any, value: Any, sizes: Mapping[str, int]) -> Tensor:
    kind = value.type.tensor_type
    shape: list[int] = []
    for number, dimension in enumerate(kind.shape.dim):
        if dimension.HasField("dim_value"):
            shape.append(dimension.dim_value)
        elif dimension.dim_param in sizes:
            shape.append(int(sizes[dimension.dim_param]))
        elif number == 0:
            shape.append(1)
        else:
            text = dimension.dim_param or "?"
            raise ModelError(f"input '{value.name}': dimension {number} has no size ({text}); give it one, with "
                             f"{text}=SIZE or in the model")
    return Tensor(tuple(shape), np.dtype(onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)))


def _check_sizes(graph: Any, sizes: Mapping[str, int]) -> None:
    known = {dimension.dim_param for value in graph.input for dimension in value.type.tensor_type.shape.dim} - {""}
    for name in sizes:
        if name not in known:
            raise ModelError(f"the model has no size '{name}'; it has: {', '.join(sorted(known)) or 'none'}")
