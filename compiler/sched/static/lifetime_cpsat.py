"""Later starts that keep fewer words waiting, at the same end: exactly, by constraint programming (CP-SAT).

As early as its values allow is when a statement may start; the outputs end first if all do that. A statement whose
values wait for others can as well start later: an input that is added at the end of a chain need not be loaded at its
beginning. With the loops as they are, the offsets are chosen that keep the fewest words, among all at which every
output comes when it came before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ortools.sat.python import cp_model

from compiler.sched.static.cp_sat import solve_model

__all__ = ["Solution", "Wait", "settle", "words_kept"]

_EFFORT = 1.0
"""Deterministic seconds of the solver."""


@dataclass(frozen=True)
class Wait:
    """Values of `source` wait for `sink`, which starts at least `least` cycles after it; the last of them is read
    ``start of sink - start of source + longest`` cycles after it was there."""

    source: str
    sink: str
    least: int
    longest: int


@dataclass(frozen=True)
class Solution:
    """Offsets of all statements. `words`: kept at a time, all buffers together; `proven`: none keep fewer."""

    offsets: dict[str, int]
    words: int
    proven: bool


def settle(offsets: Mapping[str, int], waits: Sequence[Wait], rates: Mapping[str, tuple[int, int]],
           fixed: frozenset[str]) -> Solution | None:
    """Offsets not before those given, those of `fixed` as they are; None if the solver finds none in its time.

    `rates`: words that a statement produces, and the cycles in which it does.
    """
    model = cp_model.CpModel()
    latest = max(offsets.values())
    starts = {name: model.new_int_var(start, start if name in fixed else latest, name)
              for name, start in offsets.items()}
    kept: dict[str, cp_model.IntVar] = {}
    longest = max((wait.longest for wait in waits), default=0) + latest
    for wait in waits:
        gap = starts[wait.sink] - starts[wait.source]
        model.add(gap >= wait.least)
        if wait.source not in kept:
            kept[wait.source] = model.new_int_var(0, max(0, longest), f"{wait.source} kept")
        model.add(kept[wait.source] >= gap + wait.longest)
    # The first term decides; of equally many words, as early as possible.
    total = sum(_weight(rates[name]) * amount for name, amount in kept.items())
    model.minimize(total * 64 + sum(starts.values()))
    for name, start in starts.items():
        model.add_hint(start, offsets[name])
    solved = solve_model(model, _EFFORT)
    if solved is None:
        return None
    solver, optimal = solved
    found = {name: solver.value(start) for name, start in starts.items()}
    return Solution(found, words_kept(found, waits, rates), optimal)


def _weight(rate: tuple[int, int]) -> int:
    words, cycles = rate
    return max(1, 256 * words // cycles)


def words_kept(offsets: Mapping[str, int], waits: Sequence[Wait], rates: Mapping[str, tuple[int, int]]) -> int:
    """Words that all buffers keep at a time, where words come evenly."""
    longest: dict[str, int] = {}
    for wait in waits:
        now = offsets[wait.sink] - offsets[wait.source] + wait.longest
        longest[wait.source] = max(longest.get(wait.source, 0), now)
    return sum(min(words, words * cycles_ // cycles) for name, cycles_ in longest.items()
               for words, cycles in (rates[name],))
