"""Whether a program on whole boxes computes all that was asked for."""

from __future__ import annotations

import islpy as isl

from compiler.ir.program import Access, Program, Statement
from compiler.sched.verify.errors import ValidationError
from compiler.sched.whole_boxes import Growth

__all__ = ["check_growth"]


def check_growth(growth: Growth) -> None:
    """Raise `ValidationError` unless every instance that was asked for is there with its accesses, in its place, and no
    other one writes an element that these touch, or one of an output."""
    before, after = growth.before, growth.after
    same = [s.name for s in before.statements] == [s.name for s in after.statements]
    if not same or not before.order.is_equal(after.order) or before.tables != after.tables:
        raise ValidationError(f"the boxes of program '{before.name}' have other statements or another order")
    for old, new in zip(before.statements, after.statements, strict=True):
        if old.value != new.value or not old.domain.is_subset(new.domain):
            raise ValidationError(f"{new} computes something else on its whole box")
        for was, now in zip((*old.reads, old.write), (*new.reads, new.write), strict=True):
            if was.array != now.array or not _on(was, old).is_equal(_on(now, old)):
                raise ValidationError(f"{old.label(was)}: its access to '{was.array}' is another one on the whole box")
        extra = new.write.map.intersect_domain(new.domain.subtract(old.domain)).range()
        if not extra.is_disjoint(_kept(before, new.write.array)):
            raise ValidationError(f"{new} writes elements of '{new.write.array}' on its whole box that the program "
                                  "uses")
    for old_array, new_array in zip(before.arrays, after.arrays, strict=True):
        smaller = any(n < o for o, n in zip(old_array.shape, new_array.shape, strict=True))
        if smaller or (old_array.name, old_array.type) != (new_array.name, new_array.type):
            raise ValidationError(f"array '{new_array.name}' of the whole boxes is not '{old_array.name}'")


def _on(access: Access, statement: Statement) -> isl.Map:
    return access.map.intersect_domain(statement.domain)


def _kept(program: Program, array: str) -> isl.Set:
    """The elements that the program's instances touch, and all of an output."""
    shape = program.array(array).shape
    names = [f"e{k}" for k in range(len(shape))]
    total = isl.Set(f"{{ {array}[{', '.join(names)}] : 1 = 0 }}")
    if program.array(array).role == "output":
        bounds = " and ".join(f"0 <= {name} < {size}" for name, size in zip(names, shape, strict=True))
        total = isl.Set(f"{{ {array}[{', '.join(names)}] : {bounds or 'true'} }}")
    for statement in program.statements:
        for access in (*statement.reads, statement.write):
            if access.array == array:
                total = total.union(_on(access, statement).range())
    return total
