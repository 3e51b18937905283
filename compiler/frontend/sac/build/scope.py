"""Scopes: which names mean which values, and in which graph new nodes go."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from compiler.frontend.sac.build.bundles import Records
from compiler.frontend.sac.build.values import Value
from compiler.frontend.sac.ddcf.graph import GraphBuilder
from compiler.frontend.sac.errors import SacError
from compiler.frontend.sac.syntax import Expression, Function, Node, Place

__all__ = ["Handlers", "Scope"]

Handlers = Mapping[type[Node], Callable[..., tuple[Value, ...]]]
"""What builds each kind of expression: called with the expression and a scope."""


@dataclass
class Scope:
    """Names of one body. Inner bodies may define a name again; the same body may not (single assignment)."""

    graph: GraphBuilder
    functions: Mapping[str, Function]
    records: Records
    handlers: Handlers
    parent: Scope | None = None
    names: dict[str, Value] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    carried: dict[str, Value] = field(default_factory=dict)
    """Values after ``next``, by name, as loops return them."""
    inputs: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Inputs of the graph that bring the values of the iteration before, in the body of a loop."""
    rank: int | None = None
    """Dimensions of the loop, in its body."""

    def inner(self, graph: GraphBuilder | None = None) -> Scope:
        """A body inside this one, in a `graph` of its own if there is one."""
        return Scope(graph or self.graph, self.functions, self.records, self.handlers, self)

    def define(self, name: str, value: Value, place: Place) -> None:
        """Give `name` a value. Raises `SacError` if this body has given it one."""
        if name in self.places:
            raise SacError(place, f"'{name}' is assigned twice in one body; the first time at line "
                                  f"{self.places[name].line}")
        self.names[name] = value
        self.places[name] = place

    def knows(self, name: str) -> bool:
        """Whether something has given `name` a value."""
        return name in self.names or (self.parent is not None and self.parent.knows(name))

    def find(self, name: str, place: Place) -> Value:
        """The value of `name`. Raises `SacError` if nothing has given it one."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        if name in self.functions:
            raise SacError(place, f"'{name}' is a function; a call of it is written {name}(...)")
        if name in self.records.bundles:
            raise SacError(place, f"'{name}' is a record; a value of it is written {name}(...)")
        raise SacError(place, f"'{name}' has no value here")

    def values(self, expression: Expression) -> tuple[Value, ...]:
        """The values of an expression that may have several."""
        return self.handlers[type(expression)](expression, self)

    def value(self, expression: Expression) -> Value:
        """The value of an expression. Raises `SacError` if it has several."""
        values = self.values(expression)
        if len(values) != 1:
            raise SacError(expression.place, f"one value is needed here, and this has {len(values)}")
        return values[0]

    def scalar(self, expression: Expression, what: str) -> Value:
        """The value of an expression that has to be a real scalar."""
        value = self.value(expression)
        if value.type.is_array or value.bundle:
            raise SacError(expression.place, f"{what} is a scalar, not {value}")
        return value
