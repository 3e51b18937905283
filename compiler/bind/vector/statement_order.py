"""The order in which statements can run, each as a whole; what a loop carries from turn to turn is done in turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import permutations

import islpy as isl
import networkx as nx

from compiler.bind.vector.accumulations import accumulation_of
from compiler.bind.vector.affine_pieces import divided
from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.iteration_spaces import Space
from compiler.bind.vector.quotient_splitting import by_quotient
from compiler.bind.vector.residue_splitting import by_residue
from compiler.bind.vector.scans import scan_of
from compiler.ir.expr import Store
from compiler.ir.program import Access, Program, Statement

__all__ = ["MOST_STEPS", "carries", "is_scan", "ordered", "precedes", "singles_of", "touching"]

MOST_STEPS = 128
"""Turns of a loop that are unrolled."""


def ordered(program: Program, statements: Sequence[Statement]) -> Iterator[Statement]:
    """Statements so that each can run as a whole. What a loop carries from turn to turn is done turn by turn."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(statements)))
    graph.add_edges_from((i, j) for i, j in permutations(range(len(statements)), 2)
                         if precedes(program, statements[i], statements[j]))
    groups = nx.condensation(graph)
    for group in nx.lexicographical_topological_sort(groups, key=lambda g: min(groups.nodes[g]["members"])):
        members = [statements[i] for i in sorted(groups.nodes[group]["members"])]
        (first, *others) = members
        whole = isinstance(first.value, Store) or _runs_whole(program, first) or is_scan(program, first)
        if others or not whole:
            yield from _stepped(program, members)
        else:
            yield first


def _carrying(times: Sequence[isl.Set], distances: isl.Set) -> tuple[int, int, int]:
    """The outermost dimension of time that carries some of the `distances` and turns none of them round, and its first
    and last value: loops around it that carry nothing are interchanged with it, and run inside its steps at once.
    Without distances, the outermost dimension in which iterations differ."""
    ranges = [(min(t.dim_min_val(d).to_python() for t in times), max(t.dim_max_val(d).to_python() for t in times))
              for d in range(times[0].dim(isl.dim_type.set))]
    if distances.is_empty():
        return next((d, low, high) for d, (low, high) in enumerate(ranges) if low < high)
    return next((d, low, high) for d, (low, high) in enumerate(ranges)
                if distances.dim_min_val(d).to_python() >= 0 < distances.dim_max_val(d).to_python())


def _distances(program: Program, statements: Sequence[Statement]) -> isl.Set:
    """The distances in time between iterations of `statements` of which one has to come before the other."""
    orders = [program.order_of(s.name) for s in statements]
    found = [needed.apply_domain(first).apply_range(second).deltas()
             for a, first in zip(statements, orders, strict=True) for b, second in zip(statements, orders, strict=True)
             for needed in _orderings(program, a, b)]
    return reduce(isl.Set.union, found, isl.Set.empty(orders[0].range().get_space()))


def _runs_whole(program: Program, statement: Statement) -> bool:
    """Whether no iteration needs another's result, but for accumulating it, the write moves along the array's
    dimensions one loop each, and every point of the index space writes an element of its own."""
    accumulated = accumulation_of(program, statement) is not None
    if carries(program, statement, program.order_of(statement.name).lex_lt_map(program.order_of(statement.name))):
        return False
    spaces = [Space(single) for single in singles_of(program, statement)]
    return not any(space.folds() or (not accumulated and space.repeats()) for space in spaces)


def is_scan(program: Program, statement: Statement) -> bool:
    """Whether a statement that needs its own results combines all of those before, and can be written whole."""
    singles = singles_of(program, statement)
    if len(singles) != 1 or accumulation_of(program, statement) is not None or scan_of(program, singles[0]) is None:
        return False
    return not Space(singles[0]).folds() and not Space(singles[0]).repeats()


def singles_of(program: Program, statement: Statement) -> list[Statement]:
    """The statement in parts in which every index is one function, affine or a sum divided by a number."""
    parts = divided(statement, lambda name: program.array(name).shape)
    return [single for part in parts for between in by_quotient(part) for single in by_residue(between)]


def _stepped(program: Program, statements: Sequence[Statement]) -> Iterator[Statement]:
    """The statements at the first value of the outermost loop that they run in, at the second value, and so on."""
    times = [program.order_of(s.name).intersect_domain(s.domain) for s in statements]
    dimension, low, high = _carrying([t.range() for t in times], _distances(program, statements))
    if high - low >= MOST_STEPS:
        raise VectorTargetError(f"{statements[0]}: a loop of {high - low + 1} iterations has a loop-carried "
                                "dependence; the vector target computes whole arrays, and unrolls at most "
                                f"{MOST_STEPS} iterations: call the program for {MOST_STEPS} of them at a time, or "
                                "compile it for fpga or dataflow")
    for value in range(low, high + 1):
        now = [replace(s, domain=t.fix_val(isl.dim_type.out, dimension, isl.Val(value)).domain())
               for s, t in zip(statements, times, strict=True)]
        yield from ordered(program, [s for s in now if not s.domain.is_empty()])


def carries(program: Program, statement: Statement, before: isl.Map) -> bool:
    """Whether some iteration needs another's result, or replaces what it needs, of those pairs of which one comes
    `before` the other; but for accumulating."""
    found = accumulation_of(program, statement)
    pairs = [(a, b) for read in statement.reads for a, b in ((statement.write, read), (read, statement.write))]
    if found is None:
        pairs.append((statement.write, statement.write))
    else:
        own = statement.reads[found.read]
        pairs = [(a, b) for a, b in pairs if a is not own and b is not own]
    return any(not touching(statement, a, statement, b).intersect(before).is_empty()
               for a, b in pairs if a.array == b.array)


def precedes(program: Program, a: Statement, b: Statement) -> bool:
    """Whether some iteration of `a` has to come before one of `b`."""
    return any(not needed.is_empty() for needed in _orderings(program, a, b))


def _orderings(program: Program, a: Statement, b: Statement) -> Iterator[isl.Map]:
    """Iterations of `a` and of `b` that come later and touch the same element, which one of both writes."""
    before = program.order_of(a.name).lex_lt_map(program.order_of(b.name))
    pairs = [(a.write, b.write), *((a.write, r) for r in b.reads), *((r, b.write) for r in a.reads)]
    return (touching(a, x, b, y).intersect(before) for x, y in pairs if x.array == y.array)


def touching(a: Statement, x: Access, b: Statement, y: Access) -> isl.Map:
    first, second = x.map.intersect_domain(a.domain), y.map.intersect_domain(b.domain)
    return first.apply_range(second.reverse())
