"""What simple nodes compute, by kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from compiler.frontend.sac.arithmetic import BINARY, COMPARISONS, INTRINSICS, binary, cast, compare, dtype, wrap
from compiler.frontend.sac.ddcf.batch import Batch, Divergence, same_in_all
from compiler.frontend.sac.ddcf.graph import Node, Port
from compiler.frontend.sac.ddcf.kinds import MANY_KINDS
from compiler.frontend.sac.ddcf.returns import reduce_many
from compiler.frontend.sac.errors import SacRunError
from compiler.frontend.sac.foreign import find_foreign
from compiler.frontend.sac.numbers import enter, leave
from compiler.frontend.sac.types import Scalar, Type
from compiler.ir.types import ProgramError

__all__ = ["evaluate"]


def evaluate(node: Node, batch: Batch) -> list[np.ndarray]:
    """The outputs of a simple node. Raises `SacRunError` where it has none."""
    return _EVALUATORS[node.kind](node, batch)


def _binary(node: Node, batch: Batch) -> list[np.ndarray]:
    left, right = batch.operands
    scalar = node.outputs[0].scalar
    if node.kind in ("DIV", "MOD") and not scalar.floating and not right.all():
        raise SacRunError(node.place, "division by zero")
    if node.kind.endswith("SHIFT") and (right < 0).any():
        raise SacRunError(node.place, f"a shift by {int(right.min())} bits; amounts are not negative")
    return [binary(node.kind, scalar, left, right)]


def _compare(node: Node, batch: Batch) -> list[np.ndarray]:
    return [compare(node.kind, batch.operands[0], batch.types[0], batch.operands[1], batch.types[1])]


def _cast(node: Node, batch: Batch) -> list[np.ndarray]:
    return [cast(batch.operands[0], batch.types[0], node.outputs[0].scalar)]


def _not(node: Node, batch: Batch) -> list[np.ndarray]:
    return [1 - batch.operands[0]]


def _bit_not(node: Node, batch: Batch) -> list[np.ndarray]:
    return [wrap(node.outputs[0].scalar, ~batch.operands[0])]


def _negative(node: Node, batch: Batch) -> list[np.ndarray]:
    return [-batch.operands[0]]


def _intrinsic(node: Node, batch: Batch) -> list[np.ndarray]:
    _, function = INTRINSICS[str(node.attribute("function"))]
    return [function(*batch.operands)]


def _extents(node: Node, batch: Batch) -> list[np.ndarray]:
    return [np.full(batch.size, extent, dtype=np.int64) for extent in batch.operands[0].shape[1:]]


def _check_extents(node: Node, batch: Batch) -> list[np.ndarray]:
    (array,) = batch.operands
    for dimension, (wanted, extent) in enumerate(zip(node.outputs[0].extents, array.shape[1:], strict=True)):
        if wanted not in (None, extent):
            raise SacRunError(node.place, f"an array declared {node.outputs[0]} has an extent of {extent} in dimension "
                                          f"{dimension}")
    return [array]


def _fill_like(node: Node, batch: Batch) -> list[np.ndarray]:
    array, value = batch.operands
    return [np.broadcast_to(value.reshape((-1,) + (1,) * (array.ndim - 1)), array.shape)]


def _define(node: Node, batch: Batch) -> list[np.ndarray]:
    shape = (batch.size, *(e or 0 for e in node.outputs[0].extents))
    if not batch.operands:
        return [np.empty(shape, dtype=dtype(node.outputs[0].scalar))]
    if all(operand.strides[0] == 0 for operand in batch.operands):
        row = np.stack([operand[0] for operand in batch.operands]).reshape(shape[1:])
        return [np.broadcast_to(row, shape)]
    return [np.stack(batch.operands, axis=1).reshape(shape)]


def _concatenate(node: Node, batch: Batch) -> list[np.ndarray]:
    left, right = batch.operands
    if left.shape[:-1] != right.shape[:-1]:
        raise SacRunError(node.place, f"array_concat of shapes {_shape(left)} and {_shape(right)}: extents but the "
                                      "last are equal")
    return [np.concatenate([left, right], axis=-1)]


def _concatenate_rows(node: Node, batch: Batch) -> list[np.ndarray]:
    above, below = batch.operands
    if above.shape[2:] != below.shape[2:]:
        raise SacRunError(node.place, f"arrays of shapes {_shape(above)} and {_shape(below)} do not fit below each "
                                      "other")
    return [np.concatenate([above, below], axis=1)]


def _shape(array: np.ndarray) -> list[int]:
    return list(array.shape[1:])


def _perimeter(node: Node, batch: Batch) -> list[np.ndarray]:
    array, width, value = batch.operands
    border = same_in_all(width)
    shape = (batch.size, *(extent + 2 * border for extent in array.shape[1:]))
    around = np.broadcast_to(value.reshape((-1,) + (1,) * (array.ndim - 1)), shape).copy()
    around[(slice(None), *(slice(border, border + extent) for extent in array.shape[1:]))] = array
    return [around]


def _reference(node: Node, batch: Batch) -> list[np.ndarray]:
    """An element or a section."""
    array, *bounds = batch.operands
    return [array[_places(node, array, bounds, batch.size)]]


def _update(node: Node, batch: Batch) -> list[np.ndarray]:
    """An array with other elements in a section: those of a value of its shape, or one scalar."""
    array, value, *bounds = batch.operands
    places = _places(node, array, bounds, batch.size)
    shape = np.broadcast_shapes(*(place.shape for place in places))
    if value.ndim > 1 and value.shape[1:] != shape[1:]:
        raise SacRunError(node.place, f"a section of shape {list(shape[1:])} is given elements of shape "
                                      f"{_shape(value)}")
    updated = np.array(array)
    updated[places] = value if value.ndim > 1 else value.reshape((-1,) + (1,) * (len(shape) - 1))
    return [updated]


def _places(node: Node, array: np.ndarray, bounds: list[np.ndarray], size: int) -> tuple[np.ndarray, ...]:
    """Index arrays of an element or a section, a row for each of the batch. Indices may differ from row to row, extents
    of sections may not."""
    pattern = str(node.attribute("pattern"))
    indices: list[np.ndarray] = []
    kept = pattern.count(":")
    position, axis = 0, 0
    for dimension, slot in enumerate(pattern):
        extent = array.shape[1 + dimension]
        if slot == ".":
            _check_index(node, bounds[position], extent, dimension)
            indices.append(bounds[position].reshape((-1,) + (1,) * kept))
            position += 1
        else:
            rows = _section(node, *bounds[position:position + 3], extent, dimension)
            axis += 1
            indices.append(rows.reshape((len(rows),) + (1,) * (axis - 1) + (rows.shape[1],) + (1,) * (kept - axis)))
            position += 3
    return (np.arange(size).reshape((-1,) + (1,) * kept), *indices)


def _check_index(node: Node, index: np.ndarray, extent: int, dimension: int) -> None:
    wrong = (index < 0) | (index >= extent)
    if wrong.any():
        raise SacRunError(node.place, f"index {int(index[np.argmax(wrong)])} in dimension {dimension} of an array "
                                      f"whose extent there is {extent}")


def _section(node: Node, low: np.ndarray, high: np.ndarray, step: np.ndarray, extent: int, dimension: int
             ) -> np.ndarray:
    """Indices of a section, a row for each of the batch. An empty one may lie anywhere."""
    if (step <= 0).any():
        raise SacRunError(node.place, f"a section with step {int(step.min())} in dimension {dimension}; steps are at "
                                      "least 1")
    count = same_in_all(np.maximum(0, 1 + (high - low) // step))
    indices = low[:, np.newaxis] + step[:, np.newaxis] * np.arange(count)
    if count and ((indices[:, 0] < 0) | (indices[:, -1] >= extent)).any():
        row = int(np.argmax((indices[:, 0] < 0) | (indices[:, -1] >= extent)))
        raise SacRunError(node.place, f"section {int(low[row])}:{int(high[row])} in dimension {dimension} of an array "
                                      f"whose extent there is {extent}")
    return indices


def _foreign(node: Node, batch: Batch) -> list[np.ndarray]:
    """A function of Python, called for each row. Raises `SacRunError` for what it raises and for results of other
    types, `Divergence` for rows with results of different shapes."""
    rows = [_called(node, [value[row] for value in batch.operands], batch.types) for row in range(batch.size)]
    found = []
    for values in zip(*rows, strict=True):
        if len({value.shape for value in values}) > 1:
            raise Divergence
        found.append(np.stack(values))
    return found


def _called(node: Node, operands: list[np.ndarray], types: Sequence[Scalar]) -> list[np.ndarray]:
    name = str(node.attribute("function"))
    function = find_foreign(name)
    if function is None:
        raise SacRunError(node.place, f"there is no foreign function '{name}'")
    typed = [Type(scalar, (None,) * value.ndim) for scalar, value in zip(types, operands, strict=True)]
    arguments = [leave(Port("", part), values) for part, values in
                 zip(_grouped(node, "parameters", typed), _grouped(node, "parameters", operands), strict=True)]
    try:
        results = function(*arguments)
    except Exception as error:  # whatever a function of others raises
        raise SacRunError(node.place, f"foreign function '{name}': {str(error).splitlines()[0] or type(error).__name__}"
                          ) from None
    results = results if isinstance(results, tuple) else (results,)
    groups = _grouped(node, "results", list(node.outputs))
    if len(results) != len(groups):
        raise SacRunError(node.place, f"foreign function '{name}' gives {len(results)} results, and its prototype has "
                                      f"{len(groups)}")
    try:
        return [part for number, (types_, result) in enumerate(zip(groups, results, strict=True), 1)
                for part in enter(f"{number} of foreign function '{name}'", Port("", tuple(types_)), np.asarray(result),
                                  "result")]
    except ProgramError as error:
        raise SacRunError(node.place, str(error)) from None


def _grouped(node: Node, name: str, parts: list) -> list[tuple]:
    """`parts` by parameter or result: complex ones have two."""
    sizes, found, first = node.attribute(name), [], 0
    assert isinstance(sizes, tuple)
    for size in sizes:
        assert isinstance(size, int)
        found.append(tuple(parts[first:first + size]))
        first += size
    return found


def _many(node: Node, batch: Batch) -> list[np.ndarray]:
    kind, scalar = node.kind.removesuffix("_MANY"), node.outputs[0].scalar
    return [reduce_many(kind, batch.operands[::2], batch.operands[1::2], batch.size, scalar)]


_EVALUATORS: dict[str, Callable[[Node, Batch], list[np.ndarray]]] = {
    **dict.fromkeys(BINARY, _binary), **dict.fromkeys(COMPARISONS, _compare), "CAST": _cast, "NOT": _not,
    "BIT_NOT": _bit_not, "NEG": _negative, "INTRINSIC": _intrinsic, "FOREIGN": _foreign, "EXTENTS": _extents,
    "CHECK_EXTENTS": _check_extents, "FILL_LIKE": _fill_like, "ARR_DEF": _define, "ARRAY_CONCAT": _concatenate,
    "ARRAY_CONCAT_VERT": _concatenate_rows, "ARR_CONPERIM": _perimeter, "AREF": _reference, "ARR_UPDATE": _update,
    **dict.fromkeys(MANY_KINDS, _many),
}
