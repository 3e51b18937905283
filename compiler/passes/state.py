"""What passes hand on: a program, and how the host converts the arrays that it was asked for into those it has now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from compiler.ir.program import Program
from compiler.passes.arrays.packed_arrays import PackedArrays
from compiler.passes.arrays.partition import Partition
from compiler.passes.arrays.split_arrays import SplitArrays
from compiler.passes.normalize.domain_padding import PaddedProgram

__all__ = ["State"]


@dataclass(frozen=True)
class State:
    """A `program` on its way to hardware, with the witness of every change of its arrays.

    `packed`: the program before arrays got wide elements, and which did. `padded`: the program before and after its
    domains were padded. `words`: before and after wide elements became words. `elements`: before arrays got an element
    for every value. `unstreamed`: before values of iterators became inputs, which are `constants` by name. `partition`:
    before and after arrays were split into parts. `notes`: what passes did that a user may want to know, by pass.
    """

    program: Program
    packed: PackedArrays | None = None
    padded: PaddedProgram | None = None
    words: SplitArrays | None = None
    elements: Program | None = None
    unstreamed: Program | None = None
    constants: Mapping[str, np.ndarray] = field(default_factory=dict)
    partition: Partition | None = None
    notes: Mapping[str, str] = field(default_factory=dict)

    def with_program(self, program: Program) -> Self:
        """The same with another program on the same arrays."""
        return self if program is self.program else replace(self, program=program)

    def layout(self) -> Partition:
        """The record of all conversions of arrays, for the host."""
        whole = self.unstreamed or (self.partition.original if self.partition else self.program)
        parts = self.partition or Partition(whole, self.program, ())
        return replace(parts, original=whole, program=self.program, constants=self.constants, growth=self.padded,
                       words=self.words, packed=self.packed, elements=self.elements or whole)
