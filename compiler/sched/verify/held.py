"""Whether reads of values instead of elements see what they saw (`compiler.passes.recurrence.array_expansion`)."""

from __future__ import annotations

from dataclasses import replace

from compiler.analysis.preserved_values import computing
from compiler.ir.program import Program, Statement
from compiler.sched.verify.errors import ValidationError
from compiler.sched.verify.values import read_origins

__all__ = ["check_held_values"]


def check_held_values(before: Program, after: Program) -> None:
    """Raise `ValidationError` unless every read of `after` sees the value that it does in `before`, maybe of an earlier
    instance after which others have only kept it."""
    same = [s.name for s in before.statements] == [s.name for s in after.statements]
    if not same or not before.order.is_equal(after.order) or before.tables != after.tables:
        raise ValidationError(f"the values of program '{before.name}' have other statements or another order")
    roles = [{(a.name, a.shape, a.type, a.role) for a in (*p.inputs, *p.outputs)} for p in (before, after)]
    if roles[0] != roles[1]:
        raise ValidationError(f"the values of program '{before.name}' have other inputs or outputs")
    fresh = replace(before, statements=tuple(replace(s, domain=computing(before, s)) for s in before.statements))
    for old, new in zip(before.statements, after.statements, strict=True):
        _check_statement(before, after, old, new)
        for k in range(len(old.reads)):
            if old.reads[k] != new.reads[k]:
                _check_read(before, after, fresh, k, old, new)


def _check_statement(before: Program, after: Program, old: Statement, new: Statement) -> None:
    kinds = [before.array(old.write.array), after.array(new.write.array)]
    stored = old.write.array == new.write.array or all(array.role == "intermediate" for array in kinds)
    if kinds[0].type != kinds[1].type or old.value != new.value or not old.domain.is_equal(new.domain) or not stored:
        raise ValidationError(f"{new} computes something else on an array of values")
    if old.write.array == new.write.array and not old.write.map.intersect_domain(old.domain).is_equal(
            new.write.map.intersect_domain(new.domain)):
        raise ValidationError(f"{new} writes another element of '{new.write.array}'")


def _check_read(before: Program, after: Program, fresh: Program, k: int, old: Statement, new: Statement) -> None:
    """What is seen is the last value, or the earlier one that it is a copy of."""
    right = [read_origins(program, old, k) for program in (before, fresh)]
    left = old.domain.intersect(old.reads[k].map.domain())
    for source, relation in read_origins(after, new, k).items():
        for expected in right:
            if source in expected:
                left = left.subtract(relation.intersect(expected[source]).domain())
    if not left.is_empty():
        raise ValidationError(f"{old.label(old.reads[k])}: read {k} sees another value of '{old.reads[k].array}', "
                              f"first at {left.lexmin().sample_point()}")
