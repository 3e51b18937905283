"""The passes of this room by name: what arrays there are, and what the host converts for them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from compiler.passes.arrays.border_copies import copy_borders
from compiler.passes.arrays.iterator_tables import constant_inputs, narrow_iterator_values
from compiler.passes.arrays.packed_drains import pack_drains
from compiler.passes.arrays.packed_streams import pack_streams
from compiler.passes.arrays.partition import partition
from compiler.passes.arrays.window_reuse import insert_window_copies
from compiler.passes.program_pass import ProgramPass
from compiler.passes.state import State

__all__ = ["CopyBorders", "InsertWindowCopies", "MaterializeIteratorValues", "NarrowIteratorValues", "PackDrains",
           "PackStreams", "PartitionArrays"]


@dataclass(frozen=True)
class CopyBorders(ProgramPass):
    """Arrays whose reads turn at edges (reflection, repetition) are copied into arrays with a border."""

    name = "copy-borders"
    follows = ("pad-domains",)

    def apply(self, state: State) -> State:
        return state.with_program(copy_borders(state.program))


@dataclass(frozen=True)
class InsertWindowCopies(ProgramPass):
    """Reads like ``x[i // 2]`` share a copy, on which they are taps of one window."""

    name = "insert-window-copies"
    follows = ("static-form",)

    def apply(self, state: State) -> State:
        return state.with_program(insert_window_copies(state.program))


@dataclass(frozen=True)
class PackDrains(ProgramPass):
    """Outputs that are read out of a memory get several elements at a time, of `bits` bits together."""

    bits: int = 64
    name = "pack-drains"
    witness = "packed"

    def apply(self, state: State) -> State:
        found = pack_drains(state.program, self.bits)
        return replace(state, program=found[0], packed=found[1]) if found else state


@dataclass(frozen=True)
class PackStreams(ProgramPass):
    """All statements `lanes` times, on arrays whose elements are as many neighbours of a row."""

    lanes: int = 4
    name = "pack-streams"
    witness = "packed"

    def apply(self, state: State) -> State:
        program, packed = pack_streams(state.program, self.lanes)
        return replace(state, program=program, packed=packed)


@dataclass(frozen=True)
class NarrowIteratorValues(ProgramPass):
    """Values of iterators that fit 16 bits are computed with 16 bits and extended."""

    name = "narrow-iterator-values"

    def apply(self, state: State) -> State:
        return state.with_program(narrow_iterator_values(state.program))


@dataclass(frozen=True)
class MaterializeIteratorValues(ProgramPass):
    """Values that depend on iterators alone become inputs that the host fills."""

    name = "materialize-iterator-values"
    witness = "unstreamed"
    follows = ("narrow-iterator-values", "static-form", "expand-arrays")

    def apply(self, state: State) -> State:
        program, constants = constant_inputs(state.program)
        return replace(state, program=program, unstreamed=state.program, constants=constants) if constants else state


@dataclass(frozen=True)
class PartitionArrays(ProgramPass):
    """What parallel statements read and write apart becomes arrays of their own, in at most `streams` of them where
    there is a choice (0: any number); the first `tile_depth` loops enumerate tiles."""

    streams: int = 0
    tile_depth: int = 0
    name = "partition-arrays"
    witness = "partition"
    follows = ("materialize-iterator-values",)

    def apply(self, state: State) -> State:
        found = partition(state.program, self.streams or None, self.tile_depth)
        return replace(state, program=found.program, partition=found)
