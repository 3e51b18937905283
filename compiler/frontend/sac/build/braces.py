"""Values in braces and records by their fields."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.frontend.sac.build.bundles import Bundle, Meant
from compiler.frontend.sac.build.scope import Scope
from compiler.frontend.sac.build.values import Value, assign, take_value
from compiler.frontend.sac.errors import SacError
from compiler.frontend.sac.syntax import Captures, Expression, Initialiser, Place
from compiler.frontend.sac.types import Type

__all__ = ["build_initialiser", "build_record"]


def build_initialiser(node: Initialiser | Captures, scope: Scope, meant: Meant, what: str) -> Value:
    """Braces as an array of known extents, or as a record. Raises `SacError` where they do not match its type."""
    if not meant.extents and isinstance(meant.element, Bundle):
        return _filled(meant.element, node.values, scope, node.place)
    if not meant.extents or None in meant.extents:
        raise SacError(node.place, f"{what} needs its extents as numbers, to be given elements in braces")
    known = tuple(e for e in meant.extents if e is not None)
    values = _elements(node, scope, Meant(meant.element, known), what)
    if any(value.is_nested for value in values):
        raise SacError(node.place, f"{what} is {meant}, whose fields are arrays: a loop makes it, with array(...)")
    rows = zip(*(value.wires for value in values), strict=True)
    return take_value(meant, (scope.graph.add("ARR_DEF", list(row), [Type(row[0].type.scalar, known)], node.place)[0]
                              for row in rows))


def _elements(node: Initialiser | Captures, scope: Scope, meant: Meant, what: str) -> list[Value]:
    """All elements of an array in braces, in the order of rows."""
    extent, *rest = meant.extents
    if len(node.values) != extent:
        raise SacError(node.place, f"{len(node.values)} elements in braces where {what} has an extent of {extent}")
    inner, found = Meant(meant.element, tuple(rest)), []
    for part in node.values:
        braces = isinstance(part, Initialiser | Captures)
        if braces != bool(rest) and not (braces and isinstance(meant.element, Bundle)):
            raise SacError(part.place, f"the braces of {what} do not have {len(meant.extents)} levels here")
        if isinstance(part, Initialiser | Captures) and rest:
            found += _elements(part, scope, inner, what)
        else:
            found.append(_given(part, inner, scope, "an element of an array in braces"))
    return found


def _given(written: Expression | Initialiser | Captures, meant: Meant, scope: Scope, what: str) -> Value:
    """What stands for an element or a field."""
    if isinstance(written, Initialiser | Captures):
        return build_initialiser(written, scope, meant, what)
    number = not meant.extents and not isinstance(meant.element, Bundle)
    value = scope.scalar(written, what) if number else scope.value(written)
    return assign(scope.graph, value, meant, written.place, what)


def build_record(name: str, written: Sequence[Expression | Captures], scope: Scope, place: Place) -> Value:
    """``point (x, y)``: a record by its fields in their order. Raises `SacError` for too few or too many of them, and
    for one of another type."""
    return _filled(scope.records.bundles[name], written, scope, place)


def _filled(bundle: Bundle, written: Sequence[Expression | Initialiser | Captures], scope: Scope, place: Place
            ) -> Value:
    fields = bundle.fields
    if len(written) < len(fields):
        raise SacError(place, f"{bundle} lacks the field '{fields[len(written)].name}': it has {len(fields)}, and "
                              f"{len(written)} are given")
    if len(written) > len(fields):
        raise SacError(place, f"{bundle} has {len(fields)} fields, and {len(written)} are given")
    values = [_given(part, field.meant, scope, f"field '{field.name}' of {bundle}")
              for part, field in zip(written, fields, strict=True)]
    return Value(tuple(wire for value in values for wire in value.wires), bundle)
