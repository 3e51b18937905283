"""What onnxruntime computes in float32 between integers, number for number, on processors with fused multiply-add.

Measured against onnxruntime 1.32 (`tests/frontend/onnx/test_onnx_rounding.py`): accumulators become float32 (nearest,
ties to even), are multiplied by ``scale of x * scale of w / scale of y``, each operation rounded once, and rounded to
the nearest integer, ties to even; then comes the zero point, and saturation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hw.odd_rounding import odd_multiply_add

__all__ = ["Levels", "added", "requantized", "scale_of_products"]

_SINGLE = np.float32
_Singles = np.ndarray | np.float32


@dataclass(frozen=True)
class Levels:
    """The integers of a quantised tensor, `low` to `high`, of which `zero` stands for 0."""

    low: int
    high: int
    zero: int
    scale: np.float32

    def saturated(self, values: np.ndarray) -> np.ndarray:
        """Whole numbers above the zero point as integers of the tensor."""
        return np.clip(np.rint(values) + self.zero, self.low, self.high).astype(np.int64)


def scale_of_products(x: Levels, weights: np.ndarray, y: Levels) -> np.ndarray:
    """What sums of products are multiplied by, for each channel of `weights`, which are scales; infinite or 0 if they
    are too far apart for float32."""
    with np.errstate(over="ignore", under="ignore"):
        return (x.scale * weights) / y.scale


def requantized(levels: Levels, accumulators: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """`accumulators` (int64) times `scale` (float32, the shapes broadcast)."""
    return levels.saturated(accumulators.astype(_SINGLE) * scale)


def added(a: Levels, b: Levels, y: Levels) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """The sum of integers of two tensors as QLinearAdd has it."""
    first, second = a.scale / y.scale, b.scale / y.scale
    zeros = _fused(_SINGLE(a.zero), first, _SINGLE(second * _SINGLE(b.zero)))
    offset = _SINGLE(_SINGLE(y.zero) - zeros)

    def add(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        partial = _fused(right.astype(_SINGLE), second, offset)
        total = np.rint(_fused(left.astype(_SINGLE), first, partial))
        return np.clip(total, y.low, y.high).astype(np.int64)

    return add


def _fused(a: _Singles, b: _Singles, c: _Singles) -> np.ndarray:
    """``a * b + c`` of float32, rounded once."""
    return odd_multiply_add(a, b, c).astype(_SINGLE)
