"""A statement's expression as operators: sums balanced by the arrival of their terms, equal factors taken out."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from compiler.bind.fpga.dataflow_graph import Net, Node, Use
from compiler.bind.fpga.errors import FpgaError
from compiler.bind.fpga.options import Options
from compiler.bind.interning import interned
from compiler.bind.sums import flatten_sum
from compiler.bind.word_formats import holds, type_of
from compiler.ir.expr import Apply, Cast, Const, Expr, Iterator, Load, Lookup, Read, Store, children, postorder
from compiler.ir.program import Statement
from compiler.ir.types import BIT, FLOAT64, Float, Int, Type
from hw.dataflow.floating import FLOAT_LATENCY, is_floating
from hw.integer import INTEGER_OPERATIONS, integer_latency
from hw.pipeline.spec import LOAD_LATENCY, STORE_LATENCY, TABLE_LATENCY, Word

__all__ = ["WIDEST", "Operators", "read_label", "word_of"]

WIDEST = 64
"""Bits of the widest integers."""

COUNTER_BITS = 32
"""Bits of the widest iterators whose values an expression takes."""

_LINEAR = {"add", "sub", "mul", "mad"}
_PRODUCTS = {"mul", "mul_mid", "mul_high"}
_WIRES = {"shl", "shr", "and", "or", "xor"}
"""Operations that cost nothing if an operand is constant."""


def word_of(type_: Type, where: str) -> Word:
    """`type_` as the hardware has it; `where` opens the message. Raises `FpgaError` if it has it not."""
    if isinstance(type_, Float) and type_.computable:
        return Word(type_.width, False, type_.exponent)
    if not isinstance(type_, Int) or type_.width > WIDEST:
        raise FpgaError(f"{where} has values of type {type_}; the fpga target has integers of up to {WIDEST} bits and "
                        f"floating-point numbers within {FLOAT64}")
    return Word(type_.width, type_.signed)


def read_label(statement: Statement, read: int) -> str:
    """Read number `read` of `statement` for messages, with its place in the source."""
    return f"{statement.label(statement.reads[read])}: read {read}"


@dataclass
class Operators:
    """Builds the operators of `statement`, whose reads come from `reads`, into `net`; `tables`, `memories`: names by
    number."""

    net: Net
    statement: Statement
    reads: Sequence[Use]
    tables: Sequence[str]
    memories: Sequence[str]
    options: Options
    _done: dict[int, Use] = field(default_factory=dict)
    _shared: Counter[int] = field(default_factory=Counter)

    def result(self) -> int:
        """The node of the statement's value, which no other statement has. Raises `FpgaError`."""
        value = interned(self.statement.value)
        for node in postorder(value):
            self._shared.update({id(child) for child in children(node)})
        try:
            use = self._cover(value)
        except RecursionError:
            raise FpgaError(f"{self.statement}: its expression is nested too deeply") from None
        word = self._word(value.type)
        own = self.net.nodes[use.node]
        if use.distance or own.kind != "operator" or own.statement != self.statement.name or own.word != word:
            return self._emit("cast", [use], [own.word], word, 0).node
        return use.node

    def _word(self, type_: Type) -> Word:
        return word_of(type_, str(self.statement))

    def _cover(self, expr: Expr) -> Use:
        """The use that carries an interned expression; it may be narrower than the expression's type."""
        if id(expr) not in self._done:
            self._done[id(expr)] = self._cover_new(expr)
        return self._done[id(expr)]

    def _cover_new(self, expr: Expr) -> Use:
        word = self._word(expr.type)
        match expr:
            case Const(value, _):
                return self.net.constant(value, word)
            case Read(index, _):
                return self.reads[index]
            case Iterator(name, _):
                counted = self._counter_word(name, word)
                return Use(self.net.add(Node("counter", counted, self.statement.name, name=name)))
            case Cast(arg, _):
                return self._cast(self._cover(arg), word)
            case Lookup(table, index, _):
                self._word(index.type)
                return self._emit("table", [self._cover(index)], [self._word(index.type)], word, TABLE_LATENCY,
                                  self.tables.index(table))
            case Load(memory, _, _, _):
                return self._access("load", expr, word, LOAD_LATENCY, memory)
            case Store(memory, _, _, _, _):
                return self._access("store", expr, word, STORE_LATENCY, memory)
            case Apply(op, args, _) if op in _LINEAR and self._all_integers(args):
                return self._sum(expr, word)
        return self._apply(expr, word)

    def _access(self, op: str, expr: Load | Store, word: Word, latency: int, memory: str) -> Use:
        """A load or a store, with all that it waits for."""
        operands = children(expr)
        return self._emit(op, [self._cover(part) for part in operands], [self._word(part.type) for part in operands],
                          word, latency, self.memories.index(memory))

    def _counter_word(self, name: str, word: Word) -> Word:
        """The word of an iterator: no wider than `COUNTER_BITS`, with the values of the iterator's type. Raises
        `FpgaError` for values outside of it."""
        if word.width <= COUNTER_BITS:
            return word
        place = self.statement.iterators.index(name)
        low, high = (value.to_python() for value in (self.statement.domain.dim_min_val(place),
                                                     self.statement.domain.dim_max_val(place)))
        narrow = Word(COUNTER_BITS, low < 0)
        if not holds(narrow, low, high):
            raise FpgaError(f"{self.statement}: iterator '{name}' has values from {low} to {high}, which are no "
                            f"numbers of {COUNTER_BITS} bits; let it count from 0 and add the start in the expression")
        return narrow

    @staticmethod
    def _all_integers(args: Sequence[Expr]) -> bool:
        return all(arg.type != BIT and isinstance(arg.type, Int) for arg in args)

    def _cast(self, use: Use, word: Word) -> Use:
        """A conversion that keeps all values costs nothing, and what it is used for stays narrow."""
        have = self.net.nodes[use.node].word
        if is_floating("cast", (have, word)):
            return use if have == word else self._emit("cast", [use], [have], word, FLOAT_LATENCY["cast"])
        if word.signed >= have.signed and word.width >= have.width + (word.signed - have.signed):
            return use
        return self._emit("cast", [use], [have], word, 0)

    def _apply(self, expr: Apply, word: Word) -> Use:
        uses = [self._cover(arg) for arg in expr.args]
        if expr.op == "ne" and isinstance(expr.args[1], Const) and expr.args[1].value == 0 and self._is_bit(uses[0]):
            return uses[0]
        return self._operation(expr.op, uses, [self._word(arg.type) for arg in expr.args], word)

    def _is_bit(self, use: Use) -> bool:
        return self.net.nodes[use.node].word == Word(1, False)

    def _operation(self, op: str, uses: Sequence[Use], words: Sequence[Word], word: Word) -> Use:
        constant = any(self.net.is_constant(use) for use in uses)
        if is_floating(op, words):
            latency = FLOAT_LATENCY[op]
        elif op in INTEGER_OPERATIONS:
            shapes = [self.net.nodes[use.node].word.shape for use in uses]
            latency = integer_latency(op, shapes, self.options.clock_mhz)
        elif op in _PRODUCTS:
            latency = self.options.multiplier_latency
        else:
            latency = 0 if (op in _WIRES and constant) or op == "pass" else self.options.operator_latency
        return self._emit(op, uses, words, word, latency)

    def _emit(self, op: str, uses: Sequence[Use], words: Sequence[Word], word: Word, latency: int,
              value: int = 0) -> Use:
        node = Node("operator", word, self.statement.name, tuple(uses), tuple(words), op, latency, value)
        return Use(self.net.add(node))

    # Sums of products.

    def _sum(self, expr: Expr, word: Word) -> Use:
        """A sum of products modulo its width; terms with the same factor are added first."""
        total = flatten_sum(expr, lambda e: self._shared[id(e)] > 1)
        groups: dict[int, list[tuple[int, Use]]] = {}
        for product in total.products:
            sign, factor = _signed(product.coefficient, word.width)
            uses = [self._cover(part) for part in product.factors]
            use = uses[0] if len(uses) == 1 else self._plain("mul", uses[0], uses[1], word)
            groups.setdefault(factor, []).append((sign, use))
        terms = [self._scaled(self._added(group, word), factor, word) for factor, group in groups.items()]
        if total.constant:
            terms.append((1, self.net.constant(type_of(word).wrap(total.constant), word)))
        if not terms:
            return self.net.constant(0, word)
        sign, use = self._added(terms, word)
        return use if sign > 0 else self._plain("sub", self.net.constant(0, word), use, word)

    def _plain(self, op: str, a: Use, b: Use, word: Word) -> Use:
        """An operation modulo the width of `word`, for which the operands' signs do not matter."""
        words = [Word(word.width, self.net.nodes[use.node].word.signed) for use in (a, b)]
        return self._operation(op, [a, b], words, word)

    def _scaled(self, term: tuple[int, Use], factor: int, word: Word) -> tuple[int, Use]:
        sign, use = term
        if factor == 1:
            return term
        if factor & (factor - 1) == 0:
            shift = self.net.constant(factor.bit_length() - 1, word)
            own = Word(word.width, self.net.nodes[use.node].word.signed)
            return sign, self._emit("shl", [use, shift], [own, word], word, 0)
        narrow = Word(factor.bit_length(), False)
        return sign, self._plain("mul", use, self.net.constant(factor, narrow), word)

    def _added(self, terms: list[tuple[int, Use]], word: Word) -> tuple[int, Use]:
        """One term, with its sign: always the two that are there first are added."""
        heap = [(self.net.arrival(use), number, sign, use) for number, (sign, use) in enumerate(terms)]
        heapq.heapify(heap)
        number = len(heap)
        while len(heap) > 1:
            (*_, s, a), (*_, t, b) = heapq.heappop(heap), heapq.heappop(heap)
            if s == t:
                use, sign = self._plain("add", a, b, word), s
            else:
                use, sign = self._plain("sub", *((a, b) if s > 0 else (b, a)), word), 1
            heapq.heappush(heap, (self.net.arrival(use), number, sign, use))
            number += 1
        return heap[0][2], heap[0][3]


def _signed(coefficient: int, width: int) -> tuple[int, int]:
    """Sign and size of a coefficient that is given modulo 2^width."""
    negative = coefficient >> (width - 1) & 1
    return (-1, (1 << width) - coefficient) if negative else (1, coefficient)
