"""Buffet: a memory that is filled, read, updated and shrunk by ready-valid streams and checks what they depend on.

Words are appended (fill) and given up in the same order (shrink); those in between are live. A read or an update of a
word that is not live yet waits, and so does a fill while all words of the SRAM are live: producer and consumer run
decoupled, in any relative timing. Addresses come from the tile's own affine controllers, whose clock is not a global
cycle counter but the number of tokens of their stream. Liu 2023, section 6.2 and figure 6.5.
"""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, Signature

from hw.lib.multiplexer import hold
from hw.memtile.buffet_config import AHEAD_BITS, BuffetMode, BuffetRegister
from hw.memtile.core import CONTROL_PORTS, MemCore
from hw.memtile.dual_port import DualPortSram
from hw.memtile.spec import TILE_FEATURE, MemTileSpec

__all__ = ["BUFFET_LATENCY", "Buffet"]

BUFFET_LATENCY = 3
"""Cycles from a word at `fill` to the same word at `out`, at least: SRAM write, SRAM read, output register."""


class Buffet(MemCore):
    """The buffet. Configuration: `BuffetConfig`; a buffet without one takes all tokens and gives place holders.

    Ports:

    - `en`: a cycle happens; tokens pass only in cycles with `en`. `flush`: restart, all words are given up.
    - `cfg` (`ConfigSignature`): a configuration write, at any time (SRAM contents only while `en` is 0).
    - `fill`, `update`, `out`: streams of `word_width` bits.

    Token t of a stream belongs to time t of the stream's controllers. A token of `fill` or `update` that its controller
    does not fire for is taken and forgotten; a token of `out` that `read` does not fire for carries no word. Words
    that are given up must have been filled, so a token that shrinks waits for the last of them. Each stream passes a
    token per cycle if nothing is missing. Updates go before fills at the SRAM's write port, and a read
    of the word that is updated in the same cycle comes a cycle later.
    """

    kind = "buffet"

    @staticmethod
    def signature_of(spec: MemTileSpec) -> Signature:
        word = stream.Signature(spec.word_width)
        return Signature({**CONTROL_PORTS, "fill": In(word), "update": In(word), "out": Out(word)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._configuration(m)
        m.submodules.sram = self._sram = DualPortSram(self.spec)
        self._head, self._tail = (Signal(MemTileSpec.ADDRESS_WIDTH, name=name) for name in ("head", "tail"))
        self._ahead_now = Signal(AHEAD_BITS)
        self._fill_ready, self._fill_taken = Signal(), Signal()
        updated = self._connect_updates(m)
        self._connect_fills(m, updated)
        self._connect_reads(m, updated)
        with m.If(self.flush):
            m.d.sync += [self._head.eq(0), self._tail.eq(self._present), self._ahead_now.eq(0)]
        return m

    def _configuration(self, m: Module) -> None:
        self._mode, self._ahead = Signal(2), Signal(AHEAD_BITS)
        self._present = Signal(MemTileSpec.ADDRESS_WIDTH)
        written = self.cfg.valid & (self.cfg.feature == TILE_FEATURE)
        for register, target in ((BuffetRegister.MODE, self._mode), (BuffetRegister.AHEAD, self._ahead),
                                 (BuffetRegister.PRESENT, self._present)):
            m.d.sync += target.eq(hold(target, written & (self.cfg.register == register), self.cfg.data))
        self._lookup, self._table = self._mode[BuffetMode.LOOKUP], self._mode[BuffetMode.TABLE]

    def _is_live(self, address: Value) -> Value:
        """Whether a word has been filled and not been given up."""
        return self._offset(address) < self._offset(self._tail)

    def _offset(self, address: Value) -> Value:
        """Words from the head on, modulo 2^16."""
        return (address - self._head)[: MemTileSpec.ADDRESS_WIDTH]

    def _connect_updates(self, m: Module) -> Signal:
        """The result is whether a word is updated in this cycle."""
        taken, updated = Signal(), Signal(name="updated")
        controller = self._controller(m, "update0", taken)
        m.d.comb += [
            self.update.ready.eq(~controller.fire | self._is_live(controller.address0)),
            taken.eq(self.en & self.update.valid & self.update.ready),
            updated.eq(taken & controller.fire),
        ]
        self._update_address = controller.address0
        return updated

    def _connect_fills(self, m: Module, updated: Value) -> None:
        filled = Signal()
        m.d.comb += self._fill_taken.eq(self.en & self.fill.valid & self._fill_ready & ~self._lookup)
        controller = self._controller(m, "fill0", self._fill_taken)
        full = self._offset(self._tail)[self.spec.sram_bits]
        m.d.comb += [
            self._fill_ready.eq(~controller.fire | ~(full | updated)),
            filled.eq(self._fill_taken & controller.fire),
        ]
        with m.If(filled):
            m.d.sync += self._tail.eq(self._tail + 1)
        contents, sram = self._contents_write(), self._sram
        m.d.comb += [
            sram.write.eq(contents.valid | updated | filled),
            sram.write_address.eq(Mux(contents.valid, contents.index, Mux(updated, self._update_address, self._tail))),
            sram.write_data.eq(Mux(contents.valid, self.cfg.data,
                                   Mux(updated, self.update.payload, self.fill.payload))),
        ]

    def _may_read(self, address: Value) -> Value:
        """Whether a word is there, its update is not missing, and its SRAM word is not written just now."""
        current = (self._ahead == 0) | (self._ahead_now < self._ahead)
        return self._table | (self._is_live(address) & current & ~self._sram.collision)

    def _connect_reads(self, m: Module, updated: Value) -> None:
        """Two stages, the SRAM's register and the output's, each of which waits only for the next one."""
        sram, issue = self._sram, Signal()
        read, shrink = (self._controller(m, name, issue) for name in ("read0", "shrink0"))
        fetched, word, loaded, possible, shrunk = (
            Signal(name=name) for name in ("fetched", "word", "loaded", "possible", "shrunk"))
        m.d.comb += [
            shrunk.eq(~shrink.fire | (self._offset(shrink.address0) <= self._offset(self._tail))),
            possible.eq(Mux(self._lookup, self.fill.valid, (~read.fire | self._may_read(read.address0)) & shrunk)),
            loaded.eq(~self.out.valid | self.out.ready),
            issue.eq(self.en & possible & (~fetched | loaded)),
            sram.read.eq(issue & (read.fire | self._lookup)),
            sram.read_address.eq(Mux(self._lookup, self.fill.payload, read.address0)),
            self.fill.ready.eq(Mux(self._lookup, ~fetched | loaded, self._fill_ready)),
        ]
        with m.If(self.en):
            m.d.sync += [fetched.eq(issue | (fetched & ~loaded)), self.out.valid.eq(~loaded | fetched)]
        with m.If(issue):
            m.d.sync += word.eq(sram.read)
        with m.If(self.en & loaded & fetched & word):
            m.d.sync += self.out.payload.eq(sram.read_data)
        with m.If(issue & shrink.fire):
            m.d.sync += self._head.eq(shrink.address0)
        m.d.sync += self._ahead_now.eq(self._ahead_now + (issue & read.fire) - updated)
        with m.If(self.flush):
            m.d.sync += [fetched.eq(0), self.out.valid.eq(0)]
