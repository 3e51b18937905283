"""What space-time mapping refuses."""

from __future__ import annotations

from hw.errors import SluiceError

__all__ = ["LargeIterationError", "SpaceTimeError"]


class SpaceTimeError(SluiceError):
    """A program that no systolic array can compute as it is written. Says where, why, and what would be legal."""


class LargeIterationError(SpaceTimeError):
    """An iteration whose operations no processing element has room for."""
