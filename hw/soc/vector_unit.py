"""The vector engine behind the scalar core's port for custom functions."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.soc.vector_engine import STATUS_PORTS, VectorEngine, engine_ports
from hw.vector_lanes.core_ports import COMMAND
from hw.vector_lanes.front_end import CommandDecoder
from hw.vector_lanes.spec import VectorSpec

__all__ = ["VectorUnit"]


class VectorUnit(wiring.Component):
    """command, response: custom instructions and their results (see `CommandDecoder`); the rest: `engine_ports`."""

    def __init__(self, spec: VectorSpec):
        self._decoder = CommandDecoder(spec)
        self._engine = VectorEngine(spec)
        super().__init__({
            "command": In(stream.Signature(COMMAND)),
            "response": Out(stream.Signature(32)),
            **engine_ports(spec),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.decoder = decoder = self._decoder
        m.submodules.engine = engine = self._engine
        connect(m, flipped(self.command), decoder.command)
        connect(m, decoder.response, flipped(self.response))
        connect(m, decoder.entry, engine.entry)
        connect(m, engine.m_axi, flipped(self.m_axi))
        connect(m, engine.counters, flipped(self.counters))
        connect(m, engine.counters, decoder.counters)
        for name in STATUS_PORTS:
            if name != "counters":
                m.d.comb += [getattr(self, name).eq(getattr(engine, name)),
                             getattr(decoder, name).eq(getattr(engine, name))]
        m.d.comb += engine.clear_status.eq(decoder.clear_status)
        return m
