"""Values of iterations before, carried in registers along stripes of an array (Hammes 2000, section 4.2.1).

A loop over stripes computes what the first iteration along each needs from before it, around the loop that carries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.frontend.sac.ddcf.graph import Argument, Constant, Edge, Node, Operand
from compiler.frontend.sac.passes.carrying import Carrying, Nextify, count_text, registers
from compiler.frontend.sac.passes.chains import Chains, moved_reference
from compiler.frontend.sac.passes.loops import (
    LoopBuilder,
    LoopView,
    Refusal,
    array_windows,
    pragmas_of,
    unknown_results,
    window_node,
)
from compiler.frontend.sac.passes.rewrite import Rebuilt, substitute
from compiler.frontend.sac.passes.tile import check_combines

__all__ = ["NextifyLoops"]


class NextifyLoops(Nextify):
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
        self.report.done("nextify", view.node.place, count_text(chains))
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
                                    unknown_results(end), (), (), end.place))[0]
                for end, value in zip(self.view.ends, inner, strict=True)]
        return outer.finish(ends, self.view.node)

    def _extent(self, part: Node) -> int:
        return self.out.type(substitute(part.operands[0], self.view.node.operands, ())).extents[-1] or 0

    def _along(self, around: Rebuilt, stripes: Sequence[Operand], operands: Sequence[Operand],
               begins: dict[Edge, Operand]) -> list[Operand]:
        """The loop along stripes, in the graph `around`, where the loop's operands are `operands`."""
        start = {(edge, distance): self._before(around, stripes, operands, edge, distance)
                 for edge, distance in registers(self.chains)}
        loop = LoopBuilder(around)
        parts = [part if part.kind == "ELEGEN" else window_node(part.operands[0], part.outputs[0].scalar, windows,
                                                                part.place)
                 for part, windows in zip(self.view.parts, self.windows, strict=True)]
        parts = [replace(part, operands=(loop.enter(stripe), *part.operands[1:]))
                 for part, stripe in zip(parts, stripes, strict=True)]
        captured = loop.generate(parts, self.view.captures, self.view.node.place)
        captured = [loop.enter(begins[edge]) if edge in begins else value
                    for edge, value in zip(self.view.captures, captured, strict=True)]
        carrying = Carrying(self.view, self.chains, loop)
        carrying.carry(start)
        arguments = loop.enter_body(self.view, operands)
        values = carrying.body(captured, arguments, [0] * len(parts))
        ends = []
        for end in self.view.ends:
            given = tuple(substitute(o, arguments, values) for o in end.operands)
            ends += loop.body.add(replace(end, operands=given, outputs=unknown_results(end)))
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
