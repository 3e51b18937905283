"""Dispatch: takes entries from the queue in order, drops what is illegal or out of range, and hands on the rest.

Three stages, one entry per cycle. *Decode* carries out control operations, checks the mode against the rules and the
mask, and finds sizes and reaches. *Check* adds up the bounding ranges and compares them with the scratchpad. The
third holds an instruction until the transfers in its way are done; transfers go into a table instead. It has a second
place, so that the stages before do not hear of the sequencer's waiting in the same cycle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.vector_lanes.core_layouts import instruction_layout
from hw.vector_lanes.core_ports import JOB
from hw.vector_lanes.dispatch_decode import ModeDecoder, element_sizes
from hw.vector_lanes.dispatch_jobs import JobTable, retirements
from hw.vector_lanes.dispatch_registers import ControlRegisters
from hw.vector_lanes.isa import ENTRY, MODE, Control
from hw.vector_lanes.ranges import overlap
from hw.vector_lanes.spec import VectorSpec

__all__ = ["Dispatcher", "mask_state_layout"]

MAX_TRANSFER_ROWS = 65535

def mask_state_layout() -> data.StructLayout:
    """What dispatch knows of the mask: whether there is one, and its elements' size and number."""
    return data.StructLayout({"valid": 1, "size": 2, "length": 32})


def _extent_layout(spec: VectorSpec) -> data.StructLayout:
    """An operand before its range is known: how far it goes below its address and beyond; `out`: farther than the
    scratchpad is large; `checked`: whether it is in the scratchpad at all, `anywhere`: could be any of its bytes."""
    return data.StructLayout({
        "below": spec.address_bits + 1, "beyond": spec.address_bits + 4, "out": 1, "checked": 1, "anywhere": 1,
    })


def _decoded_layout(spec: VectorSpec) -> data.StructLayout:
    """Between decode and check. Of a transfer, `d.address`, `d.row_step` and `counts.vl`, `.rows` are those of the
    scratchpad side, `scalar` the address in main memory and `d.mat_step` its step."""
    extent = _extent_layout(spec)
    return data.StructLayout({
        "instruction": instruction_layout(spec), "transfer": 1, "to_host": 1, "illegal": 1, "nothing": 1,
        "sets_mask": 1, "kills_mask": 1, "extent_d": extent, "extent_a": extent, "extent_b": extent,
    })


def _checked_layout(spec: VectorSpec) -> data.StructLayout:
    """Between check and the last stage; the same instruction with its ranges."""
    return data.StructLayout({
        "instruction": instruction_layout(spec), "transfer": 1, "to_host": 1, "illegal": 1, "outside": 1, "nothing": 1,
        "sets_mask": 1, "kills_mask": 1,
    })


@dataclass(frozen=True)
class _Operand:
    """Decode's view of one operand: number in `steps` and `reach`, full address, size, and whether it is checked."""

    number: Value
    address: Value
    size: Value
    used: Value


class _Waiting:
    """A place for an instruction that waits: whether it is taken, by what, and the transfers that must end before."""

    def __init__(self, name: str, spec: VectorSpec, slots: int) -> None:
        self.valid = Signal(name=f"{name}_valid")
        self.instruction = Signal(instruction_layout(spec), name=name)
        self.blockers = Signal(slots, name=f"{name}_blockers")


class Dispatcher(wiring.Component):
    """See the module's text.

    `entry`: from the queue. `instruction`: to the sequencer, legal and free to run; two cycles after its entry at
    the earliest plus one to be seen. `held` is the instruction (valid: `held_valid`) that waits there. `sequencing`
    and `sequencing_valid`: the instruction whose wavefronts are being made; `retired` pulses for each one finished.
    `job`, `job_done`: the DMA engine. `illegal` and `address` pulse into the status. `mask`: the mask's state after
    the last dispatched instruction. `vector_idle`, `dma_idle`: nothing of the kind between the queue and its end.
    """

    def __init__(self, spec: VectorSpec) -> None:
        self.spec = spec
        instruction = instruction_layout(spec)
        super().__init__({
            "entry": In(stream.Signature(ENTRY)), "instruction": Out(stream.Signature(instruction)),
            "sequencing": In(instruction), "sequencing_valid": In(1), "retired": In(1),
            "job": Out(stream.Signature(JOB)), "job_done": In(1), "illegal": Out(1), "address": Out(1),
            "mask": Out(mask_state_layout()), "vector_idle": Out(1), "dma_idle": Out(1), "dispatched": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._decoded, self._decoded_valid = Signal(_decoded_layout(self.spec)), Signal()
        self._offered = Signal(_decoded_layout(self.spec))
        self._checked, self._checked_valid = Signal(_checked_layout(self.spec)), Signal()
        self._decoded_ready, self._checked_ready, self._comes = Signal(), Signal(), Signal()
        self._decode(m)
        self._check(m)
        self._hold(m)
        return m

    # --- decode -------------------------------------------------------------------------------------------------------

    def _decode(self, m: Module) -> None:
        entry = self.entry.payload
        m.submodules.registers = registers = ControlRegisters(self.spec)
        m.submodules.mode = mode = ModeDecoder(self.spec)
        control, transfer = Signal(), Signal()
        m.d.comb += [
            mode.mode.eq(entry.code), control.eq(entry.control & (entry.code < Control.DMA_TO_VECTOR)),
            transfer.eq(entry.control & (entry.code[1:] == Control.DMA_TO_VECTOR >> 1)),
            registers.write.eq(self.entry.valid & control), registers.code.eq(entry.code[:4]),
            registers.a.eq(entry.a), registers.b.eq(entry.b), registers.transfers.eq(entry.c),
        ]
        ready = self._decode_ready(m, registers, mode, transfer)
        m.d.comb += [
            self.entry.ready.eq(control | (ready & self._decoded_ready)),
            self._decoded_ready.eq(~self._decoded_valid | self._checked_ready),
            self._comes.eq(self.entry.valid & ~control & ready),
        ]
        with m.If(self._decoded_ready):
            m.d.sync += [self._decoded_valid.eq(self._comes), self._decoded.eq(self._offered)]
        # Outside the condition: what is decoded does not depend on when.
        with m.If(entry.control):
            self._decode_transfer(m, registers, transfer)
        with m.Else():
            self._decode_instruction(m, registers, mode)

    def _decode_ready(self, m: Module, registers: ControlRegisters, mode: ModeDecoder, transfer: Value) -> Signal:
        """Whether all that decoding depends on is there: products, the mask's state."""
        entry, ready, measured = self.entry.payload, Signal(), Signal()
        strided, modes = Signal(), MODE(entry.code)
        setups = ((self._decoded_valid, self._decoded), (self._checked_valid, self._checked))
        mask_in_doubt = Cat(valid & stage.sets_mask for valid, stage in setups).any()
        m.d.comb += [
            strided.eq(self.entry.valid & transfer & (entry.c > 1)), registers.measure.eq(strided & ~measured),
        ]
        with m.If(self.entry.valid & self.entry.ready):
            m.d.sync += measured.eq(0)
        with m.Elif(registers.measure):
            m.d.sync += measured.eq(1)
        with m.If(transfer):
            m.d.comb += ready.eq(~strided | (measured & registers.ready))
        with m.Elif(entry.control):
            m.d.comb += ready.eq(1)
        with m.Else():
            m.d.comb += ready.eq(((modes.dimensions == 0) | registers.ready)
                                 & ~((modes.masked | mode.sets_mask) & mask_in_doubt))
        return ready

    def _decode_transfer(self, m: Module, registers: ControlRegisters, transfer: Value) -> None:
        entry, out = self.entry.payload, self._offered
        single = Signal()
        too_large, reach = entry.d[self.spec.address_bits + 1 :].any(), registers.transfer_reach
        m.d.comb += single.eq(entry.c <= 1)
        m.d.comb += [
            out.transfer.eq(transfer), out.to_host.eq(entry.code[0]),
            out.illegal.eq(~transfer | (entry.c > MAX_TRANSFER_ROWS)), out.nothing.eq(entry.d == 0),
            out.sets_mask.eq(0), out.kills_mask.eq(0),
            out.instruction.d.address.eq(entry.a), out.instruction.scalar.eq(entry.b),
            out.instruction.counts.vl.eq(entry.d), out.instruction.counts.rows.eq(Mux(single, 1, entry.c)),
            out.instruction.d.row_step.eq(Mux(single, 0, registers.sp_step)),
            out.instruction.d.mat_step.eq(Mux(single, 0, registers.memory_step)),
            out.extent_a.checked.eq(0), out.extent_b.checked.eq(0), out.extent_d.checked.eq(1),
            out.extent_a.anywhere.eq(0), out.extent_b.anywhere.eq(0), out.extent_d.anywhere.eq(0),
            out.extent_d.below.eq(Mux(single, 0, reach.below)),
            out.extent_d.beyond.eq(Mux(single, 0, reach.above) + entry.d[: self.spec.address_bits + 1]),
            out.extent_d.out.eq((~single & reach.out) | too_large),
        ]

    def _decode_instruction(self, m: Module, registers: ControlRegisters, mode: ModeDecoder) -> None:
        entry, out, word = self.entry.payload, self._offered, MODE(self.entry.payload.code)
        vl, rows, mats = Signal(32), Signal(32), Signal(32)
        m.d.comb += [
            vl.eq(Mux(word.masked, self.mask.length, registers.vl)),
            rows.eq(Mux(word.dimensions == 0, 1, registers.rows)),
            mats.eq(Mux(word.dimensions == 2, registers.mats, 1)),
        ]
        legal, kills = self._mask_rules(m, registers, mode, word)
        mac_a, mac_b = mode.mac & word.scalar, mode.mac & ~word.scalar
        in_size, out_size = element_sizes(word, self.spec)
        a_size = Mux(mode.scatter | mac_a, out_size, in_size)
        operands = {
            "d": _Operand(Const(0, 2), entry.d, out_size, mode.writes_d | mode.scatter),
            "a": _Operand(Mux(mac_a, 0, 1), Mux(mac_a, entry.d, entry.a), a_size, mode.reads_a | mac_a),
            "b": _Operand(Mux(mac_b, 0, 2), Mux(mac_b, entry.d, entry.b),
                          Mux(mac_b, out_size, in_size), mode.reads_b | mac_b),
        }
        for name, operand in operands.items():
            single = word.accumulate if name == "d" else mode.repeats_b if name == "b" and self.spec.floats else 0
            self._decode_operand(m, registers, word, name, operand, vl, single)
        m.d.comb += [
            out.transfer.eq(0), out.illegal.eq(~legal), out.nothing.eq((vl == 0) | (rows == 0) | (mats == 0)),
            out.sets_mask.eq(mode.sets_mask), out.kills_mask.eq(kills),
            out.instruction.mode.eq(word), out.instruction.size.eq(mode.size), out.instruction.scalar.eq(entry.a),
            out.instruction.uses_mask.eq(word.masked | mode.sets_mask),
            out.instruction.counts.vl.eq(vl), out.instruction.counts.rows.eq(rows),
            out.instruction.counts.mats.eq(mats), out.extent_d.anywhere.eq(mode.scatter),
            out.extent_a.anywhere.eq(mode.gather), out.extent_b.anywhere.eq(0),
        ]

    def _mask_rules(
        self, m: Module, registers: ControlRegisters, mode: ModeDecoder, word: data.View
    ) -> tuple[Value, Value]:
        """Whether an instruction is legal with the mask as it is, and whether it makes the mask invalid."""
        mask, kills = self.mask, Signal()
        fits = mask.valid & (mask.size == mode.size)
        same = registers.vl == mask.length
        limits = [self.spec.mask_elements(size) for size in range(3)]
        too_long = Mux(word.in_size == 0, registers.vl > limits[0],
                       Mux(word.in_size == 1, registers.vl > limits[1], registers.vl > limits[2]))
        m.d.comb += kills.eq(mode.legal & mode.sets_mask & ~word.masked & too_long)
        return mode.legal & ~kills & (~word.masked | (fits & (~mode.sets_mask | same))), kills

    def _decode_operand(
        self, m: Module, registers: ControlRegisters, word: data.View, name: str, operand: _Operand, vl: Value,
        single: Value | int,
    ) -> None:
        """`single`: the operand has one element per row."""
        bits = self.spec.address_bits
        target, extent = self._offered.instruction[name], self._offered[f"extent_{name}"]
        strided = word.dimensions != 0
        reach = Signal.like(registers.reach[0][0], name=f"reach_{name}")
        length = Signal(bits + 3, name=f"length_{name}")
        number_in_use = Signal(2, name=f"number_{name}")
        m.d.comb += number_in_use.eq(operand.number)
        with m.Switch(number_in_use):
            for number in range(3):
                with m.Case(number):
                    m.d.comb += reach.eq(Mux(word.dimensions == 2, registers.reach[1][number].as_value(),
                                             registers.reach[0][number].as_value()))
                    m.d.comb += [
                        target.row_step.eq(registers.steps[0][number]), target.mat_step.eq(registers.steps[1][number]),
                    ]
        m.d.comb += length.eq(Mux(single, 1, vl[: bits + 1]) << operand.size)
        m.d.comb += [
            target.address.eq(operand.address), target.size.eq(operand.size), target.used.eq(operand.used),
            extent.below.eq(Mux(strided, reach.below, 0)), extent.beyond.eq(Mux(strided, reach.above, 0) + length),
            extent.out.eq((strided & reach.out) | (~single & vl[bits + 1 :].any()) | operand.address[bits:].any()),
            extent.checked.eq(operand.used),
        ]

    # --- check --------------------------------------------------------------------------------------------------------

    def _check(self, m: Module) -> None:
        decoded, out = self._decoded, self._checked
        outside = [self._check_operand(m, name) for name in ("d", "a", "b")]
        m.d.comb += self._checked_ready.eq(~self._checked_valid | self._checked_leaves(m))
        with m.If(self._checked_ready):
            m.d.sync += self._checked_valid.eq(self._decoded_valid)
            for name in ("mode", "size", "uses_mask", "scalar", "a", "b", "d", "counts"):
                m.d.sync += out.instruction[name].eq(decoded.instruction[name])
            for name in ("transfer", "to_host", "illegal", "nothing", "sets_mask", "kills_mask"):
                m.d.sync += out[name].eq(decoded[name])
            m.d.sync += out.outside.eq(Cat(outside).any())

    def _check_operand(self, m: Module, name: str) -> Signal:
        """Find an operand's range; returns whether it leaves the scratchpad."""
        spec, bits = self.spec, self.spec.address_bits
        extent, target = self._decoded[f"extent_{name}"], self._checked.instruction[f"range_{name}"]
        address = self._decoded.instruction[name].address[:bits]
        low, high, outside = Signal(bits + 2), Signal(bits + 5), Signal(name=f"outside_{name}")
        far = self._decoded.instruction.d.address[bits:].any() if name == "d" else 0
        m.d.comb += [
            low.eq(address - extent.below), high.eq(address + extent.beyond),
            outside.eq(extent.checked & ~extent.anywhere & (extent.out | far | low[-1] | (high > spec.capacity))),
        ]
        with m.If(self._checked_ready):
            with m.If(extent.anywhere):
                m.d.sync += [target.lo.eq(0), target.hi.eq(spec.capacity)]
            with m.Else():
                m.d.sync += [target.lo.eq(Mux(extent.checked, low, 0)), target.hi.eq(Mux(extent.checked, high, 0))]
        return outside

    # --- hazards ------------------------------------------------------------------------------------------------------

    def _checked_leaves(self, m: Module) -> Signal:
        """Whether the checked entry goes on, or away, in this cycle."""
        self._runs, self._leaves = Signal(), Signal()
        return self._leaves

    def _hold(self, m: Module) -> None:
        checked, valid = self._checked, self._checked_valid
        m.submodules.jobs = jobs = JobTable(self.spec)
        held, behind = (_Waiting(name, self.spec, jobs.slots) for name in ("held", "behind"))
        loads, room, starts = Signal(), Signal(), Signal()
        good = ~checked.illegal & ~checked.nothing & ~checked.outside
        m.d.comb += [
            room.eq(~held.valid | (self.instruction.valid & self.instruction.ready)),
            starts.eq(good & Mux(checked.transfer, jobs.room, ~behind.valid)),
            self._leaves.eq(~good | starts), loads.eq(valid & starts & ~checked.transfer),
            self.instruction.payload.eq(held.instruction),
            self.instruction.valid.eq(held.valid & ~(held.blockers & jobs.active).any()),
            self.illegal.eq(valid & checked.illegal),
            self.address.eq(valid & checked.outside & ~checked.illegal & ~checked.nothing),
            jobs.allocate.eq(valid & starts & checked.transfer), self.dispatched.eq(loads),
        ]
        self._queue(m, jobs, held, behind, loads, room)
        self._jobs(m, jobs, [behind, held], loads)
        self._update_mask(m)

    def _queue(
        self, m: Module, jobs: JobTable, held: _Waiting, behind: _Waiting, loads: Value, room: Value
    ) -> None:
        """The two places: what comes goes to the first one if there is `room`, and if the second one is empty."""
        checked = self._checked.instruction
        with m.If(room):
            m.d.sync += [
                held.valid.eq(behind.valid | loads), behind.valid.eq(0),
                held.instruction.eq(Mux(behind.valid, behind.instruction.as_value(), checked.as_value())),
                held.blockers.eq(Mux(behind.valid, behind.blockers & jobs.active, jobs.conflicts)),
            ]
        with m.Else():
            m.d.sync += [held.blockers.eq(held.blockers & jobs.active), behind.valid.eq(behind.valid | loads)]
        with m.If(behind.valid):
            m.d.sync += behind.blockers.eq(behind.blockers & jobs.active)
        with m.Else():
            m.d.sync += [behind.instruction.eq(checked), behind.blockers.eq(jobs.conflicts)]

    def _jobs(self, m: Module, jobs: JobTable, waiting: list[_Waiting], loads: Value) -> None:
        """The transfer waits for the youngest instruction in its way, and those before; `waiting`: youngest first.

        How many those are is counted for every answer beforehand: the comparison of ranges comes late in the cycle.
        """
        checked = self._checked
        instruction = checked.instruction
        in_flight, wait = Signal(retirements()), Signal(retirements())
        in_flight_next = Signal.like(in_flight)
        m.d.comb += in_flight_next.eq(in_flight + loads - self.retired)
        m.d.sync += in_flight.eq(in_flight_next)
        unfinished = [(place.valid, place.instruction) for place in waiting]
        unfinished.append((self.sequencing_valid, self.sequencing))
        younger = [valid for valid, _ in unfinished]
        ends = [self._still_to_end(m, in_flight, younger[:number]) for number in range(len(unfinished) + 1)]
        # Instructions whose wavefronts are all on their way are soon over, so they are not looked at.
        m.d.comb += wait.eq(ends[-1])
        for (valid, other), count in reversed(list(zip(unfinished, ends, strict=False))):
            with m.If(valid & self._in_the_way(other)):
                m.d.comb += wait.eq(count)
        payload = jobs.payload
        m.d.comb += [
            jobs.range_d.eq(instruction.range_d), jobs.range_a.eq(instruction.range_a),
            jobs.range_b.eq(instruction.range_b), jobs.transfer.eq(checked.transfer), jobs.to_host.eq(checked.to_host),
            jobs.retired.eq(self.retired), jobs.finished.eq(self.job_done),
            jobs.wait.eq(wait),
            payload.sp.eq(instruction.d.address), payload.memory.eq(instruction.scalar),
            payload.bytes.eq(instruction.counts.vl), payload.rows.eq(instruction.counts.rows),
            payload.sp_inc.eq(instruction.d.row_step), payload.memory_inc.eq(instruction.d.mat_step),
            payload.to_host.eq(checked.to_host),
        ]
        wiring.connect(m, wiring.flipped(self.job), jobs.job)
        self._report_idle(m, in_flight_next, jobs.active_next)

    def _report_idle(self, m: Module, in_flight: Value, active: Value) -> None:
        """From registers: the scalar core waits for it far from here. The arguments are those of the next cycle."""
        decoded, checked = self._decoded.transfer, self._checked.transfer
        comes = (Mux(self._decoded_ready, self._comes, self._decoded_valid),
                 Mux(self._decoded_ready, self._offered.transfer, decoded))
        stays = (Mux(self._checked_ready, self._decoded_valid, self._checked_valid),
                 Mux(self._checked_ready, decoded, checked))
        vector, dma = Signal(), Signal()  # busy
        m.d.sync += [
            vector.eq(Cat(*(valid & ~transfer for valid, transfer in (comes, stays)), in_flight != 0).any()),
            dma.eq(Cat(*(valid & transfer for valid, transfer in (comes, stays)), active).any()),
        ]
        m.d.comb += [self.vector_idle.eq(~vector), self.dma_idle.eq(~dma)]

    def _still_to_end(self, m: Module, in_flight: Value, younger: Sequence[Value]) -> Signal:
        """How many instructions in flight, without the `younger` ones, are unfinished after this cycle."""
        count = Signal(retirements())
        older = in_flight - sum(younger, Const(0, 1))
        m.d.comb += count.eq(Mux(older == 0, 0, older - self.retired))
        return count

    def _in_the_way(self, other: data.View) -> Value:
        """Whether the transfer that was checked conflicts with an instruction that is not finished."""
        mine = self._checked.instruction.range_d
        reads = overlap(mine, other.range_a) | overlap(mine, other.range_b)
        return overlap(mine, other.range_d) | (~self._checked.to_host & reads)

    def _update_mask(self, m: Module) -> None:
        checked, done = self._checked, Signal()
        m.d.comb += done.eq(self._checked_valid & self._leaves & checked.sets_mask)
        empty = checked.nothing & ~checked.illegal
        with m.If(done & checked.kills_mask):
            m.d.sync += self.mask.valid.eq(0)
        with m.Elif(done & ~checked.illegal & (empty | ~checked.outside)):
            m.d.sync += [
                self.mask.valid.eq(1), self.mask.size.eq(checked.instruction.size),
                self.mask.length.eq(checked.instruction.counts.vl),
            ]
