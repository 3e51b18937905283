"""The state that control operations set: vector length, rows, matrices and steps, and how far they reach."""

from __future__ import annotations

from amaranth import Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.vector_lanes.isa import Control
from hw.vector_lanes.ranges import DMA_SLOT, Products, reach_layout
from hw.vector_lanes.spec import VectorSpec

__all__ = ["ControlRegisters"]


class ControlRegisters(wiring.Component):
    """Registers written by `write` with the control operation `code` (SET_VL to SET_DMA_INC) and its operands.

    Outputs hold what was written up to the cycle before. `steps[d][x]`: signed bytes from row to row (d = 0) and from
    matrix to matrix (d = 1) of D, A, B. `reach[d][x]` belongs to them when `ready`. `measure` starts a new
    `transfer_reach` for `transfers` rows of a transfer (not `ready` until it is there).
    """

    def __init__(self, spec: VectorSpec) -> None:
        self.spec = spec
        reach = reach_layout(spec)
        super().__init__({
            "write": In(1), "code": In(Control), "a": In(32), "b": In(32), "measure": In(1), "transfers": In(32),
            "vl": Out(32), "rows": Out(32), "mats": Out(32), "steps": Out(signed(32)).array(2, 3),
            "sp_step": Out(signed(32)), "memory_step": Out(signed(32)),
            "ready": Out(1), "reach": Out(reach).array(2, 3), "transfer_reach": Out(reach),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.products = products = Products(self.spec)
        row_d, row_a, row_b = self.steps[0]
        mat_d, mat_a, mat_b = self.steps[1]
        targets = {
            Control.SET_VL: (self.vl, None, 0),
            Control.SET_2D_ROWS: (self.rows, row_d, 0b000111),
            Control.SET_2D_SOURCES: (row_a, row_b, 0b000110),
            Control.SET_3D_MATS: (self.mats, mat_d, 0b111000),
            Control.SET_3D_SOURCES: (mat_a, mat_b, 0b110000),
            Control.SET_DMA_INC: (self.sp_step, self.memory_step, 0),
        }
        changed = Signal(DMA_SLOT)
        with m.If(self.write), m.Switch(self.code):
            for control, (first, second, slots) in targets.items():
                with m.Case(control):
                    m.d.sync += first.eq(self.a)
                    m.d.sync += [] if second is None else second.eq(self.b)
                    m.d.comb += changed.eq(slots)
        m.d.comb += [
            products.change.eq(Mux(self.measure, 1 << DMA_SLOT, changed)), products.rows.eq(self.rows),
            products.mats.eq(self.mats), products.transfers.eq(self.transfers), self.ready.eq(products.ready),
            self.transfer_reach.eq(products.transfer_reach),
        ]
        increments = (row_d, row_a, row_b, mat_d, mat_a, mat_b, self.sp_step)
        m.d.comb += [port.eq(value) for port, value in zip(products.increments, increments, strict=True)]
        for dimension in range(2):
            m.d.comb += [self.reach[dimension][x].eq(products.reach[dimension][x]) for x in range(3)]
        return m
