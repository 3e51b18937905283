"""Queues, relays, register slices, buffets and FIFO channels against the contract of a queue, by a solver.

Bounded model checking from reset over `DEPTH` cycles, longer than it takes to fill and to empty any of these queues,
with both ends free: every run of that length. Words have one bit and queues are short; nothing in them depends on
either. Every proof is also made of a mutant of the module, which it refutes.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from formal import Contract, Together, mutant, prove
from queue_contract import Ends, QueueProof

from hw.dataflow.channels import DelayLine, FifoChannel
from hw.dataflow.edges import EdgeQueue
from hw.dataflow.spec import Word
from hw.dma.register_slice import Skid
from hw.dma.scratchpad import _RowQueue
from hw.dma.scratchpad_align import Skid as ScratchpadSkid
from hw.dma.scratchpad_align import Spare
from hw.dma.word_queue import BlockQueue, WordQueue
from hw.fabric.connection_box import DelayLine as InputDelay
from hw.fabric.elastic import Queue as CoreQueue
from hw.fabric.elastic import Relay
from hw.memtile.buffet import Buffet
from hw.memtile.spec import MemTileSpec
from hw.soc.store_queue import StoreQueue
from hw.systolic.buffers import LateQueue, LutQueue, StepQueue, SumQueue
from hw.systolic.buffers import Queue as PlainQueue
from hw.systolic.recurrence.edges import Buffer as CellBuffer
from hw.systolic.recurrence.queue import ReservedQueue

WIDTH = 1
DEPTH = 8

Attach = Callable[[Module, QueueProof], Ends]
Make = Callable[[Any], Attach]


def plain(m: Module, proof: QueueProof, dut: Any, i: Any, o: Any) -> Ends:
    """A module between two streams."""
    m.submodules.dut = dut
    m.d.comb += [i.payload.eq(proof.word), i.valid.eq(proof.put), o.ready.eq(proof.take)]
    return Ends(proof.put, i.ready, proof.word, o.valid, proof.take, o.payload)


def streams(kind: Any) -> Attach:
    def attach(m: Module, proof: QueueProof) -> Ends:
        dut = kind(WIDTH)
        return plain(m, proof, dut, getattr(dut, "i", None) or dut.input, getattr(dut, "o", None) or dut.output)

    return attach


def at_a_cell(kind: Any) -> Attach:
    def attach(m: Module, proof: QueueProof) -> Ends:
        dut = kind(WIDTH, 2)
        return plain(m, proof, dut, dut.i, dut.o)

    return attach


def row_queue(kind: Any) -> Attach:
    def attach(m: Module, proof: QueueProof) -> Ends:
        m.submodules.dut = dut = kind(data.StructLayout({"word": WIDTH}), 2)
        m.d.comb += [dut.input.p.word.eq(proof.word), dut.input.valid.eq(proof.put), dut.output.ready.eq(proof.take)]
        return Ends(proof.put, dut.input.ready, proof.word, dut.output.valid, proof.take, dut.output.p.word)

    return attach


def fifo(kind: Any) -> Attach:
    def attach(m: Module, proof: QueueProof) -> Ends:
        m.submodules.dut = dut = kind(WIDTH, 2)
        m.d.comb += [dut.w_data.eq(proof.word), dut.w_en.eq(proof.put), dut.r_en.eq(proof.take)]
        room = dut.w_rdy if hasattr(dut, "w_rdy") else counted_room(m, proof.put, dut.r_rdy & proof.take, 2)
        return Ends(proof.put, room, proof.word, dut.r_rdy, proof.take, dut.r_data)

    return attach


def counted_room(m: Module, put: Any, take: Any, depth: int) -> Signal:
    """What the owner of a queue that says nothing of its room knows."""
    level, room = Signal(range(depth + 1)), Signal()
    m.d.comb += room.eq(level != depth)
    m.d.sync += level.eq(level + put - take)
    return room


def words(kind: Any) -> Attach:
    def attach(m: Module, proof: QueueProof) -> Ends:
        m.submodules.dut = dut = kind(WIDTH, 2)
        m.d.comb += [dut.word.eq(proof.word), dut.put.eq(proof.put), dut.take.eq(proof.take)]
        return Ends(proof.put, dut.room, proof.word, dut.valid, proof.take, dut.data)

    return attach


def elastic(*depth: int) -> Make:
    def make(kind: Any) -> Attach:
        def attach(m: Module, proof: QueueProof) -> Ends:
            m.submodules.dut = dut = kind(WIDTH, *depth)
            m.d.comb += [dut.en.eq(1), dut.i.eq(proof.word), dut.push.eq(proof.put), dut.pop.eq(proof.take)]
            return Ends(proof.put, dut.room, proof.word, dut.valid, proof.take, dut.o)

        return attach

    return make


def reserved(kind: Any) -> Attach:
    """A word comes one cycle after its reservation."""

    def attach(m: Module, proof: QueueProof) -> Ends:
        m.submodules.dut = dut = kind(WIDTH, 3)
        late, word = Signal(), Signal(WIDTH)
        m.d.sync += [late.eq(proof.put), word.eq(proof.word)]
        m.d.comb += [dut.reserve.eq(proof.put), dut.push.eq(late), dut.i.eq(word), dut.o.ready.eq(proof.take)]
        return Ends(proof.put, dut.room, proof.word, dut.o.valid, proof.take, dut.o.payload)

    return attach


def owned(depth: int) -> Make:
    """A queue whose owner counts."""

    def make(kind: Any) -> Attach:
        def attach(m: Module, proof: QueueProof) -> Ends:
            m.submodules.dut = dut = kind(WIDTH, depth)
            m.d.comb += [dut.data.eq(proof.word), dut.push.eq(proof.put), dut.o.ready.eq(proof.take)]
            room = counted_room(m, proof.put, dut.o.valid & proof.take, depth)
            return Ends(proof.put, room, proof.word, dut.o.valid, proof.take, dut.o.payload)

        return attach

    return make


def sums(kind: Any) -> Attach:
    """Words come and go without asking: the owners are never more than four apart."""

    def attach(m: Module, proof: QueueProof) -> Ends:
        m.submodules.dut = dut = kind(WIDTH)
        m.d.comb += [dut.data.eq(proof.word), dut.push.eq(proof.put), dut.pop.eq(proof.take)]
        level = Signal(range(5))
        m.d.sync += level.eq(level + proof.put - proof.take)
        return Ends(proof.put, level != 4, proof.word, level != 0, proof.take, dut.head)

    return attach


def channel(kind: Any) -> Attach:
    """The compiler proves the level and that a word is read two enabled cycles after its writing at the earliest."""

    def attach(m: Module, proof: QueueProof) -> Ends:
        m.submodules.dut = dut = kind(Word(WIDTH, False), 3)
        m.d.comb += [dut.en.eq(1), dut.i.eq(proof.word), dut.push.eq(proof.put), dut.pop.eq(proof.take)]
        old, fresh = Signal(range(4)), Signal()  # words that can be read, and one that came in the cycle before
        m.d.sync += [fresh.eq(proof.put), old.eq(old + fresh - proof.take)]
        return Ends(proof.put, old + fresh != 3, proof.word, old != 0, proof.take, dut.o)

    return attach


def store(side: str) -> Make:
    """The words of a store queue on one of the two channels; memory answers at once, and takes the other one's."""

    def make(kind: Any) -> Attach:
        def attach(m: Module, proof: QueueProof) -> Ends:
            m.submodules.dut = dut = kind(4, 2)
            other = dut.w if side == "aw" else dut.aw
            mine = getattr(dut, side)
            gone = Signal(range(4))
            word = proof.word if side == "w" else proof.word << 1
            m.d.comb += [
                dut.store.valid.eq(proof.put), dut.store.p.address.eq(word), dut.store.p.data.eq(word),
                dut.store.p.sel.eq(0xF), mine.ready.eq(proof.take), other.ready.eq(1), dut.b.valid.eq(gone != 0),
            ]
            m.d.sync += gone.eq(gone + (mine.valid & mine.ready) - dut.b.valid)
            out = dut.w.p.data[0] if side == "w" else dut.aw.p.addr[3]
            return Ends(proof.put, dut.store.ready, proof.word, mine.valid, proof.take, out)

        return attach

    return make


class _Counter(wiring.Component):
    """In place of a controller: it fires for every token, for the address after the last one's."""

    def __init__(self, init: int, fires: bool):
        self._init, self._fires = init, fires
        super().__init__({"en": In(1), "fire": Out(1), "address0": Out(MemTileSpec.ADDRESS_WIDTH, init=init)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.fire.eq(self._fires)
        m.d.sync += self.address0.eq(self.address0 + self.en)
        return m


def buffet(kind: Any) -> Attach:
    """A buffet as a queue: every token of the output carries the next word, which is given up after it. Controllers,
    whose nests are tested by themselves, are counters."""

    class Counted(kind):
        def _controller(self, m: Module, name: str, advance: Any) -> Any:
            m.submodules[name] = counter = _Counter(int(name == "shrink0"), name != "update0")
            m.d.comb += counter.en.eq(advance)
            return counter

    def attach(m: Module, proof: QueueProof) -> Ends:
        dut = Counted(MemTileSpec(kind="buffet", word_width=WIDTH, fetch_width=2, depth=2))
        m.d.comb += dut.en.eq(1)
        return plain(m, proof, dut, dut.fill, dut.out)

    return attach


class Case(NamedTuple):
    """How a module is driven, and a mutation of it: a text inside the class, and what stands there instead."""

    kind: Any
    make: Make
    mutation: tuple[str, str]
    polite: bool = False


CASES = {
    "register slice": Case(Skid, streams, ("into ^ come", "into ^ self.i.valid")),
    "scratchpad slice": Case(ScratchpadSkid, streams, ("Mux(full, spare, self.input.payload)", "self.input.payload")),
    "scratchpad spare": Case(Spare, streams, ("with m.If(~full)", "with m.If(1)")),
    "scratchpad rows": Case(_RowQueue, row_queue, ("self.input.ready.eq(fifo.w_rdy)", "self.input.ready.eq(1)")),
    "block queue": Case(BlockQueue, fifo, ("self.w_en & self.w_rdy", "self.w_en")),
    "word queue": Case(WordQueue, words, ("(~self.valid | self.take)", "1")),
    "edge queue": Case(EdgeQueue, words, ("level >= most - 1", "level >= most")),
    "relay": Case(Relay, elastic(), ("Mux(full, second, self.i)", "self.i"), True),
    "core queue": Case(CoreQueue, elastic(2), ("~count[-1]", "1"), True),
    "reserved queue": Case(ReservedQueue, reserved, ("payload.eq(words.r_data)", "payload.eq(self.i)"), True),
    "words at a cell": Case(CellBuffer, at_a_cell, ("self.i.ready.eq(words.w_rdy)", "self.i.ready.eq(1)")),
    "step queue": Case(StepQueue, streams, ("second.eq(second + 1)", "second.eq(second)")),
    "late steps": Case(LateQueue, at_a_cell, ("reader.addr + pop", "reader.addr")),
    "sum queue": Case(SumQueue, sums, ("2 * late_places(delay)", "_STEPS // 2"), True),
    "queue of one": Case(PlainQueue, owned(1), ("self.o.valid.eq(0)", "self.o.valid.eq(1)"), True),
    "queue of two": Case(PlainQueue, owned(2), ("fifo.w_en.eq(self.push)", "fifo.w_en.eq(1)"), True),
    "LUT queue": Case(LutQueue, fifo, ("reader.addr + pop", "reader.addr"), True),
    "channel": Case(FifoChannel, channel, ("Mux(now == self.depth - 1, 0, now + 1)", "now + 1"), True),
    "addresses of stores": Case(StoreQueue, store("aw"), ("addressed != taken", "1")),
    "data of stores": Case(StoreQueue, store("w"), ("addr.eq(sent[:index])", "addr.eq(addressed[:index])")),
    "buffet": Case(Buffet, buffet, ("~self.out.valid | self.out.ready", "1")),
}


class DelayProof(Contract):
    """`o` is `i` of `TICKS` enabled cycles ago."""

    TICKS = 3

    def __init__(self, attach: Callable[[Module, DelayProof], Any]):
        self._attach = attach
        super().__init__({"en": In(1), "i": In(WIDTH)})

    def state(self, m: Module) -> None:
        out = self._attach(m, self)
        history = [Signal(WIDTH, name=f"history{k}") for k in range(self.TICKS)]
        age = Signal(range(self.TICKS + 1))
        with m.If(self.en):
            m.d.sync += [history[0].eq(self.i), *(b.eq(a) for a, b in pairwise(history))]
            m.d.sync += age.eq(Mux(age == self.TICKS, age, age + 1))
        self.must(m, (age != self.TICKS) | (out == history[-1]), "another word")


def delay(kind: Any) -> Callable[[Module, DelayProof], Any]:
    def attach(m: Module, proof: DelayProof) -> Any:
        m.submodules.dut = dut = kind(Word(WIDTH, False), proof.TICKS)
        m.d.comb += [dut.en.eq(proof.en), dut.i.eq(proof.i)]
        return dut.o

    return attach


def in_memory(kind: Any) -> Any:
    """The delay line with a memory, however short it is."""
    head = f"class {kind.__name__}("
    copy = mutant(kind, head, head) if kind is DelayLine else kind
    copy.elaborate.__globals__["_SHORTEST_MEMORY"] = 1
    return copy


def slotted(kind: Any) -> Callable[[Module, DelayProof], Any]:
    """The input of a tile, whose register comes behind the line."""

    def attach(m: Module, proof: DelayProof) -> Any:
        m.submodules.dut = dut = kind(WIDTH, 4)
        slot, late = Signal(range(4)), Signal(WIDTH)
        m.d.comb += [dut.en.eq(proof.en), dut.i.eq(proof.i), dut.slot.eq(slot), dut.used.eq(1),
                     dut.delay.eq(proof.TICKS - 1)]
        with m.If(proof.en):
            m.d.sync += [slot.eq(slot + 1), late.eq(dut.o)]
        return late

    return attach


DELAYS = {
    "delay in registers": (DelayLine, delay, ("after.eq(before)", "after.eq(self.i)")),
    "delay in memory": (DelayLine, lambda kind: delay(in_memory(kind)), ("addr.eq(following)", "addr.eq(place)")),
    "delay of a tile's input": (InputDelay, slotted, ("write.addr.eq(self.slot)", "write.addr.eq(~self.slot)")),
}


def contracts(*, mutated: bool) -> dict[str, Contract]:
    delays = {name: DelayProof(make(mutant(kind, *mutation) if mutated else kind))
              for name, (kind, make, mutation) in DELAYS.items()}
    made = {name: QueueProof(case.make(mutant(case.kind, *case.mutation) if mutated else case.kind), WIDTH, patience=3,
                             polite=case.polite) for name, case in CASES.items()}
    return {**made, **delays}


def test_words_come_out_as_they_went_in(tmp_path: Path) -> None:
    assert not prove(tmp_path, Together(contracts(mutated=False)), DEPTH)


def test_every_mutant_is_refuted(tmp_path: Path) -> None:
    """All in one run; if there is none, each by itself, to say which one is not refuted."""
    if prove(tmp_path, Together(contracts(mutated=True), refuted=True), DEPTH, mode="cover"):
        right = [name for name, contract in contracts(mutated=True).items()
                 if prove(tmp_path, Together({name: contract}, refuted=True), DEPTH, mode="cover")]
        raise AssertionError(f"the mutants of {right} keep the contract")
