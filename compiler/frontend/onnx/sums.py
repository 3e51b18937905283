"""Integer forms of QLinearAdd, proven equal to onnxruntime for all 65536 pairs of operands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from compiler.frontend.onnx.rounding import NoForm
from compiler.frontend.onnx.runtime import Levels, added

__all__ = ["ScaledSum", "fit_sum"]

_SHIFTS = range(6, 25)
_EXCEPTIONS = 8
_GREATEST = 256
"""Of an operand's scale over that of the result: more, and each step of the operand saturates."""


@dataclass(frozen=True)
class ScaledSum:
    """``clip((factors[0] * a + factors[1] * b + offset + even) >> shift, low, high)``, but for the pairs in
    `exceptions`, which come with their results. `even` is bit `shift` of the sum where `ties` says that halves go to
    the even neighbour, else 0."""

    factors: tuple[int, int]
    offset: int
    shift: int
    levels: Levels
    ties: bool = False
    exceptions: tuple[tuple[int, int, int], ...] = ()

    def apply(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Results for integers (int64)."""
        found = self._regular(a, b)
        for left, right, result in self.exceptions:
            found = np.where((a == left) & (b == right), result, found)
        return found

    def _regular(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        total = self.factors[0] * a + self.factors[1] * b + self.offset
        rounded = (total + (total >> self.shift & 1) if self.ties else total) >> self.shift
        return np.clip(rounded, self.levels.low, self.levels.high)


def fit_sum(a: Levels, b: Levels, y: Levels) -> ScaledSum:
    """The form with the smallest factors that there is. Raises `NoForm`."""
    if not all(part.scale < _GREATEST * y.scale for part in (a, b)):
        raise NoForm(f"its operands have scales {a.scale:.3g} and {b.scale:.3g}, far beyond the {y.scale:.3g} of its "
                     "result")
    left, right = (part.ravel() for part in np.meshgrid(np.arange(a.low, a.high + 1), np.arange(b.low, b.high + 1),
                                                        indexing="ij"))
    wanted = added(a, b, y)(left, right)
    best: ScaledSum | None = None
    for form in _candidates(a, b, y, left, right, wanted):
        wrong = np.flatnonzero(form.apply(left, right) != wanted)
        if not wrong.size:
            return form
        if wrong.size <= _EXCEPTIONS and (best is None or wrong.size < len(best.exceptions)):
            exceptions = tuple((int(left[k]), int(right[k]), int(wanted[k])) for k in wrong)
            best = ScaledSum(form.factors, form.offset, form.shift, form.levels, form.ties, exceptions)
    if best is None:
        raise NoForm("no integer factors give the sums that onnxruntime rounds in float32")
    return best


def _candidates(a: Levels, b: Levels, y: Levels, left: np.ndarray, right: np.ndarray,
                wanted: np.ndarray) -> Iterator[ScaledSum]:
    ratios = [float(part.scale / y.scale) for part in (a, b)]
    zero = y.zero - sum(r * part.zero for r, part in zip(ratios, (a, b), strict=True))
    low, high = wanted > y.low, wanted < y.high
    for shift in _SHIFTS:
        first, second = (int(np.rint(ratio * 2 ** shift)) for ratio in ratios)
        if max(first, second) < 1 << 31:
            plain = first * left + second * right
            least = ((wanted << shift) - plain)[low].max(initial=-(1 << 60))
            most = (((wanted + 1) << shift) - 1 - plain)[high].min(initial=1 << 60)
            yield ScaledSum((first, second), int(least + most) >> 1, shift, y)
            half = (1 << shift >> 1) - 1
            yield ScaledSum((first, second), int(np.rint(zero * 2 ** shift)) + half, shift, y, True)
