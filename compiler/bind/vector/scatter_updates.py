"""What a store at a place that depends on data makes of the word that was there: ``m[x] = m[x] op t``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import islpy as isl

from compiler.ir.expr import Apply, Cast, Const, Expr, Load, Read, Store, fold, postorder
from compiler.ir.program import Access, Memory, Program, Statement
from compiler.ir.types import Int, Type

__all__ = ["Update", "fetching_statements", "keeps_bits", "update_of"]

_ORDERS = ("lt", "le", "gt", "ge")


@dataclass(frozen=True)
class Update:
    """``element op term``, in any order of the terms; `neutral` changes nothing. `value` gives the whole expression
    with another term."""

    op: str
    term: Expr
    neutral: int
    value: Callable[[Expr], Expr]


def update_of(value: Expr, element: Expr) -> Update | None:
    """The sum, minimum or maximum that `value` is of `element` and a term without it; None if it is none."""
    if isinstance(value, Cast):
        if not keeps_bits(value.type, element.type):
            return None
        inner = update_of(value.arg, element)
        if inner is None or inner.neutral:
            return None
        return Update(inner.op, inner.term, 0, lambda term: Cast(inner.value(term), value.type))
    if not isinstance(value, Apply) or not isinstance(value.type, Int):
        return None
    if value.op == "select":
        value = _extremum(value, element)
    if len(value.args) != 2:
        return None
    op, (first, second), kind = value.op, value.args, value.type
    if op == "sub" and _is_element(first, element, True):
        op, second = "add", Apply("sub", (Const(0, kind), second), kind)
    if op not in ("add", "min", "max") or not keeps_bits(kind, element.type):
        return None
    if not _is_element(first, element, op == "add"):
        first, second = second, first
    if not _is_element(first, element, op == "add") or element in set(postorder(second)):
        return None
    neutral = {"add": 0, "min": kind.maximum, "max": kind.minimum}[op]
    return Update(op, second, neutral, lambda term: Apply(op, (first, term), kind))


def _extremum(value: Apply, element: Expr) -> Apply:
    """``term < element ? term : element`` as a minimum, and the like; other selections as they are."""
    condition, *ends = value.args
    if not isinstance(condition, Apply) or condition.op not in _ORDERS or element not in ends:
        return value
    term = ends[ends[0] == element]
    if set(condition.args) != {term, element} or term == element:
        return value
    lower = (condition.op in ("lt", "le")) == (condition.args[0] == term)
    taken = lower == (ends[0] == term)
    return Apply("min" if taken else "max", (element, term), value.type)


def _is_element(value: Expr, element: Expr, converted: bool) -> bool:
    """Whether `value` is the element; converted to another type only where sums wrap anyway."""
    while converted and isinstance(value, Cast) and keeps_bits(value.type, element.type):
        value = value.arg
    return value == element


def keeps_bits(type: Type, word: Type) -> bool:
    """Whether all bits of a sum of `word` are there after it was converted to `type`."""
    return isinstance(type, Int) and isinstance(word, Int) and type.width >= word.width


def fetching_statements(program: Program, memory: Memory, store: Statement) -> dict[int, str]:
    """The reads of `store`, by number, that see what a statement has loaded in the same iteration, for it alone, from
    the place that it stores to."""
    found = {}
    for number, access in enumerate(store.reads):
        writers = [s for s in program.statements if s.write.array == access.array]
        if len(writers) == 1 and _fetches(program, memory, writers[0], store, access):
            found[number] = writers[0].name
    return found


def _fetches(program: Program, memory: Memory, load: Statement, store: Statement, access: Access) -> bool:
    value, stored = load.value, store.value
    assert isinstance(stored, Store)
    if not isinstance(value, Load) or value.memory != memory.name or load.iterators != store.iterators:
        return False
    if any(read.array == access.array for s in program.statements if s.name != store.name for read in s.reads):
        return False
    same = _to(store, load)
    written = load.write.map.intersect_domain(load.domain).reverse()
    return (access.map.intersect_domain(store.domain).apply_range(written).is_equal(same)
            and _written_out(load, value.index, same) == _written_out(store, stored.index, _to(store, store))
            and not _is_stored_between(program, memory, load, store, same))


def _to(store: Statement, other: Statement) -> isl.Map:
    """From instances of `store` to those of `other` with the same iterators."""
    identity = isl.Map.identity(store.domain.get_space().map_from_set()).intersect_domain(store.domain)
    return identity.set_tuple_name(isl.dim_type.out, other.name)


def _written_out(statement: Statement, index: Expr, same: isl.Map) -> tuple[str, ...]:
    """An index and the elements that its reads see, for instances of the store, in a form that can be compared."""
    reads = {node.index for node in postorder(index) if isinstance(node, Read)}
    order = {number: place for place, number in enumerate(sorted(reads, key=lambda k: _seen(statement, k, same)))}
    renamed = fold(index, lambda node, parts: f"#{order[node.index]}" if isinstance(node, Read) else (
        f"{type(node).__name__} {getattr(node, 'op', '')} {getattr(node, 'name', '')} {getattr(node, 'value', '')} "
        f"{getattr(node, 'table', '')} {getattr(node, 'memory', '')} {node.type} ({', '.join(parts)})"))
    return renamed, *sorted(_seen(statement, k, same) for k in reads)


def _seen(statement: Statement, number: int, same: isl.Map) -> str:
    access = statement.reads[number]
    return f"{access.array} {same.apply_range(access.map).coalesce()}"


def _is_stored_between(program: Program, memory: Memory, load: Statement, store: Statement, same: isl.Map) -> bool:
    """Whether something is stored between the two of an iteration."""
    begin, end = same.apply_range(program.order_of(load.name)), program.order_of(store.name)
    for other in program.statements:
        if isinstance(other.value, Store) and other.value.memory == memory.name:
            times = program.order_of(other.name).intersect_domain(other.domain)
            if not begin.lex_lt_map(times).intersect(end.intersect_domain(store.domain).lex_gt_map(times)).is_empty():
                return True
    return False
