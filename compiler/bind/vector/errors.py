"""Errors of the vector target."""

from hw.errors import SluiceError

__all__ = ["VectorProgramError", "VectorTargetError"]


class VectorTargetError(SluiceError):
    """A program of parallel arrays that cannot be compiled for the vector processor."""


class VectorProgramError(SluiceError):
    """A vector program that breaks its own rules, or text that is none."""
