"""Rows of a chain: which cells hang on which stage."""

from __future__ import annotations

from hw.systolic.recurrence.spec import ChainSpec, RecurrenceSpec

__all__ = ["Rows", "chain_rows"]

Rows = dict[int, list[tuple[int, tuple[int, int]]]]
"""Coordinate along the major loop -> (coordinate along the other one, leaf), both in order."""


def chain_rows(spec: RecurrenceSpec, chain: ChainSpec) -> Rows:
    """The leaves of `chain` by row."""
    rows: Rows = {}
    for leaf in chain.leaves:
        place = spec.cells[leaf[0]].place
        minor = place[1 - chain.major] if len(place) > 1 else 0
        rows.setdefault(place[chain.major], []).append((minor, leaf))
    return {major: sorted(rows[major]) for major in sorted(rows)}
