"""Verilog text: several modules in one conversion, one process for the registers of a module, and what readers see."""

from __future__ import annotations

import re

import pytest
from amaranth._toolchain.yosys import _BuiltinYosys
from amaranth.back import rtlil
from amaranth.hdl import Cat, ClockDomain, ClockSignal, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.verilog import VerilogError, convert, convert_files
from hw.yosys import run_script


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
    """Without blank lines."""
    return re.sub(r"\n+", "\n", text)


def test_files_are_those_of_single_conversions() -> None:
    """Also where the name of one module begins like another's, and modules lie below them."""
    names = {"delay": 3, "delay_long": 5, "d": 1}
    files = convert_files({name: Delay(cycles) for name, cycles in names.items()})
    assert files.keys() == {f"{name}.v" for name in names}
    for name, cycles in names.items():
        alone = convert(Delay(cycles), name)
        assert plain(files[f"{name}.v"]) == plain(alone)
        assert len(re.findall("^endmodule$", alone, re.MULTILINE)) == cycles + 1


def test_yosys_in_this_process_is_the_one_of_amaranth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMARANTH_USE_YOSYS", "builtin")
    script = f"read_rtlil <<rtlil\n{rtlil.convert(Delay(2), name='delay')}\nrtlil\nproc -nomux\nwrite_verilog"
    text = run_script(script)
    assert text.count("endmodule") == 3
    assert text == _BuiltinYosys.run(["-q", "-"], script, ignore_warnings=True)


def test_what_yosys_refuses_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMARANTH_USE_YOSYS", "builtin")
    monkeypatch.setattr("hw.verilog._SCRIPT", "nonsense")
    with pytest.raises(VerilogError, match=r"^yosys cannot write Verilog: ERROR: .*nonsense.*$"):
        convert(Delay(1), "delay")


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


class Stored(wiring.Component):
    """The word at `place` of a memory that begins with `words` and zeros, plus nothing, and a sum that wraps."""

    def __init__(self, words: list[int], depth: int) -> None:
        self.words, self.depth = words, depth
        super().__init__({"place": In(range(depth)), "word": Out(8), "none": In(0), "total": Out(8)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.store = store = Memory(shape=8, depth=self.depth, init=self.words)
        port = store.read_port(domain="comb")
        unread = Signal(8)
        m.d.comb += [port.addr.eq(self.place), self.word.eq(port.data + 0), unread.eq(port.data + self.none)]
        with m.If(self.place != 0):
            m.d.sync += self.total.eq(self.total + self.word)
        return m


def test_names_say_what_signals_are_for_and_no_operation_is_without_effect() -> None:
    text = convert(Stored([], 16), "stored")
    assert "total <= total_next ;" in text
    assert re.search(r"total_next += \\\$\d+ \[7:0\];", text)
    assert "+ 1'h0" not in text
    assert "[-1:0]" not in text
    assert "none" not in text
    assert "dump_module" not in text
    assert not re.search(r"= \+ ", text)
    declared = re.findall(r"^  (?:wire|reg) (?:\[\d+:0\] )?(\\\$\S*) ", text, re.MULTILINE)
    assert all(text.count(f"{name} ") > 2 for name in declared)


class Halved(wiring.Component):
    """The upper half of a word, a cycle late, in a part that knows the word's bits alone."""

    def __init__(self) -> None:
        super().__init__({"word": In(8), "half": Out(4)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        part = Module()
        third, last = Signal(2), Signal(2)
        m.d.comb += [third.eq(self.word[4:6]), last.eq(self.word[6:])]
        part.d.sync += self.half.eq(Cat(third, last))
        m.submodules.part = part
        return m


def test_ports_without_a_name_are_called_after_what_they_are_connected_to() -> None:
    text = convert(Halved(), "halved")
    assert ".word_port_7_4 (word[7:4])" in text
    assert re.search(r"module \\halved\.part \([^)]*\bword_port_7_4\b", text)
    assert "port$" not in text
