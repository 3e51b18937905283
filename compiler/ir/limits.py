"""Budgets of every program, whichever front end it comes from."""

from __future__ import annotations

from math import prod

from compiler.ir.types import ProgramError
from hw.limits import Limits

__all__ = ["LIMITS", "PROGRAM_LIMITS", "check_array_bytes"]

LIMITS = {"array_bytes": 1 << 28, "iterations": 1 << 26}
"""``array_bytes``: of the inputs and outputs of a program together, and of all arrays where it is interpreted.
``iterations``: values of iterators of all instances of one statement, where a target looks at every instance."""

PROGRAM_LIMITS = Limits(LIMITS, ProgramError)


def check_array_bytes(arrays: dict[str, tuple[tuple[int, ...], int]]) -> None:
    """Raise `ProgramError` if arrays, given as shape and bits of an element by name, take more memory than the budget.
    It names the largest one."""
    sizes = {name: prod(shape) * -(-bits // 8) for name, (shape, bits) in arrays.items()}
    most, total = PROGRAM_LIMITS.of("array_bytes"), sum(sizes.values())
    if total > most:
        name = max(sizes, key=lambda name: sizes[name])
        others = f", all arrays {total}" if total > sizes[name] else ""
        raise ProgramError(f"array '{name}' of shape {list(arrays[name][0])} takes {sizes[name]} bytes{others}; the "
                           f"arrays of a program may take {most} {PROGRAM_LIMITS.note('array_bytes')}")
