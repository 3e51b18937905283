"""Whether controllers that share one SRAM port ever want it in the same cycle, for any shifts against each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

__all__ = ["PortTurns"]


class PortTurns:
    """Cycles in which several users want a port. User u with shift s wants it in ``cycles[u] + s``.

    `cyclic`: users do the same every so many cycles, for ever; None for just the cycles that are given.
    """

    def __init__(self, cycles: Sequence[np.ndarray], cyclic: int | None) -> None:
        self._cyclic = cyclic
        self._cycles = [np.unique(c % cyclic) if cyclic is not None else c for c in cycles]
        self._first = min((int(c.min()) for c in self._cycles if len(c)), default=0)
        self._wanted = [self._flags(c) for c in self._cycles]
        self._alone = all(np.count_nonzero(flags) == len(c)
                          for flags, c in zip(self._wanted, self._cycles, strict=True))
        self._known: dict[tuple[int, int, int], bool] = {}

    def _flags(self, cycles: np.ndarray) -> np.ndarray:
        flags = np.zeros(int(cycles.max(initial=self._first)) - self._first + 1, dtype=bool)
        flags[cycles - self._first] = True
        return flags

    def meet(self, first: int, second: int, shift: int) -> bool:
        """Whether users `first` and `second` ever want the port together if the second is shifted by `shift`."""
        key = first, second, shift
        if key not in self._known:
            moved = self._cycles[second] + shift
            if self._cyclic is not None:
                self._known[key] = bool(np.isin(moved % self._cyclic, self._cycles[first]).any())
            else:
                place = moved - self._first
                flags = self._wanted[first]
                place = place[(place >= 0) & (place < len(flags))]
                self._known[key] = bool(flags[place].any())
        return self._known[key]

    def choose(self, shifts: Sequence[Sequence[int]]) -> tuple[int, ...] | None:
        """The first combination of shifts, one of each user's, with which no two users ever meet."""
        return next(self._combinations(shifts, ()), None) if self._alone else None

    def _combinations(self, shifts: Sequence[Sequence[int]], chosen: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        user = len(chosen)
        if user == len(shifts):
            yield chosen
            return
        for shift in shifts[user]:
            if not any(self.meet(other, user, shift - have) for other, have in enumerate(chosen)):
                yield from self._combinations(shifts, (*chosen, shift))
