"""From layers to statements of a program."""

from __future__ import annotations

import numpy as np

from compiler.frontend.kernel import Typed, cast, clamp, constant, maximum, select
from compiler.frontend.onnx.building import Builder, StatementBuilder, affine_text, integer_type
from compiler.frontend.onnx.errors import ModelError
from compiler.frontend.onnx.layers import Elementwise, Index, Layer, Reduction, Value
from compiler.frontend.onnx.limbs import Limbs, cut, split
from compiler.frontend.onnx.rounding import Requantization
from compiler.frontend.onnx.sums import ScaledSum
from compiler.ir.program import Array, Role
from compiler.ir.types import Int

__all__ = ["declare", "padded_shape", "write_layer"]

_WORD = Int(32)


def declare(builder: Builder, value: Value, role: Role, shape: tuple[int, ...] | None = None) -> None:
    """The array of a tensor, if the program has none of its name yet."""
    builder.arrays.setdefault(value.array, Array(value.array, shape or value.stored, value.type, role))


def padded_shape(layer: Reduction) -> tuple[int, ...]:
    """Shape of what the layer reads, with its padding."""
    shape = list(layer.x.stored)
    for window in layer.padded:
        shape[window.dimension] += window.before + window.behind
    return tuple(shape)


def write_layer(builder: Builder, layer: Layer, number: int, padded: bool) -> None:
    """The statements of a layer, whose arrays are declared. `padded`: what it reads has its padding around it, zero
    points, so that nothing is left out."""
    if isinstance(layer, Elementwise):
        _elementwise(builder, layer, number)
    elif layer.kind == "maximum":
        _maximum(builder, layer, number, padded or not layer.padded)
    else:
        _sum(builder, layer, number, padded or not layer.padded)


def _conditions(layer: Reduction) -> list[str]:
    return [f"0 <= {affine_text(window.index)} < {window.extent}" for window in layer.padded]


def _maximum(builder: Builder, layer: Reduction, number: int, whole: bool) -> None:
    depth = len(layer.outer)
    start = builder.statement(f"{layer.name}_Start", layer.outer, (number, *[0] * depth))
    start.store(layer.y.array, layer.target, constant(layer.y.type, layer.y.type.minimum))
    place = (number, *[0] * (depth - 1), 1, *[0] * len(layer.inner))
    conditions = [] if whole else _conditions(layer)
    step = builder.statement(f"{layer.name}_Max", (*layer.outer, *layer.inner), place, conditions)
    old, new = step.read(layer.y.array, layer.target), step.read(layer.x.array, _source(layer, whole))
    step.store(layer.y.array, layer.target, maximum(old, new))


def _sum(builder: Builder, layer: Reduction, number: int, whole: bool) -> None:
    """`whole`: no term is left out, so the zero point goes into the bias."""
    assert layer.finish is not None
    depth, total = len(layer.outer), f"{layer.name}_total"
    builder.arrays[total] = Array(total, layer.y.stored, layer.accumulator, "intermediate")
    bias = np.array(layer.bias, np.int64)
    if whole:
        bias = bias - layer.zero * _sums_of_weights(layer)
    start = builder.statement(f"{layer.name}_Start", layer.outer, (number, *[0] * depth))
    start.store(total, layer.target, start.constant(f"{layer.name}_bias", bias, (layer.channel,), True))
    place = (number, *[0] * (depth - 1), 1, *[0] * len(layer.inner))
    conditions = [] if whole else _conditions(layer)
    step = builder.statement(f"{layer.name}_Accumulate", (*layer.outer, *layer.inner), place, conditions)
    old = step.read(total, layer.target)
    term = cast(layer.accumulator, step.read(layer.x.array, _source(layer, whole)))
    if layer.zero and not whole:
        term = term - layer.zero
    if layer.weights is not None:
        term = term * cast(layer.accumulator, step.constant(f"{layer.name}_weights", layer.weights, layer.places, True))
    step.store(total, layer.target, old + term)
    last = builder.statement(f"{layer.name}_Requantize", layer.outer, (number, *[0] * (depth - 1), 2))
    result = _requantized(last, layer, last.read(total, layer.target), layer.finish)
    last.store(layer.y.array, layer.target, result)


def _sums_of_weights(layer: Reduction) -> np.ndarray:
    """For each channel, or one for all."""
    if layer.weights is None:
        return np.array([int(np.prod([loop.extent for loop in layer.inner]))])
    channels = len(layer.bias)
    matrix = layer.weights if layer.places[0] == layer.channel else np.moveaxis(layer.weights, -1, 0)
    return matrix.reshape(channels, -1).astype(np.int64).sum(1)


def _source(layer: Reduction, whole: bool) -> list[Index]:
    """The index of what is read, in the padded array where nothing is left out."""
    index = [dict(part) for part in layer.source]
    if whole:
        for window in layer.padded:
            part = index[window.dimension]
            part[""] = part.get("", 0) + window.before
    return list(index)


def _requantized(statement: StatementBuilder, layer: Reduction, total: Typed, form: Requantization) -> Typed:
    """Without products of more than 32 bits, if there is a form of these."""
    limbs = None if form.bounds else cut(layer.largest, form.factors, form.offsets, form.shift)
    quotient = _in_words(statement, layer, total, form, limbs) if limbs else _in_one(statement, layer, total, form)
    return clamp(quotient + form.levels.zero, form.levels.low, form.levels.high)


def _in_words(statement: StatementBuilder, layer: Reduction, total: Typed, form: Requantization,
              limbs: Limbs) -> Typed:
    """``(factor * total + offset) >> shift`` part by part (`compiler.frontend.onnx.limbs`)."""
    channel, top = (layer.channel,), limbs.count - 1
    factor = cast(_WORD, statement.constant(f"{layer.name}_factors", np.array(form.factors), channel, True))
    added = np.array([split(offset, limbs) for offset in form.offsets])

    def scaled(number: Typed, part: int, carry: Typed) -> Typed:
        name = f"{layer.name}_offsets" + (f"{part}" if top else "")
        return number * factor + cast(_WORD, statement.constant(name, added[:, part], channel, True)) + carry

    rest, carry = cast(_WORD, total), constant(_WORD, 0)
    for part in range(top):
        carry = scaled(rest & (1 << limbs.width) - 1, part, carry) >> limbs.width
        rest = rest >> limbs.width
    whole, last = scaled(rest, top, carry), form.shift - limbs.width * top
    return whole >> last if last else whole


def _in_one(statement: StatementBuilder, layer: Reduction, total: Typed, form: Requantization) -> Typed:
    limit = layer.largest * max(form.factors) + max(map(abs, form.offsets)) + 1
    wide = integer_type(-limit, limit, True)
    if wide is None:
        raise ModelError(f"node '{layer.name}': its sums and scales need integers of more than 64 bits; choose scales "
                         "that are less far apart")
    channel = (layer.channel,)
    factor = cast(wide, statement.constant(f"{layer.name}_factors", np.array(form.factors), channel, True))
    offset = cast(wide, statement.constant(f"{layer.name}_offsets", np.array(form.offsets), channel, True))
    scaled = cast(wide, total) * factor + offset
    quotient = scaled >> form.shift if form.shift else scaled
    if form.bounds:
        last = form.first + len(form.bounds) - 1
        quotient = clamp(quotient, form.first, last)
        bound = statement.table(f"{layer.name}_bounds", form.bounds, cast(Int(32), quotient) - form.first)
        up = (scaled & (1 << form.shift) - 1) >= cast(wide, bound)
        quotient = quotient + select(up, constant(wide, 1), constant(wide, 0))
    return quotient


def _elementwise(builder: Builder, layer: Elementwise, number: int) -> None:
    statement = builder.statement(layer.name, layer.outer, (number, *[0] * len(layer.outer)))
    operands = [statement.read(value.array, source)
                for value, source in zip(layer.operands, layer.sources, strict=True)]
    if layer.sum is None:
        result = clamp(operands[0], layer.low, layer.high)
    else:
        result = _scaled_sum(layer.sum, operands[0], operands[1])
    statement.store(layer.y.array, layer.target, result)


def _scaled_sum(form: ScaledSum, a: Typed, b: Typed) -> Typed:
    limit = 256 * sum(form.factors) + abs(form.offset) + 1
    wide = integer_type(-limit, limit, True)
    assert wide is not None
    total = cast(wide, a) * form.factors[0] + cast(wide, b) * form.factors[1] + form.offset
    if form.ties:
        total = total + ((total >> form.shift) & 1)
    result = clamp(total >> form.shift, form.levels.low, form.levels.high)
    for left, right, exact in form.exceptions:
        result = select((a == left) & (b == right), constant(wide, exact), result)
    return result
