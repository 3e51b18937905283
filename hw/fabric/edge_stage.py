"""The north edge: one register between the array and the global buffer in each direction and column."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Member, Out

from hw.fabric.bus import BusReceiver, BusSignature
from hw.fabric.config import io_layout
from hw.fabric.connection_box import ConnectionBox
from hw.fabric.spec import FabricSpec
from hw.lib.configuration import ConfigurationStore
from hw.lib.multiplexer import hold

__all__ = ["EdgeStage"]


class EdgeStage(wiring.Component):
    """Edge stage of a column.

    `i_stream`: word from the global buffer; it is at `o_track`, which drives all tracks into row 0, one cycle later
    (`IO_INPUT_LATENCY`). `i_track*`: word tracks out of row 0; the one that is configured is at `o_stream`, towards
    the global buffer, one cycle later (`IO_OUTPUT_LATENCY`). `id`, `en`, `i_cfg`: as for a tile.
    """

    def __init__(self, spec: FabricSpec):
        self.spec = spec
        super().__init__(
            {
                "id": In(16),
                "en": In(1),
                "i_cfg": In(BusSignature()),
                "i_stream": In(spec.width),
                "o_stream": Out(spec.width),
                **{f"i_track{track}": In(spec.width) for track in range(spec.tracks)},
                "o_track": Out(spec.width),
                **self.further_ports(spec),
            }
        )

    @staticmethod
    def further_ports(spec: FabricSpec) -> dict[str, Member]:
        """Ports that stages of other arrays have besides."""
        return {}

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.receiver = receiver = BusReceiver()
        m.submodules.store = store = ConfigurationStore(io_layout(self.spec))
        receiver.connect(m, self)
        receiver.serve(m, store)
        m.submodules.connect = box = ConnectionBox(self.spec.width, self.spec.tracks)
        for track, signal in enumerate(box.i):
            m.d.comb += signal.eq(getattr(self, f"i_track{track}"))
        m.d.comb += box.select.eq(store.value("track"))
        en = Signal()
        m.d.sync += en.eq(self.en)
        self.add_registers(m, receiver, store, en, box.o)
        return m

    def add_registers(
        self, m: Module, receiver: BusReceiver, store: ConfigurationStore, en: Value, selected: Value
    ) -> None:
        """Pass words on, in both directions. `selected`: the track that is configured."""
        m.d.sync += self.o_track.eq(hold(self.o_track, en, self.i_stream))
        m.d.sync += self.o_stream.eq(hold(self.o_stream, en & store.value("used"), selected))
