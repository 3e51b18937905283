"""What the systolic target refuses."""

from __future__ import annotations

from hw.errors import SluiceError

__all__ = ["KernelError", "MappingError"]


class MappingError(SluiceError):
    """An option that fits no array, or an array that cannot be planned."""


class KernelError(MappingError):
    """A program that is no reduction kernel. Says which statement is in the way."""
