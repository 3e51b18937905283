"""Programs with loops of more iterations than a counter of the hardware counts."""

from __future__ import annotations

import re

import pytest

import compiler
from compiler.bind.cgra.design import CgraDesign
from compiler.frontend.loop_nest import prog
from compiler.ir.program import Program
from hw.memtile.spec import ConfigurationError

LIMIT = 1 << 16


def line(length: int, address: str) -> Program:
    """out[x] = in[address], x from 0 to `length` - 1."""
    prg = prog("line")
    prg.add_input("in")
    prg.add_output("out")
    op = prg.add_loop("x", 0, length).add_op("Copy")
    op.add_load("in", address)
    op.add_store("out", "x")
    return prg.build()


@pytest.mark.parametrize("memory", ["pub", "dual-port"])
def test_banks_and_memories_count_with_two_counters(memory: str) -> None:
    """Validation has proven that the right words come at the right times."""
    design = compiler.compile(line(140_000, "x // 2"), array="4x4", memory=memory, half_words=1 << 18)
    assert isinstance(design, CgraDesign)
    assert design.resources["memory tiles"] == 1
    (output,) = (bank.nest for bank in design.config.banks.values() if bank.direction == "output")
    assert output.ranges == (35_000, 4)
    assert design.predicted_cycles >= 140_000


def test_a_length_that_cannot_be_split_names_the_array() -> None:
    message = (f"array in: a loop of {LIMIT + 1} iterations is too long for one counter, which counts to {LIMIT}, and "
               f"{LIMIT + 1} is no product of two numbers up to that")
    with pytest.raises(ConfigurationError, match=f"^{re.escape(message)}$"):
        compiler.compile(line(LIMIT + 1, "x"), array="4x4", half_words=1 << 17)
