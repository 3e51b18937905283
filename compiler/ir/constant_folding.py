"""Expressions without what constants decide."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.ir.evaluate import evaluate
from compiler.ir.expr import Apply, Cast, Const, Expr, children, is_floating

__all__ = ["decided"]


def decided(node: Expr) -> Expr:
    """`node`, or what it is the same as: a constant, or one of its operands where others are constants that say so.
    What is computed of floating-point numbers stays as it is."""
    match node:
        case Apply("select", (Const(condition), yes, no)):
            return yes if condition else no
        case Apply("select", (_, yes, no)) if yes == no:
            return yes
        case (Apply() | Cast()) if all(isinstance(child, Const) for child in children(node)) and not is_floating(node):
            return Const(int(evaluate(node, lambda _: np.empty(0), {}, {})[0]), node.type)
        case Apply("lut3", (Const(table), *bits)):
            return _looked_up(table, bits, node)
    return node


def _looked_up(table: int, bits: Sequence[Expr], node: Expr) -> Expr:
    """A truth table of bits of which some are known: a constant, or one of the bits, if it is no more than that."""
    unknown = [k for k, bit in enumerate(bits) if not isinstance(bit, Const)]
    fixed = sum(bit.value << k for k, bit in enumerate(bits) if isinstance(bit, Const))
    results = [table >> (fixed | sum((row >> n & 1) << k for n, k in enumerate(unknown))) & 1
               for row in range(1 << len(unknown))]
    if len(set(results)) == 1:
        return Const(results[0], node.type)
    return bits[unknown[0]] if results == [0, 1] else node
