"""Text form of dataflow graphs: `print_dfgs` and its inverse `parse_dfgs`. The grammar is ``dfg.lark``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import lark
from lark import Transformer

from compiler.frontend.sac.ddcf.graph import Argument, Edge
from compiler.frontend.sac.dfg.graph import Dfg, DfgNode, Input, Operand, Word
from compiler.frontend.sac.syntax import Place
from compiler.ir.types import ProgramError

__all__ = ["parse_dfgs", "print_dfgs"]


def print_dfgs(graphs: Sequence[Dfg]) -> str:
    """The text of `graphs`; `parse_dfgs` gives equal ones back."""
    return "".join(f"{line}\n" for graph in graphs for line in _lines(graph))


def _lines(graph: Dfg) -> Iterator[str]:
    yield f"dfg {graph.name} {{"
    if graph.inputs:
        yield f"  inputs {', '.join(f'{each.name}: {each.width}' for each in graph.inputs)}"
    for number, node in enumerate(graph.nodes):
        attributes = ", ".join(f"{name}={json.dumps(value)}" for name, value in node.attributes)
        head = f"  %{number}: {', '.join(map(str, node.widths))} = {node.kind}{f'<{attributes}>' if attributes else ''}"
        head += f"({', '.join(map(_operand, node.operands))})"
        yield head + (f" at {json.dumps(node.place.file)}:{node.place.line}:{node.place.column}" if node.place else "")
    yield f"  return {_operand(graph.output)}"
    yield "}"


def _operand(operand: Operand) -> str:
    if isinstance(operand, Word):
        return f"{operand.value}:{operand.width}"
    if isinstance(operand, Argument):
        return f"^{operand.number}"
    return f"%{operand.number}" + (f".{operand.port}" if operand.port else "")


def parse_dfgs(text: str) -> list[Dfg]:
    """The graphs whose text is `text`. Raises `ProgramError` with the line for what is none."""
    try:
        return _Graphs().transform(_parser().parse(text))
    except lark.UnexpectedInput as error:
        raise ProgramError(f"line {error.line}, column {error.column}: this is no text of a dataflow graph") from None


@cache
def _parser() -> lark.Lark:
    grammar = files(__package__ or "").joinpath("dfg.lark").read_text(encoding="utf-8")
    return lark.Lark(grammar, parser="lalr", maybe_placeholders=False)


class _Graphs(Transformer):
    """Trees of the grammar to graphs, from the leaves up."""

    def start(self, children: list[Any]) -> list[Dfg]:
        return children

    def graph(self, children: list[Any]) -> Dfg:
        name, *rest, output = children
        return Dfg(str(name), tuple(c for c in rest if isinstance(c, Input)),
                   tuple(c for c in rest if isinstance(c, DfgNode)), output)

    def input(self, children: list[Any]) -> Input:
        return Input(str(children[0]), int(children[1]))

    def node(self, children: list[Any]) -> DfgNode:
        _, widths, kind, *rest = children
        attributes = next((c for c in rest if isinstance(c, list)), [])
        return DfgNode(str(kind), tuple(c for c in rest if isinstance(c, Edge | Argument | Word)), widths,
                       tuple(attributes), next((c for c in rest if isinstance(c, Place)), None))

    def widths(self, children: list[Any]) -> tuple[int, ...]:
        return tuple(map(int, children))

    def place(self, children: list[Any]) -> Place:
        return Place(json.loads(children[0]), int(children[1]), int(children[2]))

    def attributes(self, children: list[Any]) -> list[Any]:
        return children

    def whole(self, children: list[Any]) -> tuple[str, int]:
        return str(children[0]), int(children[1])

    def text(self, children: list[Any]) -> tuple[str, str]:
        return str(children[0]), json.loads(children[1])

    def edge(self, children: list[Any]) -> Edge:
        number, _, port = children[0][1:].partition(".")
        return Edge(int(number), int(port or 0))

    def argument(self, children: list[Any]) -> Argument:
        return Argument(int(children[0][1:]))

    def word(self, children: list[Any]) -> Word:
        return Word(int(children[0]), int(children[1]))
