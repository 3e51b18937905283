"""Checks that graphs are well formed: edges, types, what each kind of node takes and gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.frontend.sac.arithmetic import BINARY, COMPARISONS, INTRINSICS
from compiler.frontend.sac.ddcf.graph import Argument, Constant, Edge, Function, Graph, Module, Node
from compiler.frontend.sac.ddcf.kinds import (
    COMPOUND_KINDS,
    GENERATOR_KINDS,
    LOOP_KINDS,
    MANY_KINDS,
    RETURN_KINDS,
    SIMPLE_KINDS,
    STRUCTURING_KINDS,
    VALUE_AT_KINDS,
)
from compiler.frontend.sac.types import BOOL, DOUBLE, SIZE, Type
from compiler.ir.types import ProgramError

__all__ = ["verify"]


def verify(module: Module) -> None:
    """Raise `ProgramError`, naming function and node, if `module` is not well formed."""
    functions = {function.name: function for function in module.functions}
    if len(functions) != len(module.functions):
        raise ProgramError("two functions have one name")
    for function in module.functions:
        _Checker(functions, function.name).function(function)


class _Checker:
    """Checks of one function."""

    def __init__(self, functions: dict[str, Function], name: str) -> None:
        self.functions, self.name = functions, name

    def function(self, function: Function) -> None:
        wanted = tuple(type_ for port in function.parameters for type_ in port.types)
        if function.graph.inputs != wanted:
            raise ProgramError(f"function {self.name}: its graph has other inputs than it has parameters")
        self.graph(function.graph)
        self._fit(function.graph, function.graph.outputs, function.result_types, "the results")

    def graph(self, graph: Graph) -> None:
        """Every edge comes from a node before it."""
        for number, node in enumerate(graph.nodes):
            for operand in node.operands:
                self._operand(graph, operand, number)
            self.node(graph, number, node)
        for operand in graph.outputs:
            self._operand(graph, operand, len(graph.nodes))

    def _operand(self, graph: Graph, operand: object, before: int) -> None:
        if isinstance(operand, Edge):
            if not operand.number < before or operand.port >= len(graph.nodes[operand.number].outputs):
                raise ProgramError(f"function {self.name}: there is no output %{operand.number}.{operand.port} before "
                                   f"node %{before}")
        elif isinstance(operand, Argument) and operand.number >= len(graph.inputs):
            raise ProgramError(f"function {self.name}: there is no input ^{operand.number}")
        elif isinstance(operand, Constant) and not operand.scalar.floating:
            scalar = operand.scalar
            if not scalar.minimum <= operand.value <= scalar.maximum:
                raise ProgramError(f"function {self.name}: constant {operand.value} is no {scalar}")

    def node(self, graph: Graph, number: int, node: Node) -> None:
        """What the kind asks for."""
        self.where = f"function {self.name}, node %{number} {node.kind}" + (f" at {node.place}" if node.place else "")
        types = [graph.type(operand) for operand in node.operands]
        if node.kind in COMPOUND_KINDS:
            self._compound(node, types)
            where = self.where
            for inner in node.graphs:
                self.graph(inner)
            self.where = where
        elif node.kind in SIMPLE_KINDS or node.kind in GENERATOR_KINDS:
            self._simple(node, types)
        else:
            raise self._wrong("there is no such kind")

    def _wrong(self, reason: str) -> ProgramError:
        return ProgramError(f"{self.where}: {reason}")

    def _need(self, condition: bool, reason: str) -> None:
        if not condition:
            raise self._wrong(reason)

    def _fit(self, graph: Graph, operands: Sequence, types: Sequence[Type], what: str) -> None:
        self._types([graph.type(operand) for operand in operands], types, what)

    def _types(self, given: Sequence[Type], wanted: Sequence[Type], what: str) -> None:
        where = getattr(self, "where", f"function {self.name}")
        if len(given) != len(wanted) or not all(a.fits(b) for a, b in zip(given, wanted, strict=True)):
            raise ProgramError(f"{where}: {what} are {', '.join(map(str, given)) or 'none'} and should be "
                               f"{', '.join(map(str, wanted)) or 'none'}")

    def _compound(self, node: Node, types: Sequence[Type]) -> None:
        inputs = types[1:] if node.kind == "SWITCH" else types
        for graph in node.graphs:
            self._types(inputs, graph.inputs, "the operands")
        if node.kind == "SWITCH":
            self._switch(node, types)
        elif node.kind == "WHILE":
            self._need(len(node.graphs) == 2, "it needs a test and a body")
            self._fit(node.graphs[0], node.graphs[0].outputs, [Type(BOOL)], "the outputs of its test")
            self._loop(node, node.graphs[1])
        elif node.kind in LOOP_KINDS:
            self._need(len(node.graphs) == 1, "it needs one graph")
            self._need(bool(node.graphs[0].nodes) and node.graphs[0].nodes[0].kind in ("DOT", "CROSS"),
                       "its first node generates")
            self._loop(node, node.graphs[0])
        else:
            self._generator(node)

    def _switch(self, node: Node, types: Sequence[Type]) -> None:
        selectors = node.attribute("selectors")
        self._need(bool(types) and not types[0].is_array and not types[0].scalar.floating, "its key is no integer")
        self._need(isinstance(selectors, tuple) and len(selectors) == len(node.graphs), "a case has no selectors")
        for graph in node.graphs:
            self._fit(graph, graph.outputs, node.outputs, "the outputs of a case")

    def _loop(self, node: Node, graph: Graph) -> None:
        self._fit(graph, graph.outputs, node.outputs, "the outputs")
        carried = sorted(n.number("input") for n in graph.nodes if n.kind == "NEXT")
        self._need(len(set(carried)) == len(carried), "two NEXT nodes carry one input")
        self._need(all(0 <= number < len(graph.inputs) for number in carried), "a NEXT node carries no input")
        self._need((node.kind == "FORALL") != bool(carried), "FORALL carries nothing, FORNXT and WHILE something")
        ends = {k for k, n in enumerate(graph.nodes) if n.kind in RETURN_KINDS or n.kind == "NEXT"}
        self._need(all(isinstance(o, Edge) and o.number in ends for o in graph.outputs),
                   "an output comes from a node that does not end the loop")
        self._need(not any(isinstance(o, Edge) and o.number in ends for n in graph.nodes for o in n.operands),
                   "a node that ends the loop has a successor in it")
        for inner in graph.nodes:
            if inner.kind == "NEXT":
                self._types([graph.type(o) for o in inner.operands], [graph.inputs[inner.number("input")]],
                            "the operands of NEXT")

    def _generator(self, node: Node) -> None:
        self._need(len(node.graphs) == 1, "it needs one graph")
        graph = node.graphs[0]
        self._need(bool(graph.nodes) and all(n.kind in (*GENERATOR_KINDS, "DOT", "CROSS") for n in graph.nodes),
                   "there are generators inside, and nothing else")
        self._fit(graph, graph.outputs, node.outputs, "the outputs")

    def _simple(self, node: Node, types: Sequence[Type]) -> None:
        check = _CHECKS.get(node.kind)
        if check is not None:
            check(self, node, types)

    def _binary(self, node: Node, types: Sequence[Type]) -> None:
        scalar = node.outputs[0].scalar if node.outputs else None
        amount = node.kind.endswith("SHIFT")
        self._need(len(types) == 2 and len(node.outputs) == 1, "it has two operands and an output")
        wanted = [node.outputs[0], types[1] if amount else node.outputs[0]]
        self._types(types, wanted, "the operands")
        self._need(scalar is not None and not any(t.is_array for t in types), "its operands are scalars")

    def _compare(self, node: Node, types: Sequence[Type]) -> None:
        self._need(len(types) == 2 and not any(t.is_array for t in types), "it compares two scalars")
        self._types(node.outputs, [Type(BOOL)], "the outputs")

    def _cast(self, node: Node, types: Sequence[Type]) -> None:
        self._need(len(types) == 1, "it has one operand")
        self._types(node.outputs, [types[0].of(node.outputs[0].scalar)], "the outputs")

    def _same(self, node: Node, types: Sequence[Type]) -> None:
        self._types(types, node.outputs, "the operands")

    def _intrinsic(self, node: Node, types: Sequence[Type]) -> None:
        name = str(node.attribute("function"))
        self._need(name in INTRINSICS, f"there is no function {name}")
        self._types(types, [Type(DOUBLE)] * INTRINSICS[name][0], "the operands")
        self._types(node.outputs, [Type(DOUBLE)], "the outputs")

    def _call(self, node: Node, types: Sequence[Type]) -> None:
        function = self.functions.get(str(node.attribute("function")))
        self._need(function is not None, f"there is no function {node.attribute('function')}")
        assert function is not None
        self._types(types, function.graph.inputs, "the operands")
        self._types(node.outputs, function.result_types, "the outputs")

    def _extents(self, node: Node, types: Sequence[Type]) -> None:
        self._need(len(types) == 1, "it has one operand")
        self._types(node.outputs, [Type(SIZE)] * types[0].rank, "the outputs")

    def _reference(self, node: Node, types: Sequence[Type]) -> None:
        pattern = str(node.attribute("pattern"))
        self._need(bool(types) and len(pattern) == types[0].rank, "its pattern has another rank than the array")
        self._need(len(types) == 1 + sum(3 if slot == ":" else 1 for slot in pattern), "bounds are missing")
        self._need(node.outputs[0].rank == pattern.count(":"), "its output has another rank than its pattern")

    def _update(self, node: Node, types: Sequence[Type]) -> None:
        pattern = str(node.attribute("pattern"))
        self._need(len(types) > 1 and len(pattern) == types[0].rank, "its pattern has another rank than the array")
        self._need(len(types) == 2 + sum(3 if slot == ":" else 1 for slot in pattern), "bounds are missing")
        self._need(types[1].rank in (0, pattern.count(":")), "its value has another rank than its pattern")
        self._types(node.outputs, [types[0]], "the outputs")

    def _define(self, node: Node, types: Sequence[Type]) -> None:
        size = 1
        for extent in node.outputs[0].extents:
            self._need(extent is not None, "its extents are not known")
            size *= extent or 0
        self._types(types, [Type(node.outputs[0].scalar)] * size, "the operands")

    def _array_generator(self, node: Node, types: Sequence[Type]) -> None:
        pattern = str(node.attribute("pattern"))
        self._need(bool(types) and len(pattern) == types[0].rank, "its pattern has another rank than the array")
        each = 2 if node.kind == "WINDOWGEN" else 1
        self._need(len(types) == 1 + each * pattern.count("~"), "sizes or steps are missing")
        self._need(len(node.outputs) == 1 + pattern.count("~"), "it gives a component and an index for each ~")

    def _scalar_generator(self, node: Node, types: Sequence[Type]) -> None:
        self._need(len(types) == 3 * len(node.outputs) > 0, "it has low, high and step for each output")

    def _structure(self, node: Node, types: Sequence[Type]) -> None:
        self._need(len(types) == 1, "it has one operand")
        self._need(node.outputs[0].scalar == types[0].scalar, "its output has other elements than its operand")

    def _reduction(self, node: Node, types: Sequence[Type]) -> None:
        labelled, counted = node.kind.startswith("ACCUM_"), node.kind.endswith("HISTOGRAM")
        least = 1 + 2 * labelled + counted
        self._need(len(types) in (least, least + 1) and not any(t.is_array for t in types),
                   f"it has {least} or {least + 1} scalar operands")
        self._need(len(types) == least or types[-1] == Type(BOOL), "its mask is no bool")
        extents = node.operands[1 + labelled:least]
        self._need(not any(isinstance(o, Edge) for o in extents), "an extent is computed inside the loop")
        self._need(node.outputs[0].rank == labelled + counted, "its output has another rank")

    def _many(self, node: Node, types: Sequence[Type]) -> None:
        self._types(types, [node.outputs[0], Type(BOOL)] * (len(types) // 2), "the operands")

    def _values_at(self, node: Node, types: Sequence[Type]) -> None:
        count = node.number("captures")
        self._need(len(types) in (1 + count, 2 + count), "captures are missing")


_CHECKS: dict[str, Callable[[_Checker, Node, Sequence[Type]], None]] = {
    **dict.fromkeys(BINARY, _Checker._binary), **dict.fromkeys(COMPARISONS, _Checker._compare),
    **dict.fromkeys(("NEG", "NOT", "BIT_NOT"), _Checker._same), "CAST": _Checker._cast,
    "INTRINSIC": _Checker._intrinsic, "FCALL": _Checker._call, "EXTENTS": _Checker._extents,
    "AREF": _Checker._reference, "ARR_UPDATE": _Checker._update, "ARR_DEF": _Checker._define,
    "ELEGEN": _Checker._array_generator,
    "WINDOWGEN": _Checker._array_generator, "SCALARGEN": _Checker._scalar_generator,
    **dict.fromkeys(STRUCTURING_KINDS, _Checker._structure),
    **dict.fromkeys(set(RETURN_KINDS) - set(STRUCTURING_KINDS) - set(VALUE_AT_KINDS), _Checker._reduction),
    **dict.fromkeys(MANY_KINDS, _Checker._many), **dict.fromkeys(VALUE_AT_KINDS, _Checker._values_at),
}
