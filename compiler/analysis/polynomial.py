"""Polynomials with rational coefficients in numbered variables: what counts of points are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb, lcm

__all__ = ["Polynomial"]

Exponents = tuple[int, ...]
"""Of each variable that there is up to the last one used; without zeros at the end."""


@dataclass(frozen=True)
class Polynomial:
    """`terms`: coefficient by exponents, none of them 0."""

    terms: Mapping[Exponents, Fraction]

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    @staticmethod
    def constant(value: int | Fraction) -> Polynomial:
        """The same `value` everywhere."""
        return Polynomial({(): Fraction(value)} if value else {})

    @staticmethod
    def affine(coefficients: Sequence[int | Fraction], constant: int | Fraction = 0) -> Polynomial:
        """``constant + sum(coefficient * variable)``."""
        terms = {(0,) * k + (1,): Fraction(c) for k, c in enumerate(coefficients) if c}
        return Polynomial(terms | ({(): Fraction(constant)} if constant else {}))

    @property
    def degree(self) -> int:
        """Greatest sum of exponents."""
        return max((sum(powers) for powers in self.terms), default=0)

    @property
    def variables(self) -> list[int]:
        """Those that the value depends on, in order."""
        return sorted({k for powers in self.terms for k, power in enumerate(powers) if power})

    @property
    def denominator(self) -> int:
        """The least number by which all coefficients become whole."""
        return lcm(*(c.denominator for c in self.terms.values()))

    def coefficient(self, variable: int) -> Fraction:
        """That of the first power of a variable."""
        return self.terms.get((0,) * variable + (1,), Fraction(0))

    @property
    def offset(self) -> Fraction:
        """The term without variables."""
        return self.terms.get((), Fraction(0))

    def __add__(self, other: Polynomial) -> Polynomial:
        return _gathered([*self.terms.items(), *other.terms.items()])

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + other.scaled(-1)

    def __mul__(self, other: Polynomial) -> Polynomial:
        return _gathered([(_sum(a, b), x * y) for a, x in self.terms.items() for b, y in other.terms.items()])

    def scaled(self, factor: int | Fraction) -> Polynomial:
        """`factor` times the polynomial."""
        return _gathered([(powers, c * factor) for powers, c in self.terms.items()])

    def power(self, exponent: int) -> Polynomial:
        """A whole power, not negative."""
        result = Polynomial.constant(1)
        for _ in range(exponent):
            result = result * self
        return result

    def substituted(self, variable: int, value: Polynomial) -> Polynomial:
        """The polynomial with `value` for a variable."""
        result = Polynomial({})
        for exponent, rest in self.by_power(variable).items():
            result = result + rest * value.power(exponent)
        return result

    def by_power(self, variable: int) -> dict[int, Polynomial]:
        """What each power of a variable is multiplied with."""
        found: dict[int, list[tuple[Exponents, Fraction]]] = {}
        for powers, c in self.terms.items():
            exponent = powers[variable] if variable < len(powers) else 0
            rest = (*powers[:variable], 0, *powers[variable + 1 :]) if exponent else powers
            found.setdefault(exponent, []).append((rest, c))
        return {exponent: _gathered(items) for exponent, items in found.items()}

    def renamed(self, places: Sequence[int]) -> Polynomial:
        """The polynomial with variable ``places[k]`` for variable k."""
        items = []
        for powers, c in self.terms.items():
            moved = [0] * (max(places, default=0) + 1)
            for k, power in enumerate(powers):
                if power:
                    moved[places[k]] += power
            items.append((_trimmed(moved), c))
        return _gathered(items)

    def summed(self, variable: int, low: Polynomial, high: Polynomial) -> Polynomial:
        """The sum over all values of a variable from `low` to `high`, which is at least ``low - 1``."""
        total = Polynomial({})
        for exponent, rest in self.by_power(variable).items():
            sums = _power_sums(exponent)
            before = low - Polynomial.constant(1)
            total = total + rest * (_composed(sums, high) - _composed(sums, before))
        return total

    def value(self, point: Sequence[int]) -> Fraction:
        """The value at a point."""
        total = Fraction(0)
        for powers, c in self.terms.items():
            for coordinate, power in zip(point, powers, strict=False):
                c *= coordinate**power
            total += c
        return total


def _sum(first: Exponents, second: Exponents) -> Exponents:
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    return (*(a + b for a, b in zip(longer, shorter, strict=False)), *longer[len(shorter) :])


def _trimmed(powers: Sequence[int]) -> Exponents:
    end = len(powers)
    while end and not powers[end - 1]:
        end -= 1
    return tuple(powers[:end])


def _gathered(items: Sequence[tuple[Exponents, Fraction]]) -> Polynomial:
    found: dict[Exponents, Fraction] = {}
    for powers, c in items:
        key = _trimmed(powers)
        found[key] = found.get(key, Fraction(0)) + c
    return Polynomial({powers: c for powers, c in found.items() if c})


def _composed(coefficients: Sequence[Fraction], argument: Polynomial) -> Polynomial:
    """``sum(coefficient * argument**k)``, by Horner's rule."""
    result = Polynomial({})
    for c in reversed(coefficients):
        result = result * argument + Polynomial.constant(c)
    return result


@lru_cache(maxsize=64)
def _power_sums(exponent: int) -> tuple[Fraction, ...]:
    """Coefficients, that of power 0 first, of the polynomial G with ``G(y) - G(y - 1) == y**exponent`` and G(0) = 0."""
    if exponent == 0:
        return (Fraction(0), Fraction(1))
    # y**(n+1) - (y-1)**(n+1) = sum over k <= n of -binomial(n+1, k) * y**k * (-1)**(n+1-k)
    order = exponent + 1
    total = [Fraction(0)] * (order + 1)
    total[order] = Fraction(1)
    for k in range(exponent):
        factor = Fraction(comb(order, k) * (-1) ** (order - k))
        for place, c in enumerate(_power_sums(k)):
            total[place] += factor * c
    return tuple(c / order for c in total)
