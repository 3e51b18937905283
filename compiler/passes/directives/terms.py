"""Chains of one operation in an expression, and their terms: what a fold distributes over rounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from compiler.ir import expr
from compiler.ir.expr import (
    Apply,
    Cast,
    Const,
    Expr,
    Iterator,
    Load,
    Lookup,
    Read,
    Store,
    children,
    postorder,
    with_children,
)
from compiler.ir.types import BIT, Float, Int
from compiler.passes.recurrence import shorten_recurrences as reductions

__all__ = ["Chain", "Term", "balanced", "chains", "combined", "leaves", "neutral", "term_of", "with_leaves"]

_IN_ANY_ORDER = ("add", "or", "xor", "and", "min", "max")
"""Operations whose operands may come in any order and grouping."""


@dataclass(frozen=True)
class Chain:
    """``terms[0] op terms[1] op …`` at node `root` of `value`."""

    value: Expr
    root: Apply
    terms: tuple[Expr, ...]

    @property
    def op(self) -> str:
        """The operation."""
        return self.root.op

    @property
    def type(self) -> Int | Float:
        """Type of the terms and of the result."""
        assert isinstance(self.root.type, Int | Float)
        return self.root.type

    def replaced(self, other: Expr) -> Expr:
        """The value with `other` in place of the chain."""
        return expr.fold(self.value, lambda node, parts: other if node is self.root else with_children(node, parts))


def chains(value: Expr, floats: bool = False) -> list[Chain]:
    """All chains of two terms or more that are not part of a longer one; with `floats` also those of floating-point
    numbers, whose results another order changes."""
    users: Counter[int] = Counter(id(child) for node in postorder(value) for child in children(node))
    inner: set[int] = set()
    found = []
    for node in reversed(list(postorder(value))):
        if isinstance(node, Apply) and _any_order(node, floats) and id(node) not in inner:
            terms: list[Expr] = []
            stack: list[Expr] = [node]
            while stack:
                part = stack.pop()
                again = isinstance(part, Apply) and part.op == node.op and part.type == node.type
                if part is node or (again and users[id(part)] == 1):
                    inner.add(id(part))
                    stack.extend(reversed(children(part)))
                else:
                    terms.append(part)
            found.append(Chain(value, node, tuple(terms)))
    return found


def _any_order(node: Apply, floats: bool) -> bool:
    if isinstance(node.type, Float):
        return floats and node.op in reductions.REASSOCIATED
    return node.op in _IN_ANY_ORDER and isinstance(node.type, Int) and node.type != BIT


def neutral(op: str, type: Int | Float) -> Const:
    """The value that operation `op` of a chain leaves alone."""
    return Const(reductions.neutral(op, type), type)


def combined(chain: Chain, terms: Sequence[Expr]) -> Expr:
    """The chain with other terms; of none, its neutral value."""
    if not terms:
        return neutral(chain.op, chain.type)
    total = terms[0]
    for term in terms[1:]:
        total = Apply(chain.op, (total, term), chain.type)
    return total


def balanced(chain: Chain, terms: Sequence[Expr]) -> Expr:
    """The chain with other terms, of which there are some, as sums of neighbouring sums: as few operations after each
    other as there can be."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return Apply(chain.op, (balanced(chain, terms[:half]), balanced(chain, terms[half:])), chain.type)


def leaves(value: Expr) -> list[Expr]:
    """Reads, constants and iterators in the order in which the written-out expression has them."""
    found: list[Expr] = []
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, Read | Const | Iterator):
            found.append(node)
        stack.extend(reversed(children(node)))
    return found


@dataclass(frozen=True)
class Term:
    """A term of a chain. `shape`: the operations and types without the operands, `leaves`: the operands."""

    node: Expr
    shape: str
    leaves: tuple[Expr, ...]

    def grown_to(self, shape: str, type: Int | Float) -> Term | None:
        """The term as one of this shape, a bare operand as a product with 1; None if it is another one."""
        if self.shape == shape:
            return self
        for product in ((self.node, Const(1, type)), (Const(1, type), self.node)):
            grown = term_of(Apply("mul", product, type))
            if isinstance(self.node, Read) and grown.shape == shape:
                return grown
        return None


def term_of(node: Expr) -> Term:
    """An expression as a term."""
    return Term(node, _shape(node), tuple(leaves(node)))


def _shape(node: Expr) -> str:
    parts = ", ".join(_shape(child) for child in children(node))
    match node:
        case Read(_, type_):
            return f"read {type_}"
        case Const(_, type_):
            return f"constant {type_}"
        case Iterator(name, type_):
            return f"{name} {type_}"
        case Apply(op, _, type_):
            return f"{op} {type_}({parts})"
        case Cast(_, type_):
            return f"cast {type_}({parts})"
        case Lookup(table, _, type_):
            return f"{table} {type_}({parts})"
        case Load() | Store():
            return f"{type(node).__name__} {node.memory} {node.type}({parts})"


def with_leaves(term: Term, others: Sequence[Expr]) -> Expr:
    """The term with other operands in place of its `leaves`."""
    remaining = iter(others)

    def rebuilt(node: Expr) -> Expr:
        if isinstance(node, Read | Const | Iterator):
            return next(remaining)
        return with_children(node, [rebuilt(child) for child in children(node)])

    return rebuilt(term.node)
