"""Extents of arrays and loops that follow from what is known (Hammes 2000, section 4.1.1), downwards: from operands to
outputs, into loops and out of them. The formulas are those of the thesis with its printed errors mended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.frontend.sac.ddcf.graph import Argument, Constant, Graph, Node, Operand
from compiler.frontend.sac.errors import SacError
from compiler.frontend.sac.extents import Extents, span_extent, tile_extents, window_extent
from compiler.frontend.sac.passes.report import Report
from compiler.frontend.sac.passes.rewrite import Rebuilt, Rewriter
from compiler.frontend.sac.types import SIZE, Type

__all__ = ["PropagateSizes", "generator_extents"]

def generator_extents(node: Node, types: Sequence[Type]) -> Extents:
    """Extents of the iterations of a generator whose operands have these types. Raises `SacError` where generators in
    a dot product are known to differ."""
    if node.kind in ("DOT", "CROSS"):
        graph = replace(node.graphs[0], inputs=tuple(types))
        parts = [generator_extents(inner, [graph.type(o) for o in inner.operands]) for inner in graph.nodes]
        return _dot(node, parts) if node.kind == "DOT" else tuple(e for part in parts for e in part)
    if node.kind == "SCALARGEN":
        return tuple(span_extent(*map(known, node.operands[k:k + 3])) for k in range(0, len(node.operands), 3))
    pattern = str(node.attribute("pattern"))
    rest, windows = node.operands[1:], node.kind == "WINDOWGEN"
    sizes, steps = (rest[::2], rest[1::2]) if windows else ([Constant(1, SIZE)] * len(rest), rest)
    iterated = [e for e, slot in zip(types[0].extents, pattern, strict=True) if slot == "~"]
    return tuple(window_extent(extent, known(size), known(step))
                 for extent, size, step in zip(iterated, sizes, steps, strict=True))


def known(operand: Operand) -> int | None:
    """The integer that `operand` is known to be."""
    return int(operand.value) if isinstance(operand, Constant) else None


def _dot(node: Node, parts: Sequence[Extents]) -> Extents:
    found: list[int | None] = []
    for row in zip(*parts, strict=True):
        extents = {extent for extent in row if extent is not None}
        if len(extents) > 1:
            raise SacError(node.place, "generators that are joined by dot have equal shapes, and these have extents "
                                       f"{' and '.join(map(str, sorted(extents)))} in dimension {len(found)}")
        found.append(extents.pop() if extents else None)
    return tuple(found)


class PropagateSizes(Rewriter):
    """Writes known extents into the types of all outputs; EXTENTS of them become numbers, and checks disappear."""

    def __init__(self, report: Report | None = None) -> None:
        super().__init__(report)
        self.loop: Extents = ()

    def node(self, out: Rebuilt, node: Node) -> list[Operand]:
        types = [out.type(operand) for operand in node.operands]
        if node.kind == "EXTENTS":
            found = out.add(node)
            return [edge if extent is None else Constant(extent, SIZE)
                    for edge, extent in zip(found, types[0].extents, strict=True)]
        if node.kind == "CHECK_EXTENTS":
            return _checked(out, node, types[0])
        graphs = self._inside(node, types)
        outputs = tuple(_refined(old, new) for old, new in zip(
            node.outputs, self._outputs(replace(node, graphs=graphs), types), strict=True))
        return out.add(replace(node, graphs=graphs, outputs=outputs))

    def _inside(self, node: Node, types: Sequence[Type]) -> tuple[Graph, ...]:
        """Graphs inside, whose inputs have the types of what enters; what loops carry may change its extents."""
        entering = types[1:] if node.kind == "SWITCH" else types
        carried = {n.number("input") for graph in node.graphs for n in graph.nodes if n.kind == "NEXT"}
        around, graphs = self.loop, []
        for graph in node.graphs:
            if node.kind in ("FORALL", "FORNXT"):
                first = graph.nodes[0]
                self.loop = generator_extents(first, [_typed(graph, o, entering, carried) for o in first.operands])
            elif node.kind == "WHILE":
                self.loop = (None,)
            inputs = [old if k in carried else _refined(old, new)
                      for k, (old, new) in enumerate(zip(graph.inputs, entering, strict=True))]
            graphs.append(self.graph(graph, inputs))
            self.loop = around
        return tuple(graphs)

    def _outputs(self, node: Node, types: Sequence[Type]) -> Sequence[Type]:
        if node.kind == "SWITCH":
            rows = zip(*([graph.type(o) for o in graph.outputs] for graph in node.graphs), strict=True)
            return [Type(row[0].scalar, _common([type_.extents for type_ in row])) for row in rows]
        if node.graphs:
            return [node.graphs[-1].type(operand) for operand in node.graphs[-1].outputs]
        rule = _RULES.get(node.kind)
        return node.outputs if rule is None else rule(node, types, self.loop)


def _typed(graph: Graph, operand: Operand, entering: Sequence[Type], carried: set[int]) -> Type:
    if isinstance(operand, Argument) and operand.number not in carried:
        return entering[operand.number]
    return graph.type(operand)


def _refined(old: Type, new: Type) -> Type:
    """`old` with the extents that `new` knows besides."""
    return Type(old.scalar, tuple(n if o is None else o for o, n in zip(old.extents, new.extents, strict=True)))


def _common(rows: Sequence[Extents]) -> Extents:
    return tuple(row[0] if len(set(row)) == 1 else None for row in zip(*rows, strict=True))


def _checked(out: Rebuilt, node: Node, given: Type) -> list[Operand]:
    """A check of extents that are known by now is done. Raises `SacError` where they differ."""
    wanted = node.outputs[0].extents
    for dimension, (one, other) in enumerate(zip(given.extents, wanted, strict=True)):
        if None not in (one, other) and one != other:
            raise SacError(node.place, f"an array declared {node.outputs[0]} has an extent of {one} in dimension "
                                       f"{dimension}")
    if all(one is not None or other is None for one, other in zip(given.extents, wanted, strict=True)):
        return [node.operands[0]]
    return out.add(replace(node, outputs=(_refined(node.outputs[0], given),)))


def _same(node: Node, types: Sequence[Type], loop: Extents) -> list[Type]:
    return [types[0].of(node.outputs[0].scalar)]


def _reference(node: Node, types: Sequence[Type], loop: Extents) -> list[Type]:
    rest, extents = list(node.operands[1:]), []
    for slot in str(node.attribute("pattern")):
        taken, rest = (rest[:3], rest[3:]) if slot == ":" else (rest[:1], rest[1:])
        if slot == ":":
            extents.append(span_extent(*map(known, taken)))
    return [Type(types[0].scalar, tuple(extents))]


def _joined(node: Node, types: Sequence[Type], loop: Extents) -> list[Type]:
    axis = 0 if node.kind.endswith("VERT") else types[0].rank - 1
    extents = []
    for dimension, (one, other) in enumerate(zip(types[0].extents, types[1].extents, strict=True)):
        if dimension == axis:
            extents.append(None if one is None or other is None else one + other)
        else:
            extents.append(other if one is None else one)
    return [Type(types[0].scalar, tuple(extents))]


def _perimeter(node: Node, types: Sequence[Type], loop: Extents) -> list[Type]:
    width = known(node.operands[1])
    return [Type(types[0].scalar, tuple(None if e is None or width is None else e + 2 * width
                                        for e in types[0].extents))]


def _component(node: Node, types: Sequence[Type], loop: Extents) -> list[Type]:
    """What a generator captures."""
    pattern = str(node.attribute("pattern"))
    whole = [e for e, slot in zip(types[0].extents, pattern, strict=True) if slot == ":"]
    if node.kind == "WINDOWGEN":
        sizes = iter(node.operands[1::2])
        whole = [e if slot == ":" else known(next(sizes)) for e, slot in zip(types[0].extents, pattern, strict=True)]
    return [Type(types[0].scalar, tuple(whole)), *node.outputs[1:]]


def _array(node: Node, types: Sequence[Type], loop: Extents) -> list[Type]:
    return [Type(types[0].scalar, (*loop, *types[0].extents))]


def _tile(node: Node, types: Sequence[Type], loop: Extents) -> list[Type]:
    return [Type(types[0].scalar, tile_extents(loop, types[0].extents))]


def _sized(node: Node, types: Sequence[Type], loop: Extents) -> list[Type]:
    """Histograms and accumulations have the extents that they are given."""
    labelled = node.kind.startswith("ACCUM_")
    places = range(1 + labelled, 1 + labelled + node.outputs[0].rank)
    return [Type(node.outputs[0].scalar, tuple(known(node.operands[k]) for k in places))]


_RULES = {
    "CAST": _same, "FILL_LIKE": _same, "AREF": _reference, "ARRAY_CONCAT": _joined,
    "ARRAY_CONCAT_VERT": _joined, "ARR_CONPERIM": _perimeter, "ELEGEN": _component, "WINDOWGEN": _component,
    "CONSTRUCT_ARRAY": _array, "CONSTRUCT_TILE": _tile, "HISTOGRAM": _sized,
    **{f"ACCUM_{kind}": _sized for kind in ("SUM", "PRODUCT", "MIN", "MAX", "AND", "OR", "MEAN", "ST_DEV", "MEDIAN",
                                            "MODE", "HISTOGRAM")},
}
