"""The north edge of the ready-valid array: a relay between the array and the global buffer in each direction."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.configuration import ConfigurationStore
from hw.fabric.bus import BUS, BusReceiver
from hw.fabric.config import io_layout
from hw.fabric.elastic import Relay
from hw.fabric.spec import FabricSpec
from hw.multiplexer import multiplex

__all__ = ["ElasticEdgeStage"]


class ElasticEdgeStage(wiring.Component):
    """Edge stage of a column.

    `i_stream` with `i_stream_valid` and `o_stream_ready`: a token from the global buffer; one cycle later it is at
    `o_track`, which drives all tracks into row 0, and goes in a cycle in which all of them are ready (`i_track_ready`,
    `o_track_valid`, a bit for each). `i_track*` with `i_track_valid` and `o_track_ready`: word tracks out of row 0; a
    token of the one that is configured is at `o_stream`, with `o_stream_valid` and `i_stream_ready`, one cycle later.
    `id`, `en`, `flush`, `i_cfg_*`: as for a tile.
    """

    def __init__(self, spec: FabricSpec):
        self.spec = spec
        super().__init__(
            {
                "id": In(16),
                "en": In(1),
                "flush": In(1),
                **{f"i_cfg_{name}": In(width) for name, width in BUS.items()},
                "i_stream": In(spec.width),
                "i_stream_valid": In(1),
                "o_stream_ready": Out(1),
                "o_stream": Out(spec.width),
                "o_stream_valid": Out(1),
                "i_stream_ready": In(1),
                **{f"i_track{track}": In(spec.width) for track in range(spec.tracks)},
                "i_track_valid": In(spec.tracks),
                "o_track_ready": Out(spec.tracks),
                "o_track": Out(spec.width),
                "o_track_valid": Out(spec.tracks),
                "i_track_ready": In(spec.tracks),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.receiver = receiver = BusReceiver()
        m.submodules.store = store = ConfigurationStore(io_layout(self.spec))
        receiver.connect(m, self)
        receiver.serve(m, store)
        m.submodules.down = down = Relay(self.spec.width)
        m.submodules.up = up = Relay(self.spec.width)
        en, flush = Signal(), Signal()
        m.d.sync += [en.eq(self.en), flush.eq(self.flush)]
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
            up.i.eq(multiplex(select, [getattr(self, f"i_track{track}") for track in tracks])),
            up.push.eq(used & up.room & multiplex(select, [self.i_track_valid[track] for track in tracks])),
            self.o_track_ready.eq(Cat(used & up.room & (select == track) for track in tracks)),
            self.o_stream.eq(up.o),
            self.o_stream_valid.eq(up.valid),
            up.pop.eq(up.valid & self.i_stream_ready),
        ]
        return m
