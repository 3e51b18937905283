"""Covering expressions with processing elements: the value of each statement becomes a tree of PE operations.

Words on the array are 16 bits wide. A narrower integer is held zero- or sign-extended, and a unit that could leave its
range is followed by one that wraps it. Arithmetic of 32 bits is done on pairs of words
(`compiler.bind.cgra.legalize_integers`); of products of any width 16 bits can be kept (``mul``, ``mul_mid``,
``mul_high``). bfloat16 numbers are words on elements that have operations on them
(`compiler.bind.cgra.legalize_floats`); a product that only a sum takes and the sum are one operation. Everything else
is an error that names the statement, its line and the reason. Liu 2023, section 5.7; the operation table is `hw.ops`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from functools import reduce
from math import prod, sqrt

from compiler.bind.cgra.legalize_floats import (
    FLOAT_OPERATIONS,
    MASKS,
    has_floats,
    legalize_floats,
    without_operation,
)
from compiler.bind.cgra.legalize_integers import fits, legalize_integers
from compiler.bind.cgra.netlist import Edge, MemNode, PeNode, Pin, SkewBound
from compiler.bind.cgra.operands import Constant, Operand, Signal
from compiler.bind.cgra.peephole import Unit, simplify, without_unused
from compiler.bind.interning import interned
from compiler.bind.sums import MASK, WIDTH, flatten_sum
from compiler.ir.expr import Apply, Cast, Const, Expr, Iterator, Load, Lookup, Read, children, postorder
from compiler.ir.long_division import without_dividers
from compiler.ir.program import Statement
from compiler.ir.types import BFLOAT16, BIT, Float, Int, Type
from hw.errors import SluiceError
from hw.memtile import MemTileSpec
from hw.ops import DIVISIONS, OPERATIONS, Kind
from hw.pe.bfloat16 import BFLOAT16_OPERATIONS
from hw.pe.config import DEFAULT_PE, PeConfig, PeSpec

__all__ = ["CoverError", "ExpressionSelector"]

_OVERFLOWING = {"add", "sub", "mul", "mad", "shl", "abs", "absd", "adc", "sbb"}
_TABLE = OPERATIONS | BFLOAT16_OPERATIONS
_LINEAR = {"add", "sub", "mul", "mad"}
_CYCLES_PER_TERM, _NOTICEABLE = 2.5, 1 / 1200
"""About how long a term of a sum takes with the way to it, and the part of a program's cycles that is worth a few
units."""
_FEW = 5
"""Terms of sums that always are one chain."""
_KEPT_PRODUCT_BITS = {0: "mul", WIDTH // 2: "mul_mid", WIDTH: "mul_high"}


class CoverError(SluiceError):
    """An expression that the processing elements cannot compute."""


class ExpressionSelector:
    """Collects the units and connections of one statement's value.

    `reads` are the operands that the statement's reads deliver; a value in one of the pins `carried`, which carry what
    the statement wrote before, goes through a unit: else it would be read in the cycle in which it is written.
    `cycles`: how long the program runs; where this shortens it noticeably, a long sum becomes a sum of shorter ones,
    for a few more units. None: it never does. `pe`: the processing elements. After `result` has been called, `pes`,
    `roms` (each with its table or memory) and `edges` hold what it took.
    """

    def __init__(self, statement: Statement, reads: Sequence[Signal], mem: MemTileSpec,
                 carried: Collection[Pin] = (), cycles: int | None = None,
                 pe: PeSpec = DEFAULT_PE) -> None:
        self.statement = statement
        self.carried = carried
        self.cycles = cycles
        self.reads = reads
        self.mem = mem
        self.pe = pe
        self.pes: list[PeNode] = []
        self.roms: dict[str, tuple[MemNode, str]] = {}
        self.edges: list[Edge] = []
        self.separations: list[SkewBound] = []
        self._done: dict[int, Operand] = {}
        self._made: dict[Pin, Unit] = {}
        self._uses: Counter[int] = Counter()

    def result(self) -> Signal:
        """The stream of the statement's values: at logical cycle s, the value of the instance scheduled for s.

        Raises `CoverError`, which names the statement, its line and the reason.
        """
        try:
            value = interned(without_dividers(self._legal(self.statement.value), WIDTH))
            for node in postorder(value):
                self._uses.update({id(child) for child in children(node)})
                if isinstance(node, Apply) and node.op in DIVISIONS and isinstance(node.type, Int):
                    raise self._fail(f"divides {node.type} by what is no constant; the array has that for words of "
                                     f"{WIDTH} bits; take target fpga or dataflow")
            operand = self._cover(value)
        except RecursionError:
            raise self._fail("its expression is nested too deeply") from None
        if operand.kind is Kind.BIT:
            operand = self._unit("select", [operand, Constant(1), Constant(0)], signed=False)
        if isinstance(operand, Constant) or operand.pin in self.carried:
            operand = self._emit("pass", [operand], signed=False)
        self.pes, self.edges = without_unused(self.pes, self.edges, operand.pin)
        return operand

    @staticmethod
    def _legal(value: Expr) -> Expr:
        return legalize_floats(value) if has_floats(value) else legalize_integers(value)

    def _fail(self, reason: str) -> CoverError:
        return CoverError(f"{self.statement}: {reason}")

    def _cover(self, expr: Expr) -> Operand:
        """The operand that carries an interned expression."""
        if id(expr) not in self._done:
            self._done[id(expr)] = self._cover_new(expr)
        return self._done[id(expr)]

    def _cover_new(self, expr: Expr) -> Operand:
        match expr:
            case Const(value, type_):
                return Constant(value & MASK, Kind.BIT if type_ == BIT else Kind.WORD)
            case Read(index):
                return self._as_stored(self.reads[index], expr.type)
            case Cast(arg, type_):
                return self._cast(arg, type_)
            case Lookup(table, index, type_):
                return self._as_stored(self._lookup(table, self._word(index)), type_)
            case Load(memory, index, _, type_):
                return self._as_stored(self._lookup(memory, self._word(index)), type_)
            case Iterator(name):
                raise self._fail(f"uses the value of iterator '{name}', which no stream of the array carries")
            case Apply():
                return self._apply(expr)
        raise AssertionError(expr)

    def _integer(self, type_: Type) -> Int:
        if not isinstance(type_, Int):
            raise self._fail(f"computes with {type_}; the array has integer operations")
        if type_.width > WIDTH:
            raise self._fail(f"computes with {type_}; the array has {WIDTH}-bit words, and pairs of them for sums, "
                             "differences, products, comparisons, and divisions and shifts by constants; take target "
                             "fpga or dataflow")
        return type_

    def _is_float(self, type_: Type) -> bool:
        """Whether a type is that of floating-point numbers that the elements have."""
        if isinstance(type_, Float) and not (self.pe.bfloat16 and type_ == BFLOAT16):
            raise self._fail(f"computes with {type_}; the array has integer operations")
        return isinstance(type_, Float)

    def _as_stored(self, signal: Signal, type_: Type) -> Operand:
        """A value out of a memory, which holds words, also for bits."""
        if self._is_float(type_):
            return signal
        if self._integer(type_) == BIT:
            return self._unit("ne", [signal, Constant(0)], signed=False)
        return signal

    # Conversions.

    def _cast(self, arg: Expr, type_: Type) -> Operand:
        given, wanted = self._is_float(arg.type), self._is_float(type_)
        if given and wanted:
            return self._cover(arg)
        if wanted:
            return self._unit("itof", [self._word(arg)], self._integer(arg.type).signed)
        if given:
            return self._whole(arg, self._integer(type_))
        target = self._integer(type_)
        kept = self._kept_product(arg) if target != BIT else None
        if kept is not None:
            return self._wrap(kept, target)
        source = self._integer(arg.type)
        operand = self._cover(arg) if target == BIT else self._word(arg)
        if target == BIT and source != BIT:
            low = self._unit("and", [operand, Constant(1)], signed=False)
            return self._unit("ne", [low, Constant(0)], signed=False)
        if target.minimum <= source.minimum and source.maximum <= target.maximum:
            return operand
        return self._wrap(operand, target)

    def _whole(self, arg: Expr, type_: Int) -> Operand:
        """A number rounded towards zero to an integer."""
        word = self._unit("ftoi", [self._cover(arg)], signed=False)
        if type_ != BIT:
            return self._wrap(word, type_)
        return self._unit("ne", [self._unit("and", [word, Constant(1)], signed=False), Constant(0)], signed=False)

    def _wrap(self, operand: Operand, type_: Int) -> Operand:
        """Bring a 16-bit pattern into the range of a narrower type."""
        if type_.width == WIDTH:
            return operand
        if not type_.signed:
            return self._unit("and", [operand, Constant((1 << type_.width) - 1)], signed=False)
        amount = Constant(WIDTH - type_.width)
        return self._unit("shr", [self._unit("shl", [operand, amount], signed=True), amount], signed=True)

    def _kept_product(self, arg: Expr) -> Operand | None:
        """``cast16((cast32(a) * cast32(b)) >> k)`` as one multiplication that keeps other bits."""
        amount = 0
        if isinstance(arg, Apply) and arg.op == "shr" and isinstance(arg.args[1], Const):
            amount, arg = arg.args[1].value, arg.args[0]
        if not (isinstance(arg, Apply) and arg.op == "mul" and isinstance(arg.type, Int) and arg.type.width > WIDTH):
            return None
        if amount not in _KEPT_PRODUCT_BITS or arg.type.width < amount + WIDTH:
            return None
        factors = [a.arg if isinstance(a, Cast) else a for a in arg.args]
        for word in (Int(WIDTH, False), Int(WIDTH, True)):
            if all(fits(f, word) for f in factors):
                return self._unit(_KEPT_PRODUCT_BITS[amount], [self._word(f) for f in factors], word.signed)
        return None

    def _word(self, expr: Expr) -> Operand:
        """An expression as a word, also if it is a bit: bits that are read come as words."""
        if isinstance(expr, Read) and expr.type == BIT:
            return self.reads[expr.index]
        operand = self._cover(expr)
        if operand.kind is Kind.BIT:
            return self._unit("select", [operand, Constant(1), Constant(0)], signed=False)
        return operand

    def _lookup(self, table: str, index: Operand) -> Signal:
        if isinstance(index, Constant):
            index = self._emit("pass", [index], signed=False)
        name = f"{self.statement.name}.rom{len(self.roms)}"
        self.roms[name] = (MemNode(name), table)
        pin_in, pin_out = Pin(name, "in0"), Pin(name, "out0")
        self.edges.append(Edge(index.pin, pin_in, "word", index.distance))
        latency = self.mem.ROM_LATENCY
        self.separations.append(SkewBound(pin_out, pin_in, latency, latency))
        return Signal(pin_out, Kind.WORD, 0, index.rank + 2)

    # Operations.

    def _apply(self, expr: Apply) -> Operand:
        if expr.op == "lut3":
            table = expr.args[0]
            assert isinstance(table, Const)
            return self._lut(table.value, [self._cover(a) for a in expr.args[1:]])
        if sum(self._is_float(arg.type) for arg in expr.args):
            return self._float_operation(expr)
        if expr.op not in OPERATIONS:
            raise self._fail(f"processing elements have no operation '{expr.op}'")
        word_type = next(self._integer(a.type) for a in expr.args if a.type != BIT or len(expr.args) == 1)
        if expr.op in _LINEAR and word_type.width == WIDTH:
            return self._sum(expr)
        if expr.op in ("mul_mid", "mul_high") and word_type.width < WIDTH:
            return self._narrow_product(expr, word_type)
        if expr.op == "carry" and word_type.width < WIDTH:
            return self._narrow_carry(expr, word_type)
        operand = self._unit(expr.op, [self._cover(a) for a in expr.args], word_type.signed)
        return self._wrap(operand, word_type) if expr.op in _OVERFLOWING else operand

    def _float_operation(self, expr: Apply) -> Operand:
        """An operation on floating-point numbers, in the program's order."""
        if expr.op in MASKS:
            op, mask = MASKS[expr.op]
            return self._unit(op, [self._cover(expr.args[0]), Constant(mask)], signed=False)
        if expr.op not in FLOAT_OPERATIONS:
            raise self._fail(without_operation(expr.op))
        if expr.op == "add":
            for product, other in (expr.args, expr.args[::-1]):
                if (fused := self._multiplied_and_added(product, other)) is not None:
                    return fused
        return self._unit(FLOAT_OPERATIONS[expr.op], [self._cover(arg) for arg in expr.args], signed=False)

    def _multiplied_and_added(self, product: Expr, other: Expr) -> Operand | None:
        """A product that nothing else takes and a sum in one unit; none where `other` comes back soon, since its way
        through the unit would be that of the product."""
        if not isinstance(product, Apply) or product.op != "mul" or self._uses[id(product)] > 1:
            return None
        summand = self._cover(other)
        if isinstance(summand, Signal) and (summand.recurrence_critical or summand.pin in self.carried):
            return None
        return self._unit("fmad", [*map(self._cover, product.args), summand], signed=False)

    def _narrow_product(self, expr: Apply, type_: Int) -> Operand:
        """Upper bits of a product of narrow words; only up to 8 bits is the whole product one word."""
        if 2 * type_.width > WIDTH:
            raise self._fail(f"operation '{expr.op}' on {type_} needs a product wider than {WIDTH} bits")
        amount = type_.width // 2 if expr.op == "mul_mid" else type_.width
        product = self._unit("mul", [self._cover(a) for a in expr.args], type_.signed)
        return self._wrap(self._unit("shr", [product, Constant(amount)], type_.signed), type_)

    def _narrow_carry(self, expr: Apply, type_: Int) -> Operand:
        """Whether a sum of narrow words, which is one word, has the bit beyond them."""
        total = self._unit("add", [self._cover(a) for a in expr.args], type_.signed)
        beyond = self._unit("and", [total, Constant(1 << type_.width)], signed=False)
        return self._unit("ne", [beyond, Constant(0)], signed=False)

    def _lut(self, table: int, operands: list[Operand]) -> Operand:
        if all(isinstance(o, Constant) for o in operands):
            place = sum((o.value & 1) << k for k, o in enumerate(operands) if isinstance(o, Constant))
            return Constant(table >> place & 1, Kind.BIT)
        return self._emit("lut3", operands, signed=False, table=table)

    def _unit(self, op: str, operands: Sequence[Operand], signed: bool) -> Operand:
        """One operation, computed now if nothing in it changes, in as few units as it takes."""
        if all(isinstance(o, Constant) for o in operands):
            return self._constant_result(op, [o for o in operands if isinstance(o, Constant)], signed)
        best = simplify(Unit(op, tuple(operands), signed), self._made)
        if not isinstance(best, Unit):
            return best
        signal = self._emit(best.op, best.operands, best.signed)
        self._made[signal.pin] = best
        return signal

    @staticmethod
    def _constant_result(op: str, operands: list[Constant], signed: bool) -> Constant:
        entry = _TABLE[op]
        word = Int(WIDTH, signed)
        values = [word.wrap(o.value) if o.kind is Kind.WORD else o.value for o in operands]
        return Constant(int(entry.evaluate(WIDTH, *values)) & (MASK if entry.result is Kind.WORD else 1), entry.result)

    def _emit(self, op: str, operands: Sequence[Operand], signed: bool, table: int = 0) -> Signal:
        """Add a processing element and connect it."""
        name = f"{self.statement.name}.{len(self.pes)}"  # unused ones are removed at the end only
        constants: dict[Kind, list[int | None]] = {Kind.WORD: [None] * 3, Kind.BIT: [None] * 3}
        place = {Kind.WORD: 0, Kind.BIT: 0}
        rank = 0
        for operand in operands:
            kind, port = operand.kind, place[operand.kind]
            place[kind] += 1
            if isinstance(operand, Constant):
                constants[kind][port] = operand.value
            else:
                network = "word" if kind is Kind.WORD else "bit"
                self.edges.append(Edge(operand.pin, Pin(name, f"{kind.value}{port}"), network, operand.distance))
                rank = max(rank, operand.units)
        words, bits = constants[Kind.WORD], constants[Kind.BIT]
        config = PeConfig(op, signed, (words[0], words[1], words[2]), (bits[0], bits[1], bits[2]), table)
        self.pes.append(PeNode(name, config, self.pe.latency(op)))
        return Signal(Pin(name, config.output), config.operation.result, 0, rank + 1)

    # Sums of products.

    def _sum(self, expr: Expr) -> Operand:
        total = flatten_sum(expr, lambda e: self._uses[id(e)] > 1)
        terms = [(p.coefficient, [self._cover(f) for f in p.factors]) for p in total.products]
        constant = total.constant
        plain: list[tuple[int, Signal]] = []
        products: list[tuple[Signal, Operand]] = []
        for coefficient, factors in terms:
            signals = [f for f in factors if isinstance(f, Signal)]
            weight = coefficient * prod(f.value for f in factors if isinstance(f, Constant)) & MASK
            if not signals:
                constant = (constant + weight) & MASK
            elif len(signals) == 1 and weight in (1, MASK):
                plain.append((weight, signals[0]))
            elif len(signals) == 1 and weight:
                products.append((signals[0], Constant(weight)))
            elif weight == 1:
                products.append((signals[0], signals[1]))
            elif weight:
                products.append((self._emit("mul", signals, signed=False), Constant(weight)))
        if self._is_long(len(plain) + len(products)):
            return self._grouped(constant, plain, products)
        return self._chain(constant, plain, products)

    def _is_long(self, terms: int) -> bool:
        """Whether a sum ends noticeably sooner as a sum of sums."""
        saved = _CYCLES_PER_TERM * (terms - 2 * sqrt(terms))
        return self.cycles is not None and terms > _FEW and saved > _NOTICEABLE * self.cycles

    def _grouped(self, constant: int, plain: list[tuple[int, Signal]],
                 products: list[tuple[Signal, Operand]]) -> Operand:
        """Add about as many chains as each has terms, those first whose terms are ready first. What is subtracted, or
        comes back soon, follows."""
        alone = [term for term in plain if term[0] != 1 or term[1].recurrence_critical]
        terms: list[tuple[int, Signal] | tuple[Signal, Operand]] = [term for term in plain if term not in alone]
        terms += products
        terms.sort(key=lambda term: max(self._lateness(part) for part in term if not isinstance(part, int)))
        size = max(2, round(sqrt(len(terms))))
        chains = []
        for first in range(0, len(terms), size):
            group = terms[first : first + size]
            words = [(a, b) for a, b in group if isinstance(a, int) and isinstance(b, Signal)]
            pairs = [(a, b) for a, b in group if isinstance(a, Signal)]
            chains.append(self._chain(0 if first else constant, words, pairs))
        return self._plus_all(reduce(self._plus, chains, Constant(0) if chains else Constant(constant)), alone)

    def _chain(self, constant: int, plain: list[tuple[int, Signal]],
               products: list[tuple[Signal, Operand]]) -> Operand:
        """Add everything up in a chain, operands that are ready first and adaptable ones last. What comes back soon
        from the result itself is added after all others, although that may take a unit more.

        `plain` are words with their factor, 1 or -1; `products` pairs of factors.
        """
        plain.sort(key=self._turn)
        products.sort(key=lambda pair: max(self._lateness(pair[0]), self._lateness(pair[1])))
        start: Operand = Constant(constant)
        if products and not constant and plain and plain[0][0] == 1 and not plain[0][1].recurrence_critical:
            start = plain.pop(0)[1]
        for a, b in products:
            if start == Constant(0):
                start = self._unit("mul", [a, b], signed=False)
            else:
                start = self._unit("mad", [a, b, start], signed=False)
        return self._plus_all(start, plain)

    def _plus_all(self, start: Operand, plain: list[tuple[int, Signal]]) -> Operand:
        for coefficient, operand in sorted(plain, key=self._turn):
            start = self._plus(start, operand) if coefficient == 1 else self._unit("sub", [start, operand], False)
        return start

    def _turn(self, term: tuple[int, Signal]) -> tuple[bool, bool, tuple[int, Pin, int]]:
        """Sort key of words with their factors in a chain."""
        return term[1].recurrence_critical, term[0] != 1, self._lateness(term[1])

    def _plus(self, a: Operand, b: Operand) -> Operand:
        return b if a == Constant(0) else self._unit("add", [a, b], signed=False)

    @staticmethod
    def _lateness(operand: Operand) -> tuple[int, Pin, int]:
        """Sort key: constants, then streams by their estimated arrival; far taps of one stream come first."""
        if isinstance(operand, Constant):
            return -1, Pin("", ""), 0
        return operand.rank, operand.pin, -operand.distance


