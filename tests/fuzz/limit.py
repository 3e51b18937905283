"""A limit in processor seconds on a piece of work of this process."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["TooSlow", "limited"]

_AGAIN = 1.0
"""Seconds after which the signal comes again, should a callback have dropped the first one."""


class TooSlow(BaseException):
    """The work took longer than its limit; no `Exception`, so that nobody takes it for a reason to try another way."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raises `TooSlow` in the work inside once it has taken `seconds` of processor time, between two steps of Python:
    a long call of a library ends first. Child processes do not count. Without effect outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, seconds, _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def _stop(number: int, frame: FrameType | None) -> None:
    raise TooSlow
