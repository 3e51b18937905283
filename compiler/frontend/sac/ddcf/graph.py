"""Nodes, edges and graphs. All of it is immutable; `GraphBuilder` makes graphs.

A compound node contains graphs whose inputs are the node's operands: values enter a graph there and nowhere else.
Edges go from a node to nodes behind it, so that a graph is acyclic by its order; the values that a loop carries go
from a NEXT node to an input of the graph, which the node's attribute ``input`` names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from compiler.frontend.sac.syntax import Place, Pragma
from compiler.frontend.sac.types import Scalar, Type

__all__ = ["Argument", "Attribute", "Constant", "Edge", "Function", "Graph", "GraphBuilder", "Module", "Node",
           "Operand", "Port", "Wire", "finish_together", "operand_type"]


@dataclass(frozen=True)
class Edge:
    """Output `port` of the node with `number` in the same graph."""

    number: int
    port: int = 0


@dataclass(frozen=True)
class Argument:
    """Input `number` of the graph."""

    number: int


@dataclass(frozen=True)
class Constant:
    """A number: the integer that holds it (`compiler.frontend.sac.types`), or a float."""

    value: int | float
    scalar: Scalar


Operand = Edge | Argument | Constant
Attribute = int | str | tuple["Attribute | None", ...]


@dataclass(frozen=True)
class Node:
    """One node: its `kind` (`compiler.frontend.sac.ddcf.kinds`), what enters, the types of what leaves."""

    kind: str
    operands: tuple[Operand, ...]
    outputs: tuple[Type, ...]
    attributes: tuple[tuple[str, Attribute], ...] = ()
    graphs: tuple[Graph, ...] = ()
    place: Place | None = field(default=None, compare=False)

    def attribute(self, name: str) -> Attribute:
        """The attribute of this name, which the node's kind has."""
        return dict(self.attributes)[name]

    def number(self, name: str) -> int:
        """An attribute that is an integer."""
        value = self.attribute(name)
        assert isinstance(value, int)
        return value


@dataclass(frozen=True)
class Graph:
    """Nodes in an order in which they can be computed, and what leaves the graph."""

    inputs: tuple[Type, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Operand, ...]

    def type(self, operand: Operand) -> Type:
        """The type of what `operand` brings."""
        return operand_type(operand, self.inputs, self.nodes)

    def walk(self) -> Iterator[Node]:
        """All nodes, those inside compound nodes too."""
        for node in self.nodes:
            yield node
            for graph in node.graphs:
                yield from graph.walk()


def operand_type(operand: Operand, inputs: Sequence[Type], nodes: Sequence[Node]) -> Type:
    """The type of what `operand` brings in a graph with these inputs and nodes."""
    if isinstance(operand, Constant):
        return Type(operand.scalar)
    if isinstance(operand, Argument):
        return inputs[operand.number]
    return nodes[operand.number].outputs[operand.port]


@dataclass(frozen=True)
class Function:
    """A function by name; `parameters` and `results` group the graph's inputs and outputs as the source has them: a
    complex value is two of them."""

    name: str
    graph: Graph
    parameters: tuple[Port, ...]
    results: tuple[Port, ...]
    pragmas: tuple[Pragma, ...] = field(default=(), compare=False)
    place: Place | None = field(default=None, compare=False)

    @property
    def result_types(self) -> tuple[Type, ...]:
        """Types of all outputs of the graph."""
        return tuple(type_ for port in self.results for type_ in port.types)


@dataclass(frozen=True)
class Port:
    """A parameter or a result: its name and the types of the graph's inputs or outputs it takes."""

    name: str
    types: tuple[Type, ...]


@dataclass(frozen=True)
class Module:
    """All functions of a program."""

    functions: tuple[Function, ...]

    def function(self, name: str) -> Function:
        """The function of this name. Raises `KeyError` if there is none."""
        return {function.name: function for function in self.functions}[name]


@dataclass(frozen=True)
class Wire:
    """A value while graphs are built: `operand` inside the graph of `owner`, or a constant, which has no owner."""

    operand: Operand
    type: Type
    owner: GraphBuilder | None = field(default=None, compare=False)


class GraphBuilder:
    """A graph that grows. A wire of an enclosing graph becomes an input as soon as it is used."""

    def __init__(self, parent: GraphBuilder | None = None) -> None:
        self.parent = parent
        self.inputs: list[Type] = []
        self.sources: list[Wire] = []
        """What enters each input, as wires of the parent (empty for a function)."""
        self.nodes: list[Node] = []
        self._imported: dict[tuple[int, Operand], int] = {}

    def sibling(self) -> GraphBuilder:
        """An empty graph of the same compound node: both have all inputs of either."""
        other = GraphBuilder(self.parent)
        other.inputs, other.sources, other._imported = self.inputs, self.sources, self._imported
        return other

    def input(self, type_: Type, source: Wire | None = None) -> Wire:
        """A new input, which `source`, a wire of the parent, enters."""
        self.inputs.append(type_)
        if source is not None:
            self.sources.append(source)
        return Wire(Argument(len(self.inputs) - 1), type_, self)

    def local_input(self, number: int) -> Wire:
        """Input `number`, which a sibling may have made."""
        return Wire(Argument(number), self.inputs[number], self)

    def local(self, wire: Wire) -> Wire:
        """`wire` inside this graph."""
        if wire.owner is self or wire.owner is None:
            return wire
        if self.parent is None:
            raise AssertionError("a wire of another function")
        key = (id(wire.owner), wire.operand)
        if key not in self._imported:
            self.input(wire.type, self.parent.local(wire))
            self._imported[key] = len(self.inputs) - 1
        return Wire(Argument(self._imported[key]), wire.type, self)

    def add(self, kind: str, operands: Sequence[Wire], outputs: Sequence[Type], place: Place | None = None,
            graphs: tuple[Graph, ...] = (), **attributes: Attribute) -> list[Wire]:
        """A new node; its outputs."""
        locals_ = tuple(self.local(wire).operand for wire in operands)
        self.nodes.append(Node(kind, locals_, tuple(outputs), tuple(sorted(attributes.items())), graphs, place))
        return [Wire(Edge(len(self.nodes) - 1, port), type_, self) for port, type_ in enumerate(outputs)]

    def finish(self, outputs: Sequence[Wire]) -> Graph:
        """The graph with these outputs."""
        return finish_together([(self, outputs)])[0]


def finish_together(graphs: Sequence[tuple[GraphBuilder, Sequence[Wire]]]) -> tuple[Graph, ...]:
    """Graphs of one compound node, which have all inputs of each other, with their outputs."""
    leaving = [tuple(builder.local(wire).operand for wire in outputs) for builder, outputs in graphs]
    return tuple(Graph(tuple(builder.inputs), tuple(builder.nodes), operands)
                 for (builder, _), operands in zip(graphs, leaving, strict=True))
