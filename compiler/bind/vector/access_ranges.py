"""Which bytes of the scratchpad statements touch, with the settings that are in force."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

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


@dataclass(frozen=True)
class Touched:
    """What an instruction reads, by the operand's name, and what it writes. `rows` it has altogether."""

    reads: Mapping[str, Span]
    writes: Span
    rows: int


def touched(statement: Instruction, settings: InForce) -> Touched:
    """The bytes of an instruction without counters."""
    mode = statement.mode
    (length,) = settings["length"]
    shape = [settings[kind] for kind in ("rows", "matrices")[:mode.dimensions]] if mode.dimensions else []

    def operand(base: object, size: int, place: int) -> Span:
        assert isinstance(base, int)
        return span(base, size, [(values[0], values[place]) for values in shape]) if shape else (base, base + size)

    writes = operand(statement.d, (1 if mode.accumulate else length) << mode.out_element, 1)
    reads = {}
    if mode.reads_a:
        size = mode.out_element if mode.op is Op.VSCATTER else mode.in_element
        reads["A"] = operand(statement.a, length << size, 2)
    if mode.reads_b:
        reads["B"] = operand(statement.b, (1 if mode.repeats_b else length) << mode.in_element, 3)
    if mode.op is Op.VGATHER:
        reads["table"] = ANYWHERE
    if mode.op is Op.VSCATTER:
        writes = ANYWHERE
    if mode.reads_d or (mode.accumulate and mode.op is Op.VSCATTER):
        reads["D"] = writes
    return Touched(reads, writes, prod(values[0] for values in shape))
