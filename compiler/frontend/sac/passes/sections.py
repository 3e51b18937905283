"""Sections and paddings of arrays whose extents may not be known before the program runs."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.frontend.sac.ddcf.graph import Constant, Edge, Node, Operand
from compiler.frontend.sac.extents import span_extent
from compiler.frontend.sac.passes.loops import LoopBuilder
from compiler.frontend.sac.passes.rewrite import Rebuilt
from compiler.frontend.sac.syntax import Place
from compiler.frontend.sac.types import SIZE, Kind, Scalar, Type

__all__ = ["BOUND", "drop_first", "first_elements", "last_index", "pad_left", "section"]

BOUND = Scalar(Kind.INT, 32)
"""The type of bounds."""


def last_index(out: Rebuilt, array: Operand, dimension: int, place: Place | None, less: int = 0) -> Operand:
    """The last index in a dimension, or `less` before it; -1 of an array that is empty there."""
    extent = out.type(array).extents[dimension]
    if extent is not None:
        return Constant(extent - 1 - less, BOUND)
    extents = out.add(Node("EXTENTS", (array,), (Type(SIZE),) * out.type(array).rank, (), (), place))
    (held,) = out.add(Node("CAST", (extents[dimension],), (Type(BOUND),), (), (), place))
    return out.add(Node("SUB", (held, Constant(1 + less, BOUND)), (Type(BOUND),), (), (), place))[0]


def section(out: Rebuilt, array: Operand, cuts: Sequence[tuple[int, int]], place: Place | None) -> Operand:
    """`array` without so many elements at the begin and at the end of each dimension."""
    if not any(any(cut) for cut in cuts):
        return array
    bounds: list[Operand] = []
    extents = []
    for dimension, (first, behind) in enumerate(cuts):
        last = last_index(out, array, dimension, place, behind)
        bounds += [Constant(first, BOUND), last, Constant(1, BOUND)]
        extents.append(span_extent(first, int(last.value), 1) if isinstance(last, Constant) else None)
    type_ = Type(out.type(array).scalar, tuple(extents))
    return out.add(Node("AREF", (array, *bounds), (type_,), (("pattern", ":" * len(cuts)),), (), place))[0]


def drop_first(out: Rebuilt, array: Operand, dimension: int, count: int, place: Place | None) -> Operand:
    """`array` without the first `count` elements in a dimension."""
    cuts = [(count if k == dimension else 0, 0) for k in range(out.type(array).rank)]
    return section(out, array, cuts, place)


def first_elements(out: Rebuilt, array: Operand, count: Operand, place: Place | None) -> Operand:
    """The first elements of an array of one dimension; their `count` is of the type of bounds."""
    last, = out.add(Node("SUB", (count, Constant(1, BOUND)), (Type(BOUND),), (), (), place))
    bounds = (Constant(0, BOUND), last, Constant(1, BOUND))
    type_ = Type(out.type(array).scalar, (None,))
    return out.add(Node("AREF", (array, *bounds), (type_,), (("pattern", ":"),), (), place))[0]


def pad_left(out: Rebuilt, array: Operand, count: int, place: Place | None) -> Operand:
    """`array` with `count` zeros before the first element in the last dimension."""
    if not count:
        return array
    scalar = out.type(array).scalar
    rows = [last_index(out, array, k, place) for k in range(out.type(array).rank - 1)]
    loop = LoopBuilder(out)
    spans: list[Operand] = []
    for last in (*rows, Constant(count - 1, BOUND)):
        spans += [Constant(0, BOUND), loop.enter(last), Constant(1, BOUND)]
    rank = len(rows) + 1
    loop.generate([Node("SCALARGEN", tuple(spans), (Type(SIZE),) * rank, (), (), place)], [Edge(0)], place)
    zero = Constant(0.0 if scalar.floating else 0, scalar)
    (end,) = loop.body.add(Node("CONSTRUCT_ARRAY", (zero,), (Type(scalar, (None,) * rank),), (), (), place))
    (zeros,) = loop.finish([end], Node("FORALL", (), (), (), (), place))
    joined = Type(scalar, (None,) * rank)
    return out.add(Node("ARRAY_CONCAT", (zeros, array), (joined,), (), (), place))[0]
