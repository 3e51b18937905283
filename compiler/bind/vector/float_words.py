"""Floating-point numbers in the graph: words of type int32 that hold their patterns, and operations on these.

Everything that moves or selects words does so with these as well. Operations are those of parallel arrays with
``float_`` in front; changes of sign are logic. Conversions are ``float_of`` an integer, ``float_to_int`` and
``float_to_uint``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from compiler.bind.vector.access import Access
from hw.vector_lanes.float_meaning import compute_float
from hw.vector_lanes.isa import FLOAT, Mode, Size
from hw.vector_lanes.isa import Op as Opcode

__all__ = ["FLOAT_CODES", "FLOAT_OPERATIONS", "ORDERED", "SIGN", "WORD", "WORD_RANGES", "gives_floats", "is_repeated",
           "is_signless", "repeated_operand", "takes_floats"]

WORD = np.dtype(np.int32)
"""The type of words that hold patterns."""

SIGN = -1 << 31
"""The sign, as a pattern."""

_FULL, _TRUTH = (-1 << 31, (1 << 31) - 1), (0, 1)

FLOAT_CODES: dict[str, tuple[Opcode, Opcode]] = {
    "float_add": (Opcode.VADD, Opcode.VADD), "float_subtract": (Opcode.VSUB, Opcode.VSUB),
    "float_multiply": (Opcode.VMUL, Opcode.VMUL), "float_minimum": (Opcode.VMIN, Opcode.VMIN),
    "float_maximum": (Opcode.VMAX, Opcode.VMAX), "float_equal": (Opcode.VSEQ, Opcode.VSEQ),
    "float_not_equal": (Opcode.VSNE, Opcode.VSNE), "float_less": (Opcode.VSLT, Opcode.VSGT),
    "float_less_equal": (Opcode.VSLE, Opcode.VSGE), "float_of": (Opcode.VMOV, Opcode.VMOV),
    "float_to_int": (Opcode.VMOV, Opcode.VMOV), "float_to_uint": (Opcode.VMOV, Opcode.VMOV),
}
"""The instruction of an operation, and the one with operands swapped."""

_COMPARISONS = ("float_equal", "float_not_equal", "float_less", "float_less_equal")

WORD_RANGES: dict[str, tuple[int, int]] = {
    **dict.fromkeys(FLOAT_CODES, _FULL), **dict.fromkeys(_COMPARISONS, _TRUTH), "float_to_uint": (0, (1 << 32) - 1),
    "float_multiply_add": _FULL,
}
"""Bounds of results, as words."""


ORDERED = ("float_minimum", "float_maximum")
"""Operations whose result may depend on which operand comes first, if they are equal or no numbers."""


_SWAPPABLE = ("float_add", "float_multiply", *_COMPARISONS)


def is_repeated(value: Access | int) -> bool:
    """Whether an operand is a vector that has the same element all along its consumer's innermost dimension."""
    return isinstance(value, Access) and not any(row[-1] for row in value.matrix if row)


def repeated_operand(operation: str, operands: Sequence[Access | int]) -> int | None:
    """The number of the operand that an instruction can read once per row; None if there is none."""
    if operation not in FLOAT_CODES or len(operands) != 2 or not all(isinstance(o, Access) for o in operands):
        return None
    found = [i for i, operand in enumerate(operands) if is_repeated(operand)]
    return found[0] if len(found) == 1 and (found[0] == 1 or operation in _SWAPPABLE) else None


def takes_floats(operation: str) -> bool:
    """Whether vector operands are patterns."""
    return operation in WORD_RANGES and operation != "float_of"


def gives_floats(operation: str) -> bool:
    """Whether results are patterns."""
    return operation in WORD_RANGES and operation not in (*_COMPARISONS, "float_to_int", "float_to_uint")


def is_signless(pattern: int) -> bool:
    """Whether a number is equal to no other pattern's: neither zero nor no number."""
    return 0 < pattern & ~SIGN <= 0x7F800000


def _meaning(operation: str) -> Callable[..., int]:
    code, _ = FLOAT_CODES[operation]
    sizes = FLOAT if takes_floats(operation) else Size.WORD, FLOAT if gives_floats(operation) else Size.WORD
    mode = Mode(code, operation != "float_to_uint", *sizes)

    def compute(*operands: int) -> int:
        kind = np.uint32 if takes_floats(operation) else np.int64
        words = [np.array([operand & 0xFFFFFFFF if kind == np.uint32 else operand], kind) for operand in operands]
        return int(compute_float(mode, words[0], words[-1], words[-1])[0])

    return compute


FLOAT_OPERATIONS: dict[str, Callable[..., int]] = {operation: _meaning(operation) for operation in FLOAT_CODES}
"""Meaning of operations on numbers, as unsigned words."""
