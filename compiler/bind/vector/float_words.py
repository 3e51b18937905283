"""Floating-point numbers in the graph: integers of type int32, or int16 for bfloat16, that hold their patterns, and
operations on these.

Everything that moves or selects integers does so with these as well. Operations are those of parallel arrays with
``float_`` in front, ``bfloat_`` on bfloat16; changes of sign are logic. Conversions are ``float_of`` an integer,
``float_to_int`` and ``float_to_uint``, the same of bfloat16, and ``bfloat_round`` of 32 bits. ``float_fma``, as all
multiply-adds, has what it adds to as its first operand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from compiler.bind.vector.access import Access
from hw.vector_lanes.float_meaning import compute_float
from hw.vector_lanes.isa import FLOAT, Mode, Size
from hw.vector_lanes.isa import Op as Opcode

__all__ = ["FLOAT_CODES", "FLOAT_OPERATIONS", "ORDERED", "WORD_RANGES", "gives_floats", "is_half", "is_repeated",
           "is_signless", "operand_bytes", "repeated_operand", "result_bytes", "sign_of", "takes_floats"]

_NARROW = "bfloat_round"

_CODES: dict[str, tuple[Opcode, Opcode]] = {
    "add": (Opcode.VADD, Opcode.VADD), "subtract": (Opcode.VSUB, Opcode.VSUB), "multiply": (Opcode.VMUL, Opcode.VMUL),
    "minimum": (Opcode.VMIN, Opcode.VMIN), "maximum": (Opcode.VMAX, Opcode.VMAX), "equal": (Opcode.VSEQ, Opcode.VSEQ),
    "not_equal": (Opcode.VSNE, Opcode.VSNE), "less": (Opcode.VSLT, Opcode.VSGT),
    "less_equal": (Opcode.VSLE, Opcode.VSGE), "of": (Opcode.VMOV, Opcode.VMOV), "to_int": (Opcode.VMOV, Opcode.VMOV),
    "to_uint": (Opcode.VMOV, Opcode.VMOV), "fma": (Opcode.VMULFXP, Opcode.VMULFXP),
}
_COMPARISONS = ("equal", "not_equal", "less", "less_equal")
_PREFIXES = ("float_", "bfloat_")

FLOAT_CODES: dict[str, tuple[Opcode, Opcode]] = {
    **{prefix + name: codes for prefix in _PREFIXES for name, codes in _CODES.items()},
    _NARROW: (Opcode.VMOV, Opcode.VMOV),
}
"""The instruction of an operation, and the one with operands swapped."""


def _plain(operation: str) -> str:
    return operation.partition("_")[2]


def is_half(operation: str) -> bool:
    """Whether it is one on bfloat16."""
    return operation.startswith("bfloat_")


def sign_of(half: bool) -> int:
    """The sign of a number, of bfloat16 if `half`, as a pattern."""
    return -1 << (15 if half else 31)


def _range(operation: str) -> tuple[int, int]:
    name = _plain(operation)
    if name in _COMPARISONS:
        return 0, 1
    if name in ("to_int", "to_uint"):
        return (0, (1 << 32) - 1) if name == "to_uint" else (-1 << 31, (1 << 31) - 1)
    least = sign_of(is_half(operation))
    return least, ~least


WORD_RANGES: dict[str, tuple[int, int]] = {
    name: _range(name) for name in (*FLOAT_CODES, *(f"{prefix}multiply_add" for prefix in _PREFIXES))}
"""Bounds of results, as integers."""


ORDERED = tuple(prefix + name for prefix in _PREFIXES for name in ("minimum", "maximum"))
"""Operations whose result may depend on which operand comes first, if they are equal or no numbers."""


_SWAPPABLE = ("add", "multiply", "fma", *_COMPARISONS)


def is_repeated(value: Access | int) -> bool:
    """Whether an operand is a vector that has the same element all along its consumer's innermost dimension."""
    return isinstance(value, Access) and not any(row[-1] for row in value.matrix if row)


def repeated_operand(operation: str, operands: Sequence[Access | int]) -> int | None:
    """The number of the operand that an instruction can read once per row; None if there is none."""
    pair = operands[-2:]
    if operation not in FLOAT_CODES or len(pair) != 2 or not all(isinstance(o, Access) for o in pair):
        return None
    found = [i for i, operand in enumerate(pair) if is_repeated(operand)]
    if len(found) != 1 or not (found[0] == 1 or _plain(operation) in _SWAPPABLE):
        return None
    return len(operands) - 2 + found[0]


def takes_floats(operation: str) -> bool:
    """Whether vector operands are patterns."""
    return operation in WORD_RANGES and _plain(operation) != "of"


def gives_floats(operation: str) -> bool:
    """Whether results are patterns."""
    return operation in WORD_RANGES and _plain(operation) not in (*_COMPARISONS, "to_int", "to_uint")


def operand_bytes(operation: str) -> int:
    """Bytes of the patterns that it takes."""
    return 2 if is_half(operation) and operation != _NARROW else 4


def result_bytes(operation: str) -> int:
    """Bytes of the patterns that it gives."""
    return 2 if is_half(operation) else 4


def is_signless(operation: str, pattern: int) -> bool:
    """Whether a number that `operation` takes is equal to no other pattern's: neither zero nor no number."""
    sign = sign_of(is_half(operation))
    return 0 < pattern & ~sign <= (0x7F80 if is_half(operation) else 0x7F800000)


def _meaning(operation: str) -> Callable[..., int]:
    code, _ = FLOAT_CODES[operation]
    sizes = FLOAT if takes_floats(operation) else Size.WORD, FLOAT if gives_floats(operation) else Size.WORD
    mode = Mode(code, _plain(operation) != "to_uint", *sizes, absolute=is_half(operation))

    def compute(*operands: int) -> int:
        kind = np.dtype(f"u{operand_bytes(operation)}" if takes_floats(operation) else np.int64)
        words = [np.array([operand & (1 << 8 * kind.itemsize) - 1 if kind.kind == "u" else operand], kind)
                 for operand in operands]
        a, b, d = (words[1], words[2], words[0]) if len(words) == 3 else (words[0], words[-1], words[-1])
        return int(compute_float(mode, a, b, d)[0])

    return compute


FLOAT_OPERATIONS: dict[str, Callable[..., int]] = {operation: _meaning(operation) for operation in FLOAT_CODES}
"""Meaning of operations on numbers, as unsigned integers."""
