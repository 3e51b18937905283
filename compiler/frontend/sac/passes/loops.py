"""Loops as passes see them, and how passes make new ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from compiler.frontend.sac.ddcf.graph import Argument, Attribute, Constant, Edge, Graph, Node, Operand
from compiler.frontend.sac.extents import Extents, tile_extents
from compiler.frontend.sac.passes.rewrite import Rebuilt, substitute
from compiler.frontend.sac.syntax import Place
from compiler.frontend.sac.types import BOOL, SIZE, Scalar, Type

__all__ = ["LoopBuilder", "LoopView", "Refusal", "array_windows", "generator_rank", "isolate_arrays", "loop_view",
           "pragmas_of", "ranges_node", "retype_input", "set_extents", "unknown_results", "window_node", "with_pragmas"]


class Refusal(Exception):
    """Why a pass leaves a loop as it is."""


@dataclass(frozen=True)
class LoopView:
    """A ``for`` loop taken apart: simple generators, whose operands are those of the loop's graph, and for each value
    that they bring the generator and its port."""

    node: Node
    graph: Graph
    joined: str
    parts: tuple[Node, ...]
    captures: tuple[Edge, ...]

    @property
    def ends(self) -> list[Node]:
        """The nodes that give the loop's outputs, in their order."""
        return [self.graph.nodes[o.number] for o in self.graph.outputs if isinstance(o, Edge)]

    @property
    def carried(self) -> frozenset[int]:
        """Inputs that the loop carries from one iteration to the next."""
        return frozenset(n.number("input") for n in self.graph.nodes if n.kind == "NEXT")

    @property
    def rank(self) -> int:
        """Dimensions of the loop; of one of the generators that are joined by dot."""
        return generator_rank(self.graph.nodes[0])

    def captured(self, part: int, port: int) -> list[int]:
        """The outputs of the DOT or CROSS node that bring this value."""
        return [place for place, edge in enumerate(self.captures) if edge == Edge(part, port)]

    def body_uses(self, argument: int) -> bool:
        """Whether more than generators takes this input of the loop's graph."""
        return any(operand == Argument(argument) for node in self.graph.nodes[1:] for operand in node.operands)


def generator_rank(node: Node) -> int:
    """Dimensions that a generator runs over."""
    if node.kind == "SCALARGEN":
        return len(node.outputs)
    if node.kind in ("DOT", "CROSS"):
        ranks = [generator_rank(inner) for inner in node.graphs[0].nodes]
        return ranks[0] if node.kind == "DOT" else sum(ranks)
    return str(node.attribute("pattern")).count("~")


def loop_view(node: Node) -> LoopView:
    """A FORALL or FORNXT node taken apart."""
    graph = node.graphs[0]
    first = graph.nodes[0]
    inner = first.graphs[0]
    parts = tuple(replace(part, operands=tuple(substitute(o, first.operands, ()) for o in part.operands))
                  for part in inner.nodes)
    captures = tuple(o for o in inner.outputs if isinstance(o, Edge))
    return LoopView(node, graph, first.kind, parts, captures)


def pragmas_of(node: Node) -> tuple[tuple[str | int, ...], ...]:
    """A loop's pragmas: each a name and its numbers."""
    found = dict(node.attributes).get("pragmas", ())
    assert isinstance(found, tuple)
    return tuple(pragma for pragma in found if isinstance(pragma, tuple))  # type: ignore[misc]


def with_pragmas(node: Node, pragmas: Sequence[tuple[str | int, ...]]) -> Node:
    """The loop with these pragmas alone."""
    kept = tuple(pair for pair in node.attributes if pair[0] != "pragmas")
    more: tuple[tuple[str, Attribute], ...] = (("pragmas", tuple(pragmas)),) if pragmas else ()
    return replace(node, attributes=tuple(sorted((*kept, *more))))


def array_windows(part: Node) -> list[tuple[int, int]] | None:
    """Size and step of a generator in each dimension it runs over, elements as windows of size 1; None if one is not
    known, if dimensions are taken whole, or if there is no array."""
    if part.kind not in ("ELEGEN", "WINDOWGEN") or ":" in str(part.attribute("pattern")):
        return None
    numbers = [int(o.value) for o in part.operands[1:] if isinstance(o, Constant)]
    if len(numbers) < len(part.operands) - 1:
        return None
    pairs = list(zip(numbers[::2], numbers[1::2], strict=True)) if part.kind == "WINDOWGEN" else [
        (1, step) for step in numbers]
    return pairs if all(size > 0 and step > 0 for size, step in pairs) else None


def unknown_results(end: Node) -> tuple[Type, ...]:
    """Types of what a node that ends a loop gives, with extents that are not known."""
    return tuple(Type(t.scalar, (None,) * t.rank) for t in end.outputs)


def set_extents(graph: Graph, loop: Extents) -> Graph:
    """`graph` with returns for a loop of these extents: the generator has another array now."""
    def changed(node: Node) -> Node:
        if node.kind not in ("CONSTRUCT_ARRAY", "CONSTRUCT_TILE", "CONSTRUCT_CONCAT"):
            return node
        taken = graph.type(node.operands[0])
        extents = (*loop, *taken.extents) if node.kind == "CONSTRUCT_ARRAY" else tile_extents(loop, taken.extents)
        if node.kind == "CONSTRUCT_CONCAT":
            extents = (*taken.extents[:-1], None)
        return replace(node, outputs=(Type(taken.scalar, extents),))
    return replace(graph, nodes=tuple(map(changed, graph.nodes)))


def _joined_node(joined: str, parts: Sequence[Node], captures: Sequence[Edge], place: Place | None,
                 type_of: Callable[[Operand], Type]) -> Node:
    """The DOT or CROSS node of generators whose operands are those of the loop's graph."""
    entering = list(dict.fromkeys(o for part in parts for o in part.operands if not isinstance(o, Constant)))
    moved: dict[Operand, Operand] = {operand: Argument(number) for number, operand in enumerate(entering)}
    nodes = tuple(replace(part, operands=tuple(moved.get(o, o) for o in part.operands)) for part in parts)
    inner = Graph(tuple(type_of(o) for o in entering), nodes, tuple(captures))
    types = tuple(parts[edge.number].outputs[edge.port] for edge in captures)
    return Node(joined, tuple(entering), types, (), (inner,), place)


def isolate_arrays(node: Node) -> Node:
    """The loop with an input of its own for the array of each generator, which nothing else takes."""
    view = loop_view(node)
    operands, inputs = list(node.operands), list(view.graph.inputs)
    parts, taken = [], set()
    for part in view.parts:
        array = part.operands[0]
        if part.kind != "SCALARGEN" and isinstance(array, Argument):
            if array.number in taken or view.body_uses(array.number):
                operands.append(operands[array.number])
                inputs.append(inputs[array.number])
                part = replace(part, operands=(Argument(len(operands) - 1), *part.operands[1:]))
            taken.add(array.number)
        parts.append(part)
    graph = replace(view.graph, inputs=tuple(inputs))
    first = _joined_node(view.joined, parts, view.captures, view.graph.nodes[0].place, graph.type)
    return replace(node, operands=tuple(operands), graphs=(replace(graph, nodes=(first, *graph.nodes[1:])),))


def retype_input(graph: Graph, number: int, type_: Type) -> Graph:
    """A loop's graph whose input `number` has another type, inside of its generators, too."""
    first = graph.nodes[0]
    inner = first.graphs[0]
    types = tuple(type_ if o == Argument(number) else t for o, t in zip(first.operands, inner.inputs, strict=True))
    first = replace(first, graphs=(replace(inner, inputs=types),))
    inputs = tuple(type_ if k == number else t for k, t in enumerate(graph.inputs))
    return replace(graph, inputs=inputs, nodes=(first, *graph.nodes[1:]))


class LoopBuilder:
    """A loop that grows in the graph `out`; `body` is its own graph."""

    def __init__(self, out: Rebuilt) -> None:
        self.out, self.body = out, Rebuilt([])
        self.operands: list[Operand] = []
        self._own: set[int] = set()

    def enter(self, operand: Operand) -> Operand:
        """`operand` of the graph around inside the loop."""
        if isinstance(operand, Constant):
            return operand
        for number, known in enumerate(self.operands):
            if known == operand and number not in self._own:
                return Argument(number)
        return self._input(operand, self.out.type(operand))

    def carry(self, start: Operand) -> Argument:
        """A value that the loop carries, which is `start` at first; a NEXT node names its number."""
        type_ = self.out.type(start)
        argument = self._input(start, Type(type_.scalar, (None,) * type_.rank))
        self._own.add(argument.number)
        return argument

    def _input(self, operand: Operand, type_: Type) -> Argument:
        self.operands.append(operand)
        self.body.inputs.append(type_)
        return Argument(len(self.operands) - 1)

    def generate(self, parts: Sequence[Node], captures: Sequence[Edge], place: Place | None, joined: str = "DOT"
                 ) -> list[Operand]:
        """The loop's generators, whose operands are those of the body; what is captured of them."""
        assert not self.body.nodes
        return self.body.add(_joined_node(joined, parts, captures, place, self.body.type))

    def take(self, graph: Graph, arguments: Sequence[Operand], captured: Sequence[Operand],
             put: Callable[[int, Node], list[Operand]] | None = None) -> list[list[Operand]]:
        """The body of another loop, whose inputs are `arguments` and whose generator brought `captured`; what its nodes
        give, by number. `put` is that of `Rebuilt.copy`."""
        def renamed(node: Node) -> Node:
            if node.kind != "NEXT":
                return node
            carried = arguments[node.number("input")]
            assert isinstance(carried, Argument)
            return replace(node, attributes=(("input", carried.number),))
        return self.body.copy([renamed(node) for node in graph.nodes[1:]], arguments, [list(captured)], put)

    def next(self, carried: Operand, value: Operand, place: Place | None = None) -> Operand:
        """The node by which the loop carries `value` on, in the input `carried`; what it gives is the last value."""
        assert isinstance(carried, Argument)
        type_ = self.body.inputs[carried.number]
        return self.body.add(Node("NEXT", (value,), (type_,), (("input", carried.number),), (), place))[0]

    def enter_all(self, view: LoopView, operands: Sequence[Operand]) -> list[Operand]:
        """What enters another loop inside this one; values that it carries are carried by this one."""
        return [self.carry(operand) if number in view.carried else self.enter(operand)
                for number, operand in enumerate(operands)]

    def enter_body(self, view: LoopView, operands: Sequence[Operand] | None = None) -> list[Operand]:
        """The same of what the other loop's body takes or carries, and not its generators alone; its operands are the
        node's, or those given. Nothing stands for the others."""
        given = view.node.operands if operands is None else operands
        return [self.carry(operand) if number in view.carried else
                self.enter(operand) if view.body_uses(number) else Constant(0, BOOL)
                for number, operand in enumerate(given)]

    def finish(self, outputs: Sequence[Operand], node: Node, pragmas: Sequence[tuple[str | int, ...]] = ()
               ) -> list[Operand]:
        """The loop, in the graph around, in the place of `node`."""
        kind = "FORNXT" if any(n.kind == "NEXT" for n in self.body.nodes) else "FORALL"
        types = tuple(self.body.type(operand) for operand in outputs)
        made = Node(kind, tuple(self.operands), types, (), (self.body.finish(outputs),), node.place)
        return self.out.add(with_pragmas(made, pragmas))


def ranges_node(extents: Sequence[int], place: Place | None) -> Node:
    """A SCALARGEN over numbers from 0 on, so many in each dimension."""
    operands = tuple(Constant(n, SIZE) for extent in extents for n in (0, max(0, extent - 1), 1))
    return Node("SCALARGEN", operands, (Type(SIZE),) * len(extents), (), (), place)


def window_node(array: Operand, scalar: Scalar, windows: Sequence[tuple[Operand | int, int]], place: Place | None
                ) -> Node:
    """A WINDOWGEN over all dimensions of `array` with sizes and steps; a size may be computed."""
    sizes = tuple(size if isinstance(size, int) else None for size, _ in windows)
    numbers: list[Operand] = []
    for size, step in windows:
        numbers += [Constant(size, SIZE) if isinstance(size, int) else size, Constant(step, SIZE)]
    outputs = (Type(scalar, sizes), *[Type(SIZE)] * len(windows))
    return Node("WINDOWGEN", (array, *numbers), outputs, (("pattern", "~" * len(windows)),), (), place)

