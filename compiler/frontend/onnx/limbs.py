"""Products that need more than 32 bits as sums of products that do not, for hardware whose words have 32 bits.

The accumulator is cut into parts of k bits, ``a = sum(a[i] << k*i)``, of which the last one has the sign, and the
offset likewise. Then

    t[0] = a[0] * m + r[0],    t[i] = a[i] * m + r[i] + (t[i - 1] >> k),    (a * m + r) >> s = t[n-1] >> s - k*(n-1)

holds for all integers, because what a shift drops lies below all that the later parts add.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compiler.ir.types import Int

__all__ = ["Limbs", "cut", "split"]

_WORD = Int(32)
_MOST = 4


@dataclass(frozen=True)
class Limbs:
    """`count` parts of `width` bits, the last one with all bits above."""

    count: int
    width: int


def split(number: int, limbs: Limbs) -> list[int]:
    """The parts of an integer, the lowest first."""
    mask = (1 << limbs.width) - 1
    low = [number >> limbs.width * part & mask for part in range(limbs.count - 1)]
    return [*low, number >> limbs.width * (limbs.count - 1)]


def cut(largest: int, factors: Sequence[int], offsets: Sequence[int], shift: int) -> Limbs | None:
    """The fewest parts with which all sums fit 32 bits, for accumulators up to `largest` in magnitude; None if there
    are none. By the interval of every sum."""
    for limbs in _choices(shift):
        if all(_fits(largest, factor, offset, limbs) for factor, offset in zip(factors, offsets, strict=True)):
            return limbs
    return None


def _choices(shift: int) -> Iterator[Limbs]:
    yield Limbs(1, 0)
    for count in range(2, _MOST + 1):
        for width in range(min(shift // (count - 1), _WORD.width - 1), 0, -1):
            yield Limbs(count, width)


def _fits(largest: int, factor: int, offset: int, limbs: Limbs) -> bool:
    """Whether every sum fits; factors are not negative."""
    top = limbs.count - 1
    low, high = 0, 0
    for part, added in enumerate(split(offset, limbs)):
        least, most = (-largest >> top * limbs.width, largest >> top * limbs.width) if part == top else \
            (0, (1 << limbs.width) - 1)
        low, high = least * factor + added + low, most * factor + added + high
        if not _WORD.contains(low) or not _WORD.contains(high):
            return False
        low, high = low >> limbs.width, high >> limbs.width
    return True
