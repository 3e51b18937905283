"""Elements of outputs that a program leaves as they were: the host keeps them, no hardware moves them.

A C function that writes the inside of an image leaves its border alone. Its `Program` says so by a statement that
copies the border from an input of the same shape; on hardware that streams whole boxes such a statement would only
cost streams.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import islpy as isl

from compiler.ir.expr import Cast, Expr, Read
from compiler.ir.program import Program, Statement
from compiler.ir.relations import united
from compiler.ir.types import Int, Type

__all__ = ["Untouched", "remove_identity_copies"]


@dataclass(frozen=True)
class Untouched:
    """`elements` of `output` are those of `input`; `statement` said so."""

    output: str
    input: str
    statement: str
    elements: isl.Set


def remove_identity_copies(program: Program) -> tuple[Program, tuple[Untouched, ...]]:
    """`program` without the statements that only keep elements of an output, and what they kept.

    Inputs that nothing else reads go too. Statements stay whose copies other statements read or write again, and those
    that are an output's only writer.
    """
    found = _removable(program, [k for k in (_untouched(program, s) for s in program.statements) if k is not None])
    if not found:
        return program, ()
    names = {kept.statement for kept in found}
    statements = tuple(s for s in program.statements if s.name not in names)
    touched = {access.array for s in statements for access in (*s.reads, s.write)}
    arrays = tuple(array for array in program.arrays if array.name in touched)
    order = program.order.intersect_domain(united(s.domain for s in statements))
    return replace(program, arrays=arrays, statements=statements, order=order), found


def _removable(program: Program, found: list[Untouched]) -> tuple[Untouched, ...]:
    """All of `found`, but of an output that has no other writers the one with the most elements."""
    names = {kept.statement for kept in found}
    written = {s.write.array for s in program.statements if s.name not in names}
    for output in {kept.output for kept in found} - written:
        mine = [kept for kept in found if kept.output == output]
        found.remove(max(mine, key=lambda kept: kept.elements.count_val().to_python()))
    return tuple(found)


def _untouched(program: Program, statement: Statement) -> Untouched | None:
    if len(statement.reads) != 1 or not _is_the_read(statement.value):
        return None
    source, target = program.array(statement.reads[0].array), program.array(statement.write.array)
    same = source.role == "input" and target.role == "output" and source.type == target.type == statement.value.type
    if not same or source.shape != target.shape:
        return None
    renamed = statement.reads[0].map.set_tuple_name(isl.dim_type.out, target.name)
    relation = statement.write.map.intersect_domain(statement.domain)
    if not renamed.intersect_domain(statement.domain).is_equal(relation):
        return None
    elements = relation.range()
    others = [s for s in program.statements if s is not statement]
    used = [a.map.intersect_domain(s.domain).range() for s in others for a in (*s.reads, s.write)
            if a.array == target.name]
    alone = all(s.write.array != target.name for s in others)
    if alone or any(not elements.is_disjoint(other) for other in used):
        return None
    return Untouched(target.name, source.name, statement.name, elements)


def _is_the_read(value: Expr) -> bool:
    """Whether `value` is a read, perhaps through types that hold all its values."""
    types: list[Type] = []
    while isinstance(value, Cast):
        types.append(value.type)
        value = value.arg
    if not isinstance(value, Read) or not isinstance(value.type, Int):
        return False
    low, high = value.type.minimum, value.type.maximum
    return all(isinstance(t, Int) and t.minimum <= low and high <= t.maximum for t in types)
