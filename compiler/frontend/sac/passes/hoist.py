"""What a loop computes anew in each iteration, and always alike, is computed before it (Hammes 2000, section 4.1.8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.frontend.sac.ddcf.graph import Argument, Constant, Edge, Graph, Node, Operand
from compiler.frontend.sac.ddcf.kinds import LOOP_KINDS, RETURN_KINDS
from compiler.frontend.sac.passes.rewrite import Rebuilt, Rewriter, substitute
from compiler.frontend.sac.passes.safety import can_fail

__all__ = ["HoistInvariants", "without_nodes"]


class HoistInvariants(Rewriter):
    """Moves nodes whose operands come from outside in front of the loop; those that may fail stay, as the loop may have
    no iterations, and so do arrays of constants, which are known inside (`PropagateConstants`)."""

    def node(self, out: Rebuilt, node: Node) -> list[Operand]:
        node = self.within(out, node)
        if node.kind not in LOOP_KINDS:
            return out.add(node)
        graph = node.graphs[-1]
        carried = {n.number("input") for n in graph.nodes if n.kind == "NEXT"}
        moved = _invariants(graph, carried)
        return out.add(without_nodes(out, node, moved) if moved else node)


def _invariants(graph: Graph, carried: set[int]) -> list[int]:
    found: list[int] = []
    for number, node in enumerate(graph.nodes):
        if node.kind in (*RETURN_KINDS, "NEXT", "DOT", "CROSS", "LOOP_INDICES") or not node.operands:
            continue
        if any(inner.kind == "LOOP_INDICES" and node.kind not in LOOP_KINDS for g in node.graphs for inner in g.walk()):
            continue
        if all(isinstance(o, Constant) for o in node.operands):
            continue  # folding computes it, or it is an array of constants
        outside = all(isinstance(o, Constant) or (isinstance(o, Edge) and o.number in found)
                      or (isinstance(o, Argument) and o.number not in carried) for o in node.operands)
        if outside and not can_fail(node, graph.inputs, graph.nodes):
            found.append(number)
    return found


def without_nodes(out: Rebuilt, node: Node, moved: Sequence[int]) -> Node:
    """The loop without these nodes, which are in `out` by then and enter it."""
    graph = node.graphs[-1]
    outside: dict[int, list[Operand]] = {}
    for number in moved:
        inner = graph.nodes[number]
        operands = tuple(outside[o.number][o.port] if isinstance(o, Edge) else substitute(o, node.operands, ())
                         for o in inner.operands)
        outside[number] = out.add(replace(inner, operands=operands))
    entering, inputs = list(node.operands), list(graph.inputs)
    values: list[list[Operand]] = []
    body = Rebuilt(inputs)
    arguments = [Argument(k) for k in range(len(inputs))]
    for number, inner in enumerate(graph.nodes):
        if number in outside:
            first = len(entering)
            entering += outside[number]
            inputs += inner.outputs
            values.append([Argument(first + port) for port in range(len(inner.outputs))])
        else:
            values.append(body.add(replace(inner, operands=tuple(substitute(o, arguments, values)
                                                                 for o in inner.operands))))
    body.inputs = inputs
    changed = body.finish([substitute(o, arguments, values) for o in graph.outputs])
    tests = tuple(replace(test, inputs=tuple(inputs)) for test in node.graphs[:-1])
    return replace(node, operands=tuple(entering), graphs=(*tests, changed))
