"""Numbers of a dataflow graph that are known before the run: constants, extents, and places that are affine in the
iterators of the loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

__all__ = ["Affine"]


@dataclass(frozen=True)
class Affine:
    """``constant + sum of factor * iterator``, without wrapping; `factors` by position of the iterator, none of 0."""

    constant: int
    factors: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, constant: int, factors: Mapping[int, int]) -> Affine:
        """The sum, terms of factor 0 left out."""
        return cls(constant, tuple(sorted((k, f) for k, f in factors.items() if f)))

    @property
    def known(self) -> int | None:
        """The number, if it is the same in all iterations."""
        return None if self.factors else self.constant

    def plus(self, other: Affine, sign: int = 1) -> Affine:
        """The sum, or the difference."""
        factors = dict(self.factors)
        for k, factor in other.factors:
            factors[k] = factors.get(k, 0) + sign * factor
        return Affine.of(self.constant + sign * other.constant, factors)

    def times(self, factor: int) -> Affine:
        """A multiple."""
        return Affine.of(self.constant * factor, {k: f * factor for k, f in self.factors})

    def range(self, extents: Sequence[int]) -> tuple[int, int]:
        """Least and greatest value in a loop of these extents."""
        ends = [sorted((0, factor * (extents[k] - 1))) for k, factor in self.factors]
        return self.constant + sum(low for low, _ in ends), self.constant + sum(high for _, high in ends)

    def text(self, iterators: Sequence[str]) -> str:
        """The sum as isl reads it."""
        terms = [f"{factor}*{iterators[k]}" for k, factor in self.factors]
        return " + ".join([*terms, str(self.constant)])


def row_major(index: int, extents: Sequence[int]) -> tuple[int, ...]:
    """The place of element number `index` in an array of these extents, the last one fastest."""
    found = []
    for position in range(len(extents)):
        found.append(index // prod(extents[position + 1:]) % extents[position])
    return tuple(found)
