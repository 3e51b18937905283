"""Places in reordering memories: a function of the counters for the writer and one for the reader.

Bok 2018, section 6.2.2, has a rule for reuse distances with a single 1, which breaks under tiling. Here the address is
the word's array element, in the box of the elements that cross the edge with some order of coordinates, or, if elements
are overwritten while the memory still holds an older value, the writing instance. Modulo the smallest power of two that
keeps live words apart if that is smaller; where that is more than the live words need, other distances between rows are
tried. All of it is proven by looking at every word.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, permutations, product

import islpy as isl
import numpy as np

from compiler.bind.dataflow.errors import DataflowError
from compiler.bind.dataflow.quasi_affine import piecewise
from compiler.ir.points import enumerate_points, evaluate_map
from compiler.sched.process_network import Edge, ProcessNetwork
from hw.dataflow.spec import Piece

__all__ = ["MemoryPlan", "plan_memory"]

_MOST_ORDERS = 6
"""Orders of coordinates that are tried."""

_MOST_STRIDES = 512
"""Distances between rows that are tried for one depth; fewer if there are more than `_MOST_LOOKS` words to look at."""

_MOST_LOOKS = 2_000_000

_MOST_WORDS = 1 << 20
"""Depth of a memory."""

MemoryPlan = tuple[int, tuple[Piece, ...], tuple[Piece, ...]]
"""Depth in words, write address, read address."""


def plan_memory(network: ProcessNetwork, edge: Edge, written: np.ndarray, read: np.ndarray, box: isl.Set) -> MemoryPlan:
    """A memory for `edge` whose words live from tick `written` to tick `read` (int64 of shape [words]).

    Raises `DataflowError` for one that is too deep, with the word that waits longest.
    """
    best: tuple[int, isl.Map] | None = None
    for function in _functions(network, edge):
        depth = _depth(edge, function, written, read)
        if depth is not None and (best is None or depth < best[0]):
            best = depth, function
    if best is not None:
        best = _denser(network, edge, written, read, best[0]) or best
    if best is None:
        raise DataflowError(f"edge {edge.name}: its words overwrite each other in every memory layout that is tried")
    depth, function = best
    if depth > _MOST_WORDS:
        raise DataflowError(_too_deep(network, edge, depth, read - written))
    times = network.times
    write = function.apply_domain(times[edge.source])
    back = edge.relation.reverse().apply_range(function).apply_domain(times[edge.sink])
    return depth, piecewise(write, box), piecewise(back, box)


def _too_deep(network: ProcessNetwork, edge: Edge, depth: int, waits: np.ndarray) -> str:
    """What the user reads: the operand, the depth, and a firing whose result waits."""
    sink = network.program.statement(edge.sink)
    _, columns = enumerate_points(edge.relation.domain())
    longest = int(np.argmax(waits))
    witness = ", ".join(str(int(c[longest])) for c in columns)
    return (f"{sink.label(sink.reads[edge.read])}: values of '{edge.array}' need a reordering buffer of {depth} words, "
            f"more than {_MOST_WORDS}; that of {edge.source}[{witness}] waits {int(waits[longest])} ticks")


def _functions(network: ProcessNetwork, edge: Edge) -> Iterator[isl.Map]:
    """{writing instance -> number}: by array element, by instance, each in all orders of its coordinates."""
    for place in _coordinates(network, edge):
        for order in islice(permutations(range(place.dim(isl.dim_type.out))), _MOST_ORDERS):
            yield _linear(place, order)


def _coordinates(network: ProcessNetwork, edge: Edge) -> tuple[isl.Map, isl.Map]:
    """{writing instance -> array element} and {writing instance -> itself}."""
    statement = network.program.statement(edge.source)
    access = statement.write if edge.origin == "flow" else statement.reads[edge.read]
    domain = edge.relation.domain()
    instance = isl.Map.identity(domain.get_space().map_from_set())
    return access.map.intersect_domain(domain), instance.intersect_domain(domain)


def _denser(network: ProcessNetwork, edge: Edge, written: np.ndarray, read: np.ndarray,
            depth: int) -> tuple[int, isl.Map] | None:
    """A power of two below `depth` and a function that keeps live words apart in so many places, None if none does."""
    domain = edge.relation.domain()
    count, columns = enumerate_points(domain)
    trials = min(_MOST_STRIDES, _MOST_LOOKS // count)
    least = 1 << max(0, (_live(written, read) - 1).bit_length())
    while least < depth:
        for place in _coordinates(network, edge):
            values = [np.broadcast_to(v, count) for v in evaluate_map(place, domain, columns, count)]
            for strides in islice(_strides(values, least), trials):
                numbers = sum((stride * value for stride, value in zip(strides, values, strict=True)),
                              np.zeros(count, np.int64))
                if _apart(numbers % least, written, read):
                    return least, _weighted(place, strides)
        least *= 2
    return None


def _strides(values: list[np.ndarray], depth: int) -> Iterator[tuple[int, ...]]:
    """Weights for coordinates, of which one has neighbours in neighbouring places."""
    varying = [k for k, value in enumerate(values) if value.min() < value.max()]
    for unit in reversed(varying):
        others = [k for k in varying if k != unit]
        for chosen in product(range(depth), repeat=len(others)):
            weights = dict(zip(others, chosen, strict=True)) | {unit: 1}
            yield tuple(weights.get(k, 0) for k in range(len(values)))


def _weighted(function: isl.Map, strides: tuple[int, ...]) -> isl.Map:
    """The coordinates that `function` gives as one number."""
    names = [f"x{k}" for k in range(len(strides))]
    number = " + ".join(f"{stride} * {name}" for stride, name in zip(strides, names, strict=True)) or "0"
    tuple_name = function.range().get_tuple_name() or ""
    return function.apply_range(isl.Map(f"{{ {tuple_name}[{', '.join(names)}] -> [{number}] }}"))


def _linear(function: isl.Map, order: tuple[int, ...]) -> isl.Map:
    """The image of `function`, in its bounding box with coordinate ``order[0]`` outermost, as one number from 0."""
    image = function.range()
    stride, terms, constant = 1, ["0"], 0
    names = [f"x{k}" for k in range(len(order))]
    for k in reversed(order):
        low, high = image.dim_min_val(k).to_python(), image.dim_max_val(k).to_python()
        terms.append(f"{stride} * {names[k]}")
        constant -= stride * low
        stride *= high - low + 1
    tuple_name = image.get_tuple_name() or ""
    number = isl.Map(f"{{ {tuple_name}[{', '.join(names)}] -> [{' + '.join(terms)} + {constant}] }}")
    return function.apply_range(number)


def _depth(edge: Edge, function: isl.Map, written: np.ndarray, read: np.ndarray) -> int | None:
    """The least depth that keeps live words apart, None if even all numbers do not."""
    domain = edge.relation.domain()
    count, columns = enumerate_points(domain)
    numbers = np.broadcast_to(evaluate_map(function, domain, columns, count)[0], count)
    if not _apart(numbers, written, read):
        return None
    size = int(numbers.max()) + 1
    depth = 1 << max(0, int(np.ceil(np.log2(_live(written, read)))))
    while depth < size and not _apart(numbers % depth, written, read):
        depth *= 2
    return max(min(depth, size), 1)


def _live(written: np.ndarray, read: np.ndarray) -> int:
    gone = np.searchsorted(np.sort(read), np.sort(written), side="right")
    return max(1, int((np.arange(1, len(written) + 1) - gone).max()))


def _apart(places: np.ndarray, written: np.ndarray, read: np.ndarray) -> bool:
    """Whether a word is read before the next one is written to its place."""
    order = np.lexsort([written, places])
    same = places[order][1:] == places[order][:-1]
    return bool((~same | (written[order][1:] >= read[order][:-1])).all())
