"""Scales and zero points of a model's tensors, which have to be constants."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from compiler.frontend.onnx.errors import ModelError
from compiler.frontend.onnx.model import Node
from compiler.frontend.onnx.runtime import Levels
from compiler.ir.types import Int

__all__ = ["TYPES", "Constants", "byte_type", "check_channels", "without_zeros"]

TYPES = {"uint8": Int(8, False), "int8": Int(8, True)}


def byte_type(node: Node, dtype: np.dtype, what: str) -> Int:
    """The type of quantised elements. Raises `ModelError` for others."""
    if dtype.name not in TYPES:
        raise node.error(f"{what} is of type {dtype.name}; quantise it to uint8 or int8")
    return TYPES[dtype.name]


class Constants:
    """The constants of a model, as the operands of its nodes."""

    def __init__(self, values: Mapping[str, np.ndarray]) -> None:
        self._values = values

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def get(self, node: Node, number: int, what: str) -> np.ndarray:
        """An operand that has to be one. Raises `ModelError`."""
        name = node.input(number)
        if name not in self._values:
            raise node.error(f"{what} ('{name}') is computed when the model runs; make it an initializer")
        return self._values[name]

    def levels(self, node: Node, scale: int, zero: int, type: Int, what: str) -> Levels:
        """Those of a tensor with one scale; `scale` and `zero` are numbers of operands."""
        scales, zeros = self.scales(node, scale, what), self.zeros(node, zero, what)
        if scales.size != 1 or zeros.size > 1:
            raise node.error(f"{what} has a scale for each channel; quantise it with one")
        return Levels(type.minimum, type.maximum, int(zeros[0]) if zeros.size else 0, np.float32(scales[0]))

    def scales(self, node: Node, number: int, what: str) -> np.ndarray:
        """Positive numbers, float32."""
        found = self.get(node, number, f"the scale of {what}")
        if found.dtype != np.float32:
            raise node.error(f"the scale of {what} is of type {found.dtype.name}; make it float32")
        if not (np.isfinite(found) & (found > 0)).all():
            raise node.error(f"the scale of {what} is {found.flat[0]}; make it a positive number")
        return found.ravel()

    def zeros(self, node: Node, number: int, what: str) -> np.ndarray:
        """Zero points, int64; none if they are left out."""
        if not node.input(number):
            return np.zeros(0, np.int64)
        return self.get(node, number, f"the zero point of {what}").ravel().astype(np.int64)


def check_channels(node: Node, values: np.ndarray, channels: int, what: str) -> np.ndarray:
    """One value for each channel. Raises `ModelError` for another number of them."""
    if values.size not in (1, channels):
        raise ModelError(f"node '{node.name}' ({node.op}): {what} has {values.size} values for {channels} channels; "
                         "give it one, or one for each")
    return np.broadcast_to(values.ravel(), channels) if values.size == 1 else values.ravel()


def without_zeros(node: Node, values: np.ndarray, zeros: np.ndarray, axis: int) -> np.ndarray:
    """Weights (int64) less the zero points of their channels, which are those of dimension `axis`. Raises
    `ModelError`."""
    channels = values.shape[axis]
    given = zeros if zeros.size else np.zeros(1, np.int64)
    each = check_channels(node, given, channels, "the zero point of its weights")
    shape = [channels if k == axis % values.ndim else 1 for k in range(values.ndim)]
    return values.astype(np.int64) - each.astype(np.int64).reshape(shape)
