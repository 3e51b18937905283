"""What the dataflow target refuses."""

from hw.errors import SluiceError

__all__ = ["DataflowError"]


class DataflowError(SluiceError):
    """A program or an option that the dataflow target cannot turn into hardware."""
