"""The source of steps: counters of the time loops, and what follows from them for every part of the array."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect

from hw.dma.register_slice import Skid
from hw.systolic.bundles import Bundles, address_bits
from hw.systolic.spec import ArraySpec
from hw.systolic.tiles import ADDRESS_BITS, EXTENT_BITS, TilePlans, each, tile_plan

__all__ = ["Sequencer"]


class _Times:
    """Counters of the time loops, without those of one step. `step` makes them count.

    `turn[k]`: loop k counts, those inside start over. `zero`, `end`: loop is in its first, its last step.
    """

    def __init__(self, m: Module, spec: ArraySpec, step: Value):
        self._m, self._step = m, step
        self.loops = [k for k, loop in enumerate(spec.time_loops) if loop.extent > 1]
        self._extents = [spec.time_loops[k].extent for k in self.loops]
        self.zero, self.end = ([Signal(name=f"{name}{k}", init=init) for k in self.loops]
                               for name, init in (("zero", 1), ("end", 0)))
        self.turn: list[Value] = []
        self.counts: list[Signal] = []
        for place, extent in enumerate(self._extents):
            inner = Cat(self.end[place + 1 :]).all()
            self.turn.append(inner & ~self.end[place])
            self._count(place, extent, inner)

    @property
    def last(self) -> Value:
        """Last step of the tile."""
        return Cat(self.end).all()

    def _count(self, place: int, extent: int, inner: Value) -> None:
        m, count = self._m, Signal(range(extent), name=f"time{self.loops[place]}")
        self.counts.append(count)
        with m.If(self._step & inner):
            wrap = self.end[place]
            m.d.sync += [
                count.eq(Mux(wrap, 0, count + 1)), self.zero[place].eq(wrap),
                self.end[place].eq(~wrap & (count == extent - 2)),
            ]

    def affine(self, name: str, coefficients: Sequence[int], constant: int, bits: int) -> Value:
        """``constant + sum(coefficient * time loop)`` in `bits` bits, from a register."""
        factors = [coefficients[k] for k in self.loops]
        if bits == 0 or not any(factors):
            return Const(constant, max(1, bits))
        m, value = self._m, Signal(bits, name=name, init=constant)
        for place, turn in enumerate(self.turn):
            back = sum(f * (e - 1) for f, e in zip(factors[place + 1 :], self._extents[place + 1 :], strict=True))
            with m.If(self._step & turn):
                m.d.sync += value.eq(value + Const((factors[place] - back) % (1 << bits), bits))
        with m.If(self._step & self.last):
            m.d.sync += value.eq(constant)
        return value


class Sequencer(wiring.Component):
    """Steps of all tiles of a run, one per cycle as long as tiles have at least two steps.

    Ports: `load`, `extents` (of the tile loops), `bounds` (of the guards); `west`, `north`: the steps as the two edges
    take them; `step`: one goes out in this cycle.
    """

    def __init__(self, spec: ArraySpec):
        self._spec = spec
        self._bundles = bundles = Bundles(spec)
        ports = {
            "load": In(1), "extents": In(EXTENT_BITS).array(len(spec.tile_loops)),
            "bounds": In(ADDRESS_BITS).array(len(spec.guards)), "step": Out(1),
            "west": Out(stream.Signature(bundles.west_token)),
        }
        if bundles.goes_south:
            ports["north"] = Out(stream.Signature(bundles.north_token))
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        spec = self._spec
        m.submodules.plans = plans = TilePlans(spec)
        m.submodules.skid = skid = Skid(tile_plan(spec))
        connect(m, plans.o, skid.i)
        m.d.comb += [plans.load.eq(self.load), *each(plans.extents, self.extents), *each(plans.bounds, self.bounds)]
        times = _Times(m, spec, self.step)
        sides = [self.west, *([self.north] if self._bundles.goes_south else [])]
        m.d.comb += [
            self.step.eq(skid.o.valid & Cat(side.ready for side in sides).all()),
            skid.o.ready.eq(self.step & times.last),
            *(side.valid.eq(self.step) for side in sides),
        ]
        fields = self._fields(m, times, skid.o.p)
        for side in sides:
            m.d.comb += [side.p[name].eq(fields[name]) for name in side.payload.shape().members if name in fields]
        return m

    def _fields(self, m: Module, times: _Times, plan: data.View) -> dict[str, Value]:
        """All fields of both tokens."""
        spec, result = self._spec, self._spec.result
        reduced = [place for place, k in enumerate(times.loops) if spec.time_loops[k].reduction]
        zero: dict[int, Value] = {place: times.zero[place] for place in reduced}
        end: dict[int, Value] = {place: times.end[place] for place in reduced}
        part: Value = Const(0, 0)
        if result.parts > 1:  # in the innermost loop: in the first turn of all parts, in the last one
            inner, count = len(times.loops) - 1, times.counts[-1]
            part, turn = count[: result.levels], count[result.levels :]
            zero[inner] = turn == 0
            end[inner] = turn == spec.time_loops[times.loops[inner]].extent // result.parts - 1
        address = times.affine("entry", result.address.coefficients, result.address.constant,
                               address_bits(result.words))
        fields = {
            "first": plan.first & Cat(zero.values()).all(),
            "last": plan.last & Cat(end.values()).all(),
            "begin": plan.first & Cat(times.zero).all(),
            "entry": Cat(part, address) if result.words > 1 else part,
        }
        for k, operand in enumerate(spec.operands):
            address = operand.address
            fields[f"release_{k}"] = plan[f"release_{k}"] & times.last
            fields[f"address_{k}"] = number = times.affine(f"address{k}", address.coefficients, address.constant,
                                                           address_bits(operand.words))
            if spec.is_streamed(operand):
                others = [times.zero[place] for place, loop in enumerate(times.loops) if not address.coefficients[loop]]
                fields[f"claim_{k}"] = Cat(others).all() & (number[: address_bits(operand.pack)] == 0)
        for k, guard in enumerate(spec.guards):
            limit = plan[f"limit_{k}"]
            index = times.affine(f"index{k}", guard.coefficients, 0, guard.tile.bit_length())
            fields[f"left_{k}"] = Mux(limit > index, limit - index, 0)
        return fields
