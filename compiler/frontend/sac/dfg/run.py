"""Programs whose loops run as dataflow graphs, and the rest on the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from compiler.frontend.sac.ddcf.generators import open_generator
from compiler.frontend.sac.ddcf.graph import Module, Node
from compiler.frontend.sac.ddcf.interpret import Interpreter
from compiler.frontend.sac.dfg.loops import LoopFate, convert_loops
from compiler.frontend.sac.dfg.simulate import simulate

__all__ = ["Execute", "run_on_dfgs", "simulate_loop"]

Execute = Callable[[LoopFate, Sequence[np.ndarray], Sequence[int]], list[np.ndarray] | None]
"""Runs the graph of a loop for its operands and extents. Returns its results, or None to leave it to the host."""


def simulate_loop(fate: LoopFate, operands: Sequence[np.ndarray], extents: Sequence[int]) -> list[np.ndarray]:
    """The results of a loop, token by token."""
    assert fate.dfg is not None and fate.interface is not None
    memory, targets = fate.interface.prepare(operands, extents)
    simulate(fate.dfg, memory)
    return fate.interface.collect(memory, targets)


def run_on_dfgs(module: Module, function: str, inputs: Sequence[np.ndarray], execute: Execute = simulate_loop
                ) -> list[np.ndarray]:
    """What `compiler.frontend.sac.ddcf.interpret` computes, with every loop that can be a dataflow graph run by
    `execute`: simulated token by token.

    An index outside an array is no error in a graph: 0 is read there, and labels outside a result are dropped.
    """
    return _Host(module, execute).outputs(function, inputs)


class _Host(Interpreter):
    """An interpreter that gives loops away."""

    def __init__(self, module: Module, execute: Execute) -> None:
        super().__init__(module)
        self.execute = execute
        self.graphs = {id(fate.loop): fate for fate in convert_loops(module) if fate.dfg is not None}

    def loop(self, node: Node, operands: Sequence[np.ndarray], size: int) -> list[np.ndarray]:
        """The results of a loop, row by row of the batch."""
        found = self.graphs.get(id(node))
        if found is None:
            return super().loop(node, operands, size)
        rows = [self._row(node, found, [value[row:row + 1] for value in operands]) for row in range(size)]
        return [np.stack(values) for values in zip(*rows, strict=True)]

    def _row(self, node: Node, fate: LoopFate, operands: Sequence[np.ndarray]) -> list[np.ndarray]:
        graph = node.graphs[0]
        entering = self.operands(graph, graph.nodes[0], operands, (), 1)
        extents = open_generator(graph.nodes[0], entering, 1).extents
        results = self.execute(fate, [value[0] for value in operands], extents)
        return [values[0] for values in Interpreter.loop(self, node, operands, 1)] if results is None else results
