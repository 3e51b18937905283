"""Settings of command lines: ``NAME=VALUE``, repeated."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from hw.errors import SluiceError

__all__ = ["UsageError", "read_settings"]


class UsageError(SluiceError):
    """A command line that asks for something impossible."""


def read_settings(flag: str, settings: Sequence[str]) -> dict[str, Any]:
    """What ``FLAG NAME=VALUE`` said. Values are Python literals; what is none is a text. Raises `UsageError`."""
    found: dict[str, Any] = {}
    for setting in settings:
        name, separator, text = setting.partition("=")
        if not separator or not name.isidentifier():
            raise UsageError(f"{flag} {setting}: write NAME=VALUE")
        try:
            found[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            found[name] = text
    return found
