"""What exp, log, sin and cos of a format are made of: widths, constants, and a table of polynomials.

A function is a range reduction, in exact integers but for a constant, a polynomial on one of equal segments of [0, 1),
and a rounding. `hw.float.functions` builds that and `compiler.ir.float_functions` evaluates it, step by step the same.
All shifts round down. Tables come from decimal arithmetic with 60 digits, the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from functools import cache
from math import ceil

from hw.float.spec import Float

__all__ = ["Exponential", "Logarithm", "Polynomial", "Sine", "exponential", "logarithm", "sine"]

_GUARD = 7
"""Bits beyond those of the mantissa that values have on the way: what is lost is a small part of a unit."""

_DIGITS = 60
_DEGREES = ((10, 1), (24, 2), (36, 3), (52, 5))
"""Up to which mantissa polynomials have which degree, so that tables stay small."""


@dataclass(frozen=True)
class Polynomial:
    """``sum(c[k] * t**k)`` with the coefficients of the segment that the upper bits of the argument name, where t in
    [0, 1) is what the lower ones are.

    `argument`: bits of the argument. `fraction`: bits behind the point of coefficients and result. ``rows[segment][k]``
    are coefficients; by Horner's scheme, step k adds coefficient k and the sum so far, of ``widths[k + 1]`` bits
    (signed), times the upper ``factors[k]`` bits of t.
    """

    argument: int
    fraction: int
    rows: tuple[tuple[int, ...], ...]
    widths: tuple[int, ...]
    factors: tuple[int, ...]

    @property
    def rest(self) -> int:
        """Bits of t."""
        return self.argument - (len(self.rows) - 1).bit_length()


@dataclass(frozen=True)
class Exponential:
    """exp: |x|, with `whole` bits before and `fraction` bits behind the point, times `scale`, which has `digits` bits
    behind the point, is the power of two of the result."""

    whole: int
    fraction: int
    scale: int
    digits: int
    power: Polynomial


@dataclass(frozen=True)
class Logarithm:
    """log: a multiple of `two`, the logarithm of 2 with as many bits behind the point as `quotient` has, and r times
    `quotient` of the mantissa's bits, where 1 + r is in [0.75, 1.5) and the quotient log(1 + r) / r."""

    two: int
    quotient: Polynomial


@dataclass(frozen=True)
class Sine:
    """sin and cos: ``windows[k]`` are bits of 2 / pi for numbers whose exponent is k more than that of [0.5, 1), those
    that quadrants and `fraction` bits of a quadrant come from. Below that a number is the first window's times a power
    of two. `ratio`: sin(pi / 2 * f) / f; of f, `kept` bits from its highest one on count."""

    fraction: int
    windows: tuple[int, ...]
    kept: int
    ratio: Polynomial


@cache
def exponential(form: Float) -> Exponential:
    """The plan of exp."""
    whole = ceil(((1 << form.exponent - 1) + form.mantissa + 2) * 0.7).bit_length()
    fraction = form.mantissa + _GUARD
    digits = fraction + whole + 1
    with localcontext(Context(prec=_DIGITS + form.width)):
        two = Decimal(2).ln()
        power = _polynomial(form, fraction, lambda f: (f * two).exp())
        return Exponential(whole, fraction, _scaled(1 / two, digits), digits, power)


@cache
def logarithm(form: Float) -> Logarithm:
    """The plan of log."""
    def quotient(f: Decimal) -> Decimal:
        r = f if f < Decimal("0.5") else (f - 1) / 2
        return (1 + r).ln() / r if r else Decimal(1)

    with localcontext(Context(prec=_DIGITS + form.width)):
        return Logarithm(_scaled(Decimal(2).ln(), form.mantissa + _GUARD),
                         _polynomial(form, form.mantissa, quotient))


@cache
def sine(form: Float) -> Sine:
    """The plan of sin and cos."""
    fraction = 2 * form.mantissa + form.exponent + 10
    kept = form.mantissa + _GUARD
    most = form.bias + 1
    with localcontext(Context(prec=_DIGITS + fraction + form.width + (1 << form.exponent))):
        pi = _pi()
        size = fraction + form.mantissa + 1
        whole = _scaled(2 / pi, size + most)
        # A number of exponent k - 1 is its significand, an integer, times 2 ** (k - 1 - mantissa).
        windows = tuple((whole >> most - (k - 1 - form.mantissa)) % (1 << size + 2) if most >= k - 1 - form.mantissa
                        else 0 for k in range(most + 1))
    with localcontext(Context(prec=_DIGITS + form.width)):
        return Sine(fraction, windows, kept, _polynomial(form, kept, lambda f: _sine(f * pi / 2) / f if f else pi / 2))


def _scaled(value: Decimal, bits: int) -> int:
    return int((value * (1 << bits)).to_integral_value())


def _pi() -> Decimal:
    """Machin's formula."""
    return 4 * (4 * _inverse_tangent(5) - _inverse_tangent(239))


def _inverse_tangent(n: int) -> Decimal:
    """That of 1 / n."""
    term, total, k = Decimal(1) / n, Decimal(0), 1
    while total + term / k != total:
        total += term / k
        term, k = -term / (n * n), k + 2
    return total


def _sine(x: Decimal) -> Decimal:
    term, total, k = x, Decimal(0), 1
    while total + term != total:
        total += term
        term, k = -term * x * x / ((k + 1) * (k + 2)), k + 2
    return total


def _polynomial(form: Float, argument: int, function: Callable[[Decimal], Decimal]) -> Polynomial:
    """Interpolations of a function on [0, 1) at the zeros of Chebyshev's polynomials on segments, so many that they are
    as good as the results' mantissas have to be."""
    degree = next(degree for mantissa, degree in _DEGREES if form.mantissa <= mantissa)
    bits = min(argument - 1, max(2, ceil((form.mantissa + 5) / (degree + 1)) - 2))
    fraction = form.mantissa + _GUARD
    nodes = [Decimal(str(node)) for node in _chebyshev(degree + 1)]
    rows = []
    for segment in range(1 << bits):
        values = [function((segment + node) / (1 << bits)) for node in nodes]
        rows.append(tuple(_scaled(c, fraction) for c in _interpolated(nodes, values)))
    sizes = [max(abs(row[k]) for row in rows) for k in range(degree + 1)]
    largest = [sum(sizes[k:]) for k in range(degree + 1)]
    widths = tuple(size.bit_length() + 2 for size in largest)
    rest = argument - bits
    return Polynomial(argument, fraction, tuple(rows), widths, tuple(min(rest, w) for w in widths[1:]))


def _chebyshev(count: int) -> list[Decimal]:
    """The zeros in [0, 1], rounded to some digits, which is as good."""
    pi = _pi()
    found = [(1 - _sine(pi / 2 - pi * (2 * k + 1) / (2 * count))) / 2 for k in range(count)]
    return [node.quantize(Decimal(1).scaleb(-20)) for node in found]


def _interpolated(nodes: Sequence[Decimal], values: Sequence[Decimal]) -> list[Decimal]:
    """Coefficients of the polynomial through points, by divided differences."""
    table = list(values)
    for level in range(1, len(nodes)):
        for k in range(len(nodes) - 1, level - 1, -1):
            table[k] = (table[k] - table[k - 1]) / (nodes[k] - nodes[k - level])
    found = [Decimal(0)] * len(nodes)
    for k in range(len(nodes) - 1, -1, -1):
        found = [table[k] - nodes[k] * found[0],
                 *(found[j - 1] - nodes[k] * found[j] for j in range(1, len(nodes)))]
    return found
