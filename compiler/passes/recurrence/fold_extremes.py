"""Choices of the greater or smaller of two values, recognised where the comparison is a statement of its own.

    condition[i] = x[i] > best;                  condition[i] = x[i] > best;
    if (condition[i]) best = x[i];        =>     best = max(x[i], best);
    if (condition[i]) where = i;                 if (condition[i]) where = i;

Front ends compute a condition once that several statements are under. Between a value of `best` and the next one there
were the comparison and the choice; now there is one operation, and the comparison is on no way from one step to the
next.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import islpy as isl

from compiler.analysis.dependences import Dependence, flow
from compiler.ir.expr import Apply, Cast, Const, Expr, Read, children, fold, pruned, with_children
from compiler.ir.program import Program, Statement
from compiler.ir.types import BIT, Int, Type

__all__ = ["fold_extremes"]

_GREATER = {"gt": True, "ge": True, "lt": False, "le": False}
"""Comparisons, and whether they are true where the first operand is the greater one."""


def fold_extremes(program: Program) -> Program:
    """`program` with `min` and `max` for selects of one of two integers by a comparison of just these, which another
    statement makes. Statements that share units stay as they are, alike."""
    shared = {name for group in program.shared for name in group}
    return replace(program, statements=tuple(s if s.name in shared else _folded(program, s)
                                             for s in program.statements))


def _folded(program: Program, statement: Statement) -> Statement:
    def step(node: Expr, parts: list[Expr]) -> Expr:
        return _extreme(program, statement, node) or with_children(node, parts)

    value = fold(statement.value, step)
    if value is statement.value:
        return statement
    value, reads = pruned(value, statement.reads)
    return replace(statement, reads=reads, value=value)


def _extreme(program: Program, statement: Statement, node: Expr) -> Apply | None:
    """What a select is the same as, if it is the greater or smaller one of its operands."""
    match node:
        case Apply("select", (condition, yes, no), Int()):
            asked = _asked(condition)
            if isinstance(asked, Read):
                return next(_compared(program, statement, asked, yes, no), None)
    return None


def _compared(program: Program, statement: Statement, asked: Read, yes: Expr, no: Expr) -> Iterator[Apply]:
    """The extremes that it is, by the comparison whose bit the read `asked` delivers."""
    sources = [d for d in _flow_to(program, statement.name) if d.read == asked.index]
    if len(sources) != 1 or not statement.domain.is_subset(sources[0].relation.domain()):
        return
    comparison = _asked(program.statement(sources[0].source).value)
    if not isinstance(comparison, Apply) or comparison.op not in _GREATER:
        return
    greater, pair = _GREATER[comparison.op], _Pair(program, sources[0], statement)
    for first, second, is_first in ((yes, no, True), (no, yes, False)):
        if all(pair.agree(mine, other) for mine, other in zip((first, second), comparison.args, strict=True)):
            yield Apply("max" if greater == is_first else "min", (yes, no), yes.type)


def _asked(condition: Expr) -> Expr:
    """What is true where `condition` is: without comparisons with zero, and conversions that keep all of a number."""
    while True:
        match condition:
            case Apply("ne", (inner, Const(0))):
                condition = inner
            case Cast(inner, to) if _is_bit(inner) or _is_wider(to, inner.type):
                condition = inner
            case _:
                return condition


def _is_wider(type: Type, than: Type) -> bool:
    """Whether no integer of `than` loses bits in `type`."""
    return isinstance(type, Int) and isinstance(than, Int) and type.width >= than.width


def _is_bit(node: Expr) -> bool:
    """Whether it is a bit in some type, which one bit of any other keeps."""
    while isinstance(node, Cast):
        node = node.arg
    return node.type == BIT


@dataclass(frozen=True)
class _Pair:
    """A statement `reader` and the one whose value it reads by `link`: whether they see the same values."""

    program: Program
    link: Dependence
    reader: Statement

    def agree(self, mine: Expr, other: Expr) -> bool:
        """Whether an expression of the reader has the value that one of the other statement has for it."""
        if isinstance(mine, Read) and isinstance(other, Read):
            return mine.type == other.type and self._is_one(mine.index, other.index)
        alike = type(mine) is type(other) and isinstance(mine, Apply | Cast | Const) and mine.type == other.type
        if not alike or getattr(mine, "op", None) != getattr(other, "op", None):
            return False
        if isinstance(mine, Const):
            return mine == other
        parts, others = children(mine), children(other)
        return len(parts) == len(others) and all(self.agree(*both) for both in zip(parts, others, strict=True))

    def _is_one(self, mine: int, other: int) -> bool:
        """Whether two reads are of one element, and see the values of the same instances in it."""
        access = self.program.statement(self.link.source).reads[other]
        if self.reader.reads[mine].array != access.array:
            return False
        if not self._is_equal(self.reader.reads[mine].map, access.map):
            return False
        seen = {d.source: d.relation for d in _flow_to(self.program, self.reader.name) if d.read == mine}
        there = {d.source: d.relation for d in _flow_to(self.program, self.link.source) if d.read == other}
        return seen.keys() == there.keys() and all(self._is_equal(seen[name], there[name]) for name in seen)

    def _is_equal(self, mine: isl.Map, other: isl.Map) -> bool:
        domain = self.reader.domain
        through = self.link.relation.intersect_domain(domain).apply_range(other)
        return through.is_equal(mine.intersect_domain(domain))


def _flow_to(program: Program, statement: str) -> Iterator[Dependence]:
    return (d for d in flow(program) if d.sink == statement)
