"""How loops run: in batches, or one iteration after the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from compiler.frontend.sac.ddcf.batch import Divergence
from compiler.frontend.sac.ddcf.generators import Generator, open_generator
from compiler.frontend.sac.ddcf.graph import Argument, Graph, Node
from compiler.frontend.sac.ddcf.kinds import RETURN_KINDS
from compiler.frontend.sac.ddcf.returns import Collected, reduce_loop
from compiler.frontend.sac.errors import SacRunError
from compiler.frontend.sac.limits import SAC_LIMITS

__all__ = ["Loops"]

_ROWS = 1 << 16
"""Iterations that run at once."""

_ELEMENTS = 1 << 26
"""Elements of an array, one for each iteration, that are held at once."""


class Loops(ABC):
    """The part of the interpreter that runs loops."""

    indices: list[Sequence[np.ndarray]]
    """Indices of the iterations that run, of each loop around."""

    @abstractmethod
    def nodes(self, graph: Graph, inputs: Sequence[np.ndarray], size: int, first: Sequence[list[np.ndarray]] = ()
              ) -> list[list[np.ndarray]]:
        """What all nodes give; the `first` ones are known. Those that end a loop give nothing."""

    @abstractmethod
    def graph(self, graph: Graph, inputs: Sequence[np.ndarray], size: int) -> list[np.ndarray]:
        """The outputs of a graph."""

    @abstractmethod
    def operands(self, graph: Graph, node: Node, inputs: Sequence[np.ndarray], done: Sequence[list[np.ndarray]],
                 size: int) -> list[np.ndarray]:
        """What enters a node of the graph."""

    def loop(self, node: Node, operands: Sequence[np.ndarray], size: int) -> list[np.ndarray]:
        """The results of a loop, for each of the `size` rows."""
        if node.kind == "WHILE":
            return self._while(node, operands, size)
        graph = node.graphs[0]
        generator = open_generator(graph.nodes[0], [*self.operands(graph, graph.nodes[0], operands, (), size)], size)
        if node.kind == "FORALL":
            collected = self._parallel(graph, generator, operands, size)
            return reduce_loop(graph, collected, generator.extents, {})
        return self._sequential(graph, generator, operands, size)

    def _parallel(self, graph: Graph, generator: Generator, operands: Sequence[np.ndarray], size: int) -> Collected:
        collected = Collected(graph, operands, size)
        total = size * generator.count
        used = _used(graph)
        most = max((array[0].size for k, array in enumerate(operands) if k in used and len(array) > 1), default=1)
        step = max(1, min(_ROWS, _ELEMENTS // max(1, most)))
        for first in range(0, total, step):
            numbers = np.arange(first, min(first + step, total))
            try:
                collected.add(self._iterations(graph, generator, operands, numbers))
            except Divergence:
                if len(numbers) == 1:
                    raise
                for number in numbers:
                    collected.add(self._iterations(graph, generator, operands, np.asarray([number])))
        return collected

    def _iterations(self, graph: Graph, generator: Generator, operands: Sequence[np.ndarray], numbers: np.ndarray
                    ) -> list[list[np.ndarray]]:
        """What enters the nodes that end the loop, for iterations by number, all rows' one behind the other."""
        rows, within = np.divmod(numbers, generator.count)
        indices = np.unravel_index(within, generator.extents)
        used = _used(graph)
        inputs = [_spread(value, rows) if k in used else value for k, value in enumerate(operands)]
        return self._body(graph, inputs, [generator.capture(rows, indices)], indices, len(numbers))[0]

    def _body(self, graph: Graph, inputs: Sequence[np.ndarray], captured: Sequence[list[np.ndarray]],
              indices: Sequence[np.ndarray], size: int
              ) -> tuple[list[list[np.ndarray]], dict[int, np.ndarray]]:
        """What enters the nodes that end the loop, and what the loop carries on, by number of the input."""
        self.indices.append(indices)
        done = self.nodes(graph, inputs, size, captured)
        self.indices.pop()
        ends = [self.operands(graph, node, inputs, done, size) for node in graph.nodes if node.kind in RETURN_KINDS]
        carried = {node.number("input"): self.operands(graph, node, inputs, done, size)[0]
                   for node in graph.nodes if node.kind == "NEXT"}
        return ends, carried

    def _sequential(self, graph: Graph, generator: Generator, operands: Sequence[np.ndarray], size: int
                    ) -> list[np.ndarray]:
        inputs = list(operands)
        rows = np.arange(size)
        collected = Collected(graph, operands, size, by_iteration=True)
        for number in range(generator.count):
            indices = [np.full(size, index) for index in np.unravel_index(number, generator.extents)]
            ends, carried = self._body(graph, inputs, [generator.capture(rows, indices)], indices, size)
            collected.add(ends)
            for position, value in carried.items():
                inputs[position] = value
        final = {node.number("input"): inputs[node.number("input")] for node in graph.nodes if node.kind == "NEXT"}
        return reduce_loop(graph, collected, generator.extents, final)

    def _while(self, node: Node, operands: Sequence[np.ndarray], size: int) -> list[np.ndarray]:
        """Row by row: each has its own number of iterations."""
        found = [self._while_row(node, [value[row:row + 1] for value in operands]) for row in range(size)]
        results = []
        for port in range(len(node.outputs)):
            shapes = {values[port].shape for values in found}
            if len(shapes) > 1:
                raise Divergence
            results.append(np.concatenate([values[port] for values in found]))
        return results

    def _while_row(self, node: Node, operands: list[np.ndarray]) -> list[np.ndarray]:
        test, graph = node.graphs
        collected, most, count = Collected(graph, operands, 1, by_iteration=True), SAC_LIMITS.of("while_iterations"), 0
        while self.graph(test, operands, 1)[0][0]:
            if count == most:
                raise SacRunError(node.place, f"this while loop runs more than {most} times "
                                              f"{SAC_LIMITS.note('while_iterations')}")
            ends, carried = self._body(graph, operands, [], [np.asarray([count])], 1)
            collected.add(ends)
            operands = [carried.get(position, value) for position, value in enumerate(operands)]
            count += 1
        final = {n.number("input"): operands[n.number("input")] for n in graph.nodes if n.kind == "NEXT"}
        return reduce_loop(graph, collected, (count,), final)


def _used(graph: Graph) -> set[int]:
    """Inputs that the body takes, and not the generator alone."""
    return {o.number for node in graph.nodes[1:] for o in node.operands if isinstance(o, Argument)}


def _spread(value: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """A row of `value` for each of `rows`, without copies where all rows are one."""
    if len(value) == 1 or value.strides[0] == 0:
        return np.broadcast_to(value[:1], (len(rows), *value.shape[1:]))
    return value[rows]
