"""Memory-based dependences: pairs of accesses to one element that must keep their order.

Bok 2018, equations A.15 to A.17. They say what may be reordered in memory, not where values come from: a network is
built from value-based flow (`compiler.analysis.dependences.flow`), of which memory-based flow is a superset.
"""

from __future__ import annotations

import islpy as isl

from compiler.ir.program import Program

__all__ = ["memory_dependences"]


def memory_dependences(program: Program) -> dict[str, isl.UnionMap]:
    """``RAW``, ``WAR`` and ``WAW``: {earlier instance -> later instance} of accesses to the same element."""
    reads = _accesses(program, reads=True)
    writes = _accesses(program, reads=False)
    order = program.order.intersect_domain(writes.domain().union(reads.domain()))
    before = order.lex_lt_union_map(order)
    return {
        "RAW": writes.apply_range(reads.reverse()).intersect(before).coalesce(),
        "WAR": reads.apply_range(writes.reverse()).intersect(before).coalesce(),
        "WAW": writes.apply_range(writes.reverse()).intersect(before).coalesce(),
    }


def _accesses(program: Program, reads: bool) -> isl.UnionMap:
    total = isl.UnionMap.empty(program.order.get_space())
    for statement in program.statements:
        for access in statement.reads if reads else (statement.write,):
            total = total.union(isl.UnionMap.from_map(access.map.intersect_domain(statement.domain)))
    return total
