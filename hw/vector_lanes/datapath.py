"""The datapath of the vector processor: from raw scratchpad rows to the row that is written back.

One wavefront per cycle, no back-pressure, a fixed number of cycles (Liu 2012, section 2.2)::

    cycle 0         rotate both sources to lane 0; decode
    cycles 1 to 4   the stages of the lanes: select, multiply, choose, result
    cycle 5         narrow, rotate to the destination: the outputs

Sums along rows go on behind that: lane sum, tree over the lanes, accumulator, and back through the last rotation.
Results of floating-point numbers join there: they have the cycles of a row's sum.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from amaranth.hdl import Cat, ClockSignal, Const, Instance, Module, Mux, ResetSignal, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.lib.multiplexer import multiplex
from hw.lib.rotation import rotate_from, rotate_to
from hw.lib.wires import repeat, wire
from hw.vector_lanes.accumulate import RowAccumulator, fits, tree_stages
from hw.vector_lanes.datapath_control import CONTROL, decode
from hw.vector_lanes.dispatch_decode import is_floating
from hw.vector_lanes.float_lane import FLOAT_CONTROL, FloatCycles, decode_float, float_cycles
from hw.vector_lanes.isa import FLOAT, MODE, Op
from hw.vector_lanes.lane import LANE_MODULE, Lane, lane_signature
from hw.vector_lanes.resize import broadcast, narrow
from hw.vector_lanes.spec import VectorSpec
from hw.verilog import convert

__all__ = ["VectorDatapath", "accumulate_latency", "datapath_latency", "datapath_sources"]

_STAGES = ("select", "multiply", "choose", "result", "sum")
_LATENCY = len(_STAGES)
_OPERANDS = 2
"""Cycles from the inputs to the operands of the lanes' arithmetic."""
_TOTAL_STAGES = 2
"""Registers of a row's sum besides the tree: the lane sum, the accumulator."""


def datapath_latency(spec: VectorSpec) -> int:
    """Cycles from the inputs of a wavefront to its result at the outputs."""
    del spec
    return _LATENCY


def accumulate_latency(spec: VectorSpec) -> int:
    """Cycles from the inputs of a row's last wavefront to the row's sum at the outputs; those of a wavefront on
    floating-point numbers take as many."""
    sums = _LATENCY + _TOTAL_STAGES + tree_stages(spec.lanes)
    return max(sums, _OPERANDS + spec.float_latency) if spec.floats else sums


def _float_cycles(spec: VectorSpec) -> FloatCycles | None:
    """The units of a `FloatLane`; with as many cycles as a row's sum takes if that is more."""
    return float_cycles(spec, accumulate_latency(spec) - _OPERANDS) if spec.floats else None


def datapath_sources(spec: VectorSpec) -> dict[str, str]:
    """Verilog, by file name, of the module that a `VectorDatapath` instantiates by name."""
    text = convert(Lane(spec.fraction_bits, _float_cycles(spec)), LANE_MODULE)
    return {f"{LANE_MODULE}.v": text}


class _Stage(NamedTuple):
    """The wavefront in a stage: whether there is one, its control (`CONTROL`), its destination's offset."""

    valid: Value
    control: Any
    offset: Value


class _Row(NamedTuple):
    """A row's sum that leaves (if `done`), what it is written as, and the offset of its destination."""

    done: Value
    total: Value
    size: Value
    signed: Value
    offset: Value


class _Late(NamedTuple):
    """Results of floating-point numbers that leave if `valid`, and where to; `early`: the wavefront whose results the
    lanes give otherwise is one of them."""

    early: Value
    valid: Value
    result: Value
    enable: Value
    offset: Value


class VectorDatapath(wiring.Component):
    """All lanes of `spec` between the scratchpad's read and write ports; W bytes per row, n bits per element.

    Inputs, all of the same cycle:

    * `valid`: there is a wavefront. `mode`: the mode word; gathers and scatters must be rewritten to VMOV.
    * `first`, `last`: with accumulate, the wavefront begins and ends a row.
    * `scalar`: operand A; `index`: number of the first element, a multiple of the elements of a wavefront.
    * `count`: active elements (of execution size). `mask`: per byte of execution size, used by masked instructions.
    * `a_data`, `a_flags`, `a_offset` and the same for B: what the banks hold, and the bank in which the operand begins.
      VMAC and VFMA read D at port A if A is scalar, else VMAC at port B.
    * `holds`, on machines with VFMA: there is no wavefront, but what port B holds is D of the next one, which is VFMA
      of two vectors.
    * `d_offset`: the bank in which the destination begins; with accumulate, taken with `last`.

    Outputs, `latency` cycles after the inputs (a row's sum: `accumulate_latency` after those of its last wavefront;
    whoever issues wavefronts keeps the two apart):

    Wavefronts on floating-point numbers take as long as a row's sum.

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
            **({"holds": In(1)} if spec.fuses else {}),
            "write_valid": Out(1), "write_data": Out(8 * width), "write_flags": Out(width), "write_strobe": Out(width),
            "test_valid": Out(1), "test": Out(width),
        })  # fmt: skip

    def elaborate(self, platform: object) -> Module:
        m = Module()
        control: Any = Signal(CONTROL)
        decode(m, control, self.mode, self.first, self.last, self.spec)
        wave = self._travel(m, control)
        lanes = self._lanes(m, wave, self._sources(m, control.size))
        row = self._row_total(m, lanes, wave[-1])
        self._write(m, lanes, wave[-1], row, self._late_results(m, lanes, wave[-1]))
        m.d.comb += [
            self.test_valid.eq(wave[-1].valid & wave[-1].control.sets_mask),
            self.test.eq(lanes["enable"]),
        ]
        return m

    def _travel(self, m: Module, control: Value) -> list[_Stage]:
        """The wavefronts in the stages of the lanes."""
        stage = _Stage(self.valid, control, self.d_offset)
        stages: list[_Stage] = []
        for name in _STAGES:
            stage = _Stage(
                _delay(m, f"valid_{name}", stage.valid, reset_less=False),
                data.View(CONTROL, _delay(m, f"control_{name}", Value.cast(stage.control))),
                _delay(m, f"offset_{name}", stage.offset),
            )
            stages.append(stage)
        return stages

    def _sources(self, m: Module, size: Value) -> dict[str, Value]:
        """Aligned rows and everything else that the lanes take, by port."""
        sources: dict[str, Value] = {"active": self._active(m, size)}
        for port in "ab":
            row, flags, offset = (getattr(self, f"{port}_{name}") for name in ("data", "flags", "offset"))
            aligned = rotate_from(m, row, offset, 8)
            sources[port] = _delay(m, f"{port}_aligned", aligned)
            sources[f"{port}_flags"] = _delay(m, f"{port}_aligned_flags", rotate_from(m, flags, offset, 1))
        for name in ("scalar", "index"):
            value = broadcast(size, getattr(self, name))
            if name == "index" and self.spec.floats:
                value = Mux(self._repeats, broadcast(size, aligned[:32]), value)
            sources[name] = _delay(m, f"{name}_select", value)
        return sources

    @property
    def _repeats(self) -> Value:
        """Whether the first element of B stands for all."""
        return self.mode.enumerated & (self.mode.in_size == FLOAT)

    def _float_controls(self, m: Module) -> dict[str, Value]:
        """What the lanes take for floating-point numbers, by port."""
        cycles = _float_cycles(self.spec)
        if cycles is None:
            return {}
        control = Signal(FLOAT_CONTROL)
        decode_float(m, control, self.mode, self.spec)
        begins = _later(m, "float_begins", control.as_value(), _OPERANDS)
        adds = _later(m, "float_adds", begins, cycles.product)
        controls = {"repeated": _delay(m, "repeated", self._repeats), "float_begins": begins, "float_adds": adds,
                    "float_ends": _later(m, "float_ends", adds, cycles.rest)}
        if self.spec.fuses:
            controls["float_holds"] = _later(m, "float_holds", self.holds, _OPERANDS)
            controls["float_fused"] = _later(m, "float_fused", self.mode.op == Op.VMULFXP,
                                             _OPERANDS + cycles.product + cycles.rest)
        return controls

    def _late_results(self, m: Module, lanes: dict[str, Value], stage: _Stage) -> _Late | None:
        """Results of floating-point numbers, narrowed."""
        if not self.spec.floats:
            return None
        floating = self.valid & is_floating(self.mode)
        early = _later(m, "floating", floating, _LATENCY, reset_less=False)
        more = accumulate_latency(self.spec) - _LATENCY
        enable, offset, shrink, size = (_later(m, name, value, more) for name, value in (
            ("late_enable", lanes["enable"]), ("late_offset", stage.offset), ("late_shrink", stage.control.shrink),
            ("late_size", stage.control.size)))
        parts: dict[str, Value] = {}
        for value, unit, kind in ((lanes["float_result"], 8, "result"), (enable, 1, "enable")):
            words = [value.word_select(lane, 4 * unit) for lane in range(self.spec.lanes)]
            halves = [narrow(size, word, unit) if self.spec.bfloat16 else word[: 2 * unit] for word in words]
            parts |= {kind: value, f"half_{kind}": Cat(halves), f"byte_{kind}": Cat(word[:unit] for word in words)}
        return _Late(early, _later(m, "late", early, more, reset_less=False), _narrowed(parts, "result", shrink),
                     _narrowed(parts, "enable", shrink), offset)

    def _lanes(self, m: Module, wave: list[_Stage], sources: dict[str, Value]) -> dict[str, Value]:
        """All lanes; their outputs side by side, by port."""
        outputs: dict[str, list[Value]] = {}
        common = {f"control_{name}": stage.control for name, stage in zip(_STAGES, wave, strict=True)}
        common |= {"scalar": sources["scalar"], "index": sources["index"], **self._float_controls(m)}
        for number in range(self.spec.lanes):
            inputs = {**common, "number": Const(number, 6), "active": sources["active"].word_select(number, 4)}
            for port in "ab":
                for share, bits in (("word", 32), ("half", 16), ("byte", 8)):
                    inputs[f"{port}_{share}"] = sources[port].word_select(number, bits)
                    inputs[f"{port}_{share}_flags"] = sources[f"{port}_flags"].word_select(number, bits // 8)
            for name, value in _instantiate(m, number, inputs, self.spec).items():
                outputs.setdefault(name, []).append(value)
        return {name: Cat(*values) for name, values in outputs.items()}

    def _active(self, m: Module, size: Value) -> Value:
        """Enabled bytes at stage choose: those of counted elements, and of the mask."""
        width = self.spec.row_bytes
        bytes_ = multiplex(size, [self.count << code for code in range(3)])
        counted = Const((1 << width) - 1, width) >> (Const(width) - bytes_)[: self._offset_bits + 1]
        enabled = counted & (self.mask | repeat(m, ~self.mode.masked, width)) & repeat(m, self.valid, width)
        for stage in _STAGES[: _STAGES.index("choose") + 1]:
            enabled = _delay(m, f"active_{stage}", enabled, reset_less=False)
        return enabled

    def _row_total(self, m: Module, lanes: dict[str, Value], stage: _Stage) -> _Row:
        m.submodules.accumulator = accumulator = RowAccumulator(self.spec.lanes)
        control = stage.control
        m.d.comb += [
            accumulator.sums.eq(lanes["row_sum"]),
            accumulator.valid.eq(_delay(m, "row_valid", stage.valid & control.accumulate, reset_less=False)),
            accumulator.first.eq(_delay(m, "row_first", control.first)),
            accumulator.last.eq(_delay(m, "row_last", control.last)),
        ]
        kept = Cat(control.out_size, control.signed, stage.offset)
        for level in range(accumulate_latency(self.spec) - _LATENCY):
            kept = _delay(m, f"row_kept{level}", kept)
        spare = accumulate_latency(self.spec) - _LATENCY - _TOTAL_STAGES - accumulator.levels
        done = _later(m, "row_done", accumulator.done, spare, reset_less=False)
        return _Row(done, _later(m, "row_total", accumulator.total, spare), kept[:2], kept[2], kept[3:])

    def _write(self, m: Module, lanes: dict[str, Value], stage: _Stage, row: _Row, late: _Late | None) -> None:
        """Narrowed results, early or late ones, or a row's sum, rotated to the destination."""
        where, normal, shrink = Signal(self._offset_bits), Signal(), stage.control.shrink
        m.d.comb += [
            where.eq(Mux(row.done, row.offset, stage.offset)),
            normal.eq(stage.valid & ~stage.control.accumulate & ~stage.control.sets_mask),
            self.write_valid.eq(normal | row.done),
        ]
        element = multiplex(row.size, [Const(1, 4), Const(3, 4), Const(15, 4)])
        misfit = repeat(m, ~fits(m, row.size, row.signed, row.total), 4)
        enabled = _narrowed(lanes, "enable", shrink) & repeat(m, normal, self.spec.row_bytes)
        data_, flags = _narrowed(lanes, "result", shrink), _narrowed(lanes, "flags", shrink)
        if late is not None:
            m.d.comb += [
                where.eq(Mux(row.done, row.offset, Mux(late.valid, late.offset, stage.offset))),
                normal.eq(stage.valid & ~stage.control.accumulate & ~stage.control.sets_mask & ~late.early),
                self.write_valid.eq(normal | row.done | late.valid),
            ]
            enabled = Mux(late.valid, late.enable, enabled)
            data_, flags = Mux(late.valid, late.result, data_), Mux(late.valid, 0, flags)[: len(flags)]
        for port, results, total, unit in (
            (self.write_data, data_, row.total[:32], 8),
            (self.write_flags, flags, misfit, 1),
            (self.write_strobe, enabled, element, 1),
        ):
            results = wire(m, "results", results)
            first = Mux(row.done, total, results[: 4 * unit])
            m.d.comb += port.eq(rotate_to(m, Cat(first, results[4 * unit :]), where, unit))


def _instantiate(m: Module, number: int, inputs: dict[str, Value], spec: VectorSpec) -> dict[str, Signal]:
    """Lane `number`; its outputs by port."""
    outputs = {
        str(name): Signal(member.shape, name=f"lane{number}_{name}")
        for name, member in lane_signature(spec.floats, spec.fuses).members.items()
        if member.flow is Out
    }
    ports = {f"i_{name}": value for name, value in inputs.items()} | {f"o_{name}": s for name, s in outputs.items()}
    m.submodules[f"lane{number}"] = Instance(LANE_MODULE, i_clk=ClockSignal(), i_rst=ResetSignal(), **ports)
    return outputs


def _narrowed(lanes: dict[str, Value], name: str, shrink: Value) -> Value:
    """Results of all lanes, in the size of the destination, from lane 0."""
    shares = [lanes[name], lanes[f"half_{name}"], lanes[f"byte_{name}"]]
    return multiplex(shrink, [Cat(share, Const(0, len(shares[0]) - len(share))) for share in shares])


def _later(m: Module, name: str, value: Value, cycles: int, *, reset_less: bool = True) -> Value:
    """A value so many cycles later."""
    for cycle in range(cycles):
        value = _delay(m, f"{name}{cycle}", value, reset_less=reset_less)
    return value


def _delay(m: Module, name: str, value: Value, *, reset_less: bool = True) -> Value:
    register = Signal(len(value), name=name, reset_less=reset_less)
    m.d.sync += register.eq(value)
    return register
