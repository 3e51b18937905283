"""The verifier of programs."""

from __future__ import annotations

import re

from compiler.ir.program import Program
from compiler.ir.types import ProgramError

__all__ = ["check_name", "verify"]

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_RESERVED = frozenset(
    ["and", "or", "not", "exists", "implies", "mod", "floor", "ceil", "floord", "ceild", "min", "max", "rat",
     "true", "false", "infty", "infinity", "nan", "int"]
)
"""Words that isl's text form keeps for itself."""


def check_name(name: object, label: str) -> None:
    """Raise `ProgramError` unless `name` is an identifier that isl can take; `label` opens the message."""
    if not isinstance(name, str) or not _IDENTIFIER.fullmatch(name):
        raise ProgramError(f"{label}: a name consists of letters, digits and underscores, not {name!r}")
    if name.lower() in _RESERVED:
        raise ProgramError(f"{label}: '{name}' is a reserved word")


def verify(program: Program) -> None:
    """Raise `ProgramError` if `program` has no meaning."""
