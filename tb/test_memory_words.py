"""What memories start with, which is written in loops, in simulators and in yosys."""

from __future__ import annotations

import re
from pathlib import Path

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.ecp5.pnr import run_tool
from hw.sim.bench import run_bench
from hw.verilog import convert

DEPTH = 4500
FIRST = [*[7] * 40, *range(1, 20), *[3] * 100]
WORDS = FIRST + [0] * (DEPTH - len(FIRST))
BORDERS = sorted({place + step for place in (0, 40, 59, 159, 4255, DEPTH - 1) for step in range(-3, 4)})


class Constants(wiring.Component):
    """A memory with runs of equal words, one of them longer than a loop, and a signal named like the loop's."""

    def __init__(self) -> None:
        super().__init__({"address": In(13), "word": Out(16), "index": Out(13)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=16, depth=DEPTH, init=FIRST)
        read = memory.read_port(domain="comb")
        write = memory.write_port()  # what no port writes are constants
        m.d.comb += [read.addr.eq(self.address), self.word.eq(read.data), self.index.eq(self.address)]
        m.d.comb += [write.en.eq(self.address == 8191), write.addr.eq(self.address)]
        return m


def test_runs_of_equal_words_are_loops() -> None:
    text = convert(Constants(), "constants")
    loops = re.findall(r"for \(index_ = (\d+); index_ < (\d+);", text)
    assert loops == [("0", "40"), ("59", "159"), ("159", "4255"), ("4255", "4500")]
    assert len(re.findall(r"^    memory\[\d+\] = ", text, re.MULTILINE)) == 19


def test_every_word_is_what_it_was(simulator: str) -> None:
    words = [(address, WORDS[address]) for address in BORDERS if 0 <= address < DEPTH]
    run_bench({"constants.v": convert(Constants(), "constants")}, "constants",
              Path(__file__).with_name("memory_words_bench.py"), simulator=simulator, data=words)


def test_yosys_reads_the_same_words(tmp_path: Path) -> None:
    (tmp_path / "constants.v").write_text(convert(Constants(), "constants"))
    script = "read_verilog constants.v; proc; memory_collect; write_rtlil constants.il"
    run_tool("yosys", ["-q", "-p", script], tmp_path)
    init = re.search(r"parameter \\INIT \d+'([01x]+)", (tmp_path / "constants.il").read_text())
    assert init is not None
    assert [int(init[1][end - 16 : end], 2) for end in range(16 * DEPTH, 0, -16)] == WORDS
