"""A quick guess at what tiles of a shape cost, without making their code, and the shapes that are worth a guess."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from compiler.bind.vector.cost import constants
from compiler.bind.vector.graph import Leaf, Reduce, Scatter, Take
from compiler.bind.vector.layout import extents, regions
from compiler.bind.vector.phases import Phase
from compiler.bind.vector.sizes import Sizes
from hw.vector_lanes.spec import VectorSpec

__all__ = ["Estimate", "counts", "estimate", "tile_shapes"]

TRANSFER, ROW = 4.0, 2.0
"""Cycles of the guess per transfer, and per row that is moved on its own."""


def counts(extent: int) -> Iterator[int]:
    """Sizes of parts to try for a dimension, from large to small: equal parts, then powers of two."""
    last = 0
    count = 1
    while last != 1:
        size = -(-extent // count)
        if size != last:
            last = size
            yield size
        count = count + 1 if count < 8 else -(-count * 5 // 4)
    yield from (1 << k for k in reversed(range((extent - 1).bit_length())))


def _series(shape: tuple[int, ...]) -> Iterator[Iterator[tuple[int, ...]]]:
    """Series of tile shapes, each from large to small: whole rows first, then parts of rows."""
    if not shape:
        yield iter([()])
        return
    if len(shape) == 1:
        yield ((t,) for t in counts(shape[0]))
        return
    if len(shape) == 2:
        width = 1
        while width <= shape[1]:
            columns = -(-shape[1] // width)
            yield ((t, columns) for t in counts(shape[0]))
            width *= 2
        return
    for axis in range(len(shape)):
        yield ((1,) * axis + (t,) + shape[axis + 1:] for t in counts(shape[axis]))


def tile_shapes(phase: Phase, sizes: Sizes, spec: VectorSpec) -> Iterator[tuple[int, ...]]:
    """Shapes of tiles whose arrays may fit, those that promise most first."""
    shapes = {(1,) * len(phase.shape), *(tile for series in _series(phase.shape) for tile in series)}
    # All at once is always worth a look, and one column beside sums: the estimate does not know how much these share
    # between results, nor that transfers can pack what they run over.
    worth = {phase.shape}
    if phase.shape and any(isinstance(node, Reduce) for node in sizes.bytes):
        worth.add((*phase.shape[:-1], 1))
    estimates = {tile: estimate(phase, sizes, spec, tile) for tile in shapes | worth}
    fitting = [tile for tile, guess in estimates.items() if guess.bytes <= spec.capacity]
    yield from sorted(fitting, key=lambda tile: (tile not in worth, estimates[tile].cycles, tile))


@dataclass(frozen=True)
class Estimate:
    """A quick guess at clock cycles, and bytes of scratchpad that are needed at least."""

    cycles: float
    bytes: int


def estimate(phase: Phase, sizes: Sizes, spec: VectorSpec, tile: tuple[int, ...]) -> Estimate:
    """What the elements of all nodes and transfers of a tile cost, without making its code."""
    boxes = regions(phase.graph, tuple((0, n) for n in tile), clip=False)
    results = {r.node for r in phase.graph.results}
    count = prod(-(-n // t) for n, t in zip(phase.shape, tile, strict=True))
    waves, beats, held = 0.0, 0.0, 0
    for node, box in boxes.items():
        size = sizes.bytes.get(node, 4)
        elements = prod(extents(box))
        if isinstance(node, Leaf):
            beats += _beats(node.shape, extents(box), size, spec)
            held += elements * size
            continue
        form = sizes.forms.get(node)
        lanes = _waves(extents(box), max(size, form.in_size if form else 1), spec)
        waves += elements if isinstance(node, Take) else lanes
        if isinstance(node, Scatter):
            waves += prod(node.extents)
        if isinstance(node, Reduce):
            waves += elements * prod(node.extents[:-1]) * -(-node.extents[-1] * size // spec.row_bytes)
        if node in results:
            beats += _beats(phase.shape, extents(box), size, spec)
            held += elements * size * (2 if count > 1 else 1)
    busy = max(waves + len(boxes), beats, constants(spec.lanes).instruction * len(boxes))
    return Estimate(count * busy + min(beats, waves), held)


def _waves(shape: tuple[int, ...], size: int, spec: VectorSpec) -> float:
    """Wavefronts of an operation: between those of one long vector and those of a vector per row."""
    joined = -(-prod(shape) * size // spec.row_bytes)
    if len(shape) < 2:
        return joined
    return 0.7 * joined + 0.3 * prod(shape[:-1]) * -(-shape[-1] * size // spec.row_bytes)


def _beats(whole: tuple[int, ...], shape: tuple[int, ...], size: int, spec: VectorSpec) -> float:
    """Cycles of a transfer of a part of an array."""
    rows = prod(shape[:-1]) if len(shape) > 1 and shape[-1] < whole[-1] else 0
    extra = rows * (constants(spec.lanes).row + ROW) + TRANSFER
    return prod(shape) * size / spec.memory_bytes + extra
