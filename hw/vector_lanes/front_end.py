"""The front end: custom-function commands of the scalar core become entries of the instruction queue, and answers.

An instruction is two commands, of two registers each: the first brings A, B and half of the mode word, the second D and
the other half (Liu 2012, section 2.2.1). See `hw.vector_lanes.isa` for the encoding.
"""

from __future__ import annotations

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.dma.scratchpad_align import Skid
from hw.vector_lanes.core_ports import COMMAND, core_counters
from hw.vector_lanes.isa import ENTRY, OPERANDS_BITS, Control, Parameter
from hw.vector_lanes.spec import VectorSpec

__all__ = ["CommandDecoder"]

_ILLEGAL_CODE = (1 << 7) - 1
"""What goes into the queue for a command that means nothing: dispatch finds it illegal, in its turn."""


class CommandDecoder(wiring.Component):
    """Decodes `command`; one `response` each, in order, in the next cycle.

    A command waits while its entry finds the queue full, and a SYNC while `vector_idle`, `dma_idle` or both are 0.
    The answer is 0 except to GET. The other ports are those of `hw.vector_lanes.core.VectorCore`.
    """

    def __init__(self, spec: VectorSpec) -> None:
        self.spec = spec
        super().__init__({
            "command": In(stream.Signature(COMMAND)), "response": Out(stream.Signature(32)),
            "entry": Out(stream.Signature(ENTRY)), "status": In(4), "vector_idle": In(1), "dma_idle": In(1),
            "mask_waves": In(range(spec.mask_waves + 1)), "counters": In(core_counters()), "clear_status": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # The core takes a command late in a cycle and an answer later: neither waits for the other.
        m.submodules.answers = answers = Skid(32)
        wiring.connect(m, answers.output, wiring.flipped(self.response))
        command = self.command.payload
        low, high = command.function[:3], command.function[3:]
        first, second, control = ~low[2], low[1:] == 0b10, low == 0b110
        operation, queued = Signal(7), Signal()
        self._half, self._a, self._b = Signal(OPERANDS_BITS), Signal(32), Signal(32)
        pushes, accepted, free, waits = Signal(), Signal(), Signal(), Signal()
        local = control & (operation >= Control.OPERANDS) & (operation <= Control.GET)
        m.d.comb += [
            operation.eq(high), queued.eq(control & (operation < Control.OPERANDS)), pushes.eq(~first & ~local),
            free.eq(answers.input.ready), waits.eq(self._waits(control, operation)),
            self.entry.valid.eq(self.command.valid & free & pushes),
            self.command.ready.eq(free & Mux(pushes, self.entry.ready, ~waits)),
            accepted.eq(self.command.valid & self.command.ready),
            self.clear_status.eq(accepted & control & (operation == Control.GET) & (command.a == Parameter.STATUS)),
        ]
        with m.If(accepted & first):
            m.d.sync += self._half.eq(Cat(low[:2], high))
        with m.If(accepted & (first | (control & (operation == Control.OPERANDS)))):
            m.d.sync += [self._a.eq(command.a), self._b.eq(command.b)]
        self._entry(m, command, second, queued, operation)
        answer = Mux(control & (operation == Control.GET), self._parameter(m, command.a), 0)
        m.d.comb += [answers.input.valid.eq(accepted), answers.input.payload.eq(answer)]
        return m

    def _waits(self, control: Value, operation: Value) -> Value:
        """Whether a SYNC has to wait."""
        vector = (operation == Control.SYNC_INSTR) & ~self.vector_idle
        transfers = (operation == Control.SYNC_DMA) & ~self.dma_idle
        both = (operation == Control.SYNC) & ~(self.vector_idle & self.dma_idle)
        return control & (vector | transfers | both)

    def _entry(self, m: Module, command: data.View, second: Value, queued: Value, operation: Value) -> None:
        entry = self.entry.payload
        with m.If(second):
            high = Cat(command.function[0], command.function[3:])
            m.d.comb += [
                entry.code.eq(Cat(self._half, high)), entry.a.eq(self._a), entry.b.eq(self._b), entry.d.eq(command.a),
            ]
        with m.Elif(queued):
            transfer = operation >= Control.DMA_TO_VECTOR
            m.d.comb += [
                entry.control.eq(1), entry.code.eq(operation), entry.a.eq(Mux(transfer, self._a, command.a)),
                entry.b.eq(Mux(transfer, self._b, command.b)), entry.d.eq(command.a), entry.c.eq(command.b),
            ]
        with m.Else():
            m.d.comb += [entry.control.eq(1), entry.code.eq(_ILLEGAL_CODE)]

    def _parameter(self, m: Module, number: Value) -> Signal:
        """What GET answers; 0 to numbers that are none."""
        values = {
            Parameter.LANES: self.spec.lanes, Parameter.SCRATCHPAD: self.spec.capacity,
            Parameter.STATUS: self.status, Parameter.MASK_WAVES: self.mask_waves,
            Parameter.CYCLES: self.counters.cycles, Parameter.BUSY: self.counters.busy,
            Parameter.INSTRUCTIONS: self.counters.instructions, Parameter.HAZARDS: self.counters.bubbles,
            Parameter.DMA_CYCLES: self.counters.dma_cycles,
        }
        value = Signal(32)
        with m.Switch(number):
            for parameter, source in values.items():
                with m.Case(parameter):
                    m.d.comb += value.eq(source)
        return value
