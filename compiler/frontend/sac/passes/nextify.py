"""Values that iterations before have computed are carried on instead (Hammes 2000, sections 4.2.1 and 4.2.2).

`NextifyLoops` is the general form: a loop over stripes of the array, which computes what the first iteration along a
stripe needs from before it, around the loop that carries. `NextifyPaddedLoops` is the other form: the array is padded
at the left, so that additional iterations fill the registers, and what they give is dropped, or masked where it would
enter a reduction. Columns that no iteration uses any more cancel the padding as far as they go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.frontend.sac.ddcf.graph import Argument, Constant, Edge, Node, Operand
from compiler.frontend.sac.ddcf.kinds import RETURN_KINDS, STRUCTURING_KINDS, VALUE_AT_KINDS
from compiler.frontend.sac.passes.chains import Chains, find_chains, last_bounds, moved_reference
from compiler.frontend.sac.passes.loops import (
    LoopBuilder,
    LoopView,
    Refusal,
    array_windows,
    isolate_arrays,
    loop_view,
    pragmas_of,
    window_node,
)
from compiler.frontend.sac.passes.rewrite import Rebuilt, Rewriter, substitute
from compiler.frontend.sac.passes.safety import can_fail
from compiler.frontend.sac.passes.sections import drop_first, pad_left
from compiler.frontend.sac.passes.tile import check_combines
from compiler.frontend.sac.types import BOOL, SIZE, Type

__all__ = ["NextifyLoops", "NextifyPaddedLoops"]


class _Nextify(Rewriter):
    """Both forms."""

    name = ""

    def node(self, out: Rebuilt, node: Node) -> list[Operand]:
        node = self.within(out, node)
        if node.kind not in ("FORALL", "FORNXT") or all(p.kind == "SCALARGEN" for p in loop_view(node).parts):
            return out.add(node)
        isolated = isolate_arrays(node)
        view = loop_view(isolated)
        try:
            chains = _checked(view)
            self.check(out, view)
        except Refusal as reason:
            self.report.refused(self.name, node.place, str(reason))
            return out.add(node)
        return self.changed(out, view, chains)

    def check(self, out: Rebuilt, view: LoopView) -> None:
        """Raises `Refusal` for a loop that has not this form."""

    def changed(self, out: Rebuilt, view: LoopView, chains: Chains) -> list[Operand]:
        """The loop's outputs from one that carries."""
        raise NotImplementedError


def _checked(view: LoopView) -> Chains:
    if view.carried:
        raise Refusal("the loop carries values already")
    if view.joined == "CROSS":
        raise Refusal("generators are joined by cross")
    chains = find_chains(view)
    failing = next((n for n in view.graph.nodes[1:] if can_fail(n, view.graph.inputs, view.graph.nodes)), None)
    if failing is not None:
        raise Refusal(f"{failing.kind} in the body may have no value in additional iterations")
    if any(end.kind == "CONSTRUCT_CONCAT" for end in view.ends):
        raise Refusal("the loop returns concatenated arrays")
    return chains


def _count(chains: Chains) -> str:
    registers = chains.count
    return (f"{len(chains.replaced)} value{'s' * (len(chains.replaced) != 1)} from iterations before, in {registers} "
            f"register{'s' * (registers != 1)}")


class _Carrying:
    """The body of a loop that carries."""

    def __init__(self, view: LoopView, chains: Chains, loop: LoopBuilder) -> None:
        self.view, self.chains, self.loop = view, chains, loop
        self.carried: dict[tuple[Edge, int], Argument] = {}
        """For each value that is computed and each distance the input that holds it."""

    def carry(self, start: dict[tuple[Edge, int], Operand]) -> None:
        """Registers that hold `start` at first."""
        self.carried = {key: self.loop.carry(operand) for key, operand in start.items()}

    def body(self, captured: Sequence[Operand], arguments: Sequence[Operand], moved: Sequence[int],
             indices: Sequence[Operand] | None = None) -> list[list[Operand]]:
        """Nodes that are still computed, without those that end the loop; windows begin `moved` columns later."""
        values: list[list[Operand]] = [list(captured)]
        taken = {edge: self.carried[chain] for edge, chain in self.chains.replaced.items()}
        for number, node in enumerate(self.view.graph.nodes[1:], 1):
            if number not in self.chains.needed:
                values.append([taken.get(Edge(number, port), Constant(0, BOOL)) for port in range(len(node.outputs))])
                continue
            operands = tuple(substitute(o, arguments, values) for o in node.operands)
            edge = node.operands[0] if node.operands else None
            if node.kind == "AREF" and isinstance(edge, Edge) and edge.number == 0 and last_bounds(node):
                distance = moved[self.view.captures[edge.port].number]
                rank = len(str(node.attribute("pattern")))
                operands = moved_reference(replace(node, operands=operands), operands[0],
                                           (*[0] * (rank - 1), -distance))
            if node.kind == "LOOP_INDICES" and indices is not None:
                values.append(list(indices))
                continue
            found: list[Operand] = list(self.loop.body.add(replace(node, operands=operands)))
            values.append([taken.get(Edge(number, port), o) if Edge(number, port) in taken else o
                           for port, o in enumerate(found)])
        return values

    def next(self, values: Sequence[Sequence[Operand]]) -> None:
        """All registers move on, the last ones first."""
        for (edge, distance), argument in sorted(self.carried.items(), key=lambda item: -item[0][1]):
            source = self.carried.get((edge, distance - 1)) or values[edge.number][edge.port]
            self.loop.body.add(Node("NEXT", (source,), (self.loop.body.inputs[argument.number],),
                                    (("input", argument.number),), (), self.view.node.place))


def _registers(chains: Chains) -> list[tuple[Edge, int]]:
    return [(edge, distance) for edge, longest in chains.registers.items() for distance in range(1, longest + 1)]


class NextifyPaddedLoops(_Nextify):
    """The form with additional iterations."""

    name = "nextify_padded"

    def check(self, out: Rebuilt, view: LoopView) -> None:
        for end in view.ends:
            tile = view.graph.type(end.operands[0])
            if end.kind == "CONSTRUCT_TILE" and tile.extents[-1] is None:
                raise Refusal("the last extent of the loop's tiles is not known")

    def changed(self, out: Rebuilt, view: LoopView, chains: Chains) -> list[Operand]:
        return _Padded(out, view, chains, self).outputs()


class _Padded:
    """One loop with additional iterations."""

    def __init__(self, out: Rebuilt, view: LoopView, chains: Chains, rewriter: Rewriter) -> None:
        self.out, self.view, self.chains = out, view, chains
        self.windows = [array_windows(part) or [] for part in view.parts]
        self.pads = [chains.longest * windows[-1][1] for windows in self.windows]
        self.unused = [_unused(view, chains, part) for part in range(len(view.parts))]
        self.cancelled = [min(pad, unused) for pad, unused in zip(self.pads, self.unused, strict=True)]
        rewriter.report.done("nextify_padded", view.node.place, self._text())

    def _text(self) -> str:
        longest = self.chains.longest
        pads = ", ".join(f"{pad} columns of padding, of which {cancelled} cancel"
                         for pad, cancelled in zip(self.pads, self.cancelled, strict=True))
        return f"{_count(self.chains)}; {longest} additional iteration{'s' * (longest != 1)}, {pads}"

    def outputs(self) -> list[Operand]:
        """The loop, and its results without what additional iterations gave."""
        loop = LoopBuilder(self.out)
        parts = []
        for number, part in enumerate(self.view.parts):
            array = substitute(part.operands[0], self.view.node.operands, ())
            padded = pad_left(self.out, array, self.pads[number] - self.cancelled[number], part.place)
            parts.append(self._part(number, part, loop.enter(padded)))
        captures = dict.fromkeys([*self.view.captures, Edge(0, self.view.rank)])
        generated = dict(zip(captures, loop.generate(parts, list(captures), self.view.node.place), strict=True))
        captured = [self._index(loop, edge, generated[edge]) for edge in self.view.captures]
        carrying = _Carrying(self.view, self.chains, loop)
        keys = _registers(self.chains)
        carrying.carry({key: Constant(0, self.view.graph.type(key[0]).scalar) for key in keys})
        arguments = [loop.enter(o) if self.view.body_uses(k) else Constant(0, BOOL)
                     for k, o in enumerate(self.view.node.operands)]
        values = carrying.body(captured, arguments, self.cancelled, self._indices(loop))
        mask = self._mask(loop, generated[Edge(0, self.view.rank)])
        ends = [self._end(loop, end, arguments, values, mask) for end in self.view.ends]
        carrying.next(values)
        found = loop.finish(ends, self.view.node, pragmas_of(self.view.node))
        return [self._cut(end, operand) for end, operand in zip(self.view.ends, found, strict=True)]

    def _part(self, number: int, part: Node, array: Operand) -> Node:
        if part.kind == "ELEGEN":
            return replace(part, operands=(array, *part.operands[1:]))
        *rows, (size, step) = self.windows[number]
        return window_node(array, part.outputs[0].scalar, [*rows, (size - self.cancelled[number], step)], part.place)

    def _index(self, loop: LoopBuilder, edge: Edge, value: Operand) -> Operand:
        """An index in the array without padding."""
        if edge.port != self.view.rank:
            return value
        return _minus(loop, value, self.pads[edge.number])

    def _indices(self, loop: LoopBuilder) -> list[Operand] | None:
        if not any(node.kind == "LOOP_INDICES" for node in self.view.graph.nodes):
            return None
        found = loop.body.add(Node("LOOP_INDICES", (), (Type(SIZE),) * self.view.rank))
        return [*found[:-1], _minus(loop, found[-1], self.chains.longest)]

    def _mask(self, loop: LoopBuilder, index: Operand) -> Operand | None:
        """Whether this is no additional iteration, for results that need to know."""
        if all(end.kind in STRUCTURING_KINDS for end in self.view.ends):
            return None
        return loop.body.add(Node("GE", (index, Constant(self.pads[0], SIZE)), (Type(BOOL),)))[0]

    def _end(self, loop: LoopBuilder, end: Node, arguments: Sequence[Operand], values: Sequence[Sequence[Operand]],
             mask: Operand | None) -> Operand:
        operands = [substitute(o, arguments, values) for o in end.operands]
        outputs = end.outputs
        if mask is None or end.kind in STRUCTURING_KINDS:
            outputs = tuple(Type(t.scalar, (None,) * t.rank) for t in end.outputs)
        elif len(operands) > _least(end):
            operands[-1] = loop.body.add(Node("BIT_AND", (operands[-1], mask), (Type(BOOL),)))[0]
        else:
            operands.append(mask)
        return loop.body.add(replace(end, operands=tuple(operands), outputs=outputs))[0]

    def _cut(self, end: Node, operand: Operand) -> Operand:
        """A result without what additional iterations gave."""
        if end.kind not in STRUCTURING_KINDS:
            return operand
        if end.kind == "CONSTRUCT_ARRAY":
            return drop_first(self.out, operand, self.view.rank - 1, self.chains.longest, end.place)
        width = self.view.graph.type(end.operands[0]).extents[-1] or 0
        return drop_first(self.out, operand, end.outputs[0].rank - 1, self.chains.longest * width, end.place)


def _least(end: Node) -> int:
    """Operands without a mask."""
    if end.kind in VALUE_AT_KINDS:
        return 1 + end.number("captures")
    return 1 + 2 * end.kind.startswith("ACCUM_") + end.kind.endswith("HISTOGRAM")


def _minus(loop: LoopBuilder, value: Operand, number: int) -> Operand:
    return loop.body.add(Node("SUB", (value, Constant(number, SIZE)), (Type(SIZE),)))[0]


def _unused(view: LoopView, chains: Chains, part: int) -> int:
    """Columns at the left of a window that the body does not use any more; one column stays."""
    windows = array_windows(view.parts[part]) or []
    least = windows[-1][0] - 1
    for number, node in enumerate(view.graph.nodes):
        if number not in chains.needed and node.kind not in RETURN_KINDS:
            continue
        for operand in node.operands:
            if not (isinstance(operand, Edge) and operand.number == 0 and view.captures[operand.port] == Edge(part)):
                continue
            bounds = last_bounds(node) if node.kind == "AREF" and operand == node.operands[0] else None
            least = min(least, bounds[0] if bounds else 0)
    return least


class NextifyLoops(_Nextify):
    """The general form."""

    name = "nextify"

    def check(self, out: Rebuilt, view: LoopView) -> None:
        check_combines(view)
        if any(node.kind == "LOOP_INDICES" for node in view.graph.nodes):
            raise Refusal("the body uses loop_indices")
        for part in view.parts:
            operand = substitute(part.operands[0], view.node.operands, ())
            extent = out.type(operand).extents[-1]
            size = (array_windows(part) or [])[-1][0]
            if extent is None or extent < size:
                raise Refusal("the array's last extent is not known, or less than the window's")

    def changed(self, out: Rebuilt, view: LoopView, chains: Chains) -> list[Operand]:
        self.report.done("nextify", view.node.place, _count(chains))
        return _Striped(out, view, chains).outputs()


class _Striped:
    """One loop over stripes, and the one along each of them."""

    def __init__(self, out: Rebuilt, view: LoopView, chains: Chains) -> None:
        self.out, self.view, self.chains = out, view, chains
        self.windows = [array_windows(part) or [] for part in view.parts]
        self.made: dict[tuple[Edge, int], Operand] = {}

    def outputs(self) -> list[Operand]:
        """What both loops give."""
        if self.view.rank == 1:
            operands = self.view.node.operands
            return self._along(self.out, [substitute(p.operands[0], operands, ()) for p in self.view.parts], operands,
                               {})
        outer = LoopBuilder(self.out)
        parts = [window_node(outer.enter(substitute(part.operands[0], self.view.node.operands, ())),
                             part.outputs[0].scalar, [*windows[:-1], (self._extent(part), 1)], part.place)
                 for part, windows in zip(self.view.parts, self.windows, strict=True)]
        indices = [edge for edge in dict.fromkeys(self.view.captures) if 0 < edge.port < self.view.rank]
        captures = [*(Edge(k) for k in range(len(parts))), *indices]
        found = outer.generate(parts, captures, self.view.node.place)
        begins = dict(zip(indices, found[len(parts):], strict=True))
        entering = [outer.enter(o) for o in self.view.node.operands]
        inner = self._along(outer.body, found[:len(parts)], entering, begins)
        ends = [outer.body.add(Node("CONSTRUCT_TILE" if end.kind == "CONSTRUCT_ARRAY" else end.kind, (value,),
                                    _unknown(end), (), (), end.place))[0]
                for end, value in zip(self.view.ends, inner, strict=True)]
        return outer.finish(ends, self.view.node)

    def _extent(self, part: Node) -> int:
        return self.out.type(substitute(part.operands[0], self.view.node.operands, ())).extents[-1] or 0

    def _along(self, around: Rebuilt, stripes: Sequence[Operand], operands: Sequence[Operand],
               begins: dict[Edge, Operand]) -> list[Operand]:
        """The loop along stripes, in the graph `around`, where the loop's operands are `operands`."""
        start = {(edge, distance): self._before(around, stripes, operands, edge, distance)
                 for edge, distance in _registers(self.chains)}
        loop = LoopBuilder(around)
        parts = [part if part.kind == "ELEGEN" else window_node(part.operands[0], part.outputs[0].scalar, windows,
                                                                part.place)
                 for part, windows in zip(self.view.parts, self.windows, strict=True)]
        parts = [replace(part, operands=(loop.enter(stripe), *part.operands[1:]))
                 for part, stripe in zip(parts, stripes, strict=True)]
        captured = loop.generate(parts, self.view.captures, self.view.node.place)
        captured = [loop.enter(begins[edge]) if edge in begins else value
                    for edge, value in zip(self.view.captures, captured, strict=True)]
        carrying = _Carrying(self.view, self.chains, loop)
        carrying.carry(start)
        arguments = [loop.enter(o) if self.view.body_uses(k) else Constant(0, BOOL) for k, o in enumerate(operands)]
        values = carrying.body(captured, arguments, [0] * len(parts))
        ends = []
        for end in self.view.ends:
            given = tuple(substitute(o, arguments, values) for o in end.operands)
            ends += loop.body.add(replace(end, operands=given, outputs=_unknown(end)))
        carrying.next(values)
        return loop.finish(ends, self.view.node, pragmas_of(self.view.node))

    def _before(self, around: Rebuilt, stripes: Sequence[Operand], operands: Sequence[Operand], operand: Operand,
                distance: int) -> Operand:
        """What `operand` of the body would be so many iterations before the first one."""
        if isinstance(operand, Constant):
            return operand
        if isinstance(operand, Argument):
            return operands[operand.number]
        if (operand, distance) not in self.made:
            node = self.view.graph.nodes[operand.number]
            source = node.operands[0] if node.operands else None
            if node.kind == "AREF" and isinstance(source, Edge) and source.number == 0:
                part = self.view.captures[source.port].number
                columns = (*[0] * (self.view.rank - 1), -distance * self.windows[part][-1][1])
                entering = moved_reference(node, stripes[part], columns)
            else:
                entering = tuple(self._before(around, stripes, operands, o, distance) for o in node.operands)
            found = around.add(replace(node, operands=entering))
            self.made |= {(Edge(operand.number, port), distance): value for port, value in enumerate(found)}
        return self.made[operand, distance]


def _unknown(end: Node) -> tuple[Type, ...]:
    return tuple(Type(t.scalar, (None,) * t.rank) for t in end.outputs)
