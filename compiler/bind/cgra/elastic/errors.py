"""What cannot be mapped to buffets."""

from __future__ import annotations

from hw.errors import SluiceError

__all__ = ["ElasticError"]


class ElasticError(SluiceError):
    """A mapping that the ready-valid array cannot hold, or that would stop."""
