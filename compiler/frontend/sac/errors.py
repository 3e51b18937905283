"""What is wrong with a SA-C program, with the place in its source."""

from __future__ import annotations

from compiler.frontend.sac.syntax import Place
from compiler.ir.types import ProgramError

__all__ = ["SacError", "SacRunError"]


class SacError(ProgramError):
    """A program that is not SA-C: ``file:line:column: what is wrong``."""

    def __init__(self, place: Place | None, message: str) -> None:
        super().__init__(f"{place}: {message}" if place else message)
        self.place = place


class SacRunError(SacError):
    """A run that has no result: an index outside an array, shapes that do not agree, a division by zero."""
