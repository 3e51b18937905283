"""The meaning of graphs: they run on numpy arrays, all iterations of a loop that carries nothing at once.

Every value has a leading axis, the *batch*: one row for each iteration of the loops around it. Where iterations need
arrays of different extents, `Divergence` ends the batch and the loop runs them one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from compiler.frontend.sac.arithmetic import dtype
from compiler.frontend.sac.ddcf.batch import Batch, Divergence
from compiler.frontend.sac.ddcf.graph import Constant, Edge, Function, Graph, Module, Node, Operand
from compiler.frontend.sac.ddcf.kinds import LOOP_KINDS, RETURN_KINDS
from compiler.frontend.sac.ddcf.loops import Loops
from compiler.frontend.sac.ddcf.nodes import evaluate

__all__ = ["Interpreter", "interpret", "interpret_rows"]


def interpret(module: Module, function: str, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The outputs of a function's graph for `inputs`, one array for each input of the graph (0-D for a scalar).

    Numbers of integer and fixed-point types are the integers that hold them. Raises `SacRunError` with the place in the
    source for an index outside an array, shapes that do not agree, a division by zero, a loop without end.
    """
    return Interpreter(module).outputs(function, inputs)


def interpret_rows(module: Module, function: str, inputs: Sequence[np.ndarray], size: int) -> list[np.ndarray]:
    """The same for `size` runs at once: a row of each input and output for each run, whose arrays have equal shapes."""
    return Interpreter(module).graph(module.function(function).graph, inputs, size)


class Interpreter(Loops):
    """Executions of one module. A class that inherits may run loops in another way (`loop`)."""

    def __init__(self, module: Module) -> None:
        self.functions: Mapping[str, Function] = {f.name: f for f in module.functions}
        self.indices = []

    def outputs(self, function: str, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The outputs of a function's graph for one row of inputs, as `interpret` has it."""
        graph = self.functions[function].graph
        values = [np.asarray(value, dtype=dtype(type_.scalar))[np.newaxis]
                  for value, type_ in zip(inputs, graph.inputs, strict=True)]
        return [value[0] for value in self.graph(graph, values, 1)]

    def graph(self, graph: Graph, inputs: Sequence[np.ndarray], size: int) -> list[np.ndarray]:
        """The outputs of `graph` for a batch of `size`."""
        done = self.nodes(graph, inputs, size)
        return [_operand(operand, inputs, done, size) for operand in graph.outputs]

    def nodes(self, graph: Graph, inputs: Sequence[np.ndarray], size: int, first: Sequence[list[np.ndarray]] = ()
              ) -> list[list[np.ndarray]]:
        """What all nodes give; the `first` ones are known. Those that end a loop give nothing."""
        done = list(first)
        for node in graph.nodes[len(done):]:
            ends = node.kind in RETURN_KINDS or node.kind == "NEXT"
            done.append([] if ends else self.node(graph, node, inputs, done, size))
        return done

    def operands(self, graph: Graph, node: Node, inputs: Sequence[np.ndarray], done: Sequence[list[np.ndarray]],
                 size: int) -> list[np.ndarray]:
        """What enters a node of the graph."""
        return [_operand(operand, inputs, done, size) for operand in node.operands]

    def node(self, graph: Graph, node: Node, inputs: Sequence[np.ndarray], done: Sequence[list[np.ndarray]], size: int
             ) -> list[np.ndarray]:
        """What a node gives that ends no loop; `done` has what nodes before it give."""
        operands = self.operands(graph, node, inputs, done, size)
        if node.kind == "FCALL":
            return self.graph(self.functions[str(node.attribute("function"))].graph, operands, size)
        if node.kind == "SWITCH":
            return self.switch(node, operands, size)
        if node.kind in LOOP_KINDS:
            return self.loop(node, operands, size)
        if node.kind == "LOOP_INDICES":
            return list(self.indices[-1])
        return evaluate(node, Batch(size, operands, [graph.type(operand).scalar for operand in node.operands]))

    def switch(self, node: Node, operands: list[np.ndarray], size: int) -> list[np.ndarray]:
        """Each row goes to the case that its key selects, and nowhere else."""
        key, *inputs = operands
        left = np.ones(size, dtype=bool)
        results: list[tuple[np.ndarray, list[np.ndarray]]] = []
        selectors = node.attribute("selectors")
        assert isinstance(selectors, tuple)
        for graph, numbers in zip(node.graphs, selectors, strict=True):
            rows = left if numbers is None else left & np.isin(key, np.asarray(numbers, dtype=np.int64))
            left = left & ~rows
            chosen = np.flatnonzero(rows)
            if len(chosen):
                whole = len(chosen) == size
                taken = inputs if whole else [value[chosen] for value in inputs]
                results.append((chosen, self.graph(graph, taken, len(chosen))))
        return [_merged(size, [(rows, values[port]) for rows, values in results])
                for port in range(len(node.outputs))]


def _operand(operand: Operand, inputs: Sequence[np.ndarray], done: Sequence[list[np.ndarray]], size: int
             ) -> np.ndarray:
    """The rows that `operand` brings."""
    if isinstance(operand, Constant):
        return np.broadcast_to(np.asarray(operand.value, dtype=dtype(operand.scalar)), (size,))
    if isinstance(operand, Edge):
        return done[operand.number][operand.port]
    return inputs[operand.number]


def _merged(size: int, parts: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    if len(parts) == 1:
        return parts[0][1]
    shapes = {values.shape[1:] for _, values in parts}
    if len(shapes) > 1:
        raise Divergence
    merged = np.empty((size, *shapes.pop()), dtype=parts[0][1].dtype)
    for rows, values in parts:
        merged[rows] = values
    return merged
