"""Loops to dataflow graphs (Hammes 2000, section 5.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

import numpy as np

from compiler.frontend.sac.arithmetic import BINARY, COMPARISONS, INTRINSICS, cast
from compiler.frontend.sac.ddcf.graph import Argument, Constant, Edge, Graph, Node
from compiler.frontend.sac.ddcf.graph import Operand as Source
from compiler.frontend.sac.ddcf.kinds import MANY_KINDS, RETURN_KINDS
from compiler.frontend.sac.dfg.arithmetic import Arithmetic, Number, lossless
from compiler.frontend.sac.dfg.criteria import find_obstacles
from compiler.frontend.sac.dfg.graph import Dfg, DfgBuilder, Operand, Word
from compiler.frontend.sac.dfg.interface import WORD, Interface, Result
from compiler.frontend.sac.errors import SacError
from compiler.frontend.sac.types import DOUBLE, SIZE, Scalar, Type

__all__ = ["convert_loop"]


@dataclass(frozen=True)
class _Window:
    """Elements that a generator brings, row by row, in these extents."""

    elements: tuple[Number, ...]
    extents: tuple[int, ...]


@dataclass(frozen=True)
class _Memory:
    """An array in memory."""

    address: Operand
    extents: tuple[Operand, ...]
    scalar: Scalar


_Value = Number | _Window | _Memory


def convert_loop(loop: Node, types: Sequence[Type], name: str) -> tuple[Dfg, Interface]:
    """The graph of a loop whose operands have `types`, and how the host calls it.

    Raises `SacError` for the first obstacle (`compiler.frontend.sac.dfg.criteria`).
    """
    obstacles = find_obstacles(loop)
    if obstacles:
        first = obstacles[0]
        raise SacError(first.place, f"{first.kind}: {first.reason}; {first.rewrite}")
    return _Loop(loop, types).convert(name)


class _Loop:
    """One loop while it is converted."""

    def __init__(self, loop: Node, types: Sequence[Type]) -> None:
        self.loop, self.graph, self.types = loop, loop.graphs[0], types
        self.builder = DfgBuilder()
        self.carried = {node.number("input"): node for node in self.graph.nodes if node.kind == "NEXT"}
        self.ends = [node for node in self.graph.nodes if node.kind in RETURN_KINDS]
        self.rank = _loop_rank(self.graph.nodes[0])

    def convert(self, name: str) -> tuple[Dfg, Interface]:
        """The graph and its interface."""
        used = _used_inputs(self.graph) | set(self.carried)
        arrays = [n for n, t in enumerate(self.types) if t.is_array and n in used]
        scalars = [n for n, t in enumerate(self.types) if not t.is_array and n in used]
        inputs: list[_Value | None] = [None] * len(self.types)
        for n in arrays:
            address = self.builder.input(f"in{n}.address")
            extents = [self.builder.input(f"in{n}.extent{d}") for d in range(self.types[n].rank)]
            inputs[n] = _Memory(address, tuple(extents), self.types[n].scalar)
        outputs = [self.graph.nodes[o.number] for o in self.graph.outputs if isinstance(o, Edge)]
        self.targets = [self.builder.input(f"out{n}.address") for n in range(len(outputs))]
        self.extents = [self.builder.input(f"loop.extent{d}") for d in range(self.rank)]
        self.count = self.builder.input("iterations")
        for n in scalars:
            inputs[n] = Number(self.builder.input(f"in{n}", self.types[n].scalar.width), self.types[n].scalar)
        done = self._body(inputs)
        triggers = [self._end(node, target, done) for node, target in zip(outputs, self.targets, strict=True)]
        dfg = self.builder.finish(name, self._joined(triggers), self.loop.place)
        results = tuple(self._result(node) for node in outputs)
        typed = [tuple((n, self.types[n].scalar) for n in numbers) for numbers in (arrays, scalars)]
        return dfg, Interface(typed[0], results, self.rank, typed[1])

    def _joined(self, triggers: Sequence[Operand]) -> Operand:
        """One trigger when all have come."""
        if len(triggers) == 1:
            return triggers[0]
        return self.builder.add("AND_MANY", [o for t in triggers for o in (t, Word(1, 1))], [1], self.loop.place)[0]

    def _body(self, inputs: list[_Value | None]) -> _Body:
        circulating: dict[int, tuple[Edge, Edge]] = {}
        for number, node in self.carried.items():
            before = inputs[number]
            assert isinstance(before, Number)
            width = before.scalar.width
            value, last = self.builder.add("CIRCULATE", [before.bits, Word(0, width), self.count], [width, width],
                                           node.place, variable=number)
            circulating[number] = value, last
            inputs[number] = Number(value, before.scalar)
        body = _Body(self.builder, self.graph, inputs)
        body.done.append(_generate(self.builder, self.graph, body))
        body.run(self.graph.nodes[1:])
        self.last = {}
        for number, (value, last) in circulating.items():
            following = body.number(self.carried[number].operands[0])
            self.builder.feed(value, following.bits)
            self.last[number] = last
        return body

    def _end(self, node: Node, target: Operand, body: _Body) -> Operand:
        """The node that writes a result; its trigger."""
        if node.kind == "NEXT":
            last = self.last[node.number("input")]
            return self.builder.add("WRITE_SCALAR", [last, target], [1], node.place)[0]
        if node.kind in ("CONSTRUCT_ARRAY", "CONSTRUCT_TILE"):
            return self._tile(node, target, body)
        return self._reduction(node, target, body)

    def _tile(self, node: Node, target: Operand, body: _Body) -> Operand:
        value = body.value(node.operands[0])
        if isinstance(value, _Memory):
            value = self._loaded(value, _known(self.graph.type(node.operands[0]).extents))
        elements, tile = ((value.elements, value.extents) if isinstance(value, _Window) else ((value,), (1,)))
        bits = [element.bits for element in elements if isinstance(element, Number)]
        operands = [*bits, target, *self.extents, *(Word(e, WORD) for e in tile)]
        return self.builder.add("WRITE_TILE", operands, [1], node.place, tile=len(tile), loop=self.rank,
                                bits=node.outputs[0].scalar.width)[0]

    def _loaded(self, array: _Memory, extents: tuple[int, ...]) -> _Window:
        """All elements of an array that is the same in all iterations."""
        width = array.scalar.width
        return _Window(tuple(Number(self.builder.add(
            "AREF", [array.address, *array.extents, *(Word(i, WORD) for i in index)], [width], self.loop.place,
            bits=width)[0], array.scalar) for index in product(*map(range, extents))), extents)

    def _reduction(self, node: Node, target: Operand, body: _Body) -> Operand:
        """Value, label of an ACCUM, mask, address, iterations, extents."""
        labelled, counted = node.kind.startswith("ACCUM_"), node.kind.endswith("HISTOGRAM")
        value = body.number(node.operands[0])
        first = 1 + 2 * labelled + counted
        sizes = [body.number(o) for o in node.operands[1 + labelled:first]]
        mask = body.number(node.operands[first]).bits if len(node.operands) > first else Word(1, 1)
        label = [self._label(body.number(node.operands[1]))] if labelled else []
        bits = self._label(value) if counted else value.bits
        name = node.kind.removeprefix("ACCUM_")
        kind = name if counted or name in ("AND", "OR") else f"{'I' if value.scalar.signed else 'U'}{name}"
        arithmetic = Arithmetic(self.builder, node.place)
        extents = [arithmetic.cast(size, SIZE).bits for size in sizes]
        return self.builder.add(f"{'ACCUM_' if labelled else ''}{kind}_VALUES",
                                [bits, *label, mask, target, self.count, *extents], [1], node.place,
                                bits=node.outputs[0].scalar.width)[0]

    def _label(self, value: Number) -> Operand:
        """A label in 32 bits: what is negative is beyond all extents."""
        return Arithmetic(self.builder, self.loop.place).widened(value.bits, WORD, value.scalar.signed)

    def _result(self, node: Node) -> Result:
        scalar = node.outputs[0].scalar
        if node.kind == "CONSTRUCT_ARRAY":
            return Result(scalar, (1,))
        if node.kind == "CONSTRUCT_TILE":
            return Result(scalar, _known(self.graph.type(node.operands[0]).extents))
        labelled, counted = node.kind.startswith("ACCUM_"), node.kind.endswith("HISTOGRAM")
        sizes = node.operands[1 + labelled:1 + 2 * labelled + counted] if node.kind != "NEXT" else ()
        return Result(scalar, None, tuple(int(o.value) if isinstance(o, Constant) else str(o.number) for o in sizes))


def _known(extents: Sequence[int | None]) -> tuple[int, ...]:
    return tuple(extent for extent in extents if extent is not None)


def _loop_rank(node: Node) -> int:
    """Dimensions of a loop whose generators are joined by DOT."""
    first = node.graphs[0].nodes[0]
    if first.kind == "DOT":
        return _loop_rank(first)
    return len(first.outputs) if first.kind == "SCALARGEN" else str(first.attribute("pattern")).count("~")


def _used_inputs(graph: Graph) -> set[int]:
    operands = [o for node in graph.nodes for o in node.operands]
    return {o.number for o in operands if isinstance(o, Argument)}


def _generate(builder: DfgBuilder, graph: Graph, body: _Body) -> list[_Value]:
    """Nodes for the generators of the loop; what the DOT node brings."""
    return _dot(builder, graph.nodes[0], [body.value(o) for o in graph.nodes[0].operands])


def _dot(builder: DfgBuilder, dot: Node, entering: Sequence[_Value]) -> list[_Value]:
    inner = dot.graphs[0]
    found: list[list[_Value]] = []
    for node in inner.nodes:
        operands = [entering[o.number] if isinstance(o, Argument) else _constant(o) for o in node.operands]
        if node.kind == "DOT":
            found.append(_dot(builder, node, operands))
        elif node.kind == "SCALARGEN":
            bits = [o.bits for o in operands if isinstance(o, Number)]
            wires = builder.add("SCALARGEN", bits, [t.scalar.width for t in node.outputs], node.place)
            found.append([Number(w, t.scalar) for w, t in zip(wires, node.outputs, strict=True)])
        else:
            found.append(_array_generator(builder, node, operands))
    return [found[o.number][o.port] for o in inner.outputs if isinstance(o, Edge)]


def _constant(operand: Source) -> Number:
    assert isinstance(operand, Constant)
    return Number(Word(int(operand.value) % (1 << operand.scalar.width), operand.scalar.width), operand.scalar)


def _known_root(given: Constant, target: Scalar) -> Number:
    """The root of a number that passes leave, such as a negative one."""
    held = cast(INTRINSICS["sqrt"][1](np.asarray([given.value], dtype=np.float64)), DOUBLE, target)
    return _constant(Constant(int(held[0]), target))


def _array_generator(builder: DfgBuilder, node: Node, operands: Sequence[_Value]) -> list[_Value]:
    """Address, extents, sizes of a window, steps: all elements that an iteration sees, then its indices."""
    array, *rest = operands
    assert isinstance(array, _Memory)
    pattern = str(node.attribute("pattern"))
    numbers = [o.bits for o in rest if isinstance(o, Number)]
    steps = numbers[1::2] if node.kind == "WINDOWGEN" else numbers
    component = node.outputs[0]
    kept = iter(_known(component.extents))
    sizes = [next(kept) if node.kind == "WINDOWGEN" or slot == ":" else 1 for slot in pattern]
    count, width = prod(sizes), component.scalar.width
    kind = "SLICEGEN" if node.kind == "ELEGEN" and ":" in pattern else node.kind
    shape = [Word(size, WORD) for size in sizes] if kind != "ELEGEN" else []
    wires = builder.add(kind, [array.address, *array.extents, *shape, *steps],
                        [width] * count + [WORD] * len(steps), node.place, bits=width, pattern=pattern)
    elements = tuple(Number(wire, component.scalar) for wire in wires[:count])
    captured: _Value = _Window(elements, _known(component.extents)) if component.is_array else elements[0]
    return [captured, *(Number(wire, SIZE) for wire in wires[count:])]


class _Body:
    """Values of the nodes of the loop's graph, or of a case inside it."""

    def __init__(self, builder: DfgBuilder, graph: Graph, inputs: Sequence[_Value | None]) -> None:
        self.builder, self.graph, self.inputs = builder, graph, inputs
        self.done: list[list[_Value]] = []

    def value(self, operand: Source) -> _Value:
        """What an operand brings."""
        if isinstance(operand, Constant):
            return _constant(operand)
        found = self.done[operand.number][operand.port] if isinstance(operand, Edge) else self.inputs[operand.number]
        assert found is not None
        return found

    def number(self, operand: Source) -> Number:
        """The same for a scalar."""
        found = self.value(operand)
        assert isinstance(found, Number)
        return found

    def run(self, nodes: Sequence[Node]) -> None:
        """Nodes of the graph for `nodes`; what ends the loop is left out."""
        for node in nodes:
            if node.kind in RETURN_KINDS or node.kind == "NEXT":
                self.done.append([])
            else:
                self.done.append(self._node(node))

    def _node(self, node: Node) -> list[_Value]:
        arithmetic = Arithmetic(self.builder, node.place)
        if node.kind == "SWITCH":
            return self._switch(node, arithmetic)
        if node.kind == "AREF":
            return [self._reference(node)]
        if node.kind == "ARR_DEF":
            return [_Window(tuple(self.number(o) for o in node.operands), _known(node.outputs[0].extents))]
        if node.kind == "CAST":
            return [self._cast(node, arithmetic)]
        if node.kind == "INTRINSIC":
            known = isinstance(node.operands[0], Constant)
            return [Number(Word(0, 1), DOUBLE) if known else self.number(node.operands[0])]
        return [_SCALAR[node.kind](self, node, arithmetic)]

    def _cast(self, node: Node, arithmetic: Arithmetic) -> _Value:
        """Casts to and from the `double` of a root do nothing but say that it is one; those of a window are of its
        elements."""
        source, target = node.operands[0], node.outputs[0].scalar
        found = self.value(source)
        if isinstance(found, _Window):
            return replace(found, elements=tuple(arithmetic.cast(n, target) for n in found.elements))
        number = self.number(source)
        if target == DOUBLE:
            return number
        if isinstance(source, Edge) and self.graph.nodes[source.number].kind == "INTRINSIC":
            given = self.graph.nodes[source.number].operands[0]
            return _known_root(given, target) if isinstance(given, Constant) else arithmetic.square_root(number, target)
        return arithmetic.cast(number, target)

    def _switch(self, node: Node, arithmetic: Arithmetic) -> list[_Value]:
        """All cases are computed; a SELECTOR for each output takes one (section 5.4.2.1)."""
        key, *inputs = (self.value(o) for o in node.operands)
        assert isinstance(key, Number)
        selectors = node.attribute("selectors")
        assert isinstance(selectors, tuple)
        rows: list[list[Number]] = []
        for graph in node.graphs:
            body = _Body(self.builder, graph, inputs)
            body.run(graph.nodes)
            rows.append([body.number(o) for o in graph.outputs])
        default = next((n for n, numbers in enumerate(selectors) if numbers is None), len(rows) - 1)
        inside = [(number, n) for n, numbers in enumerate(selectors) if n != default and isinstance(numbers, tuple)
                  for number in numbers if isinstance(number, int)
                  and key.scalar.minimum <= number <= key.scalar.maximum]
        return [Number(arithmetic.selected(key.bits, [(number, rows[n][port].bits) for number, n in inside],
                                           rows[default][port].bits), type_.scalar)
                for port, type_ in enumerate(node.outputs)]

    def _reference(self, node: Node) -> Number:
        array = self.value(node.operands[0])
        indices = [self.number(o) for o in node.operands[1:]]
        if isinstance(array, _Window):
            position = 0
            for index, extent in zip(indices, array.extents, strict=True):
                assert isinstance(index.bits, Word)
                if index.bits.value >= extent:  # in a case that is never taken, else the run would have no result
                    return Number(Word(0, node.outputs[0].scalar.width), node.outputs[0].scalar)
                position = position * extent + index.bits.value
            return array.elements[position]
        assert isinstance(array, _Memory)
        arithmetic = Arithmetic(self.builder, node.place)
        places = [arithmetic.widened(index.bits, WORD, index.scalar.signed) for index in indices]
        wires = self.builder.add("AREF", [array.address, *array.extents, *places], [array.scalar.width], node.place,
                                 bits=array.scalar.width)
        return Number(wires[0], array.scalar)

    def product(self, node: Node, arithmetic: Arithmetic) -> Number:
        """MUL in as few bits as its operands have: casts that lose nothing are seen through."""
        left, right = (self._uncast(operand) for operand in node.operands)
        return arithmetic.product(left, right, node.outputs[0].scalar)

    def _uncast(self, operand: Source) -> Number:
        while isinstance(operand, Edge):
            node = self.graph.nodes[operand.number]
            source = node.operands[0] if node.kind == "CAST" else None
            if source is None or not lossless(self.graph.type(source).scalar, node.outputs[0].scalar):
                break
            if isinstance(source, Edge) and self.graph.nodes[source.number].kind == "INTRINSIC":
                break
            operand = source
        return self.number(operand)


def _binary(body: _Body, node: Node, arithmetic: Arithmetic) -> Number:
    left, right = (body.number(o) for o in node.operands)
    return arithmetic.binary(node.kind, left, right, node.outputs[0].scalar)


def _compare(body: _Body, node: Node, arithmetic: Arithmetic) -> Number:
    left, right = (body.number(o) for o in node.operands)
    return arithmetic.compared(node.kind, left, right)


def _invert(body: _Body, node: Node, arithmetic: Arithmetic) -> Number:
    scalar = node.outputs[0].scalar
    return Number(arithmetic.add("BIT_NOT", [body.number(node.operands[0]).bits], scalar.width), scalar)


def _many(body: _Body, node: Node, arithmetic: Arithmetic) -> Number:
    scalar = node.outputs[0].scalar
    name = node.kind.removesuffix("_MANY")
    kind = node.kind if name in ("AND", "OR") else f"{'I' if scalar.signed else 'U'}{node.kind}"
    return Number(arithmetic.add(kind, [body.number(o).bits for o in node.operands], scalar.width), scalar)


_SCALAR: dict[str, Callable[[_Body, Node, Arithmetic], Number]] = {
    **dict.fromkeys(BINARY, _binary), **dict.fromkeys(COMPARISONS, _compare), "MUL": _Body.product,
    "NOT": _invert, "BIT_NOT": _invert, **dict.fromkeys(MANY_KINDS, _many),
}
