"""`docs/vector_isa.md`, written from the table of instructions: ``python -m hw.vector_lanes.document``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hw.files import write_atomic
from hw.vector_lanes.float_meaning import NOT_A_NUMBER
from hw.vector_lanes.isa import (
    CONTROLS,
    FLOAT_RULES,
    FUSED_RULE,
    MODE,
    OPERANDS_BITS,
    OPERATIONS,
    PARAMETERS,
    RULES,
    Status,
    control_function,
)
from hw.vector_lanes.meaning import ACCUMULATOR_BITS
from hw.vector_lanes.spec import VectorSpec

__all__ = ["DOCUMENT", "document_text"]

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "vector_isa.md"

_FIELDS = {
    "op": "operation, see below",
    "signed": "1: S, numbers are signed; 0: U",
    "in_size": "size of source elements: 0 byte, 1 halfword, 2 word, 3 floating-point number (F)",
    "out_size": "size of result elements",
    "enumerated": "B is the index of the element in its row, not a vector; with in size F one element per row",
    "scalar": "A is a 32-bit number, not an address",
    "masked": "only elements that the mask has active are executed",
    "accumulate": "the results of each row are added up",
    "dimensions": "0: 1-D, 1: 2-D, 2: 3-D",
    "absolute": "absolute value after the operation; with VCMV: mask setup; with F: numbers in bfloat16",
}

_INTRODUCTION = """\
# Instruction set of the soft vector processor

<!-- Written by `python -m hw.vector_lanes.document` from hw/vector_lanes/isa.py. Change the table, not this file. -->

A vector instruction is a mode word of {bits} bits and three 32-bit operands: the destination D and the sources A and B,
byte addresses in the scratchpad without any alignment. It works on `vl` elements; a 2-D instruction on `rows` rows of
`vl` elements, a 3-D instruction on `mats` matrices of `rows` rows. Element c of row r of matrix m is at
`base + m*inc3 + r*inc + c*size`, with signed byte steps of its own for each operand. These settings persist.

Sources have the in size and are extended, by sign if S, to the execution width n, the larger of in and out size (with
accumulate: the in size). A scalar A and an enumerated B give their low n bits. The result's low bytes are written. With
`vl`, `rows` or `mats` of 0 nothing happens.

Beside every byte of the scratchpad there is a flag. An element's flag (fa, fb) is that of its lowest byte; a result
writes its flag to all its bytes; a transfer into the scratchpad clears the flags it passes. Scalar and enumerated
operands have flag 0.

The effect is as if every instruction and every transfer ran alone, in program order. Inside an instruction wavefronts
(as many elements of width n as the scratchpad is wide, starting anew in every row) run in order, and each reads all its
elements before it writes. A destination that lies above an overlapping source in the same row therefore gives results
that depend on the number of lanes; no other overlap does.
"""

_MEANINGS = """
N is the most significant bit of B at width n and Z tells that all its n bits are 0.

**Absolute value** (operations 0 to 7): the result is the magnitude of the exact result, modulo 2^n; its flag is 0.

**Accumulate**: each row gives one element, at `D + m*incD3 + r*incD`: the sum of its n-bit results as S or U numbers
(the whole 2n-bit product for VMUL, an unsigned number with absolute value), in {accumulator} bits, wrapping. A
conditional move that does not move adds nothing. The flag tells that the sum does not fit the out size.

**Masks**: a conditional move with the absolute bit makes element i active if B[i] passes; A and D are ignored. With the
masked bit, elements must have been active before. Masked instructions work on the elements of the mask, `vl` does not
count, and wavefronts without an active element take no cycle; an accumulation without any active element writes 0.

**Gather and scatter** move one element per cycle, in order. Indices have the in size and are signed with S; the element
address is computed modulo 2^32. An element outside the scratchpad is skipped and sets ADDRESS. A scatter that
accumulates adds A, at the out size, to the element: every element sees those before it, as often as an address comes
again. It takes a cycle for each element, two with a vector A, and waits where an address comes again too soon.

**VMAC** reads D at the out size and extends it like a source.

## Floating-point numbers

Processors with floating-point lanes (`VectorSpec(float32=True)`; none of what follows exists in others) have a fourth
size of elements, F: words in the binary format of IEEE 754 with 32 bits, subnormal numbers included. Every operation
rounds to the nearest number, ties to even.

| sizes | operations |
|---|---|
| F | VADD, VSUB, VMUL |
| F | VMAC with a scalar A: D + A * B, the product rounded before the sum |
| F | VFMA, the code of VMULFXP: D + A * B, rounded once, on processors that have it |
| F | VMIN, VMAX: A if it is smaller (larger) or B is no number, else B |
| F to B, H, W | VSEQ to VSGE: 1 or 0; of what is no number only VSNE holds |
| F to B, H, W | VMOV: towards zero, cut to its low bits; what does not fit 32 bits (U: 64) is -2^31 (0) |
| B, H, W to F | VMOV: the number nearest to a S or U integer |

Sums and products that are no number are 0x{nan:x}. VMIN and VMAX keep patterns; sign and absolute value are VXOR and
VAND of words, selections conditional moves of words on the result of a comparison. S and U mean nothing from F to F.
Flags of the results are 0. A scalar A is a pattern. Enumerated, B is one element for all of a row: that at
`B + m*incB3 + r*incB`. Masked instructions take the mask of words.

On processors with bfloat16 lanes (`VectorSpec(bfloat16=True)`, with or without `float32`) the absolute bit makes
numbers of size F halfwords in bfloat16, two of them in a lane. All of the table holds for them, with the pattern
0x{half_nan:x} for what is no number, and masks of halfwords, or of words if the other size is W. With the absolute bit
there is VMOV from F to F, too: words in 32 bits, rounded to halfwords in bfloat16. The other way is VSHL by 16 from H
to W, unsigned.

Processors with fused multiply-add (`VectorSpec(float32=True, fma=True)`, or with `bfloat16`) have VFMA. It adds to D as
VMAC does, takes a scalar or a vector A and an enumerated B, and with a vector A two cycles for a wavefront: the first
reads D, the second A and B.

Results are written as late as a row's sum: `float_latency` cycles behind the operands, by default {latency}, or as many
as the sum takes if that is more. Instructions that need them wait as for a sum, all others do not.
"""

_ERRORS = """
## Errors

An instruction is dropped whole and sets ILLEGAL if its mode word violates one of these rules:

{rules}

or if it is masked and there is no valid mask or one of another element size, if a masked mask setup has another `vl`
than the mask, or if a mask has too many elements (then there is no valid mask afterwards). It is dropped whole and sets
ADDRESS if the bounding range of a vector operand leaves the scratchpad. So is a transfer; a transfer of more than 65535
rows is illegal. Bits of the status register stick until they are read: {status}.
"""

_CONTROL = """
## Control operations

The first eight enter the instruction queue, in order with vector instructions.
"""

_ENCODING = """
## Encoding

The scalar core issues custom-0 instructions (R type). The function id is funct7 and funct3:

| funct3 | meaning | rs1 | rs2 |
|---|---|---|---|
| 0xx | mode bits 1:0 in xx, {low} in funct7 | A | B |
| 10x | mode bit {first} in x, {high} in funct7; the instruction is queued | D | - |
| 110 | control operation funct7 | see above | see above |
| 111 | reserved: ILLEGAL | | |

DMA_TO_VECTOR and DMA_TO_HOST take bytes and rows; OPERANDS before it brings the two addresses. GET answers in rd.

In memory an entry is eight words: bit 31 of the first tells control operations, its low bits are the mode word or the
number of the control operation; a, b, d, c and three zeros follow.
"""


def _table(head: str, rows: Iterator[str]) -> str:
    columns = head.count("|") - 1
    return "\n".join([head, "|" + "---|" * columns, *rows]) + "\n"


def _mode_rows() -> Iterator[str]:
    for name, field in MODE:
        last = field.offset + field.width - 1
        bits = str(field.offset) if field.width == 1 else f"{last}:{field.offset}"
        yield f"| {bits} | {str(name).replace('_', ' ')} | {_FIELDS[str(name)]} |"


def _operation_rows() -> Iterator[str]:
    for op, info in OPERATIONS.items():
        yield f"| {int(op)} | {op.name} | {info.result} | {info.flag} |"


def _control_rows() -> Iterator[str]:
    for control, info in CONTROLS.items():
        yield f"| {int(control)} | {control.name} | {', '.join(info.operands)} | {info.text} | " \
              f"{control_function(control):#05x} |"


def document_text() -> str:
    """The whole document."""
    status = ", ".join(f"{bit.name} {int(bit)}" for bit in Status)
    rules = "\n".join(f"* *{rule.name}*: {rule.text}" for rule in (*RULES, *FLOAT_RULES, FUSED_RULE))
    parameters = (f"| {int(parameter)} | {info.text} |" for parameter, info in PARAMETERS.items())
    return "".join([
        _INTRODUCTION.format(bits=MODE.size), "\n## Mode word\n\n", _table("| bits | field | meaning |", _mode_rows()),
        "\n## Operations\n\n", _table("| code | name | result at width n | flag |", _operation_rows()),
        _MEANINGS.format(accumulator=ACCUMULATOR_BITS,
                         nan=NOT_A_NUMBER, half_nan=NOT_A_NUMBER >> 16, latency=VectorSpec.float_latency),
        _ERRORS.format(rules=rules, status=status), _CONTROL, "\n",
        _table("| number | name | operands | | function id |", _control_rows()), "\nParameters of GET:\n\n",
        _table("| number | value |", parameters),
        _ENCODING.format(low=f"{OPERANDS_BITS - 1}:2", first=OPERANDS_BITS,
                         high=f"{MODE.size - 1}:{OPERANDS_BITS + 1}")])


if __name__ == "__main__":
    write_atomic(DOCUMENT, document_text())
