"""How messages name what was made of a user's statement: as that statement, with its source line."""

from __future__ import annotations

from compiler.ir.program import Program
from compiler.sched.partition import Partition

__all__ = ["asked_labels"]


def asked_labels(parts: Partition, program: Program) -> dict[str, str]:
    """For every statement of `program`, which was made of what `parts` was asked for, the label of the statement of the
    user's on its source line; its own if there is none."""
    asked = {str(s.location): s.label() for s in reversed(parts.asked.statements) if s.location}
    return {s.name: asked.get(str(s.location), s.label()) for s in program.statements}
