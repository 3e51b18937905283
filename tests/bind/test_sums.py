"""Flattening of sums of products modulo 2^16."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compiler.bind.sums import Product, Sum, flatten_sum
from compiler.frontend import kernel
from compiler.frontend.kernel import Typed
from compiler.ir.expr import Expr, Read
from compiler.ir.types import Int

U16 = Int(16, False)
A, B, C = (Read(k, U16) for k in range(3))


def flat(build: Callable[[Typed, Typed, Typed], Typed], *shared: Expr) -> Sum:
    return flatten_sum(build(Typed(A), Typed(B), Typed(C)).expr, lambda e: any(e == s for s in shared))


def product(coefficient: int, *factors: Expr) -> Product:
    return Product(coefficient & 0xFFFF, factors)


@pytest.mark.parametrize(("build", "constant", "products"), [
    (lambda a, b, c: a + b - c, 0, [product(1, A), product(1, B), product(-1, C)]),
    (lambda a, b, c: a * 3 + 5 + a * 4, 5, [product(7, A)]),
    (lambda a, b, c: a * b - a * b + c, 0, [product(1, C)]),
    (lambda a, b, c: (a << 4) + (b * 3) * 5, 0, [product(16, A), product(15, B)]),
    (lambda a, b, c: kernel.apply("mad", a, 7, b) - 9, -9 & 0xFFFF, [product(7, A), product(1, B)]),
    (lambda a, b, c: 40000 + a + 40000, 80000 & 0xFFFF, [product(1, A)]),
    (lambda a, b, c: kernel.cast(U16, kernel.cast(Int(16, True), a) * 2) - b, 0, [product(2, A), product(-1, B)]),
    (lambda a, b, c: a + (0 - (b - c)), 0, [product(1, A), product(-1, B), product(1, C)]),
])
def test_flattening(build: Callable[[Typed, Typed, Typed], Typed], constant: int, products: list[Product]) -> None:
    assert flat(build) == Sum(constant, products)


def test_a_sum_that_is_scaled_stays_whole() -> None:
    """Distributing a coefficient over two terms would take one unit more."""
    whole = (Typed(A) + Typed(B)).expr
    assert flat(lambda a, b, c: (a + b) * 3 + c) == Sum(0, [product(3, whole), product(1, C)])


def test_shared_terms_stay_whole() -> None:
    shared = (Typed(A) * 3).expr
    assert flat(lambda a, b, c: a * 3 + b, shared) == Sum(0, [product(1, shared), product(1, B)])
    assert flat(lambda a, b, c: a * 3, shared) == Sum(0, [product(3, A)])
