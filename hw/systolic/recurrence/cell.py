"""A processing element: counters of its time loops, statements as operator pipelines, queues to its neighbours."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.dataflow.affine import piecewise_value, predicate_value
from hw.dataflow.counters import CounterChain
from hw.dataflow.operators import build_operators
from hw.dataflow.spec import Operator, Predicate, Word
from hw.labels import Label
from hw.lib.taps import Taps
from hw.systolic.recurrence.divider import SerialDivider
from hw.systolic.recurrence.queue import ReservedQueue
from hw.systolic.recurrence.spec import CellSpec, NodeSpec, OperandSpec, SourceSpec

__all__ = ["Cell"]


class Cell(wiring.Component):
    """Ports: `coordinate0` ...: its place, constant. `i_NAME`: a stream for each port, `o_NAME`: one for each queue
    that ends outside. After reset the cell begins by itself.

    A step takes at least one cycle. A word leaves its queue one cycle after it is computed at the earliest.
    """

    def __init__(self, spec: CellSpec, divider_bits: int):
        self.spec, self.divider_bits = spec, divider_bits
        super().__init__({
            **{f"coordinate{k}": In(spec.counters[k].shape) for k in range(spec.space)},
            **{f"i_{name}": In(stream.Signature(word.width)) for name, word in spec.ports},
            **{f"o_{q.name}": Out(stream.Signature(q.word.width)) for q in spec.queues if q.outside},
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        spec = self.spec
        m.submodules.steps = self._steps = CounterChain(spec.counters, held=spec.space)
        self._fire, self._taps = Signal(), Taps(m, Const(1))
        self._predicates: dict[Predicate, Signal] = {}
        self._queues = [ReservedQueue(q.word.width, q.depth) for q in spec.queues]
        self._operands = [Signal(o.word.shape, name=f"operand{k}") for k, o in enumerate(spec.operands)]
        self._results = [Signal(n.word.shape, name=f"{n.name}_result") for n in spec.nodes]
        conditions = [self._operand(m, number, operand) for number, operand in enumerate(spec.operands)]
        conditions += [self._node(m, number, node) for number, node in enumerate(spec.nodes)]
        conditions += [self._queue(m, number) for number in range(len(spec.queues))]
        self._control(m, Cat(conditions).all())
        return m

    def _control(self, m: Module, ready: Value) -> None:
        """The first cycle after reset takes the coordinates, then steps fire until the last one has."""
        loaded, running = Signal(), Signal(init=1)
        m.d.comb += [
            self._fire.eq(loaded & running & ready), self._steps.en.eq(self._fire), self._steps.load.eq(~loaded),
        ]
        for k in range(self.spec.space):
            m.d.comb += getattr(self._steps, f"size{k}").eq(getattr(self, f"coordinate{k}"))
        m.d.sync += loaded.eq(1)
        with m.If(self._fire & self._steps.last):
            m.d.sync += running.eq(0)

    def _when(self, m: Module, predicate: Predicate) -> Signal:
        """Whether `predicate` holds in this step."""
        if predicate not in self._predicates:
            self._predicates[predicate] = bit = Signal(name=f"when{len(self._predicates)}")
            m.d.comb += bit.eq(predicate_value(predicate, self._steps.vector))
        return self._predicates[predicate]

    # Operands.

    def _operand(self, m: Module, number: int, operand: OperandSpec) -> Value:
        """Build one operand; whether this step can have it."""
        wanted = self._when(m, operand.wanted)
        *others, last = operand.sources
        value, there = self._source(m, operand, last)
        taken = wanted
        for source in reversed(others):
            select = self._when(m, source.select)
            other, available = self._source(m, operand, source)
            value = Mux(self._taps.delayed(select, operand.offset), other, value)
            there = Mux(select, available, there)
            self._take(m, source, wanted & select)
            taken = taken & ~select
        self._take(m, last, taken)
        m.d.comb += self._operands[number].eq(value)
        return ~wanted | there

    def _stream(self, source: SourceSpec) -> stream.Interface:
        if source.kind == "port":
            return getattr(self, f"i_{self.spec.ports[source.number][0]}")
        return self._queues[source.number].o

    def _source(self, m: Module, operand: OperandSpec, source: SourceSpec) -> tuple[Value, Value]:
        """The word, `offset` cycles after the step, and whether it is there in the step."""
        if source.kind == "node":
            node = self.spec.nodes[source.number]
            late = operand.offset - node.delay - node.latency
            return self._taps.delayed(self._results[source.number], late), Const(1, 1)
        if source.kind == "operand":
            late = operand.offset - self.spec.operands[source.number].offset
            return self._taps.delayed(self._operands[source.number], late), Const(1, 1)
        words = self._stream(source)
        payload = Signal(operand.word.shape, name=f"{source.kind}{source.number}_word")
        m.d.comb += payload.eq(words.payload)
        return self._taps.delayed(payload, operand.offset), words.valid

    def _take(self, m: Module, source: SourceSpec, when: Value) -> None:
        if source.kind in ("port", "queue"):
            m.d.comb += self._stream(source).ready.eq(self._fire & when)

    # Statements.

    def _node(self, m: Module, number: int, node: NodeSpec) -> Value:
        """Build one statement; whether this step can run it."""
        fires = Signal(name=f"{node.name}_fires")
        m.d.comb += fires.eq(self._fire & self._when(m, node.fires))
        starts = {operator.value: operator.start for operator in node.operators if operator.op == "read"}
        reads = [self._read(m, node, options, starts.get(k, 0)) for k, options in enumerate(node.reads)]
        vector = self._steps.vector
        indices = []
        for k, pieces in enumerate(node.indices):
            index = Signal(piecewise_value(pieces, vector).shape(), name=f"{node.name}_index{k}")
            m.d.comb += index.eq(piecewise_value(pieces, vector))
            indices.append(self._taps.delayed(index, node.delay))

        def divided(operator: Operator, operands: Sequence[Value], words: Sequence[Word]) -> Value:
            return self._divided(m, node, fires, operator, operands, words)

        result = build_operators(m, self._taps, Label(node.name, node.source), node.operators, reads, indices,
                                 self.spec.tables, units={"div": divided, "rem": divided})
        m.d.comb += self._results[number].eq(result)
        return self._rested(m, node, fires)

    def _read(self, m: Module, node: NodeSpec, options: Sequence[tuple[int, Predicate]], start: int) -> Value:
        """The operand of one read, `start` cycles after the node's operands are there."""
        *others, (last, _) = options
        value = self._arrived(node, last, start)
        for operand, select in reversed(others):
            chosen = self._taps.delayed(self._when(m, select), node.delay + start)
            value = Mux(chosen, self._arrived(node, operand, start), value)
        if not others:
            return value
        signal = Signal(value.shape(), name=f"{node.name}_read")
        m.d.comb += signal.eq(value)
        return signal

    def _arrived(self, node: NodeSpec, operand: int, start: int) -> Value:
        late = node.delay + start - self.spec.operands[operand].offset
        return self._taps.delayed(self._operands[operand], late)

    def _divided(self, m: Module, node: NodeSpec, fires: Signal, operator: Operator, operands: Sequence[Value],
                 words: Sequence[Word]) -> Value:
        """Quotient or remainder of a serial divider that starts when its operands are there."""
        unit = SerialDivider(words[0].width, words[0].signed, self.divider_bits)
        m.submodules += unit
        m.d.comb += [
            unit.start.eq(self._taps.delayed(fires, node.delay + operator.start)),
            unit.a.eq(operands[0]), unit.b.eq(operands[1]),
        ]
        result = Signal(operator.word.shape)
        m.d.comb += result.eq(unit.quotient if operator.op == "div" else unit.remainder)
        return result

    def _rested(self, m: Module, node: NodeSpec, fires: Signal) -> Value:
        """Whether units of the statement that take several cycles are free."""
        if node.interval == 1:
            return Const(1, 1)
        left = Signal(range(node.interval), name=f"{node.name}_left")
        with m.If(fires):
            m.d.sync += left.eq(node.interval - 1)
        with m.Elif(left != 0):
            m.d.sync += left.eq(left - 1)
        return ~self._when(m, node.fires) | (left == 0)

    # Queues.

    def _queue(self, m: Module, number: int) -> Value:
        """Build one queue; whether this step finds room in it."""
        spec, queue = self.spec.queues[number], self._queues[number]
        m.submodules[f"queue_{spec.name}"] = queue
        push = self._when(m, spec.push)
        m.d.comb += queue.reserve.eq(self._fire & push)
        if spec.kind == "node":
            node = self.spec.nodes[spec.number]
            value = self._taps.delayed(self._results[spec.number], spec.delay - node.delay - node.latency)
        else:
            value = self._taps.delayed(self._operands[spec.number],
                                       spec.delay - self.spec.operands[spec.number].offset)
        m.d.comb += [queue.i.eq(value), queue.push.eq(self._taps.delayed(queue.reserve, spec.delay))]
        if spec.outside:
            port = getattr(self, f"o_{spec.name}")
            m.d.comb += [port.payload.eq(queue.o.payload), port.valid.eq(queue.o.valid),
                         queue.o.ready.eq(port.ready)]
        return ~push | queue.room
