"""32-bit arithmetic on pairs of words: the values of the original expression, for as few units as the result needs."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import compiler
from compiler.bind.cgra.legalize_integers import legalize_integers
from compiler.frontend.c_scop import load_c
from compiler.ir.evaluate import evaluate
from compiler.ir.expr import Apply, Cast, Const, Expr, Read, postorder
from compiler.ir.types import BIT, Int

U16, S16, U32, S32 = (Int(width, signed) for width in (16, 32) for signed in (False, True))
_TWO = ("add", "sub", "mul", "mul_high", "min", "max", "and", "or", "xor")


class Expressions:
    """Random expressions of 32 bits over three reads, some of them as unsigned words."""

    def __init__(self, seed: int, type_: Int) -> None:
        self.random, self.type = Random(seed), type_

    def leaf(self) -> Expr:
        if self.random.random() < 0.2:
            number = self.random.choice([0, 1, 3, 255, 65535, 65536, -1, self.random.getrandbits(32)])
            return Const(self.type.wrap(number), self.type)
        word: Expr = Read(self.random.randrange(3), S16)
        return Cast(word if self.random.random() < 0.5 else Cast(word, U16), self.type)

    def wide(self, depth: int) -> Expr:
        if not depth:
            return self.leaf()
        op = self.random.choice([*_TWO, "shr", "shl", "select", "abs", "absd", "mad", "part"])
        parts = [self.wide(depth - 1) for _ in range(3)]
        match op:
            case "part":
                product = Apply("mul", (self.leaf(), self.leaf()), self.type)
                return Apply("shr", (product, Const(self.random.choice([0, 8, 16]), self.type)), self.type)
            case "shr" | "shl":
                return Apply(op, (parts[0], Const(self.random.randrange(32), self.type)), self.type)
            case "select":
                return Apply(op, (self.comparison(depth - 1), *parts[:2]), self.type)
            case "abs":
                return Apply(op, (parts[0],), self.type) if self.type.signed else parts[0]
        return Apply(op, tuple(parts if op == "mad" else parts[:2]), self.type)

    def comparison(self, depth: int) -> Expr:
        op = self.random.choice(["lt", "le", "gt", "ge", "eq", "ne"])
        return Apply(op, (self.wide(depth), self.wide(depth)), BIT)

    def narrow(self) -> Expr:
        if self.random.random() < 0.3:
            return self.comparison(2)
        return Cast(self.wide(2), self.random.choice([S16, U16, Int(8, True), BIT]))


@pytest.mark.parametrize("type_", [S32, U32])
def test_random_expressions_of_32_bits(type_: Int) -> None:
    generator = np.random.default_rng(4)
    words = generator.integers(-32768, 32768, (3, 64))
    words[:, :6] = generator.permuted(np.tile([0, 1, -1, 32767, -32768, 255], (3, 1)), axis=1)
    for seed in range(150):
        value = Expressions(seed, type_).narrow()
        pairs = legalize_integers(value)
        assert all(isinstance(node.type, Int) and node.type.width <= 16 for node in postorder(pairs))
        first, second = (evaluate(one, lambda k: words[k], {}, {}) for one in (value, pairs))
        np.testing.assert_array_equal(np.broadcast_to(first, 64).astype(int), np.broadcast_to(second, 64), str(value))


def sum_of(*terms: int) -> Expr:
    total: Expr = Cast(Read(terms[0], S16), S32)
    for term in terms[1:]:
        total = Apply("add", (total, Cast(Read(term, S16), S32)), S32)
    return total


def test_carries_are_computed_where_they_count() -> None:
    """The low word of a sum needs none; a mean needs that of one addition."""
    low = legalize_integers(Cast(sum_of(0, 1, 2), S16))
    assert [node.op for node in postorder(low) if isinstance(node, Apply)] == ["add", "add"]
    mean = legalize_integers(Cast(Apply("shr", (sum_of(0, 1), Const(1, S32)), S32), S16))
    assert sum(isinstance(node, Apply) and node.op == "carry" for node in postorder(mean)) == 1


def test_what_pairs_do_not_have_stays() -> None:
    """A shift by a number that is no constant, a division, a value that comes with 32 bits, other widths."""
    wide, narrow = sum_of(0, 1), Cast(Read(2, S16), S32)
    other = Cast(Read(2, Int(24, True)), S32)
    for value in (Apply("shr", (wide, narrow), S32), Apply("div", (wide, narrow), S32),
                  Apply("add", (wide, Read(2, S32)), S32), Apply("add", (wide, other), S32)):
        assert legalize_integers(Cast(value, S16)) == Cast(value, S16)
    assert legalize_integers(wide) is wide


def test_sums_of_short_as_c_computes_them() -> None:
    design = compiler.compile(load_c("apps/dataflow/stencil_3.c", N=20), array="8x4")
    assert design.predicted_cycles <= design.lower_bound + 40
