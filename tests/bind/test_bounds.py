"""Lower bounds of a run, the main memory they are stated for, and what a command line says of both."""

from __future__ import annotations

import re

import pytest

import compiler
from compiler.__main__ import main
from compiler.bind.bounds import Bounds, dependence_steps, program_traffic
from compiler.bind.registry import TARGETS
from compiler.frontend.c_scop import parse_scop
from hw.main_memory import MainMemory, MainMemoryError

COLUMNS = """void turned(const signed char a[8][16], signed char b[16][8]) {
#pragma scop
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 8; j++)
            b[i][j] = a[j][i];
#pragma endscop
}
"""
EVERY_OTHER = COLUMNS.replace("a[8][16]", "a[8][32]").replace("a[j][i]", "a[j][2 * i]")
SCAN = """void scan(int y[40]) {
#pragma scop
    for (int i = 3; i < 40; i++)
        y[i] = y[i - 3] + 1;
#pragma endscop
}
"""

CARRY = """void carry(const short x[24], short y[24]) {
#pragma scop
    short c = 0;
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 3; j++) {
            c = c / 2 + x[3 * i + j];
            y[3 * i + j] = c;
        }
#pragma endscop
}
"""
SWEEP = """void sweep(int a[12][12]) {
#pragma scop
    for (int t = 0; t < 4; t++)
        for (int i = 1; i < 11; i++)
            for (int j = 1; j < 11; j++)
                a[i][j] = (a[i - 1][j] + a[i][j - 1] + a[i][j] + a[i + 1][j] + a[i][j + 1]) >> 2;
#pragma endscop
}
"""


def test_each_element_that_is_used_is_moved_once() -> None:
    found = program_traffic(parse_scop(COLUMNS))
    assert (found.bytes_in, found.bytes_out) == (128, 128)
    assert program_traffic(parse_scop(EVERY_OTHER)).bytes_in == 128
    assert found.cycles(MainMemory(64)) == 16 and found.cycles(MainMemory(128)) == 8


def test_a_chain_of_dependences() -> None:
    assert dependence_steps(parse_scop(COLUMNS)) == 0
    assert dependence_steps(parse_scop(SCAN)) == 13  # y[3], y[6], ... y[39]
    assert dependence_steps(parse_scop(CARRY)) == 24  # from the end of a row to the start of the next
    assert dependence_steps(parse_scop(SWEEP)) == 1 + 18 + 3 * 2  # each sweep begins a row or a column back


def test_the_greatest_term_binds() -> None:
    bounds = Bounds(30, 20, 10)
    assert (bounds.cycles, bounds.binding, str(bounds)) == (30, "operations",
                                                            "operations 30, transfers 20, dependences 10")
    assert Bounds(30, 40).binding == "transfers"


@pytest.mark.parametrize(("given", "message"), [
    ({"memory_latency": 1}, "main memory has a latency of 1 cycles, not of 2 to 4096"),
    ({"memory_latency": 5000}, "main memory has a latency of 5000 cycles, not of 2 to 4096"),
    ({"memory_bursts": 0}, "main memory takes 0 bursts at once, not 1 to 16"),
    ({"memory_bursts": 17}, "main memory takes 17 bursts at once, not 1 to 16"),
])
@pytest.mark.parametrize("target", TARGETS)
def test_a_memory_that_there_cannot_be(target: str, given: dict[str, int], message: str) -> None:
    with pytest.raises(MainMemoryError, match=f"^{re.escape(message)}$"):
        compiler.compile(parse_scop(COLUMNS), target=target, **given)


def test_a_port_that_there_cannot_be() -> None:
    with pytest.raises(MainMemoryError, match=r"^main memory has a port of 48 bits, not a power of two from 8$"):
        MainMemory(48)


@pytest.mark.parametrize("target", TARGETS)
def test_the_command_line_says_what_a_user_waits_for(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    memory = ("--memory-latency", "40", "--memory-bursts", "4")
    assert main(("apps/dataflow/matmul.c", "--set", "N=4", "--target", target, "--simulator", "none", *memory)) == 0
    rows = dict(re.findall(r"│ (\S.*?) +│ (\S.*?) +│", capsys.readouterr().out))
    waited = next(int(text) for name, text in rows.items() if name.startswith("start to done predicted ("))
    bound = int(rows["lower bound"])
    assert waited > bound == max(map(int, re.findall(r"\d+", rows["terms of the bound"])))
    assert rows["main memory"].endswith("bits, latency 40, 4 bursts")
    assert rows["ratio to the bound"] == f"{waited / bound:.4f} (predicted)"
