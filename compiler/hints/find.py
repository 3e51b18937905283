"""Hints for a design: its causes, each with the first remedy that is accepted and takes fewer cycles."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.attempts import note_attempt
from compiler.bind.design import Design, Run
from compiler.hints.causes import find_causes
from compiler.hints.hint import Hint, Remedy
from hw.errors import SluiceError

__all__ = ["find_hints"]

_PATIENCE = 10.0
"""Seconds of compiling a design up to which others are compiled to see whether they are better."""


def find_hints(design: Design, run: Run | None = None, *, patience: float = _PATIENCE) -> list[Hint]:
    """Why `design` is slow, from `run` if there is one, and what helps.

    What a hint advises has been compiled: it is accepted, and takes fewer cycles by its prediction. Nothing is tried
    for designs that took longer than `patience` seconds.
    """
    hints = []
    for cause in find_causes(design, run):
        remedies: Sequence[Remedy] = cause.remedies if design.compile_seconds <= patience else ()
        hints.append(Hint(cause.text, cause.statement, _first_that_helps(remedies)))
    return hints


def _first_that_helps(remedies: Sequence[Remedy]) -> str | None:
    for remedy in remedies:
        note_attempt(f"whether {remedy.advice} helps")
        try:
            if remedy.cycles() <= remedy.limit:
                return remedy.advice
        except SluiceError:
            continue
    return None
