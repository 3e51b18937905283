"""The datapath of the vector processor: from raw scratchpad rows to the row that is written back.

One wavefront per cycle, no back-pressure, a fixed number of cycles (seed 004, section 2.2)::

    cycle 0         rotate both sources to lane 0; decode
    cycles 1 to 4   the stages of the lanes: select, multiply, choose, result
    cycle 5         narrow, rotate to the destination: the outputs

Sums along rows go on behind that: lane sum, tree over the lanes, accumulator, and back through the last rotation.
"""

from __future__ import annotations

from amaranth.back import verilog
from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.fabric.emitted import Emitted
from hw.multiplexer import multiplex
from hw.vector_lanes.accumulate import SUM_BITS, RowAccumulator, fits, tree_stages
from hw.vector_lanes.align import rotate_from, rotate_to
from hw.vector_lanes.datapath_control import CONTROL, decode
from hw.vector_lanes.datapath_wire import wire
from hw.vector_lanes.isa import MODE
from hw.vector_lanes.lane import LANE_MODULE, Lane, lane_signature
from hw.vector_lanes.spec import VectorSpec

__all__ = ["VectorDatapath", "accumulate_latency", "datapath_latency", "datapath_sources"]

_STAGES = ("select", "multiply", "choose", "result", "sum")
_LATENCY = len(_STAGES)
_TOTAL_STAGES = 2
"""Registers of a row's sum besides the tree: the lane sum, the accumulator."""


def datapath_latency(spec: VectorSpec) -> int:
    """Cycles from the inputs of a wavefront to its result at the outputs."""
    del spec
    return _LATENCY


def accumulate_latency(spec: VectorSpec) -> int:
    """Cycles from the inputs of a row's last wavefront to the row's sum at the outputs."""
    return _LATENCY + _TOTAL_STAGES + tree_stages(spec.lanes)


def datapath_sources(spec: VectorSpec) -> dict[str, str]:
    """Verilog, by file name, of the module that a `VectorDatapath` instantiates by name."""
    text = verilog.convert(Lane(spec.fraction_bits), name=LANE_MODULE, emit_src=False)
    return {f"{LANE_MODULE}.v": text}


class VectorDatapath(wiring.Component):
    """All lanes of `spec` between the scratchpad's read and write ports; W bytes per row, n bits per element.

    Inputs, all of the same cycle:

    * `valid`: there is a wavefront. `mode`: the mode word; gathers and scatters must be rewritten to VMOV.
    * `first`, `last`: with accumulate, the wavefront begins and ends a row.
    * `scalar`: operand A; `index`: number of the first element, a multiple of the elements of a wavefront.
    * `count`: active elements (of execution size). `mask`: per byte of execution size, used by masked instructions.
    * `a_data`, `a_flags`, `a_offset` and the same for B: what the banks hold, and the bank in which the operand begins.
      VMAC reads D at port A if A is scalar, else at port B.
    * `d_offset`: the bank in which the destination begins; with accumulate, taken with `last`.

    Outputs, `latency` cycles after the inputs (a row's sum: `accumulate_latency` after those of its last wavefront;
    whoever issues wavefronts keeps the two apart):

    * `write_valid`: a result is written. `write_data`, `write_flags`, `write_strobe` by bank.
    * `test_valid`: a mask setup has the new bits of the mask in `test`, per byte of execution size, from lane 0.
    """

    def __init__(self, spec: VectorSpec):
        self.spec = spec
        self.latency = datapath_latency(spec)
        self.accumulate_latency = accumulate_latency(spec)
        width = spec.row_bytes
        self._offset_bits = offset = width.bit_length() - 1
        source = {
            f"{port}_{name}": In(shape)
            for port in "ab"
            for name, shape in (("data", 8 * width), ("flags", width), ("offset", offset))
        }
        super().__init__({
            "valid": In(1), "mode": In(MODE), "first": In(1), "last": In(1), "scalar": In(32), "index": In(32),
            "count": In(offset + 1), "mask": In(width), **source, "d_offset": In(offset),
            "write_valid": Out(1), "write_data": Out(8 * width), "write_flags": Out(width), "write_strobe": Out(width),
            "test_valid": Out(1), "test": Out(width),
        })  # fmt: skip

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lanes = [Emitted(LANE_MODULE, lane_signature()) for _ in range(self.spec.lanes)]
        for number, lane in enumerate(lanes):
            m.submodules[f"lane{number}"] = lane
        decoded = Signal(CONTROL)
        decode(m, decoded, self.mode, self.first, self.last)
        valids, controls, offsets = self._travel(m, decoded)
        self._sources(m, lanes, controls, decoded.size)
        normal = Signal()
        m.d.comb += [
            normal.eq(valids[-1] & ~controls[-1].accumulate & ~controls[-1].sets_mask),
            self.test_valid.eq(valids[-1] & controls[-1].sets_mask),
            self.test.eq(_gather(lanes, "enable")),
        ]
        total, done, last_offset, last_control = self._row_total(m, lanes, valids[-1], controls[-1], offsets[-1])
        self._write(m, lanes, normal, controls[-1], offsets[-1], (total, done, last_offset, last_control))
        return m

    def _travel(self, m: Module, decoded: Value) -> tuple[list[Value], list[Value], list[Value]]:
        """Valid bit, control and destination offset of the wavefront in each stage."""
        valid, control, offset = self.valid, decoded, self.d_offset
        valids: list[Value] = []
        controls: list[Value] = []
        offsets: list[Value] = []
        for stage in _STAGES:
            valid = _delay(m, f"valid_{stage}", valid, reset_less=False)
            control = data.View(CONTROL, _delay(m, f"control_{stage}", control.as_value()))
            offset = _delay(m, f"offset_{stage}", offset)
            valids, controls, offsets = [*valids, valid], [*controls, control], [*offsets, offset]
        return valids, controls, offsets

    def _sources(self, m: Module, lanes: list[Emitted], controls: list[Value], size: Value) -> None:
        """Aligned rows, scalars and enabled bytes to the lanes."""
        shares = {"word": 32, "half": 16, "byte": 8}
        scalar, index = _delay(m, "scalar_select", self.scalar), _delay(m, "index_select", self.index)
        active = self._active(m, size)
        for port in "ab":
            row_data, row_flags, offset = (getattr(self, f"{port}_{name}") for name in ("data", "flags", "offset"))
            aligned = _delay(m, f"{port}_aligned", rotate_from(m, row_data, offset, 8))
            flags = _delay(m, f"{port}_aligned_flags", rotate_from(m, row_flags, offset, 1))
            for number, lane in enumerate(lanes):
                for share, bits in shares.items():
                    m.d.comb += getattr(lane, f"{port}_{share}").eq(aligned.word_select(number, bits))
                    m.d.comb += getattr(lane, f"{port}_{share}_flags").eq(flags.word_select(number, bits // 8))
        for number, lane in enumerate(lanes):
            m.d.comb += [lane.number.eq(number), lane.scalar.eq(scalar), lane.index.eq(index)]
            m.d.comb += lane.active.eq(active.word_select(number, 4))
            m.d.comb += [getattr(lane, f"control_{stage}").eq(c) for stage, c in zip(_STAGES, controls, strict=True)]

    def _active(self, m: Module, size: Value) -> Value:
        """Enabled bytes at stage choose: those of counted elements, and of the mask."""
        width = self.spec.row_bytes
        bytes_ = multiplex(size, [self.count << code for code in range(3)])
        counted = Const((1 << width) - 1, width) >> (Const(width) - bytes_)[: self._offset_bits + 1]
        enabled = counted & (self.mask | (~self.mode.masked).replicate(width)) & self.valid.replicate(width)
        for stage in _STAGES[: _STAGES.index("choose") + 1]:
            enabled = _delay(m, f"active_{stage}", enabled, reset_less=False)
        return enabled

    def _row_total(
        self, m: Module, lanes: list[Emitted], valid: Value, control: Value, offset: Value
    ) -> tuple[Value, Value, Value, Value]:
        """The row's sum, whether there is one, and destination offset and control of the row."""
        m.submodules.accumulator = accumulator = RowAccumulator(self.spec.lanes)
        begins = _delay(m, "row_valid", valid & control.accumulate, reset_less=False)
        m.d.comb += [
            accumulator.sums.eq(_gather(lanes, "row_sum")),
            accumulator.valid.eq(begins),
            accumulator.first.eq(_delay(m, "row_first", control.first)),
            accumulator.last.eq(_delay(m, "row_last", control.last)),
        ]
        kept = Cat(control.out_size, control.signed, offset)
        for stage in range(_TOTAL_STAGES + accumulator.levels):
            kept = _delay(m, f"row_kept{stage}", kept)
        return accumulator.total, accumulator.done, kept[3:], kept[:3]

    def _write(
        self, m: Module, lanes: list[Emitted], normal: Value, control: Value, offset: Value,
        row: tuple[Value, Value, Value, Value],
    ) -> None:  # fmt: skip
        """Narrowed results or the row's sum, rotated to the destination."""
        total, done, row_offset, row_type = row
        size, is_signed = row_type[:2], row_type[2]
        width = self.spec.row_bytes
        element = multiplex(size, [Const(1, 4), Const(3, 4), Const(15, 4)])
        sum_row = {
            "result": total[:32],
            "flags": (~fits(m, size, is_signed, total)).replicate(4),
            "enable": element,
        }
        where = Signal(self._offset_bits)
        m.d.comb += [where.eq(Mux(done, row_offset, offset)), self.write_valid.eq(normal | done)]
        for name, port, unit in (("result", self.write_data, 8), ("flags", self.write_flags, 1)):
            narrowed = _narrowed(m, lanes, name, control.shrink, unit * width)
            first = Mux(done, sum_row[name], narrowed[: 4 * unit])
            m.d.comb += port.eq(rotate_to(m, Cat(first, narrowed[4 * unit :]), where, unit))
        enabled = _narrowed(m, lanes, "enable", control.shrink, width) & normal.replicate(width)
        strobe = Cat(Mux(done, sum_row["enable"], enabled[:4]), enabled[4:])
        m.d.comb += self.write_strobe.eq(rotate_to(m, strobe, where, 1))


def _gather(lanes: list[Emitted], port: str) -> Value:
    return Cat(*(getattr(lane, port) for lane in lanes))


def _narrowed(m: Module, lanes: list[Emitted], name: str, shrink: Value, width: int) -> Value:
    """Results of all lanes, in the size of the destination, from lane 0."""
    whole, half = _gather(lanes, name), _gather(lanes, f"half_{name}")
    quarter = Cat(*(getattr(lane, name)[: width // len(lanes) // 4] for lane in lanes))
    shares = [Cat(share, Const(0, width - len(share))) for share in (half, quarter)]
    return wire(m, f"narrowed_{name}", multiplex(shrink, [whole, *shares]))


def _delay(m: Module, name: str, value: Value, *, reset_less: bool = True) -> Value:
    register = Signal(len(value), name=name, reset_less=reset_less)
    m.d.sync += register.eq(value)
    return register
