"""Hints: why a run takes longer than its bound, and what was found to help."""

from compiler.hints.find import find_hints
from compiler.hints.hint import Hint

__all__ = ["Hint", "find_hints"]
