"""Indices that wrap around a few times, such as ``(y + j) % 8`` near the end of an array: affine between two wraps."""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from compiler.bind.vector.affine_pieces import parts_of
from compiler.bind.vector.residue_splitting import divided_sum, rounded_parts
from compiler.ir.program import Access, Statement

__all__ = ["by_quotient"]

MOST_QUOTIENTS = 4
"""Values of a quotient of which each gets a part of the statement."""
MOST_PARTS = 16
"""Parts of a statement."""


def by_quotient(statement: Statement, most: int = MOST_PARTS) -> list[Statement]:
    """The statement in parts in which the quotients in its indices are numbers, where they take few values."""
    quotients = (found for access in (*statement.reads, statement.write) for found in _quotients(access, statement))
    for quotient in quotients:
        values = _values(quotient, statement.domain)
        if 1 < len(values) <= min(MOST_QUOTIENTS, most):
            parts = [replace(statement, domain=_where(quotient, value, statement.domain)) for value in values]
            inhabited = [part for part in parts if not part.domain.is_empty()]
            return [single for part in inhabited for single in by_quotient(part, most // len(inhabited))]
    return [statement]


def _quotients(access: Access, statement: Statement) -> list[isl.Aff]:
    """What the indices of an access round down and use in a sum."""
    indices = [index.get_aff(d) for _, index in parts_of(access, statement.domain)
               for d in range(index.dim(isl.dim_type.out))]
    return [part.floor() for aff in indices if divided_sum(aff) is None for part in rounded_parts(aff)]


def _values(quotient: isl.Aff, domain: isl.Set) -> range:
    return range(domain.min_val(quotient).to_python(), domain.max_val(quotient).to_python() + 1)


def _where(quotient: isl.Aff, value: int, domain: isl.Set) -> isl.Set:
    number = isl.Aff.val_on_domain(isl.LocalSpace.from_space(domain.get_space()), isl.Val(value))
    return domain.intersect(quotient.eq_set(number)).coalesce()
