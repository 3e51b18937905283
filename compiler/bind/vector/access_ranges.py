"""Which bytes of the scratchpad statements touch, with the settings that are in force."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import NamedTuple

from compiler.bind.vector.ir import Instruction
from hw.vector_lanes.isa import Mode, Op

__all__ = ["InForce", "Span", "Touched", "span", "touched", "wavefronts"]

Span = tuple[int, int]
"""First byte, and the one behind the last."""

InForce = Mapping[str, tuple[int, ...]]
"""Values of settings by kind."""


def span(base: int, size: int, steps: Sequence[tuple[int, int]]) -> Span:
    """Of rows of `size` bytes from `base` on; `steps`: how often, and by how many bytes, a dimension repeats them."""
    low, high = base, base + size
    for count, step in steps:
        if step < 0:
            low += (count - 1) * step
        else:
            high += (count - 1) * step
    return low, high


ANYWHERE: Span = (0, 1 << 32)
"""What a gather reads beside its indices, and a scatter writes: the lanes do not know how long a table is, and wait for
every write."""


def wavefronts(mode: Mode, length: int, row_bytes: int) -> int:
    """Cycles that the lanes take for a vector of `length` elements: gathers and scatters take one for each, two if it
    is added to what is there; VFMA of two vectors takes two for a wavefront."""
    if mode.op.indexed:
        return 2 * length if mode.accumulate and mode.reads_a else length
    return mode.beats * -(-(length << mode.exec_size) // row_bytes)


class Touched(NamedTuple):
    """What an instruction reads, by the operand's name, and what it writes. `rows` it has altogether."""

    reads: dict[str, Span]
    writes: Span
    rows: int


def _operand(base: object, size: int, shape: Sequence[tuple[int, ...]], place: int) -> Span:
    """The bytes of an operand, of which `place` says where its steps are in the settings of rows and matrices."""
    assert isinstance(base, int)
    return span(base, size, [(values[0], values[place]) for values in shape])


def touched(statement: Instruction, settings: InForce) -> Touched:
    """The bytes of an instruction without counters."""
    mode = statement.mode
    (length,) = settings["length"]
    shape = [settings[kind] for kind in ("rows", "matrices")[:mode.dimensions]] if mode.dimensions else ()
    writes = _operand(statement.d, (1 if mode.accumulate else length) << mode.out_element, shape, 1)
    reads: dict[str, Span] = {}
    if mode.reads_a:
        size = mode.out_element if mode.op is Op.VSCATTER else mode.in_element
        reads["A"] = _operand(statement.a, length << size, shape, 2)
    if mode.reads_b:
        reads["B"] = _operand(statement.b, (1 if mode.repeats_b else length) << mode.in_element, shape, 3)
    if mode.op is Op.VGATHER:
        reads["table"] = ANYWHERE
    if mode.op is Op.VSCATTER:
        writes = ANYWHERE
    if mode.reads_d or (mode.accumulate and mode.op is Op.VSCATTER):
        reads["D"] = writes
    return Touched(reads, writes, prod(values[0] for values in shape))
