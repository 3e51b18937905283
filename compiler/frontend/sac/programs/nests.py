"""Loops with loops inside, and loops over crossed generators, as several loops without: each inner loop becomes one
over its own iterations and those of all loops around, and what it gives to these an array with an element for each.

All of them run over ranges of numbers; arrays are indexed by sums of these. A loop begins anew in each iteration of its
first `kept` dimensions: reductions and variables have a value for each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from compiler.frontend.sac.ddcf.graph import Argument, Constant, Edge, Graph, Node, Operand
from compiler.frontend.sac.ddcf.kinds import LOOP_KINDS, RETURN_KINDS
from compiler.frontend.sac.extents import span_extent, window_extent
from compiler.frontend.sac.passes.loops import ranges_node
from compiler.frontend.sac.passes.rewrite import Rebuilt, substitute
from compiler.frontend.sac.programs.addresses import Affine
from compiler.frontend.sac.programs.nest_views import Spot, View, emit_spot, whole
from compiler.frontend.sac.programs.obstacles import NoProgram
from compiler.frontend.sac.types import SIZE, Type

__all__ = ["Between", "Nest", "Piece", "split_nest"]


@dataclass(frozen=True)
class Between:
    """Result `port` of piece number `piece`."""

    piece: int
    port: int


@dataclass(frozen=True)
class Piece:
    """A loop of a nest: operands are numbers of the nest's own, results of pieces before, or constants. `starts`: where
    in its result each iteration writes, if not at the place that it has itself; the extents of that result."""

    loop: Node
    operands: tuple[int | Between | Constant, ...]
    types: tuple[Type, ...]
    extents: tuple[int, ...]
    kept: int
    starts: tuple[Affine, ...] | None = None
    shape: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Nest:
    """The pieces in an order in which they can run, which result each output of the nest is, and all results' types."""

    pieces: tuple[Piece, ...]
    outputs: tuple[Between, ...]
    types: Mapping[Between, Type]


def split_nest(loop: Node, types: Sequence[Type]) -> Nest:
    """The pieces of a loop whose operands have these types, all extents known. Raises `NoProgram` for what does not
    come apart."""
    splitter = _Splitter(types)
    scope = splitter.scope(loop, None)
    outputs = tuple(splitter.outputs(scope))
    results = [Between(k, port) for k, piece in enumerate(splitter.pieces) for port in range(len(piece.loop.outputs))]
    return Nest(tuple(splitter.pieces), outputs, {each: splitter.result_type(each) for each in results})


@dataclass(frozen=True)
class _Scope:
    """A loop, the one around it, and its iterators: the first one's number, and extents. `parts`: for each value that
    its generators bring the simple one, its port, and the number of its first iterator."""

    node: Node
    around: _Scope | None
    first: int
    extents: tuple[int, ...]
    parts: tuple[tuple[Node, int, int], ...]

    @property
    def graph(self) -> Graph:
        return self.node.graphs[0]

    @property
    def carried(self) -> dict[int, Node]:
        """NEXT nodes by input."""
        return {node.number("input"): node for node in self.graph.nodes if node.kind == "NEXT"}

    def outside(self, number: int) -> Operand:
        """What enters an input, in the loop around; outside of all loops the number of the nest's operand."""
        operand = self.node.operands[number]
        return operand if self.around is not None or isinstance(operand, Constant) else Argument(number)

    @property
    def every(self) -> tuple[int, ...]:
        """Extents of all iterators, those around first."""
        return (*(self.around.every if self.around else ()), *self.extents)


class _Splitter:
    """A nest while it comes apart."""

    def __init__(self, types: Sequence[Type]) -> None:
        self.types = types
        self.pieces: list[Piece] = []
        self._scopes: dict[tuple[int, int], _Scope] = {}
        self._found: dict[tuple[int, int], list[Between]] = {}
        self._starts: dict[tuple[int, int], Between] = {}

    def scope(self, node: Node, around: _Scope | None) -> _Scope:
        """The loop inside `around`. Raises `NoProgram` for extents that values decide."""
        key = id(around), id(node)
        if key not in self._scopes:
            if node.kind == "WHILE":
                raise _refusal(node, "a while loop is inside", "carry the value through a for loop of known extent")
            first = len(around.every) if around else 0
            outside = _Body(self, around, around.every if around else (), node)
            opened = _Scope(node, around, first, (), ())
            parts, extents = _opened(outside, opened, node.graphs[0].nodes[0], None, first)
            if 0 in extents:
                raise _refusal(node, "it has no iterations", "let the host give what no iterations give")
            self._scopes[key] = replace(opened, extents=tuple(extents), parts=tuple(parts))
        return self._scopes[key]

    def outputs(self, scope: _Scope) -> list[Between]:
        """Results of a loop, in their order: arrays over all loops around."""
        key = id(scope.around), id(scope.node)
        if key not in self._found:
            ends = [scope.graph.nodes[o.number] for o in scope.graph.outputs if isinstance(o, Edge)]
            scalar = [k for k, end in enumerate(ends) if not self._is_array(scope, end)]
            found: dict[int, Between] = {}
            if scalar:
                number = self._loop(scope, [ends[k] for k in scalar])
                found |= {k: Between(number, port) for port, k in enumerate(scalar)}
            for k, end in enumerate(ends):
                if k not in found:
                    found[k] = self._copied(scope, end)
            self._found[key] = [found[k] for k in range(len(ends))]
        return self._found[key]

    def _is_array(self, scope: _Scope, end: Node) -> bool:
        """Whether a node that ends a loop collects arrays that are not in braces."""
        source = end.operands[0]
        made = isinstance(source, Edge) and scope.graph.nodes[source.number].kind == "ARR_DEF"
        array = scope.graph.type(source).is_array
        if array and end.kind not in ("CONSTRUCT_ARRAY", "CONSTRUCT_TILE"):
            raise _refusal(end, "it carries or joins arrays", "carry elements, or return array(...) or tile(...)")
        return array and not (made and end.kind == "CONSTRUCT_TILE")

    def _loop(self, scope: _Scope, ends: Sequence[Node]) -> int:
        """The piece that gives these results; its number."""
        kept = len(scope.every) - len(scope.extents)
        body = _Body(self, scope, scope.every, scope.node)
        values = [[body.scalar(scope, o) for o in end.operands] if end.kind != "NEXT" else [] for end in ends]
        nexts = self._nexts(scope, body, {end.number("input") for end in ends if end.kind == "NEXT"})
        outputs: list[Operand] = []
        for end, operands in zip(ends, values, strict=True):
            if end.kind == "NEXT":
                outputs.append(nexts[end.number("input")])
                continue
            outputs += body.out.add(replace(end, operands=tuple(operands), outputs=_ended(body, end, operands)))
        return self._add(body, outputs, kept, scope.node)

    def _nexts(self, scope: _Scope, body: _Body, asked: set[int]) -> dict[int, Operand]:
        """NEXT nodes of all variables that the body uses, or that are asked for."""
        values: dict[int, Operand] = {}
        while missing := (asked | set(body.carried)) - set(values):
            number = min(missing)
            body.carry(number)
            values[number] = body.scalar(scope, scope.carried[number].operands[0])
        return {n: body.out.add(Node("NEXT", (value,), (body.out.inputs[body.carried[n]],),
                                     (("input", body.carried[n]),), (), scope.carried[n].place))[0]
                for n, value in values.items()}

    def _copied(self, scope: _Scope, end: Node) -> Between:
        """The piece that writes an array which each iteration gives."""
        value = self._inner_array(scope, end)
        if value is not None:
            return value
        outside = _Body(self, scope, scope.every, scope.node)
        view = outside.view(scope, end.operands[0])
        every = (*scope.every, *view.extents)
        body = _Body(self, scope, every, scope.node)
        spots = [Spot(Affine.of(0, {len(scope.every) + k: 1})) for k in range(len(view.extents))]
        taken = body.view(scope, end.operands[0]).part(spots, (0,) * len(spots), ())
        assert taken is not None
        element = taken.element(body.out, end.place)
        if body.carried:
            raise _refusal(end, "arrays that it collects depend on what it carries", "return elements")
        (made,) = body.out.add(Node("CONSTRUCT_ARRAY", (element,), (Type(end.outputs[0].scalar, every),), (), (),
                                    end.place))
        starts, shape = _layout(scope, end, view.extents)
        return Between(self._add(body, [made], 0, scope.node, starts, shape), 0)

    def _inner_array(self, scope: _Scope, end: Node) -> Between | None:
        """The array of a loop inside that nothing else takes: its piece writes what this loop gives. None if it is no
        such array."""
        source = end.operands[0]
        inner = scope.graph.nodes[source.number] if isinstance(source, Edge) else None
        if inner is None or inner.kind not in LOOP_KINDS or len(inner.outputs) > 1:
            return None
        users = [node for node in scope.graph.nodes if source in node.operands]
        below = self.scope(inner, scope)
        (last,) = [below.graph.nodes[o.number] for o in below.graph.outputs if isinstance(o, Edge)]
        if len(users) > 1 or last.kind != "CONSTRUCT_ARRAY" or self._is_array(below, last):
            return None
        (found,) = self.outputs(below)
        starts, shape = _layout(scope, end, below.extents)
        self.pieces[found.piece] = replace(self.pieces[found.piece], starts=starts, shape=shape)
        return found

    def _add(self, body: _Body, outputs: Sequence[Operand], kept: int, node: Node,
             starts: tuple[Affine, ...] | None = None, shape: tuple[int, ...] | None = None) -> int:
        self.pieces.append(body.piece(outputs, kept, node, starts, shape))
        return len(self.pieces) - 1

    def result_type(self, between: Between) -> Type:
        """The array that a piece gives: elements for all kept iterations first."""
        piece = self.pieces[between.piece]
        if piece.shape is not None:
            return Type(piece.loop.outputs[between.port].scalar, piece.shape)
        type_ = piece.loop.outputs[between.port]
        graph = piece.loop.graphs[0]
        edge = graph.outputs[between.port]
        assert isinstance(edge, Edge)
        if graph.nodes[edge.number].kind in ("CONSTRUCT_ARRAY", "CONSTRUCT_TILE"):
            return type_
        return Type(type_.scalar, (*piece.extents[:piece.kept], *type_.extents))

    def start(self, scope: _Scope, number: int) -> int | Between | Constant:
        """What an input that a loop carries is at first: one for each iteration around, if it is not the same."""
        operand, around = scope.outside(number), scope.around
        while around is not None and isinstance(operand, Argument) and operand.number not in around.carried:
            operand, around = around.outside(operand.number), around.around
        if isinstance(operand, Constant):
            return operand
        if around is None:
            assert isinstance(operand, Argument)
            return operand.number
        assert scope.around is not None
        key = id(scope.node), number
        if key not in self._starts:
            body = _Body(self, scope.around, scope.around.every, scope.node)
            value = body.scalar(scope.around, scope.outside(number))
            type_ = Type(body.out.type(value).scalar, scope.around.every)
            made = body.out.add(Node("CONSTRUCT_ARRAY", (value,), (type_,), (), (), scope.node.place))
            self._starts[key] = Between(self._add(body, made, 0, scope.node), 0)
        return self._starts[key]


class _Body:
    """The body of a piece inside `scope`, over iterators of these extents, while it gets what is asked for."""

    def __init__(self, splitter: _Splitter, scope: _Scope | None, extents: Sequence[int], node: Node) -> None:
        self.splitter, self.scope, self.extents, self.node = splitter, scope, tuple(extents), node
        self.out = Rebuilt([])
        self.operands: list[int | Between | Constant] = []
        self.types: list[Type] = []
        self.carried: dict[int, int] = {}
        """Inputs of the scope's loop that are carried, and the number that each has here."""
        self._known: dict[tuple[int, Operand], Operand | View] = {}
        self.out.add(_ranges(self.extents, node))

    def piece(self, outputs: Sequence[Operand], kept: int, node: Node, starts: tuple[Affine, ...] | None,
              shape: tuple[int, ...] | None) -> Piece:
        """The finished loop."""
        graph = self.out.finish(outputs)
        kind = "FORNXT" if any(n.kind == "NEXT" for n in graph.nodes) else "FORALL"
        types = tuple(graph.type(o) for o in outputs)
        loop = Node(kind, tuple(Argument(k) for k in range(len(self.operands))), types, (), (graph,), node.place)
        return Piece(loop, tuple(self.operands), tuple(self.types), self.extents, kept, starts, shape)

    def enter(self, source: int | Between | Constant, type_: Type) -> Argument:
        """An input for what comes from outside the piece."""
        if source not in self.operands or isinstance(source, Constant):
            self.operands.append(source)
            self.types.append(type_)
            self.out.inputs.append(type_)
            return Argument(len(self.operands) - 1)
        return Argument(self.operands.index(source))

    def carry(self, number: int) -> Argument:
        """The value that the loop carries in this input."""
        assert self.scope is not None
        if number not in self.carried:
            type_ = self.scope.graph.inputs[number]
            if type_.is_array:
                raise _refusal(self.scope.carried[number], "it carries an array", "carry elements one by one")
            source = self.splitter.start(self.scope, number)
            self.carried[number] = len(self.operands)
            self.operands.append(source)
            self.types.append(type_)
            self.out.inputs.append(type_)
        return Argument(self.carried[number])

    def scalar(self, scope: _Scope | None, operand: Operand) -> Operand:
        """A number of a loop around, or an array in braces. Raises `NoProgram`."""
        found = self.value(scope, operand)
        if not isinstance(found, View):
            return found
        if found == whole(found.array, found.extents):
            return found.array
        raise _refusal(self.node, "a whole array is used in it", "use its elements one by one")

    def view(self, scope: _Scope | None, operand: Operand) -> View:
        """An array of a loop around."""
        found = self.value(scope, operand)
        assert isinstance(found, View)
        return found

    def value(self, scope: _Scope | None, operand: Operand) -> Operand | View:
        """What `operand` of a loop's graph is here; outside of all loops, an operand of the nest."""
        if isinstance(operand, Constant):
            return operand
        key = id(scope.node) if scope else 0, operand
        if key not in self._known:
            if isinstance(operand, Argument):
                self._known[key] = self._argument(scope, operand.number)
            elif operand.number == 0:
                assert scope is not None
                self._known[key] = self._generated(scope, operand.port)
            else:
                assert scope is not None
                self._compute(scope, operand.number)
        return self._known[key]

    def _argument(self, scope: _Scope | None, number: int) -> Operand | View:
        if scope is None:
            type_ = self.splitter.types[number]
            argument = self.enter(number, type_)
            return whole(argument, [e or 0 for e in type_.extents]) if type_.is_array else argument
        if number in scope.carried:
            if scope is not self.scope:
                raise _refusal(scope.node, "a loop inside needs what it carries by next",
                               "carry it in the inner loop, or let --passes all unroll that")
            return self.carry(number)
        return self.value(scope.around, scope.outside(number))

    def _generated(self, scope: _Scope, port: int) -> Operand | View:
        part, output, first = scope.parts[port]
        if part.kind == "SCALARGEN":
            low, step = (self.scalar(scope, part.operands[3 * output + k]) for k in (0, 2))
            assert isinstance(low, Constant) and isinstance(step, Constant)
            spot = Spot(Affine.of(int(low.value), {first + output: int(step.value)}))
            found = emit_spot(self.out, spot, part.place)
            scalar = part.outputs[output].scalar
            return found if scalar == SIZE else self.out.add(Node("CAST", (found,), (Type(scalar),), (), (),
                                                                  part.place))[0]
        pattern = str(part.attribute("pattern"))
        view = self.view(scope, part.operands[0])
        windows = part.kind == "WINDOWGEN"
        numbers = [self._constant(scope, o) for o in part.operands[1:]]
        steps = numbers[1::2] if windows else numbers
        if output:
            return emit_spot(self.out, Spot(Affine.of(0, {first + output - 1: steps[output - 1]})), part.place)
        running = iter(range(len(steps)))
        spots, strides, extents = [], [], []
        for slot, extent in zip(pattern, view.extents, strict=True):
            k = next(running) if slot == "~" else None
            spots.append(Spot(Affine(0)) if k is None else Spot(Affine.of(0, {first + k: steps[k]})))
            strides.append(1 if k is None or windows else 0)
            extents += [extent] if k is None else [numbers[2 * k]] if windows else []
        found = view.part(spots, strides, extents)
        assert found is not None
        return found if found.extents else found.element(self.out, part.place)

    def _constant(self, scope: _Scope | None, operand: Operand) -> int:
        found = self.scalar(scope, operand)
        if not isinstance(found, Constant):
            raise _refusal(self.node, "its range, or the size or step of a window, depends on values of the run",
                           "give numbers, or extents of arrays")
        return int(found.value)

    def _compute(self, scope: _Scope, number: int) -> None:
        """All outputs of a node."""
        node = scope.graph.nodes[number]
        if node.kind in LOOP_KINDS:
            found = self._inner(scope, node)
        elif node.kind == "AREF":
            found = [self._reference(scope, node)]
        elif node.kind == "EXTENTS":
            found = [Constant(extent, SIZE) for extent in self.view(scope, node.operands[0]).extents]
        elif node.kind == "LOOP_INDICES":
            found = [emit_spot(self.out, Spot(Affine.of(0, {scope.first + k: 1})), node.place)
                     for k in range(len(scope.extents))]
        elif node.kind in ("CAST", "CHECK_EXTENTS") and node.outputs[0].is_array:
            view = self.view(scope, node.operands[0])
            found = [view.cast(node.outputs[0].scalar) if node.kind == "CAST" else view]
        else:
            found = self._copied(scope, node)
        self._known |= {(id(scope.node), Edge(number, port)): value for port, value in enumerate(found)}

    def _copied(self, scope: _Scope, node: Node) -> list[Operand | View]:
        if node.kind in RETURN_KINDS or any(n.kind in LOOP_KINDS for g in node.graphs for n in g.walk()):
            raise _refusal(node, "a loop is inside a condition", "let the loop run always, and choose what it gives")
        if node.kind in ("ARRAY_CONCAT", "ARRAY_CONCAT_VERT", "ARR_UPDATE", "ARR_CONPERIM", "FILL_LIKE"):
            raise _refusal(node, "an array is made inside the loop", "make it before or behind the loop")
        operands = tuple(self.scalar(scope, o) for o in node.operands)
        made = self.out.add(replace(node, operands=operands))
        return [whole(edge, [e or 0 for e in type_.extents]) if type_.is_array else edge
                for edge, type_ in zip(made, node.outputs, strict=True)]

    def _inner(self, scope: _Scope, node: Node) -> list[Operand | View]:
        """What a loop inside gives: the element of this iteration of an array over all loops around."""
        found: list[Operand | View] = []
        for between in self.splitter.outputs(self.splitter.scope(node, scope)):
            type_ = self.splitter.result_type(between)
            extents = [e or 0 for e in type_.extents]
            around = len(scope.every)
            spots = [Spot(Affine.of(0, {k: 1})) for k in range(around)]
            rest = len(extents) - around
            view = whole(self.enter(between, type_), extents).part(
                [*spots, *[Spot(Affine(0))] * rest], [0] * around + [1] * rest, extents[around:])
            assert view is not None
            found.append(view if rest else view.element(self.out, node.place))
        return found

    def _reference(self, scope: _Scope, node: Node) -> Operand | View:
        view = self.view(scope, node.operands[0])
        rest = list(node.operands[1:])
        spots, steps, extents = [], [], []
        for slot in str(node.attribute("pattern")):
            low = self.scalar(scope, rest[0])
            spots.append(Spot(Affine(int(low.value))) if isinstance(low, Constant) else Spot(Affine(0), low))
            if slot == ":":
                high, step = (self._constant(scope, o) for o in rest[1:3])
                extents.append(span_extent(self._constant(scope, rest[0]), high, step) or 0)
                steps.append(step)
            else:
                steps.append(0)
            rest = rest[3 if slot == ":" else 1:]
        found = view.part(spots, steps, extents)
        if found is None:
            raise _refusal(node, "an index into a part of an array is computed from values",
                           "index the array itself")
        return found if found.extents else found.element(self.out, node.place)


def _opened(body: _Body, scope: _Scope, node: Node, entering: Sequence[Operand] | None, first: int
            ) -> tuple[list[tuple[Node, int, int]], list[int]]:
    """For each value that a generator brings the simple one, its port and first iterator; and the extents."""
    operands = node.operands if entering is None else tuple(substitute(o, entering, ()) for o in node.operands)
    if node.kind not in ("DOT", "CROSS"):
        given = replace(node, operands=operands)
        return [(given, port, first) for port in range(len(node.outputs))], _extents(body, scope, given)
    inner = node.graphs[0]
    found, extents = [], []
    for part in inner.nodes:
        at = first + (len(extents) if node.kind == "CROSS" else 0)
        brought, more = _opened(body, scope, part, operands, at)
        found.append(brought)
        extents = [*extents, *more] if node.kind == "CROSS" else more
    return [found[o.number][o.port] for o in inner.outputs if isinstance(o, Edge)], extents


def _extents(body: _Body, scope: _Scope, part: Node) -> list[int]:
    numbers = [body._constant(scope, o) for o in part.operands[part.kind != "SCALARGEN":]]
    if part.kind == "SCALARGEN":
        return [span_extent(*numbers[k:k + 3]) or 0 for k in range(0, len(numbers), 3)]
    view = body.view(scope, part.operands[0])
    sizes = numbers[::2] if part.kind == "WINDOWGEN" else [1] * len(numbers)
    steps = numbers[1::2] if part.kind == "WINDOWGEN" else numbers
    running = [e for e, slot in zip(view.extents, str(part.attribute("pattern")), strict=True) if slot == "~"]
    return [window_extent(*row) or 0 for row in zip(running, sizes, steps, strict=True)]


def _ranges(extents: Sequence[int], node: Node) -> Node:
    """The generator of a loop over numbers from 0."""
    inner = ranges_node(extents, node.place)
    graph = Graph((), (inner,), tuple(Edge(0, k) for k in range(len(extents))))
    return Node("DOT", (), inner.outputs, (), (graph,), node.place)


def _ended(body: _Body, end: Node, operands: Sequence[Operand]) -> tuple[Type, ...]:
    """What a node that ends a loop gives, with the extents of the piece."""
    if end.kind == "CONSTRUCT_ARRAY":
        return (Type(end.outputs[0].scalar, body.extents),)
    if end.kind != "CONSTRUCT_TILE":
        return end.outputs
    tile = [e or 0 for e in body.out.type(operands[0]).extents]
    if body.scope is not None and body.scope.around is not None and len(tile) > len(body.scope.extents):
        raise _refusal(end, "a tile in an inner loop has more dimensions than the loop", "return arrays")
    padded = [1] * (len(body.extents) - len(tile)) + tile
    loop = [1] * (len(tile) - len(body.extents)) + list(body.extents)
    return (Type(end.outputs[0].scalar, tuple(a * b for a, b in zip(padded, loop, strict=True))),)


def _layout(scope: _Scope, end: Node, inner: Sequence[int]) -> tuple[tuple[Affine, ...] | None, tuple[int, ...] | None]:
    """Where an array of extents `inner` of each iteration goes, in iterators of all loops around and of the array; None
    if that is the place in order."""
    if end.kind == "CONSTRUCT_ARRAY":
        return None, None
    around = len(scope.every) - len(scope.extents)
    rank = max(len(scope.extents), len(inner))
    starts = [Affine.of(0, {k: 1}) for k in range(around)]
    shape = list(scope.every[:around])
    for d in range(rank):
        own, part = d - (rank - len(scope.extents)), d - (rank - len(inner))
        size = inner[part] if part >= 0 else 1
        factors = {scope.first + own: size} if own >= 0 else {}
        factors |= {len(scope.every) + part: 1} if part >= 0 else {}
        starts.append(Affine.of(0, factors))
        shape.append(size * (scope.extents[own] if own >= 0 else 1))
    assert prod(shape) == prod(scope.every) * prod(inner)
    return tuple(starts), tuple(shape)


def _refusal(node: Node, reason: str, rewrite: str) -> NoProgram:
    return NoProgram(node.kind, node.place, reason, rewrite)
