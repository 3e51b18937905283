"""How passes change graphs: node by node, from the operands to what is made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from compiler.frontend.sac.ddcf.graph import Argument, Edge, Function, Graph, Module, Node, Operand, operand_type
from compiler.frontend.sac.passes.report import Report
from compiler.frontend.sac.types import Type

__all__ = ["Rebuilt", "Rewriter", "substitute", "with_operands"]


class Rebuilt:
    """A graph that is written anew."""

    def __init__(self, inputs: Sequence[Type]) -> None:
        self.inputs = list(inputs)
        self.nodes: list[Node] = []

    def add(self, node: Node) -> list[Operand]:
        """A node more; its outputs."""
        self.nodes.append(node)
        return [Edge(len(self.nodes) - 1, port) for port in range(len(node.outputs))]

    def type(self, operand: Operand) -> Type:
        """The type of what `operand` brings."""
        return operand_type(operand, self.inputs, self.nodes)

    def producer(self, operand: Operand) -> Node | None:
        """The node that `operand` comes from, None for inputs and constants."""
        return self.nodes[operand.number] if isinstance(operand, Edge) else None

    def splice(self, graph: Graph, operands: Sequence[Operand]) -> list[Operand]:
        """All nodes of `graph`, whose inputs are `operands`; what leaves it."""
        values = self.copy(graph.nodes, operands, [])
        return [substitute(operand, operands, values) for operand in graph.outputs]

    def copy(self, nodes: Sequence[Node], arguments: Sequence[Operand], before: Sequence[list[Operand]],
             put: Callable[[int, Node], list[Operand]] | None = None) -> list[list[Operand]]:
        """Copies of `nodes` of a graph whose inputs are `arguments` and whose first nodes, before these, gave `before`;
        what all of them give, by number. `put` adds what stands for a node, from its number and the node with its new
        operands, and says what that gives; by default it is that node."""
        values = list(before)
        for number, node in enumerate(nodes, len(before)):
            entering = tuple(substitute(operand, arguments, values) for operand in node.operands)
            copied = with_operands(node, entering)
            values.append(put(number, copied) if put else self.add(copied))
        return values

    def finish(self, outputs: Sequence[Operand]) -> Graph:
        """The graph with these outputs."""
        return Graph(tuple(self.inputs), tuple(self.nodes), tuple(outputs))


def substitute(operand: Operand, arguments: Sequence[Operand], values: Sequence[Sequence[Operand]]) -> Operand:
    """What stands for `operand` where inputs are `arguments` and outputs of nodes are `values`."""
    if isinstance(operand, Argument):
        return arguments[operand.number]
    if isinstance(operand, Edge):
        return values[operand.number][operand.port]
    return operand


def with_operands(node: Node, operands: tuple[Operand, ...]) -> Node:
    """`node` with other operands."""
    if operands == node.operands:
        return node
    return Node(node.kind, operands, node.outputs, node.attributes, node.graphs, node.place)


class Rewriter:
    """Writes every graph of a module anew. A pass says what becomes of a node; graphs inside it are done by then."""

    def __init__(self, report: Report | None = None) -> None:
        self.report = Report() if report is None else report

    def module(self, module: Module) -> Module:
        """All functions."""
        return Module(tuple(self.function(function) for function in module.functions))

    def function(self, function: Function) -> Function:
        """One function."""
        return replace(function, graph=self.graph(function.graph, function.graph.inputs))

    def graph(self, graph: Graph, inputs: Sequence[Type], known: Mapping[int, Operand] | None = None) -> Graph:
        """`graph` with inputs of these types. Those that are `known`, by number, are replaced inside, and stay
        unused."""
        out = Rebuilt(inputs)
        arguments: list[Operand] = [(known or {}).get(number, Argument(number)) for number in range(len(inputs))]
        values = out.copy(graph.nodes, arguments, [], lambda _, node: self.node(out, node))
        return out.finish([substitute(operand, arguments, values) for operand in graph.outputs])

    def node(self, out: Rebuilt, node: Node) -> list[Operand]:
        """What becomes of a node whose operands are those of `out`: its outputs there."""
        return out.add(self.within(out, node))

    def within(self, out: Rebuilt, node: Node) -> Node:
        """`node` with its graphs rewritten."""
        return replace(node, graphs=self.inner(out, node)) if node.graphs else node

    def inner(self, out: Rebuilt, node: Node) -> tuple[Graph, ...]:
        """The graphs of a compound node."""
        return tuple(self.graph(graph, graph.inputs) for graph in node.graphs)
