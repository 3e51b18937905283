"""AXI4 and AXI4-Lite as Amaranth signatures, and the flat port names that Verilog tools expect.

Every channel is an `amaranth.lib.stream`; its payload is a structure of the channel's AXI signals. Signatures
are written from the manager's side; a subordinate has the flipped one. Only what this project drives is there:
no locking, QoS, regions or user signals, which AXI makes optional.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Any

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Axi4LiteSignature", "Axi4Signature", "Response", "address_payload", "connect_flat", "connect_system",
           "flat_ports", "is_error", "offer_write"]

INCR = 1
"""AxBURST of incrementing bursts."""

CACHE_NORMAL = 0b0011
"""AxCACHE: normal, non-cacheable, bufferable memory."""


class Response(IntEnum):
    """xRESP."""

    OKAY = 0
    EXOKAY = 1
    SLVERR = 2
    DECERR = 3


def _address(address_width: int, id_width: int) -> data.StructLayout:
    return data.StructLayout({"id": id_width, "addr": address_width, "len": 8, "size": 3, "burst": 2, "cache": 4,
                              "prot": 3})


class Axi4Signature(wiring.Signature):
    """AXI4, manager's side: streams `aw`, `w`, `b`, `ar`, `r`. Widths in bits; `data_width` is 8 to 1024."""

    def __init__(self, *, address_width: int = 32, data_width: int = 64, id_width: int = 1):
        self.address_width = address_width
        self.data_width = data_width
        self.id_width = id_width
        address = _address(address_width, id_width)
        write = data.StructLayout({"data": data_width, "strb": data_width // 8, "last": 1})
        read = data.StructLayout({"id": id_width, "data": data_width, "resp": 2, "last": 1})
        super().__init__({
            "aw": Out(stream.Signature(address)),
            "w": Out(stream.Signature(write)),
            "b": In(stream.Signature(data.StructLayout({"id": id_width, "resp": 2}))),
            "ar": Out(stream.Signature(address)),
            "r": In(stream.Signature(read)),
        })


class Axi4LiteSignature(wiring.Signature):
    """AXI4-Lite, manager's side: streams `aw`, `w`, `b`, `ar`, `r`. Widths in bits."""

    def __init__(self, *, address_width: int, data_width: int = 32):
        self.address_width = address_width
        self.data_width = data_width
        address = data.StructLayout({"addr": address_width, "prot": 3})
        super().__init__({
            "aw": Out(stream.Signature(address)),
            "w": Out(stream.Signature(data.StructLayout({"data": data_width, "strb": data_width // 8}))),
            "b": In(stream.Signature(data.StructLayout({"resp": 2}))),
            "ar": Out(stream.Signature(address)),
            "r": In(stream.Signature(data.StructLayout({"data": data_width, "resp": 2}))),
        })


def address_payload(channel: data.View, burst: data.View, beat_bytes: int) -> list[Any]:
    """Assignments that put a burst (`DmaSpec.burst`) of `beat_bytes`-byte beats on an AXI address channel."""
    values = {"id": 0, "addr": burst.address, "len": burst.len, "size": beat_bytes.bit_length() - 1, "burst": INCR,
              "cache": CACHE_NORMAL, "prot": 0}
    return [channel[name].eq(value) for name, value in values.items()]


def is_error(response: Value) -> Value:
    """Whether an xRESP is SLVERR or DECERR."""
    return response[1]


def offer_write(m: Module, bus: wiring.PureInterface, name: str) -> Value:
    """Offer the address and the data of a write of one beat together, each until it is taken: a subordinate may wait
    for both before it takes either. Returns whether both have been taken with this cycle; `name` is that of two new
    registers. For a state of a manager, which must end then."""
    channels = (bus.aw, bus.w)
    sent = [Signal(name=f"{name}_{channel}_sent") for channel in ("aw", "w")]
    ended = Signal(name=f"{name}_ended")
    m.d.comb += ended.eq((sent[0] | bus.aw.ready) & (sent[1] | bus.w.ready))
    for channel, flag in zip(channels, sent, strict=True):
        m.d.comb += channel.valid.eq(~flag)
        m.d.sync += flag.eq((flag | channel.ready) & ~ended)
    return ended


def _channel_signals(interface: wiring.PureInterface, manager: bool) -> Iterator[tuple[str, Value, bool]]:
    """(channel and AXI name, signal, driven by this side) of every AXI signal."""
    for channel in ("aw", "w", "b", "ar", "r"):
        port = getattr(interface, channel)
        drives = (channel in ("aw", "w", "ar")) == manager
        for name in port.payload.shape().members:
            yield f"{channel}{name}", getattr(port.payload, name), drives
        yield f"{channel}valid", port.valid, drives
        yield f"{channel}ready", port.ready, not drives


def flat_ports(interface: wiring.PureInterface, prefix: str, *, manager: bool) -> Iterator[tuple[Signal, Value, bool]]:
    """(signal called ``prefix_awaddr`` and so on, the part of `interface` it stands for, whether it is an output).

    The signals are new; `connect_flat` ties them to the interface.
    """
    for name, value, drives in _channel_signals(interface, manager):
        yield Signal(len(Value.cast(value)), name=f"{prefix}_{name}"), value, drives


def connect_system(m: Module, system: Any) -> list[Signal]:
    """Tie the ports `m_axi` and `s_axil` of a system to flat signals, and return those with its `irq`: what a top
    module has beside ``clk`` and ``rst``."""
    return [
        *connect_flat(m, system.m_axi, "m_axi", manager=True),
        *connect_flat(m, system.s_axil, "s_axil", manager=False),
        system.irq,
    ]


def connect_flat(m: Module, interface: wiring.PureInterface, prefix: str, *, manager: bool) -> list[Signal]:
    """Tie `interface`, of the component that is the manager (or not), to new flat signals, and return those."""
    signals = []
    for signal, value, drives in flat_ports(interface, prefix, manager=manager):
        if drives:
            m.d.comb += signal.eq(value)
        else:
            m.d.comb += value.eq(signal)
        signals.append(signal)
    return signals
