"""Tables as Markdown text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["table"]


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table with its first column aligned left and the others right."""
    rule = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join(_row(line) for line in [head, rule, *rows])


def _row(cells: Sequence[Any]) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"
