"""The way of results out of the array: chains along the rows, then down the east edge (seed 002, section 6.2)."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.systolic.buffers import Skid
from hw.systolic.bundles import result_beat
from hw.systolic.spec import ArraySpec

__all__ = ["Exit", "Marker", "Merge"]


class Marker(wiring.Component):
    """Marks the last one of every `words` results; no latency. Ports: `i` (stream of results), `o` (of beats)."""

    def __init__(self, bits: int, words: int):
        self._words = words
        super().__init__({"i": In(stream.Signature(bits)), "o": Out(stream.Signature(result_beat(bits)))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        place = Signal(range(self._words))
        m.d.comb += [
            self.o.p.data.eq(self.i.payload), self.o.p.end.eq(place == self._words - 1), self.o.valid.eq(self.i.valid),
            self.i.ready.eq(self.o.ready),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += place.eq(Mux(self.o.p.end, 0, place + 1))
        return m


class Merge(wiring.Component):
    """One place of a chain: of every tile first what comes from upstream, then its own beats; the last one is marked.

    Ports: `head`, a constant: nothing comes from upstream; `own`, `upstream`, `o` (streams of `result_beat`). Beats
    from upstream take a cycle, own ones none.
    """

    def __init__(self, bits: int):
        self._beat = result_beat(bits)
        beats = stream.Signature(self._beat)
        super().__init__({"head": In(1), "own": In(beats), "upstream": In(beats), "o": Out(beats)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.skid = skid = Skid(self._beat)
        connect(m, flipped(self.upstream), skid.i)
        passed, mine = Signal(), Signal()
        m.d.comb += [
            mine.eq(self.head | passed),
            self.o.valid.eq(Mux(mine, self.own.valid, skid.o.valid)),
            self.o.p.data.eq(Mux(mine, self.own.p.data, skid.o.p.data)),
            self.o.p.end.eq(mine & self.own.p.end),
            self.own.ready.eq(mine & self.o.ready), skid.o.ready.eq(~mine & self.o.ready),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += passed.eq(Mux(mine, ~self.own.p.end, skid.o.p.end))
        return m


class _Packer(wiring.Component):
    """`pack` results into a beat, the first one in its low bits; what `end` leaves open is undefined."""

    def __init__(self, bits: int, pack: int):
        self._bits, self._pack = bits, pack
        super().__init__({"i": In(stream.Signature(result_beat(bits))),
                          "o": Out(stream.Signature(result_beat(pack * bits)))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        place = Signal(range(self._pack))
        go, full = Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(~self.o.valid | self.o.ready), go.eq(self.i.valid & self.i.ready),
            full.eq(self.i.p.end | (place == self._pack - 1)),
        ]
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(go):
            m.d.sync += [self.o.valid.eq(full), self.o.p.end.eq(self.i.p.end), place.eq(Mux(full, 0, place + 1))]
        for k in range(self._pack):
            with m.If(go & (place == k)):
                m.d.sync += self.o.p.data[k * self._bits : (k + 1) * self._bits].eq(self.i.p.data)
        return m


class Exit(wiring.Component):
    """One place of the chain down the east edge: packs the results of its row, after those of the rows above.

    Ports: `head`, a constant: the uppermost one; `own` (results), `upstream`, `o` (beats of `pack` results).
    """

    def __init__(self, spec: ArraySpec):
        self._bits, self._pack = spec.word_bits(spec.result), spec.result.pack
        beats = stream.Signature(result_beat(self._pack * self._bits))
        super().__init__({"head": In(1), "own": In(stream.Signature(result_beat(self._bits))), "upstream": In(beats),
                          "o": Out(beats)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.packer = packer = _Packer(self._bits, self._pack)
        m.submodules.merge = merge = Merge(self._pack * self._bits)
        connect(m, flipped(self.own), packer.i)
        connect(m, packer.o, merge.own)
        connect(m, flipped(self.upstream), merge.upstream)
        connect(m, merge.o, flipped(self.o))
        m.d.comb += merge.head.eq(self.head)
        return m
