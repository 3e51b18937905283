"""Generators of loops to DOT and CROSS nodes (Hammes 2000, sections 2.4.1 and 3.1.2.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from compiler.frontend.sac.build.bundles import Meant
from compiler.frontend.sac.build.scope import Scope
from compiler.frontend.sac.build.values import Value, constant_value, convert, known_integer
from compiler.frontend.sac.ddcf.graph import GraphBuilder, Wire
from compiler.frontend.sac.errors import SacError
from compiler.frontend.sac.extents import span_extent, window_extent
from compiler.frontend.sac.syntax import (
    Cross,
    Declared,
    Dot,
    Elements,
    Expression,
    Generators,
    Place,
    Scalars,
    Slices,
    Windows,
)
from compiler.frontend.sac.types import SIZE, Kind, Scalar, Type

__all__ = ["Captured", "Generated", "build_generators"]

_BOUND = Scalar(Kind.INT, 32)


@dataclass(frozen=True)
class Captured:
    """A name that a generator gives a value in each iteration; `meant` is the type that an index is declared with."""

    name: str
    value: Value
    place: Place
    meant: Meant | None = None


@dataclass(frozen=True)
class Generated:
    """What a generator brings: names with their values, and its extents."""

    names: tuple[Captured, ...]
    extents: tuple[int | None, ...]


def build_generators(node: Generators, scope: Scope, graph: GraphBuilder) -> Generated:
    """The DOT or CROSS node in the loop's `graph`; expressions are those of `scope`, outside the loop."""
    joined = node if isinstance(node, Dot | Cross) else Dot(node.place, (node,))
    inner = GraphBuilder(graph)
    parts = [_build_part(part, scope, inner, crossed=isinstance(joined, Cross)) for part in joined.parts]
    extents = _dot_extents(parts, joined.place) if isinstance(joined, Dot) else tuple(
        extent for part in parts for extent in part.extents)
    names = [name for part in parts for name in part.names]
    return _join("DOT" if isinstance(joined, Dot) else "CROSS", inner, names, extents, graph, joined.place)


def _join(kind: str, inner: GraphBuilder, names: Sequence[Captured], extents: tuple[int | None, ...],
          graph: GraphBuilder, place: Place) -> Generated:
    """The node in `graph` around the generators in `inner`."""
    wires = [wire for captured in names for wire in captured.value.wires]
    leaving = iter(graph.add(kind, inner.sources, [wire.type for wire in wires], place, (inner.finish(wires),)))
    return Generated(tuple(replace(captured, value=captured.value.map(lambda _: next(leaving)))
                           for captured in names), extents)


def _build_part(node: Generators, scope: Scope, graph: GraphBuilder, crossed: bool) -> Generated:
    if isinstance(node, Dot | Cross):
        return build_generators(node, scope, graph)
    if isinstance(node, Scalars):
        return _scalars(node, scope, graph)
    array = scope.value(node.source)
    if not crossed or not array.bundle:
        return _array_generator(node, array, scope, graph)
    # All components of a bundle advance together, also where the other generators do not.
    inner = GraphBuilder(graph)
    part = _array_generator(node, array, scope, inner)
    return _join("DOT", inner, part.names, part.extents, graph, node.place)


def _dot_extents(parts: Sequence[Generated], place: Place) -> tuple[int | None, ...]:
    """Extents that all parts have. Raises `SacError` where two are known and differ."""
    if len({len(part.extents) for part in parts}) > 1:
        ranks = " and ".join(str(len(part.extents)) for part in parts)
        raise SacError(place, f"generators that are joined by dot have equal shapes, and these have ranks {ranks}")
    found: list[int | None] = []
    for row in zip(*(part.extents for part in parts), strict=True):
        known = {extent for extent in row if extent is not None}
        if len(known) > 1:
            raise SacError(place, "generators that are joined by dot have equal shapes, and these have extents "
                                  f"{' and '.join(map(str, sorted(known)))} in dimension {len(found)}")
        found.append(known.pop() if known else None)
    return tuple(found)


def _scalars(node: Scalars, scope: Scope, graph: GraphBuilder) -> Generated:
    if len(node.captures) != len(node.spans):
        raise SacError(node.place, f"{len(node.captures)} names for {len(node.spans)} ranges")
    steps = _steps(node.steps, len(node.spans), scope, node.place)
    bounds = [_span(low, high, scope) for low, high in node.spans]
    meants = [scope.records.meant(capture.type) for capture in node.captures]
    for capture, meant in zip(node.captures, meants, strict=True):
        if not isinstance(meant.element, Scalar) or meant.element.kind not in (Kind.INT, Kind.UINT):
            raise SacError(capture.place, f"'{capture.name}' counts and is an integer, not {meant}")
    operands = [v.wire for (low, high), step in zip(bounds, steps, strict=True) for v in (low, high, step)]
    wires = graph.add("SCALARGEN", operands, [type_ for meant in meants for type_ in meant.types], node.place)
    extents = tuple(span_extent(*map(known_integer, (low, high, step)))
                    for (low, high), step in zip(bounds, steps, strict=True))
    return Generated(tuple(Captured(c.name, Value((w,)), c.place) for c, w in zip(node.captures, wires, strict=True)),
                     extents)


def _span(low: Expression, high: Expression | None, scope: Scope) -> tuple[Value, Value]:
    """Both bounds; a range of one number begins at 0 and ends before it."""
    first = _bound(low, scope)
    if high is not None:
        return first, _bound(high, scope)
    number = known_integer(first)
    if number is not None:
        return constant_value(0, _BOUND), constant_value(number - 1, _BOUND)
    one = constant_value(1, _BOUND).wire
    return constant_value(0, _BOUND), Value(tuple(scope.graph.add("SUB", [first.wire, one], [Type(_BOUND)], low.place)))


def _bound(expression: Expression, scope: Scope) -> Value:
    value = scope.scalar(expression, "a bound")
    if value.type.scalar.kind not in (Kind.INT, Kind.UINT):
        raise SacError(expression.place, f"a bound is an integer, not {value}")
    return convert(scope.graph, value, _BOUND, expression.place)


def _steps(written: Sequence[Expression], count: int, scope: Scope, place: Place) -> list[Value]:
    """A step for each of `count` dimensions, 1 where none is written."""
    if not written:
        return [constant_value(1, SIZE)] * count
    if len(written) != count:
        raise SacError(place, f"{len(written)} steps for {count} dimensions")
    found = [_size(expression, scope, "a step") for expression in written]
    for value, expression in zip(found, written, strict=True):
        if known_integer(value) == 0:
            raise SacError(expression.place, "a step of 0 goes nowhere")
    return found


def _size(expression: Expression, scope: Scope, what: str) -> Value:
    value = scope.scalar(expression, what)
    if value.type.scalar.kind not in (Kind.INT, Kind.UINT):
        raise SacError(expression.place, f"{what} is an integer, not {value}")
    number = known_integer(value)
    if number is not None and number < 0:
        raise SacError(expression.place, f"{what} is not negative, as {number} is")
    return convert(scope.graph, value, SIZE, expression.place)


def _array_generator(node: Elements | Slices | Windows, array: Value, scope: Scope, graph: GraphBuilder) -> Generated:
    pattern = _pattern(node, array)
    if len(pattern) != array.type.rank:
        raise SacError(node.place, f"'{node.capture.name}' takes {len(pattern)} dimensions of {array}, which has "
                                   f"{array.type.rank}")
    steps = _steps(node.steps, pattern.count("~"), scope, node.place)
    sizes = _window_sizes(node, scope)
    kind, operands = ("WINDOWGEN", [w for pair in zip(sizes, steps, strict=True) for w in pair]) if sizes else (
        "ELEGEN", steps)
    nodes = []
    for wire in array.wires:
        own = pattern + ":" * (wire.type.rank - len(pattern))
        outputs = [_component(wire.type, own, sizes), *[Type(SIZE)] * pattern.count("~")]
        nodes.append(graph.add(kind, [wire, *(v.wire for v in operands)], outputs, node.place, pattern=own))
    capture = Captured(node.capture.name, Value(tuple(wires[0] for wires in nodes), array.bundle), node.capture.place)
    extents = tuple(window_extent(e, 1 if not sizes else known_integer(sizes[k]), known_integer(steps[k]))
                    for k, e in enumerate(e for e, c in zip(array.type.extents, pattern, strict=True) if c == "~"))
    return Generated((capture, *_places(node, pattern, nodes[0][1:], scope)), extents)


def _pattern(node: Elements | Slices | Windows, array: Value) -> str:
    """For each dimension ``~`` where the loop runs over it, ``:`` where the capture has it whole."""
    if isinstance(node, Elements):
        if not array.type.is_array:
            raise SacError(node.source.place, f"'{node.capture.name}' takes the elements of an array, not of {array}")
        return "~" * array.type.rank
    slots = node.iterated if isinstance(node, Slices) else [size is not None for size in node.sizes]
    if not any(slots):
        raise SacError(node.place, f"'{node.capture.name}' takes every dimension whole, so no loop runs")
    return "".join("~" if iterated else ":" for iterated in slots)


def _window_sizes(node: Elements | Slices | Windows, scope: Scope) -> list[Value]:
    if not isinstance(node, Windows):
        return []
    written = [size for size in node.sizes if size is not None]
    found = [_size(size, scope, "the size of a window") for size in written]
    for value, size in zip(found, written, strict=True):
        if known_integer(value) == 0:
            raise SacError(size.place, "a window of size 0 holds nothing")
    return found


def _component(array: Type, pattern: str, sizes: Sequence[Value]) -> Type:
    """The type of what is captured: a scalar, the whole dimensions, or a window with all dimensions."""
    if not sizes:
        return Type(array.scalar, tuple(e for e, c in zip(array.extents, pattern, strict=True) if c == ":"))
    known = iter(sizes)
    return Type(array.scalar, tuple(e if c == ":" else known_integer(next(known))
                                    for e, c in zip(array.extents, pattern, strict=True)))


def _places(node: Elements | Slices | Windows, pattern: str, indices: Sequence[Wire], scope: Scope) -> list[Captured]:
    """Names of ``at``: one for each dimension that the loop runs over, or for all, ``_`` for those that it does not."""
    if not node.at:
        return []
    captures = list(node.at)
    if len(captures) == len(pattern):
        for capture, slot in zip(captures, pattern, strict=True):
            if slot == ":" and isinstance(capture, Declared):
                raise SacError(capture.place, f"'{capture.name}' is the index of a dimension that is taken whole: "
                                              "write _ for it")
        captures = [c for c, slot in zip(captures, pattern, strict=True) if slot == "~"]
    if len(captures) != len(indices):
        raise SacError(node.place, f"at names {len(node.at)} indices, and the generator runs over {len(indices)} "
                                   "dimensions")
    return [Captured(capture.name, Value((wire,)), capture.place, scope.records.meant(capture.type))
            for capture, wire in zip(captures, indices, strict=True) if isinstance(capture, Declared)]
