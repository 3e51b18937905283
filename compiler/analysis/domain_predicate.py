"""Whether a point of iterations lies in a set, as an expression of the iterators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import islpy as isl

from compiler.ir.constant_division import quotient
from compiler.ir.expr import LUT3_TABLE, Const, Expr, Iterator, apply
from compiler.ir.types import BIT, Int
from hw.errors import SluiceError

__all__ = ["WidePredicate", "membership"]

_AND, _OR = 0x88, 0xEE
"""Truth tables of ``p & q`` and ``p | q``."""

_WORDS = (Int(16, True), Int(32, True), Int(64, True))


class WidePredicate(SluiceError):
    """A condition on iterators has numbers of more than 64 bits."""


def membership(domain: isl.Set, box: isl.Set, iterators: Sequence[str]) -> Expr:
    """Whether the point that `iterators` name lies in `domain`, given that it lies in `box`: a bit. Raises
    `WidePredicate`."""
    cases: list[isl.BasicSet] = []
    domain.coalesce().gist(box).coalesce().compute_divs().foreach_basic_set(cases.append)
    return reduce(_either, [_all_of(case, box, iterators) for case in cases])


def _either(p: Expr, q: Expr) -> Expr:
    return apply("lut3", Const(_OR, LUT3_TABLE), p, q, Const(0, BIT))


def _both(p: Expr, q: Expr) -> Expr:
    return apply("lut3", Const(_AND, LUT3_TABLE), p, q, Const(0, BIT))


def _all_of(case: isl.BasicSet, box: isl.Set, iterators: Sequence[str]) -> Expr:
    constraints = [c for c in case.get_constraints() if not c.is_div_constraint()]
    conditions = [_condition(c.get_aff(), c.is_equality(), box, iterators) for c in constraints]
    return reduce(_both, conditions, Const(1, BIT)) if len(conditions) != 1 else conditions[0]


def _condition(function: isl.Aff, equality: bool, box: isl.Set, iterators: Sequence[str]) -> Expr:
    """``function = 0`` or ``function >= 0``, as a comparison of its positive with its negative terms."""
    sum_ = _Sum.of(function, box, iterators)
    word = next((word for word in _WORDS if sum_.largest <= word.maximum), None)
    if word is None:
        raise WidePredicate(f"the condition {function} on iterators has numbers of more than {_WORDS[-1].width} bits")
    left, right = sum_.side(1, word), sum_.side(-1, word)
    return apply("eq" if equality else "ge", left, right)


@dataclass(frozen=True)
class _Sum:
    """A quasi-affine function of iterators: ``constant + sum(weight * term)``. `iterators` are terms, and so are
    `floors`, each a divisor and what it divides. No sum of a part of the terms is larger than `largest`, or smaller
    than its negative."""

    constant: int
    iterators: tuple[tuple[int, str], ...]
    floors: tuple[tuple[int, int, _Sum], ...]
    largest: int

    @staticmethod
    def of(function: isl.Aff, box: isl.Set, iterators: Sequence[str]) -> _Sum:
        """`function`, which has whole coefficients, on a box."""
        constant, largest = function.get_constant_val().to_python(), 0
        named: list[tuple[int, str]] = []
        for number, name in enumerate(iterators):
            if weight := function.get_coefficient_val(isl.dim_type.in_, number).to_python():
                named.append((weight, name))
                ends = box.dim_min_val(number).to_python(), box.dim_max_val(number).to_python()
                largest += abs(weight) * max(map(abs, ends))
        floors: list[tuple[int, int, _Sum]] = []
        for number in range(function.dim(isl.dim_type.div)):
            if weight := function.get_coefficient_val(isl.dim_type.div, number).to_python():
                divided = function.get_div(number)
                divisor = divided.get_denominator_val().to_python()
                inner = _Sum.of(divided.scale_val(isl.Val(divisor)), box, iterators)
                floors.append((weight, divisor, inner))
                largest += abs(weight) * (2 * inner.largest + divisor)
        return _Sum(constant, tuple(named), tuple(floors), abs(constant) + largest)

    def side(self, sign: int, word: Int) -> Expr:
        """The sum of all terms of that sign, without it, as a `word`."""
        terms = [_weighted(sign * weight, Iterator(name, word)) for weight, name in self.iterators if sign * weight > 0]
        terms += [_weighted(sign * weight, inner.floor(divisor, word)) for weight, divisor, inner in self.floors
                  if sign * weight > 0]
        if sign * self.constant > 0 or not terms:
            terms.append(Const(max(0, sign * self.constant), word))
        return reduce(lambda a, b: apply("add", a, b), terms)

    def floor(self, divisor: int, word: Int) -> Expr:
        """The largest whole number that is not above the sum divided by `divisor`: divisions round towards zero, so the
        sum is moved to where it is not negative before."""
        moved = -(-self.largest // divisor)
        total = apply("sub", self.side(1, word), self.side(-1, word))
        positive = apply("add", total, Const(moved * divisor, word))
        return apply("sub", quotient(positive, divisor), Const(moved, word))


def _weighted(weight: int, value: Expr) -> Expr:
    return value if weight == 1 else apply("mul", value, Const(weight, value.type))
