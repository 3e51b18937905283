"""Depths of queues: the least that cost no cycles, each proven by a run of the whole network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from compiler.attempts import note_attempt
from compiler.bind.systolic.recurrence.mapping import ArrayMapping, map_recurrence
from compiler.bind.systolic.recurrence.model import Network, build_network
from compiler.bind.systolic.recurrence.recurrence import Recurrence
from compiler.bind.systolic.recurrence.settings import Settings
from compiler.bind.systolic.recurrence.validate import validate_array

__all__ = ["SizedArray", "sized_array"]

_LIMITS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024)
_SLACK = 0.01
"""Share of the cycles that smaller queues may cost."""


@dataclass(frozen=True)
class SizedArray:
    """The array with its depths, its validated run, and the cycles that it would take with queues without bounds."""

    mapping: ArrayMapping
    network: Network
    unbounded_cycles: int

    def __hash__(self) -> int:
        return hash(self.mapping)


def sized_array(recurrence: Recurrence, space: Sequence[str], settings: Settings) -> SizedArray:
    """Map, size and validate. Raises `SpaceTimeError`."""
    note_attempt(f"space loops {', '.join(space)}")
    free = map_recurrence(recurrence, space, settings)
    network = build_network(free.spec)
    network.run()
    peaks, leaves = _peaks(free, network)
    deepest = max((*peaks.values(), *leaves, 2))
    for limit in _LIMITS:
        last = limit >= deepest
        note_attempt(f"queues of {min(limit, deepest)} words")
        mapping = map_recurrence(recurrence, space, settings, {key: max(1, min(n, limit)) for key, n in peaks.items()})
        mapping = _with_leaves(mapping, [max(2, min(n, limit)) for n in leaves])
        trial = build_network(mapping.spec)
        if not trial.run() and (last or trial.cycles <= network.cycles * (1 + _SLACK)):
            break
    note_attempt("validation")
    return SizedArray(mapping, validate_array(mapping), network.cycles)


def _with_leaves(mapping: ArrayMapping, words: Sequence[int]) -> ArrayMapping:
    loads = tuple(replace(chain, leaf_words=n) for chain, n in zip(mapping.spec.loads, words, strict=True))
    return replace(mapping, spec=replace(mapping.spec, loads=loads))


def _peaks(mapping: ArrayMapping, network: Network) -> tuple[dict[tuple[int, str], int], list[int]]:
    """The most words in every queue of every kind of cell, and at the cells of every load chain."""
    peaks: dict[tuple[int, str], int] = {}
    kinds = {cell.place: cell.kind for cell in mapping.spec.cells}
    leaves = [1] * len(mapping.spec.loads)
    for channel in network.channels:
        if channel.owner is not None:
            key = kinds[channel.owner[0]], channel.owner[1]
            peaks[key] = max(peaks.get(key, 1), channel.peak())
        if channel.load is not None:
            leaves[channel.load] = max(leaves[channel.load], channel.peak())
    return peaks, leaves
