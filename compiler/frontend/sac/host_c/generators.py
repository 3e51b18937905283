"""Generators of loops in C."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.frontend.sac.ddcf.graph import Edge, Node
from compiler.frontend.sac.host_c.lines import Lines, place, written_list
from compiler.frontend.sac.host_c.names import c_type, kind_member

__all__ = ["Generator"]


class Generator:
    """The counts of a generator, and C for what it brings."""

    def __init__(self, emitter: Lines, node: Node, operands: list[str]) -> None:
        self.emitter, self.node, self.operands = emitter, node, operands
        self.parts: list[Generator] = []
        if node.kind in ("DOT", "CROSS"):
            graph = node.graphs[0]
            self.parts = [Generator(emitter, inner, [emitter.operand(o, operands, ()) for o in inner.operands])
                          for inner in graph.nodes]
            self.counts = self._joined()
        else:
            self.counts = self._scalar_counts() if node.kind == "SCALARGEN" else self._array_counts()

    def _joined(self) -> list[str]:
        if self.node.kind == "CROSS":
            return [count for part in self.parts for count in part.counts]
        for part in self.parts[1:]:
            for one, other in zip(self.parts[0].counts, part.counts, strict=True):
                self.emitter.lines.append(f"if ({one} != {other}) fail({place(self.node)}, \"shapes differ\");")
        return self.parts[0].counts

    def _count(self, expression: str) -> str:
        name = self.emitter.new("n")
        self.emitter.lines.append(f"int64_t {name} = {expression};")
        return name

    def _scalar_counts(self) -> list[str]:
        return [self._count(f"span_count({place(self.node)}, {', '.join(self.operands[k:k + 3])})")
                for k in range(0, len(self.operands), 3)]

    @property
    def pattern(self) -> str:
        return str(self.node.attribute("pattern"))

    def _sizes_and_steps(self) -> tuple[list[str], list[str]]:
        rest = self.operands[1:]
        return (rest[::2], rest[1::2]) if self.node.kind == "WINDOWGEN" else (["1"] * len(rest), rest)

    def _array_counts(self) -> list[str]:
        iterated = [d for d, slot in enumerate(self.pattern) if slot == "~"]
        return [self._count(f"windows_in({place(self.node)}, {self.operands[0]}.extents[{d}], {size}, {step})")
                for d, size, step in zip(iterated, *self._sizes_and_steps(), strict=True)]

    def capture(self, indices: Sequence[str]) -> list[str]:
        """C for one iteration; the names of the outputs."""
        if not self.parts:
            return self._scalars(indices) if self.node.kind == "SCALARGEN" else self._array(indices)
        found, first = [], 0
        for part in self.parts:
            own = indices if self.node.kind == "DOT" else indices[first:first + len(part.counts)]
            found.append(part.capture(own))
            first += len(part.counts)
        return [found[o.number][o.port] for o in self.node.graphs[0].outputs if isinstance(o, Edge)]

    def _scalars(self, indices: Sequence[str]) -> list[str]:
        names = []
        for number, (index, type_) in enumerate(zip(indices, self.node.outputs, strict=True)):
            low, _, step = self.operands[3 * number:3 * number + 3]
            scalar = type_.scalar
            value = f"(uint64_t)({low} + {step} * {index})"
            names.append(self._count(f"low({value}, {scalar.width}, {int(scalar.signed)})"))
        return names

    def _array(self, indices: Sequence[str]) -> list[str]:
        sizes, steps = self._sizes_and_steps()
        starts = [self._count(f"{index} * {step}") for index, step in zip(indices, steps, strict=True)]
        array, name, type_ = self.operands[0], self.emitter.new(), self.node.outputs[0]
        iterated = [d for d, slot in enumerate(self.pattern) if slot == "~"]
        at = [starts[iterated.index(d)] if slot == "~" else "0" for d, slot in enumerate(self.pattern)]
        if not type_.is_array:
            where = at[0]
            for d, start in enumerate(at[1:], 1):
                where = f"({where}) * {array}.extents[{d}] + {start}"
            self.emitter.lines.append(f"{c_type(type_)} {name} = get(&{array}, {where}).{kind_member(type_)};")
            return [name, *starts]
        counts = [sizes[iterated.index(d)] if slot == "~" else f"{array}.extents[{d}]"
                  for d, slot in enumerate(self.pattern)]
        keep = ["1" if slot == ":" or self.node.kind == "WINDOWGEN" else "0" for slot in self.pattern]
        ones = ["1"] * len(at)
        lists = [*(written_list("int64_t", items) for items in (at, ones, counts)), written_list("int", keep)]
        self.emitter.lines.append(f"array {name} = section(&{array}, {', '.join(lists)});")
        return [name, *starts]
