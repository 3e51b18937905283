"""Reads along diagonals: where one loop moves several digits of the words, these become one digit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.analysis.port_nests import LoopSum, PortNest, loop_sum, table_sum
from compiler.bind.fpga.traces import Trace

__all__ = ["along_diagonal"]


def along_diagonal(feed: PortNest, goal: Trace) -> tuple[PortNest, Trace] | None:
    """`goal`, a nest of which one loop moves several digits, and those events of `feed` that are on the diagonal of
    these, with one digit in their place; None if there is no such loop, or if these events are no nest."""
    assert goal.nest is not None
    found = _diagonal(goal.nest)
    if found is None or feed.owners is None or any(len(feed.owners[place]) > 1 for place in found[1]):
        return None
    loop, places = found
    words = np.unique(np.stack([_along(goal.nest.digits[place], loop) for place in places]), axis=1)
    short = _on_diagonal(feed, places, words)
    if short is None:
        return None
    parts = [_numbered(part.port, places, words) for part in goal.parts]
    nest = _numbered(goal.nest, places, words)
    if nest is None or None in parts:
        return None
    return short, Trace(nest, parts=tuple(part._replace(port=port) for part, port in zip(goal.parts, parts, strict=True)
                                          if port is not None))


def _diagonal(goal: PortNest) -> tuple[int, list[int]] | None:
    """A loop, and the digits that it alone moves, two or more."""
    for loop in range(len(goal.times.trips)):
        places = [place for place, digit in enumerate(goal.digits) if loop in digit.moving]
        if len(places) > 1:
            return (loop, places) if all(goal.digits[place].moving == (loop,) for place in places) else None
    return None


def _along(digit: LoopSum, loop: int) -> np.ndarray:
    """Values of a digit that one loop moves."""
    return digit.base + digit.tables[loop]


def _numbered(port: PortNest, places: Sequence[int], words: np.ndarray) -> PortNest | None:
    """A port whose digits at `places` are one of the `words` (int64 of shape [places, words]), with the number of that
    in their stead; None if they are not, or if several loops move them."""
    moving = {loop for place in places for loop in port.digits[place].moving}
    if len(moving) > 1:
        return None
    loop = moving.pop() if moving else 0
    wanted = np.stack([_along(port.digits[place], loop) for place in places])
    known, number = np.unique(np.concatenate([words, wanted], axis=1), axis=1, return_inverse=True)
    if known.shape[1] > words.shape[1]:
        return None
    digit = table_sum(loop, number.ravel()[words.shape[1] :], port.times.trips)
    return _with_digit(port, places, digit, words.shape[1])


def _on_diagonal(feed: PortNest, places: Sequence[int], words: np.ndarray) -> PortNest | None:
    """The events of a feed with one of the `words` as digits at `places`, in the order of the words; None if it has
    not all of them, each once, or if they are no nest."""
    assert feed.owners is not None
    loops = [feed.owners[place] for place in places]
    moved = sorted(loop for owned in loops for loop in owned)
    if not moved:
        return None
    where = []
    for place, owned, wanted in zip(places, loops, words, strict=True):
        values = _along(feed.digits[place], owned[0]) if owned else np.array([feed.digits[place].base])
        if len(np.unique(values)) < len(values) or not np.isin(wanted, values).all():
            return None
        order = np.argsort(values)
        where.append(order[np.searchsorted(values[order], wanted)])
    cycles = sum(feed.times.tables[owned[0]][at] for owned, at in zip(loops, where, strict=True) if owned)
    assert isinstance(cycles, np.ndarray)

    def thinned(function: LoopSum, table: np.ndarray) -> LoopSum:
        """A function of the other loops, with `table` for the diagonal in place of the outermost of its loops."""
        tables = [table if k == moved[0] else old for k, old in enumerate(function.tables) if k not in moved[1:]]
        return loop_sum(function.base, tables)

    none, numbers = np.zeros(len(cycles), np.int64), np.arange(len(cycles))
    short = PortNest(thinned(feed.times, cycles), tuple(thinned(digit, none) for digit in feed.digits), feed.shape)
    number = thinned(LoopSum(0, tuple(0 * table for table in feed.times.tables)), numbers)
    result = _with_digit(short, places, number, len(cycles))
    return result if result.times.is_ascending else None


def _with_digit(port: PortNest, places: Sequence[int], digit: LoopSum, size: int) -> PortNest:
    """A port with one digit, of `size` values, in place of several."""
    kept = [k for k in range(len(port.digits)) if k not in places[1:]]
    digits = tuple(digit if k == places[0] else port.digits[k] for k in kept)
    return PortNest(port.times, digits, tuple(size if k == places[0] else port.shape[k] for k in kept))
