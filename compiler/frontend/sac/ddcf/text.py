"""Text form of graphs: `print_module` and its inverse `parse_module`. The grammar is ``module.lark``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

import lark
from lark import Transformer

from compiler.frontend.sac.ddcf.graph import (
    Argument,
    Attribute,
    Constant,
    Edge,
    Function,
    Graph,
    Module,
    Node,
    Operand,
    Port,
)
from compiler.frontend.sac.syntax import Place
from compiler.frontend.sac.types import Type, parse_scalar
from compiler.ir.types import ProgramError

__all__ = ["parse_module", "print_module"]


def print_module(module: Module) -> str:
    """The text of `module`; `parse_module` gives an equal one back."""
    return "\n".join(line for function in module.functions for line in _function_lines(function)) + "\n"


def _function_lines(function: Function) -> Iterator[str]:
    ports = ", ".join(f"{port.name}: {_port_text(port)}" for port in function.parameters)
    results = ", ".join(f"{port.name}: {_port_text(port)}" for port in function.results)
    yield f"function {function.name}({ports}) -> ({results}) {{"
    yield from _graph_lines(function.graph)
    yield "}"


def _port_text(port: Port) -> str:
    text = ", ".join(map(str, port.types))
    return text if len(port.types) == 1 else f"{{{text}}}"


def _graph_lines(graph: Graph) -> Iterator[str]:
    if graph.inputs:
        yield f"  inputs {', '.join(map(str, graph.inputs))}"
    for number, node in enumerate(graph.nodes):
        types = f": {', '.join(map(str, node.outputs))}" if node.outputs else ""
        head = f"  %{number}{types} = {node.kind}{_attributes_text(node)}({_operands_text(node.operands)})"
        head += f" at {json.dumps(node.place.file)}:{node.place.line}:{node.place.column}" if node.place else ""
        for inner in node.graphs:
            yield f"{head} {{"
            yield from (f"  {line}" for line in _graph_lines(inner))
            head = "  }"
        yield head
    yield f"  return {_operands_text(graph.outputs)}".rstrip()


def _operands_text(operands: tuple[Operand, ...]) -> str:
    return ", ".join(map(_operand_text, operands))


def _operand_text(operand: Operand) -> str:
    if isinstance(operand, Constant):
        value = operand.value
        return f"{value.hex() if isinstance(value, float) else value}:{operand.scalar}"
    if isinstance(operand, Argument):
        return f"^{operand.number}"
    return f"%{operand.number}" + (f".{operand.port}" if operand.port else "")


def _attributes_text(node: Node) -> str:
    if not node.attributes:
        return ""
    return f"<{', '.join(f'{name}={_attribute_text(value)}' for name, value in node.attributes)}>"


def _attribute_text(value: Attribute | None) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_attribute_text, value))}]"
    return "none" if value is None else json.dumps(value)


def parse_module(text: str) -> Module:
    """The module whose text is `text`. Raises `ProgramError` with the line for what is none."""
    try:
        return _Modules().transform(_parser().parse(text))
    except lark.exceptions.VisitError as error:
        raise error.orig_exc from None
    except lark.UnexpectedInput as error:
        raise ProgramError(f"line {error.line}, column {error.column}: this is no text of a graph") from None


@cache
def _parser() -> lark.Lark:
    grammar = files(__package__ or "").joinpath("module.lark").read_text(encoding="utf-8")
    return lark.Lark(grammar, parser="lalr", maybe_placeholders=False)


class _Modules(Transformer):
    """Trees of the grammar to graphs, from the leaves up."""

    def start(self, children: list[Any]) -> Module:
        return Module(tuple(children))

    def function(self, children: list[Any]) -> Function:
        name, *rest, graph = children
        parameters = next((c for c in rest if isinstance(c, list)), [])
        results = next((c for c in rest if isinstance(c, tuple)), ())
        return Function(str(name), graph, tuple(parameters), results)

    def ports(self, children: list[Any]) -> list[Port]:
        return children

    def port(self, children: list[Any]) -> Port:
        return Port(str(children[0]), children[1])

    def results(self, children: list[Any]) -> tuple:
        return tuple(children)

    def types(self, children: list[Any]) -> tuple[Type, ...]:
        return tuple(children)

    def type(self, children: list[Any]) -> Type:
        return Type(parse_scalar(children[0]), tuple(children[1:]))

    def extent(self, children: list[Any]) -> int | None:
        return None if children[0].type == "COLON" else int(children[0])

    def graph(self, children: list[Any]) -> Graph:
        inputs = tuple(c for c in children if isinstance(c, Type))
        nodes = tuple(c for c in children if isinstance(c, Node))
        return Graph(inputs, nodes, tuple(c for c in children if isinstance(c, Edge | Argument | Constant)))

    def node(self, children: list[Any]) -> Node:
        kind = next(c for c in children[1:] if isinstance(c, lark.Token))
        attributes = next((c for c in children if isinstance(c, list)), [])
        return Node(str(kind), tuple(c for c in children if isinstance(c, Edge | Argument | Constant)),
                    tuple(c for c in children if isinstance(c, Type)), tuple(attributes),
                    tuple(c for c in children if isinstance(c, Graph)),
                    next((c for c in children if isinstance(c, Place)), None))

    def place(self, children: list[Any]) -> Place:
        return Place(json.loads(children[0]), int(children[1]), int(children[2]))

    def attributes(self, children: list[Any]) -> list[Any]:
        return children

    def attribute(self, children: list[Any]) -> tuple[str, Attribute | None]:
        return str(children[0]), children[1]

    def whole(self, children: list[Any]) -> int:
        return int(children[0])

    def text(self, children: list[Any]) -> str:
        return json.loads(children[0])

    def nothing(self, children: list[Any]) -> None:
        return None

    def list(self, children: list[Any]) -> tuple:
        return tuple(children)

    def edge(self, children: list[Any]) -> Edge:
        number, _, port = children[0][1:].partition(".")
        return Edge(int(number), int(port or 0))

    def argument(self, children: list[Any]) -> Argument:
        return Argument(int(children[0][1:]))

    def constant(self, children: list[Any]) -> Constant:
        scalar = parse_scalar(children[1])
        return Constant(float.fromhex(children[0]) if scalar.floating else int(children[0]), scalar)
