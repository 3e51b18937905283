"""Affine controllers in hardware: iteration domain, schedule generator and address generators.

All three follow the same recurrence: an event changes an affine function by a delta that depends only on the
outermost dimension that is incremented, so one adder and one table of deltas do (Liu 2023, section 6.1.2 and
figure 6.2b). The tables are LUT RAM, for only one entry is needed in a cycle; a dimension has three flip-flops.
The offset is one more table entry, read in the cycle of `flush`.

Counters count down to -1, so that their top bit says "no more iterations" and "now" without a comparator.

All parts hold their state while `en` is 0; `flush` restarts them in one cycle, also while `en` is 0. A cycle with
both is the last one before the restart. Configuration writes (layout: `hw.memtile.affine`) are independent of both.
"""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out

from hw.lib.configuration import ConfigSignature, passed_on
from hw.memtile.affine import ControllerRegister
from hw.memtile.spec import AffineSpec

__all__ = ["AddressGenerator", "AffineController", "IterationDomain", "ScheduleGenerator", "StepTable"]

INDEX_WIDTH = 4
TABLE_DEPTH = 1 << INDEX_WIDTH

_CONFIGURATION = {"cfg": In(ConfigSignature(feature=False))}


def _pass_configuration(m: Module, outer: Component, *parts: Component) -> None:
    for part in parts:
        m.d.comb += passed_on(outer.cfg, part.cfg)


class StepTable(Component):
    """16 entries in LUT RAM, configured as registers `base` to ``base + 15``.

    Ports: `index` (4 bits), `value` (`width` bits, combinational), configuration.
    """

    def __init__(self, width: int, base: int) -> None:
        self._width = width
        self._base = base
        super().__init__({"index": In(INDEX_WIDTH), "value": Out(width), **_CONFIGURATION})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=self._width, depth=TABLE_DEPTH, init=[])
        read, write = memory.read_port(domain="comb"), memory.write_port()
        m.d.comb += [
            read.addr.eq(self.index),
            self.value.eq(read.data),
            write.addr.eq(self.cfg.register),
            write.data.eq(self.cfg.data),
            write.en.eq(self.cfg.valid & (self.cfg.register[INDEX_WIDTH:] == self._base >> INDEX_WIDTH)),
        ]
        return m


@dataclass(frozen=True)
class _Outer:
    """The lowest dimension above 0 that is not in its last iteration, whether it is in its first one; if any."""

    index: Signal
    fresh: Signal
    final: Signal


class IterationDomain(Component):
    """Counters of a loop nest: which dimension does the next event increment?

    Ports: `step` (an event happens in this cycle), `flush`; `index` (4 bits): the table entry for the step that
    follows this event, 15 during `flush`; `final`: every dimension is in its last iteration.

    Dimensions with a single iteration are the outermost ones, so every other event increments dimension 0: there is a
    cycle to find out which of the outer dimensions is next, and the path to the tables is one LUT long.
    """

    def __init__(self, spec: AffineSpec) -> None:
        self._spec = spec
        super().__init__(
            {"step": In(1), "flush": In(1), "index": Out(INDEX_WIDTH), "final": Out(1), **_CONFIGURATION}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        single = Signal(self._spec.dims, init=-1)
        fresh = Signal(self._spec.dims, init=-1)  # in its first iteration
        last = Signal(self._spec.dims, init=-1)  # in its last iteration
        with m.If(self.cfg.valid & (self.cfg.register == ControllerRegister.CONTROL)):
            m.d.sync += single.eq(self.cfg.data)

        outer = self._choose_outer(m, single, fresh, last)
        m.d.comb += [
            self.index.eq(Mux(last[0], outer.index, 0) | self.flush.replicate(INDEX_WIDTH)),
            self.final.eq(last[0] & outer.final),
        ]
        exhausted = self._count(m, Mux(last[0], outer.fresh, fresh[0]))
        with m.If(self.flush):
            m.d.sync += [fresh.eq(-1), last.eq(single)]
        with m.Elif(self.step & ~last[0]):
            m.d.sync += [fresh[0].eq(0), last[0].eq(exhausted)]
        with m.Elif(self.step):
            for d in range(self._spec.dims):
                with m.If(outer.index == d):
                    m.d.sync += [fresh[d].eq(0), last[d].eq(exhausted)]
                with m.Elif(outer.index > d):
                    m.d.sync += [fresh[d].eq(1), last[d].eq(0)]
        return m

    def _choose_outer(self, m: Module, single: Signal, fresh: Signal, last: Signal) -> _Outer:
        """Registers with the dimension that is next when dimension 0 is exhausted; a cycle after the flags."""
        outer = _Outer(
            Signal(INDEX_WIDTH, name="outer_index"), Signal(name="outer_fresh"), Signal(name="outer_final")
        )
        for d in reversed(range(1, self._spec.dims)):
            with m.If(~last[d]):
                m.d.sync += [outer.index.eq(d), outer.fresh.eq(fresh[d])]
        m.d.sync += outer.final.eq(last[1:].all())
        with m.If(self.flush):
            m.d.sync += outer.final.eq(single[1:].all())
        return outer

    def _count(self, m: Module, fresh: Value) -> Value:
        """Count the indexed dimension down. A counter holds the number of iterations after the current one, less 1.

        Returns whether the step leads to the last iteration.
        """
        width = self._spec.counter_width
        m.submodules.ranges = ranges = StepTable(width, ControllerRegister.RANGE)
        m.submodules.counters = counters = Memory(shape=width, depth=TABLE_DEPTH, init=[])
        read, write = counters.read_port(domain="comb"), counters.write_port()
        _pass_configuration(m, self, ranges)
        after = Signal(width + 1)
        m.d.comb += [
            ranges.index.eq(self.index),
            read.addr.eq(self.index),
            after.eq(Mux(fresh, ranges.value, read.data) - 1),
            write.addr.eq(self.index),
            write.data.eq(after),
            write.en.eq(self.step),
        ]
        return after[-1]


class ScheduleGenerator(Component):
    """When does the next event happen?

    Ports: `en`, `flush`, `index` and `final` from the iteration domain; `fire`: the event happens in this cycle if
    `en` is 1 (a flip-flop, independent of `en`).
    """

    def __init__(self, spec: AffineSpec) -> None:
        self._spec = spec
        ports = {"en": In(1), "flush": In(1), "index": In(INDEX_WIDTH), "final": In(1), "fire": Out(1)}
        super().__init__({**ports, **_CONFIGURATION})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.table = table = StepTable(self._spec.time_width, ControllerRegister.TIME)
        _pass_configuration(m, self, table)
        width = self._spec.time_width
        enable, active = Signal(), Signal()
        wait = Signal(width)  # cycles before the next event, less 1, if `fire` is 0
        rest = Signal(width + 1)  # the same for the next cycle; the top bit says that there are none
        with m.If(self.cfg.valid & (self.cfg.register == ControllerRegister.CONTROL)):
            m.d.sync += enable.eq(self.cfg.data[ControllerRegister.ENABLE_BIT])
        m.d.comb += [
            table.index.eq(self.index),
            rest.eq(Mux(self.flush | self.fire, table.value, wait) - 1),
        ]
        with m.If(self.flush):
            m.d.sync += [active.eq(enable), wait.eq(rest), self.fire.eq(enable & rest[-1])]
        with m.Elif(self.en & self.fire & self.final):
            m.d.sync += [active.eq(0), self.fire.eq(0)]
        with m.Elif(self.en & active):
            m.d.sync += [wait.eq(rest), self.fire.eq(rest[-1])]
        return m


class AddressGenerator(Component):
    """Where does the next event happen? Address generator `number` of its controller, of `width` bits.

    Ports: `step`, `flush`, `index`; `address` is a register, valid in the cycle of the event.
    """

    def __init__(self, width: int, number: int) -> None:
        self._width = width
        self._base = ControllerRegister.ADDRESS + number * ControllerRegister.TABLE
        ports = {"step": In(1), "flush": In(1), "index": In(INDEX_WIDTH), "address": Out(width)}
        super().__init__({**ports, **_CONFIGURATION})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.table = table = StepTable(self._width, self._base)
        _pass_configuration(m, self, table)
        m.d.comb += table.index.eq(self.index)
        with m.If(self.flush | self.step):
            m.d.sync += self.address.eq(Mux(self.flush, 0, self.address) + table.value)
        return m


class AffineController(Component):
    """A complete controller: runs one `AffineNest`.

    Ports:

    - `en` (1): advance; `flush` (1): restart. The first cycle with `en` after `flush` is cycle 0.
    - `cfg` (`ConfigSignature` of one feature): a write to one of this controller's registers.
    - `fire` (1): an event happens in this cycle, provided that `en` is 1.
    - `address[a]`: its addresses, ``spec.address_widths[a]`` bits, as members `address0`, `address1`, ...

    An event can follow the last one in the next cycle. After the last event nothing happens until `flush`.
    Critical path: flag -> index -> LUT RAM -> adder -> flag.
    """

    def __init__(self, spec: AffineSpec) -> None:
        self.spec = spec
        addresses = {f"address{a}": Out(width) for a, width in enumerate(spec.address_widths)}
        super().__init__({"en": In(1), "flush": In(1), "fire": Out(1), **addresses, **_CONFIGURATION})

    @property
    def addresses(self) -> list[Signal]:
        """The address ports in order."""
        return [getattr(self, f"address{a}") for a in range(len(self.spec.address_widths))]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.domain = domain = IterationDomain(self.spec)
        m.submodules.schedule = schedule = ScheduleGenerator(self.spec)
        _pass_configuration(m, self, domain, schedule)
        m.d.comb += [
            domain.flush.eq(self.flush),
            domain.step.eq(self.en & schedule.fire),
            schedule.en.eq(self.en),
            schedule.flush.eq(self.flush),
            schedule.index.eq(domain.index),
            schedule.final.eq(domain.final),
            self.fire.eq(schedule.fire),
        ]
        for number, address in enumerate(self.addresses):
            generator = AddressGenerator(len(address), number)
            m.submodules[f"address{number}"] = generator
            _pass_configuration(m, self, generator)
            m.d.comb += [
                generator.step.eq(domain.step),
                generator.flush.eq(self.flush),
                generator.index.eq(domain.index),
                address.eq(generator.address),
            ]
        return m
