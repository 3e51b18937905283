"""How words come to the cells and results leave them: daisy chains with wires between neighbours only (Wang 2021, 6.2).

Words come in at the near end of a chain with the coordinates of their cell, which the head counts out; every stage
keeps its own and passes on the others. Results leave in the order of the stream: the head sends empty slots with
coordinates, and the stage of that cell fills the slot. Both run at a word per cycle, and wait for as long as they must.
"""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Const, Module, Shape, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from hw.dataflow.affine import predicate_value
from hw.dataflow.counters import CounterChain
from hw.dataflow.spec import Counter, Predicate

__all__ = ["STAGE_WORDS", "Buffer", "DrainStage", "Head", "LoadStage", "head_layout", "tagged"]

STAGE_WORDS = 2
"""Words per stage: enough for a word per cycle when `ready` comes a cycle late."""


def tagged(width: int, tags: Sequence[int]) -> data.StructLayout:
    """A word of `width` bits (0: a slot without data) with the coordinates it is for, `tags` bits wide."""
    return data.StructLayout({"data": width, **{f"tag{k}": bits for k, bits in enumerate(tags)}})


def head_layout(counters: Sequence[Counter], position: Sequence[int], width: int) -> data.StructLayout:
    """What a `Head` sends."""
    return tagged(width, [counters[k].shape.width for k in position])


class Head(wiring.Component):
    """Counts out the coordinates of a chain's words. After reset it takes `row` if `held` is 1, and begins by itself.

    `i`: words of `width` bits (0: none are taken, slots are sent). `o`: `tagged` words. `position`: which counters are
    the tags.
    """

    def __init__(self, counters: tuple[Counter, ...], at: Predicate, position: Sequence[int], width: int,
                 held: int = 0):
        self.counters, self.at, self.position, self.width, self.held = counters, at, tuple(position), width, held
        self.layout = head_layout(counters, position, width)
        super().__init__({
            **({"row": In(counters[0].shape)} if held else {}),
            **({"i": In(stream.Signature(width))} if width else {}),
            "o": Out(stream.Signature(self.layout)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.steps = steps = CounterChain(self.counters, held=self.held)
        loaded, running, present = Signal(), Signal(init=1), Signal()
        there: Value = self.i.valid if self.width else Const(1, 1)
        m.d.comb += [
            steps.load.eq(~loaded), present.eq(predicate_value(self.at, steps.vector)),
            self.o.valid.eq(loaded & running & present & there),
            steps.en.eq(loaded & running & (~present | (there & self.o.ready))),
        ]
        if self.held:
            m.d.comb += steps.size0.eq(self.row)
        if self.width:
            m.d.comb += [self.o.p.data.eq(self.i.payload),
                         self.i.ready.eq(loaded & running & present & self.o.ready)]
        for k, counter in enumerate(self.position):
            m.d.comb += self.o.p[f"tag{k}"].eq(steps.vector[counter])
        m.d.sync += loaded.eq(1)
        with m.If(steps.en & steps.last):
            m.d.sync += running.eq(0)
        return m


class Buffer(wiring.Component):
    """`depth` words that wait at a cell for their step."""

    def __init__(self, width: int, depth: int):
        self.width, self.depth = width, depth
        super().__init__({"i": In(stream.Signature(width)), "o": Out(stream.Signature(width))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.words = words = SyncFIFO(width=self.width, depth=self.depth)
        m.d.comb += [
            words.w_data.eq(self.i.payload), words.w_en.eq(self.i.valid), self.i.ready.eq(words.w_rdy),
            self.o.payload.eq(words.r_data), self.o.valid.eq(words.r_rdy), words.r_en.eq(self.o.ready),
        ]
        return m


class LoadStage(wiring.Component):
    """Keeps the words whose tag number `tag` is `coordinate` (stream `o_mine`), passes on the others (`o_next`)."""

    def __init__(self, layout: data.StructLayout, tag: int):
        self.layout, self.tag = layout, tag
        self.bits = Shape.cast(layout[f"tag{tag}"].shape).width
        super().__init__({
            "coordinate": In(self.bits), "i": In(stream.Signature(layout)),
            "o_mine": Out(stream.Signature(layout)), "o_next": Out(stream.Signature(layout)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.words = words = SyncFIFO(width=Shape.cast(self.layout).width, depth=STAGE_WORDS)
        word = data.View(self.layout, words.r_data)
        mine = Signal()
        m.d.comb += [
            words.w_data.eq(self.i.payload.as_value()), words.w_en.eq(self.i.valid), self.i.ready.eq(words.w_rdy),
            mine.eq(word[f"tag{self.tag}"] == self.coordinate),
            self.o_mine.p.eq(word), self.o_next.p.eq(word),
            self.o_mine.valid.eq(words.r_rdy & mine), self.o_next.valid.eq(words.r_rdy & ~mine),
        ]
        with m.If(mine):
            m.d.comb += words.r_en.eq(self.o_mine.ready)
        with m.Else():
            m.d.comb += words.r_en.eq(self.o_next.ready)
        return m


class DrainStage(wiring.Component):
    """Fills the slots whose tag is `coordinate` with words of stream `word`; passes on everything in order. A word
    takes a cycle."""

    def __init__(self, width: int, bits: int):
        self.width, self.bits = width, bits
        self.layout = tagged(width, [bits])
        super().__init__({
            "coordinate": In(bits), "i": In(stream.Signature(self.layout)), "word": In(stream.Signature(width)),
            "o": Out(stream.Signature(self.layout)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.slots = slots = SyncFIFO(width=Shape.cast(self.layout).width, depth=STAGE_WORDS)
        filled = Signal(self.layout)
        mine, go = Signal(), Signal()
        m.d.comb += [
            mine.eq(self.i.p.tag0 == self.coordinate),
            go.eq(self.i.valid & slots.w_rdy & (~mine | self.word.valid)),
            filled.eq(self.i.p), slots.w_data.eq(filled.as_value()), slots.w_en.eq(go),
            self.i.ready.eq(go), self.word.ready.eq(go & mine),
            self.o.p.eq(data.View(self.layout, slots.r_data)), self.o.valid.eq(slots.r_rdy),
            slots.r_en.eq(self.o.ready),
        ]
        with m.If(mine):
            m.d.comb += filled.data.eq(self.word.payload)
        return m
