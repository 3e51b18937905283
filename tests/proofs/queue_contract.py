"""The contract of a queue: what comes out is what went in, in order, nothing lost, nothing twice, nothing for ever.

A free bit marks one word that goes in: as many words as are inside then come out before it, and it is the next one. A
word that is offered stays, unchanged, until it is taken; what is inside is offered, and an empty queue has room, within
so many cycles. Both ends are free in every cycle, so a run of the bounded length is any run of that length.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from amaranth.hdl import Assume, Module, Mux, Signal, Value
from amaranth.lib.wiring import In
from formal import Contract

__all__ = ["Ends", "QueueProof"]

_LEVEL_BITS = 3


class Ends(NamedTuple):
    """A queue's two ends: a word goes in while `put` and `room`, one comes out while `valid` and `take`."""

    put: Value
    room: Value
    word: Value
    valid: Value
    take: Value
    out: Value


class QueueProof(Contract):
    """`attach` puts the queue into a module, drives it from the ports given, and says which its ends are.

    `patience`: cycles in which a word that is inside must be offered, and in which an empty queue must have room.
    `polite`: words go in and out only where there is room and a word, as the queue demands. `stays`: a word that is
    offered may not be taken back, nor changed.
    """

    def __init__(self, attach: Callable[[Module, QueueProof], Ends], width: int, *, patience: int, polite: bool = False,
                 stays: bool = True):
        self.attach, self.patience, self.polite, self.stays = attach, patience, polite, stays
        super().__init__({"put": In(1), "take": In(1), "word": In(width), "mark": In(1)})

    def state(self, m: Module) -> None:
        ends = self.attach(m, self)
        goes_in, goes_out = Signal(), Signal()
        level, ahead = Signal(_LEVEL_BITS), Signal(_LEVEL_BITS)  # words inside; those before the marked one
        same = Signal(init=1)
        marked, kept, starts = Signal(), Signal(len(self.word)), Signal()
        m.d.comb += [goes_in.eq(ends.put & ends.room), goes_out.eq(ends.valid & ends.take),
                     starts.eq(goes_in & self.mark & ~marked)]
        if self.polite:
            m.d.comb += [Assume(~ends.put | ends.room), Assume(~ends.take | ends.valid)]
        m.d.sync += level.eq(level + goes_in - goes_out)
        with m.If(starts):
            m.d.sync += [marked.eq((level != 0) | ~goes_out), kept.eq(ends.word), ahead.eq(level - goes_out)]
            with m.If(goes_out & (level == 0)):
                m.d.comb += same.eq(ends.out == ends.word)
        with m.Elif(marked & goes_out):
            m.d.sync += [ahead.eq(ahead - 1), marked.eq(ahead != 0)]
            with m.If(ahead == 0):
                m.d.comb += same.eq(ends.out == kept)
        self.must(m, same, "another word comes out")
        self.must(m, ~goes_out | (level != 0) | goes_in, "a word comes out that never went in")
        if self.stays:
            self._stays(m, ends, goes_out)
        self._moves(m, ends, level != 0)

    def _stays(self, m: Module, ends: Ends, goes_out: Value) -> None:
        """A word that is offered and not taken is offered in the next cycle, unchanged. (A word that goes past an empty
        queue is offered by whoever puts it, who may take it back while there is no room.)"""
        offered, before = Signal(), Signal(len(ends.out))
        m.d.sync += [offered.eq(ends.valid & ~goes_out & ~(ends.put & ~ends.room)), before.eq(ends.out)]
        self.must(m, ~offered | ends.valid, "a word is taken back")
        self.must(m, ~offered | (ends.out == before), "a word changes while it is offered")

    def _moves(self, m: Module, ends: Ends, some: Value) -> None:
        waited, closed = Signal(range(self.patience + 2)), Signal(range(self.patience + 2))
        m.d.sync += [waited.eq(Mux(some & ~ends.valid, waited + 1, 0)),
                     closed.eq(Mux(~some & ~ends.room, closed + 1, 0))]
        self.must(m, waited <= self.patience, "a word is not offered")
        self.must(m, closed <= self.patience, "an empty queue has no room")
