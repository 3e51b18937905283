"""Verilog text: several modules in one conversion, and one process for the registers of a module."""

from __future__ import annotations

import re

from amaranth.hdl import ClockDomain, ClockSignal, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.verilog import convert, convert_files


class Delay(wiring.Component):
    """`cycles` registers, in modules of their own."""

    def __init__(self, cycles: int) -> None:
        self.cycles = cycles
        super().__init__({"value": In(8), "late": Out(8)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        value = self.value
        for number in range(self.cycles):
            part = Module()
            late = Signal(8, name=f"late{number}")
            part.d.sync += late.eq(value)
            m.submodules[f"stage.{number}"] = part
            value = late
        m.d.comb += self.late.eq(value)
        return m


def plain(text: str) -> str:
    """Without blank lines and the names that the converter counts."""
    return re.sub(r"dump_module\$\d+", "dump_module", re.sub(r"\n+", "\n", text))


def test_files_are_those_of_single_conversions() -> None:
    """Also where the name of one module begins like another's, and modules lie below them."""
    names = {"delay": 3, "delay_long": 5, "d": 1}
    files = convert_files({name: Delay(cycles) for name, cycles in names.items()})
    assert files.keys() == {f"{name}.v" for name in names}
    for name, cycles in names.items():
        alone = convert(Delay(cycles), name)
        assert plain(files[f"{name}.v"]) == plain(alone)
        assert len(re.findall("^endmodule$", alone, re.MULTILINE)) == cycles + 1


class ThreeClocks(wiring.Component):
    """Three registers of one clock, two of another, and one on the falling edge of a third."""

    def __init__(self) -> None:
        super().__init__({"value": In(8), "clocks": In(2), "o": Out(8).array(6)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains += [ClockDomain("other", reset_less=True), ClockDomain("falling", clk_edge="neg", reset_less=True)]
        m.d.comb += [ClockSignal("other").eq(self.clocks[0]), ClockSignal("falling").eq(self.clocks[1])]
        for number, domain in enumerate(("sync", "sync", "other", "sync", "other", "falling")):
            m.d[domain] += self.o[number].eq(self.value + number)
        return m


def test_registers_of_a_clock_are_one_process() -> None:
    """An event-driven simulator wakes every process at every edge."""
    text = convert(ThreeClocks(), "three_clocks")
    processes = re.findall(r"^  always @\((\w+ [^)]+)\)(?: begin)?\n((?:    .*;\n)+)", text, re.MULTILINE)
    registers = {edge: sorted(re.findall(r"(\w+) +<=", body)) for edge, body in processes}
    assert len(processes) == 3
    assert registers == {"posedge clk": ["o__0", "o__1", "o__3"], "posedge clocks[0]": ["o__2", "o__4"],
                         "negedge clocks[1]": ["o__5"]}
