"""Where the results of a reduction kernel go, and what is computed from one element on the way into and out of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import islpy as isl

from compiler.analysis.dependences import Dependence
from compiler.bind.systolic.errors import KernelError
from compiler.ir.expr import (
    Cast,
    Expr,
    Iterator,
    Lookup,
    Read,
    children,
    converted,
    mentions,
    postorder,
    renumbered,
    with_children,
)
from compiler.ir.program import Access, Array, Program, Statement
from compiler.ir.types import Float, Int
from compiler.sched.space_time import MODULAR, Reduction, accumulated, composed

__all__ = [
    "Destination",
    "find_destination",
    "first_reads",
    "function_of",
    "merged_reads",
    "number_type",
    "refuse_names",
]


@dataclass(frozen=True)
class Destination:
    """`array` gets the update's results at `target`; `last`: name of the statement that stores them there. `type`: of
    accumulators. `finish`: what is stored, over the accumulator as read 0 (None: itself) and `extras`, elements of
    inputs, as reads 1, 2 and so on. `added`: an element that the program combines with the result, so that accumulators
    may as well start from `start`, over it as read 0 (None: itself)."""

    array: Array
    target: isl.Map
    last: str
    type: Int | Float
    finish: Expr | None = None
    added: Access | None = None
    start: Expr | None = None
    extras: tuple[Access, ...] = ()


def find_destination(program: Program, update: Statement, flows: list[Dependence], reduction: Reduction | None, *,
                     adding: bool = True) -> Destination:
    """Raises `KernelError` if results are used in other ways than by one statement that stores, for each of them, a
    function of it and of elements of inputs. Without `adding` nothing is `added`."""
    array = program.array(update.write.array)
    sinks = sorted({d.sink for d in flows if d.source == update.name})
    if not sinks and array.role == "output":
        return Destination(array, update.write.map, update.name, number_type(array))
    if len(sinks) != 1:
        raise KernelError(f"results of {update} go to {len(sinks)} places; a reduction kernel stores each of them "
                          "once: legal is to copy them to the others outside the program")
    copy = merged_reads(program.statement(sinks[0]))
    own = [k for k, access in enumerate(copy.reads) if access.array == array.name]
    out = program.array(copy.write.array)
    if out.role != "output" or len(own) != 1:
        raise KernelError(f"{copy} reads results of {update}; a reduction kernel only stores functions of single ones")
    seen = copy.reads[own[0]].map.reverse()
    target = composed(update.write.map, seen, copy.write.map, domain=update.domain)
    if not target.is_single_valued() or not update.domain.is_subset(target.domain()):
        raise KernelError(f"{copy} does not copy every result of {update} to one place of an output")
    if array.name == out.name and not target.intersect_domain(update.domain).is_equal(
            update.write.map.intersect_domain(update.domain)):
        raise KernelError(f"{copy} stores results of {update} in a second place of '{out.name}'; a reduction kernel "
                          "stores each of them once: legal is to copy them there outside the program")
    origins = isl.Set.empty(copy.domain.get_space())
    for dependence in flows:
        if (dependence.source, dependence.sink) == (update.name, copy.name):
            origins = origins.union(dependence.relation.domain())
    if not copy.domain.is_subset(origins):
        raise KernelError(f"{copy} stores other values than results of {update}, too; a reduction kernel stores its "
                          "results in a statement of their own")
    found = _stored(program, copy, own[0], number_type(array), reduction if adding else None)

    def of_update(access: Access) -> Access:
        return replace(access, map=composed(update.write.map, seen, access.map, domain=update.domain))

    return replace(found, target=target, added=found.added and of_update(found.added),
                   extras=tuple(map(of_update, found.extras)))


def _stored(program: Program, copy: Statement, own: int, held: Int | Float, reduction: Reduction | None) -> Destination:
    """How `copy` stores results of type `held`, its read `own`; all accesses are still over its iterations."""
    out = program.array(copy.write.array)
    kind = number_type(out)
    value, added, start = _without_addition(converted(copy.value, kind), own, held, reduction)
    others = sorted(_indices(value) - {own})
    for other in (copy.reads[k] for k in others):
        if program.array(other.array).role != "input":
            raise KernelError(f"{copy.label(other)} combines results with '{other.array}', which the program computes; "
                              "a reduction kernel stores functions of single results and of elements of inputs")
    accumulators = kind if _only_low_bits(value, kind, held, reduction) else held
    plain = accumulators != held or _same_value(value, held)
    finish = None if plain else function_of(copy, value, held, kind, [own, *others])
    access = None if added is None else copy.reads[added]
    begin = None
    if access is not None and start is not None:
        begin = function_of(copy, converted(start, accumulators), number_type(program.array(access.array)),
                            accumulators)
    return Destination(out, copy.write.map, copy.name, accumulators, finish, access, begin,
                       tuple(copy.reads[k] for k in others))


def _only_low_bits(value: Expr, kind: Int | Float, held: Int | Float, reduction: Reduction | None) -> bool:
    """Whether accumulators of the output's type would do: nothing but conversions between types that keep its bits."""
    if isinstance(held, Float) or isinstance(kind, Float):
        return isinstance(value, Read) and held == kind
    widths = [held.width]
    while isinstance(value, Cast) and isinstance(value.type, Int):
        widths.append(value.type.width)
        value = value.arg
    modular = reduction is None or reduction.op in MODULAR
    return isinstance(value, Read) and modular and min(widths) >= kind.width


def _same_value(value: Expr, held: Int | Float) -> bool:
    """Whether nothing but conversions to types that have all numbers of type `held` happens to a result."""
    if isinstance(held, Int):
        while isinstance(value, Cast) and isinstance(value.type, Int) and all(
                map(value.type.contains, (held.minimum, held.maximum))):
            value = value.arg
    return isinstance(value, Read)


def _without_addition(value: Expr, own: int, held: Int | Float, reduction: Reduction | None
                      ) -> tuple[Expr, int | None, Expr | None]:
    """`value` over a result to which something was added already, wherever it is used: with the number of the read that
    this depends on, and the addition. None of them if there is no such addition, the same for all uses."""
    if reduction is None or reduction.op not in MODULAR or isinstance(held, Float):
        return value, None, None
    added: list[Expr] = []

    def absorb(node: Expr) -> Expr:
        uses = mentions(node, own)
        term = None
        if uses == 1 and len(_indices(node)) == 2 and isinstance(node.type, Int) and node.type.width <= held.width:
            term = accumulated(node, own, reduction.op, node.type)
        if term is not None:
            added.append(term)
            return converted(Read(own, held), node.type)
        return with_children(node, [absorb(child) for child in children(node)]) if uses else node

    found = absorb(value)
    if not added or len(added) != mentions(value, own) or any(term != added[0] for term in added):
        return value, None, None
    return found, min(_indices(added[0])), added[0]


def _indices(value: Expr) -> set[int]:
    return {node.index for node in postorder(value) if isinstance(node, Read)}


def merged_reads(statement: Statement) -> Statement:
    """`statement` with one read for each element, however often its expression names it."""
    firsts = first_reads(statement)
    kept = sorted(set(firsts))
    return replace(statement, reads=tuple(statement.reads[k] for k in kept),
                   value=renumbered(statement.value, lambda number: kept.index(firsts[number])))


def first_reads(statement: Statement) -> list[int]:
    """Of every read the number of the first one that names the same element in all iterations."""
    found: list[int] = []
    alike: dict[tuple[str, str], list[tuple[int, isl.Map]]] = {}
    corner = statement.domain.lexmin()
    for number, access in enumerate(statement.reads):
        own = access.map.intersect_domain(statement.domain)
        others = alike.setdefault((access.array, str(corner.apply(own))), [])
        same = next((k for k, other in others if other.is_equal(own)), number)
        if same == number:
            others.append((number, own))
        found.append(same)
    return found


def function_of(statement: Statement, value: Expr, own: Int | Float, kind: Int | Float, order: Sequence[int] = ()
                ) -> Expr | None:
    """`value` of `statement` with its reads numbered by their places in `order` (its only read as read 0); None if it
    is read 0, unchanged. `own`: the type of read 0, `kind`: what the value becomes."""
    refuse_names(statement, value, "before and after its sums a reduction kernel computes from elements and constants")
    node = value
    while isinstance(node, Cast) and isinstance(node.type, Int) and node.type.width >= own.width:
        node = node.arg
    if isinstance(node, Read) and own == kind:
        return None
    return renumbered(converted(value, kind), lambda number: order.index(number) if order else 0)


def refuse_names(statement: Statement, value: Expr, legal: str) -> None:
    """Raise `KernelError` if `value` has a loop counter or a table, saying what is `legal`."""
    for node in postorder(value):
        if isinstance(node, Iterator | Lookup):
            what = f"loop counter '{node.name}'" if isinstance(node, Iterator) else f"table '{node.table}'"
            raise KernelError(f"{statement} uses the value of {what}; {legal}")


def number_type(array: Array) -> Int | Float:
    """The type of the elements of `array`. Raises `KernelError` if nothing computes with them."""
    if isinstance(array.type, Int) or (isinstance(array.type, Float) and array.type.computable):
        return array.type
    raise KernelError(f"array '{array.name}' has elements of type {array.type}; this target computes with integers and "
                      "floating-point numbers")
