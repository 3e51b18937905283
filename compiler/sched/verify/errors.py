"""The error of translation validation."""

from __future__ import annotations

from hw.errors import SluiceError

__all__ = ["ValidationError"]


class ValidationError(SluiceError):
    """A finished mapping does not do what the program says: a fault of the compiler, with a witness."""
