"""Layers: what the nodes of a model compute on integers, with indices that are affine in the layers' loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Literal

import numpy as np

from compiler.frontend.onnx.rounding import Requantization
from compiler.frontend.onnx.sums import ScaledSum
from compiler.ir.types import Int

__all__ = ["Elementwise", "Index", "Layer", "Loop", "Reduction", "Value", "Window"]

Index = Mapping[str, int]
"""An affine function of iterators: the factor of each, and of "" the constant."""

_WORD = Int(32)


@dataclass(frozen=True)
class Value:
    """A tensor of integers of the model: elements of `array`, whose own shape is `stored`; `shape` is the model's, with
    its batch of 1. The zero point of what a layer reads belongs to the layer."""

    array: str
    shape: tuple[int, ...]
    stored: tuple[int, ...]
    type: Int

    def reshaped(self, shape: tuple[int, ...]) -> Value:
        """The same elements with another shape."""
        return Value(self.array, shape, self.stored, self.type)

    def index(self, dimensions: Sequence[Index]) -> tuple[Index, ...] | None:
        """Index of the array for one of the tensor; None where a view makes it no affine one."""
        used = [index for index, extent in zip(dimensions, self.shape, strict=True) if extent != 1]
        extents = [extent for extent in self.shape if extent != 1]
        if extents != [extent for extent in self.stored if extent != 1]:
            return None
        return tuple({} if extent == 1 else used.pop(0) for extent in self.stored)

    @property
    def size(self) -> int:
        """Elements."""
        return prod(self.shape)


@dataclass(frozen=True)
class Loop:
    """An iterator from 0 up to, not including, `extent`."""

    name: str
    extent: int


@dataclass(frozen=True)
class Window:
    """A coordinate of a padded dimension of an array: `index` is inside if it is 0 to ``extent - 1``; `before` and
    `behind` are the elements of padding."""

    dimension: int
    index: Index
    extent: int
    before: int
    behind: int


@dataclass(frozen=True)
class Reduction:
    """``y[target] = finish(sum or maximum over the inner loops of (x[source] - zero) * weights[places])``, padding left
    out.

    `channel` numbers `bias` and the channels of `finish`; `weights` None: all are 1. Accumulators are in `accumulator`,
    their magnitude is at most `largest`. A maximum has neither bias nor finish, and begins with the least number of the
    type.
    """

    name: str
    kind: Literal["sum", "maximum"]
    x: Value
    y: Value
    outer: tuple[Loop, ...]
    inner: tuple[Loop, ...]
    source: tuple[Index, ...]
    target: tuple[Index, ...]
    padded: tuple[Window, ...] = ()
    zero: int = 0
    weights: np.ndarray | None = None
    places: tuple[Index, ...] = ()
    bias: tuple[int, ...] = ()
    channel: Index = field(default_factory=dict)
    accumulator: Int = _WORD
    largest: int = 0
    finish: Requantization | None = None


@dataclass(frozen=True)
class Elementwise:
    """``y[target] = f(operands[0][sources[0]], ...)``: a scaled sum of two, or the one operand limited to `low` and
    `high`."""

    name: str
    operands: tuple[Value, ...]
    y: Value
    outer: tuple[Loop, ...]
    sources: tuple[tuple[Index, ...], ...]
    target: tuple[Index, ...]
    sum: ScaledSum | None = None
    low: int = 0
    high: int = 0


Layer = Reduction | Elementwise
