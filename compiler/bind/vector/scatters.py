"""Stores at places that depend on data: scatters where the lanes keep their order, else selections of words.

A memory with such stores is an array of one dimension. Stores of one statement, between which nothing else accesses the
memory, in the order of its iterators, are a scatter; so are sums ``m[x] += t`` in any order.

Everything else asks of every word whether it is meant. ``m[x] op= t``, for minima and maxima, is, for all b::

    m[b] = m[b] op (x == b ? t : neutral)

which lanes reduce over all iterations. Stores of the same word are in order otherwise: of every word the last iteration
that means it is found as a maximum of keys (number of the iteration, value), a value in parts if both do not fit 31
bits. What is read in between is stored iteration by iteration, ``m[b] = x == b ? value : m[b]``. The work is that of
words times iterations.
"""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.scatter_updates import fetching_statements, update_of
from compiler.bind.vector.statement_order import MOST_STEPS
from compiler.bind.vector.word_statements import WORD, Operand, WordStatements
from compiler.ir.affine_index import affine_index
from compiler.ir.expr import Apply, Cast, Const, Expr, Load, Read, Store, fold, postorder, pruned, with_children
from compiler.ir.expr import Iterator as IteratorValue
from compiler.ir.memory_order import accesses_memory
from compiler.ir.program import Access, Location, Memory, Program, Statement
from compiler.ir.types import BIT, Int

__all__ = ["affine_write", "with_selected_stores", "word_access"]

_KEY = Int(32, signed=False)
_KEY_BITS = 31
"""Of an iteration's number and a part of its value, which lanes compare as signed numbers."""
_ALWAYS = Const(1, BIT)


def with_selected_stores(program: Program, memory: Memory) -> Program:
    """`program` with an array in place of `memory`, which loads name. Raises `VectorTargetError` for more iterations
    than can be told apart."""
    return _Selection(program, memory).run()


def affine_write(statement: Statement, memory: Memory) -> Access | None:
    """The words that a store to `memory` writes; None if they are no function of iterators, or it is no store."""
    store = _store(statement, memory)
    index = store and affine_index(statement, store.index)
    return None if index is None else word_access(statement, memory.name, index, statement.write.location)


def word_access(statement: Statement, memory: str, index: isl.Aff, location: Location | None) -> Access:
    """An access of word `index` of the array that stands for a memory."""
    written = isl.Map.from_pw_aff(isl.PwAff.from_aff(index)).set_tuple_name(isl.dim_type.out, memory)
    for position, name in enumerate(statement.iterators):
        written = written.set_dim_name(isl.dim_type.in_, position, name)
    return Access(memory, written, location)


def _store(statement: Statement, memory: Memory) -> Store | None:
    value = statement.value
    return value if isinstance(value, Store) and value.memory == memory.name else None


def _chosen(enable: Expr, value: Expr, other: Expr) -> Expr:
    return value if enable == _ALWAYS else Apply("select", (enable, value, other), value.type)


class _Selection:
    """Replaces the statements that access one memory."""

    def __init__(self, program: Program, memory: Memory) -> None:
        self.program, self.memory = program, memory
        self.words = WordStatements(program, memory)
        self.stores = [s for s in program.statements if _store(s, memory)]
        self.fetched = {s.name: fetching_statements(program, memory, s) for s in self.stores}

    def run(self) -> Program:
        """The program without the memory."""
        tokens = {s.write.array for s in self.stores}
        gone = {name for names in self.fetched.values() for name in names.values()}
        for statement in self.program.statements:
            if statement in self.stores:
                self._replace(statement)
            elif statement.write.array not in tokens and statement.name not in gone:
                self.words.keep(self._waiting(statement))
        return self.words.program()

    def _waiting(self, statement: Statement) -> Statement:
        """A statement whose loads come after what fills the array: every statement that changes it writes word 0."""
        name = self.memory.name
        if not accesses_memory(statement.value, name):
            return statement
        point = f"{statement.name}[{', '.join(statement.iterators)}]"
        first = Access(name, isl.Map(f"{{ {point} -> {name}[0] }}"), statement.location)
        return replace(statement, value=fold(statement.value, self._plain), reads=(*statement.reads, first))

    def _plain(self, node: Expr, parts: list[Expr]) -> Expr:
        """Without what loads wait for."""
        if isinstance(node, Load) and node.memory == self.memory.name:
            return Load(node.memory, parts[0], (), node.type)
        return with_children(node, parts)

    def _replace(self, statement: Statement) -> None:
        store, at = _store(statement, self.memory), affine_write(statement, self.memory)
        assert store is not None
        if at is None or not (self._is_all(at.map, statement) and self._is_alone(statement)):
            self._scatter(statement, store)
            return
        kept = Read(len(statement.reads), self.memory.type)
        value = self._changed(statement, store, _chosen(store.enable, store.value, kept), kept)
        reads = (*statement.reads, at) if kept in set(postorder(value)) else statement.reads
        value, reads = pruned(value, reads)
        self.words.keep(replace(statement, reads=reads, write=at, value=value))

    def _scatter(self, statement: Statement, store: Store) -> None:
        """The statements in place of a store at a place that depends on data."""
        store = self._changing(statement, store)
        place = self.words.hoisted(statement, "place", self._place(store))
        word = IteratorValue(WORD, place.type)
        element = self.words.element(self.memory.name, self.memory.type)
        value = self._changed(statement, store, store.value, element.expr)
        if self._scatters(statement, store, value, place, element):
            return
        if element.expr not in set(postorder(value)):
            if self._is_alone(statement) and self._is_in_order(statement):
                self._select_last(statement, value, place, word)
            else:
                self._refuse_long(statement)
                term = self.words.hoisted(statement, "value", value)
                hit = Apply("eq", (place.expr, word), BIT)
                chosen = Apply("select", (hit, term.expr, element.expr), self.memory.type)
                self.words.add(statement, self.memory.name, chosen, (place, term, element))
            return
        self._update(statement, value, place, word, element)

    def _scatters(self, statement: Statement, store: Store, value: Expr, place: Operand, element: Operand) -> bool:
        """A scatter in place of the store, if there can be one."""
        name, kind = self.memory.name, self.memory.type
        uses = element.expr in set(postorder(value))
        update = update_of(value, element.expr) if uses and kind != BIT else None
        sums = update is not None and update.op == "add"
        if not self._is_alone(statement) or accesses_memory(value, name):
            return False
        if not (sums if uses else self._is_in_order(statement)):
            return False
        term = self.words.hoisted(statement, "value", update.term if update else value)
        old = Load(name, place.expr, (), kind)
        stored = update.value(term.expr) if update else term.expr
        stored = fold(stored, lambda node, parts: old if node == element.expr else with_children(node, parts))
        scatter = Store(name, place.expr, stored, _ALWAYS, ())
        self.words.scatter(statement, scatter, (place, term))
        return True

    def _update(self, statement: Statement, value: Expr, place: Operand, word: Expr, element: Operand) -> None:
        """A word that is changed: where possible by an operation whose order does not matter."""
        hit, update = Apply("eq", (place.expr, word), BIT), update_of(value, element.expr)
        if update is None:
            self._refuse_long(statement)
            chosen = Apply("select", (hit, value, element.expr), self.memory.type)
            self.words.add(statement, self.memory.name, chosen, (place, element))
            return
        term = self.words.hoisted(statement, "term", update.term)
        masked = Apply("select", (hit, term.expr, Const(update.neutral, term.type)), term.type)
        self.words.add(statement, self.memory.name, update.value(masked), (place, term, element))

    def _refuse_long(self, statement: Statement) -> None:
        """Raises `VectorTargetError` for too many stores whose order matters, which are done one by one."""
        longest = max((high - low + 1 for low, high in _bounds(statement)), default=1)
        if longest > MOST_STEPS:
            name = self.memory.label
            raise VectorTargetError(
                f"{statement.label()} stores to '{name}' at places that depend on data, {longest} times in a loop, and "
                f"accesses of '{name}' in between, its own or others', see what it has left there: lanes work side by "
                f"side, and keep such an order for up to {MOST_STEPS} iterations. Make it a sum ('{name}[...] += ...'),"
                f" put other accesses of '{name}' into loops of their own, or take --target fpga or dataflow")

    def _changing(self, statement: Statement, store: Store) -> Store:
        """A store that depends on the word that it changes, as one that takes place anyway."""
        kept = self.words.element(self.memory.name, self.memory.type).expr
        if kept not in set(postorder(self._changed(statement, store, store.enable, kept))):
            return store
        word = Load(store.memory, store.index, (), self.memory.type)
        return replace(store, value=_chosen(store.enable, store.value, word), enable=_ALWAYS)

    def _changed(self, statement: Statement, store: Store, value: Expr, element: Expr) -> Expr:
        """`value`, with `element` for the word that the store changes."""
        fetched = self.fetched[statement.name]

        def step(node: Expr, parts: list[Expr]) -> Expr:
            own = isinstance(node, Load) and node.memory == self.memory.name and node.index == store.index
            if own or (isinstance(node, Read) and node.index in fetched):
                return element
            return self._plain(node, parts)

        return fold(value, step)

    def _place(self, store: Store) -> Expr:
        """The word that is meant; none for a store that does not take place."""
        kind = Int(16 if self.memory.words <= 1 << 15 else 32)
        if store.enable == _ALWAYS and self.memory.words <= 1 << 8:
            kind = Int(8, signed=False)
        return fold(_chosen(store.enable, Cast(store.index, kind), Const(-1, kind)), self._plain)

    # The last of several stores.

    def _is_all(self, written: isl.Map, statement: Statement) -> bool:
        """Whether every word is among those `written`."""
        words = isl.Set(f"{{ {self.memory.name}[w] : 0 <= w < {self.memory.words} }}")
        return words.is_subset(written.intersect_domain(statement.domain).range())

    def _is_alone(self, statement: Statement) -> bool:
        """Whether nobody else accesses the memory between instances of a statement, but for what fetches its words."""
        name, own = self.memory.name, {statement.name, *self.fetched[statement.name].values()}
        times = self.program.order_of(statement.name).intersect_domain(statement.domain)
        for other in self.program.statements:
            if other.name not in own and accesses_memory(other.value, name):
                others = self.program.order_of(other.name).intersect_domain(other.domain)
                between = others.lex_gt_map(times).domain().intersect(others.lex_lt_map(times).domain())
                if not between.is_empty():
                    return False
        return True

    def _is_in_order(self, statement: Statement) -> bool:
        """Whether the order is that of the iterators."""
        times = self.program.order_of(statement.name).intersect_domain(statement.domain)
        return times.lex_lt_map(times).is_equal(statement.domain.lex_lt_set(statement.domain))

    def _select_last(self, statement: Statement, value: Expr, place: Operand, word: Expr) -> None:
        """Of every word the greatest key, part by part of the value, and the value that is in it."""
        number, count = _number(statement)
        room, width = _KEY_BITS - count.bit_length(), self.memory.type.width
        if room < 1:
            raise VectorTargetError(f"{statement.label()} stores {count} times at places that depend on data, more "
                                    "than the vector target can tell apart: split the loop")
        bits = Cast(Cast(value, Int(width, signed=False)), _KEY)
        hit, parts = Apply("eq", (place.expr, word), BIT), []
        for low in range(0, width, room):
            size = min(room, width - low)
            part = _masked(_shifted("shr", bits, low), size)
            key = Cast(Apply("or", (_shifted("shl", number, room), part), _KEY), Int(32))
            key = self.words.hoisted(statement, "key", key)
            last = self.words.array("last", Int(32))
            self.words.fill(statement, last, Const(0, Int(32)))
            masked = Apply("select", (hit, key.expr, Const(0, Int(32))), Int(32))
            best = self.words.element(last, Int(32))
            self.words.add(statement, last, Apply("max", (best.expr, masked), Int(32)), (place, key, best))
            parts.append((best, _shifted("shl", _masked(Cast(best.expr, _KEY), size), low)))
        element = self.words.element(self.memory.name, self.memory.type)
        found = parts[0][1]
        for _, part in parts[1:]:
            found = Apply("or", (found, part), _KEY)
        none = Apply("eq", (parts[0][0].expr, Const(0, Int(32))), BIT)
        chosen = Apply("select", (none, element.expr, Cast(found, self.memory.type)), self.memory.type)
        self.words.finish(statement, self.memory.name, chosen, (*(best for best, _ in parts), element))


def _bounds(statement: Statement) -> list[tuple[int, int]]:
    """First and last value of every iterator."""
    domain = statement.domain
    return [(domain.dim_min_val(k).to_python(), domain.dim_max_val(k).to_python())
            for k in range(len(statement.iterators))]


def _number(statement: Statement) -> tuple[Expr, int]:
    """The number of an iteration, from 1 in the order of the iterators, and how many there may be."""
    number, step = Const(1, _KEY), 1
    for name, (low, high) in reversed([*zip(statement.iterators, _bounds(statement), strict=True)]):
        counted = Apply("sub", (IteratorValue(name, _KEY), Const(low % (1 << 32), _KEY)), _KEY)
        number = Apply("add", (number, Apply("mul", (counted, Const(step, _KEY)), _KEY)), _KEY)
        step *= high - low + 1
    return number, step


def _shifted(op: str, value: Expr, by: int) -> Expr:
    return Apply(op, (value, Const(by, _KEY)), _KEY) if by else value


def _masked(value: Expr, size: int) -> Expr:
    return Apply("and", (value, Const((1 << size) - 1, _KEY)), _KEY)
