"""The north edge of the ready-valid array: a relay between the array and the global buffer in each direction."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib.wiring import In, Member, Out

from hw.fabric.bus import BusReceiver
from hw.fabric.edge_stage import EdgeStage
from hw.fabric.elastic import Relay
from hw.fabric.spec import FabricSpec
from hw.lib.configuration import ConfigurationStore
from hw.lib.multiplexer import multiplex

__all__ = ["ElasticEdgeStage"]


class ElasticEdgeStage(EdgeStage):
    """Edge stage of a column.

    `i_stream` with `i_stream_valid` and `o_stream_ready`: a token from the global buffer; one cycle later it is at
    `o_track`, which drives all tracks into row 0, and goes in a cycle in which all of them are ready (`i_track_ready`,
    `o_track_valid`, a bit for each). `i_track*` with `i_track_valid` and `o_track_ready`: word tracks out of row 0; a
    token of the one that is configured is at `o_stream`, with `o_stream_valid` and `i_stream_ready`, one cycle later.
    `id`, `en`, `flush`, `i_cfg`: as for a tile.
    """

    @staticmethod
    def further_ports(spec: FabricSpec) -> dict[str, Member]:
        return {
            "flush": In(1),
            "i_stream_valid": In(1),
            "o_stream_ready": Out(1),
            "o_stream_valid": Out(1),
            "i_stream_ready": In(1),
            "i_track_valid": In(spec.tracks),
            "o_track_ready": Out(spec.tracks),
            "o_track_valid": Out(spec.tracks),
            "i_track_ready": In(spec.tracks),
        }

    def add_registers(
        self, m: Module, receiver: BusReceiver, store: ConfigurationStore, en: Value, selected: Value
    ) -> None:
        m.submodules.down = down = Relay(self.spec.width)
        m.submodules.up = up = Relay(self.spec.width)
        flush = Signal()
        m.d.sync += flush.eq(self.flush)
        for relay in (down, up):
            m.d.comb += [relay.en.eq(en), relay.restart.eq(flush | receiver.clear)]
        tracks, select, used = range(self.spec.tracks), store.value("track"), store.value("used")
        m.d.comb += [
            down.i.eq(self.i_stream),
            down.push.eq(self.i_stream_valid & down.room),
            self.o_stream_ready.eq(down.room),
            self.o_track.eq(down.o),
            down.pop.eq(down.valid & self.i_track_ready.all()),
            self.o_track_valid.eq(down.pop.replicate(self.spec.tracks)),
            up.i.eq(selected),
            up.push.eq(used & up.room & multiplex(select, [self.i_track_valid[track] for track in tracks])),
            self.o_track_ready.eq(Cat(used & up.room & (select == track) for track in tracks)),
            self.o_stream.eq(up.o),
            self.o_stream_valid.eq(up.valid),
            up.pop.eq(up.valid & self.i_stream_ready),
        ]
