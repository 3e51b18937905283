"""What a user can get wrong about process networks."""

from hw.errors import SluiceError

__all__ = ["NetworkError"]


class NetworkError(SluiceError):
    """A schedule that breaks a dependence, a channel that is too small, or a text that is no network."""
