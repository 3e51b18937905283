"""From expressions to the graph."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from compiler.bind.vector.access import Access, compose, is_identity
from compiler.bind.vector.build import GraphBuilder
from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.float_values import as_words, float_reduction, float_value, stored
from compiler.bind.vector.graph import Leaf, Node, Part, Scatter, Value
from compiler.bind.vector.ir import MemoryArray
from compiler.bind.vector.legalize import by_doubling, has_divider, long_division
from compiler.bind.vector.store_packing import Piece, packed, squeezed
from compiler.bind.vector.value_ranges import range_of
from compiler.frontend.parallel_array.element_types import FLOATS, bounds
from compiler.frontend.parallel_array.expression import (
    Apply,
    Assembly,
    Expression,
    Input,
    Literal,
    Reduce,
    Scan,
    Stretch,
    Take,
    View,
    postorder,
)
from compiler.frontend.parallel_array.expression import (
    Scatter as ScatterExpression,
)
from compiler.frontend.parallel_array.location import Location
from compiler.frontend.parallel_array.program import ArrayProgram

__all__ = ["Graph", "Result", "translate"]


@dataclass(frozen=True)
class Result:
    """An output: `shape` elements of `node` from index `starts` on, stored as `dtype` under `name`; as a `memory` part
    of that array, or as all of it."""

    name: str
    node: Node
    starts: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: np.dtype
    memory: Part | None = None


@dataclass
class Graph:
    """Results in order; `constants` are the leaves that hold data of the program itself, `temporaries` results that
    others read."""

    results: list[Result]
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    temporaries: tuple[MemoryArray, ...] = ()


def translate(program: ArrayProgram, builder: GraphBuilder) -> Graph:
    """The graph of a program, simplified, with every equal subexpression once."""
    values: dict[int, Value] = {}
    results: list[Result] = []
    temporaries: list[MemoryArray] = []
    consumed = {id(s) for e in postorder(list(program.outputs.values())) for s in e.sources}
    for expression in postorder(list(program.outputs.values())):
        sources = [values[id(s)] for s in expression.sources]
        if not isinstance(expression, Assembly):
            values[id(expression)] = _translated(expression, sources, builder)
        elif id(expression) in consumed:
            name = f"assembled_{len(temporaries)}"
            results += _assembled(name, expression, sources, builder)
            temporaries.append(MemoryArray.of(name, "temporary", expression.shape, expression.dtype))
            values[id(expression)] = builder.leaf(name, expression.shape, stored(expression.dtype),
                                                  *bounds(expression.dtype), expression.location)
    for name, expression in program.outputs.items():
        if isinstance(expression, Assembly):
            results += _assembled(name, expression, [values[id(s)] for s in expression.sources], builder)
        else:
            value = values[id(expression)]
            results.append(_result(name, expression.shape, expression.dtype, expression.location, value, builder))
    return Graph(results, builder.constants, tuple(temporaries))


def _assembled(name: str, expression: Assembly, values: list[Value], builder: GraphBuilder) -> list[Result]:
    pieces = [Piece(value, part.shape, stored(part.dtype), Part(expression.shape, place.first, place.steps))
              for part, place, value in zip(expression.parts, expression.places, values, strict=True)]
    found = packed([squeezed(piece) for piece in pieces], expression.location, builder)
    return [replace(_result(name, piece.shape, piece.dtype, expression.location, piece.value, builder),
                    memory=None if piece.is_whole else piece.place) for piece in found]


def _result(name: str, shape: tuple[int, ...], dtype: np.dtype, location: Location, value: Value,
            builder: GraphBuilder) -> Result:
    if isinstance(value, int) or not value.is_translation(len(shape)):
        value = builder.copy(value, stored(dtype), location, len(shape))
    return Result(name, value.node, value.offset, shape, stored(dtype))


def _translated(expression: Expression, sources: list[Value], builder: GraphBuilder) -> Value:
    rank = len(expression.shape)
    match expression:
        case Input():
            return builder.leaf(expression.name, expression.shape, stored(expression.dtype), expression.low,
                                expression.high, expression.location)
        case Literal():
            return builder.constant(as_words(expression.value), expression.location)
        case Apply():
            operands = [_spread(s, e, rank) for s, e in zip(sources, expression.operands, strict=True)]
            kinds = [e.dtype for e in expression.operands]
            if any(kind in FLOATS for kind in (*kinds, expression.dtype)):
                return float_value(expression, operands, kinds, builder)
            if has_divider(expression):
                return _long_divided(expression, sources, builder)
            return builder.operation(expression.operation, operands, expression.dtype, expression.location, rank)
        case View():
            return _view(expression, sources[0], builder)
        case Stretch():
            source = sources[0]
            if isinstance(source, int):
                return source
            return builder.stretching(source, expression.factors, expression.location)
        case Take():
            return _taken(expression, sources[0], _spread(sources[1], expression.index, rank), builder)
        case ScatterExpression():
            return _scattered(expression, sources, builder)
        case Scan():
            return _scanned(expression, sources[0], builder)
        case Reduce():
            source = sources[0]
            extents = expression.source.shape[rank:]
            if expression.dtype in FLOATS:
                return float_reduction(expression, source, extents, builder)
            if isinstance(source, int):
                source = builder.copy(source, expression.source.dtype, expression.location, rank + len(extents))
            return builder.reduction(expression.operation, source, extents, expression.dtype, expression.location)
    raise TypeError(f"no node for {type(expression).__name__}")


def _scanned(scan: Scan, source: Value, builder: GraphBuilder) -> Value:
    """All sums up to each element, by adding those of twice as many elements at a time."""
    given = Input(scan.shape, scan.dtype, scan.location, "", *bounds(scan.dtype))
    return _substituted(by_doubling(scan, given), {id(given): source}, builder)


def _long_divided(division: Apply, sources: list[Value], builder: GraphBuilder) -> Value:
    """A division for which there is no reciprocal."""
    given = [Input(e.shape, e.dtype, division.location, "", *range_of(s))
             for s, e in zip(sources, division.operands, strict=True)]
    known = {id(each): source for each, source in zip(given, sources, strict=True)}
    return _substituted(long_division(division, given), known, builder)


def _substituted(found: Expression, known: dict[int, Value], builder: GraphBuilder) -> Value:
    """The value of an expression in which some are `known` already."""
    for expression in postorder([found]):
        if id(expression) not in known:
            known[id(expression)] = _translated(expression, [known[id(s)] for s in expression.sources], builder)
    return known[id(found)]


def _spread(value: Value, expression: Expression, rank: int) -> Value:
    """A 0-D operand as the space of the operation sees it."""
    if isinstance(value, Access) and expression.shape == ():
        return compose(value, (), (), rank)
    return value


def _taken(take: Take, table: Value, index: Value, builder: GraphBuilder) -> Value:
    """Entries of a table. Raises `VectorTargetError` unless all indices are known to lie in it."""
    (length,), rank, (low, high) = take.table.shape, len(take.shape), range_of(index)
    if not take.inside and not -length <= low <= high < length:
        raise VectorTargetError(f"{take.location}: indices from {low} to {high} may lie outside the table of {length} "
                                "entries; take(..., mode='clip') or mode='wrap' keeps them inside")
    if (folded := _folded(take, table, index, builder)) is not None:
        return folded
    if low < 0 and not take.inside:
        word = np.dtype(np.int32)
        sign = builder.operation("right_shift", (index, 31), word, take.location, rank)
        turn = builder.operation("bitwise_and", (sign, length), word, take.location, rank)
        index = builder.operation("add", (index, turn), word, take.location, rank)
    return builder.taking(table, min(length, high + 1) if low >= 0 else length, index, take.location, rank)


def _scattered(scatter: ScatterExpression, sources: list[Value], builder: GraphBuilder) -> Value:
    """What is meant for no element goes to one behind the last."""
    extents, kept, word = scatter.index.shape, scatter.shape[0], np.dtype(np.uint32)
    base, rank = sources[0], len(extents)
    index, value = _spread(sources[1], scatter.index, rank), _spread(sources[2], scatter.value, rank)
    if range_of(index)[0] < 0 or range_of(index)[1] > kept:
        index = builder.operation("convert", (index,), word, scatter.location, rank)
        index = builder.operation("minimum", (index, kept), word, scatter.location, rank)
    length = kept + (range_of(index)[1] >= kept)
    if isinstance(index, int):
        index = builder.copy(index, word, scatter.location, rank)
    if scatter.adds and scatter.dtype in FLOATS:
        raise VectorTargetError(f"{scatter.location}: unsupported operation: sums of {scatter.dtype} at places that "
                                "depend on data; the vector processor scatters sums of integers, the targets dataflow "
                                "and fpga those of floating-point numbers")
    node = Scatter(0, 1, stored(scatter.dtype), 0, 0, scatter.location, base, index, value, extents, length, kept,
                   scatter.adds)
    return builder.scattering(node, base, index, value)


def _folded(take: Take, table: Value, index: Value, builder: GraphBuilder) -> Value | None:
    """Entries of a table that is part of the program, at indices that are; seen as the indices are."""
    if not isinstance(table, Access) or not isinstance(index, Access):
        return None
    entries, places = _data(table, builder), _data(index, builder)
    if entries is None or places is None or not table.is_translation(1) or any(table.offset):
        return None
    found = builder.constant(entries[places], take.location)
    return found if isinstance(found, int) else Access(found.node, index.matrix, index.offset)


def _data(access: Access, builder: GraphBuilder) -> np.ndarray | None:
    """All of the constant array that is accessed; None if it is none."""
    leaf = access.node
    return builder.constants.get(leaf.name) if isinstance(leaf, Leaf) and not any(leaf.boundaries) else None


def _view(view: View, source: Value, builder: GraphBuilder) -> Value:
    defaults = {b.value for b in view.boundaries if b is not None and b.kind == "default"}
    if isinstance(source, int) and defaults <= {source}:
        return source
    if any(b is not None for b in view.boundaries):
        source = builder.extension(source, view.source.shape, stored(view.dtype), view.boundaries, view.location)
    assert isinstance(source, Access)
    rank = len(view.shape)
    if is_identity(view.matrix) and len(view.matrix) == rank and not any(view.offset):
        return source
    return compose(source, view.matrix, view.offset, rank)
