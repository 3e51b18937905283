"""The way of results out of the array: chains along the rows, then down the east edge (Wang 2021, section 6.2).

Chains go in rounds, to each of which every place adds one beat. So all rows send at the same time, and what has been
completed does not wait for the rest of its tile: the chain down the edge carries a beat per cycle as long as rows
have results.
"""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.dma.register_slice import Skid
from hw.systolic.bundles import result_beat
from hw.systolic.convert import Widen
from hw.systolic.spec import ArraySpec

__all__ = ["Exit", "Merge"]


class Merge(wiring.Component):
    """One place of a chain: of every round first what comes from upstream, then one beat of its own, the last one.

    Ports: `head`, a constant: nothing comes from upstream; `own` (stream of `bits` bits), `upstream`, `o` (streams of
    `result_beat`). Beats from upstream take a cycle, own ones none.
    """

    def __init__(self, bits: int):
        self._beat = result_beat(bits)
        beats = stream.Signature(self._beat)
        super().__init__({"head": In(1), "own": In(stream.Signature(bits)), "upstream": In(beats), "o": Out(beats)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.skid = skid = Skid(self._beat)
        connect(m, flipped(self.upstream), skid.i)
        passed, mine = Signal(), Signal()
        m.d.comb += [
            mine.eq(self.head | passed),
            self.o.valid.eq(Mux(mine, self.own.valid, skid.o.valid)),
            self.o.p.data.eq(Mux(mine, self.own.payload, skid.o.p.data)), self.o.p.end.eq(mine),
            self.own.ready.eq(mine & self.o.ready), skid.o.ready.eq(~mine & self.o.ready),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += passed.eq(~mine & skid.o.p.end)
        return m


class Exit(wiring.Component):
    """One place of the chain down the east edge: packs the results of its row, and sends a beat of them after those of
    the rows above. A tile's last beat is sent with fewer results if `pack` does not divide their number.

    Ports: `head`, a constant: the uppermost one; `own` (beats of `row_pack` results), `upstream`, `o` (beats of `pack`
    results).
    """

    def __init__(self, spec: ArraySpec):
        result = spec.result
        self._bits = result.row_pack * spec.word_bits(result)
        self._pack, self._words = result.pack // result.row_pack, spec.exit_words // result.row_pack
        beats = stream.Signature(result_beat(self._pack * self._bits))
        super().__init__({"head": In(1), "own": In(stream.Signature(result_beat(self._bits))), "upstream": In(beats),
                          "o": Out(beats)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.packer = packer = Widen(self._bits, self._pack)
        m.submodules.merge = merge = Merge(self._pack * self._bits)
        m.d.comb += [
            merge.head.eq(self.head), packer.i.payload.eq(self.own.p.data), packer.i.valid.eq(self.own.valid),
            self.own.ready.eq(packer.i.ready),
        ]
        connect(m, packer.o, merge.own)
        connect(m, flipped(self.upstream), merge.upstream)
        connect(m, merge.o, flipped(self.o))
        if self._words % self._pack:
            word = Signal(range(self._words))
            m.d.comb += packer.flush.eq(word == self._words - 1)
            with m.If(packer.i.valid & packer.i.ready):
                m.d.sync += word.eq(Mux(packer.flush, 0, word + 1))
        return m
