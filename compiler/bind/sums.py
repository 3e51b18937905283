"""Sums of products: flattening expressions modulo a power of two, so that their terms can be added in any order.

Additions and multiplications of full words wrap, so they may be reassociated freely (bit-exactly). A word has 16 bits
on the array; `Sum.width` says how many it has here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from compiler.ir.expr import Apply, Cast, Const, Expr
from compiler.ir.types import Int

__all__ = ["Product", "Sum", "flatten_sum"]

WIDTH = 16
MASK = (1 << WIDTH) - 1


@dataclass(frozen=True)
class Product:
    """``coefficient * factors[0] * ...`` with at most two factors; the coefficient is modulo 2^width."""

    coefficient: int
    factors: tuple[Expr, ...]


@dataclass
class Sum:
    """A constant plus products, all modulo 2^width."""

    constant: int = 0
    products: list[Product] = field(default_factory=list)
    width: int = WIDTH

    @property
    def mask(self) -> int:
        """All bits of a word."""
        return (1 << self.width) - 1

    def add(self, coefficient: int, factors: tuple[Expr, ...]) -> None:
        """Add a product, merging it with an equal one and dropping it if it vanishes."""
        if not factors:
            self.constant = (self.constant + coefficient) & self.mask
            return
        for place, have in enumerate(self.products):
            if have.factors == factors:
                self.products[place] = Product((have.coefficient + coefficient) & self.mask, factors)
                break
        else:
            self.products.append(Product(coefficient & self.mask, factors))
        self.products = [p for p in self.products if p.coefficient]


def flatten_sum(expr: Expr, shared: Callable[[Expr], bool]) -> Sum:
    """`expr`, a full word, as a sum of products. Subexpressions that are `shared` with other users stay whole."""
    assert isinstance(expr.type, Int)
    total = Sum(width=expr.type.width)
    _collect(expr, 1, total, shared, top=True)
    return total


def _is_word(expr: Expr, width: int) -> bool:
    return isinstance(expr.type, Int) and expr.type.width == width


def _collect(expr: Expr, sign: int, total: Sum, shared: Callable[[Expr], bool], top: bool = False) -> None:
    """Add ``sign * expr``, from left to right and without recursion into long sums."""
    pending = [(expr, sign, top)]
    while pending:
        node, sign, top = pending.pop()
        if isinstance(node, Const):
            total.add(sign * node.value, ())
        elif not top and shared(node):
            total.add(sign, (node,))
        else:
            pending += [(part, factor, False) for part, factor in reversed(_split(node, sign, total, shared))]


def _split(expr: Expr, sign: int, total: Sum, shared: Callable[[Expr], bool]) -> list[tuple[Expr, int]]:
    """Add the products in ``sign * expr``; return the summands that remain, with their signs."""
    match expr:
        case Apply("add" | "sub" as op, (a, b)):
            return [(a, sign), (b, sign if op == "add" else -sign)]
        case Apply("mad", (a, b, c)):
            _multiply(a, b, sign, total, shared)
            return [(c, sign)]
        case Apply("mul", (a, b)):
            _multiply(a, b, sign, total, shared)
        case Apply("shl", (a, Const(value=amount))) if 0 <= amount < total.width:
            _scale(a, sign << amount, total, shared)
        case Cast(arg=inner) if _is_word(inner, total.width):
            return [(inner, sign)]
        case _:
            total.add(sign, (expr,))
    return []


def _multiply(a: Expr, b: Expr, sign: int, total: Sum, shared: Callable[[Expr], bool]) -> None:
    if isinstance(a, Const):
        a, b = b, a
    if isinstance(b, Const):
        _scale(a, sign * b.value, total, shared)
    else:
        total.add(sign, (a, b))


def _scale(expr: Expr, factor: int, total: Sum, shared: Callable[[Expr], bool]) -> None:
    """Add ``factor * expr``; a single inner product takes the factor along, a longer sum is computed first."""
    inner = Sum(width=total.width)
    _collect(expr, 1, inner, shared)
    if len(inner.products) + bool(inner.constant) == 1 and not shared(expr):
        for product in inner.products:
            total.add(factor * product.coefficient, product.factors)
        total.add(factor * inner.constant, ())
    else:
        total.add(factor, (expr,))
