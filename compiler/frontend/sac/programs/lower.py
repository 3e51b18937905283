"""Dataflow graphs of loops to one `Program`: each loop becomes statements, one behind the other in the order of time.

Arrays are read where windows stand; results of a loop that another one reads stay in the program. A variable that the
loop carries and a reduction are arrays of one element, which each iteration reads and writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import islpy as isl
import networkx as nx

from compiler.frontend.kernel import Typed, cast
from compiler.frontend.sac.ddcf.graph import Argument, Edge
from compiler.frontend.sac.dfg.graph import Dfg, DfgNode, Operand
from compiler.frontend.sac.programs.addresses import Affine, row_major
from compiler.frontend.sac.programs.expressions import joined, masked, neutral
from compiler.frontend.sac.programs.loop import Body, Held, LoopShape, Phase
from compiler.frontend.sac.programs.memories import LoopMemories
from compiler.frontend.sac.programs.obstacles import NoProgram
from compiler.ir.program import Access, Array, Program, Role, Statement
from compiler.ir.types import Int
from compiler.ir.verify import verify

__all__ = ["Bound", "LoopBinding", "lower_loops"]

@dataclass(frozen=True)
class Bound:
    """A result of a loop: its array, whether something outside the program reads it, and where in it each iteration
    writes, if that is not the place in order."""

    held: Held
    leaves: bool
    starts: tuple[Affine, ...] | None = None


@dataclass(frozen=True)
class LoopBinding:
    """A graph in a program: the arrays and scalars that enter, by operand of the loop, the extents of the loop, and its
    results in order. It begins anew in each iteration of the first `kept` dimensions: variables and reductions have a
    value for each, and what is one at first may be, too."""

    dfg: Dfg
    operands: Mapping[int, Held | int]
    extents: tuple[int, ...]
    results: tuple[Bound, ...]
    kept: int = 0


def lower_loops(name: str, bindings: Sequence[LoopBinding]) -> Program:
    """The verified program of loops that run one behind the other. Raises `NoProgram` for what none can be."""
    writers = [_Loop(number, binding) for number, binding in enumerate(bindings)]
    for writer in writers:
        writer.run()
    made = {bound.held.name: ("output" if bound.leaves else "intermediate", bound.held)
            for b in bindings for bound in b.results}
    inner = {held.name: ("intermediate", held) for writer in writers for held in writer.states}
    enter = {held.name: ("input", held) for writer in writers for held in writer.used if held.name not in made | inner}
    arrays = tuple(_array(held, role) for role, held in (enter | inner | made).values())
    statements = tuple(s for writer in writers for s in writer.statements)
    rank = max(len(statement.iterators) for statement in statements)
    most = 1 + max(len(writer.statements) for writer in writers)
    times = [text for writer in writers for text in writer.times(rank, most)]
    tables = {table.name: table for writer in writers for table in writer.memories.tables.values()}
    memories = tuple(memory for writer in writers for memory in writer.memories.memories)
    program = Program(name, arrays, tuple(tables.values()), statements, isl.UnionMap(f"{{ {'; '.join(times)} }}"), (),
                      memories)
    verify(program)
    return program


def _array(held: Held, role: str) -> Array:
    assert role in ("input", "output", "intermediate")
    kind: Role = role
    return Array(held.name, held.shape, held.type, kind)


class _Loop:
    """One loop while it becomes statements."""

    def __init__(self, number: int, binding: LoopBinding) -> None:
        self.number, self.dfg, self.binding = number, binding.dfg, binding
        self.shape = LoopShape(binding.dfg, binding.operands, binding.extents)
        self.statements: list[Statement] = []
        self.used: list[Held] = []
        self.states: list[Held] = []
        self.memories = LoopMemories(self)
        self._times: list[tuple[str, Phase, int, tuple[str, ...]]] = []
        self._carried: dict[int, Held] = {}
        self._bodies = 0
        if 0 in binding.extents:
            raise NoProgram("loop", self.dfg.place, "it has no iterations", "let the host give what no iterations give")

    def run(self) -> None:
        """All statements."""
        circulating = [n for n, node in enumerate(self.dfg.nodes) if node.kind == "CIRCULATE"]
        for n in circulating:
            width = self.dfg.nodes[n].widths[0]
            self._carried[n] = Held(f"carried{self.number}_{n}", self._each, Int(width, signed=False))
        self.states += self._carried.values()
        for n, held in self._carried.items():
            self._start(held, self.dfg.nodes[n].operands[0])
        for node, bound in zip(self._writers(), self.binding.results, strict=True):
            self._write(node, bound)
        for n in self._update_order():
            self._update(n)

    def _writers(self) -> list[DfgNode]:
        """The nodes that write results, by the number of the result."""
        found: dict[str, DfgNode] = {}
        for node in self.dfg.nodes:
            if node.kind.startswith("WRITE_") or node.kind.endswith("_VALUES"):
                for operand in node.operands:
                    if isinstance(operand, Argument) and self.dfg.inputs[operand.number].name.startswith("out"):
                        found[self.dfg.inputs[operand.number].name] = node
        return [found[f"out{n}.address"] for n in range(len(self.binding.results))]

    def times(self, rank: int, most: int) -> list[str]:
        """Each statement's time in the 2d+1 form for `rank` loops, where no loop has more than `most` statements: in
        front of the iterators what comes before all iterations, these, and what comes behind; behind those of the loops
        around the same of what begins and ends the loop; last the place in an iteration."""
        found = []
        for name, phase, place, names in self._times:
            places = [0] * (len(names) + 1)
            places[0] = most
            at = {"before": place, "start": place, "iteration": most}.get(phase, most + 1 + place)
            places[0 if phase in ("before", "behind") else self.kept] = at
            if phase == "iteration":
                places[-1] = place
            places[0] += self.number * (2 * most + 2)
            row = [part for pair in zip(map(str, places), (*names, ""), strict=True) for part in pair][:-1]
            row += ["0"] * (2 * (rank - len(names)))
            found.append(f"{name}[{', '.join(names)}] -> [{', '.join(row)}]")
        return found

    # Statements.

    @property
    def kept(self) -> int:
        """Dimensions of the loops around, in each of whose iterations it begins anew."""
        return self.binding.kept

    @property
    def _each(self) -> tuple[int, ...]:
        """Extents of what the loop has once each time that it begins."""
        return self.binding.extents[:self.kept] or (1,)

    def _start(self, held: Held, first: Operand) -> None:
        """The value before the first iteration."""
        body = self.body(self._each)
        self.add(body, held, body.first(held), body.value(first), phase="start")

    def _write(self, node: DfgNode, bound: Bound) -> None:
        if node.kind == "WRITE_TILE":
            self._tile(node, bound)
        elif node.kind == "WRITE_SCALAR":
            self._final(node, bound.held)
        else:
            self._reduce(node, bound.held)

    def _tile(self, node: DfgNode, bound: Bound) -> None:
        """Values of a tile, address, extents of the loop, extents of the tile."""
        held = bound.held
        if bound.starts is not None:
            body = self.body()
            self.add(body, held, bound.starts, body.value(node.operands[0]))
            return
        rank = len(held.shape)
        extents = [1] * (rank - len(self.shape.extents)) + list(self.shape.extents)
        tile = [whole // extent for whole, extent in zip(held.shape, extents, strict=True)]
        count = len(node.operands) - 1 - node.number("loop") - node.number("tile")
        first = rank - len(self.shape.extents)
        starts = [Affine.of(0, {d - first: size}) if d >= first else Affine(0) for d, size in enumerate(tile)]
        for port in range(count):
            places = [s.plus(Affine(o)) for s, o in zip(starts, row_major(port, tile), strict=True)]
            body = self.body()
            self.add(body, held, places, body.value(node.operands[port]))

    def _final(self, node: DfgNode, held: Held) -> None:
        """The last value of what a CIRCULATE node carries."""
        last = node.operands[0]
        assert isinstance(last, Edge)
        body = self.body(self._each)
        self.add(body, held, body.first(held), body.read(self._carried[last.number], body.first(held)), phase="end")

    def _reduce(self, node: DfgNode, held: Held) -> None:
        """Value, mask, address, count; labels and histograms write where values say."""
        name = node.kind.removesuffix("_VALUES")
        if name.startswith("ACCUM_") or name == "HISTOGRAM":
            self.memories.scatter(node, held)
            return
        width = node.number("bits")
        before = self.body(self._each)
        self.add(before, held, before.first(held), neutral(name, width), phase="start")
        body = self.body()
        value = masked(name, body.value(node.operands[0]), body.value(node.operands[1]), width)
        self.add(body, held, body.first(held), joined(name, body.read(held, body.first(held)), value, width))

    def _update_order(self) -> list[int]:
        """Variables in an order in which each is written when no other still needs its old value.

        Raises `NoProgram` if there is none.
        """
        needs = nx.DiGraph()
        needs.add_nodes_from(self._carried)
        for n in self._carried:
            needs.add_edges_from((n, other) for other in self._reached(self.dfg.nodes[n].operands[1]) if other != n)
        try:
            return list(nx.topological_sort(needs))
        except nx.NetworkXUnfeasible:
            return self._copied(list(self._carried))

    def _reached(self, operand: Operand) -> set[int]:
        """CIRCULATE nodes whose value an operand needs."""
        found: set[int] = set()
        seen: set[int] = set()
        ahead = [operand]
        while ahead:
            edge = ahead.pop()
            if isinstance(edge, Edge) and edge.number not in seen:
                seen.add(edge.number)
                if self.dfg.nodes[edge.number].kind == "CIRCULATE":
                    found.add(edge.number)
                else:
                    ahead += self.dfg.nodes[edge.number].operands
        return found

    def _copied(self, numbers: list[int]) -> list[int]:
        """Updates of variables that need each other's old values: all are computed before any is written."""
        after = {n: Held(f"next{self.number}_{n}", self._each, self._carried[n].type) for n in numbers}
        self.states += after.values()
        for n in numbers:
            body = self.body()
            self.add(body, after[n], body.first(after[n]), body.value(self.dfg.nodes[n].operands[1]))
        for n in numbers:
            body = self.body()
            self.add(body, self._carried[n], body.first(after[n]), body.read(after[n], body.first(after[n])))
        return []

    def _update(self, number: int) -> None:
        body, held = self.body(), self._carried[number]
        self.add(body, held, body.first(held), body.value(self.dfg.nodes[number].operands[1]))

    def body(self, extents: Sequence[int] | None = None) -> Body:
        """Values in a new statement: of an iteration of the loop, or of other loops of these extents."""
        self._bodies += 1
        shape = self.shape if extents is None else LoopShape(self.dfg, self.shape.operands, tuple(extents))
        return Body(shape, f"L{self.number}_{self._bodies - 1}", self._carried.__getitem__, self.memories.element)

    def add(self, body: Body, held: Held, places: Sequence[Affine], value: Typed,
            phase: Phase = "iteration") -> None:
        """A statement that writes `value` there."""
        names = body.loop.iterators
        bounds = [f"0 <= {n} < {e}" for n, e in zip(names, body.loop.extents, strict=True)]
        head = f"{body.statement}[{', '.join(names)}]"
        domain = isl.Set(f"{{ {head} : {' and '.join(bounds)} }}")
        where = ", ".join(place.text(names) for place in places)
        write = Access(held.name, isl.Map(f"{{ {head} -> {held.name}[{where}] }}"), body.location)
        reads = tuple(body.reads)
        self.used += [self._held(read.array) for read in reads if read.array != held.name]
        self.statements.append(Statement(body.statement, names, domain, reads, write,
                                         cast(held.type, value).expr, body.location))
        self._times.append((body.statement, phase, len(self.statements), names))

    def _held(self, name: str) -> Held:
        known = [*self.binding.operands.values(), *self.states, *(bound.held for bound in self.binding.results)]
        return next(held for held in known if isinstance(held, Held) and held.name == name)
