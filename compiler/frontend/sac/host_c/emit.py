"""Graphs to C, function by function: what runs on a host, and a second reference beside the interpreter.

The C is straightforward: a variable for each output of a node, a ``for`` for each dimension of a generator, lists for
what loops collect. ``runtime.h`` beside this file has arrays, sections and reductions (Hammes 2000, section 6.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from compiler.frontend.sac.ddcf.graph import Edge, Function, Graph, Module, Node
from compiler.frontend.sac.ddcf.kinds import LOOP_KINDS, MANY_KINDS, RETURN_KINDS, VALUE_AT_KINDS
from compiler.frontend.sac.host_c.arrays import ARRAYS
from compiler.frontend.sac.host_c.expressions import scalar_expression
from compiler.frontend.sac.host_c.generators import Generator
from compiler.frontend.sac.host_c.lines import Lines, place
from compiler.frontend.sac.host_c.names import c_type, element_kind, kind_member, type_literal, wide_kind
from compiler.frontend.sac.types import Type
from compiler.ir.types import ProgramError

__all__ = ["Emitter", "emit_c"]

_REDUCTIONS = {"SUM": "S", "PRODUCT": "P", "MIN": "m", "MAX": "M", "AND": "&", "OR": "|", "MEAN": "a", "ST_DEV": "s",
               "MEDIAN": "d", "MODE": "o", "HISTOGRAM": "H"}


def emit_c(module: Module, main: Function, while_iterations: int, emitter: Emitter | None = None) -> str:
    """A C program that reads the inputs of `main` from standard input and writes its outputs.

    Scalars are 8 bytes (4 of a ``float``), arrays their extents, 8 bytes each, before their elements. The program ends
    with status 3 and a line on standard error if there is no result.
    """
    runtime = files(__package__ or "").joinpath("runtime.h").read_text(encoding="utf-8")
    emitter = emitter or Emitter(while_iterations)
    heads = [f"{_head(function)};" for function in module.functions]
    bodies = [line for function in module.functions for line in emitter.function(function)]
    return "\n".join([*emitter.head, runtime, *heads, *bodies, *_main(main, emitter), ""])


def _head(function: Function) -> str:
    """C's declaration: results come through pointers."""
    inputs = [f"{c_type(type_)} a{number}" for number, type_ in enumerate(function.graph.inputs)]
    outputs = [f"{c_type(type_)} *r{number}" for number, type_ in enumerate(function.result_types)]
    return f"static void f_{function.name}({', '.join(inputs + outputs) or 'void'})"


def _main(function: Function, emitter: Emitter) -> list[str]:
    lines = [f"int main({emitter.parameters}) {{", *emitter.opening]
    for number, type_ in enumerate(function.graph.inputs):
        kind = wide_kind(type_)
        number_read = f"read_number('{kind}').{kind_member(type_)}"
        read = f"read_array('{kind}', {type_.rank})" if type_.is_array else number_read
        lines.append(f"{c_type(type_)} a{number} = {read};")
    names = [f"a{number}" for number in range(len(function.graph.inputs))]
    for number, type_ in enumerate(function.result_types):
        lines.append(f"{c_type(type_)} r{number};")
        names.append(f"&r{number}")
    lines.append(f"f_{function.name}({', '.join(names)});")
    for number, type_ in enumerate(function.result_types):
        if type_.is_array:
            lines.append(f"write_array(&r{number});")
        else:
            lines.append(f"write_number(of_{kind_member(type_)}(r{number}), '{wide_kind(type_)}');")
    return [*lines, *emitter.closing, "return 0;", "}"]


class Emitter(Lines):
    """C for functions and loops. `head`: lines before all others; `opening` and `closing`: those around what ``main``
    does, which has `parameters`."""

    head: Sequence[str] = ()
    parameters = "void"
    opening: Sequence[str] = ()
    closing: Sequence[str] = ()

    def __init__(self, while_iterations: int) -> None:
        super().__init__()
        self.while_iterations = while_iterations

    def function(self, function: Function) -> list[str]:
        self.lines = [f"{_head(function)} {{"]
        inputs = [f"a{number}" for number in range(len(function.graph.inputs))]
        for number, value in enumerate(self.graph(function.graph, inputs)):
            self.lines.append(f"*r{number} = {value};")
        return [*self.lines, "}"]

    def graph(self, graph: Graph, inputs: Sequence[str]) -> list[str]:
        """C for all nodes; the values that leave."""
        done = self.nodes(graph, inputs, [], None)
        return [self.operand(operand, inputs, done) for operand in graph.outputs]

    def nodes(self, graph: Graph, inputs: Sequence[str], first: list[list[str]], indices: Sequence[str] | None
              ) -> list[list[str]]:
        """C for the nodes behind those that are known `first`; the names of all outputs."""
        done = list(first)
        for node in graph.nodes[len(first):]:
            if node.kind in RETURN_KINDS or node.kind == "NEXT":
                done.append([])
            elif node.kind == "LOOP_INDICES":
                done.append(list(indices or ()))
            else:
                operands = [self.operand(operand, inputs, done) for operand in node.operands]
                types = [graph.type(operand) for operand in node.operands]
                done.append(self.node(node, operands, types))
        return done

    def node(self, node: Node, operands: list[str], types: list[Type]) -> list[str]:
        outputs = [self.new() for _ in node.outputs]
        for name, type_ in zip(outputs, node.outputs, strict=True):
            self.lines.append(f"{c_type(type_)} {name};")
        if node.kind in LOOP_KINDS:
            self.loop(node, operands, outputs)
        elif node.kind == "SWITCH":
            self.switch(node, operands, outputs)
        elif node.kind == "FCALL":
            call = ", ".join([*operands, *(f"&{name}" for name in outputs)])
            self.lines.append(f"f_{node.attribute('function')}({call});")
        elif node.kind == "FOREIGN":
            raise ProgramError(f"{node.place}: foreign function '{node.attribute('function')}' is one of Python, which "
                               "C does not call; write its body in SA-C")
        elif node.kind in MANY_KINDS:
            self.many(node, operands, outputs[0])
        elif node.kind in ARRAYS:
            ARRAYS[node.kind](self, node, operands, types, outputs)
        else:
            scalars = [type_.scalar for type_ in types]
            self.lines.append(f"{outputs[0]} = {scalar_expression(node, operands, scalars, place(node))};"
                              if not node.outputs[0].is_array else self.cast_array(node, operands[0], types[0],
                                                                                  outputs[0]))
        return outputs

    def switch(self, node: Node, operands: list[str], outputs: list[str]) -> None:
        key, *inputs = operands
        selectors = node.attribute("selectors")
        assert isinstance(selectors, tuple)
        for number, (graph, chosen) in enumerate(zip(node.graphs, selectors, strict=True)):
            tests = " || ".join(f"{key} == {n}LL" for n in chosen) if isinstance(chosen, tuple) else "1"
            self.lines.append(f"{'else ' if number else ''}if ({tests}) {{")
            for name, value in zip(outputs, self.graph(graph, inputs), strict=True):
                self.lines.append(f"{name} = {value};")
            self.lines.append("}")

    def cast_array(self, node: Node, operand: str, type_: Type, output: str) -> str:
        """An array with every element converted."""
        scalar = node.outputs[0].scalar
        member, wanted = kind_member(type_), kind_member(node.outputs[0])
        value = scalar_expression(Node("CAST", (), (Type(scalar),)), [f"get(&{operand}, n).{member}"], [type_.scalar],
                                  "")
        return (f"{output} = make('{element_kind(scalar)}', {type_.rank}, {operand}.extents); "
                f"for (int64_t n = 0; n < {output}.size; n++) put(&{output}, n, of_{wanted}({value}));")

    def many(self, node: Node, operands: list[str], output: str) -> None:
        """A reduction of values that stand side by side, each with its mask."""
        name, member = self.new("l"), kind_member(node.outputs[0])
        self.lines.append(f"numbers {name} = {{0}};")
        self.lines += [f"if ({mask}) add_number(&{name}, of_{member}({value}));"
                       for value, mask in zip(operands[::2], operands[1::2], strict=True)]
        which = _REDUCTIONS[node.kind.removesuffix("_MANY")]
        self.lines.append(f"{output} = reduce('{which}', {name}.items, {name}.count, "
                          f"{type_literal(node.outputs[0].scalar)}).{member};")

    def loop(self, node: Node, operands: list[str], outputs: list[str]) -> None:
        """A loop: lists before it, its body, what it gives behind it."""
        graph = node.graphs[-1]
        inputs = list(operands)
        carried = {n.number("input"): n for n in graph.nodes if n.kind == "NEXT"}
        for number in carried:
            inputs[number] = self.new("c")
            self.lines.append(f"{c_type(graph.inputs[number])} {inputs[number]} = {operands[number]};")
        ends = {position: self.new("l") for position, n in enumerate(graph.nodes) if n.kind in RETURN_KINDS}
        for position, name in ends.items():
            self.declare_lists(graph, graph.nodes[position], name)
        extents = self.while_body(node, inputs, ends) if node.kind == "WHILE" else self.for_body(graph, inputs, ends)
        for output, operand in zip(outputs, graph.outputs, strict=True):
            assert isinstance(operand, Edge)
            end = graph.nodes[operand.number]
            if end.kind == "NEXT":
                self.lines.append(f"{output} = {inputs[end.number('input')]};")
            else:
                self.end(graph, end, ends[operand.number], extents, inputs, output)

    def while_body(self, node: Node, inputs: list[str], ends: dict[int, str]) -> str:
        test, graph = node.graphs
        count = self.new("n")
        self.lines.append(f"int64_t {count}[1] = {{0}}; for (;;) {{")
        (condition,) = self.graph(test, inputs)
        self.lines.append(f"if (!{condition}) break; if ({count}[0] == {self.while_iterations}LL) "
                          f"fail({place(node)}, \"iterations\"); int64_t {count}k = {count}[0]++;")
        self.body(graph, inputs, [], [f"{count}k"], ends)
        self.lines.append("}")
        return count

    def for_body(self, graph: Graph, inputs: list[str], ends: dict[int, str]) -> str:
        generator = Generator(self, graph.nodes[0], [self.operand(o, inputs, ()) for o in graph.nodes[0].operands])
        extents = self.new("e")
        counts = generator.counts
        self.lines.append(f"int64_t {extents}[] = {{{', '.join(counts)}}};")
        indices = [self.new("i") for _ in counts]
        for index, count in zip(indices, counts, strict=True):
            self.lines.append(f"for (int64_t {index} = 0; {index} < {count}; {index}++) {{")
        self.body(graph, inputs, [generator.capture(indices)], indices, ends)
        self.lines += ["}"] * len(counts)
        return extents

    def body(self, graph: Graph, inputs: list[str], first: list[list[str]], indices: Sequence[str],
             ends: dict[int, str]) -> None:
        done = self.nodes(graph, inputs, first, indices)
        for position, name in ends.items():
            self.collect(graph, graph.nodes[position], name, inputs, done)
        following = [(inputs[n.number("input")], self.operand(n.operands[0], inputs, done), n)
                     for n in graph.nodes if n.kind == "NEXT"]
        kept = [(name, self.new(), value, n) for name, value, n in following]
        self.lines += [f"{c_type(n.outputs[0])} {kept_name} = {value};" for _, kept_name, value, n in kept]
        self.lines += [f"{name} = {kept_name};" for name, kept_name, _, _ in kept]

    def declare_lists(self, graph: Graph, node: Node, name: str) -> None:
        first = graph.type(node.operands[0])
        self.lines.append(f"{'arrays' if first.is_array else 'numbers'} {name} = {{0}};")
        if node.kind.startswith("ACCUM_") or node.kind in VALUE_AT_KINDS:
            self.lines.append(f"numbers {name}x = {{0}};")

    def collect(self, graph: Graph, node: Node, name: str, inputs: list[str], done: list[list[str]]) -> None:
        values = [self.operand(operand, inputs, done) for operand in node.operands]
        types = [graph.type(operand) for operand in node.operands]
        if types[0].is_array:
            self.lines.append(f"add_array(&{name}, {values[0]});")
            return
        labelled, at = node.kind.startswith("ACCUM_"), node.kind in VALUE_AT_KINDS
        fixed = 1 + node.number("captures") if at else 1 + 2 * labelled + node.kind.endswith("HISTOGRAM")
        others = range(1, fixed) if at else range(1, 1 + labelled)
        adds = [f"add_number(&{name}, of_{kind_member(types[0])}({values[0]}));",
                *(f"add_number(&{name}x, of_{kind_member(types[k])}({values[k]}));" for k in others)]
        guard = f"if ({values[fixed]}) " if len(values) > fixed and node.kind != "CONSTRUCT_ARRAY" else ""
        self.lines.append(f"{guard}{{ {' '.join(adds)} }}")

    def end(self, graph: Graph, node: Node, name: str, extents: str, inputs: list[str], output: str) -> None:
        """What a node that ends the loop gives."""
        first, result = graph.type(node.operands[0]), node.outputs[0]
        kind, where = element_kind(result.scalar), place(node)
        if node.kind.startswith("CONSTRUCT_"):
            self.structure(node, first, name, extents, output)
        elif node.kind in VALUE_AT_KINDS:
            sign = 1 if "MAX" in node.kind else -1
            which = "a" if node.kind.startswith("VALS") else "f" if "FIRST" in node.kind else "l"
            found = (f"values_at({where}, &{name}, &{name}x, {node.number('captures')}, {type_literal(first.scalar)}, "
                     f"{sign}, '{which}', '{kind}', {node.number('row')})")
            self.assign(output, result, found)
        elif node.kind.startswith("ACCUM_"):
            sizes = [self.operand(operand, inputs, ()) for operand in node.operands[2:3 + (result.rank == 2)]]
            which = _REDUCTIONS[node.kind.removeprefix("ACCUM_")]
            bins = sizes[1] if result.rank == 2 else "1"
            self.lines.append(f"{output} = accumulate({where}, '{which}', &{name}, &{name}x, {sizes[0]}, {bins}, "
                              f"{type_literal(first.scalar)}, '{kind}');")
        elif node.kind == "HISTOGRAM":
            size = self.operand(node.operands[1], inputs, ())
            self.lines.append(f"{output} = histogram({where}, {name}.items, {name}.count, {size});")
        else:
            self.lines.append(f"{output} = reduce('{_REDUCTIONS[node.kind]}', {name}.items, {name}.count, "
                              f"{type_literal(first.scalar)}).{kind_member(first)};")

    def structure(self, node: Node, first: Type, name: str, extents: str, output: str) -> None:
        kind, rank = element_kind(first.scalar), f"(int)(sizeof {extents} / 8)"
        wanted = ", ".join(str(extent or 0) for extent in first.extents) or "0"
        shape = f"(int64_t[]){{{wanted}}}"
        if node.kind == "CONSTRUCT_CONCAT":
            last = ", ".join(str(extent or 0) for extent in (*first.extents[:-1], 0))
            self.lines.append(f"{output} = join({place(node)}, &{name}, '{kind}', {first.rank}, "
                              f"(int64_t[]){{{last}}});")
            return
        if not first.is_array:
            self.lines.append(f"{output} = collect_numbers(&{name}, '{kind}', {rank}, {extents});")
            return
        self.lines.append(f"{output} = collect_arrays({place(node)}, &{name}, '{kind}', {rank}, {extents}, "
                          f"{first.rank}, {shape});")
        if node.kind == "CONSTRUCT_TILE":
            self.lines.append(f"{output} = tile(&{output}, {rank}, {first.rank});")
