"""Operations on no more bits than their values have, or than are used of them (Hammes 2000, section 4.1.7).

Every operation takes its operands at its own width: a narrower operand is widened by a CAST, so that a sum of two 3-bit
numbers that needs 4 bits is computed with 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from compiler.frontend.sac.arithmetic import COMPARISONS, cast, dtype
from compiler.frontend.sac.ddcf.graph import Argument, Constant, Edge, Graph, Module, Node, Operand
from compiler.frontend.sac.passes.bit_counts import count_bits
from compiler.frontend.sac.passes.ranges import Values, bits_of, find_values, is_whole, keeps_low_bits
from compiler.frontend.sac.passes.report import Report
from compiler.frontend.sac.passes.rewrite import Rebuilt, substitute
from compiler.frontend.sac.types import Kind, Scalar, Type

__all__ = ["narrow"]

_EXACT = ("DIV", "MOD", "RIGHT_SHIFT")
"""Operations that need whole numbers, and compute at the width of these."""


def narrow(module: Module, main: str, report: Report) -> Module:
    """`module` with narrower operations, and a note for each function of the bits before and after, by category."""
    done = []
    for function in module.functions:
        graph = _Narrowed(find_values(function.graph)).graph([type_.scalar for type_ in function.result_types])
        if graph != function.graph:
            before, after = count_bits(function.graph), count_bits(graph, known=True)
            report.done("narrow", function.place, f"'{function.name}': " + ", ".join(
                f"{name} {before[name]} to {after[name]} bits" for name in before))
        done.append(replace(function, graph=graph))
    return Module(tuple(done))


class _Narrowed:
    """One graph written anew; its inputs may have narrower types than before."""

    def __init__(self, values: Values, inputs: Sequence[Type] | None = None) -> None:
        self.values, self.old = values, values.graph
        self.out = Rebuilt(self.old.inputs if inputs is None else inputs)
        self.found: list[list[Operand]] = []

    def graph(self, outputs: Sequence[Scalar]) -> Graph:
        """The graph, whose outputs have these types."""
        for number, node in enumerate(self.old.nodes):
            self.found.append(self._node(number, node))
        return self.out.finish([self._as(self._new(o), scalar)
                                for o, scalar in zip(self.old.outputs, outputs, strict=True)])

    def _new(self, operand: Operand) -> Operand:
        arguments = [Argument(k) for k in range(len(self.out.inputs))]
        return substitute(operand, arguments, self.found)

    def _as(self, operand: Operand, scalar: Scalar) -> Operand:
        """`operand` in the type `scalar`."""
        type_ = self.out.type(operand)
        if type_.scalar == scalar:
            return operand
        if isinstance(operand, Constant):
            held = np.asarray(operand.value, dtype=dtype(operand.scalar))
            return Constant(cast(held, operand.scalar, scalar).item(), scalar)
        return self.out.add(Node("CAST", (operand,), (type_.of(scalar),)))[0]

    def _node(self, number: int, node: Node) -> list[Operand]:
        if node.kind == "SWITCH":
            return self._switch(number, node)
        if node.kind in COMPARISONS:
            return self.out.add(replace(node, operands=tuple(map(self._new, node.operands))))
        types = [self.old.type(operand) for operand in node.operands]
        whole = bool(types) and len(node.outputs) == 1 and is_whole(node.outputs[0]) and all(map(is_whole, types))
        if whole and node.kind == "CAST" and keeps_low_bits(node, types[0]):
            return [self._as(self._new(node.operands[0]), self._width(number, 0, node.outputs[0].scalar))]
        if whole and (node.kind in _EXACT or (node.kind != "CAST" and keeps_low_bits(node, types[0]))):
            return self._operation(number, node)
        return self._unchanged(number, node)

    def _width(self, number: int, port: int, scalar: Scalar, least: int = 1) -> Scalar:
        """The type of an output: as many bits as its values have or as are used of them, but at least `least`."""
        found = self.values.outputs[number][port]
        if found is None or scalar.kind is Kind.BOOL:
            return scalar
        used = self.values.used.get(Edge(number, port), scalar.width)
        return Scalar(scalar.kind, min(scalar.width, max(1, least, min(bits_of(found, scalar.signed), used))))

    def _operation(self, number: int, node: Node) -> list[Operand]:
        """An operation whose operands are integers."""
        scalar = node.outputs[0].scalar
        wide = node.operands[:1] if node.kind == "RIGHT_SHIFT" else node.operands if node.kind in _EXACT else ()
        least = max((bits_of(self.values.range(o) or (0, 0), scalar.signed) for o in wide), default=1)
        if wide:  # all bits of the result: what is used of it may be less than its operands have
            found = self.values.outputs[number][0]
            least = max(least, bits_of(found, scalar.signed) if found else 1)
        scalar = self._width(number, 0, scalar, least)
        operands = []
        for place, operand in enumerate(node.operands):
            kept = (node.kind.endswith("SHIFT") and place == 1) or (node.kind.endswith("_MANY") and place % 2)
            operands.append(self._new(operand) if kept else self._as(self._new(operand), scalar))
        return self.out.add(replace(node, operands=tuple(operands), outputs=(Type(scalar),)))

    def _switch(self, number: int, node: Node) -> list[Operand]:
        key, *entering = (self._new(o) for o in node.operands)
        key = self._as(key, self.old.type(node.operands[0]).scalar)
        inputs = [self.out.type(o) for o in entering]
        scalars = [self._width(number, port, type_.scalar) for port, type_ in enumerate(node.outputs)]
        graphs = tuple(_Narrowed(inner, inputs).graph(scalars) for inner in self.values.inner[number])
        outputs = tuple(type_.of(scalar) for type_, scalar in zip(node.outputs, scalars, strict=True))
        return self.out.add(replace(node, operands=(key, *entering), outputs=outputs, graphs=graphs))

    def _unchanged(self, number: int, node: Node) -> list[Operand]:
        """A node that takes operands of the types it had; graphs inside of it are narrowed."""
        operands = tuple(self._as(self._new(o), self.old.type(o).scalar) for o in node.operands)
        graphs = tuple(_Narrowed(inner).graph([t.scalar for t in map(inner.graph.type, inner.graph.outputs)])
                       for inner in self.values.inner.get(number, []))
        return self.out.add(replace(node, operands=operands, graphs=graphs))

