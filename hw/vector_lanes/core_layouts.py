"""Layouts inside the vector core: an instruction for the sequencer, and a wavefront for the lanes."""

from __future__ import annotations

from amaranth.lib import data

from hw.vector_lanes.isa import MODE
from hw.vector_lanes.ranges import range_layout
from hw.vector_lanes.spec import VectorSpec

__all__ = ["COUNTS", "instruction_layout", "operand_layout", "wave_layout"]

COUNTS = data.StructLayout({"vl": 32, "rows": 32, "mats": 32})
"""Elements per row, rows, matrices; at least 1 each."""

_WORD = 32


def operand_layout(bits: int) -> data.StructLayout:
    """Where a port's operand is: byte `address` of its first element, steps to the next row and matrix, `size` of an
    element; `used`: whether the port has an operand at all."""
    return data.StructLayout({"address": bits, "row_step": bits, "mat_step": bits, "size": 2, "used": 1})


def instruction_layout(spec: VectorSpec) -> data.StructLayout:
    """A legal vector instruction within the scratchpad.

    `a` and `b` are what the read ports read (VMAC: one of them the destination); of gather and scatter, `b` are the
    indices. `d` is 32 bits wide for the sake of scatter. `size`: of execution. `uses_mask`: is masked or sets the mask.
    `range_…`: bytes it may touch.
    """
    source = operand_layout(spec.address_bits)
    reach = range_layout(spec)
    return data.StructLayout({
        "mode": MODE, "size": 2, "uses_mask": 1, "scalar": _WORD, "a": source, "b": source,
        "d": operand_layout(_WORD), "counts": COUNTS, "range_d": reach, "range_a": reach, "range_b": reach,
    })


def wave_layout(spec: VectorSpec) -> data.StructLayout:
    """One wavefront.

    `count` elements with the element `index` (in the row) first; `a_…`, `b_…`: whether, where and how many bytes are
    read; `d_…` likewise, with `d_used` for a wavefront that writes its results, `first`/`last` of an accumulated row:
    the last one writes the sum. `fetch`: what port B reads is an index of a gather or scatter.
    `mask`: W bits, for masked ones. `end`: the instruction ends with it. `late`, on machines with floating-point
    lanes: its results are written when a row's sum would be. `holds`, on machines with fused multiply-add: port B reads
    what the next wavefront adds to, and nothing is computed.
    """
    address, length = spec.address_bits, (spec.row_bytes).bit_length()
    more = {**({"late": 1} if spec.floats else {}), **({"holds": 1} if spec.fuses else {})}
    return data.StructLayout({
        "mode": MODE, "scalar": _WORD, "index": _WORD, "count": length, "mask": spec.row_bytes,
        "a_used": 1, "a_address": address, "a_bytes": length, "b_used": 1, "b_address": address, "b_bytes": length,
        "d_used": 1, "d_address": address, "d_bytes": length, "accumulates": 1, "first": 1, "last": 1,
        "sets_mask": 1, "fetch": 1, "end": 1, **more,
    })
