"""Which loops can be dataflow graphs (Hammes 2000, section 5.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compiler.frontend.sac.ddcf.graph import Argument, Constant, Edge, Graph, Node
from compiler.frontend.sac.ddcf.kinds import GENERATOR_KINDS, RETURN_KINDS, VALUE_AT_KINDS
from compiler.frontend.sac.dfg.arithmetic import SQRT_BITS, root_shift
from compiler.frontend.sac.syntax import Place
from compiler.frontend.sac.types import Kind, Type

__all__ = ["Obstacle", "find_obstacles"]


@dataclass(frozen=True)
class Obstacle:
    """Why a loop cannot be a dataflow graph: the node and its place, the reason, and what to write instead."""

    kind: str
    place: Place | None
    reason: str
    rewrite: str

    def __str__(self) -> str:
        return f"{self.place or 'no place'}: {self.kind}: {self.reason}; {self.rewrite}"


_CONSTANT = "--passes all unrolls loops and folds indices that the compiler can know"
_SMALL = "of a number of up to 15 bits, with --passes all,divisions; --target has this pass"
_AVERAGE = "a sum over a count that is a power of 2 can be shifted"
_FORBIDDEN: dict[str, tuple[str, str]] = {
    "ARR_CONPERIM": ("an array is made inside the loop", "put the border around the array before the loop"),
    "ARR_UPDATE": ("an array is made inside the loop", "give its elements before or behind the loop"),
    "ARRAY_CONCAT": ("an array is made inside the loop", "join the arrays before or behind the loop"),
    "ARRAY_CONCAT_VERT": ("an array is made inside the loop", "join the arrays before or behind the loop"),
    "EXTENTS": ("extents are the host's", "ask for them before the loop"),
    "CHECK_EXTENTS": ("extents are the host's", "leave the extents in the declaration open: [:,:]"),
    "FILL_LIKE": ("an array is made inside the loop", "make it before the loop"),
    "FCALL": ("functions run on the host", "take the pragma no_inline away and run --passes all"),
    "FOREIGN": ("functions of Python run on the host", "call it before or behind the loop"),
    "DIV": ("there is no division", f"divide by a constant, {_SMALL}"),
    "MOD": ("there is no division", f"take the remainder by a constant, {_SMALL}"),
    "CONSTRUCT_CONCAT": ("its result has no extents before the run", "return array(...) or tile(...)"),
    "PRODUCT": ("there is no node for it", "carry the product by next and return final(...)"),
    "PRODUCT_MANY": ("there is no node for it", "write the products as a * b * c"),
    "MODE_MANY": ("there is no node for it", "keep the loop on the host by the pragma no_dfg"),
    "MEAN": ("there is no division", f"return sum(...): {_AVERAGE}"),
    "ST_DEV": ("there is no division", "return the sums of the values and of their squares"),
    "MEDIAN": ("it needs all values at once", "the median of a window is a loop inside, which --passes all unrolls"),
    "MODE": ("it needs all values at once", "return histogram(...)"),
    **dict.fromkeys(VALUE_AT_KINDS, ("its results have no place before the run",
                                     "return max(...) or min(...), or carry the place by next")),
    "ACCUM_PRODUCT": ("there is no node for it", "keep the loop on the host by the pragma no_dfg"),
    "ACCUM_MEAN": ("there is no division", f"return accum(sum(...)): {_AVERAGE}"),
    "ACCUM_ST_DEV": ("there is no division", "return accum(sum(...)) of the values and of their squares"),
    "ACCUM_MEDIAN": ("it needs all values at once", "keep the loop on the host by the pragma no_dfg"),
    "ACCUM_MODE": ("it needs all values at once", "return accum(histogram(...))"),
    "LOOP_INDICES": ("indices come from generators", "name them by at (uint16 i, uint16 j)"),
    "WHILE": ("a loop is inside", "carry the value through a for loop of known extent, which --passes all unrolls; "
                                  "with --target also a condition that bounds a counter"),
    **dict.fromkeys(("FORALL", "FORNXT"), ("a loop is inside, and only innermost loops become graphs",
                                           "give it extents that are known, so that --passes all unrolls it")),
}


def find_obstacles(loop: Node) -> list[Obstacle]:
    """All that keeps `loop` from being a dataflow graph, in the order of its nodes; none if it can be one."""
    if loop.kind not in ("FORALL", "FORNXT"):
        return [_endless(loop)]
    if "no_dfg" in _pragmas(loop):
        return [Obstacle(loop.kind, loop.place, "the pragma no_dfg keeps it on the host", "take the pragma away")]
    graph = loop.graphs[0]
    generator = graph.nodes[0]
    arrays = {Edge(0, port) for port, type_ in enumerate(generator.outputs) if type_.is_array}
    found = list(_generators(generator, graph))
    arrays_in = [Argument(n) for n, type_ in enumerate(graph.inputs) if type_.is_array]
    found += _Body(graph, arrays, set(arrays_in)).obstacles(graph.nodes[1:])
    return found


def _endless(loop: Node) -> Obstacle:
    """Why a ``while`` loop is no graph."""
    if "rest_of" in _pragmas(loop):
        return Obstacle(loop.kind, loop.place,
                        "iterations beyond those of the pragma max_trips, if there are any, run on the host",
                        "give max_trips a greater number, if there are some")
    return Obstacle(loop.kind, loop.place,
                    "it runs until a condition fails, and a graph needs the number of iterations before",
                    "write a for loop that carries values by next; with --target also // PRAGMA (max_trips (64)), or a "
                    "condition that bounds a counter")


def _pragmas(loop: Node) -> list[object]:
    given = dict(loop.attributes).get("pragmas", ())
    assert isinstance(given, tuple)
    return [pragma[0] for pragma in given if isinstance(pragma, tuple)]


def _generators(node: Node, graph: Graph) -> Iterator[Obstacle]:
    """What is wrong with the generators of a loop."""
    if node.kind != "DOT":
        yield Obstacle(node.kind, node.place, "generators that are crossed are loops in each other",
                       "write the outer generator as a loop around this one")
        return
    inner = node.graphs[0]
    for each in inner.nodes:
        if each.kind not in GENERATOR_KINDS:
            yield from _generators(each, inner)
            continue
        yield from _floating(each, [inner.type(operand) for operand in each.operands])
        if each.kind == "WINDOWGEN":
            sizes = each.operands[1::2]
            if not all(isinstance(_outside(size, node), Constant) for size in sizes) or None in each.outputs[0].extents:
                yield Obstacle(each.kind, each.place, "the size of its window is not known to the compiler",
                               "write the size as a number, and run --passes all")
        elif None in each.outputs[0].extents:
            yield Obstacle(each.kind, each.place, "the extents of its slices are not known to the compiler",
                           "declare the array with extents: uint8 A[:,8]")


def _outside(operand: object, node: Node) -> object:
    """What enters the graph of generators at `operand`."""
    return node.operands[operand.number] if isinstance(operand, Argument) else operand


def _floating(node: Node, types: Sequence[Type]) -> Iterator[Obstacle]:
    """Types that graphs do not have: `float`, `double`."""
    for type_ in (*types, *node.outputs):
        if type_.scalar.floating:
            yield Obstacle(node.kind, node.place, f"{type_} has no bits to compute with",
                           "take a fixed-point type, such as fix32.16")
            return


class _Body:
    """Checks of the body of a loop, and of the cases inside it."""

    def __init__(self, graph: Graph, windows: set, memories: set) -> None:
        self.graph, self.windows, self.memories = graph, windows, memories
        self.users: dict[Edge, list[Node]] = {}
        for node in graph.nodes:
            for operand in node.operands:
                if isinstance(operand, Edge):
                    self.users.setdefault(operand, []).append(node)

    def obstacles(self, nodes: Sequence[Node]) -> list[Obstacle]:
        first = len(self.graph.nodes) - len(nodes)
        return [o for number, node in enumerate(nodes, first) for o in self._node(number, node)]

    def _node(self, number: int, node: Node) -> Iterator[Obstacle]:
        types = [self.graph.type(operand) for operand in node.operands]
        if node.kind in _FORBIDDEN:
            yield Obstacle(node.kind, node.place, *_FORBIDDEN[node.kind])
        elif node.kind == "SWITCH":
            yield from self._switch(node, types)
        elif node.kind == "AREF":
            yield from self._reference(node)
            yield from _floating(node, types)
        elif node.kind == "ARR_DEF":
            yield from self._definition(number, node)
        elif node.kind in ("CONSTRUCT_ARRAY", "CONSTRUCT_TILE"):
            yield from self._structure(node, types)
        elif node.kind == "INTRINSIC":
            yield from self._intrinsic(number, node)
        elif node.kind == "CAST" and node.operands[0] in self.windows:
            self.windows.add(Edge(number))
            yield from _floating(node, types)
        elif node.kind == "CAST" and self._is_of_root(node):
            yield from self._root(node)
        elif node.kind == "CAST" and node.outputs[0].scalar.floating and self._feeds_roots(number):
            return  # what a root is taken of becomes double only by name
        else:
            yield from _floating(node, types)
            if not any(t.scalar.floating for t in (*types, *node.outputs)):
                yield from self._whole_arrays(node, types)

    def _whole_arrays(self, node: Node, types: Sequence[Type]) -> Iterator[Obstacle]:
        made = () if node.kind in RETURN_KINDS else node.outputs
        if any(t.is_array for t in (*types, *made)):
            what = "carries an array" if node.kind == "NEXT" else "takes a whole array"
            yield Obstacle(node.kind, node.place, f"it {what}, and tokens are scalars",
                           f"use its elements one by one; {_CONSTANT}")

    def _switch(self, node: Node, types: Sequence[Type]) -> Iterator[Obstacle]:
        yield from _floating(node, types)
        if any(type_.is_array for type_ in node.outputs):
            yield Obstacle(node.kind, node.place, "its cases give arrays, and tokens are scalars",
                           "let the cases give the elements that are used")
        for graph in node.graphs:
            entering = list(enumerate(node.operands[1:]))
            windows = {Argument(n) for n, operand in entering if operand in self.windows}
            memories = {Argument(n) for n, operand in entering if operand in self.memories}
            yield from _Body(graph, windows, memories).obstacles(graph.nodes)

    def _reference(self, node: Node) -> Iterator[Obstacle]:
        array, *indices = node.operands
        if node.outputs[0].is_array:
            yield Obstacle(node.kind, node.place, "it gives a section, and tokens are scalars",
                           f"use its elements one by one; {_CONSTANT}")
        elif array in self.windows and not all(isinstance(index, Constant) for index in indices):
            yield Obstacle(node.kind, node.place, "an element of a window is chosen by an index that is not constant",
                           f"write a switch on the index; {_CONSTANT}")
        elif array not in self.windows and array not in self.memories:
            yield Obstacle(node.kind, node.place, "its array is made inside the loop",
                           "make the array before the loop, or use its elements one by one")

    def _definition(self, number: int, node: Node) -> Iterator[Obstacle]:
        for user in self.users.get(Edge(number), []):
            if user.kind not in ("CONSTRUCT_TILE", "AREF", "SWITCH"):
                yield Obstacle(node.kind, node.place, f"an array in braces goes to {user.kind}, and only to "
                                                      "CONSTRUCT_TILE it may",
                               "return it by tile(...), or define it before the loop")
                return
        self.windows.add(Edge(number))  # its elements are known by their places, as a window's are
        yield from _floating(node, [])

    def _structure(self, node: Node, types: Sequence[Type]) -> Iterator[Obstacle]:
        source = node.operands[0]
        yield from _floating(node, types)
        if node.kind == "CONSTRUCT_ARRAY":
            made = isinstance(source, Edge) and self.graph.nodes[source.number].kind in ("ARR_DEF", *_FORBIDDEN)
            if types[0].is_array and not made:
                yield Obstacle(node.kind, node.place, "it collects arrays, and tokens are scalars",
                               "return an array in braces by tile(...)")
        elif source in self.memories and None not in types[0].extents:
            return
        elif not isinstance(source, Edge) or self.graph.nodes[source.number].kind != "ARR_DEF":
            yield Obstacle(node.kind, node.place, "what it joins is no array in braces",
                           "define the array element by element: uint8 T[2] = {a, b}")

    def _source(self, node: Node) -> Node | None:
        operand = node.operands[0]
        return self.graph.nodes[operand.number] if isinstance(operand, Edge) else None

    def _is_of_root(self, node: Node) -> bool:
        source = self._source(node)
        return source is not None and source.kind == "INTRINSIC"

    def _feeds_roots(self, number: int) -> bool:
        users = self.users.get(Edge(number), [])
        return bool(users) and all(user.kind == "INTRINSIC" for user in users)

    def _intrinsic(self, number: int, node: Node) -> Iterator[Obstacle]:
        name = node.attribute("function")
        if name != "sqrt":
            yield Obstacle(node.kind, node.place, f"{name} has no circuit; sqrt has",
                           "put its values into a table: a function with the pragma lookup")
            return
        source = self._source(node)
        if isinstance(node.operands[0], Constant):
            return
        if source is None or source.kind != "CAST" or self.graph.type(source.operands[0]).scalar.floating:
            yield Obstacle(node.kind, node.place, "sqrt is of a floating-point number",
                           "take the root of an integer or of a fixed-point number")
        elif not all(user.kind == "CAST" for user in self.users.get(Edge(number), [])):
            yield Obstacle(node.kind, node.place, "the root is used as double",
                           "cast it to an integer or to fixed point at once: (ufix16.8)sqrt (v)")

    def _root(self, node: Node) -> Iterator[Obstacle]:
        """A cast of a root: as many bits as `double` is exact for."""
        target = node.outputs[0].scalar
        if target.floating or target.kind is Kind.BITS:
            yield Obstacle(node.kind, node.place, f"the root becomes {target}",
                           "cast it to an integer or to fixed point: (ufix16.8)sqrt (v)")
            return
        root = self._source(node)
        given = self._source(root) if root is not None else None
        if given is None:
            return
        source = self.graph.type(given.operands[0]).scalar
        width = source.width + root_shift(source, target)
        if not source.floating and width > SQRT_BITS:
            yield Obstacle(node.kind, node.place, f"the root of {source} as {target} needs {width} bits, and double "
                                                  f"is exact for {SQRT_BITS}",
                           "cast to fewer bits behind the point, or take the root of a narrower number")
