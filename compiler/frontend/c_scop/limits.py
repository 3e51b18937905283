"""Budgets of the C front end, each checked before the work that it bounds; variables of the environment change them."""

from __future__ import annotations

from compiler.ir.types import ProgramError
from hw.limits import Limits

__all__ = ["LIMITS", "limit", "limit_note"]

LIMITS = {
    "macro_characters": 1 << 18, "inlined_operations": 100_000, "statements": 400, "nested_loops": 12,
    "initialised_elements": 4096, "copied_fields": 4096, "trips_by_data": 1 << 16,
}
"""What there may be of every resource: ``statements`` is changed by ``SLUICE_MAX_STATEMENTS=1000``."""


_LIMITS = Limits(LIMITS, ProgramError)

limit = _LIMITS.of
limit_note = _LIMITS.note
