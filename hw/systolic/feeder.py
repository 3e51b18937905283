"""Feeders: double buffers on a daisy chain, that keep what is theirs and pass on the rest (Wang 2021, section 6.2).

All feeders of a chain get their first beat, the farthest one before the others, then all get their second one: so they
have their words at about the same time, and the first step of a tile is not held up on its way through the array. Where
steps take words in their order (`ArraySpec.is_streamed`), they begin as soon as the beats that they need are there.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory, ReadPort
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.dma.register_slice import Skid
from hw.systolic.bundles import address_bits, chain_beat
from hw.systolic.spec import INTERIOR, ArraySpec, OperandSpec

__all__ = ["FEEDER_LUT_RAM_BITS", "Feeder", "Junction", "feeder_latency"]

FEEDER_LUT_RAM_BITS = 512
"""Larger memories become block RAM, which is slow: a register follows it."""


def feeder_latency(spec: ArraySpec, operand: OperandSpec) -> int:
    """Cycles from `read` to `word` of the operand's feeders: 1, or 2 if they are block RAM."""
    return 2 if _row_bits(spec, operand) * _depth(spec, operand) > FEEDER_LUT_RAM_BITS else 1


def _row_bits(spec: ArraySpec, operand: OperandSpec) -> int:
    return operand.pack * spec.word_bits(operand)


def _depth(spec: ArraySpec, operand: OperandSpec) -> int:
    return (1 + operand.double_buffered) << address_bits(spec.feeder_beats(operand))


class _Chain(wiring.Component):
    """One place of a daisy chain: beats with no hop left in the field `name` leave at `kept`, the others at `next` with
    a hop less; those of a `copied` operand leave at both. Ports: `i`, `kept`, `next`."""

    def __init__(self, spec: ArraySpec, operand: OperandSpec, name: str):
        self._copied, self._name = operand.copied, name
        self._beat = chain_beat(spec, operand)
        beats = stream.Signature(self._beat)
        super().__init__({"i": In(beats), "kept": Out(beats), "next": Out(beats)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Whether a beat goes further is found out before the register slice, so that no way out of it starts with a
        # comparison.
        m.submodules.skid = skid = Skid(data.StructLayout({"beat": self._beat, "further": 1}))
        numbered = self._name in self._beat.members
        m.d.comb += [
            skid.i.p.beat.eq(self.i.p), skid.i.valid.eq(self.i.valid), self.i.ready.eq(skid.i.ready),
            skid.i.p.further.eq(self.i.p[self._name] != 0 if numbered else 0),
        ]
        beat, came, kept, after = skid.o, skid.o.p.beat, self.kept, self.next
        m.d.comb += [kept.p.eq(came), after.p.eq(came)]
        if self._copied:
            m.d.comb += [
                kept.valid.eq(beat.valid & after.ready), after.valid.eq(beat.valid & kept.ready),
                beat.ready.eq(kept.ready & after.ready),
            ]
            return m
        further = beat.p.further
        if numbered:
            m.d.comb += after.p[self._name].eq(came[self._name] - 1)
        m.d.comb += [
            kept.valid.eq(beat.valid & ~further), after.valid.eq(beat.valid & further),
            beat.ready.eq(Mux(further, after.ready, kept.ready)),
        ]
        return m


class Junction(wiring.Component):
    """Where the chain of an `INTERIOR` operand, on its way along the north edge, sends a column its beats.

    Ports: `fill` (beats come), `down` (to the column), `next` (to the next junction).
    """

    def __init__(self, spec: ArraySpec, operand: OperandSpec):
        self._spec, self._operand = spec, operand
        beats = stream.Signature(chain_beat(spec, operand))
        super().__init__({"fill": In(beats), "down": Out(beats), "next": Out(beats)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.chain = chain = _Chain(self._spec, self._operand, "across")
        connect(m, flipped(self.fill), chain.i)
        connect(m, chain.kept, flipped(self.down))
        connect(m, chain.next, flipped(self.next))
        return m


class Feeder(wiring.Component):
    """The words of one tile of an operand, and of the next one.

    Ports: `fill` (beats come), `next` (those of other feeders). `claim`: the word at `address` is the first one of its
    beat that is read; if the operand is streamed. `full`: there is a tile, or else the beat of the word at `address`.
    `read` with `address` puts a word of it on `word` `feeder_latency` cycles later, the first of them at once and the
    second one when `advance` is high; there it stays. `release`, with the last `read`, gives the tile up.
    """

    def __init__(self, spec: ArraySpec, operand: OperandSpec):
        self._spec, self._operand = spec, operand
        beats = stream.Signature(chain_beat(spec, operand))
        super().__init__({
            "fill": In(beats), "next": Out(beats), "full": Out(1), "read": In(1), "release": In(1),
            "claim": In(1), "advance": In(1),
            "address": In(max(1, address_bits(operand.words))), "word": Out(spec.word_bits(operand)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        beats, banks = self._spec.feeder_beats(self._operand), 1 + self._operand.double_buffered
        name = "down" if self._operand.direction == INTERIOR else "along"
        m.submodules.chain = chain = _Chain(self._spec, self._operand, name)
        connect(m, flipped(self.fill), chain.i)
        connect(m, chain.next, flipped(self.next))
        size = address_bits(beats)
        shape = _row_bits(self._spec, self._operand)
        m.submodules.memory = memory = Memory(shape=shape, depth=_depth(self._spec, self._operand), init=[])
        writer, reader = memory.write_port(), memory.read_port()
        filled, place = Signal(banks), Signal(max(1, size))
        into, out = Signal(banks - 1), Signal(banks - 1)
        kept = chain.kept
        m.d.comb += [
            kept.ready.eq(~_bit(filled, into)),
            writer.addr.eq(Cat(place[:size], into)), writer.data.eq(kept.p.data), writer.en.eq(kept.valid & kept.ready),
        ]
        last = place == beats - 1
        with m.If(writer.en):
            m.d.sync += place.eq(Mux(last, 0, place + 1))
        ended, released = writer.en & last, self.read & self.release
        for bank in range(banks):
            with m.If(ended & (into == bank)):
                m.d.sync += filled[bank].eq(1)
            with m.If(released & (out == bank)):
                m.d.sync += filled[bank].eq(0)
        if banks > 1:
            m.d.sync += [into.eq(into ^ ended), out.eq(out ^ released)]
        self._read(m, reader, out)
        # No word is written and read at once; saying so spares synthesis the emulation of colliding accesses.
        if self._spec.is_streamed(self._operand):
            early = self._early(m, writer.en, into == out, released, place)
            m.d.comb += [self.full.eq(_bit(filled, out) | ~self.claim | early),
                         reader.en.eq(self.read & ~(writer.en & (writer.addr == reader.addr)))]
        else:
            m.d.comb += [self.full.eq(_bit(filled, out)), reader.en.eq(self.read & ~(kept.ready & (into == out)))]
        return m

    def _early(self, m: Module, came: Value, same: Value, released: Value, place: Value) -> Value:
        """Whether a beat of the tile that is read has come and not been claimed. `came`: one comes to number `place` of
        its tile, the `same` as is read; `released`: that one is given up. Once a tile is complete nobody asks."""
        beats = self._spec.feeder_beats(self._operand)
        left, some, several = Signal(range(beats + 1)), Signal(), Signal()
        claimed, own = self.read & self.claim, came & same
        m.d.comb += several.eq((left != 0) & (left != 1))
        m.d.sync += [left.eq(left + own - claimed), some.eq(own | Mux(claimed, several, some))]
        with m.If(released):
            m.d.sync += [left.eq(Mux(same, 0, place + came)), some.eq(~same & (came | (place != 0)))]
        return some

    def _read(self, m: Module, reader: ReadPort, bank: Value) -> None:
        """The row of the word, in block RAM a register, then the word in the row."""
        low = self._operand.pack.bit_length() - 1
        size = address_bits(self._spec.feeder_beats(self._operand))
        m.d.comb += reader.addr.eq(Cat(self.address[low : low + size], bank))
        row: Value = reader.data
        lane: Value = Const(0)
        if low:
            lane = Signal(low, name="lane")
            with m.If(self.read):
                m.d.sync += lane.eq(self.address[:low])
        if feeder_latency(self._spec, self._operand) == 2:
            row, lane = (_held(m, self.advance, value, name) for value, name in ((row, "row"), (lane, "row_lane")))
        m.d.comb += self.word.eq(row.word_select(lane, len(self.word)) if low else row)


def _held(m: Module, advance: Value, value: Value, name: str) -> Value:
    """`value` behind a register that `advance` lets it into."""
    register = Signal(value.shape(), name=name, reset_less=True)
    with m.If(advance):
        m.d.sync += register.eq(value)
    return register


def _bit(bits: Value, number: Value) -> Value:
    return bits.bit_select(number, 1) if len(number) else bits
