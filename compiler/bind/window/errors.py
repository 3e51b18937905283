"""What the window machine does not take."""

from __future__ import annotations

from hw.errors import SluiceError

__all__ = ["WindowError"]


class WindowError(SluiceError):
    """A dataflow graph, or an array, that the machine does not take. The message says what, and what to do instead."""
