"""What loops return: arrays, reductions, last values (Hammes 2000, sections 2.4.2 and 3.1.2.2)."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.frontend.sac.build.scope import Scope
from compiler.frontend.sac.build.values import Value, convert, known_integer, truth
from compiler.frontend.sac.ddcf.graph import Wire
from compiler.frontend.sac.errors import SacError
from compiler.frontend.sac.extents import tile_extents
from compiler.frontend.sac.syntax import Call, Captures, Expression, Name, Place
from compiler.frontend.sac.types import SIZE, Kind, Type

__all__ = ["REDUCTIONS", "RETURNS", "build_return", "check_label", "check_reduced"]

REDUCTIONS = {"sum": "SUM", "product": "PRODUCT", "min": "MIN", "max": "MAX", "and": "AND", "or": "OR", "mean": "MEAN",
              "st_dev": "ST_DEV", "median": "MEDIAN", "mode": "MODE", "histogram": "HISTOGRAM"}
_STRUCTURING = {"array": "CONSTRUCT_ARRAY", "tile": "CONSTRUCT_TILE", "concat": "CONSTRUCT_CONCAT"}
_POSITIONS = {"vals_at_maxs": "VALS_AT_MAXS", "vals_at_mins": "VALS_AT_MINS",
              "vals_at_first_max": "VAL_AT_FIRST_MAX", "vals_at_first_min": "VAL_AT_FIRST_MIN",
              "vals_at_last_max": "VAL_AT_LAST_MAX", "vals_at_last_min": "VAL_AT_LAST_MIN"}
RETURNS = (*_STRUCTURING, *REDUCTIONS, *_POSITIONS, "accum", "final")


def build_return(written: Expression, scope: Scope, extents: tuple[int | None, ...]) -> Value:
    """One result of a loop of these extents. Raises `SacError` for what is none."""
    if not isinstance(written, Call) or written.function not in RETURNS:
        raise SacError(written.place, f"a loop returns one of: {', '.join(RETURNS)}; each is written NAME(value)")
    name = written.function
    if name == "final":
        return _final(written, scope)
    if name in _STRUCTURING:
        return _structure(written, scope, extents)
    if name in _POSITIONS:
        return _positions(written, scope)
    return _accumulated(written, scope) if name == "accum" else _reduction(written, scope)


def _final(written: Call, scope: Scope) -> Value:
    (argument,) = _arguments(written, 1, 1)
    if not isinstance(argument, Name) or argument.name not in scope.carried:
        raise SacError(written.place, "final(...) takes a variable that the body assigns by next")
    return scope.carried[argument.name]


def _structure(written: Call, scope: Scope, extents: tuple[int | None, ...]) -> Value:
    (argument,) = _arguments(written, 1, 1)
    value = scope.value(argument)
    if written.function != "array" and value.is_nested:
        raise SacError(written.place, f"{written.function}(...) joins arrays of scalars, and fields of {value} are "
                                      "arrays; array(...) collects them")
    kind = _STRUCTURING[written.function]
    return value.map(lambda wire: scope.graph.add(kind, [wire], [_structured_type(written, wire.type, extents)],
                                                  written.place)[0])


def _structured_type(written: Call, type_: Type, extents: tuple[int | None, ...]) -> Type:
    if written.function == "array":
        return Type(type_.scalar, (*extents, *type_.extents))
    if not type_.is_array:
        raise SacError(written.place, f"{written.function}(...) joins arrays, not {type_}; array(...) collects scalars")
    if written.function == "tile":
        return Type(type_.scalar, tile_extents(extents, type_.extents))
    if len(extents) != 1:
        raise SacError(written.place, f"concat(...) is for loops of one dimension, and this one has {len(extents)}; "
                                      "tile(...) joins in more")
    return Type(type_.scalar, (*type_.extents[:-1], None))


def _reduction(written: Call, scope: Scope) -> Value:
    """``sum (v)``, ``max (v, mask)``, ``histogram (v, extent, mask)``."""
    sized = written.function == "histogram"
    arguments = _arguments(written, 1 + sized, 2 + sized)
    value = scope.value(arguments[0])
    check_reduced(value, written.function, written.place)
    rest = [_extent(arguments[1], scope)] if sized else []
    mask = _mask(arguments[1 + sized:], scope)
    kind = REDUCTIONS[written.function]
    result = Type(SIZE, (known_integer(rest[0]),)) if sized else value.type
    wires = [v.wire for v in rest] + mask
    return value.map(lambda wire: scope.graph.add(kind, [wire, *wires], [result], written.place)[0])


def _accumulated(written: Call, scope: Scope) -> Value:
    """``accum (sum (v, mask), label, extent)``: a reduction for each label."""
    inner, label, extent = _arguments(written, 3, 3)
    if not isinstance(inner, Call) or inner.function not in REDUCTIONS:
        raise SacError(written.place, f"accum(...) begins with one of: {', '.join(REDUCTIONS)}")
    sized = inner.function == "histogram"
    arguments = _arguments(inner, 1 + sized, 2 + sized)
    value = scope.value(arguments[0])
    check_reduced(value, inner.function, inner.place)
    place = scope.scalar(label, "a label")
    check_label(place, label.place)
    labels = _extent(extent, scope)
    sizes = [_extent(arguments[1], scope)] if sized else []
    operands = [v.wire for v in (place, labels, *sizes)] + _mask(arguments[1 + sized:], scope)
    known = (known_integer(labels), *(known_integer(s) for s in sizes))
    result = Type(SIZE if sized else value.type.scalar, known)
    kind = f"ACCUM_{REDUCTIONS[inner.function]}"
    return value.map(lambda wire: scope.graph.add(kind, [wire, *operands], [result], written.place)[0])


def _positions(written: Call, scope: Scope) -> Value:
    """``vals_at_maxs (v, {a, b}, mask)``: rows of captures, of one iteration or of all that have the extreme value."""
    arguments = _arguments(written, 2, 3, captures=True)
    value = scope.scalar(arguments[0], "what is compared")
    braces = arguments[1]
    captured = list(braces.values) if isinstance(braces, Captures) else [braces]
    wires = [_captured(capture, scope) for capture in captured]
    if len({wire.type.scalar for wire in wires}) > 1:
        types = ", ".join(str(wire.type.scalar) for wire in wires)
        raise SacError(written.place, f"the captures of {written.function} have different types: {types}; cast them to "
                                      "one")
    kind = _POSITIONS[written.function]
    columns = (len(wires),) if isinstance(braces, Captures) else ()
    result = Type(wires[0].type.scalar, ((None,) if kind.startswith("VALS") else ()) + columns)
    operands = [value.wire, *wires, *_mask(arguments[2:], scope)]
    return Value(tuple(scope.graph.add(kind, operands, [result], written.place, captures=len(wires),
                                       row=int(isinstance(braces, Captures)))))


def _captured(written: Expression | Captures, scope: Scope) -> Wire:
    if isinstance(written, Captures):
        raise SacError(written.place, "a capture is a scalar, not values in braces")
    return scope.scalar(written, "a capture").wire


def check_reduced(value: Value, name: str, place: Place) -> None:
    """Raises `SacError` if there is no reduction `name` of such values."""
    scalar = value.type.scalar
    if value.type.is_array:
        raise SacError(place, f"{name}(...) reduces scalars, not {value}; array_{name}(...) reduces an array")
    if value.is_record:
        raise SacError(place, f"{name}(...) reduces numbers, not {value}: take a field")
    if value.is_complex and name != "sum":
        raise SacError(place, f"{name}(...) is not of complex numbers; sum(...) is")
    if name in ("and", "or"):
        if scalar.floating or scalar.fraction:
            raise SacError(place, f"{name}(...) is of bool, bits and integers, not {value}")
    elif name == "histogram":
        check_label(value, place)
    elif scalar.kind in (Kind.BITS, Kind.BOOL):
        raise SacError(place, f"{name}(...) is of numbers, not {value}: cast it to one that has room for the result, "
                              "such as (uint16)")


def check_label(value: Value, place: Place) -> None:
    """Raises `SacError` if `value` is no integer, as labels and what histograms count are."""
    if value.bundle or value.type.is_array or value.type.scalar.kind not in (Kind.INT, Kind.UINT, Kind.BOOL):
        raise SacError(place, f"a label is an integer, not {value}")


def _extent(written: Expression, scope: Scope) -> Value:
    """An extent of a result: what the loop does not change, so it is computed outside of it."""
    assert scope.parent is not None
    value = scope.parent.scalar(written, "an extent")
    if value.type.scalar.kind not in (Kind.INT, Kind.UINT):
        raise SacError(written.place, f"an extent is an integer, not {value}")
    outside = convert(scope.parent.graph, value, SIZE, written.place)
    return Value((scope.graph.local(outside.wire),))


def _mask(written: Sequence[Expression], scope: Scope) -> list[Wire]:
    return [truth(scope.graph, scope.scalar(mask, "a mask"), mask.place) for mask in written]


def _arguments(written: Call, least: int, most: int, captures: bool = False) -> list:
    """The arguments of a call that has `least` to `most`."""
    count = len(written.arguments)
    if not least <= count <= most:
        wanted = str(least) if least == most else f"{least} to {most}"
        raise SacError(written.place, f"{written.function}(...) takes {wanted} arguments, not {count}")
    for argument in written.arguments:
        if isinstance(argument, Captures) and not captures:
            raise SacError(argument.place, f"{written.function}(...) takes no values in braces")
    return list(written.arguments)

