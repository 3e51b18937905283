"""Whether a program on arrays in parts is the program that it was made from."""

from __future__ import annotations

from itertools import combinations

import islpy as isl

from compiler.ir.program import Access, Program, Statement
from compiler.sched.partition import Part, Partition
from compiler.sched.verify.errors import ValidationError

__all__ = ["check_parts"]


def check_parts(partition: Partition) -> None:
    """Raise `ValidationError` unless every access of the parts is the original one, element by element.

    Statements, their domains, values and order must be the same; output parts must not share elements.
    """
    before, after = partition.original, partition.program
    parents = {part.name: part for part in partition.parts}
    if [s.name for s in before.statements] != [s.name for s in after.statements] or before.order != after.order:
        raise ValidationError(f"the parts of program '{before.name}' have other statements or another order")
    for old, new in zip(before.statements, after.statements, strict=True):
        if old.value != new.value or not old.domain.is_equal(new.domain):
            raise ValidationError(f"{new} computes something else on arrays in parts")
        for was, now in zip((*old.reads, old.write), (*new.reads, new.write), strict=True):
            _check_access(old, was, now, parents)
    _check_disjoint(before, partition.parts)


def _check_access(statement: Statement, was: Access, now: Access, parents: dict[str, Part]) -> None:
    part = parents.get(now.array)
    found = now.map if part is None else now.map.apply_range(_embedding(part))
    wanted = was.map.intersect_domain(statement.domain)
    inside = part is None or now.map.intersect_domain(statement.domain).range().is_subset(_elements(part))
    if not inside or not wanted.is_equal(found.intersect_domain(statement.domain)):
        raise ValidationError(f"{statement.label(was)}: its access to '{now.array}' is not that to '{was.array}'")


def _embedding(part: Part) -> isl.Map:
    names = [f"p{k}" for k in range(len(part.low))]
    outer = ", ".join(f"{first} + {name}" for name, first in zip(names, part.low, strict=True))
    return isl.Map(f"{{ {part.name}[{', '.join(names)}] -> {part.parent}[{outer}] }}")


def _elements(part: Part) -> isl.Set:
    names = [f"p{k}" for k in range(len(part.shape))]
    bounds = " and ".join(f"0 <= {name} < {size}" for name, size in zip(names, part.shape, strict=True))
    return isl.Set(f"{{ {part.name}[{', '.join(names)}] : {bounds or 'true'} }}")


def _check_disjoint(program: Program, parts: tuple[Part, ...]) -> None:
    outputs = {array.name for array in program.outputs}
    for first, second in combinations((part for part in parts if part.parent in outputs), 2):
        shared = _elements(first).apply(_embedding(first)).intersect(_elements(second).apply(_embedding(second)))
        if first.parent == second.parent and not shared.is_empty():
            raise ValidationError(f"parts '{first.name}' and '{second.name}' of output '{first.parent}' overlap")
