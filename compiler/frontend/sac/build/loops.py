"""Loops to FORALL, FORNXT and WHILE nodes (Hammes 2000, sections 2.4 and 3.1.2)."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.frontend.sac.build.control import build_statements
from compiler.frontend.sac.build.generators import build_generators
from compiler.frontend.sac.build.reductions import build_return
from compiler.frontend.sac.build.scope import Scope
from compiler.frontend.sac.build.values import Value, assign, truth
from compiler.frontend.sac.ddcf.graph import GraphBuilder, Wire, finish_together
from compiler.frontend.sac.errors import SacError
from compiler.frontend.sac.syntax import Body, Loop, NextDefinition, Place, Pragma, While
from compiler.frontend.sac.types import Type

__all__ = ["LOOP_PRAGMAS", "build_for", "build_while"]

LOOP_PRAGMAS = {"stripmine": (1, 8), "block": (1, 8), "no_dfg": (0, 0), "no_unroll": (0, 0)}
"""Pragmas of ``for`` loops: the fewest and most numbers that each takes."""

WHILE_PRAGMAS = {"max_trips": (1, 1)}
"""The same of ``while`` loops."""


def build_for(node: Loop, scope: Scope) -> tuple[Value, ...]:
    """A ``for`` loop: FORNXT if it carries values, else FORALL."""
    for pragma in node.pragmas:
        _check_pragma(pragma, LOOP_PRAGMAS)
    graph = GraphBuilder(scope.graph)
    body = _body_scope(node.body, scope, graph, node.place)
    generated = build_generators(node.generators, scope, graph)
    for captured in generated.names:
        value = captured.value if captured.meant is None else assign(graph, captured.value, captured.meant,
                                                                     captured.place, f"'{captured.name}'")
        body.define(captured.name, value, captured.place)
    body.rank = len(generated.extents)
    build_statements(node.body, body)
    _check_carried(body)
    results = [build_return(written, body, generated.extents) for written in _returns(node.body, node.place)]
    return _finished(scope, "FORNXT" if body.inputs else "FORALL", graph, [], results, node)


def build_while(node: While, scope: Scope) -> tuple[Value, ...]:
    """A ``while`` loop: its condition is tested before each iteration, with the values of the one before."""
    for pragma in node.pragmas:
        _check_pragma(pragma, WHILE_PRAGMAS)
    graph = GraphBuilder(scope.graph)
    asked = graph.sibling()
    body = _body_scope(node.body, scope, graph, node.place)
    test = scope.inner(asked)
    for name, numbers in body.inputs.items():
        entering = iter(numbers)
        test.names[name] = body.names[name].map(lambda _, entering=entering: asked.local_input(next(entering)))
    condition = truth(asked, test.scalar(node.condition, "a condition"), node.condition.place)
    body.rank = 1
    build_statements(node.body, body)
    _check_carried(body)
    if not body.inputs:
        raise SacError(node.place, "the body of a while loop assigns no variable by next, so its condition never "
                                   "changes")
    results = [build_return(written, body, (None,)) for written in _returns(node.body, node.place)]
    return _finished(scope, "WHILE", graph, [(asked, [condition])], results, node)


def _body_scope(body: Body, scope: Scope, graph: GraphBuilder, place: Place) -> Scope:
    """The scope of a loop's body, in which variables that it carries are inputs of its own."""
    inner = scope.inner(graph)
    for statement in body.statements:
        for name in statement.names if isinstance(statement, NextDefinition) else ():
            if name.name in inner.inputs:
                continue
            before = scope.find(name.name, name.place)
            first = len(graph.inputs)
            inner.names[name.name] = before.map(lambda wire: graph.input(
                Type(wire.type.scalar, (None,) * wire.type.rank), scope.graph.local(wire)))
            inner.inputs[name.name] = tuple(range(first, len(graph.inputs)))
    return inner


def _check_carried(body: Scope) -> None:
    for name in body.inputs:
        if name in body.places:
            raise SacError(body.places[name], f"'{name}' is assigned by next in this body and cannot be defined in it")


def _returns(body: Body, place: Place) -> tuple:
    if not body.returns:
        raise SacError(place, "a loop is an expression and returns at least one value")
    return body.returns


def _finished(scope: Scope, kind: str, graph: GraphBuilder, before: list[tuple[GraphBuilder, list[Wire]]],
              results: list[Value], node: Loop | While) -> tuple[Value, ...]:
    """The loop's node and its results."""
    attributes = {"pragmas": tuple((p.name, *p.numbers) for p in node.pragmas)} if node.pragmas else {}
    wires = [wire for value in results for wire in value.wires]
    graphs = finish_together([*before, (graph, wires)])
    types = [wire.type for wire in wires]
    leaving = iter(scope.graph.add(kind, graph.sources, types, node.place, graphs, **attributes))
    return tuple(value.map(lambda _: next(leaving)) for value in results)


def _check_pragma(pragma: Pragma, known: Mapping[str, tuple[int, int]]) -> None:
    if pragma.name not in known:
        loops = "loops" if known is LOOP_PRAGMAS else "while loops"
        raise SacError(pragma.place, f"there is no pragma '{pragma.name}' of {loops}; there are: {', '.join(known)}")
    least, most = known[pragma.name]
    if not least <= len(pragma.numbers) <= most:
        wanted = f"{pragma.name} ({', '.join(map(str, range(4, 4 + min(2, most))))})" if most else pragma.name
        raise SacError(pragma.place, f"pragma '{pragma.name}' has {len(pragma.numbers)} numbers; it is written "
                                     f"// PRAGMA ({wanted})")
