"""The wires to an SDRAM chip."""

from __future__ import annotations

from typing import Any

from amaranth.build import Subsignal
from amaranth.hdl import Const, Module
from amaranth.lib import io, wiring
from amaranth.lib.wiring import In, Out

from hw.sdram.chip import SdramChip, SdramError

__all__ = ["SdramPins", "check_pins", "connect_pins"]


class SdramPins(wiring.Signature):
    """All wires but the clock, active high, a clock cycle before the registers of the pads; what comes is a cycle after
    them. `dq_enable`: the controller drives the data lines."""

    def __init__(self, chip: SdramChip):
        super().__init__({
            "cke": Out(1), "cs": Out(1), "ras": Out(1), "cas": Out(1), "we": Out(1),
            "ba": Out(chip.bank_bits), "a": Out(chip.address_bits), "dqm": Out(chip.data_bits // 8),
            "dq_o": Out(chip.data_bits), "dq_enable": Out(1), "dq_i": In(chip.data_bits),
        })


def check_pins(resource: Any, chip: SdramChip, board: str) -> None:
    """Raises `SdramError` if the board's resource has fewer address lines or other data lines than the chip."""
    lines = {signal.name: len(signal.ios[0].names) for signal in resource.ios if isinstance(signal, Subsignal)}
    if lines["a"] < chip.address_bits or lines["ba"] < chip.bank_bits or lines["dq"] != chip.data_bits:
        raise SdramError(f"board {board} has {lines['a']} address and {lines['dq']} data lines for its SDRAM, and "
                         f"{chip.name} has {chip.address_bits} and {chip.data_bits}: name its chip with --sdram-chip")


def connect_pins(m: Module, port: Any, wires: Any, domain: str) -> None:
    """Tie `wires` (`SdramPins`) to the pads of `port`, by registers there in clock domain `domain`. The chip's clock is
    that domain's, inverted: its edges are in the middle between those of the registers."""
    names = {"clk_en": wires.cke, "cs": wires.cs, "ras": wires.ras, "cas": wires.cas, "we": wires.we, "ba": wires.ba,
             "a": wires.a, "dqm": wires.dqm}
    for name, value in names.items():
        if not hasattr(port, name):  # a board may have them fixed
            continue
        pad = getattr(port, name)
        m.submodules[f"sdram_{name}"] = buffer = io.FFBuffer(io.Direction.Output, pad, o_domain=domain)
        m.d.comb += buffer.o.eq(value)
    m.submodules.sdram_clk = clock = io.DDRBuffer(io.Direction.Output, port.clk, o_domain=domain)
    m.d.comb += [clock.o[0].eq(Const(0)), clock.o[1].eq(Const(1))]
    m.submodules.sdram_dq = data = io.FFBuffer(io.Direction.Bidir, port.dq, i_domain=domain, o_domain=domain)
    m.d.comb += [data.o.eq(wires.dq_o), data.oe.eq(wires.dq_enable), wires.dq_i.eq(data.i)]
