"""Translates yosys and nextpnr to machine code, before several tests want that at the same time.

They are programs for WebAssembly, and keep what they are translated to in a cache of the user; yosys takes a minute of
processor time. Two processes that find no translation make one each, and one may read what the other has half written.
"""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.cache import use_tool_cache
from hw.ecp5.pnr import tool_version
from hw.verilog import convert


class Wire(wiring.Component):
    """The least that can be converted to Verilog, which takes the yosys of Amaranth."""

    def __init__(self) -> None:
        super().__init__({"i": In(1), "o": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.o.eq(self.i)
        return m


def main() -> None:
    """Use each of the tools once."""
    convert(Wire(), "wire_through")
    with use_tool_cache():
        for tool in ("yosys", "nextpnr-ecp5"):
            tool_version(tool)


if __name__ == "__main__":
    main()
