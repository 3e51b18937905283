"""What loops give at their end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from compiler.frontend.sac.arithmetic import binary, cast, dtype, wrap
from compiler.frontend.sac.ddcf.batch import Divergence, same_in_all
from compiler.frontend.sac.ddcf.graph import Argument, Constant, Edge, Graph, Node, Operand
from compiler.frontend.sac.ddcf.kinds import RETURN_KINDS, VALUE_AT_KINDS
from compiler.frontend.sac.errors import SacRunError
from compiler.frontend.sac.types import DOUBLE, Scalar, Type

__all__ = ["Collected", "reduce_loop", "reduce_many"]


@dataclass
class Collected:
    """What entered the nodes that end a loop: for each node and operand the pieces, in order.

    A piece has rows for several iterations of one row of the batch after the other; or, `by_iteration`, a row of the
    batch each, for one iteration.
    """

    graph: Graph
    inputs: Sequence[np.ndarray]
    size: int
    by_iteration: bool = False
    pieces: list[list[list[np.ndarray]]] = field(default_factory=list)

    def add(self, ends: list[list[np.ndarray]]) -> None:
        """The operands of all nodes that end the loop, for some iterations more."""
        self.pieces.append(ends)

    def operand(self, node: int, position: int, type_: Type) -> np.ndarray:
        """An operand of the node with this number among those that end the loop: axes batch, iteration, array.

        Raises `Divergence` if iterations have arrays of different shapes.
        """
        parts = [piece[node][position] for piece in self.pieces]
        if not parts:
            return np.empty((self.size, 0, *(e or 0 for e in type_.extents)), dtype=dtype(type_.scalar))
        if len({part.shape[1:] for part in parts}) > 1:
            raise Divergence
        if self.by_iteration:
            return np.stack(parts, axis=1)
        joined = np.concatenate(parts)
        return joined.reshape((self.size, len(joined) // self.size, *joined.shape[1:]))

    def invariant(self, operand: Operand) -> int:
        """The integer that comes from outside the loop, or is constant. Raises `Divergence` if rows differ in it."""
        if isinstance(operand, Constant):
            return int(operand.value)
        assert isinstance(operand, Argument)
        return same_in_all(self.inputs[operand.number])

    def rows(self, node: int, position: int) -> list[list[np.ndarray]]:
        """The same, array by array, whatever their shapes: for each row of the batch those of all iterations."""
        parts = [piece[node][position] for piece in self.pieces]
        if self.by_iteration:
            return [[part[row] for part in parts] for row in range(self.size)]
        single = [array for part in parts for array in part]
        count = len(single) // self.size
        return [single[row * count:(row + 1) * count] for row in range(self.size)]


def reduce_loop(graph: Graph, collected: Collected, extents: tuple[int, ...], final: Mapping[int, np.ndarray]
                ) -> list[np.ndarray]:
    """The outputs of a loop of these extents; `final` are the last values that it carried, by number of the input."""
    numbers = {position: number for number, position in enumerate(
        position for position, node in enumerate(graph.nodes) if node.kind in RETURN_KINDS)}
    found = []
    for operand in graph.outputs:
        assert isinstance(operand, Edge)
        node = graph.nodes[operand.number]
        if node.kind == "NEXT":
            found.append(final[node.number("input")])
        else:
            found.append(_end(graph, node, numbers[operand.number], collected, extents))
    return found


def _end(graph: Graph, node: Node, number: int, collected: Collected, extents: tuple[int, ...]) -> np.ndarray:
    types = [graph.type(operand) for operand in node.operands]
    if node.kind == "CONSTRUCT_CONCAT":
        return _concat(node, collected.rows(number, 0), types[0])
    try:
        operands = [collected.operand(number, position, type_) for position, type_ in enumerate(types)]
    except Divergence:
        if collected.size > 1:
            raise
        raise SacRunError(node.place, "the arrays of the iterations have different shapes") from None
    if node.kind == "CONSTRUCT_ARRAY":
        return operands[0].reshape((collected.size, *extents, *operands[0].shape[2:]))
    if node.kind == "CONSTRUCT_TILE":
        return _tile(operands[0], extents)
    if node.kind in VALUE_AT_KINDS:
        return _values_at(node, operands)
    return _reduction(node, operands, collected, types[0].scalar)


def _reduction(node: Node, operands: list[np.ndarray], collected: Collected, scalar: Scalar) -> np.ndarray:
    """A reduction, or one for each label. Extents are what the loop does not change."""
    labelled, counted = node.kind.startswith("ACCUM_"), node.kind.endswith("HISTOGRAM")
    places = range(1 + labelled, 1 + 2 * labelled + counted)
    extents = [collected.invariant(node.operands[place]) for place in places]
    values = [operand for place, operand in enumerate(operands) if place not in places]
    if counted:
        _check_labels(node, values[0], extents[-1], values[1 + labelled:])
    return _accumulate(node, values, extents, scalar) if labelled else _reduce(node.kind, values, scalar, extents)


def _concat(node: Node, rows: list[list[np.ndarray]], type_: Type) -> np.ndarray:
    """Arrays joined in their last dimension."""
    joined = []
    for arrays in rows:
        if len({array.shape[:-1] for array in arrays}) > 1:
            raise SacRunError(node.place, "the arrays of the iterations differ in an extent that is not the last")
        empty = np.empty((*(e or 0 for e in type_.extents[:-1]), 0), dtype=dtype(type_.scalar))
        joined.append(np.concatenate(arrays, axis=-1) if arrays else empty)
    if len({array.shape for array in joined}) > 1:
        raise Divergence
    return np.stack(joined)


def _tile(values: np.ndarray, extents: tuple[int, ...]) -> np.ndarray:
    """Each iteration's array in its place: shapes are filled with ones at the left and multiplied."""
    size, shape = values.shape[0], values.shape[2:]
    rank = max(len(extents), len(shape))
    outer = (1,) * (rank - len(extents)) + extents
    inner = (1,) * (rank - len(shape)) + shape
    order = [0] + [axis for k in range(rank) for axis in (1 + k, 1 + rank + k)]
    whole = values.reshape((size, *outer, *inner)).transpose(order)
    return whole.reshape((size, *(a * b for a, b in zip(outer, inner, strict=True))))


def _reduce(kind: str, operands: Sequence[np.ndarray], scalar: Scalar, extents: Sequence[int] = ()) -> np.ndarray:
    """A reduction over the axis of iterations, of those that the mask, if there is one, takes."""
    value, *mask = operands
    if not mask or mask[0].all():
        return _one(kind, value, scalar, extents)
    return np.concatenate([_one(kind, row[np.newaxis, chosen != 0], scalar, extents)
                           for row, chosen in zip(value, mask[0], strict=True)])


def reduce_many(kind: str, values: Sequence[np.ndarray], masks: Sequence[np.ndarray], size: int, scalar: Scalar
                ) -> np.ndarray:
    """A reduction of values that stand side by side, `size` rows of each."""
    if not values:
        return _reduce(kind, [np.empty((size, 0), dtype=dtype(scalar))], scalar)
    return _reduce(kind, [np.stack(values, axis=1), np.stack(masks, axis=1)], scalar)


def _one(kind: str, value: np.ndarray, scalar: Scalar, extents: Sequence[int]) -> np.ndarray:
    if kind == "HISTOGRAM":
        return _histogram(value, extents[0])
    if kind in _AVERAGES and not value.shape[1]:
        return np.zeros(len(value), dtype=dtype(scalar))
    return _REDUCTIONS[kind](value, scalar)


def _sum(value: np.ndarray, scalar: Scalar) -> np.ndarray:
    """In the order of the iterations, which matters for floating-point numbers."""
    if scalar.floating:
        start = np.zeros((len(value), 1), dtype=value.dtype)
        return np.add.accumulate(np.concatenate([start, value], axis=1), axis=1)[:, -1]
    return wrap(scalar, value.sum(axis=1))


def _product(value: np.ndarray, scalar: Scalar) -> np.ndarray:
    one = np.asarray(1.0 if scalar.floating else 1 << scalar.fraction, dtype=value.dtype)
    total = np.broadcast_to(one, (len(value),))
    if not scalar.floating and not scalar.fraction:
        return wrap(scalar, np.multiply.reduce(value, axis=1))
    for k in range(value.shape[1]):
        total = binary("MUL", scalar, total, value[:, k])
    return total


def _least(value: np.ndarray, scalar: Scalar) -> np.ndarray:
    return value.min(axis=1, initial=np.inf if scalar.floating else scalar.maximum)


def _greatest(value: np.ndarray, scalar: Scalar) -> np.ndarray:
    return value.max(axis=1, initial=-np.inf if scalar.floating else scalar.minimum)


def _all(value: np.ndarray, scalar: Scalar) -> np.ndarray:
    return wrap(scalar, np.bitwise_and.reduce(value, axis=1, initial=-1))


def _any(value: np.ndarray, scalar: Scalar) -> np.ndarray:
    return wrap(scalar, np.bitwise_or.reduce(value, axis=1))


def _mean(value: np.ndarray, scalar: Scalar) -> np.ndarray:
    """The exact sum over the count, rounded towards 0 to the type."""
    count = value.shape[1]
    if scalar.floating:
        return (_sum(value, scalar) / value.dtype.type(count)).astype(value.dtype)
    total = value.sum(axis=1)
    size = np.abs(total) // count
    return wrap(scalar, np.where(total < 0, -size, size))


def _deviation(value: np.ndarray, scalar: Scalar) -> np.ndarray:
    """Of the whole population, in `double`, then converted."""
    numbers = cast(value, scalar, DOUBLE)
    mean = _sum(numbers, DOUBLE) / value.shape[1]
    squares = (numbers - mean[:, np.newaxis]) ** 2
    return cast(np.sqrt(_sum(squares, DOUBLE) / value.shape[1]), DOUBLE, scalar)


def _median(value: np.ndarray, scalar: Scalar) -> np.ndarray:
    """The middle one; of an even count the mean of both, rounded towards 0 to the type."""
    ordered, middle = np.sort(value, axis=1), value.shape[1] // 2
    if value.shape[1] % 2:
        return ordered[:, middle]
    return _mean(ordered[:, middle - 1:middle + 1], scalar)


def _mode(value: np.ndarray, scalar: Scalar) -> np.ndarray:
    """The most frequent one; the least of several."""
    found = np.empty(len(value), dtype=value.dtype)
    for row, numbers in enumerate(value):
        distinct, counts = np.unique(numbers, return_counts=True)
        found[row] = distinct[np.argmax(counts)]
    return found


def _histogram(value: np.ndarray, extent: int) -> np.ndarray:
    """How often each number occurs, in uint32; numbers outside are checked before."""
    return np.stack([np.bincount(row, minlength=extent)[:extent] for row in value]).astype(np.int64)


_AVERAGES = ("MEAN", "ST_DEV", "MEDIAN", "MODE")
_REDUCTIONS: dict[str, Callable[[np.ndarray, Scalar], np.ndarray]] = {
    "SUM": _sum, "PRODUCT": _product, "MIN": _least, "MAX": _greatest, "AND": _all, "OR": _any, "MEAN": _mean,
    "ST_DEV": _deviation, "MEDIAN": _median, "MODE": _mode,
}


def _check_labels(node: Node, labels: np.ndarray, extent: int, mask: Sequence[np.ndarray]) -> None:
    """Raise `SacRunError` for a label outside the result."""
    wrong = (labels < 0) | (labels >= extent)
    if mask:
        wrong = wrong & (mask[0] != 0)
    if wrong.any():
        raise SacRunError(node.place, f"label {int(labels[wrong][0])} for a result with an extent of {extent}")


def _accumulate(node: Node, operands: Sequence[np.ndarray], extents: Sequence[int], scalar: Scalar) -> np.ndarray:
    """A reduction for each label."""
    value, labels, *mask = operands
    _check_labels(node, labels, extents[0], mask)
    taken = mask[0] != 0 if mask else np.ones(labels.shape, dtype=bool)
    kind = node.kind.removeprefix("ACCUM_")
    found = [_reduce(kind, [value, (labels == label) & taken], scalar, extents[1:]) for label in range(extents[0])]
    if not found:
        shape = (len(value), *extents)
        return np.zeros(shape, dtype=dtype(node.outputs[0].scalar))
    return np.stack(found, axis=1)


def _values_at(node: Node, operands: Sequence[np.ndarray]) -> np.ndarray:
    """Captures of the iterations with the greatest or least value."""
    count, as_row = node.number("captures"), node.number("row")
    value, captures, mask = operands[0], np.stack(operands[1:1 + count], axis=-1), operands[1 + count:]
    if not as_row:
        captures = captures[..., 0]
    found = []
    for row in range(len(value)):
        taken = np.flatnonzero(mask[0][row]) if mask else np.arange(value.shape[1])
        found.append(captures[row][_extreme(node, value[row], taken)])
    if len({array.shape for array in found}) > 1:
        raise Divergence
    return np.stack(found)


def _extreme(node: Node, value: np.ndarray, taken: np.ndarray) -> np.ndarray | int:
    """The iterations, or the one, of those `taken`, with the extreme value."""
    several = node.kind.startswith("VALS")
    if not len(taken):
        if several:
            return taken
        raise SacRunError(node.place, "there is no iteration with an extreme value: none is taken")
    numbers = value[taken]
    extreme = numbers.max() if "MAX" in node.kind else numbers.min()
    where = taken[numbers == extreme]
    if several:
        return where
    return where[0] if "FIRST" in node.kind else where[-1]
