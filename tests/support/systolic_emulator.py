"""A systolic array as its description says it computes, step by step in numpy: no hardware, no planner."""

from __future__ import annotations

from itertools import product

import numpy as np

from hw.dataflow.spec import Operator, Word
from hw.ops import operation
from hw.systolic.spec import EAST, INTERIOR, SOUTH, ArraySpec, OperandSpec

__all__ = ["run_array"]


def wrapped(word: Word, value: np.ndarray) -> np.ndarray:
    """`value` modulo 2**width."""
    if word.width > 32:
        value = value.astype(object)
    low = value & ((1 << word.width) - 1)
    return low - ((low >> (word.width - 1)) << word.width) if word.signed else low


def body(operators: tuple[Operator, ...], reads: list[np.ndarray]) -> np.ndarray:
    """The value of the last operator."""
    values: list[np.ndarray] = []
    for o in operators:
        arguments = [values[k] for k in o.operands]
        if o.op == "read":
            value = reads[o.value]
        elif o.op == "const":
            value = np.array([o.value])
        elif o.op == "cast":
            value = arguments[0]
        else:
            value = operation(o.op).evaluate(operators[o.operands[-1]].word.width, *arguments)
        values.append(wrapped(o.word, np.asarray(value)))
    return values[-1]


def words_at(spec: ArraySpec, operand: OperandSpec, tile: np.ndarray, times: tuple[int, ...]) -> np.ndarray:
    """What every PE has in a step: shape [rows, columns, lanes or 1]; `tile`: [feeders, words, elements]."""
    word = tile[:, operand.address.at(times)]
    if operand.copied:
        word = np.repeat(word, spec.feeders(operand), axis=0)
    if operand.direction == EAST:
        return np.broadcast_to(word[:, None], (spec.rows, spec.columns, word.shape[1]))
    if operand.direction == SOUTH:
        return np.broadcast_to(word[None], (spec.rows, spec.columns, word.shape[1]))
    assert operand.direction == INTERIOR
    return word.reshape(spec.columns, spec.rows, -1).swapaxes(0, 1)


def combined(name: str | None, word: Word, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """One step of a reduction."""
    return right if name is None else wrapped(word, operation(name).evaluate(word.width, left, right))


def neutral(spec: ArraySpec) -> int:
    """What changes nothing."""
    word, name = spec.result.word, spec.result.combine
    high = (1 << (word.width - word.signed)) - 1
    low = -(1 << (word.width - 1)) if word.signed else 0
    return {"add": 0, "or": 0, "xor": 0, "mul": 1, "and": -1 if word.signed else high, "min": high, "max": low,
            None: 0}[name]


def active(spec: ArraySpec, bounds: list[int], tiles: tuple[int, ...], times: tuple[int, ...]) -> np.ndarray:
    """Lanes inside all guards: shape [rows, columns, lanes]."""
    row, column, lane = np.indices((spec.rows, spec.columns, spec.lanes))
    inside = np.ones(row.shape, bool)
    for guard, bound in zip(spec.guards, bounds, strict=True):
        index = sum(c * t for c, t in zip(guard.coefficients, times, strict=True)) + guard.tile * tiles[guard.tile_loop]
        inside &= index + guard.rows * row + guard.columns * column + guard.lanes * lane < bound
    return inside


def folded(spec: ArraySpec, values: np.ndarray, axis: int) -> np.ndarray:
    """Combined along one axis, which stays with extent 1."""
    parts = np.moveaxis(values, axis, 0)
    total = parts[0]
    for part in parts[1:]:
        total = combined(spec.result.combine, spec.result.word, total, part)
    return np.expand_dims(total, axis)


def run_array(spec: ArraySpec, extents: tuple[int, ...], operands: list[np.ndarray], bounds: list[int]) -> np.ndarray:
    """The results of a run: [tiles of results, exits, words, elements].

    `extents`: of the tile loops; `operands`: per stream [tiles over its tile loops, feeders, words, elements].
    """
    free = [loop for loop in spec.time_loops if not loop.reduction]
    results: dict[tuple[int, ...], np.ndarray] = {}
    kind = object if spec.result.word.width > 32 else np.int64
    shape = (spec.rows, spec.columns, spec.result.words, spec.word_elements(spec.result))
    for tiles in product(*map(range, extents)):
        key = tuple(tiles[k] for k in spec.result_loops)
        fresh = key not in results
        total = results.setdefault(key, np.full(shape, neutral(spec), kind))
        seen: set[int] = set()
        for times in product(*(range(loop.extent) for loop in spec.time_loops)):
            place = spec.result.address.at(times)
            reads: list[np.ndarray] = []
            for operand, content in zip(spec.operands, operands, strict=False):
                own = [extents[k] for k in operand.tile_loops]
                number = int(np.ravel_multi_index([tiles[k] for k in operand.tile_loops], own)) if own else 0
                word = words_at(spec, operand, content[number], times)
                reads.append(word)
                if operand.initial and fresh and place not in seen:
                    if operand.conversion is not None:
                        word = body(operand.conversion.body, [word])
                    word = word.astype(kind)
                    first = word if spec.result.space == "none" else np.where(
                        np.arange(spec.columns)[None, :, None] == 0, word, neutral(spec))
                    total[:, :, place] = first
            seen.add(place)
            value = np.broadcast_to(body(spec.body, reads), (spec.rows, spec.columns, spec.lanes)).astype(kind)
            value = np.where(active(spec, bounds, tiles, times), value, neutral(spec))
            if not spec.result.vector:
                value = folded(spec, value, 2)
            total[:, :, place] = combined(spec.result.combine, spec.result.word, total[:, :, place], value)
    order = [spec.result.address.at([own.get(loop.name, 0) for loop in spec.time_loops])
             for values in product(*(range(loop.extent) for loop in free))
             for own in [dict(zip([loop.name for loop in free], values, strict=True))]]
    complete = np.stack([_exits(spec, results[key][:, :, order]) for key in sorted(results)])
    if spec.result.conversion is None:
        return complete
    extras = [_beside(spec, content) for content in operands[len(spec.operands) :]]
    return np.broadcast_to(body(spec.result.conversion.body, [complete, *extras]), complete.shape)


def _beside(spec: ArraySpec, content: np.ndarray) -> np.ndarray:
    """Tiles of an extra, [tiles, 1, words, elements] as in memory, in the shape of results."""
    beats = content.reshape(len(content), spec.exit_beats, spec.exits, spec.result.pack, -1).swapaxes(1, 2)
    return beats.reshape(len(content), spec.exits, -1, beats.shape[-1])[:, :, : spec.exit_words]


def _exits(spec: ArraySpec, total: np.ndarray) -> np.ndarray:
    """[rows, columns, words, elements] as what comes out: [exits, words, elements]."""
    if spec.result.space != "none":
        total = folded(spec, total, 1)
    if spec.result.space == "both":
        total = folded(spec, total, 0)
    rows, columns, words, elements = total.shape
    turns = total.reshape(rows, columns, words // spec.result.row_pack, spec.result.row_pack, elements)
    return turns.swapaxes(1, 2).reshape(rows, -1, elements)
