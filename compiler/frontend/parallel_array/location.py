"""Where in the user's program an expression was written."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hw.errors import SluiceError

__all__ = ["ArrayError", "Location", "here", "written_at"]

_PACKAGES = (str(Path(__file__).resolve().parent), str(Path(np.__file__).resolve().parent))
"""This one, and numpy: its functions call back."""


class ArrayError(SluiceError):
    """An expression of parallel arrays that cannot be built or evaluated."""


@dataclass(frozen=True)
class Location:
    """A line of the user's program; `text` is that line, empty if its source is not at hand."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        place = f"{Path(self.file).name}:{self.line}"
        return f"{place}: '{self.text}'" if self.text else place

    def error(self, message: str) -> ArrayError:
        """An error about the expression written here."""
        return ArrayError(f"{self}: {message}")


_WRITTEN: ContextVar[Location | None] = ContextVar("written", default=None)


@contextmanager
def written_at(file: str, line: int) -> Iterator[None]:
    """Expressions that are built inside belong to this line of a source file, whatever is being executed."""
    text = linecache.getline(file, line).strip()
    token = _WRITTEN.set(Location(file, line, text))
    try:
        yield
    finally:
        _WRITTEN.reset(token)


def here() -> Location:
    """The innermost line that is being executed outside this package and numpy, or the one that `written_at` names."""
    written = _WRITTEN.get()
    if written is not None:
        return written
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGES):
        frame = frame.f_back
    name = frame.f_code.co_filename
    return Location(name, frame.f_lineno, linecache.getline(name, frame.f_lineno).strip())
