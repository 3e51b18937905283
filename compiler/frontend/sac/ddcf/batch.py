"""Values of several iterations at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compiler.frontend.sac.types import Scalar

__all__ = ["Batch", "Divergence", "same_in_all"]


class Divergence(Exception):
    """Iterations of one batch have arrays of different extents; caught by the loop, which then runs them singly."""


@dataclass(frozen=True)
class Batch:
    """What enters a node: `size` rows of each operand, and the operands' types."""

    size: int
    operands: Sequence[np.ndarray]
    types: Sequence[Scalar]


def same_in_all(values: np.ndarray) -> int:
    """The one integer that all rows have. Raises `Divergence` if they have several."""
    first = values.flat[0]
    if not (values == first).all():
        raise Divergence
    return int(first)
