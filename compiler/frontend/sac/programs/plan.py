"""Which loops of an application run as programs, and which of them together.

The plan is made for one run's extents: a run of the interpreter tells what shapes arrays have where loops begin.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compiler.frontend.sac.ddcf.generators import open_generator
from compiler.frontend.sac.ddcf.graph import Argument, Constant, Edge, Graph, Node
from compiler.frontend.sac.ddcf.graph import Operand as Source
from compiler.frontend.sac.ddcf.interpret import Interpreter
from compiler.frontend.sac.ddcf.kinds import LOOP_KINDS
from compiler.frontend.sac.dfg.convert import convert_loop
from compiler.frontend.sac.dfg.criteria import Obstacle, find_obstacles
from compiler.frontend.sac.dfg.loops import LoopFate, convert_loops
from compiler.frontend.sac.program import SacProgram
from compiler.frontend.sac.programs.addresses import Affine
from compiler.frontend.sac.programs.loop import Held
from compiler.frontend.sac.programs.lower import Bound, LoopBinding, lower_loops
from compiler.frontend.sac.programs.nests import Between, Nest, split_nest
from compiler.frontend.sac.programs.obstacles import NoProgram
from compiler.frontend.sac.types import Scalar, Type
from compiler.ir.names import fresh_name
from compiler.ir.program import Program
from compiler.ir.types import Int

__all__ = ["Application", "Group", "group_loops", "trace_application"]


@dataclass(frozen=True)
class Started:
    """What a loop met when it began: extents of its operands and its own."""

    shapes: tuple[tuple[int, ...], ...]
    extents: tuple[int, ...]


@dataclass(frozen=True)
class Application:
    """A program, its loops, and for those of the main graph that ran by themselves how they began, by node."""

    program: SacProgram
    fates: tuple[LoopFate, ...]
    started: Mapping[int, Started]

    @property
    def graph(self) -> Graph:
        """The graph of the function that the program begins with."""
        return self.program.main.graph

    def candidates(self) -> tuple[list[int], list[tuple[LoopFate, Obstacle]]]:
        """Nodes of the main graph that can be programs, each alone; and the other loops with the reason. What is inside
        of loops that can be is with them."""
        numbers = {id(node): number for number, node in enumerate(self.graph.nodes)}
        able: list[int] = []
        others: list[tuple[LoopFate, Obstacle]] = []
        for fate in self.fates:
            if any(fate.loop is inner for number in able for graph in self.graph.nodes[number].graphs
                   for inner in graph.walk()):
                continue
            number = numbers.get(id(fate.loop))
            obstacle = self._obstacle(fate, number)
            if obstacle is None and number is not None:
                able.append(number)
            elif obstacle is not None:
                others.append((fate, obstacle))
        return able, others

    def _obstacle(self, fate: LoopFate, number: int | None) -> Obstacle | None:
        if fate.obstacles and (number is None or not _is_nest(fate.loop)):
            return fate.obstacles[0]
        if number is None:
            return Obstacle(fate.loop.kind, fate.loop.place, "it is inside another loop, a branch or a function that "
                            "runs on the host, and would start hardware each time", "--passes all unrolls and inlines")
        if number not in self.started:
            return Obstacle(fate.loop.kind, fate.loop.place, "the run did not come to it", "give other inputs")
        try:
            self.group([number])
        except NoProgram as error:
            return error.obstacle
        return None

    def fate(self, number: int) -> LoopFate:
        """What became of the loop that is node `number` of the main graph."""
        return next(fate for fate in self.fates if fate.loop is self.graph.nodes[number])

    def nest(self, number: int) -> Nest:
        """The pieces of a loop with loops inside. Raises `NoProgram`."""
        node, started = self.graph.nodes[number], self.started[number]
        types = [Type(self.graph.type(o).scalar, shape) for o, shape in zip(node.operands, started.shapes, strict=True)]
        return split_nest(node, types)

    def group(self, numbers: Sequence[int]) -> Group:
        """The program of these nodes. Raises `NoProgram` if it is none."""
        return _Grouping(self, numbers).group()


@dataclass(frozen=True)
class Group:
    """Loops of the main graph (`numbers` of nodes) that are one program; where its inputs come from and its outputs go,
    by name."""

    numbers: tuple[int, ...]
    program: Program
    inputs: tuple[tuple[str, Source], ...]
    outputs: tuple[tuple[str, Edge], ...]


def trace_application(program: SacProgram, inputs: Sequence[np.ndarray]) -> tuple[Application, list[np.ndarray]]:
    """`program` with what its loops meet in a run on `inputs` (integers that hold numbers), and the run's results."""
    tracer = _Tracer(program)
    results = tracer.outputs(program.main.name, inputs)
    return Application(program, tuple(convert_loops(program.module)), tracer.started), results


class _Tracer(Interpreter):
    """An interpreter that writes down how loops of the main graph begin."""

    def __init__(self, program: SacProgram) -> None:
        super().__init__(program.module)
        self.numbers = {id(node): number for number, node in enumerate(program.main.graph.nodes)
                        if node.kind in LOOP_KINDS and node.kind != "WHILE"}
        self.started: dict[int, Started] = {}

    def loop(self, node: Node, operands: Sequence[np.ndarray], size: int) -> list[np.ndarray]:
        number = self.numbers.get(id(node))
        if number is not None and size == 1:
            graph = node.graphs[0]
            entering = self.operands(graph, graph.nodes[0], operands, (), 1)
            extents = open_generator(graph.nodes[0], entering, 1).extents
            self.started[number] = Started(tuple(value.shape[1:] for value in operands), tuple(extents))
        return super().loop(node, operands, size)


def group_loops(graph: Graph, chosen: Sequence[int]) -> list[list[int]]:
    """The `chosen` nodes in groups, in an order in which they can run: a group takes what the host and groups before it
    give, and loops of a group are connected."""
    level: list[int] = []
    for number, node in enumerate(graph.nodes):
        before = [(level[o.number], o.number in chosen) for o in node.operands if isinstance(o, Edge)]
        level.append(max((k + (hardware and number not in chosen) for k, hardware in before), default=0))
    groups: dict[int, list[list[int]]] = {}
    for number in chosen:
        joined = [number]
        kept = []
        for group in groups.get(level[number], []):
            touched = any(isinstance(o, Edge) and o.number in group for o in graph.nodes[number].operands)
            if touched:
                joined = sorted({*group, *joined})
            else:
                kept.append(group)
        groups[level[number]] = [*kept, joined]
    return [group for _, found in sorted(groups.items()) for group in found]


class _Grouping:
    """Loops while they become one program."""

    def __init__(self, application: Application, numbers: Sequence[int]) -> None:
        self.application, self.graph, self.numbers = application, application.graph, tuple(numbers)
        self.names: dict[Source, str] = {}
        self.inputs: dict[str, Source] = {}
        self.outputs: dict[str, Edge] = {}

    def group(self) -> Group:
        bindings = [binding for number in self.numbers for binding in self._bindings(number)]
        place = self.graph.nodes[self.numbers[0]].place
        name = f"{self.application.program.name}_{place.line if place else 0}"
        program = lower_loops(name if name.isidentifier() else f"loops_{place.line if place else 0}", bindings)
        used = {array.name for array in program.inputs}
        inputs = tuple((name, source) for name, source in self.inputs.items() if name in used)
        return Group(self.numbers, program, inputs, tuple(self.outputs.items()))

    def _bindings(self, number: int) -> list[LoopBinding]:
        if self.application.fate(number).dfg is not None:
            return [self._binding(number)]
        nest = self.application.nest(number)
        found: dict[Between, Held] = {}
        return [self._piece(number, nest, k, found) for k in range(len(nest.pieces))]

    def _piece(self, number: int, nest: Nest, place: int, found: dict[Between, Held]) -> LoopBinding:
        """A loop of a nest; `found` has the results of those before, and gets its own."""
        piece, node = nest.pieces[place], self.graph.nodes[number]
        for obstacle in find_obstacles(piece.loop):
            raise NoProgram(obstacle.kind, obstacle.place or node.place, obstacle.reason, obstacle.rewrite)
        dfg, interface = convert_loop(piece.loop, piece.types, f"piece{place}")
        operands: dict[int, Held | int] = {}
        for n, scalar in (*interface.arrays, *interface.scalars):
            source = piece.operands[n]
            if isinstance(source, Between):
                operands[n] = found[source]
            elif isinstance(source, Constant):
                operands[n] = int(source.value)
            else:
                shape = self.application.started[number].shapes[source]
                operands[n] = self._operand(node.operands[source], scalar, shape)
        results = []
        for port in range(len(piece.loop.outputs)):
            between = Between(place, port)
            edge = Edge(number, nest.outputs.index(between)) if between in nest.outputs else None
            bound = self._result(edge, nest.types[between], number, piece.starts)
            found[between] = bound.held
            results.append(bound)
        return LoopBinding(dfg, operands, piece.extents, tuple(results), piece.kept)

    def _result(self, edge: Edge | None, type_: Type, number: int, starts: tuple[Affine, ...] | None = None) -> Bound:
        """What a loop gives: to something outside, or to another loop of its nest."""
        if edge is None:
            place = self.graph.nodes[number].place
            name = fresh_name(f"inner{place.line if place else 0}", set(self.names.values()))
            self.names[Edge(number, -len(self.names) - 1)] = name
        else:
            name = self._name(edge)
        held = Held(name, tuple(e or 0 for e in type_.extents) or (1,), _type(type_.scalar))
        leaves = edge is not None and self._leaves(edge)
        if leaves and edge is not None:
            self.outputs[held.name] = edge
        return Bound(held, leaves, starts)

    def _binding(self, number: int) -> LoopBinding:
        fate, started = self.application.fate(number), self.application.started[number]
        assert fate.dfg is not None and fate.interface is not None
        node = self.graph.nodes[number]
        operands: dict[int, Held | int] = {}
        for n, scalar in (*fate.interface.arrays, *fate.interface.scalars):
            operands[n] = self._operand(node.operands[n], scalar, started.shapes[n])
        arrays = [np.broadcast_to(np.int64(0), shape) for shape in started.shapes]
        results = []
        for port, result in enumerate(fate.interface.results):
            shape = result.shape(started.extents, arrays)
            results.append(self._result(Edge(number, port), Type(result.scalar, shape), number))
        return LoopBinding(fate.dfg, operands, started.extents, tuple(results))

    def _operand(self, source: Source, scalar: Scalar, shape: tuple[int, ...]) -> Held | int:
        if isinstance(source, Constant):
            return int(source.value)
        name = self._name(source)
        if not (isinstance(source, Edge) and source.number in self.numbers):
            self.inputs[name] = source
        return Held(name, shape or (1,), _type(scalar), self._known(source))

    def _known(self, source: Source) -> tuple[int, ...] | None:
        """The elements of an array of numbers in braces, row by row."""
        node = self.graph.nodes[source.number] if isinstance(source, Edge) else None
        if node is None or node.kind != "ARR_DEF" or not all(isinstance(o, Constant) for o in node.operands):
            return None
        return tuple(int(o.value) for o in node.operands if isinstance(o, Constant))

    def _leaves(self, edge: Edge) -> bool:
        """Whether something outside the group takes the result, or nothing at all does."""
        users = [n for n, node in enumerate(self.graph.nodes) if edge in node.operands]
        return edge in self.graph.outputs or not users or any(n not in self.numbers for n in users)

    def _name(self, source: Source) -> str:
        """A name for what a node or a parameter brings: the user's, where there is one."""
        if source not in self.names:
            taken = set(self.names.values())
            self.names[source] = fresh_name(self._wanted(source), taken | {"i0", "i1", "i2", "i3"})
        return self.names[source]

    def _wanted(self, source: Source) -> str:
        main = self.application.program.main
        if isinstance(source, Argument):
            ports = [port.name for port in main.parameters for _ in port.types]
            return f"{ports[source.number]}_in"
        assert isinstance(source, Edge)
        names = [port.name for port in main.results for _ in port.types]
        if source in self.graph.outputs:
            return f"{names[self.graph.outputs.index(source)]}_out"
        place = self.graph.nodes[source.number].place
        return f"line{place.line if place else 0}_{source.port}"


def _type(scalar: Scalar) -> Int:
    return Int(scalar.width, scalar.signed)


def _is_nest(loop: Node) -> bool:
    """Whether there are loops inside, or crossed generators."""
    return any(node.kind in (*LOOP_KINDS, "CROSS") for graph in loop.graphs for node in graph.walk())
