"""Bodies, conditionals and switches (Hammes 2000, section 2.5)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from compiler.frontend.sac.build.braces import build_initialiser
from compiler.frontend.sac.build.bundles import Bundle, Meant, complex_of
from compiler.frontend.sac.build.expressions import build_update
from compiler.frontend.sac.build.scope import Scope
from compiler.frontend.sac.build.values import Value, assign, known_integer, take_value, truth
from compiler.frontend.sac.ddcf.graph import GraphBuilder, Wire, finish_together
from compiler.frontend.sac.errors import SacError
from compiler.frontend.sac.syntax import (
    Body,
    Declared,
    Definition,
    Expression,
    If,
    Initialiser,
    NextDefinition,
    Place,
    Switch,
    Updated,
)
from compiler.frontend.sac.types import Scalar, Type, arithmetic_type, bitwise_type
from compiler.ir.types import ProgramError

__all__ = ["build_if", "build_statements", "build_switch"]


def build_statements(body: Body, scope: Scope) -> None:
    """Give the body's names their values."""
    for statement in body.statements:
        if isinstance(statement, Definition):
            _define(statement, scope)
        else:
            _define_next(statement, scope)


def _define(statement: Definition, scope: Scope) -> None:
    targets = statement.targets
    if any(isinstance(v, Initialiser) for v in statement.values):
        values = [_initialised(target, written, scope, statement.place)
                  for target, written in _paired(targets, statement.values, statement.place)]
    else:
        values = [v for written in statement.values for v in scope.values(_no_braces(written))]
    for target, value in _paired(targets, values, statement.place):
        if isinstance(target, Declared):
            meant = scope.records.meant(target.type)
            scope.define(target.name, assign(scope.graph, value, meant, target.place, f"'{target.name}'"), target.place)
        elif isinstance(target, Updated):
            _update(target, value, scope)


def _update(target: Updated, value: Value, scope: Scope) -> None:
    """``A[1:3] = value``: from here on `A` is the array with these elements. Only for arrays of the same body, so that
    what a name means never depends on a body inside."""
    if not target.subscripts:
        raise _unassignable(target, scope)
    if target.name not in scope.places:
        scope.find(target.name, target.place)
        raise SacError(target.place, f"'{target.name}' is not defined in this body: elements are given only where the "
                                     f"array is; a loop carries it: next {target.name}[...]")
    before = scope.names[target.name]
    scope.names[target.name] = build_update(scope, before, target.subscripts, value, target.place,
                                            f"the section of '{target.name}'")


def _unassignable(target: Updated, scope: Scope) -> SacError:
    name = target.name
    if not scope.knows(name):
        return SacError(target.place, f"'{name}' is new here: write its type before it, such as uint8 {name} = ...")
    if name in scope.inputs:
        return SacError(target.place, f"'{name}' has a value already, and a name has one; the loop carries another: "
                                      f"next "
                                      f"{name} = ...")
    return SacError(target.place, f"'{name}' has a value already, and a name has one: define another name, with its "
                                  f"type")


def _initialised(target: object, written: Expression | Initialiser, scope: Scope, place: Place) -> Value:
    if not isinstance(written, Initialiser):
        return scope.value(written)
    if not isinstance(target, Declared):
        raise SacError(place, "elements in braces need a name with a type")
    return build_initialiser(written, scope, scope.records.meant(target.type), f"'{target.name}'")


def _paired(targets: Sequence[object], values: Sequence, place: Place) -> list[tuple]:
    if len(targets) != len(values):
        raise SacError(place, f"{len(targets)} names for {len(values)} values; a value that is not wanted is called _")
    return list(zip(targets, values, strict=True))


def _define_next(statement: NextDefinition, scope: Scope) -> None:
    """``next a = ...``: from here on `a` is the new value."""
    values = [v for written in statement.values for v in scope.values(_no_braces(written))]
    targets = list(zip(statement.names, statement.sections, strict=True))
    for (name, subscripts), value in _paired(targets, values, statement.place):
        if name.name not in scope.inputs:
            raise SacError(name.place, f"'next {name.name}' is allowed only directly in the body of a loop")
        if name.name in scope.carried:
            raise SacError(name.place, f"'next {name.name}' is assigned twice in one body")
        before = scope.names[name.name]
        if subscripts:
            value = build_update(scope, before, subscripts, value, name.place, f"the section of 'next {name.name}'")
        meant = Meant(before.element, (None,) * before.type.rank)
        new = assign(scope.graph, value, meant, name.place, f"'next {name.name}'")
        numbers = iter(scope.inputs[name.name])
        scope.carried[name.name] = new.map(lambda wire, numbers=numbers, place=name.place: scope.graph.add(
            "NEXT", [wire], [Type(wire.type.scalar, (None,) * wire.type.rank)], place, input=next(numbers))[0])
        scope.names[name.name] = new


def _no_braces(written: Expression | Initialiser) -> Expression:
    if isinstance(written, Initialiser):
        raise SacError(written.place, "elements in braces define a name with a type")
    return written


def build_if(node: If, scope: Scope) -> tuple[Value, ...]:
    """``if (c) return (a) elif (d) return (b) else return (c)``: a SWITCH on the condition."""
    (test, body), *rest = node.branches
    if node.otherwise is None:
        raise SacError(node.place, "a conditional is an expression and needs an else, which says its value otherwise")
    key = truth(scope.graph, scope.scalar(test, "a condition"), test.place)
    first = GraphBuilder(scope.graph)
    other = first.sibling()
    below = scope.inner(other)
    values = [_body_values(body, scope.inner(first)),
              build_if(If(node.place, tuple(rest), node.otherwise), below) if rest
              else _body_values(node.otherwise, below)]
    return _switch(scope, key, [first, other], values, [(1,), None], node.place)


def _body_values(body: Body, scope: Scope) -> tuple[Value, ...]:
    build_statements(body, scope)
    return tuple(v for written in body.returns for v in scope.values(written))


def build_switch(node: Switch, scope: Scope) -> tuple[Value, ...]:
    """``switch (key) { case 2, 5: return (a) default: return (b) }``. Keys are integers that the compiler knows."""
    key = scope.scalar(node.key, "the key of a switch")
    if key.type.scalar.floating or key.type.scalar.fraction:
        raise SacError(node.key.place, f"the key of a switch is an integer, bits or bool, not {key}")
    selectors = _selectors(node, scope)
    bodies = [body for _, body in node.cases]
    if node.default is not None:
        bodies, selectors = [*bodies, node.default], [*selectors, None]
    elif not _covers(selectors, key.type.scalar):
        raise SacError(node.place, f"a switch on {key} needs a default: its cases do not name every value")
    if not bodies:
        raise SacError(node.place, "a switch needs a case or a default")
    first = GraphBuilder(scope.graph)
    builders = [first, *(first.sibling() for _ in bodies[1:])]
    values = [_body_values(body, scope.inner(builder)) for body, builder in zip(bodies, builders, strict=True)]
    return _switch(scope, key.wire, builders, values, selectors, node.place)


def _selectors(node: Switch, scope: Scope) -> list[tuple[int, ...] | None]:
    found: list[tuple[int, ...] | None] = []
    seen: set[int] = set()
    for keys, _ in node.cases:
        numbers = []
        for written in keys:
            number = known_integer(scope.scalar(written, "a case"))
            if number is None:
                raise SacError(written.place, "a case is an integer that is known to the compiler")
            if number in seen:
                raise SacError(written.place, f"case {number} stands twice")
            seen.add(number)
            numbers.append(number)
        found.append(tuple(numbers))
    return found


def _covers(selectors: Sequence[tuple[int, ...] | None], scalar: Scalar) -> bool:
    named = {number for numbers in selectors for number in numbers or ()}
    inside = sum(scalar.minimum <= number <= scalar.maximum for number in named)
    return inside == scalar.maximum - scalar.minimum + 1


def _switch(scope: Scope, key: Wire, builders: list[GraphBuilder], values: list[tuple[Value, ...]],
            selectors: Sequence[tuple[int, ...] | None], place: Place) -> tuple[Value, ...]:
    """The SWITCH node of bodies that are built, results converted to types that all of them fit."""
    counts = {len(found) for found in values}
    if len(counts) > 1:
        raise SacError(place, f"the bodies return {' and '.join(map(str, sorted(counts)))} values; all of them return "
                              "equally many")
    joined = [_joined(row, place) for row in zip(*values, strict=True)]
    graphs = finish_together([(builder, [wire for value, meant in zip(found, joined, strict=True)
                                         for wire in assign(builder, value, meant, place, "a result").wires])
                              for builder, found in zip(builders, values, strict=True)])
    types = [type_ for meant in joined for type_ in meant.types]
    wires = iter(scope.graph.add("SWITCH", [key, *builders[0].sources], types, place, graphs,
                                 selectors=tuple(selectors)))
    return tuple(take_value(meant, wires) for meant in joined)


def _joined(values: tuple[Value, ...], place: Place) -> Meant:
    """The type of which all `values` can be."""
    if len({value.type.rank for value in values}) > 1:
        raise SacError(place, f"the bodies return {' and '.join(map(str, values))} in one place: ranks differ")
    try:
        element = reduce(_common, (value.element for value in values))
    except ProgramError as error:
        raise SacError(place, f"the bodies return {' and '.join(map(str, values))} in one place: {error}") from None
    rows = zip(*(value.type.extents for value in values), strict=True)
    extents = tuple(row[0] if len(set(row)) == 1 else None for row in rows)
    return Meant(element, extents)


def _common(left: Scalar | Bundle, right: Scalar | Bundle) -> Scalar | Bundle:
    if left == right:
        return left
    if isinstance(left, Bundle) or isinstance(right, Bundle):
        return complex_of(_common_scalar(_part(left), _part(right)))
    return _common_scalar(left, right)


def _part(element: Scalar | Bundle) -> Scalar:
    """The type of a number, or of the parts of a complex one."""
    part = element.part if isinstance(element, Bundle) else element
    if part is None:
        raise ProgramError("a record stands where the others have the same")
    return part


def _common_scalar(left: Scalar, right: Scalar) -> Scalar:
    if left == right:
        return left
    return arithmetic_type(left, right) if left.numeric and right.numeric else bitwise_type(left, right)
