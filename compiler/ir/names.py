"""Names of arrays, tables, statements and iterators."""

from __future__ import annotations

import re
from collections.abc import Iterable

from compiler.ir.types import ProgramError

__all__ = ["check_name", "fresh_name", "legal_name"]

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_RESERVED = re.compile(
    r"and|or|not|exists|implies|mod|floor|ceil|floord|ceild|min|max|rat|true|false|infty|infinity|nan|int",
    re.IGNORECASE,
)
"""Words that isl's text form keeps for itself."""


def check_name(name: object, label: str) -> None:
    """Raise `ProgramError` unless `name` is an identifier that isl can take; `label` opens the message."""
    if not isinstance(name, str) or not _IDENTIFIER.fullmatch(name):
        raise ProgramError(f"{label}: a name consists of letters, digits and underscores, not {name!r}")
    if _RESERVED.fullmatch(name):
        raise ProgramError(f"{label}: '{name}' is a reserved word; call it '{name}_'")


def fresh_name(name: str, taken: Iterable[str]) -> str:
    """`name`, with underscores behind it where it is taken."""
    used = set(taken)
    while name in used:
        name += "_"
    return name


def legal_name(text: str) -> str:
    """An identifier that isl can take, `text` itself if it is one."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", text)
    plain = plain if re.match(r"[A-Za-z_]", plain) else f"_{plain}"
    return f"{plain}_" if _RESERVED.fullmatch(plain) else plain
