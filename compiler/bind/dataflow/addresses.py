"""Places in reordering memories: a function of the counters for the writer and one for the reader.

Bok 2018, section 6.2.2, has a rule for reuse distances with a single 1, which breaks under tiling. Here the address is
the word's array element, in the box of the elements that cross the edge with some order of coordinates, or, if elements
are overwritten while the memory still holds an older value, the writing instance. Modulo the smallest power of two that
keeps live words apart if that is smaller; where that is more than the live words need, other distances between rows are
tried. All of it is proven (`compiler.bind.dataflow.lives`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, permutations, product

import islpy as isl

from compiler.bind.dataflow.errors import DataflowError
from compiler.bind.dataflow.lives import Lives, Weights, lives_of
from compiler.bind.dataflow.quasi_affine import piecewise
from compiler.bind.dataflow.timing import Carried
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


def plan_memory(network: ProcessNetwork, item: Carried, extra: int, box: isl.Set) -> MemoryPlan:
    """A memory for the edge of `item`, whose words are read `extra` ticks later than its counters say.

    Raises `DataflowError` for one that is too deep, with the word that waits longest.
    """
    edge, lives = item.edge, lives_of(network, item, extra)
    best: tuple[int, isl.Map] | None = None
    for place, weights in _functions(network, edge):
        depth = _depth(lives, place, weights)
        if depth is not None and (best is None or depth < best[0]):
            best = depth, _from_zero(place, weights)
    if best is not None:
        best = _denser(network, edge, lives, best[0]) or best
    if best is None:
        raise DataflowError(f"edge {edge.name}: its words overwrite each other in every memory layout that is tried")
    depth, function = best
    if depth > _MOST_WORDS:
        raise DataflowError(_too_deep(network, edge, depth, lives))
    times = network.times
    write = function.apply_domain(times[edge.source])
    back = edge.relation.reverse().apply_range(function).apply_domain(times[edge.sink])
    return depth, piecewise(write, box), piecewise(back, box)


def _too_deep(network: ProcessNetwork, edge: Edge, depth: int, lives: Lives) -> str:
    """What the user reads: the operand, the depth, and a firing whose result waits."""
    sink = network.program.statement(edge.sink)
    instance, ticks = lives.longest()
    witness = ", ".join(map(str, instance))
    return (f"{sink.label(sink.reads[edge.read])}: values of '{edge.array}' need a reordering buffer of {depth} words, "
            f"more than {_MOST_WORDS}; that of {edge.source}[{witness}] waits {ticks} ticks")


def _functions(network: ProcessNetwork, edge: Edge) -> Iterator[tuple[isl.Map, Weights]]:
    """Coordinates of writing instances and their weights in a number: by array element, by instance, each in all orders
    of its coordinates."""
    for place in _coordinates(network, edge):
        for order in islice(permutations(range(place.dim(isl.dim_type.out))), _MOST_ORDERS):
            yield place, _row_major(place, order)


def _coordinates(network: ProcessNetwork, edge: Edge) -> tuple[isl.Map, isl.Map]:
    """{writing instance -> array element} and {writing instance -> itself}."""
    statement = network.program.statement(edge.source)
    access = statement.write if edge.origin == "flow" else statement.reads[edge.read]
    domain = edge.relation.domain()
    instance = isl.Map.identity(domain.get_space().map_from_set())
    return access.map.intersect_domain(domain), instance.intersect_domain(domain)


def _denser(network: ProcessNetwork, edge: Edge, lives: Lives, depth: int) -> tuple[int, isl.Map] | None:
    """A power of two below `depth` and a function that keeps live words apart in so many places, None if none does."""
    trials = min(_MOST_STRIDES, _MOST_LOOKS // lives.looks)
    least = 1 << max(0, (lives.live - 1).bit_length())
    while least < depth:
        for place in _coordinates(network, edge):
            for strides in islice(_strides(place, least), trials):
                if lives.apart(place, strides, least):
                    return least, _weighted(place, strides)
        least *= 2
    return None


def _strides(place: isl.Map, depth: int) -> Iterator[Weights]:
    """Weights for coordinates, of which one has neighbours in neighbouring places."""
    image = place.range()
    count = image.dim(isl.dim_type.set)
    varying = [k for k in range(count) if not image.dim_min_val(k).eq(image.dim_max_val(k))]
    for unit in reversed(varying):
        others = [k for k in varying if k != unit]
        for chosen in product(range(depth), repeat=len(others)):
            weights = dict(zip(others, chosen, strict=True)) | {unit: 1}
            yield tuple(weights.get(k, 0) for k in range(count))


def _weighted(function: isl.Map, strides: tuple[int, ...]) -> isl.Map:
    """The coordinates that `function` gives as one number."""
    names = [f"x{k}" for k in range(len(strides))]
    number = " + ".join(f"{stride} * {name}" for stride, name in zip(strides, names, strict=True)) or "0"
    tuple_name = function.range().get_tuple_name() or ""
    return function.apply_range(isl.Map(f"{{ {tuple_name}[{', '.join(names)}] -> [{number}] }}"))


def _row_major(function: isl.Map, order: tuple[int, ...]) -> Weights:
    """Weights of coordinates in the number of a point of the image's bounding box, ``order[0]`` the outermost one."""
    image, stride = function.range(), 1
    weights = [0] * len(order)
    for k in reversed(order):
        weights[k] = stride
        stride *= image.dim_max_val(k).to_python() - image.dim_min_val(k).to_python() + 1
    return tuple(weights)


def _from_zero(function: isl.Map, weights: Weights) -> isl.Map:
    """The number of a coordinate vector, 0 for the least coordinates."""
    image = function.range()
    least = sum(weight * image.dim_min_val(k).to_python() for k, weight in enumerate(weights))
    number = _weighted(function, weights)
    return number.apply_range(isl.Map(f"{{ [x] -> [x - {least}] }}")) if least else number


def _depth(lives: Lives, function: isl.Map, weights: Weights) -> int | None:
    """The least depth that keeps live words apart, None if even all numbers do not."""
    if not lives.apart(function, weights, None):
        return None
    size = _from_zero(function, weights).range().dim_max_val(0).to_python() + 1
    depth = 1 << max(0, (lives.live - 1).bit_length())
    while depth < size and not lives.apart(function, weights, depth):
        depth *= 2
    return max(min(depth, size), 1)
