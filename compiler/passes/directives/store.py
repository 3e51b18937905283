"""The directive that says where the values of an array wait for their readers."""

from __future__ import annotations

from dataclasses import replace

from compiler.ir.program import LEVELS, Program
from compiler.passes.directives.errors import TransformError

__all__ = ["store"]


def store(program: Program, array: str, level: str) -> Program:
    """`program` with the values of `array`, an input or an intermediate array, in `level`: "registers" for chains of
    them, however long, "memory" for a memory tile, however short the wait.

    Nothing else changes; a target without such a choice takes no notice. What cannot be is found when a target has a
    schedule: registers hold values whose wait is constant. Raises `TransformError`, `ProgramError` on an unknown name.
    """
    chosen = program.array(array)
    if level not in LEVELS or not level:
        raise TransformError(f"array '{array}' cannot be stored in '{level}'; there are: {', '.join(LEVELS[1:])}")
    if chosen.role == "output":
        raise TransformError(f"array '{array}' is an output, which goes to main memory")
    arrays = tuple(replace(one, level=level) if one is chosen else one for one in program.arrays)
    return replace(program, arrays=arrays)
