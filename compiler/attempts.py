"""What a long compilation is trying, for whoever watches: stages and attempts, told as they begin."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["note_attempt", "watch_attempts"]

_WATCHER: ContextVar[Callable[[str], None] | None] = ContextVar("watcher", default=None)


@contextmanager
def watch_attempts(watcher: Callable[[str], None]) -> Iterator[None]:
    """Inside, `watcher` hears what `note_attempt` is told."""
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def note_attempt(text: str) -> None:
    """Tell the watcher, if there is one, what begins now: a few words, such as ``initiation interval 2``."""
    watcher = _WATCHER.get()
    if watcher is not None:
        watcher(text)
