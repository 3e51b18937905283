"""The free tools that make bitstreams, by family."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["FLOWS", "Flow", "free_command"]


@dataclass(frozen=True)
class Flow:
    """`stages`: what each tool does, in order. `cells`: the names that nextpnr's report has for the figures of
    `hw.ecp5.pnr.Figures`. `flip_flop`: the beginning of the names of flip-flops in the netlist, where nextpnr counts
    them together with LUTs. `bitstream`: the end of that file's name."""

    stages: Mapping[str, str]
    cells: Mapping[str, str]
    bitstream: str
    flip_flop: str | None = None


def _stages(placer: str, packer: str) -> dict[str, str]:
    return {"yosys": "synthesis (yosys)", placer: "place and route (nextpnr)", packer: f"bitstream ({packer})"}


FLOWS: Mapping[str, Flow] = {
    "ecp5": Flow(_stages("nextpnr-ecp5", "ecppack"),
                 {"lut": "TRELLIS_COMB", "ff": "TRELLIS_FF", "block_ram": "DP16KD", "multipliers": "MULT18X18D",
                  "lut_ram": "TRELLIS_RAMW"}, ".bit"),
    "ice40": Flow(_stages("nextpnr-ice40", "icepack"),
                  {"lut": "ICESTORM_LC", "ff": "ICESTORM_LC", "block_ram": "ICESTORM_RAM",
                   "multipliers": "ICESTORM_DSP", "lut_ram": ""}, ".bin", "SB_DFF"),
    "gowin": Flow(_stages("nextpnr-himbaechel-gowin", "gowin_pack"),
                  {"lut": "LUT4", "ff": "DFF", "block_ram": "BSRAM", "multipliers": "MULT18X18",
                   "lut_ram": "RAM16SDP4"}, ".fs"),
}
"""By family of `hw.boards.found.FAMILIES`. An iCE40's `lut` are logic cells, with a LUT and a flip-flop each."""


def free_command(command: Sequence[str], clock_hz: float) -> list[str]:
    """A tool's invocation as today's tools take it: Amaranth calls nextpnr for Gowin by its former name and options,
    and does not tell it the frequency that all clocks need."""
    tool, *arguments = command
    if tool != "nextpnr-gowin":
        return [tool, *arguments]
    options = dict(itertools.pairwise(arguments))
    return ["nextpnr-himbaechel-gowin", "--log", options["--log"], "--device", options["--device"],
            "--json", options["--json"], "--write", options["--write"], "--vopt", f"family={options['--family']}",
            "--vopt", f"cst={options['--cst']}", "--freq", f"{clock_hz / 1e6:.6g}"]
