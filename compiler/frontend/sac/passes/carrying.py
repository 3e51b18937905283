"""What both forms of carrying values from one iteration to the next have in common (Hammes 2000, section 4.2.1)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace

from compiler.frontend.sac.ddcf.graph import Argument, Constant, Edge, Node, Operand
from compiler.frontend.sac.passes.chains import Chains, find_chains, last_bounds, moved_reference
from compiler.frontend.sac.passes.loops import (
    LoopBuilder,
    LoopView,
    Refusal,
    isolate_arrays,
    loop_view,
)
from compiler.frontend.sac.passes.rewrite import Rebuilt, Rewriter, substitute
from compiler.frontend.sac.passes.safety import can_fail
from compiler.frontend.sac.types import BOOL

__all__ = ["Carrying", "Nextify", "count_text", "registers"]


class Nextify(Rewriter, ABC):
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

    @abstractmethod
    def changed(self, out: Rebuilt, view: LoopView, chains: Chains) -> list[Operand]:
        """The loop's outputs from one that carries."""


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


def count_text(chains: Chains) -> str:
    registers = chains.count
    return (f"{len(chains.replaced)} value{'s' * (len(chains.replaced) != 1)} from iterations before, in {registers} "
            f"register{'s' * (registers != 1)}")


class Carrying:
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
            self.loop.next(argument, source, self.view.node.place)


def registers(chains: Chains) -> list[tuple[Edge, int]]:
    return [(edge, distance) for edge, longest in chains.registers.items() for distance in range(1, longest + 1)]
