"""How messages name what was made of a user's statement: as that statement, with its source line."""

from __future__ import annotations

from compiler.ir.program import Program
from compiler.passes.arrays.partition import Partition

__all__ = ["asked_labels"]


def asked_labels(parts: Partition, program: Program) -> dict[str, str]:
    """For every statement of `program`, which was made of what `parts` was asked for, the label of the user's statement
    of its name, or else on its source line; its own if there is none."""
    names = {s.name for s in parts.asked.statements}
    asked = {str(s.location): s.label() for s in reversed(parts.asked.statements) if s.location}
    return {s.name: s.label() if s.name in names else asked.get(str(s.location), s.label()) for s in program.statements}
