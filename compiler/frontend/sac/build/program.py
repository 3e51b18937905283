"""Functions and whole programs (Hammes 2000, section 2.6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import networkx

from compiler.frontend.sac.build.bundles import Records, declare_records
from compiler.frontend.sac.build.calls import build_call
from compiler.frontend.sac.build.control import build_if, build_statements, build_switch
from compiler.frontend.sac.build.expressions import (
    build_binary,
    build_cast,
    build_field,
    build_literal,
    build_name,
    build_section,
    build_unary,
)
from compiler.frontend.sac.build.loops import build_for, build_while
from compiler.frontend.sac.build.scope import Handlers, Scope
from compiler.frontend.sac.build.values import assign, take_value
from compiler.frontend.sac.ddcf.graph import Function, GraphBuilder, Module, Port
from compiler.frontend.sac.errors import SacError
from compiler.frontend.sac.foreign import NUMPY, find_foreign
from compiler.frontend.sac.syntax import (
    Binary,
    Call,
    Cast,
    Expression,
    Field,
    If,
    Literal,
    Loop,
    Name,
    Parameter,
    Record,
    Section,
    Switch,
    Unary,
    While,
    walk,
)
from compiler.frontend.sac.syntax import Function as WrittenFunction

__all__ = ["build_module"]

_HANDLERS: Handlers = {
    Literal: build_literal, Name: build_name, Binary: build_binary, Unary: build_unary, Cast: build_cast,
    Section: build_section, Field: build_field, Call: build_call, If: build_if, Switch: build_switch, Loop: build_for,
    While: build_while,
}

_PROTOTYPE_PRAGMAS = ("foreign",)
FUNCTION_PRAGMAS = ("lookup", "no_inline", "no_dfg")


def build_module(written: Sequence[WrittenFunction | Record]) -> Module:
    """The graphs of all functions. Records are there no more: what was one is its components.

    Raises `SacError`, with file, line and column, for everything that is wrong with a program before it runs: names,
    types, ranks, records, assignments to one name twice,
    recursion.
    """
    records = declare_records([part for part in written if isinstance(part, Record)])
    known = _declared([part for part in written if isinstance(part, WrittenFunction)], records)
    _check_recursion(known)
    return Module(tuple(_build_function(f, known, records) for f in known.values() if f.body is not None))


def _declared(functions: Sequence[WrittenFunction], records: Records) -> dict[str, WrittenFunction]:
    """Functions by name, prototypes where there is nothing else."""
    found: dict[str, WrittenFunction] = {}
    for function in functions:
        if function.body is None:
            _check_pragmas(function, _PROTOTYPE_PRAGMAS)
        if function.name in records.bundles:
            raise SacError(function.place, f"'{function.name}' is a record, and a function has another name")
        before = found.get(function.name)
        if before is not None:
            _check_same(before, function, records)
        if before is None or before.body is None:
            found[function.name] = function
    missing = [f for f in found.values() if f.body is None and not f.is_foreign]
    for function in found.values():
        if function.is_foreign:
            _check_foreign(function, records)
        if function.is_foreign and function.body is None and find_foreign(function.name) is None:
            raise SacError(function.place, f"there is no foreign function '{function.name}': register_foreign(...) "
                                           f"adds one; of numpy there are {', '.join(NUMPY)}")
    if missing:
        raise SacError(missing[0].place, f"'{missing[0].name}' has a prototype and no body")
    return found


def _check_foreign(function: WrittenFunction, records: Records) -> None:
    for written in (*(parameter.type for parameter in function.parameters), *function.results):
        if records.meant(written).is_record:
            raise SacError(written.place, f"foreign function '{function.name}' takes and gives numbers and arrays of "
                                          f"them, not {records.meant(written)}: name its fields")


def _check_same(before: WrittenFunction, function: WrittenFunction, records: Records) -> None:
    if before.body is not None and function.body is not None:
        raise SacError(function.place, f"'{function.name}' is defined twice; the first time at line "
                                       f"{before.place.line}")
    for one, other in ((before.results, function.results),
                       (tuple(p.type for p in before.parameters), tuple(p.type for p in function.parameters))):
        if list(map(records.meant, one)) != list(map(records.meant, other)):
            raise SacError(function.place, f"'{function.name}' and its prototype at line "
                                           f"{min(before.place.line, function.place.line)} have different types")


def _check_recursion(functions: Mapping[str, WrittenFunction]) -> None:
    calls = networkx.DiGraph()
    for function in functions.values():
        calls.add_node(function.name)
        calls.add_edges_from((function.name, node.function) for node in walk(function.body)
                             if isinstance(node, Call) and node.function in functions)
    for group in networkx.strongly_connected_components(calls):
        name = min(group, key=lambda n: (functions[n].place.line, functions[n].place.column))
        if len(group) > 1 or calls.has_edge(name, name):
            others = f" through {', '.join(sorted(group - {name}))}" if len(group) > 1 else ""
            raise SacError(functions[name].place, f"'{name}' calls itself{others}: functions are not recursive")


def _build_function(function: WrittenFunction, functions: Mapping[str, WrittenFunction], records: Records) -> Function:
    assert function.body is not None
    _check_pragmas(function, FUNCTION_PRAGMAS)
    graph = GraphBuilder()
    scope = Scope(graph, functions, records, _HANDLERS)
    parameters = [port for parameter in function.parameters for port in _parameter(parameter, scope)]
    build_statements(function.body, scope)
    values = [v for written in function.body.returns for v in scope.values(written)]
    if len(values) != len(function.results):
        raise SacError(function.body.place, f"'{function.name}' returns {len(values)} values and is declared with "
                                            f"{len(function.results)}")
    meants = [records.meant(result) for result in function.results]
    results = [assign(graph, value, meant, function.body.place, f"result {number} of '{function.name}'")
               for number, (value, meant) in enumerate(zip(values, meants, strict=True), 1)]
    built = graph.finish([wire for value in results for wire in value.wires])
    names = _result_names(function.body.returns, len(meants))
    return Function(function.name, built, tuple(parameters),
                    tuple(port for name, meant in zip(names, meants, strict=True) for port in meant.ports(name)),
                    function.pragmas, function.place)


def _result_names(returned: Sequence[Expression], count: int) -> list[str]:
    """The variables that are returned, where each value is one and all differ, else ``result1``, ``result2``…"""
    names = [written.name for written in returned if isinstance(written, Name)]
    return names if len(set(names)) == len(returned) == count else [f"result{n}" for n in range(1, count + 1)]


def _parameter(parameter: Parameter, scope: Scope) -> tuple[Port, ...]:
    meant = scope.records.meant(parameter.type)
    name = parameter.name or ""
    scope.define(name, take_value(meant, map(scope.graph.input, meant.types)), parameter.place)
    return meant.ports(name)


def _check_pragmas(function: WrittenFunction, known: Sequence[str]) -> None:
    kind = "functions" if function.body is not None else "prototypes"
    for pragma in function.pragmas:
        if pragma.name not in known:
            raise SacError(pragma.place, f"there is no pragma '{pragma.name}' of {kind}; there are: "
                                         f"{', '.join(known)}")
        if pragma.numbers:
            raise SacError(pragma.place, f"pragma '{pragma.name}' takes no numbers")
