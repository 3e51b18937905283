"""Verilog of several modules in one conversion: the same text, a file for each."""

from __future__ import annotations

import re

from amaranth.hdl import Module, Signal
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
