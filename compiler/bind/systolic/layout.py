"""Arrays as tiles of the systolic array in main memory and back: the layout transformation (Wang 2021, section 5.4)."""

from __future__ import annotations

from math import prod

import numpy as np

from compiler.bind.systolic.plan import Plan
from compiler.ir.evaluate import storage, word_type
from hw.systolic.layout import dtype, operand_shape, pack_results, pack_tile, result_order, result_shape, unpack_tile
from hw.systolic.spec import EAST, INTERIOR, OperandSpec

__all__ = ["from_tiles", "operand_images", "pack_operand", "pack_result", "result_places", "to_tiles", "unpack_result"]


def pack_operand(plan: Plan, number: int, array: np.ndarray | None) -> bytes:
    """All tiles of stream `number` of the array, row-major over the tile loops that it depends on."""
    operand = plan.spec.streams[number]
    tiles = to_tiles(plan, number, array)
    return b"".join(pack_tile(plan.spec, operand, tile) for tile in tiles)


def unpack_result(plan: Plan, content: bytes, out: np.ndarray) -> None:
    """Write the results in `content` (tiles, row-major over the result's tile loops) into `out`."""
    size = plan.spec.result_bytes
    tiles = np.stack([unpack_tile(plan.spec, content[start : start + size]) for start in range(0, len(content), size)])
    from_tiles(plan, tiles, out)


def pack_result(plan: Plan, out: np.ndarray) -> bytes | None:
    """The tiles in which the results `out` come, None if the hardware writes words there that are none of them."""
    spec = plan.spec
    where, inside = result_places(plan, out.shape)
    element = dtype(spec.result.in_memory.word).itemsize
    defined = spec.exits * spec.exit_words * spec.word_elements(spec.result) * element
    if not inside.all() or defined != spec.result_bytes:
        return None
    return b"".join(pack_results(spec, tile) for tile in out.ravel()[where])


def operand_images(plan: Plan, number: int) -> tuple[int, ...]:
    """Extents of the tile loops that stream `number` depends on."""
    return tuple(plan.tiles[k] for k in plan.spec.streams[number].tile_loops)


def to_tiles(plan: Plan, number: int, array: np.ndarray | None) -> np.ndarray:
    """Elements of all tiles of stream `number`: shape [tiles, feeders, words, elements]. What lies outside the array
    or the reference's bounds or beyond the bound of a loop is 0; words that only fill the array up are neutral."""
    if number >= len(plan.spec.operands):
        return _extra_tiles(plan, number, array)
    spec, operand, source = plan.spec, plan.spec.operands[number], plan.sources[number]
    shape = (prod(operand_images(plan, number)), *operand_shape(spec, operand))
    reference = source.reference
    if array is None:
        tiles = np.full(shape, reference.constant, storage(word_type(reference.type)))
    else:
        where, inside = _operand_places(plan, number, shape, array.shape)
        tiles = np.where(inside, array.ravel()[np.where(inside, where, 0)], 0)
    if operand.initial and spec.result.space == "both":
        tiles = tiles.astype(storage(word_type(plan.kernel.type)))
        tiles[:, 1:] = plan.idle
    return tiles


def _extra_tiles(plan: Plan, number: int, array: np.ndarray | None) -> np.ndarray:
    """An element for every result, 0 for words that are none, in the order of results in memory."""
    assert array is not None
    spec, reference = plan.spec, plan.sources[number].reference
    values, inside = _results(plan)
    flat = np.zeros((1, 1, 1, 1), np.int64)
    for subscript, extent in zip(reference.subscripts, array.shape, strict=True):
        index = subscript.constant + sum(c * value for c, value in zip(subscript.coefficients, values, strict=True))
        inside = inside & (index >= 0) & (index < extent)
        flat = flat * extent + index
    shape = (prod(operand_images(plan, number)), *result_shape(spec))
    inside, flat = np.broadcast_to(inside, shape), np.broadcast_to(flat, shape)
    found = np.where(inside, array.ravel()[np.where(inside, flat, 0)], 0)
    pack = spec.result.pack
    found = np.pad(found, [(0, 0), (0, 0), (0, spec.exit_beats * pack - shape[2]), (0, 0)])
    beats = found.reshape(shape[0], spec.exits, spec.exit_beats, pack, shape[3]).swapaxes(1, 2)
    return beats.reshape(shape[0], 1, -1, shape[3])


def _operand_places(plan: Plan, number: int, shape: tuple[int, ...], extents: tuple[int, ...]
                    ) -> tuple[np.ndarray, np.ndarray]:
    """Row-major numbers of the elements in an array of `extents`, and which of them are there, broadcast to `shape`."""
    kernel, operand, source = plan.kernel, plan.spec.operands[number], plan.sources[number]
    steps = _tile_steps(plan, operand.tile_loops)
    places = _feeder_positions(plan, operand)
    offsets = np.array(source.words.offsets(), np.int64).reshape(-1, len(extents))
    lanes = np.arange(shape[3])
    flat, inside = np.zeros((1, 1, 1, 1), np.int64), np.ones((1, 1, 1, 1), bool)
    found = []
    for dimension, subscript in enumerate(source.reference.subscripts):
        index = np.full((1, 1, 1, 1), subscript.constant, np.int64)
        for position, coefficient in enumerate(subscript.coefficients):
            if coefficient:
                split = plan.splits[position]
                index = index + coefficient * (steps.get(position, np.zeros(1, np.int64))[:, None, None, None])
                index = index + coefficient * split.position * places[position][None, :, None, None]
                if split.lanes > 1:
                    index = index + coefficient * lanes
        index = index + offsets[:, dimension][None, None, :, None]
        inside = inside & (index >= 0) & (index < extents[dimension])
        only = [(k, c) for k, c in enumerate(subscript.coefficients) if c]
        if len(only) == 1:
            (position, coefficient), = only
            iteration = (index - subscript.constant) // coefficient
            inside = inside & (iteration < kernel.extents[position])
        flat = flat * extents[dimension] + index
        found.append(index)
    for bound in source.reference.bounds:
        inside = inside & (sum(c * index for c, index in zip(bound.coefficients, found, strict=True)) + bound.constant
                           >= 0)
    return np.broadcast_to(flat, shape), np.broadcast_to(inside, shape)


def _tile_steps(plan: Plan, loops: tuple[int, ...]) -> dict[int, np.ndarray]:
    """Per kernel loop: its first iteration in each tile, for all tiles over `loops` (numbers of tile loops)."""
    counters = np.indices(tuple(plan.tiles[k] for k in loops), np.int64).reshape(len(loops), -1) if loops else []
    found = {}
    for counter, k in zip(counters, loops, strict=True):
        position = plan.kernel.loops.index(plan.spec.tile_loops[k].name)
        found[position] = counter * plan.splits[position].tile
    return found


def _feeder_positions(plan: Plan, operand: OperandSpec) -> list[np.ndarray]:
    """Per kernel loop: its position at each feeder, in the order of the tile's images."""
    rows, columns = plan.spec.rows, plan.spec.columns
    if operand.copied:
        row = column = np.zeros(1, np.int64)
    elif operand.direction == INTERIOR:
        column, row = (grid.ravel() for grid in np.indices((columns, rows), np.int64))
    elif operand.direction == EAST:
        row, column = np.arange(rows), np.zeros(rows, np.int64)
    else:
        row, column = np.zeros(columns, np.int64), np.arange(columns)
    return [row * (split.axis == 0) + column * (split.axis == 1) for split in plan.splits]


def from_tiles(plan: Plan, tiles: np.ndarray, out: np.ndarray) -> None:
    """The inverse for results: `tiles` has shape [tiles, exits, words, elements]."""
    where, inside = result_places(plan, out.shape)
    out.ravel()[where[inside]] = tiles[inside]


def result_places(plan: Plan, extents: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """For every word of every tile of results: the row-major number of its element in an output of `extents`, and
    whether the program computes it. Shapes [tiles, exits, words, elements]."""
    spec, kernel = plan.spec, plan.kernel
    shape = (prod(plan.tiles[k] for k in spec.result_loops), *result_shape(spec))
    values, inside = _results(plan)
    flat = np.zeros((1, 1, 1, 1), np.int64)
    for subscript, extent in zip(kernel.target, extents, strict=True):
        flat = flat * extent + subscript.constant
        for value, coefficient in zip(values, subscript.coefficients, strict=True):
            flat = flat + coefficient * value
    return np.broadcast_to(flat, shape), np.broadcast_to(inside, shape)


def _results(plan: Plan) -> tuple[list[np.ndarray], np.ndarray]:
    """For every word of every tile of results: the iteration, from 0, of every loop (0 of reductions), and whether the
    program has that result. Shapes that broadcast to [tiles, exits, words, elements]."""
    spec, kernel = plan.spec, plan.kernel
    steps = _tile_steps(plan, spec.result_loops)
    words = np.indices((*_free_extents(plan), spec.exit_words // spec.result.words), np.int64)
    words = words.reshape(len(words), -1)[:, result_order(spec)]
    column, times = words[-1][None, None, :, None], dict(zip(_free_loops(plan), words[:-1], strict=True))
    row = np.arange(spec.exits)[None, :, None, None]
    lanes = np.arange(spec.word_elements(spec.result))
    inside = np.ones((1, 1, 1, 1), bool)
    values: list[np.ndarray] = []
    for position, split in enumerate(plan.splits):
        value = np.zeros((1, 1, 1, 1), np.int64)
        if split.loop not in kernel.reduction_loops:
            value = value + steps[position][:, None, None, None] + times[split.loop][None, None, :, None] * split.lanes
            value = value + split.position * (row * (split.axis == 0) + column * (split.axis == 1))
            value = value + (lanes if split.lanes > 1 else 0)
            inside = inside & (value < kernel.extents[position])
        values.append(value)
    for bound in kernel.bounds:
        inside = inside & (sum(c * value for c, value in zip(bound.coefficients, values, strict=True)) + bound.constant
                           >= 0)
    return values, inside


def _free_loops(plan: Plan) -> list[str]:
    """Time loops that results depend on, in their order."""
    return [loop.name for loop in plan.spec.time_loops if not loop.reduction]


def _free_extents(plan: Plan) -> list[int]:
    return [loop.extent for loop in plan.spec.time_loops if not loop.reduction]
