"""Statements that are made for every word of a memory, beside those of a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import islpy as isl

from compiler.ir.expr import Const, Expr, Read, Store, pruned
from compiler.ir.names import fresh_name
from compiler.ir.program import Access, Array, Memory, Program, Statement
from compiler.ir.types import Type

__all__ = ["WORD", "Operand", "WordStatements"]

WORD = "word"
"""The iterator of the words, innermost."""
_FIRST, _BEFORE, _NOW, _AFTER = -2, -1, 0, 1
"""Slots of time around that of an instance."""
_OWN = 1 << 20
"""Numbers of reads that are not the statement's own."""


@dataclass(frozen=True)
class Operand:
    """A value for statements of words: `expr`, and where its read is from: the element of `array` that is the word's,
    or by `map` the iteration's."""

    expr: Expr
    array: str = ""
    map: isl.Map | None = None

    @property
    def type(self) -> Type:
        return self.expr.type


class WordStatements:
    """Makes a program of statements of `program` and of new ones, with an array in place of `memory`."""

    def __init__(self, program: Program, memory: Memory) -> None:
        self._program, self._memory = program, memory
        self._arrays = [Array(memory.name, (memory.words,), memory.type, "intermediate")]
        self._made: list[tuple[Statement, isl.Map]] = []
        self._reads = 0

    def program(self) -> Program:
        """What has been made."""
        old, order = self._program, isl.UnionMap.empty(self._program.order.get_space().params())
        for statement, times in self._made:
            order = order.union(isl.UnionMap.from_map(times.intersect_domain(statement.domain)))
        touched = {access.array for s, _ in self._made for access in (*s.reads, s.write)}
        arrays = tuple(a for a in (*old.arrays, *self._arrays) if a.name in touched or a.role != "intermediate")
        return replace(old, statements=tuple(s for s, _ in self._made), order=order, arrays=arrays,
                       memories=tuple(m for m in old.memories if m is not self._memory))

    # Operands.

    def array(self, what: str, type: Type, shape: tuple[int, ...] | None = None) -> str:
        """The name of a new array, of a word per word of the memory if no shape is given."""
        name = self._name(f"{self._memory.name}_{what}")
        self._arrays.append(Array(name, shape or (self._memory.words,), type, "intermediate"))
        return name

    def element(self, array: str, type: Type) -> Operand:
        """The element of a word."""
        self._reads += 1
        return Operand(Read(_OWN + self._reads, type), array)

    def hoisted(self, statement: Statement, what: str, value: Expr) -> Operand:
        """A value of the reads of `statement`, computed once per iteration, before what is made for the words."""
        if isinstance(value, Const):
            return Operand(value)
        domain, inside = statement.domain, ", ".join(statement.iterators)
        bounds = [(domain.dim_min_val(k).to_python(), domain.dim_max_val(k).to_python())
                  for k in range(len(statement.iterators))]
        array = self.array(what, value.type, tuple(high - low + 1 for low, high in bounds) or (1,))
        places = [f"{name} - ({low})" for name, (low, _) in zip(statement.iterators, bounds, strict=True)]
        element = ", ".join(places or ["0"])
        name = self._name(f"{statement.name}_{what}")
        same = isl.Map(f"{{ {name}[{inside}] -> {statement.name}[{inside}] }}")
        reads = tuple(replace(access, map=same.apply_range(access.map)) for access in statement.reads)
        write = Access(array, isl.Map(f"{{ {name}[{inside}] -> {array}[{element}] }}"), statement.location)
        self._keep(Statement(name, statement.iterators, same.intersect_range(domain).domain(), reads, write, value,
                             statement.location), same.apply_range(self._times(statement, _BEFORE)))
        self._reads += 1
        return Operand(Read(_OWN + self._reads, value.type), array,
                       isl.Map(f"{{ {statement.name}[{inside}] -> {array}[{element}] }}"))

    # Statements.

    def keep(self, statement: Statement) -> None:
        """A statement of the program, whose value may have changed."""
        self._keep(statement, self._times(statement, _NOW))

    def add(self, statement: Statement, array: str, value: Expr, operands: Sequence[Operand]) -> None:
        """For every instance of `statement`, and then for every word: ``array[word] = value``, of `operands` and of the
        reads of the statement."""
        iterators, inside = (*statement.iterators, WORD), ", ".join(statement.iterators)
        name = self._name(f"{statement.name}_words")
        point = f"{name}[{', '.join(iterators)}]"
        spread = isl.Map(f"{{ {point} -> {statement.name}[{inside}] : 0 <= {WORD} < {self._memory.words} }}")
        numbers = {k: replace(access, map=spread.apply_range(access.map)) for k, access in enumerate(statement.reads)}
        numbers |= self._accesses(point, spread, operands)
        times = spread.apply_range(self._program.order_of(statement.name))
        self._keep(self._statement(name, iterators, spread.intersect_range(statement.domain).domain(), numbers, array,
                                   value, statement),
                   times.flat_range_product(isl.Map(f"{{ {point} -> [{_NOW}, {WORD}] }}")))

    def scatter(self, statement: Statement, store: Store, operands: Sequence[Operand]) -> None:
        """`statement` as a store of the iterations' `operands`. As whatever changes the array, it writes word 0."""
        name, inside = self._name(f"{statement.name}_scatter"), ", ".join(statement.iterators)
        point = f"{name}[{inside}]"
        same = isl.Map(f"{{ {point} -> {statement.name}[{inside}] }}")
        value, reads = pruned(store, self._accesses(point, same, operands))
        write = Access(self._memory.name, isl.Map(f"{{ {point} -> {self._memory.name}[0] }}"), statement.location)
        self._keep(Statement(name, statement.iterators, same.intersect_range(statement.domain).domain(), reads, write,
                             value, statement.location), same.apply_range(self._times(statement, _NOW)))

    def fill(self, statement: Statement, array: str, value: Expr) -> None:
        """For every word, before all instances of `statement`."""
        self._beside(statement, array, value, (), last=False)

    def finish(self, statement: Statement, array: str, value: Expr, operands: Sequence[Operand]) -> None:
        """For every word, after all instances of `statement`."""
        self._beside(statement, array, value, operands, last=True)

    def _beside(self, statement: Statement, array: str, value: Expr, operands: Sequence[Operand], last: bool) -> None:
        times = self._program.order_of(statement.name).intersect_domain(statement.domain).range()
        name = self._name(f"{statement.name}_{'chosen' if last else 'cleared'}")
        point = f"{name}[{WORD}]"
        words = isl.Set(f"{{ {point} : 0 <= {WORD} < {self._memory.words} }}")
        at = isl.Map.from_domain_and_range(words, times.lexmax() if last else times.lexmin())
        slot = isl.Map(f"{{ {point} -> [{_AFTER if last else _FIRST}, {WORD}] }}")
        accesses = self._accesses(point, None, operands)
        self._keep(self._statement(name, (WORD,), words, accesses, array, value, statement),
                   at.flat_range_product(slot))

    @staticmethod
    def _accesses(point: str, spread: isl.Map | None, operands: Sequence[Operand]) -> dict[int, Access]:
        found = {}
        for operand in operands:
            if isinstance(operand.expr, Read):
                if operand.map is None:
                    own = isl.Map(f"{{ {point} -> {operand.array}[{WORD}] }}")
                    found[operand.expr.index] = Access(operand.array, own)
                else:
                    assert spread is not None
                    found[operand.expr.index] = Access(operand.array, spread.apply_range(operand.map))
        return found

    @staticmethod
    def _statement(name: str, iterators: tuple[str, ...], domain: isl.Set, reads: dict[int, Access], array: str,
                   value: Expr, origin: Statement) -> Statement:
        value, used = pruned(value, reads)
        point = f"{name}[{', '.join(iterators)}]"
        write = Access(array, isl.Map(f"{{ {point} -> {array}[{WORD}] }}"), origin.write.location)
        return Statement(name, iterators, domain, used, write, value, origin.location)

    def _keep(self, statement: Statement, times: isl.Map) -> None:
        for position, name in enumerate(statement.iterators):
            times = times.set_dim_name(isl.dim_type.in_, position, name)
        self._made.append((statement, times))

    def _times(self, statement: Statement, slot: int) -> isl.Map:
        point = f"{statement.name}[{', '.join(statement.iterators)}]"
        return self._program.order_of(statement.name).flat_range_product(isl.Map(f"{{ {point} -> [{slot}, 0] }}"))

    def _name(self, name: str) -> str:
        made = (item.name for item in (*self._arrays, *(statement for statement, _ in self._made)))
        return fresh_name(name, {*self._program.names, *made})
