"""Between which numbers values lie, and how many of their low bits are used (Hammes 2000, section 4.1.7).

Ranges go down, from operands to results; the thesis' greatest unsigned values are ranges that begin at 0, and signed
numbers have ranges, too. Used bits go up. Integers and bits have both; other numbers, and elements of arrays, are taken
as their types say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from compiler.frontend.sac.ddcf.graph import Argument, Constant, Edge, Graph, Node, Operand
from compiler.frontend.sac.types import Kind, Scalar, Type

__all__ = ["Range", "Values", "bits_of", "find_values", "is_whole", "keeps_low_bits"]

Range = tuple[int, int]

_LOW_BITS = ("ADD", "SUB", "MUL", "NEG", "BIT_AND", "BIT_OR", "BIT_XOR", "BIT_NOT", "SUM_MANY")
"""Operations whose low bits depend on no higher bits of operands."""


def is_whole(type_: Type) -> bool:
    """Whether values are scalars of integers, bits or bool."""
    return not type_.is_array and not type_.scalar.floating and not type_.scalar.fraction and type_.scalar.kind not in (
        Kind.FIX, Kind.UFIX)


def bits_of(found: Range, signed: bool) -> int:
    """Bits that hold all numbers of a range."""
    low, high = found
    return max(high.bit_length(), (~low).bit_length() if low < 0 else 0) + 1 if signed else high.bit_length()


def keeps_low_bits(node: Node, source: Type) -> bool:
    """Whether low bits of what `node` gives need no higher bits of its first operand, which has this type."""
    if node.kind == "CAST":
        target = node.outputs[0].scalar
        mixed = source.scalar.signed and Kind.BITS in (source.scalar.kind, target.kind)
        return is_whole(source) and is_whole(node.outputs[0]) and target.kind is not Kind.BOOL and not mixed
    return node.kind in (*_LOW_BITS, "LEFT_SHIFT")


@dataclass
class Values:
    """What is known of a graph: ranges of inputs and of nodes' outputs, used bits, and the same of graphs inside."""

    graph: Graph
    inputs: list[Range | None]
    outputs: list[list[Range | None]] = field(default_factory=list)
    used: dict[Operand, int] = field(default_factory=dict)
    inner: dict[int, list[Values]] = field(default_factory=dict)

    def range(self, operand: Operand) -> Range | None:
        """Where the values of `operand` lie; None for what is no integer."""
        if isinstance(operand, Constant):
            whole = is_whole(Type(operand.scalar))
            return (int(operand.value), int(operand.value)) if whole else None
        if isinstance(operand, Argument):
            return self.inputs[operand.number]
        return self.outputs[operand.number][operand.port]


def find_values(graph: Graph) -> Values:
    """What is known of a function's graph, all of whose outputs are used whole."""
    values = _down(graph, [_full(type_) for type_ in graph.inputs])
    _up(values, [type_.scalar.width for type_ in map(graph.type, graph.outputs)])
    return values


def _full(type_: Type) -> Range | None:
    return (type_.scalar.minimum, type_.scalar.maximum) if is_whole(type_) else None


def _down(graph: Graph, inputs: Sequence[Range | None]) -> Values:
    values = Values(graph, list(inputs))
    for number, node in enumerate(graph.nodes):
        if node.graphs:
            values.inner[number] = _inside(values, node)
        values.outputs.append(_node(values, number, node))
    return values


def _inside(values: Values, node: Node) -> list[Values]:
    entering = [values.range(o) for o in (node.operands[1:] if node.kind == "SWITCH" else node.operands)]
    carried = {n.number("input") for graph in node.graphs for n in graph.nodes if n.kind == "NEXT"}
    return [_down(graph, [_full(type_) if k in carried else found
                          for k, (type_, found) in enumerate(zip(graph.inputs, entering, strict=True))])
            for graph in node.graphs]


def _node(values: Values, number: int, node: Node) -> list[Range | None]:
    full = [_full(type_) for type_ in node.outputs]
    if node.kind in ("SWITCH", "DOT", "CROSS"):
        rows = [[inner.range(o) for o in inner.graph.outputs] for inner in values.inner[number]]
        return [None if whole is None else _union([row[port] or whole for row in rows])
                for port, whole in enumerate(full)]
    if node.kind == "SCALARGEN":
        return [_span(values, node.operands[3 * k:3 * k + 2], whole) for k, whole in enumerate(full)]
    rule = _RULES.get(node.kind)
    if rule is None or full[0] is None:
        return full
    operands = [values.range(o) for o in node.operands]
    found = rule(node.outputs[0].scalar, *operands) if None not in operands else None
    return [found if found is not None and full[0][0] <= found[0] and found[1] <= full[0][1] else full[0]]


def _span(values: Values, bounds: Sequence[Operand], whole: Range | None) -> Range | None:
    low, high = values.range(bounds[0]), values.range(bounds[1])
    if whole is None or low is None or high is None or not whole[0] <= low[0] <= high[1] <= whole[1]:
        return whole
    return low[0], high[1]


def _union(found: Sequence[Range]) -> Range:
    return min(low for low, _ in found), max(high for _, high in found)


def _product(scalar: Scalar, left: Range, right: Range) -> Range:
    found = [a * b for a in left for b in right]
    return min(found), max(found)


def _both(scalar: Scalar, left: Range, right: Range) -> Range:
    """An intersection with a number that is not negative is at most that."""
    bounds = [high for low, high in (left, right) if low >= 0]
    return (0, min(bounds)) if bounds else _signed(left, right)


def _signed(left: Range, right: Range) -> Range:
    """Bits of numbers that may be negative: as many as the wider one has."""
    bits = max(bits_of(left, True), bits_of(right, True)) - 1
    return -(1 << bits), (1 << bits) - 1


def _either(scalar: Scalar, left: Range, right: Range) -> Range:
    """A union has no bits besides those of the operands, and is at most their sum."""
    if min(left[0], right[0]) < 0:
        return _signed(left, right)
    ones = (1 << max(left[1].bit_length(), right[1].bit_length())) - 1
    return 0, min(ones, left[1] + right[1])


def _complement(scalar: Scalar, value: Range) -> Range | None:
    return (~value[1], ~value[0]) if scalar.signed else None


def _up_shift(scalar: Scalar, value: Range, amount: Range) -> Range | None:
    if amount[0] != amount[1]:
        return None
    return (0, 0) if amount[0] >= scalar.width else (value[0] << amount[0], value[1] << amount[0])


def _down_shift(scalar: Scalar, value: Range, amount: Range) -> Range:
    if amount[0] == amount[1]:
        by = min(amount[0], scalar.width)
        return value[0] >> by, value[1] >> by
    return min(value[0], 0), max(value[1], -1 if value[0] < 0 else 0)


def _size(value: Range) -> int:
    return max(abs(value[0]), abs(value[1]))


def _quotient(scalar: Scalar, left: Range, right: Range) -> Range:
    return (-_size(left) if scalar.signed else 0), _size(left)


def _remainder(scalar: Scalar, left: Range, right: Range) -> Range:
    most = min(_size(left), max(0, _size(right) - 1))
    return (-most if left[0] < 0 else 0), most


def _sum(scalar: Scalar, *operands: Range) -> Range:
    values = operands[::2]
    return sum(min(low, 0) for low, _ in values), sum(max(high, 0) for _, high in values)


def _same(scalar: Scalar, value: Range) -> Range:
    return value


_RULES: dict[str, Callable[..., Range | None]] = {
    "ADD": lambda scalar, a, b: (a[0] + b[0], a[1] + b[1]), "SUB": lambda scalar, a, b: (a[0] - b[1], a[1] - b[0]),
    "MUL": _product, "DIV": _quotient, "MOD": _remainder, "NEG": lambda scalar, a: (-a[1], -a[0]),
    "BIT_AND": _both, "BIT_OR": _either, "BIT_XOR": _either, "BIT_NOT": _complement, "LEFT_SHIFT": _up_shift,
    "RIGHT_SHIFT": _down_shift,
    "CAST": _same, "CHECK_EXTENTS": _same, "SUM_MANY": _sum,
}


def _up(values: Values, outputs: Sequence[int]) -> None:
    """How many low bits are used of each operand; all of what nodes take that need whole numbers."""
    graph = values.graph
    for operand, bits in zip(graph.outputs, outputs, strict=True):
        _use(values, operand, bits)
    for number in reversed(range(len(graph.nodes))):
        node = graph.nodes[number]
        types = [graph.type(operand) for operand in node.operands]
        if node.kind == "SWITCH":
            _up_switch(values, number, node)
            continue
        for inner in values.inner.get(number, []):
            _up(inner, [type_.scalar.width for type_ in map(inner.graph.type, inner.graph.outputs)])
        wanted = values.used.get(Edge(number), 0)
        for place, (operand, type_) in enumerate(zip(node.operands, types, strict=True)):
            low = keeps_low_bits(node, types[0]) and is_whole(node.outputs[0]) and (
                place == 0 or node.kind not in ("LEFT_SHIFT",)) and not (node.kind.endswith("_MANY") and place % 2)
            _use(values, operand, min(wanted, type_.scalar.width) if low else type_.scalar.width)


def _up_switch(values: Values, number: int, node: Node) -> None:
    key, *entering = node.operands
    _use(values, key, values.graph.type(key).scalar.width)
    wanted = [values.used.get(Edge(number, port), 0) for port in range(len(node.outputs))]
    for inner in values.inner[number]:
        _up(inner, wanted)
        for place, operand in enumerate(entering):
            _use(values, operand, inner.used.get(Argument(place), 0))


def _use(values: Values, operand: Operand, bits: int) -> None:
    values.used[operand] = max(bits, values.used.get(operand, 0))
