"""The streaming kernel: counters, predicates, channels and operator pipelines in lockstep, streams at its edges.

Bok 2018, chapters 5 and 6: its DfeGraph (inputs, outputs, constants, memories, multiplexers, operators, counters) as
hardware. All parts step together; the kernel stands still in cycles in which an input that fires has no word or an
output that fires has no room, so gaps on streams change timing and never data.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.dataflow.affine import piecewise_value, predicate_value
from hw.dataflow.channels import DelayLine, FifoChannel, ReorderChannel
from hw.dataflow.counters import CounterChain
from hw.dataflow.edges import EdgeQueue
from hw.dataflow.memory_accesses import INDEX_BITS, MemoryAccesses
from hw.dataflow.operators import build_operators
from hw.dataflow.spec import ChannelSpec, Exit, KernelSpec, NodeSpec, Predicate, ReadSpec, Word
from hw.labels import Label
from hw.lib.taps import Taps

__all__ = ["STREAM_WORDS", "Kernel"]

STREAM_WORDS = 4
"""Words that wait at each edge of the kernel, which cuts the path from stream to stream."""

_TRAP = {"trap": Out(1), "trap_access": Out(INDEX_BITS), "trap_index": Out(signed(INDEX_BITS))}


class Kernel(wiring.Component):
    """Ports: `start` begins a run when not `busy`; `done` is high for one cycle when the last word is on its way out.
    ``i_NAME``, ``o_NAME``: a stream per input and output of `spec`. `moved`: it makes a step in this cycle; `ticks`:
    steps of the run so far, `stalls`: cycles in which it stood still; the run takes `KernelSpec.total_ticks` ticks.
    ``size0`` ...: run-time sizes, which `start` takes. `observe` adds, for channel number k if it is a queue, the
    output ``peak_k``: the most words there have been in it. If it has traps, `trap`: an access was outside of its
    memory since reset, the first one by number (`KernelSpec.accesses`) `trap_access` with `trap_index`, which come a
    cycle later; the kernel stands still then, before the word can leave. `late_trap`, for users that keep what comes
    from it: all three are there `TRAP_CYCLES` after it, and while `looking`, there may be one of the last cycles.
    """

    def __init__(self, spec: KernelSpec, *, observe: bool = False, late_trap: bool = False):
        self.spec, self.late_trap = spec, late_trap and spec.traps
        self.observe = observe
        queues = [k for k, channel in enumerate(spec.channels) if channel.queued]
        super().__init__({
            "start": In(1),
            "busy": Out(1),
            "moved": Out(1),
            "done": Out(1),
            "ticks": Out(32),
            "stalls": Out(32),
            **{f"size{k}": In(spec.counters[k].shape) for k in range(len(spec.sizes))},
            **{f"i_{s.name}": In(stream.Signature(s.word.shape)) for s in spec.inputs},
            **{f"o_{s.name}": Out(stream.Signature(s.word.shape)) for s in spec.outputs},
            **(_TRAP if spec.traps else {}),
            **({"looking": Out(1)} if self.late_trap else {}),
            **({f"peak_{k}": Out(range(spec.channels[k].depth + 1)) for k in queues} if observe else {}),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        spec = self.spec
        jump = (spec.exit.level, spec.exit.target) if spec.exit else None
        m.submodules.chain = self._chain = CounterChain(spec.counters, len(spec.sizes), jump)
        m.d.comb += [getattr(self._chain, f"size{k}").eq(getattr(self, f"size{k}")) for k in range(len(spec.sizes))]
        self._en, self._running, self._begin = Signal(), Signal(), Signal()
        self._taps = Taps(m, self._en)
        self._predicates: dict[Predicate, Signal] = {}
        self._words = [Signal(c.word.shape, name=f"channel{k}") for k, c in enumerate(spec.channels)]
        self._given_on = {k: Signal(c.word.shape, name=f"part{k}") for k, c in enumerate(spec.channels)
                          if c.kind == "line"}
        self._accesses = MemoryAccesses(m, spec, self._en, self._taps, lambda number, ticks: self._when(
            m, spec.nodes[number].fires, spec.nodes[number].delay + ticks), self._begin)
        self._results: list[Signal] = []
        self._operands: list[list[Signal]] = []
        for node in spec.nodes:
            self._results.append(Signal(self._result_word(node).shape, name=f"{node.name}_result"))
            self._operands.append([Signal(r.word.shape, name=f"{node.name}_read{k}") for k, r in enumerate(node.reads)])
        ready = [self._node(m, number, node) for number, node in enumerate(spec.nodes)]
        self._delays(m)
        for number, channel in enumerate(spec.channels):
            self._channel(m, number, channel)
        self._control(m, Cat(ready).all())
        if spec.exit:
            self._leave(m, spec.exit)
        if spec.traps:
            looking = self._accesses.finish(self.late_trap)
            m.d.comb += [self.looking.eq(looking)] if self.late_trap else []
            m.d.comb += [getattr(self, name).eq(getattr(self._accesses, name)) for name in _TRAP]
        return m

    def _result_word(self, node: NodeSpec) -> Word:
        """What the node gives: outputs give what they take."""
        if node.kind == "input":
            return self.spec.inputs[node.stream].word
        return node.reads[0].word if node.kind == "output" else node.operators[-1].word

    # Time.

    def _control(self, m: Module, ready: Value) -> None:
        left = Signal(range(self.spec.depth + 1))
        m.d.comb += [
            self._begin.eq(self.start & ~self.busy),
            self._en.eq(self.busy & ready & ~self._accesses.trap),
            self.moved.eq(self._en),
            self._chain.load.eq(self._begin),
            self._chain.en.eq(self._en & self._running),
            self.done.eq(self._en & ~self._running & (left == 1)),
        ]
        with m.If(self._begin):
            m.d.sync += [self._running.eq(1), self.busy.eq(1), left.eq(self.spec.depth), self.ticks.eq(0),
                         self.stalls.eq(0)]
        with m.Elif(self._en):
            m.d.sync += self.ticks.eq(self.ticks + 1)
            with m.If(self._running):
                m.d.sync += [self._running.eq(~self._chain.last),
                             self.busy.eq(~self._chain.last | (self.spec.depth != 0))]
            with m.Else():
                m.d.sync += [left.eq(left - 1), self.busy.eq(left != 1)]
        with m.Elif(self.busy):
            m.d.sync += self.stalls.eq(self.stalls + 1)

    def _leave(self, m: Module, leave: Exit) -> None:
        """End a loop early."""
        node, ended, zero = self.spec.nodes[leave.node], Signal(), Signal()
        ticks = node.delay + node.latency + leave.wait
        m.d.comb += zero.eq(self._results[leave.node] == 0)
        zeros = Cat(self._taps.delayed(zero, leave.wait + back) for back in (0, *leave.back))
        over = self._when(m, node.fires, ticks) & self._when(m, leave.looks, ticks) & zeros.all()
        inside = self._when(m, leave.where, 0)
        m.d.comb += self._chain.skip.eq(ended & inside)
        with m.If(self._begin):
            m.d.sync += ended.eq(0)
        if leave.repeats:
            self._once_each(m, ended, inside, over, ticks)
        else:
            with m.Elif(self._en & over):
                m.d.sync += ended.eq(1)

    def _once_each(self, m: Module, ended: Signal, inside: Value, over: Value, ticks: int) -> None:
        """Keep that the loop has ended until it is left; what is `over` comes from vectors of `ticks` ticks ago, the
        first ones from before the loop."""
        old = Signal(range(ticks + 1))  # ticks until what comes is from vectors of this iteration
        with m.Elif(self._en):
            with m.If(~inside):
                m.d.sync += [ended.eq(0), old.eq(ticks)]
            with m.Elif(old != 0):
                m.d.sync += old.eq(old - 1)
            with m.Elif(over):
                m.d.sync += ended.eq(1)

    def _when(self, m: Module, predicate: Predicate, ticks: int) -> Value:
        """Whether `predicate` held for the counters of `ticks` ticks ago."""
        if predicate not in self._predicates:
            self._predicates[predicate] = bit = Signal(name=f"when{len(self._predicates)}")
            m.d.comb += bit.eq(predicate_value(predicate, self._chain.vector) & self._running)
        return self._taps.delayed(self._predicates[predicate], ticks, "when")

    # Nodes.

    def _node(self, m: Module, number: int, node: NodeSpec) -> Value:
        """Build one node; whether its stream lets the kernel step."""
        for operand, read in zip(self._operands[number], node.reads, strict=True):
            m.d.comb += operand.eq(self._selected(m, node, read))
        if node.kind == "input":
            return self._input(m, number, node)
        if node.kind == "output":
            return self._output(m, number, node)
        vector = self._chain.vector
        indices = [self._taps.delayed(_named(m, piecewise_value(pieces, vector), f"{node.name}_index{k}"), node.delay)
                   for k, pieces in enumerate(node.indices)]
        result = build_operators(m, self._taps, Label(node.name, node.source), node.operators, self._operands[number],
                                 indices, self.spec.tables, self._accesses.units(number))
        m.d.comb += self._results[number].eq(result)
        return Value.cast(1)

    def _selected(self, m: Module, node: NodeSpec, read: ReadSpec) -> Value:
        """The operand: from the one source whose selector holds (Bok 2018, section 6.2.4)."""
        *others, last = read.sources
        value: Value = self._words[last.channel]
        for source in reversed(others):
            value = Mux(self._when(m, source.select, node.delay + read.offset), self._words[source.channel], value)
        return value

    def _input(self, m: Module, number: int, node: NodeSpec) -> Value:
        port = getattr(self, f"i_{self.spec.inputs[node.stream].name}")
        fires = self._when(m, node.fires, node.delay)
        m.submodules[f"{node.name}_words"] = words = EdgeQueue(port.payload.shape().width, STREAM_WORDS)
        m.d.comb += [
            words.word.eq(port.payload), words.put.eq(port.valid), port.ready.eq(words.room),
            words.take.eq(fires & self._en), self._results[number].eq(words.data),
        ]
        return words.valid | ~fires

    def _output(self, m: Module, number: int, node: NodeSpec) -> Value:
        port = getattr(self, f"o_{self.spec.outputs[node.stream].name}")
        fires = self._when(m, node.fires, node.delay)
        m.submodules[f"{node.name}_words"] = words = EdgeQueue(port.payload.shape().width, STREAM_WORDS, spare=1)
        # The word has a cycle to get there: what the queue does with it need not follow from the step in the same one.
        m.d.sync += [words.word.eq(self._operands[number][0]), words.put.eq(fires & self._en)]
        m.d.comb += [port.payload.eq(words.data), port.valid.eq(words.valid), words.take.eq(port.ready)]
        return words.room | ~fires

    # Channels.

    def _given(self, channel: ChannelSpec) -> Signal:
        """What goes into a channel."""
        if channel.after is not None:
            return self._given_on[channel.after]
        if channel.operand is None:
            return self._results[channel.source]
        return self._operands[channel.source][channel.operand]

    def _delays(self, m: Module) -> None:
        """Delays of one value are one line with taps."""
        lines: dict[tuple[int, int | None], list[int]] = {}
        for number, channel in enumerate(self.spec.channels):
            if channel.kind == "delay":
                lines.setdefault((channel.source, channel.operand), []).append(number)
        for numbers in lines.values():
            numbers.sort(key=lambda k: self.spec.channels[k].depth)
            value: Value = self._given(self.spec.channels[numbers[0]])
            reached = 0
            for number in numbers:
                channel = self.spec.channels[number]
                if channel.depth > reached:
                    m.submodules[f"line{number}"] = line = DelayLine(channel.word, channel.depth - reached)
                    m.d.comb += [line.en.eq(self._en), line.i.eq(value)]
                    value, reached = line.o, channel.depth
                m.d.comb += self._words[number].eq(value)

    def _line(self, m: Module, number: int, channel: ChannelSpec) -> None:
        """A part of a line that several reads share, and the way from its end to the read."""
        left = self._when(m, channel.push, channel.left)
        if channel.queued:
            part = FifoChannel(channel.word, channel.depth, channel.ahead)
            m.d.comb += [part.en.eq(self._en), part.push.eq(self._when(m, channel.push, channel.written)),
                         part.pop.eq(left)]
            if self.observe:
                m.d.comb += getattr(self, f"peak_{number}").eq(part.peak)
        else:
            part = DelayLine(channel.word, channel.depth)
            m.d.comb += part.en.eq(self._en & left)
        m.submodules[f"channel{number}"] = part
        m.submodules[f"later{number}"] = way = DelayLine(channel.word, channel.later)
        m.d.comb += [part.i.eq(self._given(channel)), self._given_on[number].eq(part.o),
                     way.en.eq(self._en), way.i.eq(part.o), self._words[number].eq(way.o)]

    def _channel(self, m: Module, number: int, channel: ChannelSpec) -> None:
        if channel.kind == "delay":
            return
        if channel.kind == "line":
            self._line(m, number, channel)
            return
        push = self._when(m, channel.push, channel.written)
        if channel.kind == "register":
            with m.If(push & self._en):
                m.d.sync += self._words[number].eq(self._given(channel))
            return
        if channel.kind == "fifo":
            memory = FifoChannel(channel.word, channel.depth)
            m.d.comb += memory.pop.eq(self._when(m, channel.pop, channel.read))
            if self.observe:
                m.d.comb += getattr(self, f"peak_{number}").eq(memory.peak)
        else:
            memory = ReorderChannel(channel.word, channel.depth)
            vector = self._chain.vector
            for name, pieces, ticks in (("write_address", channel.write_address, channel.written),
                                        ("read_address", channel.read_address, channel.read - 1)):
                place = Signal(range(channel.depth), name=f"{name}{number}")
                m.d.comb += place.eq(piecewise_value(pieces, vector))
                m.d.comb += getattr(memory, name).eq(self._taps.delayed(place, ticks))
        m.submodules[f"channel{number}"] = memory
        m.d.comb += [memory.en.eq(self._en), memory.push.eq(push), memory.i.eq(self._given(channel)),
                     self._words[number].eq(memory.o)]


def _named(m: Module, value: Value, name: str) -> Signal:
    signal = Signal(value.shape(), name=name)
    m.d.comb += signal.eq(value)
    return signal
