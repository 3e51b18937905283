"""Applications whose loops run as programs, wherever these run, and the rest on the host."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from compiler.frontend.sac.arithmetic import dtype
from compiler.frontend.sac.ddcf.graph import Constant, Edge, Graph
from compiler.frontend.sac.ddcf.graph import Operand as Source
from compiler.frontend.sac.ddcf.interpret import Interpreter
from compiler.frontend.sac.programs.plan import Application, Group
from compiler.ir.interpret import interpret
from compiler.ir.program import Program

__all__ = ["Execute", "run_application", "run_by_interpreter"]

Execute = Callable[[Program, Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]
"""Runs a program on inputs by name."""


def run_by_interpreter(program: Program, inputs: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
    """What the reference interpreter computes."""
    return interpret(program, inputs)


def run_application(application: Application, groups: Sequence[Group], inputs: Sequence[np.ndarray],
                    execute: Execute = run_by_interpreter) -> list[np.ndarray]:
    """The outputs of the main graph: `execute` runs each group once, the host all other nodes.

    `groups` are in an order in which they can run. Raises what the host and `execute` raise.
    """
    return _Host(application, groups, execute).outputs(application.program.main.name, inputs)


class _Host(Interpreter):
    """An interpreter that gives groups of loops of the main graph away."""

    def __init__(self, application: Application, groups: Sequence[Group], execute: Execute) -> None:
        super().__init__(application.program.module)
        self.main, self.groups, self.execute = application.graph, groups, execute

    def nodes(self, graph: Graph, inputs: Sequence[np.ndarray], size: int, first: Sequence[list[np.ndarray]] = ()
              ) -> list[list[np.ndarray]]:
        """What all nodes give; groups as soon as what they take is there."""
        if graph is not self.main:
            return super().nodes(graph, inputs, size, first)
        return _Execution(self, inputs).run()


class _Execution:
    """One execution of the main graph."""

    def __init__(self, host: _Host, inputs: Sequence[np.ndarray]) -> None:
        self.host, self.graph, self.inputs = host, host.main, inputs
        self.group_of = {number: group for group in host.groups for number in group.numbers}
        self.done: list[list[np.ndarray]] = [[] for _ in self.graph.nodes]
        self.ready: set[int] = set()

    def run(self) -> list[list[np.ndarray]]:
        """What all nodes give."""
        for number in range(len(self.graph.nodes)):
            self._ensure(number)
        return self.done

    def _ensure(self, number: int) -> None:
        """Compute a node, or its group, and before it what it takes."""
        ahead = [number]
        while ahead:
            missing = [n for n in self._before(ahead[-1]) if n not in self.ready]
            if ahead[-1] not in self.ready and missing:
                ahead += missing
            else:
                self._compute(ahead.pop())

    def _before(self, number: int) -> list[int]:
        group = self.group_of.get(number)
        sources = [source for _, source in group.inputs] if group else self.graph.nodes[number].operands
        return [source.number for source in sources if isinstance(source, Edge)]

    def _compute(self, number: int) -> None:
        if number in self.ready:
            return
        group = self.group_of.get(number)
        if group:
            self._run(group)
        else:
            self.done[number] = self.host.node(self.graph, self.graph.nodes[number], self.inputs, self.done, 1)
        self.ready.update(group.numbers if group else (number,))

    def _run(self, group: Group) -> None:
        shapes = {array.name: array.shape for array in group.program.arrays}
        given = {name: self._value(source).reshape(shapes[name]) for name, source in group.inputs}
        results = self.host.execute(group.program, given)
        for number in group.numbers:
            self.done[number] = [np.zeros(())] * len(self.graph.nodes[number].outputs)
        for name, edge in group.outputs:
            type_ = self.graph.nodes[edge.number].outputs[edge.port]
            values = np.asarray(results[name]).astype(dtype(type_.scalar))
            self.done[edge.number][edge.port] = (values if type_.is_array else values.reshape(()))[np.newaxis]

    def _value(self, source: Source) -> np.ndarray:
        """The integers that an edge or a parameter brings."""
        assert not isinstance(source, Constant)
        row = self.done[source.number][source.port] if isinstance(source, Edge) else self.inputs[source.number]
        return row[0].astype(np.int64)
