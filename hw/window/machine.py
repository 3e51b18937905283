"""The window machine: argument words, then iterations, then the results that wait for the last of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from math import prod
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.lib.multiplexer import multiplex
from hw.window.accumulators import AccumulatorWriter
from hw.window.arbiter import MemoryArbiter
from hw.window.counters import LoopCounters
from hw.window.generator import WindowGenerator
from hw.window.operators import build_operator, reduce_pair, start_of_reduction
from hw.window.ports import MemoryPort, RequestPort
from hw.window.spec import (
    WORD,
    Accumulators,
    ArgumentWord,
    Carry,
    Constant,
    Counters,
    Element,
    FinalValue,
    Operand,
    Operator,
    Output,
    Reduction,
    Tile,
    Windows,
    WindowSpec,
)
from hw.window.tables import TableMemory
from hw.window.writer import TileWriter

__all__ = ["WindowMachine"]


class WindowMachine(wiring.Component):
    """A machine for `spec`, which says what its memories hold.

    `start`, for one cycle, begins a run: the machine reads its argument words from address 0 of ``memory0``, one per
    cycle, fills its tables with a word per cycle, settles for as many cycles as arrays have dimensions, runs, and is
    `done` from the cycle after the last result is written, until the next start. `fire`: an iteration in this cycle.
    Memories: `hw.window.ports.MemoryPort`;
    ``memory1``, if there is one, takes the results.
    """

    def __init__(self, spec: WindowSpec):
        self.spec = spec
        ports = {f"memory{n}": Out(MemoryPort(spec.address_bits)) for n in range(spec.memories)}
        super().__init__({"start": In(1), "done": Out(1), "fire": Out(1), **ports})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        return _Elaboration(m, self).run()


class _Elaboration:
    """One elaboration. Outputs of nodes are made first, so that carried values can come from nodes behind them."""

    def __init__(self, m: Module, machine: WindowMachine):
        self.m, self.machine, self.spec = m, machine, machine.spec
        self.outputs = [[Signal(width, name=f"node{n}_{port}") for port, width in enumerate(node.widths)]
                        for n, node in enumerate(self.spec.nodes)]
        self.words = [Signal(WORD, name=f"argument{n}") for n in range(len(self.spec.arguments))]
        self.word = Signal(WORD, name="word")
        self.left = Signal(WORD, name="left")  # iterations
        self.begin = Signal(name="begin")  # arguments are there, and what follows from them
        self.go = Signal(name="go")  # the same of a loop that has iterations
        self.taking = Signal(name="taking")  # words that come are arguments
        self.finish = Signal(name="finish")  # all iterations have been
        self.valid: list[Value] = []  # of generators
        self.ready: list[Value] = []  # of writers
        self.busy: list[Value] = []
        self.readers: list[WindowGenerator] = []
        self.writers: list[TileWriter | AccumulatorWriter] = []
        self.tables: list[TableMemory] = []
        self.lookups: list[Iterator[tuple[Any, Value]]] = []  # of tables: what is asked for, and what is there
        self.ends: list[tuple[Value, Value]] = []  # words to write after the loop, and their addresses

    def run(self) -> Module:
        """Everything."""
        self.fill_tables()
        for number, node in enumerate(self.spec.nodes):
            _BUILD[type(node)](self, number, node)
        self.control()
        return self.m

    def value(self, operand: Operand) -> Value:
        """What an operand brings."""
        if isinstance(operand, Constant):
            return Const(operand.value, operand.width)
        if isinstance(operand, ArgumentWord):
            return self.words[operand.number][:self.spec.arguments[operand.number]]
        return self.outputs[operand.node][operand.port]

    def address(self, operand: Operand) -> Value:
        """The bits of an operand that address memory."""
        return self.value(operand)[:self.spec.address_bits]

    def count(self, operand: Operand) -> Value:
        """The bits of an operand that is an extent."""
        return self.value(operand)[:self.spec.count_bits]

    def windows(self, number: int, node: Windows) -> None:
        m, spec = self.m, self.spec
        m.submodules[f"generator{number}"] = part = WindowGenerator(node, spec.address_bits, spec.count_bits)
        m.d.comb += [part.start.eq(self.go), part.address.eq(self.address(node.address)),
                     part.take.eq(self.machine.fire)]
        m.d.comb += [place.eq(self.count(extent)) for place, extent in zip(part.extents, node.extents, strict=True)]
        m.d.comb += [place.eq(self.count(extent)) for place, extent in zip(part.loop, spec.loop, strict=False)]
        m.d.comb += [out.eq(element) for out, element in zip(self.outputs[number], part.elements, strict=False)]
        indices = self.outputs[number][len(part.elements):]
        steps = [Constant(step, WORD) for step in node.steps if step]
        if any(Output(number, port) in _operands(spec) for port in range(len(part.elements), len(node.widths))):
            lows = (Constant(0, WORD),) * len(steps)
            self._counters(f"index{number}", Counters(lows, tuple(steps), (WORD,) * len(steps)), indices)
        self.readers.append(part)
        self.valid.append(part.valid)

    def counters(self, number: int, node: Counters) -> None:
        self._counters(f"counters{number}", node, self.outputs[number])

    def _counters(self, name: str, node: Counters, outputs: Sequence[Signal]) -> None:
        m = self.m
        m.submodules[name] = part = LoopCounters(len(node.lows), self.spec.count_bits)
        m.d.comb += [part.start.eq(self.begin), part.step.eq(self.machine.fire)]
        for k, (low, step) in enumerate(zip(node.lows, node.steps, strict=True)):
            m.d.comb += [part.counts[k].eq(self.count(self.spec.loop[k])), part.lows[k].eq(self.value(low)),
                         part.steps[k].eq(self.value(step)), outputs[k].eq(part.values[k])]

    def operator(self, number: int, node: Operator) -> None:
        operands = [self.value(operand) for operand in node.operands]
        self.m.d.comb += self.outputs[number][0].eq(build_operator(node.kind, operands, node.width, self._wire))

    def fill_tables(self) -> None:
        """Tables, which `_begin` fills."""
        for number, table in enumerate(self.spec.tables):
            readers = sum(isinstance(node, Element) and node.table == number for node in self.spec.nodes)
            self.m.submodules[f"table{number}"] = part = TableMemory(table, readers)
            self.m.d.comb += part.word.eq(self.word)
            self.tables.append(part)
            self.lookups.append(zip(part.indices, part.elements, strict=True))

    def element(self, number: int, node: Element) -> None:
        places, found = next(self.lookups[node.table])
        self.m.d.comb += self.outputs[number][0].eq(found)
        self.m.d.comb += [place.eq(self.value(index)) for place, index in zip(places, node.indices, strict=True)]

    def _wire(self, value: Value) -> Value:
        wire = Signal(value.shape(), name="wire")
        self.m.d.comb += wire.eq(value)
        return wire

    def carry(self, number: int, node: Carry) -> None:
        held = Signal(node.width, name=f"carried{number}")
        with self.m.If(self.begin):
            self.m.d.sync += held.eq(self.value(node.first))
        with self.m.Elif(self.machine.fire):
            self.m.d.sync += held.eq(self.value(node.following))
        self.m.d.comb += [out.eq(held) for out in self.outputs[number]]

    def tile(self, number: int, node: Tile) -> None:
        m, spec = self.m, self.spec
        rank = max(len(node.extents), len(spec.loop))
        extents = (1,) * (rank - len(node.extents)) + node.extents
        loop = [*[Const(1)] * (rank - len(spec.loop)), *(self.count(extent) for extent in spec.loop)]
        m.submodules[f"writer{number}"] = part = TileWriter(extents, node.width, spec.address_bits, spec.count_bits)
        m.d.comb += [part.start.eq(self.go), part.address.eq(self.address(node.address)),
                     part.put.eq(self.machine.fire)]
        m.d.comb += [place.eq(extent) for place, extent in zip(part.loop, loop, strict=True)]
        m.d.comb += [place.eq(self.value(value)) for place, value in zip(part.values, node.values, strict=True)]
        self.writers.append(part)
        self.ready.append(part.ready)
        self.busy.append(part.busy)

    def reduction(self, number: int, node: Reduction) -> None:
        held = Signal(node.bits, name=f"reduced{number}")
        with self.m.If(self.begin):
            self.m.d.sync += held.eq(start_of_reduction(node.kind, node.bits))
        with self.m.Elif(self.machine.fire & self.value(node.mask)):
            self.m.d.sync += held.eq(reduce_pair(node.kind, held, self.value(node.value)))
        self.ends.append((held[:node.width], self.address(node.address)))

    def accumulators(self, number: int, node: Accumulators) -> None:
        if not prod(node.extents):
            return
        m, spec = self.m, self.spec
        m.submodules[f"writer{number}"] = part = AccumulatorWriter(node.kind, node.extents, node.bits, node.width,
                                                                   spec.address_bits, spec.count_bits)
        m.d.comb += [part.start.eq(self.begin), part.address.eq(self.address(node.address)),
                     part.put.eq(self.machine.fire & self.value(node.mask)), part.value.eq(self.value(node.value)),
                     part.finish.eq(self.finish)]
        m.d.comb += [place.eq(self.value(label)) for place, label in zip(part.labels, node.labels, strict=True)]
        self.writers.append(part)
        self.busy.append(part.busy)

    def final_value(self, number: int, node: FinalValue) -> None:
        self.ends.append((self.value(node.value)[:node.width], self.address(node.address)))

    def control(self) -> None:
        """States of a run, and what each of them asks of memory."""
        m, machine, spec = self.m, self.machine, self.spec
        arguments = RequestPort(spec.address_bits, writes=False).create(path=("arguments",))
        results = RequestPort(spec.address_bits, writes=True).create(path=("results",))
        most = max([len(self.words), len(self.ends), *(table.words for table in spec.tables)])
        cursor = Signal(range(most + 1))
        arrives = self._connect(arguments, results)
        m.d.comb += [self.go.eq(self.begin & self.value(spec.iterations).any()),
                     arguments.address.eq(cursor), machine.fire.eq(self._fire())]
        for port in (arguments, results):
            with m.If(port.valid & port.ready):
                m.d.sync += cursor.eq(cursor + 1)
        with m.If(arrives & self.taking):
            m.d.sync += [word.eq(later) for word, later in pairwise([*self.words, self.word])]
        with m.FSM():
            self._begin(cursor, arguments, arrives)
            self._end(cursor, results)

    def _begin(self, cursor: Signal, arguments: Any, arrives: Value) -> None:
        m = self.m
        settled = Signal(range(self._settling() + 1))
        with m.State("idle"):
            m.d.sync += [cursor.eq(0), settled.eq(0)]
            with m.If(self.machine.start):
                m.d.sync += self.machine.done.eq(0)
                m.next = "arguments"
        with m.State("arguments"):
            m.d.comb += [arguments.valid.eq(cursor != len(self.words)), self.taking.eq(1)]
            with m.If(~arguments.valid & ~arrives):
                m.d.sync += cursor.eq(0)
                m.next = "table0" if self.tables else "settle"
        for number, (table, part) in enumerate(zip(self.spec.tables, self.tables, strict=True)):
            with m.State(f"table{number}"):
                m.d.comb += [arguments.valid.eq(cursor != table.words), part.put.eq(arrives),
                             arguments.address.eq(self.address(table.address) + cursor), part.address.eq(cursor - 1)]
                with m.If(~arguments.valid & ~arrives):
                    m.d.sync += cursor.eq(0)
                    m.next = f"table{number + 1}" if table is not self.spec.tables[-1] else "settle"
        with m.State("settle"):
            m.d.sync += settled.eq(settled + 1)
            with m.If(settled == self._settling()):
                m.d.comb += self.begin.eq(1)
                m.d.sync += [self.left.eq(self.value(self.spec.iterations)), cursor.eq(0)]
                m.next = "run"

    def _end(self, cursor: Signal, results: Any) -> None:
        m = self.m
        with m.State("run"):
            m.d.comb += self.finish.eq(self.left == 0)
            with m.If(self.finish & ~Cat(*self.busy).any()):
                m.next = "results"
        with m.State("results"):
            values, addresses = ([*column, Const(0)] for column in (zip(*self.ends, strict=True) if self.ends
                                                                    else ((), ())))
            m.d.comb += [results.valid.eq(cursor != len(self.ends)), results.data.eq(multiplex(cursor, values)),
                         results.address.eq(multiplex(cursor, addresses))]
            with m.If(~results.valid):
                m.d.sync += self.machine.done.eq(1)
                m.next = "idle"

    def _fire(self) -> Value:
        with self.m.If(self.machine.fire):
            self.m.d.sync += self.left.eq(self.left - 1)
        return (self.left != 0) & Cat(*self.valid, *self.ready).all()

    def _settling(self) -> int:
        """Cycles in which strides follow from extents, at most two for each dimension of an array."""
        ranks = [len(node.sizes if isinstance(node, Windows) else node.extents) for node in self.spec.nodes
                 if isinstance(node, (Windows, Tile, Accumulators))]
        return 2 * max([len(self.spec.loop), *ranks])

    def _connect(self, arguments: Any, results: Any) -> Value:
        """Arbiters between requests and memories; whether an argument word comes in this cycle, as `word`."""
        m, spec = self.m, self.spec
        readers = [arguments, *(part.memory for part in self.readers)]
        writers = [results, *(part.memory for part in self.writers)]
        sides = [(writers, readers)] if spec.memories == 1 else [([], readers), (writers, [])]
        parts = [MemoryArbiter(len(w), len(r), spec.address_bits) for w, r in sides]
        for n, (part, (these_writers, these_readers)) in enumerate(zip(parts, sides, strict=True)):
            m.submodules[f"arbiter{n}"] = part
            for one, other in zip([*part.writers, *part.readers], [*these_writers, *these_readers], strict=True):
                self._join(one, other)
            wiring.connect(m, part.memory, wiring.flipped(getattr(self.machine, f"memory{n}")))
        source = parts[0]
        m.d.comb += self.word.eq(source.word)
        for number, part in enumerate(self.readers, 1):
            m.d.comb += [part.word.eq(source.word), part.arrives.eq(source.arrives[number])]
        return source.arrives[0]

    def _join(self, arbiter: Any, request: Any) -> None:
        data = [arbiter.data.eq(request.data)] if hasattr(request, "data") else []
        self.m.d.comb += [arbiter.valid.eq(request.valid), arbiter.address.eq(request.address),
                          request.ready.eq(arbiter.ready), *data]


def _operands(spec: WindowSpec) -> set[Operand]:
    """Everything that some node takes."""
    found: set[Operand] = set()
    for node in spec.nodes:
        if isinstance(node, (Operator, Tile)):
            found |= {*node.operands} if isinstance(node, Operator) else {*node.values}
        elif isinstance(node, Carry):
            found.add(node.following)
        elif isinstance(node, Reduction):
            found |= {node.value, node.mask}
        elif isinstance(node, Element):
            found |= {*node.indices}
        elif isinstance(node, Accumulators):
            found |= {node.value, node.mask, *node.labels}
    return found


_BUILD: dict[type, Callable[[Any, int, Any], None]] = {
    Windows: _Elaboration.windows, Counters: _Elaboration.counters, Operator: _Elaboration.operator,
    Carry: _Elaboration.carry, Tile: _Elaboration.tile, Reduction: _Elaboration.reduction,
    Accumulators: _Elaboration.accumulators, Element: _Elaboration.element,
    FinalValue: _Elaboration.final_value}
