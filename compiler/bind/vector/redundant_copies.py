"""Leaves out copies that have been made already: the same bytes to the same place, and neither has changed since."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass

from compiler.bind.vector.access_ranges import Span, span, touched
from compiler.bind.vector.ir import Instruction, Setting, Statement, Transfer
from hw.vector_lanes.isa import Op

__all__ = ["Repeats"]

REMEMBERED = 32
"""Copies that are kept in mind."""


@dataclass(frozen=True)
class _Copy:
    """An instruction with its settings, and the bytes that must stay as they are for it to be superfluous."""

    key: tuple[object, ...]
    source: Span
    target: Span

    def holds(self, written: Span) -> bool:
        """Whether a write elsewhere leaves both alone."""
        return all(high <= written[0] or written[1] <= low for low, high in (self.source, self.target))


class Repeats:
    """Passes statements on, in groups, without counters. Settings are passed on when something needs them."""

    def __init__(self) -> None:
        self._given: dict[str, tuple[int, ...]] = {}
        self._passed: dict[str, tuple[int, ...]] = {}
        self._copies: deque[_Copy] = deque(maxlen=REMEMBERED)

    def state(self) -> Hashable:
        """What is known: groups that are alike are passed on alike where this is the same."""
        return tuple(sorted(self._given.items())), tuple(sorted(self._passed.items())), tuple(self._copies)

    def without(self, group: Iterable[Statement]) -> list[Statement]:
        """The statements of a group that are needed."""
        return list(self._needed(group))

    def _needed(self, group: Iterable[Statement]) -> Iterator[Statement]:
        for statement in group:
            match statement:
                case Setting(kind, values):
                    self._given[kind] = tuple(v for v in values if isinstance(v, int))
                case Instruction():
                    yield from self._instruction(statement)
                case Transfer(bytes=int(size), rows=int(rows), scratchpad=int(place)):
                    yield from self._settings(("transfer",) if rows > 1 else ())
                    if not statement.to_host:
                        step = self._given["transfer"][0] if rows > 1 else 0
                        self._forget(span(place, size, [(rows, step)]))
                    yield statement
                case _:
                    yield statement

    def _instruction(self, statement: Instruction) -> Iterator[Statement]:
        mode, kinds = statement.mode, ("length", "rows", "matrices")[:1 + statement.mode.dimensions]
        copies = mode.op is Op.VMOV and mode.reads_a and not mode.accumulate
        key = (statement, *(self._given[kind] for kind in kinds)) if copies else ()
        if copies and any(known.key == key for known in self._copies):
            return
        yield from self._settings(kinds)
        yield statement
        if not copies and not self._copies:
            return
        found = touched(statement, self._given)
        self._forget(found.writes)
        if copies:
            source, target = found.reads["A"], found.writes
            if source[1] <= target[0] or target[1] <= source[0]:
                self._copies.append(_Copy(key, source, target))

    def _settings(self, kinds: tuple[str, ...]) -> Iterator[Setting]:
        for kind in kinds:
            values = self._given[kind]
            if self._passed.get(kind) != values:
                self._passed[kind] = values
                yield Setting(kind, values)

    def _forget(self, written: Span) -> None:
        if self._copies:
            self._copies = deque((copy for copy in self._copies if copy.holds(written)), REMEMBERED)
