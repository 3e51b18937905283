"""Order between the scalar core's stores and the transfers that it starts."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.vector_lanes.core_ports import COMMAND
from hw.vector_lanes.isa import Control, control_function

__all__ = ["CommandGate"]


class CommandGate(wiring.Component):
    """Passes custom instructions on in the same cycle, but a transfer only when `drained`.

    So a transfer finds in main memory whatever the program has stored before it.
    """

    def __init__(self) -> None:
        super().__init__({
            "core": In(stream.Signature(COMMAND)),
            "unit": Out(stream.Signature(COMMAND)),
            "drained": In(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        transfers = [control_function(control) for control in (Control.DMA_TO_VECTOR, Control.DMA_TO_HOST)]
        passes = Signal()
        m.d.comb += [
            passes.eq(self.drained | ~self.core.p.function.matches(*transfers)),
            self.unit.payload.eq(self.core.payload),
            self.unit.valid.eq(self.core.valid & passes),
            self.core.ready.eq(self.unit.ready & passes),
        ]
        return m
