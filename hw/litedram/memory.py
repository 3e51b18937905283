"""Main memory in DDR3 chips, by a LiteDRAM core."""

from __future__ import annotations

from typing import Any

from amaranth.build import Subsignal
from amaranth.hdl import Const, Instance, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.dma.axi import Axi4Signature
from hw.litedram.core import IDLE, LiteDramCore, LiteDramError
from hw.soc.axi_window import AxiWindow

__all__ = ["LiteDramMemory", "check_board"]

_PADS = {"reset_n": "rst", "cke": "clk_en", "cs_n": "cs", "we_n": "we", "ras_n": "ras", "cas_n": "cas", "a": "a",
         "ba": "ba", "dq": "dq", "dm": "dm", "odt": "odt"}
_PAIRS = {"clk": "clk", "dqs": "dqs"}
"""What a board's resource calls the core's wires."""
_BITS_PER_LINE = {"ecp5": 4, "xilinx7": 8}
"""By family: bits of the controller for a data line, two for every phase of LiteDRAM's PHY."""
_EXACT = ("dq", "dqs", "ba")
_FIXED = ("reset_n", "cs_n", "cke", "odt", "dm")
"""What a board may have tied to a level."""


class LiteDramMemory(wiring.Component):
    """`size` bytes from address 0, or all of the core's, as an AXI4 subordinate of `AxiWindow`, which refuses bursts
    until the core has calibrated its chips.

    Ports: `bus`, the subordinate, of the clock that comes out; `oscillator`, the board's; `clock` and `reset`, what
    everything else has to run with. The pads are those of the board's resource ``ddr3``.
    """

    def __init__(self, core: LiteDramCore, size: int, *, id_width: int = 1):
        self._core = core
        self._signature = Axi4Signature(address_width=32, data_width=core.data_width, id_width=id_width)
        self._size = size
        super().__init__({"bus": In(self._signature), "oscillator": In(1), "clock": Out(1), "reset": Out(1)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.window = window = AxiWindow(self._signature, self._size)
        wiring.connect(m, wiring.flipped(self.bus), window.bus)
        done, error = Signal(), Signal()
        m.d.comb += window.open.eq(done & ~error)
        ports = {name: ("i", Const(level, self._core.ports[name].width)) for name, level in IDLE.items()
                 if name in self._core.ports}
        ports |= {"clk": ("i", self.oscillator), "user_clk": ("o", self.clock), "user_rst": ("o", self.reset),
                  "init_done": ("o", done), "init_error": ("o", error)}
        ports |= self._user(m, window.memory) | self._pads(platform.request("ddr3", 0, dir="-"))
        m.submodules.core = Instance(self._core.module, *((kind, name, value) for name, (kind, value) in ports.items()))
        return m

    def _user(self, m: Module, bus: Any) -> dict[str, tuple[str, Any]]:
        """The user port, by signals as wide as the core has them."""
        ports = {}
        for channel in ("aw", "w", "b", "ar", "r"):
            stream = getattr(bus, channel)
            forward = channel in ("aw", "w", "ar")
            wires = [("valid", stream.valid, forward), ("ready", stream.ready, not forward),
                     *((name, getattr(stream.payload, name), forward) for name in stream.payload.shape().members)]
            for wire, value, driven in wires:
                name = f"{self._core.user}_{channel}{wire}"
                if name in self._core.ports:  # not AxCACHE and AxPROT
                    ports[name] = ("i" if driven else "o", signal := Signal(self._core.ports[name].width, name=name))
                    m.d.comb += signal.eq(value) if driven else value.eq(signal)
        return ports

    def _pads(self, port: Any) -> dict[str, tuple[str, Any]]:
        pads = {}
        for name, (owner, half) in _find_pads(self._core).items():
            if not hasattr(port, owner):
                continue
            pad = getattr(getattr(port, owner), half)
            width = self._core.pads[name].width
            pads[f"ddram_{name}"] = ({"input": "i", "output": "o", "inout": "io"}[self._core.pads[name].direction],
                                     pad[:width])
        return pads


def _find_pads(core: LiteDramCore) -> dict[str, tuple[str, str]]:
    """Of every wire of the core that a board has: the name in the resource, and which half of a pair it is."""
    found = {name: (owner, "io") for name, owner in _PADS.items()}
    found |= {f"{name}_{half}": (owner, half) for name, owner in _PAIRS.items() for half in "pn"}
    unused = ("clk_n", "dqs_n")  # the cells of the other halves have them
    return {name: place for name, place in found.items() if name in core.pads and name not in unused}


def check_board(core: LiteDramCore, platform: Any, board: str, family: str) -> None:
    """Raises `LiteDramError` if LiteDRAM has no PHY for the family, if the user port is not as wide as the controller
    (LiteDRAM's converters of 2024.12 stall at the end of some bursts), or if the board's resource does not have the
    core's wires for itself."""
    resource = platform.resources["ddr3", 0]
    if family not in _BITS_PER_LINE:
        raise LiteDramError(f"LiteDRAM drives DDR3 from FPGAs of these families: {', '.join(_BITS_PER_LINE)}; board "
                            f"{board} has none of them")
    width = _BITS_PER_LINE[family] * core.pads["dq"].width
    if core.data_width != width:
        raise LiteDramError(f"the user port of {core.module} has {core.data_width} bits and its controller {width}: "
                            f"generate it with data_width: {width}")
    mine = set(_pins(resource))
    for (name, number), other in platform.resources.items():
        if other is not resource and (shared := sorted(mine & set(_pins(other)))):
            raise LiteDramError(f"the file of board {board} gives pin {shared[0]} to its DDR3 and to {name} {number}: "
                                "its DDR3 cannot be used")
    _check_lines(core, resource, board)


def _pins(resource: Any) -> list[str]:
    """All pins of a resource."""
    pins = []
    for part in resource.ios:
        if isinstance(part, Subsignal):
            pins += _pins(part)
        elif hasattr(part, "p"):
            pins += [*part.p.names, *part.n.names]
        elif hasattr(part, "names"):
            pins += part.names
    return pins


def _check_lines(core: LiteDramCore, resource: Any, board: str) -> None:
    lines = {signal.name: len(signal.ios[0].p.names if hasattr(signal.ios[0], "p") else signal.ios[0].names)
             for signal in resource.ios if hasattr(signal, "ios")}
    for name, (owner, _) in _find_pads(core).items():
        width, has = core.pads[name].width, lines.get(owner, 0)
        if has == 0 and name in _FIXED:
            continue
        if has < width or (owner in _EXACT and has != width):
            raise LiteDramError(f"the core has {width} wires ddram_{name} and board {board} has {has}: generate it for "
                                "this board's chips")
