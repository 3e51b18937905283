"""Arrays between two loops become one, whose elements hold the bits of all (Hammes 2000, section 4.2.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from compiler.frontend.sac.ddcf.graph import Argument, Constant, Edge, Graph, Node, Operand
from compiler.frontend.sac.passes.loops import (
    LoopBuilder,
    Refusal,
    isolate_arrays,
    loop_view,
    pragmas_of,
)
from compiler.frontend.sac.passes.rewrite import Rebuilt, Rewriter, substitute
from compiler.frontend.sac.types import MOST_BITS, SIZE, Kind, Scalar, Type

__all__ = ["CombineArrays"]


@dataclass(frozen=True)
class _Pair:
    """Two loops by number, and for each array between them the upper loop's output and the lower loop's generator."""

    upper: int
    lower: int
    arrays: tuple[tuple[int, int], ...]


class CombineArrays(Rewriter):
    """Combines the arrays that one loop gives to generators of another."""

    def graph(self, graph: Graph, inputs: Sequence[Type], known: dict[int, Operand] | None = None) -> Graph:
        done = super().graph(graph, inputs, known)
        combined = self._combined(done)
        while combined is not None:
            done, combined = combined, self._combined(combined)
        return done

    def _combined(self, graph: Graph) -> Graph | None:
        for pair in _pairs(graph):
            upper, lower = graph.nodes[pair.upper], graph.nodes[pair.lower]
            try:
                scalars = _check(graph, pair)
            except Refusal as reason:
                self.report.refused("combine", lower.place, f"arrays of the loop at {upper.place}: {reason}")
                continue
            self.report.done("combine", lower.place, f"arrays of the loop at {upper.place}: "
                             f"{' and '.join(map(str, scalars))} in {sum(s.width for s in scalars)} bits")
            return _replaced(graph, pair, scalars)
        return None


def _pairs(graph: Graph) -> list[_Pair]:
    found = []
    for number, node in enumerate(graph.nodes):
        if node.kind not in ("FORALL", "FORNXT"):
            continue
        between: dict[int, list[tuple[int, int]]] = {}
        for part, generator in enumerate(loop_view(node).parts):
            array = generator.operands[0]
            source = node.operands[array.number] if isinstance(array, Argument) else None
            if generator.kind != "SCALARGEN" and isinstance(source, Edge):
                between.setdefault(source.number, []).append((source.port, part))
        found += [_Pair(upper, number, tuple(arrays)) for upper, arrays in between.items()
                  if len(arrays) > 1 and graph.nodes[upper].kind in ("FORALL", "FORNXT")]
    return found


def _check(graph: Graph, pair: _Pair) -> list[Scalar]:
    """Types of the arrays' elements. Raises `Refusal` if they cannot be combined."""
    upper, lower = loop_view(graph.nodes[pair.upper]), loop_view(graph.nodes[pair.lower])
    ports = [port for port, _ in pair.arrays]
    if len(set(ports)) < len(ports):
        raise Refusal("one array feeds several generators")
    uses = [o for node in graph.nodes for o in node.operands] + list(graph.outputs)
    parts = [lower.parts[part] for _, part in pair.arrays]
    if any(uses.count(Edge(pair.upper, port)) > 1 for port in ports) or any(
            isinstance(part.operands[0], Argument) and lower.body_uses(part.operands[0].number) for part in parts):
        raise Refusal("something other than generators of this loop uses one of them, too")
    ends = [upper.ends[port] for port in ports]
    if any(end.kind != "CONSTRUCT_ARRAY" or upper.graph.type(end.operands[0]).is_array for end in ends):
        raise Refusal("one is no array of scalars of the iterations")
    if lower.joined == "CROSS" or len({(p.kind, p.attributes, p.operands[1:]) for p in parts}) > 1:
        raise Refusal("generators take them in different ways")
    if parts[0].kind == "ELEGEN" and ":" in str(parts[0].attribute("pattern")):
        raise Refusal("generators take dimensions whole")
    scalars = [end.outputs[0].scalar for end in ends]
    bits = sum(scalar.width for scalar in scalars)
    if any(scalar.floating for scalar in scalars):
        raise Refusal("one holds floating-point numbers")
    if bits > MOST_BITS:
        raise Refusal(f"their elements have {bits} bits together; a scalar has at most {MOST_BITS}")
    return scalars


def _replaced(graph: Graph, pair: _Pair, scalars: Sequence[Scalar]) -> Graph:
    out = Rebuilt(graph.inputs)
    arguments = [Argument(number) for number in range(len(graph.inputs))]
    values: list[list[Operand]] = []
    for number, node in enumerate(graph.nodes):
        node = replace(node, operands=tuple(substitute(o, arguments, values) for o in node.operands))
        if number == pair.upper:
            values.append(_packed(out, node, [port for port, _ in pair.arrays], scalars))
        elif number == pair.lower:
            values.append(_unpacked(out, node, [part for _, part in pair.arrays], scalars))
        else:
            values.append(out.add(node))
    return out.finish([substitute(o, arguments, values) for o in graph.outputs])


def _places(scalars: Sequence[Scalar]) -> list[int]:
    """Where the bits of each begin: the first one has the highest."""
    return [sum(s.width for s in scalars[k + 1:]) for k in range(len(scalars))]


def _packed(out: Rebuilt, node: Node, ports: Sequence[int], scalars: Sequence[Scalar]) -> list[Operand]:
    """The upper loop with one array in the place of several; its outputs as before, the array at each of `ports`."""
    view = loop_view(node)
    loop = LoopBuilder(out)
    arguments = loop.enter_all(view, node.operands)
    entered = [replace(p, operands=tuple(substitute(o, arguments, ()) for o in p.operands)) for p in view.parts]
    captured = loop.generate(entered, view.captures, node.place, view.joined)
    values = loop.take(view.graph, arguments, captured)
    held = Type(Scalar(Kind.BITS, sum(scalar.width for scalar in scalars)))
    whole: Operand | None = None
    for port, scalar, place in zip(ports, scalars, _places(scalars), strict=True):
        operand = substitute(view.ends[port].operands[0], arguments, values)
        (bits,) = loop.body.add(Node("CAST", (operand,), (Type(Scalar(Kind.BITS, scalar.width)),), (), (), node.place))
        (wide,) = loop.body.add(Node("CAST", (bits,), (held,), (), (), node.place))
        if place:
            (wide,) = loop.body.add(Node("LEFT_SHIFT", (wide, Constant(place, SIZE)), (held,), (), (), node.place))
        whole = wide if whole is None else loop.body.add(Node("BIT_OR", (whole, wide), (held,), (), (), node.place))[0]
    assert whole is not None
    array = view.ends[ports[0]].outputs[0].of(held.scalar)
    (end,) = loop.body.add(Node("CONSTRUCT_ARRAY", (whole,), (array,), (), (), node.place))
    ends = [end if k == ports[0] else substitute(o, arguments, values) for k, o in enumerate(view.graph.outputs)
            if k == ports[0] or k not in ports]
    found = iter(loop.finish(ends, node, pragmas_of(node)))
    leaving = {k: next(found) for k in range(len(node.outputs)) if k == ports[0] or k not in ports}
    return [leaving.get(k, leaving[ports[0]]) for k in range(len(node.outputs))]


def _unpacked(out: Rebuilt, node: Node, parts: Sequence[int], scalars: Sequence[Scalar]) -> list[Operand]:
    """The lower loop with one generator in the place of `parts`; all their operands are the one array by now."""
    view = loop_view(isolate_arrays(node))
    loop = LoopBuilder(out)
    kept = [k for k in range(len(view.parts)) if k == parts[0] or k not in parts]
    moved = {part: kept.index(part if part in kept else parts[0]) for part in range(len(view.parts))}
    entered = []
    for k in kept:
        part = view.parts[k]
        operands = tuple(loop.enter(substitute(o, view.node.operands, ())) for o in part.operands)
        outputs = part.outputs
        if k == parts[0]:
            outputs = (part.outputs[0].of(loop.body.type(operands[0]).scalar), *part.outputs[1:])
        entered.append(replace(part, operands=operands, outputs=outputs))
    captures = list(dict.fromkeys(Edge(moved[edge.number], edge.port) for edge in view.captures))
    brought = dict(zip(captures, loop.generate(entered, captures, node.place), strict=True))
    captured = []
    for edge in view.captures:
        value = brought[Edge(moved[edge.number], edge.port)]
        if edge.number in parts and edge.port == 0:
            place = parts.index(edge.number)
            value = _part(loop.body, value, scalars[place], _places(scalars)[place], node)
        captured.append(value)
    arguments = loop.enter_body(view)
    values = loop.take(view.graph, arguments, captured)
    return loop.finish([substitute(o, arguments, values) for o in view.graph.outputs], node, pragmas_of(node))


def _part(body: Rebuilt, value: Operand, scalar: Scalar, place: int, node: Node) -> Operand:
    """One of the numbers that `value`, a scalar or a window, holds."""
    type_ = body.type(value)
    if type_.is_array:
        loop = LoopBuilder(body)
        part = Node("ELEGEN", (loop.enter(value), *[Constant(1, SIZE)] * type_.rank),
                    (Type(type_.scalar), *[Type(SIZE)] * type_.rank), (("pattern", "~" * type_.rank),), (), node.place)
        (element,) = loop.generate([part], [Edge(0)], node.place)
        number = _part(loop.body, element, scalar, place, node)
        (end,) = loop.body.add(Node("CONSTRUCT_ARRAY", (number,), (type_.of(scalar),), (), (), node.place))
        return loop.finish([end], node)[0]
    if place:
        (value,) = body.add(Node("RIGHT_SHIFT", (value, Constant(place, SIZE)), (type_,), (), (), node.place))
    bits = Type(Scalar(Kind.BITS, scalar.width))
    (low,) = body.add(Node("CAST", (value,), (bits,), (), (), node.place))
    return body.add(Node("CAST", (low,), (Type(scalar),), (), (), node.place))[0]

