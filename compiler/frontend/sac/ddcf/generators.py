"""What generators bring to each iteration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from compiler.frontend.sac.arithmetic import dtype, wrap
from compiler.frontend.sac.ddcf.batch import same_in_all
from compiler.frontend.sac.ddcf.graph import Argument, Constant, Edge, Graph, Node, Operand
from compiler.frontend.sac.errors import SacRunError

__all__ = ["Generator", "open_generator"]

Capture = Callable[[np.ndarray, Sequence[np.ndarray]], list[np.ndarray]]


@dataclass(frozen=True)
class Generator:
    """`extents` of the loop; `capture` gives the outputs for rows of the batch around the loop and indices of
    iterations, one array of equal length for each dimension."""

    extents: tuple[int, ...]
    capture: Capture

    @property
    def count(self) -> int:
        """Iterations of the loop."""
        return prod(self.extents)


def open_generator(node: Node, inputs: Sequence[np.ndarray], size: int) -> Generator:
    """The generator of a node whose operands have `size` rows.

    Raises `SacRunError` for steps and windows of no size, and for shapes that differ in a dot product; `Divergence` for
    extents that differ between rows.
    """
    if node.kind not in ("DOT", "CROSS"):
        return _SIMPLE[node.kind](node, inputs)
    graph = node.graphs[0]
    parts = [open_generator(inner, [_entering(o, inputs, size) for o in inner.operands], size) for inner in graph.nodes]
    if node.kind == "CROSS":
        return Generator(tuple(e for part in parts for e in part.extents), _crossed(graph, parts))
    for part in parts[1:]:
        if part.extents != parts[0].extents:
            raise SacRunError(node.place, "generators that are joined by dot have shapes "
                                          f"{list(parts[0].extents)} and {list(part.extents)}")
    return Generator(parts[0].extents, lambda rows, indices: _leaving(graph, [p.capture(rows, indices) for p in parts]))


def _entering(operand: Operand, inputs: Sequence[np.ndarray], size: int) -> np.ndarray:
    if isinstance(operand, Constant):
        return np.broadcast_to(np.asarray(operand.value, dtype=dtype(operand.scalar)), (size,))
    assert isinstance(operand, Argument)
    return inputs[operand.number]


def _leaving(graph: Graph, found: Sequence[list[np.ndarray]]) -> list[np.ndarray]:
    return [found[edge.number][edge.port] for edge in graph.outputs if isinstance(edge, Edge)]


def _crossed(graph: Graph, parts: Sequence[Generator]) -> Capture:
    def capture(rows: np.ndarray, indices: Sequence[np.ndarray]) -> list[np.ndarray]:
        found, first = [], 0
        for part in parts:
            found.append(part.capture(rows, indices[first:first + len(part.extents)]))
            first += len(part.extents)
        return _leaving(graph, found)
    return capture


def _scalars(node: Node, inputs: Sequence[np.ndarray]) -> Generator:
    spans = [inputs[k:k + 3] for k in range(0, len(inputs), 3)]
    extents = []
    for low, high, step in spans:
        _positive(node, step, "a step")
        extents.append(same_in_all(np.maximum(0, 1 + (high - low) // step)))

    def capture(rows: np.ndarray, indices: Sequence[np.ndarray]) -> list[np.ndarray]:
        return [wrap(type_.scalar, low[rows] + step[rows] * index)
                for (low, _, step), index, type_ in zip(spans, indices, node.outputs, strict=True)]
    return Generator(tuple(extents), capture)


def _positive(node: Node, values: np.ndarray, what: str) -> None:
    if (values <= 0).any():
        raise SacRunError(node.place, f"{what} of {int(values.min())}; it is at least 1")


def _elements(node: Node, inputs: Sequence[np.ndarray]) -> Generator:
    array, *steps = inputs
    return _over_array(node, array, [np.ones(1, dtype=np.int64)] * len(steps), steps, keep=False)


def _windows(node: Node, inputs: Sequence[np.ndarray]) -> Generator:
    array, *rest = inputs
    return _over_array(node, array, rest[::2], rest[1::2], keep=True)


def _over_array(node: Node, array: np.ndarray, sizes: Sequence[np.ndarray], steps: Sequence[np.ndarray], keep: bool
                ) -> Generator:
    """Windows of `sizes` in `steps` over the dimensions that the pattern marks by ``~``; `keep`: each window has all
    dimensions of the array, else those that it runs over are dropped."""
    for values, what in ((steps, "a step"), (sizes, "a window's size")):
        for value in values:
            _positive(node, value, what)
    pattern = str(node.attribute("pattern"))
    counts = [same_in_all(size) for size in sizes]
    strides = [same_in_all(step) for step in steps]
    iterated = [d for d, slot in enumerate(pattern) if slot == "~"]
    extents = tuple(0 if array.shape[1 + d] < count else 1 + (array.shape[1 + d] - count) // stride
                    for d, count, stride in zip(iterated, counts, strides, strict=True))
    shape = [array.shape[1 + d] if slot == ":" else counts[iterated.index(d)] for d, slot in enumerate(pattern)]

    def capture(rows: np.ndarray, indices: Sequence[np.ndarray]) -> list[np.ndarray]:
        starts = [index * stride for index, stride in zip(indices, strides, strict=True)]
        axes = []
        for d, slot in enumerate(pattern):
            along = np.arange(shape[d]).reshape((-1,) + (1,) * (len(pattern) - 1 - d))
            first = starts[iterated.index(d)].reshape((-1,) + (1,) * len(pattern)) if slot == "~" else 0
            axes.append(first + along)
        taken = array[(rows.reshape((-1,) + (1,) * len(pattern)), *axes)]
        if not keep:
            taken = taken.reshape((len(rows), *(shape[d] for d, slot in enumerate(pattern) if slot == ":")))
        return [taken, *starts]
    return Generator(extents, capture)


_SIMPLE: dict[str, Callable[[Node, Sequence[np.ndarray]], Generator]] = {
    "SCALARGEN": _scalars, "ELEGEN": _elements, "WINDOWGEN": _windows}
