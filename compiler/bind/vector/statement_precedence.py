"""Which statements have to run before which, and in what order groups of those that need each other can."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

import islpy as isl
import networkx as nx

from compiler.bind.vector.accumulations import accumulation_of
from compiler.ir.program import Access, Program, Statement

__all__ = ["before", "carries", "groups_of", "orderings", "precedes", "touching"]


def touching(a: Statement, x: Access, b: Statement, y: Access) -> isl.Map:
    """Iterations of `a` and `b` in which the accesses `x` and `y` are to the same element."""
    first, second = x.map.intersect_domain(a.domain), y.map.intersect_domain(b.domain)
    return first.apply_range(second.reverse())


def before(program: Program, a: Statement, b: Statement, agree: isl.Map | None = None) -> isl.Map:
    """Iterations of `a` and later ones of `b`, at times that `agree`."""
    first, second = program.order_of(a.name), program.order_of(b.name)
    earlier = first.lex_lt_map(second)
    return earlier if agree is None else earlier.intersect(first.apply_range(agree).apply_range(second.reverse()))


def orderings(program: Program, a: Statement, b: Statement, agree: isl.Map | None = None) -> Iterator[isl.Map]:
    """Iterations of `a` and of `b` that come later, agree, and touch the same element, which one of both writes."""
    pairs = [(a.write, b.write), *((a.write, r) for r in b.reads), *((r, b.write) for r in a.reads)]
    pairs = [(x, y) for x, y in pairs if x.array == y.array]
    if pairs:
        earlier = before(program, a, b, agree)
        yield from (touching(a, x, b, y).intersect(earlier) for x, y in pairs)


def precedes(program: Program, a: Statement, b: Statement, agree: isl.Map | None = None) -> bool:
    """Whether some iteration of `a` has to come before one of `b` that agrees with it."""
    return any(not needed.is_empty() for needed in orderings(program, a, b, agree))


def carries(program: Program, statement: Statement, agree: isl.Map | None = None) -> bool:
    """Whether some iteration needs the result of another that agrees with it, or replaces what it needs; but for
    accumulating."""
    found, earlier = accumulation_of(program, statement), before(program, statement, statement, agree)
    pairs = [(a, b) for read in statement.reads for a, b in ((statement.write, read), (read, statement.write))]
    if found is None:
        pairs.append((statement.write, statement.write))
    else:
        own = statement.reads[found.read]
        pairs = [(a, b) for a, b in pairs if a is not own and b is not own]
    return any(not touching(statement, a, statement, b).intersect(earlier).is_empty()
               for a, b in pairs if a.array == b.array)


def groups_of(program: Program, statements: Sequence[Statement],
              agree: isl.Map | None = None) -> Iterator[list[Statement]]:
    """Statements in an order in which each group can run before the next one."""
    order = nx.DiGraph()
    order.add_nodes_from(range(len(statements)))
    order.add_edges_from((i, j) for i, j in permutations(range(len(statements)), 2)
                         if precedes(program, statements[i], statements[j], agree))
    groups = nx.condensation(order)
    for group in nx.lexicographical_topological_sort(groups, key=lambda g: min(groups.nodes[g]["members"])):
        yield [statements[i] for i in sorted(groups.nodes[group]["members"])]
