"""The sequencer: makes the wavefronts of instructions, one per cycle, without a gap between rows or instructions.

Three operands walk through the scratchpad alike: along a row by whole wavefronts, from row to row and from matrix to
matrix by signed steps, by one adder per operand. The first wavefront of the next instruction has an adder of its own.
Liu 2012, section 2.2; vector length, 2-D and 3-D instructions of its section 2.2.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.vector_lanes.core_layouts import instruction_layout, wave_layout
from hw.vector_lanes.dispatch_decode import is_floating, is_fused
from hw.vector_lanes.isa import FLOAT, Op
from hw.vector_lanes.ranges import overlap
from hw.vector_lanes.spec import VectorSpec

__all__ = ["OperandWalker", "Sequencer", "Step"]


@dataclass(frozen=True)
class Step:
    """What a walk does next; the first that holds: `load` an instruction, go to the next matrix, to the next row, or
    along the row."""

    load: Value
    mat: Value
    row: Value


class OperandWalker(wiring.Component):
    """Address of an operand's elements in the current wavefront.

    When `enable`: with `load`, `address` becomes `base` + `first`, and `base` is the start of the first row; with
    `mat`, the start of the matrix moves by `mat_step`; with `row`, the start of the row by `row_step`; else the
    address moves by `along`, or with `jump` becomes the row's start plus `offset`. `bits`: of all of them. `load` is
    late in a cycle: it only selects, behind the sums.
    """

    def __init__(self, bits: int) -> None:
        super().__init__({
            "enable": In(1), "load": In(1), "mat": In(1), "row": In(1), "jump": In(1), "base": In(bits),
            "first": In(bits), "offset": In(bits), "mat_step": In(bits), "row_step": In(bits), "along": In(bits),
            "address": Out(bits),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        row, mat, start, step, total = (Signal.like(self.address, name=n) for n in ("r", "m", "start", "step", "total"))
        with m.If(self.mat):
            m.d.comb += [start.eq(mat), step.eq(self.mat_step)]
        with m.Elif(self.row):
            m.d.comb += [start.eq(row), step.eq(self.row_step)]
        with m.Elif(self.jump):
            m.d.comb += [start.eq(row), step.eq(self.offset)]
        with m.Else():
            m.d.comb += [start.eq(self.address), step.eq(self.along)]
        m.d.comb += total.eq(start + step)
        with m.If(self.enable):
            m.d.sync += self.address.eq(Mux(self.load, self.base + self.first, total))
            with m.If(self.load):
                m.d.sync += [row.eq(self.base), mat.eq(self.base)]
            with m.Elif(self.mat):
                m.d.sync += [row.eq(total), mat.eq(total)]
            with m.Elif(self.row):
                m.d.sync += row.eq(total)
        return m


class Sequencer(wiring.Component):
    """Wavefronts of the instructions from `instruction`, in order, on `wave`.

    A wavefront is offered in the cycle after its predecessor was taken, from one instruction to the next as well.
    Gathers and scatters have wavefronts of one element: see `hw.vector_lanes.gather`; `base` is the full address of D.
    A fused multiply-add of two vectors has two for each of its own, the first of which only fetches D: `holds`.
    `current` and `busy`: the instruction whose wavefronts are being offered; `overlaps`: the ranges of its D and B have
    a byte in common. The mask: see `hw.vector_lanes.mask`;
    `mask_wave` is the active wavefront to come (its number, its mask), `mask_last` says that it is the last one of
    the mask, `mask_empty` that there is none; `mask_ready` that they are right; `mask_next` takes one.
    """

    def __init__(self, spec: VectorSpec) -> None:
        self.spec = spec
        instruction = instruction_layout(spec)
        self._wave_bits = (spec.row_bytes - 1).bit_length()
        super().__init__({
            "instruction": In(stream.Signature(instruction)), "wave": Out(stream.Signature(wave_layout(spec))),
            "current": Out(instruction), "busy": Out(1), "overlaps": Out(1), "base": Out(32),
            "mask_number": In(range(spec.mask_waves)), "mask_bits": In(spec.row_bytes), "mask_last": In(1),
            "mask_empty": In(1), "mask_ready": In(1), "mask_next": Out(1), "mask_setup": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        current, offered = self.current, self.instruction.payload
        self._left, self._rows, self._mats = (Signal(32, name=n) for n in ("left", "rows", "mats"))
        self._index, self._first = Signal(32), Signal()
        self._masked_last, self._mask = Signal(), Signal(self.spec.row_bytes)
        self._indexed = indexed = Signal()
        row_ends, mat_ends, ends = Signal(), Signal(), Signal()
        self._last_wave, self._last_row, self._last_mat = Signal(), Signal(), Signal()
        m.d.comb += [
            indexed.eq(self._is_indexed(current)),
            row_ends.eq(Mux(current.mode.masked, self._masked_last, self._last_wave)),
            mat_ends.eq(row_ends & self._last_row), ends.eq(mat_ends & self._last_mat),
        ]
        elements = self._elements(m, current, "elements")
        # What comes next does not depend on when: `advance` is late and only enables registers.
        advance, free, load = Signal(), Signal(), Signal()
        holds = self._holds(m, advance) if self.spec.fuses else None
        goes_on = self.wave.ready if holds is None else self.wave.ready & ~holds
        m.d.comb += [
            self.wave.valid.eq(self.busy), advance.eq(~self.busy | goes_on),
            free.eq((~self.busy | ends) & (~offered.uses_mask | self.mask_ready)),
            self.instruction.ready.eq(advance & free), load.eq(self.instruction.valid & free),
            self.mask_next.eq(advance & Mux(load, offered.mode.masked & ~self.mask_empty,
                                            self.busy & current.mode.masked & ~ends)),
            self.mask_setup.eq(advance & load & self._sets_mask(offered)),
        ]
        with m.If(advance):
            m.d.sync += self.busy.eq(load | (self.busy & ~ends))
        with m.If(advance & load):
            m.d.sync += [current.eq(offered), self.overlaps.eq(overlap(offered.range_d, offered.range_b))]
        step = Step(load, mat_ends, row_ends)
        self._count(m, advance, step, elements)
        self._look_ahead(m, advance, step, elements)
        self._walk(m, advance, step)
        self._offer(m, elements, row_ends, ends)
        if holds is not None:
            self._offer_held(m, holds)
        return m

    def _holds(self, m: Module, advance: Value) -> Signal:
        """Whether the wavefront on offer only fetches what the next one adds to."""
        mode, holds, held = self.current.mode, Signal(name="holds"), Signal()
        m.d.comb += holds.eq(is_fused(mode) & ~mode.scalar & ~held)
        with m.If(advance):
            m.d.sync += held.eq(0)
        with m.Elif(self.wave.ready & holds):
            m.d.sync += held.eq(1)
        return holds

    def _offer_held(self, m: Module, holds: Value) -> None:
        """Port B reads D."""
        wave = self.wave.payload
        m.d.comb += wave.holds.eq(holds)
        with m.If(holds):
            m.d.comb += [
                wave.a_used.eq(0), wave.b_used.eq(wave.count != 0), wave.b_address.eq(self._address_d),
                wave.b_bytes.eq(wave.count << self.current.d.size), wave.d_used.eq(0), wave.end.eq(0),
            ]

    @staticmethod
    def _is_indexed(instruction: Value) -> Value:
        return instruction.mode.op[1:] == Op.VGATHER >> 1

    def _elements(self, m: Module, instruction: Value, name: str) -> Signal:
        """Elements of a whole wavefront of an instruction."""
        elements = Signal(range(self.spec.row_bytes + 1), name=name)
        m.d.comb += elements.eq(Mux(self._is_indexed(instruction), 1, self.spec.row_bytes >> instruction.size))
        return elements

    def _sets_mask(self, instruction: Value) -> Value:
        mode = instruction.mode
        return mode.absolute & mode.op[4] & ~(is_floating(mode) if self.spec.bfloat16 else 0)

    def _count(self, m: Module, advance: Value, step: Step, elements: Value) -> None:
        """Elements left in the row, rows, matrices, and the index of the wavefront's first element."""
        current, offered = self.current, self.instruction.payload
        with m.If(advance):
            m.d.sync += [
                self._masked_last.eq(self.mask_last | self.mask_empty),
                self._mask.eq(Mux(self.mask_empty, 0, self.mask_bits)), self._first.eq(step.load | step.row),
            ]
            with m.If(step.load):
                m.d.sync += [
                    self._left.eq(offered.counts.vl), self._rows.eq(offered.counts.rows),
                    self._mats.eq(offered.counts.mats), self._index.eq(self._masked_index(offered)),
                ]
            with m.Elif(current.mode.masked):
                m.d.sync += self._index.eq(self._masked_index(current))
            with m.Elif(step.row):
                m.d.sync += [self._left.eq(current.counts.vl), self._index.eq(0), self._rows.eq(self._rows - 1)]
                with m.If(step.mat):
                    m.d.sync += [self._rows.eq(current.counts.rows), self._mats.eq(self._mats - 1)]
            with m.Else():
                m.d.sync += [self._left.eq(self._left - elements), self._index.eq(self._index + elements)]

    def _masked_index(self, instruction: Any) -> Value:
        """The first element of the next active wavefront of the mask; 0 without a mask."""
        return Mux(instruction.mode.masked, self.mask_number << self._wave_bits >> instruction.size, 0)

    def _look_ahead(self, m: Module, advance: Value, step: Step, elements: Value) -> None:
        """Find a cycle ahead whether the next wavefront ends its row, its row the matrix, and its matrix all."""
        offered = self.instruction.payload
        short, single = Signal(), Signal()
        fits = offered.counts.vl <= self._elements(m, offered, "offered_elements")
        one_row = offered.counts.rows == 1
        with m.If(advance):
            with m.If(step.load):
                m.d.sync += [
                    short.eq(fits), self._last_wave.eq(fits), single.eq(one_row), self._last_row.eq(one_row),
                    self._last_mat.eq(offered.counts.mats == 1),
                ]
            with m.Elif(step.row):
                m.d.sync += [self._last_wave.eq(short), self._last_row.eq(Mux(step.mat, single, self._rows == 2))]
                with m.If(step.mat):
                    m.d.sync += self._last_mat.eq(self._mats == 2)
            with m.Else():
                m.d.sync += self._last_wave.eq(self._left <= elements << 1)

    def _walk(self, m: Module, advance: Value, step: Step) -> None:
        current, offered = self.current, self.instruction.payload
        for name in ("d", "a", "b"):
            operand = current[name]
            m.submodules[f"walker_{name}"] = walker = OperandWalker(len(operand.address))
            setattr(self, f"_address_{name}", walker.address)
            still = current.mode.accumulate | (current.mode.op == Op.VSCATTER) if name == "d" else 0
            if name == "b" and self.spec.floats:
                still = self._repeats_b(current)
            wide = Mux(self._indexed, 1 << operand.size, self.spec.row_bytes << operand.size >> current.size)
            m.d.comb += [
                walker.enable.eq(advance), walker.load.eq(step.load), walker.mat.eq(step.mat), walker.row.eq(step.row),
                walker.jump.eq(current.mode.masked), walker.base.eq(offered[name].address),
                walker.first.eq(self._masked_offset(offered, name)),
                walker.offset.eq(self._masked_offset(current, name)),
                walker.row_step.eq(operand.row_step), walker.mat_step.eq(operand.mat_step),
                walker.along.eq(Mux(still, 0, wide)),
            ]

    def _masked_offset(self, instruction: Any, name: str) -> Value:
        """Bytes from the start of an operand to the next active wavefront of the mask."""
        mode = instruction.mode
        stays = mode.accumulate if name == "d" else self._repeats_b(instruction) if name == "b" else 0
        jump = self.mask_number << self._wave_bits << instruction[name].size >> instruction.size
        return Mux(mode.masked & ~stays, jump, 0)

    def _repeats_b(self, instruction: Any) -> Value | int:
        """Whether B is one element per row."""
        mode = instruction.mode
        return mode.enumerated & (mode.in_size == FLOAT) if self.spec.floats else 0

    def _offer(self, m: Module, elements: Value, row_ends: Value, ends: Value) -> None:
        current, wave = self.current, self.wave.payload
        count, setup = wave.count, self._sets_mask(current)
        # Behind the end of a masked vector the mask is 0: such a wavefront touches nothing.
        empty = Signal()
        b_count = Mux(self._repeats_b(current), 1, count) if self.spec.floats else count
        m.d.comb += empty.eq(current.mode.masked & ~self._mask.any())
        m.d.comb += [
            self.base.eq(self._address_d), wave.mode.eq(current.mode), wave.scalar.eq(current.scalar),
            wave.index.eq(self._index), wave.mask.eq(self._mask),
            wave.count.eq(Mux(empty, 0, Mux(self._last_wave & ~current.mode.masked, self._left, elements))),
            wave.accumulates.eq(current.mode.accumulate), wave.first.eq(self._first), wave.last.eq(row_ends),
            wave.sets_mask.eq(setup), wave.end.eq(ends),
            wave.a_used.eq(current.a.used & ~empty), wave.a_address.eq(self._address_a),
            wave.b_used.eq(current.b.used & ~empty), wave.b_address.eq(self._address_b),
            wave.a_bytes.eq(count << current.a.size), wave.b_bytes.eq(b_count << current.b.size),
            wave.d_used.eq(current.d.used & ~current.mode.accumulate & ~empty), wave.d_address.eq(self._address_d),
            wave.d_bytes.eq(Mux(current.mode.accumulate, 1, count) << current.d.size),
        ]
        if self.spec.floats:
            m.d.comb += wave.late.eq(is_floating(current.mode))
