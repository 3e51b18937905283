"""Statements that accumulate: an element is what it was, combined with a term."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from compiler.bind.vector.float_sums import FloatAccumulation, float_accumulation, in_order, own_reads
from compiler.bind.vector.iteration_spaces import Space
from compiler.bind.vector.scatter_updates import keeps_bits
from compiler.ir.expr import Apply, Cast, Expr, Read, mentions
from compiler.ir.program import Program, Statement
from compiler.ir.types import Float, Type

__all__ = ["Accumulation", "accumulation_of", "in_statement_order"]


@dataclass(frozen=True)
class Accumulation:
    """``element = element op term``; `read` is the number of the read that fetches the element."""

    op: str
    read: int
    term: Expr


def in_statement_order(program: Program, statement: Statement, space: Space) -> Iterator[Statement]:
    """A statement that adds up floating-point numbers, term by term; any other one as it is. Raises
    `VectorTargetError`."""
    if float_accumulation(program, statement) is None:
        yield statement
        return
    yield from in_order(program, statement, space.reduced())


def accumulation_of(program: Program, statement: Statement) -> Accumulation | FloatAccumulation | None:
    """What a statement accumulates: the element that it writes is read once, as an operand of the last operation."""
    if isinstance(program.array(statement.write.array).type, Float):
        return float_accumulation(program, statement)
    own = own_reads(statement)
    value, kinds = statement.value, [statement.value.type]
    while isinstance(value, Cast):
        value = value.arg
        kinds.append(value.type)
    if len(own) != 1 or not isinstance(value, Apply) or mentions(value, own[0]) != 1:
        return None
    parts = _parts(value)
    if parts is None or (len(kinds) > 1 and parts[0] not in ("add", "sub")):
        return None
    op, operands = parts
    places = operands[:1] if op == "sub" else operands
    element = [i for i, o in enumerate(places) if _is_read(o, own[0], op)]
    if len(element) != 1 or not all(keeps_bits(kind, _word(operands[element[0]])) for kind in kinds):
        return None
    return Accumulation(op, own[0], operands[1 - element[0]])


def _parts(value: Apply) -> tuple[str, tuple[Expr, Expr]] | None:
    if value.op == "mad":
        a, b, c = value.args
        return "add", (c, Apply("mul", (a, b), value.type))
    if value.op in ("add", "sub", "min", "max"):
        return value.op, (value.args[0], value.args[1])
    return None


def _is_read(value: Expr, number: int, op: str) -> bool:
    """Whether an operand is the element, at its own type; converted to another only where sums wrap anyway."""
    word = _word(value)
    while op in ("add", "sub") and isinstance(value, Cast) and keeps_bits(value.type, word):
        value = value.arg
    return isinstance(value, Read) and value.index == number


def _word(value: Expr) -> Type:
    """The type of what is converted to `value`."""
    while isinstance(value, Cast):
        value = value.arg
    return value.type
