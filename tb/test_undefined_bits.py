"""A design that writes undefined bits to memory ends a run with an error that names the address."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hw.sim.process import SimulationError
from hw.sim.simulate import Job, run_job

COPIER = (Path(__file__).parent / "sim_copier.v").read_text()
CONTROL, SOURCE, DESTINATION, WORDS = 0x00, 0x08, 0x0C, 0x10
DATA = "assign m_axi_wdata = buffer[out_at] + increment;"


def job(undefined: str, dumps: list[tuple[int, int]]) -> Job:
    """Copy 16 words from 0x1000 to 0x4000; the fifth of each burst of 8 (at 0x4020 first) is or'ed with `undefined`."""
    assert DATA in COPIER
    damaged = f"assign m_axi_wdata = (buffer[out_at] + increment) | (left == 4 ? {undefined} : 64'd0);"
    return Job(
        sources={"sim_copier.v": COPIER.replace(DATA, damaged)}, top="sim_copier", memory_bytes=1 << 15,
        loads=[(0x1000, bytes(range(128)))], dumps=dumps, seed=1, cycle_limit=5000, simulator="icarus",
        writes=[(SOURCE, 0x1000), (DESTINATION, 0x4000), (WORDS, 16), (CONTROL, 1)],
    )  # fmt: skip


@pytest.mark.parametrize(("undefined", "address"), [("64'hx", 0x4020), ("64'h10x0_0000", 0x4022)])
def test_undefined_bits_are_named_with_their_address(undefined, address):
    message = f"the design wrote undefined bits (x) to main memory at byte address {address:#x}"
    with pytest.raises(SimulationError, match=f"^{re.escape(message)}$"):
        run_job(job(undefined, [(0x1000, 16), (0x4004, 100)]))


def test_only_what_is_asked_for_must_be_defined():
    run = run_job(job("64'h10x0_0000", [(0x4023, 5), (0x4000, 34)]))
    assert run.dumps == (bytes([0x23 | 0x10, *range(0x24, 0x28)]), bytes(range(34)))
