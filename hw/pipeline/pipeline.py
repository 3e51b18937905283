"""The pipeline itself: every cell of a `PipelineSpec` in hardware, everything behind one clock enable."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, ShapeLike, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.dataflow.floating import float_spec, is_floating
from hw.dataflow.operators import applied
from hw.float import FloatOperator
from hw.integer import INTEGER_OPERATIONS, IntegerOperator
from hw.lib.addressed_memory import AddressedMemory
from hw.lib.product import is_wide, product_in_steps
from hw.lib.steps import SteppedOperator
from hw.lib.trap import Outside, Trap
from hw.pipeline.nested_walk import nested_walk
from hw.pipeline.spec import (
    BufferCell,
    ConstantCell,
    CounterCell,
    Exit,
    InputCell,
    LineCell,
    LoadCell,
    MergeCell,
    OperatorCell,
    OutputCell,
    PipelineSpec,
    StoreCell,
    Tap,
    Walk,
)
from hw.pipeline.walker import Walker

__all__ = ["INDEX_BITS", "Pipeline"]

INDEX_BITS = 32
"""Bits of an index that is reported, and of the number of a cell."""

_TRAP = {"trap": Out(1), "trap_cell": Out(INDEX_BITS), "trap_index": Out(signed(INDEX_BITS))}

_MEMORY = {"no_rw_check": "1"}
"""No address is read and written in one cycle, so synthesis need not care what would be read."""


class Pipeline(wiring.Component):
    """`spec` in hardware. Nothing moves in a cycle without `en`; `start` (with `en` low) begins a run. Cycles with `en`
    when nothing is `left` change nothing that a run leaves.

    Per input k: `i_k` is the next word of the stream, and in cycles with ``take[k]`` (and `en`) it is used up. Per
    output k: ``o_k`` is given away in cycles with ``give[k]`` (and `en`). `left`: something is still to be given away,
    or stored where it may be outside.
    If the pipeline has traps, `trap`: since `start` an access was outside of its memory, the first one by cell
    `trap_cell` with `trap_index`; `trap` a cycle after it, the others two. `late_trap`, for users that keep what comes
    from it: all three are there `TRAP_CYCLES` after it, and while `looking`, there may be one of the last cycles.
    """

    def __init__(self, spec: PipelineSpec, *, late_trap: bool = False):
        self.spec, self.late_trap = spec, late_trap and spec.traps
        super().__init__({
            "start": In(1), "en": In(1),
            **(_TRAP if spec.traps else {}),
            **({"looking": Out(1)} if self.late_trap else {}),
            "take": Out(max(1, len(spec.inputs))), "give": Out(len(spec.outputs)), "left": Out(1),
            **{f"i_{k}": In(cell.word.shape) for k, cell in enumerate(spec.inputs)},
            **{f"o_{k}": Out(cell.word.shape) for k, cell in enumerate(spec.outputs)},
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._chains: dict[int, list[Value]] = {}
        self._walkers: dict[Walk, Walker] = {}
        self._jump = Signal()
        self._skipped = Signal(range(_most_skipped(self.spec.exit) + 1))
        lines = self._lines(m)
        accesses = self._memories(m)
        merges: list[tuple[Signal, MergeCell]] = []
        inputs = outputs = 0
        for number, cell in enumerate(self.spec.cells):
            match cell:
                case InputCell():
                    value: Value = getattr(self, f"i_{inputs}")
                    m.d.comb += self.take[inputs].eq(self._walker(m, cell.walk).fire)
                    inputs += 1
                case ConstantCell():
                    value = Const(cell.value, cell.word.shape)
                case CounterCell():
                    value = self._shaped(m, number, self._walker(m, cell.walk).address)
                case OperatorCell():
                    value = self._operator(m, number, cell)
                case LoadCell():
                    value = self._load(m, number, cell, *accesses[number])
                case StoreCell():
                    value = self._store(m, number, cell, *accesses[number])
                case LineCell():
                    value = self._shaped(m, number, lines[number])
                case BufferCell():
                    value = self._buffer(m, number, cell)
                case MergeCell():
                    value = self._named(number, cell.word.shape)
                    merges.append((value, cell))
                case OutputCell():
                    m.d.comb += getattr(self, f"o_{outputs}").eq(self._tap(m, cell.operand))
                    m.d.comb += self.give[outputs].eq(self._walker(m, cell.walk).fire)
                    outputs += 1
                    continue
            self._chains[number] = [value]
        for value, cell in merges:
            self._merge(m, value, cell)
        self._feed_lines(m)
        if self.spec.exit is not None:
            self._leave(m, self.spec.exit)
        if self.spec.traps:
            self._traps(m)
        m.d.comb += self.left.eq(Cat(self._walker(m, walk).left for walk in self.spec.ends).any())
        return m

    def _walker(self, m: Module, walk: Walk) -> Walker:
        """The walker of `walk`; equal walks share one."""
        if walk not in self._walkers:
            leave = self.spec.exit if self.spec.exit and walk.last >= self.spec.exit.walk.start else None
            self._walkers[walk] = walker = _walker(walk, leave)
            m.submodules[f"walk{len(self._walkers)}"] = walker
            m.d.comb += [walker.start.eq(self.start), walker.en.eq(self.en)]
            if leave:
                m.d.comb += walker.jump.eq(self._jump)
            if walker.most_skipped:
                m.d.comb += walker.skipped.eq(self._skipped)
        return self._walkers[walk]

    def _leave(self, m: Module, leave: Exit) -> None:
        """End a loop early."""
        quiet = Signal(range(leave.quiet + 1))  # events with the flags zero, no more than count
        enough = Signal()
        walker = self._walker(m, leave.walk)
        over = walker.fire & ~Cat(Value.cast(self._tap(m, flag)).any() for flag in leave.flags).any()
        m.d.comb += enough.eq(over & (quiet == leave.quiet - 1))
        with m.If(self.en):
            m.d.sync += self._jump.eq(enough)
            with m.If(over):
                m.d.sync += quiet.eq(quiet + 1)
        if leave.around:
            self._once_each(m, leave, walker, enough, quiet)
        with m.If(self.start):
            m.d.sync += [quiet.eq(0), self._jump.eq(0)]

    def _once_each(self, m: Module, leave: Exit, walker: Walker, enough: Signal, quiet: Signal) -> None:
        """The cycles that are left out if the loop ends now; it does so once in each iteration of those around it."""
        left = Signal.like(self._skipped, init=leave.looks * leave.gap)
        go = Signal()
        m.d.comb += go.eq(enough & (left != 0))
        with m.If(self.en):
            m.d.sync += [self._jump.eq(go), self._skipped.eq(left)]
            with m.If(walker.fire):
                with m.If(walker.last[0]):
                    m.d.sync += [left.eq(leave.looks * leave.gap), quiet.eq(0)]
                with m.Elif(go):
                    m.d.sync += left.eq(0)
                with m.Elif(left != 0):
                    m.d.sync += left.eq(left - leave.gap)
        with m.If(self.start):
            m.d.sync += left.eq(leave.looks * leave.gap)

    def _named(self, number: int, shape: ShapeLike, stage: str = "", **options: Any) -> Signal:
        """A signal of cell number `number`, called after its statement and operation."""
        cell = self.spec.cells[number]
        kind = cell.op if isinstance(cell, OperatorCell) else type(cell).__name__.removesuffix("Cell").lower()
        return self.spec.label(number).signal(shape, f"{kind}_{number}{stage}", **options)

    def _shaped(self, m: Module, number: int, value: Value) -> Signal:
        result = self._named(number, self.spec.cells[number].word.shape)
        m.d.comb += result.eq(value)
        return result

    def _register(self, m: Module, value: Value, register: Signal) -> Signal:
        """`register`, which follows `value` a cycle later."""
        with m.If(self.en):
            m.d.sync += register.eq(value)
        return register

    def _late(self, m: Module, value: Value, number: int, stage: str) -> Signal:
        return self._register(m, value, self._named(number, value.shape(), stage, reset_less=True))

    def _tap(self, m: Module, tap: Tap, more: int = 0) -> Value:
        """The value of a tap, `more` cycles later; all taps of a cell share a chain of registers."""
        if isinstance(self.spec.cells[tap.cell], ConstantCell):
            return self._chains[tap.cell][0]
        chain = self._chains[tap.cell]
        while len(chain) <= tap.cycles + more:
            chain.append(self._late(m, chain[-1], tap.cell, f"_late_{len(chain)}"))
        return chain[tap.cycles + more]

    def _operator(self, m: Module, number: int, cell: OperatorCell) -> Value:
        if cell.op == "table":
            return self._table(m, number, cell)
        if is_floating(cell.op, (cell.word, *cell.words)):
            float_operator = FloatOperator(float_spec(cell.op, cell.words, cell.word, cell.latency))
            return self._stepped(m, number, cell, f"float{number}", float_operator)
        if cell.op in INTEGER_OPERATIONS:
            shapes = [self._tap(m, tap).shape() for tap in cell.operands]
            operator = IntegerOperator(cell.op, shapes, cell.word.shape, cell.latency)
            return self._stepped(m, number, cell, f"integer{number}", operator)
        early = int(cell.latency > 1)
        value: Value = self._shaped(m, number, self._result(m, number, cell, early))
        for stage in range(early, cell.latency):
            value = self._late(m, value, number, f"_stage_{stage + 1}")
        return value

    def _result(self, m: Module, number: int, cell: OperatorCell, early: int) -> Value:
        """What an operator makes of its operands, `early` cycles after they are there."""
        if cell.op == "mul" and early and all(map(self._is_early, cell.operands)):
            a, b = (self._tap(m, tap) for tap in cell.operands)
            if is_wide(a, b):
                return product_in_steps(a, b, cell.word.width, lambda part: self._late(m, part, number, "_part"))
        values = [self._tap(m, tap, early) for tap in cell.operands]
        return values[0] if cell.op == "cast" else applied(cell.op, values, list(cell.words))

    def _is_early(self, tap: Tap) -> bool:
        """Whether a value comes out of a register, or out of one of two that a merge selects."""
        cell = self.spec.cells[tap.cell]
        if isinstance(cell, MergeCell) and not tap.cycles:
            return all(map(self._is_register, cell.sources))
        return self._is_register(tap)

    def _is_register(self, tap: Tap) -> bool:
        """Whether a value comes out of a register, or is constant."""
        cell = self.spec.cells[tap.cell]
        if tap.cycles or not isinstance(cell, OperatorCell):
            return tap.cycles > 0 or isinstance(cell, BufferCell | ConstantCell)
        return self._is_register(cell.operands[0]) if cell.op == "cast" and not cell.latency else cell.latency > 0

    def _stepped(self, m: Module, number: int, cell: OperatorCell, name: str, operator: SteppedOperator) -> Value:
        """An operator with registers of its own."""
        m.submodules[name] = operator
        m.d.comb += operator.en.eq(self.en)
        for port, tap in zip("abc", cell.operands, strict=False):
            m.d.comb += getattr(operator, port).eq(self._tap(m, tap))
        return self._shaped(m, number, operator.o)

    def _table(self, m: Module, number: int, cell: OperatorCell) -> Value:
        """A read-only memory with its register and one behind it."""
        entries = self.spec.tables[cell.value]
        mask = (1 << cell.word.width) - 1
        memory = Memory(shape=cell.word.width, depth=max(2, len(entries)), init=[entry & mask for entry in entries])
        m.submodules[f"table{number}"] = memory
        port = memory.read_port()
        m.d.comb += [port.addr.eq(self._tap(m, cell.operands[0])), port.en.eq(self.en)]
        return self._late(m, self._shaped(m, number, port.data), number, "_stage_2")

    # Memories.

    def _memories(self, m: Module) -> dict[int, tuple[AddressedMemory, int]]:
        """For every load and store its memory, and its number among the loads, or the stores, of that."""
        self._outside: list[Outside] = []
        places: dict[int, tuple[AddressedMemory, int]] = {}
        for memory, spec in enumerate(self.spec.memories):
            users = [(n, c) for n, c in enumerate(self.spec.cells)
                     if isinstance(c, LoadCell | StoreCell) and c.memory == memory]
            kinds = [[n for n, c in users if isinstance(c, kind)] for kind in (LoadCell, StoreCell)]
            if any(kinds):
                made = AddressedMemory(spec.word.shape, spec.words, len(kinds[0]), max(1, len(kinds[1])),
                                       forwarded=spec.forwarded, initial=spec.initial)
                m.submodules[f"memory{memory}"] = made
                m.d.comb += made.en.eq(self.en)
                if spec.initial is not None:
                    m.d.comb += made.clear.eq(self.start)
                places |= {n: (made, place) for kind in kinds for place, n in enumerate(kind)}
        return places

    def _load(self, m: Module, number: int, cell: LoadCell, memory: AddressedMemory, port: int) -> Value:
        index = self._tap(m, cell.index)
        m.d.comb += memory.load_address[port].eq(Value.cast(index).as_unsigned())
        if cell.walk is not None:
            self._check_index(number, index, memory.depth, self._walker(m, cell.walk).fire)
        value: Value = self._shaped(m, number, memory.load_data[port])
        return self._late(m, value, number, "_stage_2") if cell.latency > max(1, cell.forwarded) else value

    def _store(self, m: Module, number: int, cell: StoreCell, memory: AddressedMemory, port: int) -> Value:
        index, enable = self._tap(m, cell.index), self._tap(m, cell.enable)
        fire = self._walker(m, cell.walk).fire & Value.cast(enable)[0]
        m.d.comb += [memory.store[port].eq(fire), memory.store_data[port].eq(self._tap(m, cell.value)),
                     memory.store_address[port].eq(Value.cast(index).as_unsigned())]
        if cell.trap:
            self._check_index(number, index, memory.depth, fire)
        return self._late(m, self._shaped(m, number, enable), number, "_stage_1")

    def _check_index(self, number: int, index: Value, depth: int, access: Value) -> None:
        """Look for an index outside of its memory."""
        self._outside.append(Outside(number, index, depth, access))

    def _traps(self, m: Module) -> None:
        """Keep the first access that was outside."""
        with m.If(self.start):
            m.d.sync += self.trap.eq(0)
        trap = Trap(self.trap, self.trap_cell, self.trap_index)
        if self.late_trap:
            m.d.comb += self.looking.eq(trap.keep_first(m, self.en & self.left, self._outside))
        else:
            trap.stop_at_first(m, self.en & self.left, self._outside)

    # Values that wait.

    def _buffer(self, m: Module, number: int, cell: BufferCell) -> Value:
        memory = Memory(shape=cell.word.width, depth=cell.depth, init=[], attrs=_MEMORY)
        m.submodules[f"buffer{number}"] = memory
        write, read = memory.write_port(), memory.read_port()
        writer, reader = self._walker(m, cell.write), self._walker(m, cell.read)
        m.d.comb += [
            write.addr.eq(writer.address), write.data.eq(self._tap(m, cell.source)), write.en.eq(self.en & writer.fire),
            read.addr.eq(reader.address), read.en.eq(self.en & reader.fire),
        ]
        return self._late(m, self._shaped(m, number, read.data), number, "_stage_2")

    def _merge(self, m: Module, value: Signal, cell: MergeCell) -> None:
        """Select; all cells are there by now."""
        first, second = (self._tap(m, tap) for tap in cell.sources)
        m.d.comb += value.eq(Mux(self._walker(m, cell.select).address < cell.cut, first, second))

    def _lines(self, m: Module) -> dict[int, Value]:
        """The results of all delay lines. Lines of one depth are one memory, side by side, with one address."""
        self._ports: list[tuple[list[tuple[int, LineCell]], Value]] = []
        groups: dict[int, list[tuple[int, LineCell]]] = {}
        for number, cell in enumerate(self.spec.cells):
            if isinstance(cell, LineCell):
                groups.setdefault(cell.depth, []).append((number, cell))
        results: dict[int, Value] = {}
        for depth, group in groups.items():
            memory = Memory(shape=sum(c.word.width for _, c in group), depth=depth, init=[], attrs=_MEMORY)
            m.submodules[f"line{depth}"] = memory
            write, read = memory.write_port(), memory.read_port()
            ahead, behind = Signal(range(depth)), Signal(range(depth), init=depth - 1)
            m.d.comb += [write.en.eq(self.en), read.en.eq(self.en), read.addr.eq(ahead), write.addr.eq(behind)]
            with m.If(self.en):
                m.d.sync += [behind.eq(ahead), ahead.eq(Mux(ahead == depth - 1, 0, ahead + 1))]
            late = Signal.like(read.data, name=f"line{depth}_late", reset_less=True)
            data = self._register(m, read.data, late)
            self._ports.append((group, write.data))
            place = 0
            for number, cell in group:
                results[number] = data[place : place + cell.word.width]
                place += cell.word.width
        return results

    def _feed_lines(self, m: Module) -> None:
        for group, data in self._ports:
            m.d.comb += data.eq(Cat(Value.cast(self._tap(m, cell.source)).as_unsigned() for _, cell in group))


def _most_skipped(leave: Exit | None) -> int:
    """The most cycles that a loop inside others leaves out at a time."""
    return leave.looks * leave.gap if leave and leave.around else 0


def _walker(walk: Walk, leave: Exit | None) -> Walker:
    """The walker of a walk that a loop which ends early may move on."""
    if leave is None:
        return Walker(walk)
    if not leave.around:
        return Walker(walk, leave.target)
    nested = nested_walk(walk, leave.gap, leave.around)
    return Walker(walk, leave.target, nested, 0 if nested else _most_skipped(leave))
