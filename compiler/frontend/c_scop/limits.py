"""Budgets of the C front end, each checked before the work that it bounds; variables of the environment change them."""

from __future__ import annotations

import os

from compiler.ir.types import ProgramError

__all__ = ["LIMITS", "limit", "limit_note"]

LIMITS = {
    "macro_characters": 1 << 18, "inlined_operations": 100_000, "statements": 400, "nested_loops": 12,
    "initialised_elements": 4096, "copied_fields": 4096,
}
"""What there may be of every resource: ``statements`` is changed by ``SLUICE_MAX_STATEMENTS=1000``."""


def limit(resource: str) -> int:
    """The budget of a resource of `LIMITS`. Raises `ProgramError` if the environment gives no positive number."""
    given = os.environ.get(_variable(resource))
    if given is None:
        return LIMITS[resource]
    if not (given.isascii() and given.isdigit() and int(given) > 0):
        raise ProgramError(f"{_variable(resource)}={given!r} is not a positive integer")
    return int(given)


def limit_note(resource: str) -> str:
    """How a message says which budget it is, and how to raise it."""
    return f"(set {_variable(resource)} above {limit(resource)} to go on)"


def _variable(resource: str) -> str:
    return f"SLUICE_MAX_{resource.upper()}"
