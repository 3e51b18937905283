"""What goes from neighbour to neighbour: the layouts of the streams between the parts of an array.

A step is a *token* that the sequencer makes. It goes along the edges, picks up the words of the operands there, and
passes through the PEs: from west to east with the words that go east and with everything that PEs have to know about
the step, from north to south with the words that go south. No part counts steps or tiles.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from amaranth.hdl import Value
from amaranth.lib import data

from hw.systolic.spec import EAST, INTERIOR, SOUTH, ArraySpec, Direction, OperandSpec, ResultSpec

__all__ = ["Bundles", "address_bits", "chain_beat", "field", "hop_fields", "part_of", "result_beat"]


def address_bits(words: int) -> int:
    """Bits of the address of one of `words` words; 0 for a single one."""
    return (words - 1).bit_length()


def chain_beat(spec: ArraySpec, operand: OperandSpec) -> data.StructLayout:
    """A beat of an operand's daisy chain: `pack` words, and how far it has to go (`hop_fields`)."""
    hops = {name: range(count) for name, count in hop_fields(spec, operand).items() if count > 1}
    return data.StructLayout({"data": operand.pack * spec.word_bits(operand), **hops})


def hop_fields(spec: ArraySpec, operand: OperandSpec) -> dict[str, int]:
    """Fields of a beat that count the places it still has to pass, and how many places there are: along the edge, or
    along the north edge and then down a column. A beat with a copy for every feeder has none."""
    if operand.copied:
        return {}
    if operand.direction == INTERIOR:
        return {"across": spec.columns, "down": spec.rows}
    return {"along": spec.feeders(operand)}


def result_beat(bits: int) -> data.StructLayout:
    """A beat of a chain of results, `end` being the last one of a round (`hw.systolic.drain`)."""
    return data.StructLayout({"data": bits, "end": 1})


@dataclass(frozen=True)
class Bundles:
    """The layouts of `spec`.

    `control`: `first` and `last` step of the reduction into accumulator `entry`; `begin` of a tile of results (only
    without double buffering); `left_G`: how far the index of guard G is from its bound. `addresses` of operands: for
    each `address_K`, `release_K` (the feeder is done with the tile after this step) and, if it is streamed, `claim_K`
    (the step is the first one that takes a word of its beat), K being the number of the operand; `data_K`: its word.
    """

    spec: ArraySpec

    def operands(self, direction: Direction) -> list[tuple[int, OperandSpec]]:
        """Operands of one direction, with their numbers."""
        return [(k, o) for k, o in enumerate(self.spec.operands) if o.direction == direction]

    @cached_property
    def accumulates(self) -> bool:
        """Whether there is anything to accumulate; else every step gives a result."""
        return self.spec.result.combine is not None

    @cached_property
    def control(self) -> dict[str, int]:
        """Fields, with their bits, that PEs and the east edge look at."""
        fields: dict[str, int] = {}
        if self.accumulates:
            fields |= {"first": 1, "last": 1}
            if self.spec.result.accumulators > 1:
                fields["entry"] = address_bits(self.spec.result.accumulators)
        if not self.spec.result.double_buffered:
            fields["begin"] = 1
        return fields

    @cached_property
    def guards(self) -> dict[str, int]:
        """Fields of the guards."""
        return {f"left_{k}": guard.tile.bit_length() for k, guard in enumerate(self.spec.guards)}

    @cached_property
    def west_token(self) -> data.StructLayout:
        """Down the west edge."""
        return _layout(self.control | self.guards | self.addresses(EAST) | self.addresses(INTERIOR))

    @cached_property
    def north_token(self) -> data.StructLayout:
        """Along the north edge."""
        return _layout(self.addresses(SOUTH))

    @cached_property
    def east(self) -> data.StructLayout:
        """From PE to PE towards the east, and into the first one."""
        return _layout(self.control | self.guards | self.addresses(INTERIOR) | self._data(EAST))

    @cached_property
    def south(self) -> data.StructLayout:
        """From PE to PE towards the south."""
        return _layout(self._data(SOUTH))

    @cached_property
    def edge(self) -> data.StructLayout:
        """Down the east edge, with partial results."""
        return _layout(self.control)

    @property
    def goes_south(self) -> bool:
        """Whether there is anything that enters at the north edge."""
        return bool(self.operands(SOUTH))

    def addresses(self, direction: Direction) -> dict[str, int]:
        """Fields for the feeders of one direction."""
        fields: dict[str, int] = {}
        for k, operand in self.operands(direction):
            if operand.words > 1:
                fields[f"address_{k}"] = address_bits(operand.words)
            fields[f"release_{k}"] = 1
            if self.spec.is_streamed(operand):
                fields[f"claim_{k}"] = 1
        return fields

    def _data(self, direction: Direction) -> dict[str, int]:
        return {f"data_{k}": self.spec.word_bits(operand) for k, operand in self.operands(direction)}

    def elements(self, part: OperandSpec | ResultSpec, word: Value) -> Iterator[Value]:
        """The word's element for each lane."""
        for lane in range(self.spec.lanes):
            place = lane if part.vector else 0
            element = word[place * part.word.width : (place + 1) * part.word.width]
            yield element.as_signed() if part.word.signed else element


def _layout(fields: dict[str, int]) -> data.StructLayout:
    return data.StructLayout(fields or {"nothing": 1})


def part_of(spec: ArraySpec, entry: Value) -> Value:
    """Which of a result's partial sums accumulator `entry` is; of no bits if there is one."""
    return entry[: spec.result.levels]


def field(view: data.View, name: str, default: int = 0) -> Value:
    """A field of a bundle, `default` if it has none of that name."""
    layout = view.shape()
    assert isinstance(layout, data.StructLayout)
    return view[name] if name in layout.members else Value.cast(default)

