"""Values of iterations before, carried in registers that additional iterations fill (Hammes 2000, section 4.2.2).

The array is padded at the left, and what additional iterations give is dropped, or masked where it would enter a
reduction. Columns that no iteration uses any more cancel the padding as far as they go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.frontend.sac.ddcf.graph import Constant, Edge, Node, Operand
from compiler.frontend.sac.ddcf.kinds import RETURN_KINDS, STRUCTURING_KINDS, VALUE_AT_KINDS
from compiler.frontend.sac.passes.carrying import Carrying, Nextify, count_text, registers
from compiler.frontend.sac.passes.chains import Chains, last_bounds
from compiler.frontend.sac.passes.loops import (
    LoopBuilder,
    LoopView,
    Refusal,
    array_windows,
    pragmas_of,
    unknown_results,
    window_node,
)
from compiler.frontend.sac.passes.rewrite import Rebuilt, Rewriter, substitute
from compiler.frontend.sac.passes.sections import drop_first, pad_left
from compiler.frontend.sac.types import BOOL, SIZE, Type

__all__ = ["NextifyPaddedLoops"]


class NextifyPaddedLoops(Nextify):
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
        return f"{count_text(self.chains)}; {longest} additional iteration{'s' * (longest != 1)}, {pads}"

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
        carrying = Carrying(self.view, self.chains, loop)
        keys = registers(self.chains)
        carrying.carry({key: Constant(0, self.view.graph.type(key[0]).scalar) for key in keys})
        arguments = loop.enter_body(self.view)
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
            outputs = unknown_results(end)
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
