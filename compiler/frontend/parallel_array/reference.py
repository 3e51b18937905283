"""The numpy back end: what every expression means."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from compiler.frontend.parallel_array.element_types import BFLOAT16, BOOL, FLOAT32, FLOATS
from compiler.frontend.parallel_array.expression import (
    Apply,
    Assembly,
    Expression,
    Input,
    Literal,
    Reduce,
    Scan,
    Scatter,
    Stretch,
    Take,
    View,
    postorder,
)
from compiler.ir.floating import apply_float, from_integers, rounded, to_integers
from compiler.ir.types import BFLOAT16 as HALF
from compiler.ir.types import FLOAT32 as SINGLE
from compiler.ir.types import Int

__all__ = ["FLOAT_OPERATIONS", "FORMATS", "OF_FLOATS", "OPERATIONS", "evaluate_reference"]


def _absolute_difference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.abs(a.astype(np.int64) - b.astype(np.int64))


def _multiply_high(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    wide = np.int64 if a.dtype.kind == "i" else np.uint64
    return a.astype(wide) * b.astype(wide) >> wide(32)


OPERATIONS: dict[str, Callable[..., np.ndarray]] = {
    **{name: getattr(np, name) for name in (
        "add", "subtract", "multiply", "floor_divide", "remainder", "left_shift", "right_shift", "bitwise_and",
        "bitwise_or", "bitwise_xor", "minimum", "maximum", "absolute", "equal", "not_equal", "less", "less_equal",
        "greater", "greater_equal")},
    "abs_difference": _absolute_difference,
    "multiply_high": _multiply_high,
    "convert": lambda a: a,
}
"""The meaning of each elementwise operation on arrays that have the compute type already."""


def evaluate_reference(roots: Mapping[str, Expression], inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Values of `roots`, by numpy alone. `inputs` are checked already."""
    values: dict[int, np.ndarray] = {}
    for node in postorder(list(roots.values())):
        values[id(node)] = _value(node, [values[id(s)] for s in node.sources], inputs)
    return {name: np.array(values[id(root)], order="C") for name, root in roots.items()}


def _value(node: Expression, sources: list[np.ndarray], inputs: Mapping[str, np.ndarray]) -> np.ndarray:
    match node:
        case Input():
            return np.asarray(inputs[node.name], node.dtype)
        case Literal():
            return node.value
        case Apply():
            return np.broadcast_to(_apply(node, sources), node.shape)
        case View():
            return _view(node, sources[0])
        case Stretch():
            (result,) = sources
            for axis, factor in enumerate(node.factors):
                result = np.repeat(result, factor, axis)
            return result
        case Assembly():
            return _assembled(node, sources)
        case Take():
            return _taken(node, *sources)
        case Scatter():
            return _scattered(node, *sources)
        case Reduce():
            if node.dtype in FLOATS:
                return _combined_floats(node, sources[0])
            axes = tuple(range(-node.count, 0))
            with np.errstate(over="ignore"):
                return np.asarray(getattr(np, node.operation).reduce(sources[0], axis=axes, dtype=node.dtype))
        case Scan():
            return _scanned(node, sources[0])
    raise TypeError(f"no value for {type(node).__name__}")


def _assembled(node: Assembly, sources: list[np.ndarray]) -> np.ndarray:
    whole = np.empty(node.shape, node.dtype)
    for part, place in zip(sources, node.places, strict=True):
        ends = (f + s * n for f, s, n in zip(place.first, place.steps, part.shape, strict=True))
        whole[tuple(map(slice, place.first, ends, place.steps))] = part
    return whole


def _taken(node: Take, table: np.ndarray, index: np.ndarray) -> np.ndarray:
    outside = index[(index < -len(table)) | (index >= len(table))]
    if outside.size:
        raise node.location.error(f"index {outside[0]} is outside the table of {len(table)} entries")
    return table[index]


def _scattered(node: Scatter, base: np.ndarray, index: np.ndarray, value: np.ndarray) -> np.ndarray:
    found, index, value = base.copy(), index.reshape(-1), value.reshape(-1)
    inside = (index >= 0) & (index < len(base))
    if node.adds:
        np.add.at(found, index[inside], value[inside])
        return found
    for place, number in zip(index[inside], value[inside], strict=True):
        found[place] = number
    return found


FLOAT_OPERATIONS = {
    "add": "add", "subtract": "sub", "multiply": "mul", "minimum": "min", "maximum": "max", "absolute": "abs",
    "negative": "neg", "equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt",
    "greater_equal": "ge", "divide": "div", "sqrt": "sqrt", "exp": "exp", "log": "log", "sin": "sin", "cos": "cos",
    "fma": "mad",
}
"""Operations on float32 and bfloat16 but ``where``, and their names in `compiler.ir`. Of a number and what is none,
`minimum` and `maximum` are the number, of equal operands the second; all rounding is to the nearest number, ties to
even."""

OF_FLOATS = ("divide", "sqrt", "exp", "log", "sin", "cos")
"""Those of them that there are of floating-point numbers alone."""


def _apply_floats(node: Apply, sources: list[np.ndarray]) -> np.ndarray:
    """An operation on float32 or bfloat16, or a conversion from them or to them."""
    with np.errstate(invalid="ignore"):
        return _applied_to_floats(node, sources)


def _applied_to_floats(node: Apply, sources: list[np.ndarray]) -> np.ndarray:
    (source, *_) = sources
    if node.operation != "convert":
        assert node.compute is not None
        form = FORMATS[node.compute]
        numbers = [_singles(s) if s.dtype in FLOATS else from_integers(form, s) for s in sources]
        return apply_float(FLOAT_OPERATIONS[node.operation], form, numbers).astype(node.dtype)
    if source.dtype in FLOATS and node.dtype in FLOATS:
        return rounded(FORMATS[node.dtype], source.astype(np.float64)).astype(node.dtype)
    if source.dtype in FLOATS:
        return to_integers(Int(8 * node.dtype.itemsize, node.dtype.kind == "i"), _singles(source)).astype(node.dtype)
    return from_integers(FORMATS[node.dtype], source.astype(np.int64)).astype(node.dtype)


FORMATS = {FLOAT32: SINGLE, BFLOAT16: HALF}
"""Formats of `compiler.ir`, whose numbers come and go in float32."""


def _singles(numbers: np.ndarray) -> np.ndarray:
    return numbers.astype(FLOAT32)


def _combined_floats(node: Reduce, source: np.ndarray) -> np.ndarray:
    """From the first element to the last."""
    terms = source.reshape(*source.shape[: source.ndim - node.count], -1)
    return _prefixes(node.operation, terms)[..., -1]


def _prefixes(operation: str, terms: np.ndarray) -> np.ndarray:
    """Floating-point numbers along the last dimension, each combined with all before it."""
    singles = _singles(terms)
    found = [singles[..., 0]]
    for k in range(1, terms.shape[-1]):
        found.append(apply_float(FLOAT_OPERATIONS[operation], FORMATS[terms.dtype], [found[-1], singles[..., k]]))
    return np.stack(found, -1).astype(terms.dtype)


def _scanned(node: Scan, source: np.ndarray) -> np.ndarray:
    if node.dtype in FLOATS:
        return _prefixes(node.operation, source)
    with np.errstate(over="ignore"):
        return getattr(np, node.operation).accumulate(source, axis=-1, dtype=node.dtype)


def _apply(node: Apply, sources: list[np.ndarray]) -> np.ndarray:
    if node.operation != "where" and (node.compute in FLOATS or any(s.dtype in FLOATS for s in sources)):
        return _apply_floats(node, sources)
    kind = np.dtype(np.uint8) if node.compute == BOOL else node.compute
    if node.operation == "where":
        condition, a, b = sources
        return np.where(condition != 0, a.astype(node.dtype), b.astype(node.dtype))
    with np.errstate(over="ignore", divide="ignore"):
        return np.asarray(OPERATIONS[node.operation](*(s.astype(kind) for s in sources))).astype(node.dtype)


def _view(node: View, source: np.ndarray) -> np.ndarray:
    inside = np.ones(node.shape, bool)
    value = None
    indices = []
    for axis, (row, offset, boundary) in enumerate(zip(node.matrix, node.offset, node.boundaries, strict=True)):
        index = np.full(node.shape, offset)
        for dimension, factor in enumerate(row):
            steps = np.arange(node.shape[dimension]) * factor
            index += steps.reshape([-1 if d == dimension else 1 for d in range(len(node.shape))])
        size = source.shape[axis]
        if boundary is not None and boundary.kind == "wrap":
            index %= size
        elif boundary is not None and boundary.kind == "default":
            out = (index < 0) | (index >= size)
            value = np.where(out & inside, boundary.value, 0 if value is None else value)
            inside &= ~out
        indices.append(np.clip(index, 0, size - 1))
    picked = np.broadcast_to(source[tuple(indices)], node.shape)
    return picked if value is None else np.where(inside, picked, value).astype(node.dtype)
