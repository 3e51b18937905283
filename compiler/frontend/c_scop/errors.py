"""The error of the C front end, and places in the source."""

from __future__ import annotations

from typing import Any, NamedTuple

from compiler.ir.types import ProgramError

__all__ = ["Place", "ScopError"]


class Place(NamedTuple):
    """File, line and column (both from 1) of something in the user's source. Prints as ``file:line:column``."""

    file: str
    line: int
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.column else f"{self.file}:{self.line}"


class ScopError(ProgramError):
    """C that is no static control part, or not C: one line, with the place and the reason."""

    def __init__(self, place: Any, reason: str) -> None:
        super().__init__(f"{place}: {reason}")
        self.place = place
        self.reason = reason
