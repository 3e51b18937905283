"""Reductions, recognised: statements ``x = x op e`` whose order does not matter.

Wang 2021 needs annotations for these (its footnote 4). Here the form is found through conversions, operands on either
side, and subtraction, which adds the negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from compiler.analysis.accesses import same_elements
from compiler.ir.expr import Apply, Cast, Const, Expr, Read, apply, converted, fold, mentions, renumbered
from compiler.ir.narrow import table_ranges
from compiler.ir.program import Program, Statement
from compiler.ir.ranges import Range, type_range, value_range
from compiler.ir.types import Float, Int

__all__ = ["MODULAR", "REASSOCIATED", "Reduction", "accumulated", "accumulating", "hull", "neutral", "range_within",
           "reduction", "shorten_recurrences"]

MODULAR = ("add", "mul", "and", "or", "xor")
"""Operations whose low bits depend only on the operands' low bits, so accumulators may be as narrow as the array."""

_EXACT = ("min", "max")

REASSOCIATED = ("add", "min", "max")
"""Operations on floating-point numbers that accumulate, if their order may change."""


@dataclass(frozen=True)
class Reduction:
    """`op` accumulates `body` (of the array's type) into the element that the statement writes; `read`: number of the
    statement's access that reads it."""

    op: str
    read: int
    body: Expr


def neutral(op: str, type: Int | Float) -> int:
    """What `op` accumulates without effect on a value of `type`; of floating-point numbers the bit pattern: negative
    zero for sums, what is no number for extremes."""
    if isinstance(type, Float):
        return 1 << type.width - 1 if op == "add" else type.infinity | 1 << type.mantissa - 1
    table = {"add": 0, "or": 0, "xor": 0, "mul": 1, "and": type.wrap(-1), "min": type.maximum, "max": type.minimum}
    return table[op]


def reduction(program: Program, statement: Statement, floats: bool = False) -> Reduction | None:
    """How `statement` accumulates, or None if it does not: it must read the element it writes, once on every way to
    the result, as an operand of an operation that is associative and commutative at the width of the array. With
    `floats` also sums and extremes of floating-point numbers, as if they were."""
    type_ = program.array(statement.write.array).type
    own = [k for k, access in enumerate(statement.reads)
           if same_elements(access, statement.write, statement.domain)]
    others = [k for k, access in enumerate(statement.reads) if access.array == statement.write.array and k not in own]
    if not own or others or not isinstance(type_, (Int, Float) if floats else Int):
        return None
    value = renumbered(statement.value, lambda index: own[0] if index in own else index)
    if isinstance(type_, Float):
        found = ((op, accumulated(value, own[0], op, type_)) for op in REASSOCIATED)
        return next((Reduction(op, own[0], converted(body, type_)) for op, body in found if body is not None), None)
    for op in (*MODULAR, *_EXACT):
        body = accumulated(value, own[0], op, type_)
        if body is not None and (op in MODULAR or _fits(program, statement, body, type_)):
            return Reduction(op, own[0], converted(body, type_))
    return None


def accumulating(program: Program, statement: Statement, floats: bool = False) -> Statement | None:
    """`statement` with the value ``x op body``, or None if it does not accumulate, as `reduction` says."""
    one = reduction(program, statement, floats)
    return None if one is None else _accumulating(program, statement, one)


def _accumulating(program: Program, statement: Statement, one: Reduction) -> Statement:
    own = Read(one.read, program.array(statement.write.array).type)
    return replace(statement, value=apply(one.op, own, one.body))


def shorten_recurrences(program: Program) -> Program:
    """`program` in which nothing but one operation stands between an accumulator and its next value: conditions decide
    on what is accumulated instead of on its result (``if (c) x += e``), and nothing is converted on the way.

    Statements that share units stay as they are, alike.
    """
    shared = {name for group in program.shared for name in group}
    return replace(program, statements=tuple(s if s.name in shared else _short(program, s)
                                             for s in program.statements))


def _short(program: Program, statement: Statement) -> Statement:
    one = reduction(program, statement)
    if one is None or _is_chain(statement.value, one):
        return statement
    return _accumulating(program, statement, one)


def _is_chain(value: Expr, one: Reduction) -> bool:
    """Whether the accumulator goes through operations of one kind only."""
    operations = (one.op, "sub") if one.op == "add" else (one.op,)
    node = value
    while isinstance(node, Apply) and node.op in operations:
        node = next((arg for arg in node.args if mentions(arg, one.read)), None)
    return isinstance(node, Read)


def accumulated(value: Expr, number: int, op: str, type_: Int | Float) -> Expr | None:
    """What `op` combines with read `number` on the way from the accumulator to the root, all of it; None if anything
    else happens there. Where a condition on other values leaves the accumulator alone, that is what changes nothing."""
    terms = _terms(value, number, op, type_)
    return _combined(terms, op, type_) if terms else None


def _terms(value: Expr, number: int, op: str, type_: Int | Float) -> list[Expr] | None:
    """What is combined one after the other, from the root on; none at the accumulator itself."""
    terms: list[Expr] = []
    node = value
    while not (isinstance(node, Read) and node.index == number):
        match node:
            case Cast(inner, to) if _transparent(inner, to, op, type_):
                node = inner
            case Apply("select", (condition, *branches)) if not mentions(condition, number):
                chosen = _chosen(condition, branches, number, op, type_)
                return None if chosen is None else [*terms, chosen]
            case Apply(operation, (left, right)) if operation == op or (operation == "sub" and op == "add"):
                if mentions(left, number):
                    node, other = left, right
                elif operation == op:
                    node, other = right, left
                else:
                    return None  # e - x: the sign of the accumulator would alternate
                if mentions(other, number):
                    return None
                terms.append(_negated(other) if operation == "sub" else other)
            case _:
                return None
    return terms


def _chosen(condition: Expr, branches: Sequence[Expr], number: int, op: str, type_: Int | Float) -> Expr | None:
    """What is combined where a condition decides on what is."""
    found = [_terms(branch, number, op, type_) for branch in branches]
    if not any(found):
        return None
    bodies = [converted(_combined(terms, op, type_), type_) if terms else Const(neutral(op, type_), type_)
              for terms in found if terms is not None]
    return apply("select", condition, *bodies) if len(bodies) == len(found) else None


def _combined(terms: Sequence[Expr], op: str, type_: Int | Float) -> Expr:
    body = converted(terms[0], type_) if len(terms) > 1 else terms[0]
    for term in terms[1:]:
        body = apply(op, body, converted(term, type_))
    return body


def _transparent(inner: Expr, to: object, op: str, type_: Int | Float) -> bool:
    """Whether a conversion on the accumulator's way changes nothing that the array keeps."""
    if not isinstance(to, Int) or not isinstance(inner.type, Int) or isinstance(type_, Float):
        return False
    if op in MODULAR:
        return to.width >= type_.width
    return (to.contains(type_.minimum) and to.contains(type_.maximum)) or to == type_


def _negated(value: Expr) -> Expr:
    if isinstance(value.type, Float):
        return apply("neg", value)
    return apply("sub", Const(0, value.type), value)


def _fits(program: Program, statement: Statement, body: Expr, type_: Int) -> bool:
    """Whether every value of `body` is one of `type_`: then comparing before or after the conversion is the same."""
    return all(map(type_.contains, range_within(program, statement, body)))


def range_within(program: Program, statement: Statement, value: Expr) -> Range:
    """The range of what is computed of the reads of a statement, whatever these are."""
    reads = [type_range(program.array(access.array).type) for access in statement.reads]
    box, tables = hull(statement), table_ranges(program)
    return fold(value, lambda node, parts: value_range(node, parts, reads, box, tables))


def hull(statement: Statement) -> dict[str, tuple[int, int]]:
    """First and last value of every iterator: the box around the iterations, of which there must be some."""
    domain = statement.domain
    return {name: (domain.dim_min_val(k).to_python(), domain.dim_max_val(k).to_python())
            for k, name in enumerate(statement.iterators)}
