"""Extents of parameters that follow from how arrays are used (Hammes 2000, sections 4.1.1.2 and 4.1.1.3): upwards, from
results to operands, out of loops, and from one generator to those that are joined with it by dot.

Only parameters learn extents here, and runs check what they are given; `PropagateSizes` brings these down again. So an
array with other extents, which would have ended the run with an error, is refused when it enters. What a loop's body
asks for counts as if the loop had iterations, as in the thesis; what a case of a switch asks for does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from compiler.frontend.sac.ddcf.graph import Argument, Edge, Function, Graph, Module, Node, Operand, Port
from compiler.frontend.sac.errors import SacError
from compiler.frontend.sac.extents import Extents
from compiler.frontend.sac.passes.loops import generator_rank
from compiler.frontend.sac.passes.report import Report
from compiler.frontend.sac.passes.sizes import PropagateSizes, generator_extents, known
from compiler.frontend.sac.types import Type

__all__ = ["propagate_sizes"]


def propagate_sizes(module: Module, main: str, report: Report) -> Module:
    """Downwards in all functions and upwards to the parameters of `main`, until nothing more is known."""
    while True:
        module = PropagateSizes(report).module(module)
        function = module.function(main)
        refined = _parameters(function, report)
        if refined == function:
            return module
        module = Module(tuple(refined if f is function else f for f in module.functions))


def _parameters(function: Function, report: Report) -> Function:
    """`function` with what its graph asks of its parameters."""
    wanted = _Wanted(function.graph, [type_.extents for type_ in map(function.graph.type, function.graph.outputs)])
    found = wanted.inputs()
    ports, first = [], 0
    for port in function.parameters:
        types = tuple(Type(t.scalar, _merged(t.extents, found[first + k])) for k, t in enumerate(port.types))
        if types != port.types:
            report.done("sizes", function.place, f"parameter {port.name} is {types[0]}")
        ports.append(Port(port.name, types))
        first += len(types)
    inputs = tuple(type_ for port in ports for type_ in port.types)
    return replace(function, parameters=tuple(ports), graph=replace(function.graph, inputs=inputs))


def _merged(known_extents: Extents, more: Extents | None) -> Extents:
    if more is None:
        return known_extents
    return tuple(b if a is None else a for a, b in zip(known_extents, more, strict=True))


class _Wanted:
    """What the nodes of a graph ask of values: from the last node to the first."""

    def __init__(self, graph: Graph, outputs: Sequence[Extents], loop: Extents = ()) -> None:
        self.graph, self.loop = graph, loop
        self.found: dict[Operand, Extents] = {}
        for operand, extents in zip(graph.outputs, outputs, strict=True):
            self.want(operand, extents)
        for number in reversed(range(len(graph.nodes))):
            self._node(graph.nodes[number], [self.extents(Edge(number, port))
                                             for port in range(len(graph.nodes[number].outputs))])

    def extents(self, operand: Operand) -> Extents:
        """What is known of `operand`, or asked of it."""
        return _merged(self.graph.type(operand).extents, self.found.get(operand))

    def inputs(self) -> list[Extents | None]:
        """What is asked of the graph's inputs."""
        return [self.found.get(Argument(number)) for number in range(len(self.graph.inputs))]

    def want(self, operand: Operand, extents: Extents | None) -> None:
        """Ask for extents of an array."""
        if extents and any(e is not None for e in extents):
            self.found[operand] = _merged(self.found.get(operand, (None,) * len(extents)), extents)

    def _node(self, node: Node, outputs: list[Extents]) -> None:
        if node.kind in ("FORALL", "FORNXT"):
            self._loop(node, outputs)
        elif node.kind in _RULES and node.operands:
            for operand, extents in zip(node.operands, _RULES[node.kind](self, node, outputs[0]), strict=False):
                self.want(operand, extents)

    def _loop(self, node: Node, outputs: list[Extents]) -> None:
        graph, first = node.graphs[0], node.graphs[0].nodes[0]
        given = [self.extents(node.operands[o.number]) if isinstance(o, Argument) else () for o in first.operands]
        loop = generator_extents(first, [Type(graph.type(o).scalar, e)
                                         for o, e in zip(first.operands, given, strict=True)])
        ends = [graph.nodes[o.number] for o in graph.outputs if isinstance(o, Edge)]
        for end, extents in zip(ends, outputs, strict=True):
            loop = _merged(loop, _loop_extents(end, graph, extents, loop))
        inner = _Wanted(graph, outputs, loop)
        captured = [inner.extents(Edge(0, port)) for port in range(len(first.outputs))]
        for operand, extents in zip(first.operands, _generators(first, captured, loop), strict=True):
            inner.want(operand, extents)
        carried = {n.number("input") for n in graph.nodes if n.kind == "NEXT"}
        for number, (operand, extents) in enumerate(zip(node.operands, inner.inputs(), strict=True)):
            if number not in carried:
                self.want(operand, extents)


def _loop_extents(end: Node, graph: Graph, result: Extents, loop: Extents) -> Extents:
    """What a result of these extents tells of the loop's. Raises `SacError` where tiles do not fit."""
    unknown = (None,) * len(loop)
    if end.kind == "CONSTRUCT_ARRAY":
        return result[:len(loop)]
    if end.kind not in ("CONSTRUCT_TILE", "CONSTRUCT_CONCAT"):
        return unknown
    tile = graph.type(end.operands[0]).extents
    if end.kind == "CONSTRUCT_CONCAT":
        return unknown  # the last extents of what is joined may differ
    rank = max(len(loop), len(tile))
    padded = (1,) * (rank - len(tile)) + tile
    found = tuple(_quotient(end, a, b) for a, b in zip(result, padded, strict=True))
    return found[rank - len(loop):]


def _quotient(end: Node, whole: int | None, part: int | None) -> int | None:
    if whole is None or not part:
        return None
    if whole % part:
        raise SacError(end.place, f"tiles of extent {part} do not make up an extent of {whole}")
    return whole // part


def _generators(node: Node, captured: Sequence[Extents], loop: Extents) -> list[Extents | None]:
    """What a DOT or CROSS node asks of its operands: extents that its iterations need, and those taken whole."""
    graph = node.graphs[0]
    inner: dict[Operand, Extents] = {}
    brought = {o: e for o, e in zip(graph.outputs, captured, strict=True) if isinstance(o, Edge)}
    first = 0
    for number, part in enumerate(graph.nodes):
        rank = generator_rank(part)
        own = loop if node.kind == "DOT" else loop[first:first + rank]
        first += rank
        if part.kind in ("DOT", "CROSS"):
            asked = [brought.get(Edge(number, port)) or type_.extents for port, type_ in enumerate(part.outputs)]
            for operand, wanted in zip(part.operands, _generators(part, asked, own), strict=True):
                if wanted:
                    inner[operand] = _merged(inner.get(operand, (None,) * len(wanted)), wanted)
        elif part.kind != "SCALARGEN":
            array = part.operands[0]
            extents = _array(part, own, brought.get(Edge(number)) or part.outputs[0].extents)
            inner[array] = _merged(inner.get(array, (None,) * len(extents)), extents)
    return [inner.get(Argument(number)) for number in range(len(node.operands))]


def _array(part: Node, loop: Extents, component: Extents) -> Extents:
    """The extents of a generator's array. A step of more than 1 may leave elements over, so it tells nothing."""
    windows = part.kind == "WINDOWGEN"
    numbers = [known(o) for o in part.operands[1:]]
    each = iter(zip(numbers[::2], numbers[1::2], strict=True) if windows else [(1, step) for step in numbers])
    own, whole = iter(loop), iter(component)
    found: list[int | None] = []
    for slot in str(part.attribute("pattern")):
        taken = next(whole) if slot == ":" or windows else None
        if slot == ":":
            found.append(taken)
            continue
        (size, step), count = next(each), next(own)
        found.append(count + size - 1 if step == 1 and size and count else None)
    return tuple(found)


Rule = Callable[[_Wanted, Node, Extents], list[Extents | None]]


def _same(wanted: _Wanted, node: Node, output: Extents) -> list[Extents | None]:
    return [output]


def _joined(wanted: _Wanted, node: Node, output: Extents) -> list[Extents | None]:
    """All extents but the one in which arrays are joined; there, what the other one leaves."""
    axis = 0 if node.kind.endswith("VERT") else len(output) - 1
    sides = [wanted.extents(operand)[axis] for operand in node.operands]
    found: list[Extents | None] = []
    for other in reversed(sides):
        whole = output[axis]
        rest = None if whole is None or other is None else whole - other
        if rest is not None and rest < 0:
            raise SacError(node.place, f"an array of extent {other} is part of one of extent {whole}")
        found.append(tuple(rest if k == axis else e for k, e in enumerate(output)))
    return found


def _perimeter(wanted: _Wanted, node: Node, output: Extents) -> list[Extents | None]:
    width = known(node.operands[1])
    return [tuple(None if e is None or width is None else e - 2 * width for e in output)]


def _component(wanted: _Wanted, node: Node, output: Extents) -> list[Extents | None]:
    rank = wanted.graph.type(node.operands[0]).rank
    return [output[len(output) - rank:] if rank else None]


def _tile(wanted: _Wanted, node: Node, output: Extents) -> list[Extents | None]:
    rank = wanted.graph.type(node.operands[0]).rank
    whole = max(rank, len(wanted.loop))
    loop = (1,) * (whole - len(wanted.loop)) + wanted.loop
    return [tuple(_quotient(node, a, b) for a, b in zip(output, loop, strict=True))[whole - rank:]]


def _concatenated(wanted: _Wanted, node: Node, output: Extents) -> list[Extents | None]:
    return [(*output[:-1], None)]


_RULES: dict[str, Rule] = {
    "CAST": _same, "FILL_LIKE": _same, "CHECK_EXTENTS": _same, "ARRAY_CONCAT": _joined, "ARRAY_CONCAT_VERT": _joined,
    "ARR_CONPERIM": _perimeter, "CONSTRUCT_ARRAY": _component, "CONSTRUCT_TILE": _tile,
    "CONSTRUCT_CONCAT": _concatenated,
}
