"""What a long compilation is trying: told as it begins to whoever watches, and kept with its outcome."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

__all__ = ["Attempt", "attempt", "note_attempt", "record_attempts", "watch_attempts"]

_WATCHER: ContextVar[Callable[[str], None] | None] = ContextVar("watcher", default=None)
_RECORD: ContextVar[list[Attempt] | None] = ContextVar("record", default=None)


@dataclass
class Attempt:
    """One choice of a search: `choice` in words, its `outcome` (a result or the reason why there is none; empty while
    it runs), the `seconds` it took, the `bound` in cycles that nothing of this choice can beat (None if that is not
    known), and the choices that were tried inside of it."""

    choice: str
    outcome: str = ""
    seconds: float = 0.0
    bound: int | None = None
    inner: list[Attempt] = field(default_factory=list)


@contextmanager
def watch_attempts(watcher: Callable[[str], None]) -> Iterator[None]:
    """Inside, `watcher` hears what `note_attempt` is told."""
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)


@contextmanager
def record_attempts() -> Iterator[list[Attempt]]:
    """Inside, every `attempt` goes into the list."""
    found: list[Attempt] = []
    token = _RECORD.set(found)
    try:
        yield found
    finally:
        _RECORD.reset(token)


def note_attempt(text: str) -> None:
    """Tell the watcher, if there is one, what begins now: a few words, such as ``initiation interval 2``."""
    watcher = _WATCHER.get()
    if watcher is not None:
        watcher(text)


@contextmanager
def attempt(choice: str, partial: bool = False) -> Iterator[Attempt]:
    """Inside, `choice` is tried: the watcher is told, and the record keeps how it ended. Whoever tries sets `outcome`;
    an error that leaves the block is the outcome otherwise. A `partial` choice is kept only if it has an outcome."""
    note_attempt(choice)
    tried, around, start = Attempt(choice), _RECORD.get(), time.perf_counter()
    if around is not None and not partial:
        around.append(tried)
    token = _RECORD.set(None if around is None else tried.inner)
    try:
        yield tried
    except Exception as error:
        tried.outcome = tried.outcome or str(error)
        raise
    finally:
        if around is not None and partial and tried.outcome:
            around.append(tried)
        tried.seconds = time.perf_counter() - start
        _RECORD.reset(token)
