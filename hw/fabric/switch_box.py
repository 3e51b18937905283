"""The switch box of one network: where signals turn, pass on or leave the core."""

from __future__ import annotations

from amaranth.hdl import Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.fabric.routing import CoreSource, Network, Side, Source, core_outputs, switch_sources
from hw.fabric.spec import FabricSpec, TileKind
from hw.lib.multiplexer import hold, multiplex

__all__ = ["SWITCH_LATENCY", "SwitchBox", "network_width"]

SWITCH_LATENCY = 1
"""Cycles of a hop: from the inputs of a switch box to the neighbour's."""


def network_width(spec: FabricSpec, network: Network) -> int:
    """Bits of a signal of a network."""
    return spec.width if network is Network.WORD else 1


class SwitchBox(wiring.Component):
    """A register behind a multiplexer for every outgoing track; the sources are `switch_sources`.

    Ports: `i` and `o` by side and track (signals of the network's width), `core` (the core's outputs on this
    network), `select` and `used` by side and track. A track that is not used holds its value, as all do while
    `en` is 0.
    """

    def __init__(self, spec: FabricSpec, kind: TileKind, network: Network):
        self.spec = spec
        self.kind = kind
        self.network = network
        self.ports = core_outputs(spec, kind, network)
        width = network_width(spec, network)
        choices = len(switch_sources(spec, kind, network, Side.N, 0))
        super().__init__(
            {
                "en": In(1),
                "i": In(width).array(len(Side), spec.tracks),
                "core": In(width).array(len(self.ports)),
                "select": In(range(choices)).array(len(Side), spec.tracks),
                "used": In(1).array(len(Side), spec.tracks),
                "o": Out(width).array(len(Side), spec.tracks),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for side in Side:
            for track in range(self.spec.tracks):
                sources = switch_sources(self.spec, self.kind, self.network, side, track)
                choice = multiplex(self.select[side][track], [self._value(source) for source in sources])
                output = self.o[side][track]
                m.d.sync += output.eq(hold(output, self.en & self.used[side][track], choice))
        return m

    def _value(self, source: Source) -> Value:
        if isinstance(source, CoreSource):
            return self.core[self.ports.index(source.port)]
        return self.i[source.side][source.track]
