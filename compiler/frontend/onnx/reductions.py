"""Convolutions, products of matrices and pooling as reductions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compiler.frontend.onnx.building import integer_type
from compiler.frontend.onnx.errors import ModelError
from compiler.frontend.onnx.layers import Index, Loop, Reduction, Value, Window
from compiler.frontend.onnx.model import Node
from compiler.frontend.onnx.rounding import NoForm, fit
from compiler.frontend.onnx.runtime import Levels
from compiler.ir.types import Int

__all__ = ["Operands", "average", "convolution", "maximum_pool", "product"]

_PLACES = ("z", "y", "x")


@dataclass(frozen=True)
class Operands:
    """What is quantised of a sum of products: levels of x and y, weights without their zero points, a bias and a scale
    for each channel of the result."""

    x: Levels
    y: Levels
    weights: np.ndarray
    bias: np.ndarray
    scales: np.ndarray


@dataclass(frozen=True)
class _Geometry:
    """Of one spatial dimension."""

    place: str
    extent: int
    kernel: int
    stride: int
    dilation: int
    before: int
    behind: int

    @property
    def results(self) -> int:
        """How many results it has."""
        return (self.extent + self.before + self.behind - self.dilation * (self.kernel - 1) - 1) // self.stride + 1

    @property
    def index(self) -> Index:
        """What is read."""
        return {self.place: self.stride, f"r{self.place}": self.dilation, "": -self.before}


def _geometries(node: Node, x: Value, kernel: Sequence[int]) -> list[_Geometry]:
    """Those of all spatial dimensions. Raises `ModelError`."""
    extents, count = x.shape[2:], len(x.shape) - 2
    if not 1 <= count <= len(_PLACES) or len(kernel) != count:
        raise node.error(f"its input has {len(x.shape)} dimensions and its window {len(kernel)}; give it a batch, "
                         "channels and one to three dimensions")
    strides, dilations = (_numbers(node, name, count, 1) for name in ("strides", "dilations"))
    pads = _pads(node, extents, kernel, strides, dilations)
    if node.attributes.get("ceil_mode"):
        raise node.error("ceil_mode makes windows that reach beyond the padding; use pads and ceil_mode=0")
    found = [_Geometry(*each) for each in zip(_PLACES[-count:], extents, kernel, strides, dilations, pads[:count],
                                              pads[count:], strict=True)]
    for geometry in found:
        if geometry.results < 1:
            raise node.error(f"its window is larger than its input in dimension {geometry.place}; use a smaller one")
    return found


def _pads(node: Node, extents: Sequence[int], kernel: Sequence[int], strides: Sequence[int],
          dilations: Sequence[int]) -> list[int]:
    """All before, then all behind."""
    kind = node.attributes.get("auto_pad", "NOTSET")
    if kind in ("NOTSET", "VALID"):
        return _numbers(node, "pads", 2 * len(extents), 0) if kind == "NOTSET" else [0] * (2 * len(extents))
    before, behind = [], []
    for extent, size, stride, dilation in zip(extents, kernel, strides, dilations, strict=True):
        total = max((-(-extent // stride) - 1) * stride + dilation * (size - 1) + 1 - extent, 0)
        small = total // 2
        before.append(total - small if kind == "SAME_LOWER" else small)
        behind.append(total - before[-1])
    return before + behind


def _numbers(node: Node, name: str, count: int, least: int) -> list[int]:
    """An attribute with `count` numbers, all `least` if it is left out. Raises `ModelError` for smaller ones."""
    found = list(node.attributes.get(name) or [least] * count)
    if len(found) != count or min(found) < least:
        raise node.error(f"its {name} are {', '.join(map(str, found))}; give it {count} that are {least} or more")
    return found


def convolution(node: Node, name: str, x: Value, y_name: str, y_type: Int, operands: Operands) -> Reduction:
    """QLinearConv with weights [channel, input channel, ...]. Raises `ModelError`."""
    weights, groups = operands.weights, int(node.attributes.get("group", 1))
    if weights.ndim != len(x.shape) or weights.ndim < 3:
        raise node.error(f"its weights have {weights.ndim} dimensions and its input {len(x.shape)}; give both a batch, "
                         "channels and one to three more")
    channels, depth = weights.shape[:2]
    if depth * groups != x.shape[1] or channels % groups:
        raise node.error(f"its weights are for {depth * groups} input channels in {groups} groups, and its input has "
                         f"{x.shape[1]}; make them fit")
    spaces = _geometries(node, x, weights.shape[2:])
    outer = [Loop(g.place, g.results) for g in spaces]
    channel, part = _channels(groups, channels // groups, depth, outer)
    y = _result(y_name, (1, channels, *(g.results for g in spaces)), y_type)
    inner = [Loop("c", depth), *(Loop(f"r{g.place}", g.kernel) for g in spaces)]
    source, padded = _windows(node, x, part, spaces)
    places = (channel, {"c": 1}, *({f"r{g.place}": 1} for g in spaces))
    target = (channel, *({g.place: 1} for g in spaces))
    return _sum_of_products(node, name, x, y, (outer, inner), source, target, padded, channel, places, operands)


def _channels(groups: int, each: int, depth: int, outer: list[Loop]) -> tuple[Index, Index]:
    """The numbers of the channel and of the input channel; their loops go to `outer`."""
    if groups == 1:
        outer.append(Loop("k", each))
        return {"k": 1}, {"c": 1}
    outer.append(Loop("g", groups))
    if each == 1:
        return {"g": 1}, {"g": depth, "c": 1}
    outer.append(Loop("k", each))
    return {"g": each, "k": 1}, {"g": depth, "c": 1}


def _windows(node: Node, x: Value, channel: Index, spaces: Sequence[_Geometry]
             ) -> tuple[tuple[Index, ...], tuple[Window, ...]]:
    """What is read of `x`, and where it has padding."""
    source = _index(node, x, [{}, channel, *(g.index for g in spaces)])
    padded = tuple(Window(k, source[k], g.extent, g.before, g.behind)
                   for k, g in enumerate(spaces, 1) if g.before or g.behind) if x.stored == x.shape[1:] else ()
    if x.stored != x.shape[1:] and any(g.before or g.behind for g in spaces):
        raise node.error("its input is a view with another shape, and padded; leave out the Reshape before it")
    return source, padded


def _index(node: Node, x: Value, dimensions: Sequence[Index]) -> tuple[Index, ...]:
    found = x.index(dimensions)
    if found is None:
        raise _view_error(node, x)
    return found


def _view_error(node: Node, x: Value) -> ModelError:
    return node.error(f"its input is a view of shape {'x'.join(map(str, x.shape))} of an array of shape "
                      f"{'x'.join(map(str, x.stored))}; leave out the Reshape before it")


def _result(name: str, shape: tuple[int, ...], type: Int) -> Value:
    return Value(name, shape, shape[1:] if len(shape) > 1 else shape, type)


def product(node: Node, name: str, x: Value, y_name: str, y_type: Int, operands: Operands) -> Reduction:
    """QLinearMatMul with weights [input, output]; a view of an input is read in its own dimensions."""
    weights, y_shape = operands.weights, (*x.shape[:-1], operands.weights.shape[1])
    if weights.shape[0] != x.shape[-1]:
        raise node.error(f"its weights have {weights.shape[0]} rows, its input {x.shape[-1]} columns; make them fit")
    rows = [Loop(f"m{k}", extent) for k, extent in enumerate(x.shape[1:-1])] if len(x.shape) > 2 else []
    y = _result(y_name, y_shape, y_type)
    channel: Index = {"n": 1}
    source = x.index([{}, *({loop.name: 1} for loop in rows), {"c": 1}] if len(x.shape) > 1 else [{"c": 1}])
    inner, shaped = [Loop("c", weights.shape[0])], weights
    if source is None and not rows:
        inner = [Loop(f"c{k}", extent) for k, extent in enumerate(x.stored)]
        source, shaped = tuple({loop.name: 1} for loop in inner), weights.reshape(*x.stored, -1)
    elif source is None:
        raise _view_error(node, x)
    places = (*({loop.name: 1} for loop in inner), channel)
    target = (*({loop.name: 1} for loop in rows), channel)
    given = Operands(operands.x, operands.y, shaped, operands.bias, operands.scales)
    outer = [*rows, Loop("n", weights.shape[1])]
    return _sum_of_products(node, name, x, y, (outer, inner), source, target, (), channel, places, given)


def _sum_of_products(node: Node, name: str, x: Value, y: Value, loops: tuple[list[Loop], list[Loop]],
                     source: tuple[Index, ...], target: tuple[Index, ...], padded: tuple[Window, ...], channel: Index,
                     places: tuple[Index, ...], operands: Operands) -> Reduction:
    first = places[0] == channel
    matrix = operands.weights.astype(np.int64)
    matrix = (matrix if first else np.moveaxis(matrix, -1, 0)).reshape(len(operands.bias), -1)
    ends = np.stack([matrix * (end - operands.x.zero) for end in (operands.x.low, operands.x.high)])
    ranges = [(int(low), int(high)) for low, high in zip(ends.min(0).sum(1) + operands.bias,
                                                         ends.max(0).sum(1) + operands.bias, strict=True)]
    largest, accumulator = _accumulator(node, ranges)
    try:
        finish = fit(list(operands.scales), ranges, operands.y)
    except NoForm as error:
        raise node.error(f"{error}; use a larger scale of y") from None
    return Reduction(name, "sum", x, y, tuple(loops[0]), tuple(loops[1]), source, target, padded, operands.x.zero,
                     operands.weights, places, tuple(map(int, operands.bias)), channel, accumulator, largest, finish)


def _accumulator(node: Node, ranges: Sequence[tuple[int, int]]) -> tuple[int, Int]:
    """The greatest magnitude, and the type that holds it."""
    largest = max(max(-low, high) for low, high in ranges)
    type = integer_type(-largest, largest, True)
    if type is None or type.width > 32:
        raise node.error(f"its sums reach {largest}, which overflows int32; use smaller weights or fewer channels")
    return largest, max(type, Int(16), key=lambda entry: entry.width)


def average(node: Node, name: str, x: Value, y_name: str, x_levels: Levels, y_levels: Levels) -> Reduction:
    """GlobalAveragePool: the mean over all places."""
    if not 3 <= len(x.shape) <= 2 + len(_PLACES):
        raise node.error(f"its input has {len(x.shape)} dimensions; give it a batch, channels and one to three more")
    channels, spaces = x.shape[1], x.shape[2:]
    count = int(np.prod(spaces))
    names = _PLACES[-len(spaces):]
    source = _index(node, x, [{}, {"k": 1}, *({f"r{place}": 1} for place in names)])
    y = _result(y_name, (1, channels, *[1] * len(spaces)), x.type)
    with np.errstate(over="ignore", under="ignore"):
        scale = np.float32(x_levels.scale / (y_levels.scale * np.float32(count)))
    range_ = (count * (x_levels.low - x_levels.zero), count * (x_levels.high - x_levels.zero))
    largest, accumulator = _accumulator(node, [range_])
    try:
        finish = fit([scale], [range_], y_levels)
    except NoForm as error:
        raise node.error(f"{error}; use a larger scale of y") from None
    inner = tuple(Loop(f"r{place}", extent) for place, extent in zip(names, spaces, strict=True))
    return Reduction(name, "sum", x, y, (Loop("k", channels),), inner, source, ({"k": 1}, *({} for _ in spaces)),
                     zero=x_levels.zero, bias=(0,), accumulator=accumulator, largest=largest, finish=finish)


def maximum_pool(node: Node, name: str, x: Value, y_name: str) -> Reduction:
    """MaxPool of integers. Raises `ModelError`."""
    kernel = _numbers(node, "kernel_shape", max(len(x.shape) - 2, 1), 1)
    spaces = _geometries(node, x, kernel)
    outer = (*(Loop(g.place, g.results) for g in spaces), Loop("k", x.shape[1]))
    source, padded = _windows(node, x, {"k": 1}, spaces)
    y = _result(y_name, (1, x.shape[1], *(g.results for g in spaces)), x.type)
    target = ({"k": 1}, *({g.place: 1} for g in spaces))
    inner = tuple(Loop(f"r{g.place}", g.kernel) for g in spaces)
    return Reduction(name, "maximum", x, y, outer, inner, source, target, padded)
