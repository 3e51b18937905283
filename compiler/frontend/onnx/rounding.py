"""Integer forms of onnxruntime's requantisation, proven equal to it for every accumulator that there can be.

Both are monotone in the accumulator, so they are equal if they are equal on both sides of each of the at most 255
accumulators where the result of onnxruntime steps up. Two forms:

* **line**: ``(m * a + r) >> s``, one shift for all channels, the smallest for which every channel has `m` and `r`;
* **table**: where the steps lie on no line, because float32 rounds their products visibly. The exact product has a
  whole part q and a rest; whether it is rounded up depends on where the rest lies against a bound that depends on q
  alone, which a table holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compiler.frontend.onnx.runtime import Levels, requantized

__all__ = ["NoForm", "Requantization", "fit"]

_DEEPEST = 40
"""The largest shift of a line: beyond, products of 32-bit accumulators would not fit 64 bits."""
_MANTISSA = 24
_LEAST, _GREATEST = 2.0 ** -40, 2.0 ** 20


class NoForm(Exception):
    """No integer form computes what onnxruntime does; says why."""


@dataclass(frozen=True)
class Requantization:
    """``clip(q + (rest >= bounds[q - first]) + zero, low, high)`` with q and the rest of
    ``(factors[k] * a + offsets[k]) / 2**shift`` for channel k; without `bounds` nothing is added to q."""

    factors: tuple[int, ...]
    offsets: tuple[int, ...]
    shift: int
    levels: Levels
    first: int = 0
    bounds: tuple[int, ...] = ()

    def apply(self, accumulators: np.ndarray, channel: np.ndarray | int) -> np.ndarray:
        """Results for integers, in Python's exact arithmetic."""
        factors, offsets = (np.array(v, object)[channel] for v in (self.factors, self.offsets))
        whole = accumulators.astype(object) * factors + offsets
        quotient = whole >> self.shift
        if self.bounds:
            quotient = np.clip(quotient, self.first, self.first + len(self.bounds) - 1)
            bounds = np.array(self.bounds, object)[(quotient - self.first).astype(np.int64)]
            quotient = quotient + ((whole & (1 << self.shift) - 1) >= bounds)
        return np.clip(quotient + self.levels.zero, self.levels.low, self.levels.high).astype(np.int64)


def fit(scales: Sequence[np.float32], ranges: Sequence[tuple[int, int]], levels: Levels) -> Requantization:
    """The form for channels whose accumulators are in `ranges`. Raises `NoForm`."""
    scale, lowest, highest = np.array(scales, np.float32), *np.array(ranges, np.int64).T
    if not (scale > _LEAST).all() or not (scale < _GREATEST).all():
        raise NoForm(f"its sums are scaled by {scale.min():.3g} to {scale.max():.3g}, beyond all that has a meaning")
    steps = _steps(scale, lowest, highest, levels)
    found = _line(scale, steps, lowest, highest, levels) or _table(scale, levels)
    _prove(found, scale, steps, lowest, highest)
    return found


def _steps(scale: np.ndarray, lowest: np.ndarray, highest: np.ndarray, levels: Levels) -> np.ndarray:
    """[channel, q]: the first accumulator in the range whose result is at least ``low + 1 + q``; one behind the range
    if there is none. By bisection of all at once."""
    wanted = np.arange(levels.low + 1, levels.high + 1)[None, :]
    first = np.broadcast_to(lowest[:, None], (len(scale), wanted.size)).copy()
    last = np.broadcast_to(highest[:, None] + 1, first.shape).copy()
    while (first < last).any():
        middle = (first + last) >> 1
        enough = requantized(levels, middle, scale[:, None]) >= wanted
        first, last = np.where(enough | (first >= last), first, middle + 1), np.where(enough, middle, last)
    return first


def _line(scale: np.ndarray, steps: np.ndarray, lowest: np.ndarray, highest: np.ndarray,
          levels: Levels) -> Requantization | None:
    """The line with the smallest shift, None if there is none."""
    above = np.arange(levels.low + 1, levels.high + 1)[None, :] - levels.zero
    reached, begun = steps <= highest[:, None], steps > lowest[:, None]
    for shift in range(_DEEPEST + 1):
        chosen = _line_of_shift(scale.astype(np.float64), steps, above, reached, begun, shift)
        if chosen is not None:
            return Requantization(*chosen, shift, levels)
    return None


def _line_of_shift(scale: np.ndarray, steps: np.ndarray, above: np.ndarray, reached: np.ndarray, begun: np.ndarray,
                   shift: int) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Factor and offset of every channel; None if one has none. A step t to q demands ``m*t + r >= q << s``, and the
    accumulator before it ``m*(t - 1) + r < q << s``."""
    factors: list[int] = []
    offsets: list[int] = []
    huge = np.int64(1) << 62
    for channel, value in enumerate(scale):
        nearest = int(np.rint(value * 2.0 ** shift))
        for factor in range(max(nearest - 1, 0), nearest + 2):
            if factor >= 1 << 31:
                return None
            distance = (above[0] << shift) - factor * steps[channel]
            least = np.where(reached[channel], distance, -huge).max()
            most = np.where(begun[channel], distance + factor - 1, huge).min()
            if least <= most:
                factors.append(factor)
                offsets.append(_between(int(least), int(most), 1 << shift >> 1))
                break
        else:
            return None
    return tuple(factors), tuple(offsets)


def _between(least: int, most: int, wished: int) -> int:
    return min(max(wished, least), most)


def _table(scale: np.ndarray, levels: Levels) -> Requantization:
    """Two roundings at once: of the product to 24 bits, and to an integer."""
    mantissas, exponents = np.frexp(scale.astype(np.float64))
    shift = int(_MANTISSA - exponents.min())
    factors = tuple(int(np.ldexp(m, _MANTISSA)) << int(e - exponents.min())
                    for m, e in zip(mantissas, exponents, strict=True))
    even = min((factor & -factor).bit_length() - 1 for factor in factors)
    shift, factors = shift - even, tuple(factor >> even for factor in factors)
    if shift < 1 or shift > 60 or max(factors).bit_length() > _DEEPEST:
        raise NoForm("the scales of its channels are too far apart, or too large")
    first, last = levels.low - levels.zero - 1, levels.high - levels.zero
    bounds = tuple(_bound(quotient, shift) for quotient in range(first, last + 1))
    return Requantization(factors, (0,) * len(factors), shift, levels, first, bounds)


def _bound(quotient: int, shift: int) -> int:
    """The least rest with which a product of this whole part is rounded up; below 0 it is that of the magnitude,
    mirrored."""
    if quotient < 0:
        return (1 << shift) - _bound(-quotient - 1, shift) + 1
    half, binade = 1 << shift >> 1, quotient.bit_length() - 1
    spacing = shift + binade - _MANTISSA  # of float32, halved: what is within becomes a tie
    near = 1 << spacing if spacing >= 0 else 0
    return half - near if quotient % 2 else half + near + 1


def _prove(form: Requantization, scale: np.ndarray, steps: np.ndarray, lowest: np.ndarray,
           highest: np.ndarray) -> None:
    """Raise `NoForm` unless `form` is what onnxruntime computes, on both sides of every step."""
    for channel, value in enumerate(scale):
        ends = np.array([lowest[channel], highest[channel]])
        sides = np.unique(np.clip(np.concatenate([steps[channel], steps[channel] - 1, ends]), *ends))
        if not np.array_equal(form.apply(sides, channel), requantized(form.levels, sides, value)):
            raise NoForm(f"onnxruntime rounds its accumulators, up to {abs(ends).max()}, to 24 bits before it scales "
                         f"them by {value:.3g}")
