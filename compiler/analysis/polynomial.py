"""Polynomials with rational coefficients in numbered variables: what counts of points are made of.

Coefficients are whole numbers over one denominator: adding fractions would take several times as long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb, gcd, lcm

__all__ = ["Polynomial"]

Exponents = tuple[int, ...]
"""Of each variable that there is up to the last one used; without zeros at the end."""


@dataclass(frozen=True)
class Polynomial:
    """`terms`: numerator by exponents, none of them 0, over the one `denominator` of all, the least there is."""

    terms: Mapping[Exponents, int]
    denominator: int = 1

    def __hash__(self) -> int:
        return hash((frozenset(self.terms.items()), self.denominator))

    @staticmethod
    def constant(value: int | Fraction) -> Polynomial:
        """The same `value` everywhere."""
        return Polynomial({(): value.numerator} if value else {}, value.denominator)

    @staticmethod
    def affine(coefficients: Sequence[int | Fraction], constant: int | Fraction = 0) -> Polynomial:
        """``constant + sum(coefficient * variable)``."""
        denominator = lcm(constant.denominator, *(c.denominator for c in coefficients))
        terms = {(0,) * k + (1,): int(c * denominator) for k, c in enumerate(coefficients) if c}
        return Polynomial(terms | ({(): int(constant * denominator)} if constant else {}), denominator)

    @property
    def degree(self) -> int:
        """Greatest sum of exponents."""
        return max((sum(powers) for powers in self.terms), default=0)

    @property
    def variables(self) -> list[int]:
        """Those that the value depends on, in order."""
        return sorted({k for powers in self.terms for k, power in enumerate(powers) if power})

    def coefficient(self, variable: int) -> Fraction:
        """That of the first power of a variable."""
        return Fraction(self.terms.get((0,) * variable + (1,), 0), self.denominator)

    @property
    def offset(self) -> Fraction:
        """The term without variables."""
        return Fraction(self.terms.get((), 0), self.denominator)

    def __add__(self, other: Polynomial) -> Polynomial:
        return self._plus(other, 1)

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self._plus(other, -1)

    def _plus(self, other: Polynomial, times: int) -> Polynomial:
        if not other.terms:
            return self
        denominator = lcm(self.denominator, other.denominator)
        own, times = denominator // self.denominator, times * (denominator // other.denominator)
        found = {powers: c * own for powers, c in self.terms.items()} if own != 1 else dict(self.terms)
        for powers, c in other.terms.items():
            found[powers] = found.get(powers, 0) + c * times
        return _shortened(found, denominator)

    def __mul__(self, other: Polynomial) -> Polynomial:
        found: dict[Exponents, int] = {}
        for a, x in self.terms.items():
            for b, y in other.terms.items():
                powers = _sum(a, b)
                found[powers] = found.get(powers, 0) + x * y
        return _shortened(found, self.denominator * other.denominator)

    def scaled(self, factor: int | Fraction) -> Polynomial:
        """`factor` times the polynomial."""
        found = {powers: c * factor.numerator for powers, c in self.terms.items()}
        return _shortened(found, self.denominator * factor.denominator)

    def power(self, exponent: int) -> Polynomial:
        """A whole power, not negative."""
        result = Polynomial.constant(1)
        for _ in range(exponent):
            result = result * self
        return result

    def substituted(self, variable: int, value: Polynomial) -> Polynomial:
        """The polynomial with `value` for a variable."""
        parts = self.by_power(variable)
        result, power, reached = parts.pop(0, Polynomial({})), Polynomial.constant(1), 0
        for exponent in sorted(parts):
            power, reached = power * value.power(exponent - reached), exponent
            result = result + parts[exponent] * power
        return result

    def by_power(self, variable: int) -> dict[int, Polynomial]:
        """What each power of a variable is multiplied with."""
        found: dict[int, dict[Exponents, int]] = {}
        for powers, c in self.terms.items():
            exponent = powers[variable] if variable < len(powers) else 0
            rest = _trimmed((*powers[:variable], 0, *powers[variable + 1 :])) if exponent else powers
            found.setdefault(exponent, {})[rest] = c
        return {exponent: _shortened(terms, self.denominator) for exponent, terms in found.items()}

    def renamed(self, places: Sequence[int]) -> Polynomial:
        """The polynomial with variable ``places[k]`` for variable k."""
        found: dict[Exponents, int] = {}
        for powers, c in self.terms.items():
            moved = [0] * (max(places, default=0) + 1)
            for k, power in enumerate(powers):
                if power:
                    moved[places[k]] += power
            key = _trimmed(moved)
            found[key] = found.get(key, 0) + c
        return _shortened(found, self.denominator)

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
        total = 0
        for powers, c in self.terms.items():
            for coordinate, power in zip(point, powers, strict=False):
                c *= coordinate**power
            total += c
        return Fraction(total, self.denominator)


def _sum(first: Exponents, second: Exponents) -> Exponents:
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    return (*(a + b for a, b in zip(longer, shorter, strict=False)), *longer[len(shorter) :]) if shorter else longer


def _trimmed(powers: Sequence[int]) -> Exponents:
    end = len(powers)
    while end and not powers[end - 1]:
        end -= 1
    return tuple(powers[:end])


def _shortened(terms: Mapping[Exponents, int], denominator: int) -> Polynomial:
    """Without terms that are 0, over the least denominator."""
    kept = {powers: c for powers, c in terms.items() if c}
    common = gcd(denominator, *kept.values()) if denominator != 1 else 1
    if common == 1:
        return Polynomial(kept, denominator)
    return Polynomial({powers: c // common for powers, c in kept.items()}, denominator // common)


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
