"""The error of schedule directives."""

from hw.errors import SluiceError

__all__ = ["TransformError"]


class TransformError(SluiceError):
    """A directive that does not apply to the program, or that would change what the program computes."""
