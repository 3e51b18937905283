"""Arithmetic of 32 bits on pairs of 16-bit words.

C computes sums of ``short`` in ``int``: what is shifted down, compared or selected afterwards needs its carries. Words
of the array have 16 bits, so such an expression is rewritten into two of 16 bits, the low and the high word, of which
only what the result needs is ever computed. Where just the low word counts, nothing is added.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from compiler.ir.expr import (
    LUT3_TABLE,
    Apply,
    Cast,
    Const,
    Expr,
    Load,
    Lookup,
    Read,
    children,
    iterators_needed,
    postorder,
    with_children,
)
from compiler.ir.types import BIT, Int
from compiler.passes.directives.errors import TransformError

__all__ = ["WIDE", "WORD", "NoPairs", "Pair", "fits", "is_wide", "legalize_integers", "pair_in_words", "value_in_words"]

_WIDTH, WIDE = 16, 32
WORD = Int(_WIDTH, False)
"""Type of the words of a pair."""

_U, _S = WORD, Int(_WIDTH, True)
_OR_AND, _AND = 0b11101010, 0b10001000
"""Truth tables of ``p | q & r`` and ``p & q``."""


class Pair(NamedTuple):
    """Low and high word of a value, both as unsigned words."""

    low: Expr
    high: Expr


class NoPairs(TransformError):
    """An operation that pairs of words do not have; the message says which."""


def legalize_integers(value: Expr) -> Expr:
    """`value` without arithmetic of 32 bits; itself where there is none, or where there is some that pairs of words do
    not have: divisions by what is no constant, shifts by such amounts, and values that are 32 bits wide from the
    start."""
    if not any(is_wide(node) for node in postorder(value)) or is_wide(value):
        return value
    try:
        return _Words(value).word(value)
    except NoPairs:
        return value


def value_in_words(value: Expr, reads: Mapping[int, tuple[int, ...]]) -> Expr:
    """`value`, no wider than a word, with reads numbered anew; `reads`: of every read its new number, of a wide one
    those of its low and its high word. Raises `TransformError` for an operation that pairs of words do not have."""
    return _Words(value, reads).word(value)


def pair_in_words(value: Expr, reads: Mapping[int, tuple[int, ...]]) -> Pair:
    """The words of a value of 32 bits; `reads` and errors as in `value_in_words`."""
    return _Words(value, reads).pair(value)


def is_wide(node: Expr) -> bool:
    """Whether an expression takes a pair of words."""
    return isinstance(node.type, Int) and node.type.width == WIDE


class _Words:
    """Rewrites of the nodes of `value`, each node once. `reads` as in `value_in_words`, None for those that there are.

    Words of what needs iterators only become constant inputs later, and conditions become control tables."""

    def __init__(self, value: Expr, reads: Mapping[int, tuple[int, ...]] | None = None) -> None:
        self._iterators = iterators_needed(value)
        self._reads = reads
        self._words: dict[int, Expr] = {}
        self._pairs: dict[int, Pair] = {}

    def word(self, node: Expr) -> Expr:
        """A node that is no wider than a word."""
        if id(node) not in self._words:
            self._words[id(node)] = self._word(node)
        return self._words[id(node)]

    def pair(self, node: Expr) -> Pair:
        """A node of 32 bits."""
        if id(node) not in self._pairs:
            self._pairs[id(node)] = self._pair(node)
        return self._pairs[id(node)]

    def _word(self, node: Expr) -> Expr:
        wide = [child for child in children(node) if is_wide(child)]
        if isinstance(node.type, Int) and node.type.width > _WIDTH and not self._iterators[id(node)]:
            raise NoPairs(f"it computes with {node.type}")
        match node:
            case _ if wide and self._iterators[id(node)]:
                return node
            case Cast(arg, type_) if wide:
                return Cast(self.pair(arg).low, type_)
            case Lookup(table, index, type_) if wide:
                return Lookup(table, self.pair(index).low, type_)
            case Load(memory, index, after, type_) if wide:
                return Load(memory, self.pair(index).low, tuple(self.word(token) for token in after), type_)
            case Apply(op, (a, b)) if wide and op in _COMPARISONS:
                return _COMPARISONS[op](self.pair(a), self.pair(b), _signed(a))
        if wide:
            raise NoPairs(_missing(node))
        if isinstance(node, Read) and self._reads is not None:
            return Read(self._reads[node.index][0], node.type)
        return with_children(node, [self.word(child) for child in children(node)])

    def _pair(self, node: Expr) -> Pair:
        match node:
            case Read(index) if self._reads is not None:
                low, high = self._reads[index]
                return Pair(Read(low, _U), Read(high, _U))
            case Const(value):
                return Pair(_const(value), _const(value >> _WIDTH))
            case Cast(arg):
                return self.pair(arg) if is_wide(arg) else self._extended(arg)
            case _ if self._iterators[id(node)]:
                return Pair(Cast(node, _U), Cast(Apply("shr", (node, Const(_WIDTH, node.type)), node.type), _U))
            case Apply("mul", (a, b)):
                return self._product(a, b)
            case Apply("mul_high", (a, b)):
                return self._product_high(a, b)
            case Apply("mad", (a, b, c)):
                return _add(self._product(a, b), self.pair(c))
            case Apply("shr" | "shl", (a, Const(amount))) if 0 <= amount < WIDE:
                return self._shifted(node.op, a, amount)
            case Apply("select", (bit, a, b)):
                return _select(self.word(bit), self.pair(a), self.pair(b))
            case Apply("min" | "max" as op, (a, b)):
                first, second = self.pair(a), self.pair(b)
                less = _less(first, second, _signed(a))
                return _select(less, first, second) if op == "min" else _select(less, second, first)
            case Apply("pass", (a,)):
                return self.pair(a)
            case Apply("abs", (a,)) if _signed(a):
                value, zero = self.pair(a), Pair(_const(0), _const(0))
                return _select(_less(value, zero, True), _subtract(zero, value), value)
            case Apply("absd", (a, b)):
                first, second = self.pair(a), self.pair(b)
                less = _less(first, second, _signed(a))
                return _select(less, _subtract(second, first), _subtract(first, second))
            case Apply(op, (a, b)) if op in _OPERATIONS:
                return _OPERATIONS[op](self.pair(a), self.pair(b))
        raise NoPairs(_missing(node))

    def _extended(self, arg: Expr) -> Pair:
        if not isinstance(arg.type, Int) or arg.type.width > _WIDTH:
            raise NoPairs(f"it computes with {arg.type}")
        word = self.word(arg)
        return Pair(Cast(word, _U), _sign(Cast(word, _S)) if arg.type.signed else _const(0))

    def _factors(self, a: Expr, b: Expr) -> tuple[Expr, Expr] | None:
        """Both factors as words of one type that has their values, if there is one."""
        inner = [arg.arg if isinstance(arg, Cast) else arg for arg in (a, b)]
        for type_ in (_S, _U):
            if all(fits(factor, type_) for factor in inner):
                first, second = (Const(f.value, type_) if isinstance(f, Const) else Cast(self.word(f), type_)
                                 for f in inner)
                return first, second
        return None

    def _product(self, a: Expr, b: Expr) -> Pair:
        factors = self._factors(a, b)
        first, second = self.pair(a), self.pair(b)
        low = _unsigned("mul", first.low, second.low)
        if factors is not None:
            return Pair(low, Cast(Apply("mul_high", factors, factors[0].type), _U))
        high = _unsigned("mul_high", first.low, second.low)
        for x, y in ((first.low, second.high), (first.high, second.low)):
            high = _unsigned("add", high, _unsigned("mul", x, y))
        return Pair(low, high)

    def _product_high(self, a: Expr, b: Expr) -> Pair:
        """The upper 32 of the 64 bits of a product: as of numbers without sign, less either factor where the other one
        is negative."""
        first, second = self.pair(a), self.pair(b)
        high = _unsigned_high(first, second)
        for factor, node, other in ((first, a, second), (second, b, first)):
            if _signed(node) and not (isinstance(node, Const) and node.value >= 0):
                negative = _sign(Cast(factor.high, _S))
                high = _subtract(high, Pair(*(_unsigned("and", word, negative) for word in other)))
        return high

    def _shifted(self, op: str, arg: Expr, amount: int) -> Pair:
        value, signed = self.pair(arg), _signed(arg)
        if op == "shl":
            if amount >= _WIDTH:
                return Pair(_const(0), _shift("shl", value.low, amount - _WIDTH))
            above = _joined(_shift("shl", value.high, amount), value.low, "shr", amount)
            return Pair(_shift("shl", value.low, amount), above)
        fill = _sign(Cast(value.high, _S)) if signed else _const(0)
        if amount >= _WIDTH:
            return Pair(_shift_high(value.high, amount - _WIDTH, signed), fill)
        low = _joined(_shift("shr", value.low, amount), value.high, "shl", amount)
        if isinstance(arg, Apply) and arg.op == "mul" and amount == _WIDTH // 2:
            factors = self._factors(*arg.args)
            low = low if factors is None else Cast(Apply("mul_mid", factors, factors[0].type), _U)
        return Pair(low, _shift_high(value.high, amount, signed))


def _missing(node: Expr) -> str:
    """What a node does that pairs of words do not have."""
    match node:
        case Load(memory, _, _, type_):
            return f"it looks up {type_} in memory '{memory}'"
        case Lookup(table, _, type_):
            return f"it looks up {type_} in table '{table}'"
        case Apply("shr" | "shl", (a, _)):
            return f"it shifts {a.type} by an amount that is no constant"
        case Apply("div" | "mod" | "rem" | "floor_div" | "floor_mod", (a, _)):
            return f"it divides {a.type} by what is no constant"
        case Apply(op, (a, *_)):
            return f"it has operation '{op}' on {a.type}"
    return f"it computes with {node.type}"


def _signed(node: Expr) -> bool:
    return isinstance(node.type, Int) and node.type.signed


def fits(node: Expr, type_: Int) -> bool:
    """Whether every value of an expression is one of a type."""
    if isinstance(node, Const):
        return type_.minimum <= node.value <= type_.maximum
    return isinstance(node.type, Int) and type_.minimum <= node.type.minimum and node.type.maximum <= type_.maximum


def _const(value: int) -> Expr:
    return Const(_U.wrap(value), _U)


def _unsigned(op: str, a: Expr, b: Expr) -> Expr:
    return Apply(op, (a, b), _U)


def _sign(word: Expr) -> Expr:
    """The word that extends a signed one."""
    return Cast(Apply("shr", (word, Const(_WIDTH - 1, _S)), _S), _U)


def _shift(op: str, word: Expr, amount: int) -> Expr:
    return word if amount == 0 else _const(0) if amount >= _WIDTH else _unsigned(op, word, _const(amount))


def _shift_high(word: Expr, amount: int, signed: bool) -> Expr:
    if not signed or amount == 0:
        return _shift("shr", word, amount)
    return Cast(Apply("shr", (Cast(word, _S), Const(amount, _S)), _S), _U)


def _joined(kept: Expr, other: Expr, op: str, amount: int) -> Expr:
    """The bits that stay in a word after a shift by `amount`, and those that come from the other word."""
    return kept if amount == 0 else _unsigned("or", kept, _shift(op, other, _WIDTH - amount))


def _add(a: Pair, b: Pair) -> Pair:
    carry = Apply("carry", (a.low, b.low), BIT)
    return Pair(_unsigned("add", a.low, b.low), Apply("adc", (a.high, b.high, carry), _U))


def _add_word(pair: Pair, word: Expr) -> Pair:
    return _add(pair, Pair(word, _const(0)))


def _unsigned_high(a: Pair, b: Pair) -> Pair:
    """The upper half of a product by columns of its four partial products, none of whose sums leaves 32 bits."""
    def partial(x: Expr, y: Expr) -> Pair:
        return Pair(_unsigned("mul", x, y), _unsigned("mul_high", x, y))

    column = _add_word(partial(a.low, b.high), _unsigned("mul_high", a.low, b.low))
    other = _add_word(partial(a.high, b.low), column.low)
    return _add_word(_add_word(partial(a.high, b.high), column.high), other.high)


def _subtract(a: Pair, b: Pair) -> Pair:
    borrow = Apply("lt", (a.low, b.low), BIT)
    return Pair(_unsigned("sub", a.low, b.low), Apply("sbb", (a.high, b.high, borrow), _U))


def _select(bit: Expr, a: Pair, b: Pair) -> Pair:
    low, high = (Apply("select", (bit, x, y), _U) for x, y in zip(a, b, strict=True))
    return Pair(low, high)


def _both(op: str) -> Callable[[Pair, Pair], Pair]:
    return lambda a, b: Pair(_unsigned(op, a.low, b.low), _unsigned(op, a.high, b.high))


def _or(a: Pair, b: Pair) -> Pair:
    """Without operations where either word is 0, as where two words are put together."""
    low, high = (y if x == _const(0) else x if y == _const(0) else _unsigned("or", x, y)
                 for x, y in zip(a, b, strict=True))
    return Pair(low, high)


_OPERATIONS: Mapping[str, Callable[[Pair, Pair], Pair]] = {
    "add": _add, "sub": _subtract, "and": _both("and"), "or": _or, "xor": _both("xor"),
}


def _lut(table: int, p: Expr, q: Expr, r: Expr) -> Expr:
    return Apply("lut3", (Const(table, LUT3_TABLE), p, q, r), BIT)


def _less(a: Pair, b: Pair, signed: bool, table: int = _OR_AND) -> Expr:
    high = (Cast(a.high, _S), Cast(b.high, _S)) if signed else (a.high, b.high)
    return _lut(table, Apply("lt", high, BIT), Apply("eq", (a.high, b.high), BIT), Apply("lt", (a.low, b.low), BIT))


def _equal(a: Pair, b: Pair, table: int = _AND) -> Expr:
    return _lut(table, Apply("eq", (a.high, b.high), BIT), Apply("eq", (a.low, b.low), BIT), Const(0, BIT))


def _not(table: int) -> int:
    return table ^ LUT3_TABLE.maximum


_COMPARISONS: Mapping[str, Callable[[Pair, Pair, bool], Expr]] = {
    "lt": _less,
    "gt": lambda a, b, signed: _less(b, a, signed),
    "ge": lambda a, b, signed: _less(a, b, signed, _not(_OR_AND)),
    "le": lambda a, b, signed: _less(b, a, signed, _not(_OR_AND)),
    "eq": lambda a, b, signed: _equal(a, b),
    "ne": lambda a, b, signed: _equal(a, b, _not(_AND)),
}
