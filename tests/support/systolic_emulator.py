"""A systolic array as its description says it computes, step by step in numpy: no hardware, no planner."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from compiler.bind.word_formats import number_of
from compiler.ir.evaluate import evaluate
from compiler.ir.expr import Read, apply, converted
from compiler.ir.floating import decode
from compiler.ir.types import Float
from hw.dataflow.floating import is_floating
from hw.dataflow.spec import Operator, Word
from hw.ops import operation
from hw.systolic.spec import EAST, INTERIOR, SOUTH, ArraySpec, OperandSpec

__all__ = ["run_array"]


def wrapped(word: Word, value: np.ndarray) -> np.ndarray:
    """`value` modulo 2**width; floating-point numbers are as they are."""
    if word.exponent:
        return value
    if word.width > 32:
        value = value.astype(object)
    low = value & ((1 << word.width) - 1)
    return low - ((low >> (word.width - 1)) << word.width) if word.signed else low


def body(operators: tuple[Operator, ...], reads: list[np.ndarray]) -> np.ndarray:
    """The value of the last operator."""
    values: list[np.ndarray] = []
    for o in operators:
        arguments = [values[k] for k in o.operands]
        words = [operators[k].word for k in o.operands]
        if o.op == "read":
            value = reads[o.value]
        elif o.op == "const":
            value = constant(o.word, o.value)
        elif is_floating(o.op, (o.word, *words)):
            value = of_floats(o.op, words, o.word, arguments)
        elif o.op == "cast":
            value = arguments[0]
        else:
            value = operation(o.op).evaluate(operators[o.operands[-1]].word.width, *arguments)
        values.append(wrapped(o.word, np.asarray(value)))
    return values[-1]


def constant(word: Word, value: int) -> np.ndarray:
    """An operator's constant, which is the bits of a floating-point number."""
    kind = number_of(word)
    return decode(kind, np.array([value])) if isinstance(kind, Float) else np.array([value])


def of_floats(op: str, words: Sequence[Word], word: Word, arguments: Sequence[np.ndarray]) -> np.ndarray:
    """An operation on floating-point numbers, or a conversion, as programs compute it."""
    reads = [Read(number, number_of(own)) for number, own in enumerate(words)]
    value = converted(reads[0], number_of(word)) if op == "cast" else apply(op, *reads)
    return evaluate(value, lambda number: arguments[number], {}, {})


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
    if name is None:
        return right
    if word.exponent:
        return of_floats(name, (word, word), word, np.broadcast_arrays(left, right))
    return wrapped(word, operation(name).evaluate(word.width, left, right))


def neutral(spec: ArraySpec) -> float:
    """What changes nothing."""
    word, name = spec.result.word, spec.result.combine
    if word.exponent:
        return -0.0
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


def tree(spec: ArraySpec, values: np.ndarray) -> np.ndarray:
    """Lanes, the last axis, combined with their neighbours, level by level."""
    parts = [values[..., lane : lane + 1] for lane in range(values.shape[-1])]
    while len(parts) > 1:
        pairs = [parts[k : k + 2] for k in range(0, len(parts), 2)]
        parts = [pair[0] if len(pair) == 1 else combined(spec.result.combine, spec.result.word, *pair)
                 for pair in pairs]
    return parts[0]


def passed(spec: ArraySpec, values: np.ndarray, axis: int, head: np.ndarray) -> np.ndarray:
    """What leaves the last of the PEs along `axis`, each of which combines its value with that of the one before."""
    total = head
    for part in np.moveaxis(values, axis, 0):
        total = combined(spec.result.combine, spec.result.word, total, part)
    return np.expand_dims(total, axis)


def over_array(spec: ArraySpec, value: np.ndarray, initial: np.ndarray | None) -> np.ndarray:
    """What a step gives to accumulators; along rows it begins with `initial` values."""
    if spec.result.space == "none":
        return value
    nothing = np.full(value[:, 0].shape, neutral(spec), value.dtype)
    value = passed(spec, value, 1, nothing if initial is None else initial)
    return value if spec.result.space == "columns" else passed(spec, value, 0, nothing[0][None])


def run_array(spec: ArraySpec, extents: tuple[int, ...], operands: list[np.ndarray], bounds: list[int]) -> np.ndarray:
    """The results of a run: [tiles of results, exits, words, elements].

    `extents`: of the tile loops; `operands`: per stream [tiles over its tile loops, feeders, words, elements].
    """
    free = [loop for loop in spec.time_loops if not loop.reduction]
    results: dict[tuple[int, ...], np.ndarray] = {}
    form = number_of(spec.result.word)
    kind = form.dtype if isinstance(form, Float) else object if spec.result.word.width > 32 else np.int64
    shape = (1 if spec.result.space == "both" else spec.rows, spec.columns if spec.result.space == "none" else 1,
             spec.result.accumulators, spec.word_elements(spec.result))
    parts = spec.result.parts
    inner = max((k for k, loop in enumerate(spec.time_loops) if loop.extent > 1), default=0)
    begun = any(operand.initial for operand in spec.operands)
    start = neutral(spec) if begun or not isinstance(form, Float) else 0.0
    for tiles in product(*map(range, extents)):
        key = tuple(tiles[k] for k in spec.result_loops)
        fresh = key not in results
        total = results.setdefault(key, np.full(shape, start, kind))
        if fresh and parts > 1:
            total[:, :, np.arange(shape[2]) % parts > 0] = neutral(spec)
        seen: set[int] = set()
        for times in product(*(range(loop.extent) for loop in spec.time_loops)):
            part = times[inner] % parts
            place = spec.result.address.at(times) * parts + part
            reads: list[np.ndarray] = []
            initial: np.ndarray | None = None
            for operand, content in zip(spec.operands, operands, strict=False):
                own = [extents[k] for k in operand.tile_loops]
                number = int(np.ravel_multi_index([tiles[k] for k in operand.tile_loops], own)) if own else 0
                word = words_at(spec, operand, content[number], times)
                reads.append(word)
                if operand.initial and fresh and place not in seen and not part:
                    if operand.conversion is not None:
                        word = body(operand.conversion.body, [word])
                    initial = word.astype(kind)[:, 0]
                    if spec.result.space == "none":
                        total[:, :, place] = word.astype(kind)
            seen.add(place)
            value = np.broadcast_to(body(spec.body, reads), (spec.rows, spec.columns, spec.lanes)).astype(kind)
            value = np.where(active(spec, bounds, tiles, times), value, np.array(neutral(spec), kind))
            if not spec.result.vector:
                value = tree(spec, value)
            value = over_array(spec, value, initial)
            total[:, :, place] = combined(spec.result.combine, spec.result.word, total[:, :, place], value)
    order = [spec.result.address.at([own.get(loop.name, 0) for loop in spec.time_loops])
             for values in product(*(range(loop.extent) for loop in free))
             for own in [dict(zip([loop.name for loop in free], values, strict=True))]]
    complete = np.stack([_exits(spec, _whole(spec, results[key])[:, :, order]) for key in sorted(results)])
    if spec.result.conversion is None:
        return complete
    extras = [_beside(spec, content) for content in operands[len(spec.operands) :]]
    return np.broadcast_to(body(spec.result.conversion.body, [complete, *extras]), complete.shape)


def _whole(spec: ArraySpec, total: np.ndarray) -> np.ndarray:
    """Partial sums added up: [rows, columns, words, elements]."""
    rows, columns, _, elements = total.shape
    by_part = total.reshape(rows, columns, spec.result.words, spec.result.parts, elements).swapaxes(3, 4)
    return tree(spec, by_part)[..., 0]


def _beside(spec: ArraySpec, content: np.ndarray) -> np.ndarray:
    """Tiles of an extra, [tiles, 1, words, elements] as in memory, in the shape of results."""
    beats = content.reshape(len(content), spec.exit_beats, spec.exits, spec.result.pack, -1).swapaxes(1, 2)
    return beats.reshape(len(content), spec.exits, -1, beats.shape[-1])[:, :, : spec.exit_words]


def _exits(spec: ArraySpec, total: np.ndarray) -> np.ndarray:
    """[rows, columns, words, elements], of places that accumulate, as what comes out: [exits, words, elements]."""
    rows, columns, words, elements = total.shape
    turns = total.reshape(rows, columns, words // spec.result.row_pack, spec.result.row_pack, elements)
    return turns.swapaxes(1, 2).reshape(rows, -1, elements)
