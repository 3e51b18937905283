"""Operators, casts, literals and sections to nodes (Hammes 2000, sections 2.2 and 2.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from compiler.frontend.sac import arithmetic
from compiler.frontend.sac.build.bundles import Meant
from compiler.frontend.sac.build.complex_numbers import complex_binary, complex_negated
from compiler.frontend.sac.build.constants import build_constant
from compiler.frontend.sac.build.scope import Scope
from compiler.frontend.sac.build.values import (
    Value,
    assign,
    constant_value,
    convert,
    known_integer,
    truth,
)
from compiler.frontend.sac.ddcf.graph import GraphBuilder, Wire, finish_together
from compiler.frontend.sac.errors import SacError
from compiler.frontend.sac.extents import span_extent
from compiler.frontend.sac.syntax import (
    Binary,
    Cast,
    Expression,
    Field,
    Index,
    Literal,
    Name,
    Place,
    Range,
    Section,
    Unary,
    walk,
)
from compiler.frontend.sac.syntax import Call as WrittenCall
from compiler.frontend.sac.types import (
    BOOL,
    SIZE,
    Kind,
    Scalar,
    Type,
    arithmetic_type,
    bitwise_type,
    literal_type,
)
from compiler.ir.types import ProgramError

__all__ = ["apply_binary", "build_binary", "build_cast", "build_field", "build_literal", "build_name", "build_section",
           "build_unary", "build_update"]

_ARITHMETIC = {"+": "ADD", "-": "SUB", "*": "MUL", "/": "DIV", "%": "MOD"}
_BITWISE = {"&": "BIT_AND", "|": "BIT_OR", "^": "BIT_XOR"}
_SHIFTS = {"<<": "LEFT_SHIFT", ">>": "RIGHT_SHIFT"}
_COMPARISONS = {"==": "EQ", "!=": "NEQ", "<": "LT", "<=": "LE", ">": "GT", ">=": "GE"}


def build_literal(node: Literal, scope: Scope) -> tuple[Value, ...]:
    """A number. Raises `SacError` for one of more than 32 bits."""
    known = build_constant(node)
    if known is not None:
        return (known,)
    try:
        scalar = literal_type(node.text)
    except ProgramError as error:
        raise SacError(node.place, str(error)) from None
    text = node.text
    value = int(text[2:], 2) if scalar.kind is Kind.BITS else arithmetic.constant(scalar, text)
    return (constant_value(value, scalar),)


def build_name(node: Name, scope: Scope) -> tuple[Value, ...]:
    """A variable."""
    return (scope.find(node.name, node.place),)


def build_unary(node: Unary, scope: Scope) -> tuple[Value, ...]:
    """``- + ! ~``."""
    known = build_constant(node)
    if known is not None:
        return (known,)
    value = scope.value(node.operand)
    if value.type.is_array:
        raise _of_arrays(str(value), node.operator, node.place)
    if node.operator == "!":
        return (Value((_negation(scope.graph, truth(scope.graph, value, node.place), node.place),)),)
    if value.is_record:
        raise _of_records(str(value), node.operator, node.place)
    if value.is_complex and node.operator != "~":
        return (value if node.operator == "+" else complex_negated(scope.graph, value, node.place),)
    if node.operator == "~":
        return (_complement(scope.graph, value, node.place),)
    _computable(value, value, node.place)
    if node.operator == "+":
        return (value,)
    scalar = arithmetic_type(value.type.scalar, value.type.scalar)
    zero = constant_value(0.0 if scalar.floating else 0, scalar)
    if scalar.floating:
        return (Value(tuple(scope.graph.add("NEG", [value.wire], [Type(scalar)], node.place))),)
    return (_apply(scope.graph, "SUB", scalar, zero, value, node.place),)


def _negation(graph: GraphBuilder, wire: Wire, place: Place) -> Wire:
    return graph.add("NOT", [wire], [Type(BOOL)], place)[0]


def _complement(graph: GraphBuilder, value: Value, place: Place) -> Value:
    scalar = value.type.scalar
    if value.bundle or scalar.floating or scalar.fraction or scalar.kind in (Kind.FIX, Kind.UFIX):
        raise SacError(place, f"'~' of {value}: bitwise operations are on integers, bits and bool")
    return Value(tuple(graph.add("BIT_NOT", [value.wire], [Type(scalar)], place)))


def build_binary(node: Binary, scope: Scope) -> tuple[Value, ...]:
    """Operators of two operands. ``&&`` and ``||`` compute the right one only where it decides, if it can fail."""
    known = build_constant(node)
    if known is not None:
        return (known,)
    if node.operator in ("&&", "||"):
        return (Value((_logical(node, scope),)),)
    left, right = scope.value(node.left), scope.value(node.right)
    return (apply_binary(scope.graph, node.operator, left, right, node.place),)


def apply_binary(graph: GraphBuilder, operator: str, left: Value, right: Value, place: Place) -> Value:
    """`left` and `right` combined by C's `operator`. Raises `SacError`, naming both types, where there is no rule."""
    if left.type.is_array or right.type.is_array:
        raise _of_arrays(f"{left} and {right}", operator, place)
    if left.is_record or right.is_record:
        raise _of_records(f"{left} and {right}", operator, place)
    if left.is_complex or right.is_complex:
        return complex_binary(graph, operator, left, right, place)
    if operator in _COMPARISONS:
        return Value(tuple(graph.add(_COMPARISONS[operator], [left.wire, right.wire], [Type(BOOL)], place)))
    if operator in _SHIFTS:
        return _shifted(graph, _SHIFTS[operator], left, right, place)
    rule, kind = (bitwise_type, _BITWISE[operator]) if operator in _BITWISE else (arithmetic_type,
                                                                                _ARITHMETIC[operator])
    scalar = _typed(rule, left, right, place)
    if scalar.floating and kind == "MOD":
        raise SacError(place, f"'%' of {left} and {right}: floating-point numbers have fmod(...)")
    return _apply(graph, kind, scalar, left, right, place)


def _typed(rule: Callable[[Scalar, Scalar], Scalar], left: Value, right: Value, place: Place) -> Scalar:
    try:
        return rule(left.type.scalar, right.type.scalar)
    except ProgramError as error:
        raise SacError(place, f"{left} and {right}: {error}") from None


def _computable(left: Value, right: Value, place: Place) -> None:
    _typed(arithmetic_type, left, right, place)


def _apply(graph: GraphBuilder, kind: str, scalar: Scalar, left: Value, right: Value, place: Place) -> Value:
    operands = [convert(graph, value, scalar, place).wire for value in (left, right)]
    return Value(tuple(graph.add(kind, operands, [Type(scalar)], place)))


def _shifted(graph: GraphBuilder, kind: str, value: Value, amount: Value, place: Place) -> Value:
    scalar = value.type.scalar
    if scalar.floating or amount.type.scalar.floating or amount.type.scalar.fraction:
        raise SacError(place, f"{value} shifted by {amount}: what is shifted has bits, and the amount is an integer")
    return Value(tuple(graph.add(kind, [value.wire, amount.wire], [Type(scalar)], place)))


def _logical(node: Binary, scope: Scope) -> Wire:
    kind, decided = ("BIT_AND", 0) if node.operator == "&&" else ("BIT_OR", 1)
    left = truth(scope.graph, scope.scalar(node.left, f"an operand of {node.operator}"), node.left.place)
    if not _can_fail(node):
        right = truth(scope.graph, scope.scalar(node.right, f"an operand of {node.operator}"), node.right.place)
        return scope.graph.add(kind, [left, right], [Type(BOOL)], node.place)[0]
    asked = GraphBuilder(scope.graph)
    known = asked.sibling()
    inner = scope.inner(asked)
    right = truth(asked, inner.scalar(node.right, f"an operand of {node.operator}"), node.right.place)
    graphs = finish_together([(asked, [right]), (known, [constant_value(decided, BOOL).wire])])
    return scope.graph.add("SWITCH", [left, *asked.sources], [Type(BOOL)], node.place, graphs,
                           selectors=((1 - decided,), None))[0]


def _can_fail(node: Binary) -> bool:
    """Whether computing the right operand may end the run."""
    return any(isinstance(part, Section | WrittenCall) or (isinstance(part, Binary) and part.operator in "/%")
               for part in walk(node.right))


def _of_arrays(types: str, operator: str, place: Place) -> SacError:
    return SacError(place, f"'{operator}' of {types}: operators are on scalars; a loop such as "
                           "for a in A return (array (...)) takes the elements")


def _of_records(types: str, operator: str, place: Place) -> SacError:
    return SacError(place, f"'{operator}' of {types}: operators are on numbers; r.field takes one of a record r")


def build_cast(node: Cast, scope: Scope) -> tuple[Value, ...]:
    """A conversion, of arrays element by element."""
    return (assign(scope.graph, scope.value(node.operand), scope.records.meant(node.type), node.place, "the cast"),)


def build_section(node: Section, scope: Scope) -> tuple[Value, ...]:
    """An element or a section: bounds are inclusive, an index drops its dimension."""
    array = scope.value(node.array)
    section = _section(scope, array, node.subscripts, node.place)
    return (array.map(lambda wire: _taken(scope, section, wire, node.place)),)


def build_field(node: Field, scope: Scope) -> tuple[Value, ...]:
    """A component of a record or of a complex number; of an array of them the array of that component."""
    value = scope.value(node.record)
    found = value.field(node.name)
    if found is not None:
        return (found,)
    if value.bundle is None:
        raise SacError(node.place, f"{value} has no fields, so there is no '.{node.name}'")
    raise SacError(node.place, f"{value} has no field '{node.name}'; it has: "
                               f"{', '.join(field.name for field in value.bundle.fields)}")


def build_update(scope: Scope, array: Value, subscripts: Sequence[Index | Range], value: Value, place: Place, what: str
                 ) -> Value:
    """`array` with other elements in a section: those of `value`, or the scalar `value` everywhere in it."""
    section = _section(scope, array, subscripts, place)
    extents = section.extents
    given = value.type.extents or extents
    meant = Meant(array.element, extents)
    if len(given) != len(extents) or any(None not in pair and pair[0] != pair[1]
                                         for pair in zip(given, extents, strict=True)):
        raise SacError(place, f"{what} is {meant}, and the value is {value}: shapes differ")
    placed = iter(assign(scope.graph, value, Meant(array.element, (None,) * value.type.rank), place, what).wires)
    return array.map(lambda wire: _updated(scope, section, wire, next(placed), place))


class _Section(NamedTuple):
    """The pattern of a section, its bounds, and the extents of the dimensions that it keeps."""

    pattern: str
    bounds: list[Wire]
    extents: tuple[int | None, ...]

    def of(self, scope: Scope, wire: Wire, place: Place) -> _Section:
        """The section of a component, whose own dimensions are taken whole."""
        bounds, extents = list(self.bounds), self.extents
        for dimension in range(len(self.pattern), wire.type.rank):
            wires, extent = _subscript(scope, wire, dimension, Range(place, None, None, None))
            bounds, extents = bounds + wires, (*extents, extent)
        return _Section(self.pattern + ":" * (wire.type.rank - len(self.pattern)), bounds, extents)


def _taken(scope: Scope, section: _Section, wire: Wire, place: Place) -> Wire:
    own = section.of(scope, wire, place)
    return scope.graph.add("AREF", [wire, *own.bounds], [Type(wire.type.scalar, own.extents)], place,
                           pattern=own.pattern)[0]


def _updated(scope: Scope, section: _Section, wire: Wire, part: Wire, place: Place) -> Wire:
    own = section.of(scope, wire, place)
    return scope.graph.add("ARR_UPDATE", [wire, part, *own.bounds], [wire.type], place, pattern=own.pattern)[0]


def _section(scope: Scope, array: Value, subscripts: Sequence[Index | Range], place: Place) -> _Section:
    if array.type.rank != len(subscripts):
        raise SacError(place, f"{len(subscripts)} subscripts of {array}, which has {array.type.rank} dimensions")
    pattern = "".join(":" if isinstance(s, Range) else "." for s in subscripts)
    bounds: list[Wire] = []
    extents: list[int | None] = []
    for dimension, subscript in enumerate(subscripts):
        wires, extent = _subscript(scope, array.wire, dimension, subscript)
        bounds += wires
        extents += [extent] if isinstance(subscript, Range) else []
    return _Section(pattern, bounds, tuple(extents))


def _subscript(scope: Scope, array: Wire, dimension: int, subscript: Index | Range) -> tuple[list[Wire], int | None]:
    """What enters AREF for one dimension: an index, or low, high and step; and the extent of the section."""
    if isinstance(subscript, Index):
        return [_integer(scope, subscript.value, "an index").wire], None
    low = _integer(scope, subscript.low, "a bound") if subscript.low else constant_value(0, SIZE)
    step = _integer(scope, subscript.step, "a step") if subscript.step else constant_value(1, SIZE)
    high = _integer(scope, subscript.high, "a bound") if subscript.high else _last(scope, array, dimension,
                                                                                  subscript.place)
    extent = span_extent(*map(known_integer, (low, high, step)))
    if extent is None and subscript.low is subscript.high is subscript.step is None:
        extent = array.type.extents[dimension]
    return [low.wire, high.wire, step.wire], extent


def _last(scope: Scope, array: Wire, dimension: int, place: Place) -> Value:
    """The greatest index of a dimension. An empty one has -1, so the type has a sign."""
    scalar = Scalar(Kind.INT, 32)
    extent = array.type.extents[dimension]
    if extent is not None:
        return constant_value(extent - 1, scalar)
    extents = scope.graph.add("EXTENTS", [array], [Type(SIZE)] * array.type.rank, place)
    signed = convert(scope.graph, Value((extents[dimension],)), scalar, place)
    return _apply(scope.graph, "SUB", scalar, signed, constant_value(1, scalar), place)


def _integer(scope: Scope, expression: Expression, what: str) -> Value:
    value = scope.scalar(expression, what)
    scalar = value.type.scalar
    if scalar.floating or scalar.kind in (Kind.FIX, Kind.UFIX, Kind.BITS):
        raise SacError(expression.place, f"{what} is an integer, not {value}")
    return value
