"""Networks of operations for nodes that no single operation computes: roots, medians."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compiler.frontend.kernel import Typed, cast, constant, maximum, minimum, select
from compiler.ir.types import Int

__all__ = ["median", "square_root"]


def square_root(value: Typed, width: int) -> Typed:
    """The root of the low `width` bits of an unsigned `value`, rounded down: a bit of the result in each step, from the
    highest. `width` is even; the result has half of it, or 2 bits if that is 1."""
    half = width // 2
    wide = Int(max(2, width), signed=False)
    rest, root = cast(wide, value), constant(wide, 0)
    for bit in reversed(range(half)):
        tried = root + (1 << 2 * bit)
        fits = rest >= tried
        rest = select(fits, rest - tried, rest)
        halved = root >> 1
        root = select(fits, halved + (1 << 2 * bit), halved)
    return cast(Int(max(2, half), signed=False), root)


def median(values: Sequence[Typed]) -> Typed:
    """The middle one of an odd number of values, or of an even number the mean of the two in the middle, rounded
    towards 0. Comparisons that do not get to the middle are no part of the result."""
    ordered = list(values)
    for low, high in _odd_even_merges(len(ordered)):
        a, b = ordered[low], ordered[high]
        ordered[low], ordered[high] = minimum(a, b), maximum(a, b)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return _mean(ordered[middle - 1], ordered[middle])


def _mean(a: Typed, b: Typed) -> Typed:
    assert isinstance(a.type, Int)
    wide = Int(a.type.width + 1, a.type.signed)
    total = cast(wide, a) + cast(wide, b)
    if a.type.signed:
        total = total + select(total < 0, constant(wide, 1), constant(wide, 0))
    return cast(a.type, total >> 1)


def _odd_even_merges(count: int) -> Iterator[tuple[int, int]]:
    """Pairs of places that a network of Batcher's compares to sort `count` values."""
    p = 1
    while p < count:
        k = p
        while k:
            for j in range(k % p, count - k, 2 * k):
                for i in range(min(k, count - j - k)):
                    if (i + j) // (2 * p) == (i + j + k) // (2 * p):
                        yield i + j, i + j + k
            k //= 2
        p *= 2
