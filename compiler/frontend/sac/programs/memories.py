"""Arrays at places that values of the run decide: memories of the program, with loads before the statements that use
them and stores in the order of iterations.

As in the dataflow graph, a place outside an array reads 0, and a label outside a result is dropped: where that is an
error, the run on the host says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Protocol

from compiler.frontend.kernel import Typed, cast, constant, lookup, select
from compiler.frontend.sac.dfg.graph import DfgNode
from compiler.frontend.sac.dfg.interface import WORD
from compiler.frontend.sac.programs.addresses import Affine
from compiler.frontend.sac.programs.expressions import as_bits, as_number, joined, neutral, widened
from compiler.frontend.sac.programs.loop import Body, Held, Phase
from compiler.ir.expr import Const, Expr, Load, Read, Store, fold, postorder
from compiler.ir.program import Memory, Table
from compiler.ir.ranges import type_range, value_range
from compiler.ir.types import BIT, Int

__all__ = ["LoopMemories", "Writer"]


class Writer(Protocol):
    """The loop that statements are written for."""

    number: int
    states: list[Held]

    @property
    def kept(self) -> int:
        """Dimensions of the loops around, in each of whose iterations it begins anew."""
        ...

    def body(self, extents: Sequence[int] | None = None) -> Body:
        """Values in a new statement: of an iteration of the loop, or of other loops of these extents."""
        ...

    def add(self, body: Body, held: Held, places: Sequence[Affine], value: Typed, phase: Phase = "iteration") -> None:
        """The statement, which writes `value` there."""
        ...


class LoopMemories:
    """The memories and tables of one loop."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.memories: list[Memory] = []
        self.tables: dict[str, Table] = {}
        self._filled: dict[str, tuple[Memory, Held]] = {}
        self._loaded: dict[int, Held] = {}

    def element(self, body: Body, number: int, held: Held, places: Sequence[Typed]) -> Typed:
        """The element of an array at places of 32 bits each, for node `number`; 0 where there is none."""
        if held.values is None:
            return body.read(self._load(number, held), body.here())
        table = self.tables.setdefault(held.name, Table(f"{held.name}_table", held.values, held.type))
        inside, index = self._index(body, held.shape, places)
        return _selected(inside, lookup(table, index), held.type)

    def _load(self, number: int, held: Held) -> Held:
        """What the loads of a node give, in each iteration of the loop."""
        if number not in self._loaded:
            body = self.writer.body()
            memory, filled = self._memory(held)
            given = self._state(f"loaded{self.writer.number}_{number}", held.type, body.loop.extents)
            inside, index = self._index(body, held.shape, body.indices(number))
            waits = body.read(filled, (Affine(0),))
            value = Typed(Load(memory.name, _selected(inside, index, index.type).expr, (waits.expr,), held.type))
            self.writer.add(body, given, body.here(), _selected(inside, value, held.type))
            self._loaded[number] = given
        return self._loaded[number]

    def _memory(self, held: Held) -> tuple[Memory, Held]:
        """The memory that has the elements of an array, and what waits until it is filled."""
        if held.name not in self._filled:
            memory = self._new(held, f"{held.name}_memory{self.writer.number}")
            filled = self._state(f"{held.name}_filled{self.writer.number}", BIT, (1,))
            body = self.writer.body(held.shape)
            self._fill(body, memory, filled, body.read(held, body.here()))
            self._filled[held.name] = memory, filled
        return self._filled[held.name]

    def _fill(self, body: Body, memory: Memory, filled: Held, value: Typed) -> None:
        index = self._whole(body)
        self.writer.add(body, filled, (Affine(0),), Typed(Store(memory.name, index.expr, value.expr, _ALWAYS, ())),
                        phase="before")

    def scatter(self, node: DfgNode, held: Held) -> None:
        """A reduction with labels: value, label, mask, address, count; of a histogram the value is a label, too."""
        number, first = self.writer.number, (Affine(0),)
        name = node.kind.removesuffix("_VALUES").removeprefix("ACCUM_")
        memory = self._new(held, f"{held.name}_memory{number}")
        filled = self._state(f"{held.name}_filled{number}", BIT, (1,))
        stored = self._state(f"{held.name}_stored{number}", BIT, (1,))
        start = "USUM" if name == "HISTOGRAM" else name
        self._fill(self.writer.body(held.shape), memory, filled, neutral(start, held.type.width))
        self.writer.add(self.writer.body((1,)), stored, first, constant(BIT, 0), phase="before")
        body = self.writer.body()
        old = self._state(f"{held.name}_loaded{number}", held.type, body.loop.extents)
        enable, index = self._label(body, node, held)
        waits = (body.read(filled, first).expr, body.read(stored, first).expr)
        self.writer.add(body, old, body.here(), Typed(Load(memory.name, index.expr, waits, held.type)))
        body = self.writer.body()
        enable, index = self._label(body, node, held)
        before = body.read(old, body.here())
        one = constant(Int(max(2, held.type.width), signed=False), 1)
        value = joined(start, before, one if name == "HISTOGRAM" else body.value(node.operands[0]), held.type.width)
        waits = (body.read(filled, first).expr, before.expr)
        self.writer.add(body, stored, first, Typed(Store(memory.name, index.expr, cast(held.type, value).expr,
                                                         enable.expr, waits)))
        self._drain(memory, held, filled, stored)

    def _drain(self, memory: Memory, held: Held, filled: Held, stored: Held) -> None:
        body = self.writer.body(held.shape)
        waits = tuple(body.read(token, (Affine(0),)).expr for token in (filled, stored))
        self.writer.add(body, held, body.here(), Typed(Load(memory.name, self._whole(body).expr, waits, held.type)),
                        phase="behind")

    def _label(self, body: Body, node: DfgNode, held: Held) -> tuple[Typed, Typed]:
        """Whether an iteration counts, and which word it changes: 0 if it does not."""
        labels = 2 if node.kind == "ACCUM_HISTOGRAM_VALUES" else 1
        first = 1 if labels == 1 and node.kind.startswith("ACCUM_") else 0
        operands = node.operands[first:first + labels]  # of a histogram with labels the value comes before the label
        rows = [body.number(Affine.of(0, {k: 1}), WORD) for k in range(self.writer.kept)]
        inside, index = self._index(body, held.shape, [*rows, *(body.value(o) for o in reversed(operands))])
        mask = body.value(node.operands[first + labels])
        enable = mask if inside is None else inside & mask
        enable = inside if inside is not None and mask.expr == _ALWAYS else enable
        return enable, _selected(None if enable.expr == _ALWAYS else enable, index, index.type)

    def _index(self, body: Body, shape: Sequence[int], places: Sequence[Typed]) -> tuple[Typed | None, Typed]:
        """Whether places are inside an array, None if they always are, and the number of the element."""
        type_ = _address_type(shape)
        inside: Typed | None = None
        index: Typed | None = None
        for place, extent in zip(places, shape, strict=True):
            if not self._stays(body, place.expr, extent):
                fits = widened(place, WORD, False) < extent
                inside = fits if inside is None else inside & fits
            part = as_bits(place, type_.width)
            index = part if index is None else index * extent + part
        assert index is not None
        return inside, index

    def _stays(self, body: Body, place: Expr, extent: int) -> bool:
        """Whether an index is less than `extent`, whatever is read."""
        reads = {node.index: type_range(node.type) for node in postorder(place) if isinstance(node, Read)}
        given = [reads.get(k, (0, 0)) for k in range(max(reads, default=-1) + 1)]
        iterators = {name: (0, count - 1) for name, count in
                     zip(body.loop.iterators, body.loop.extents, strict=True)}
        tables = {table.name: (min(table.values), max(table.values)) for table in self.tables.values()}
        low, high = fold(place, lambda node, parts: value_range(node, parts, given, iterators, tables))
        return low >= 0 and high < extent

    def _whole(self, body: Body) -> Typed:
        """The number of the element that loops over a whole array are at."""
        shape = body.loop.extents
        strides = {k: prod(shape[k + 1:]) for k in range(len(shape))}
        return body.number(Affine.of(0, strides), _address_type(shape).width)

    def _new(self, held: Held, name: str) -> Memory:
        memory = Memory(name, max(2, prod(held.shape)), held.type, held.name)
        self.memories.append(memory)
        return memory

    def _state(self, name: str, type_: Int, shape: tuple[int, ...]) -> Held:
        held = Held(name, shape, type_)
        self.writer.states.append(held)
        return held


_ALWAYS = Const(1, BIT)


def _selected(condition: Typed | None, value: Typed, type_: object) -> Typed:
    """`value` where the condition holds, else 0; where there is none, always."""
    assert isinstance(type_, Int)
    return value if condition is None else select(condition, value, as_number(0, type_))


def _address_type(shape: Sequence[int]) -> Int:
    return Int(max(2, (prod(shape) - 1).bit_length()), signed=False)
