"""Which statements have to run before which, of those that agree in the loops around them: in order, in groups of
those that need each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import islpy as isl
import networkx as nx

from compiler.bind.vector.accumulations import accumulation_of
from compiler.bind.vector.statement_order import carries, is_scan, touching
from compiler.ir.expr import Store
from compiler.ir.program import Access, Array, Program, Statement

__all__ = ["Turns", "groups_of", "in_time", "needs_itself", "split_by_sources", "turns_of", "unwritten_arrays"]


@dataclass(frozen=True)
class Turns:
    """A loop that statements are carried out in: dimension of time, its first and last value."""

    dimension: int
    low: int
    high: int

    @property
    def count(self) -> int:
        """Turns."""
        return self.high - self.low + 1

    def part(self, space: isl.Space, first: int, last: int) -> isl.Set:
        """The times of the turns from `first` to `last`, counted from 0."""
        times = isl.Set.universe(space)
        times = times.lower_bound_val(isl.dim_type.set, self.dimension, isl.Val(self.low + first))
        return times.upper_bound_val(isl.dim_type.set, self.dimension, isl.Val(self.low + last))

    def same(self, space: isl.Space, block: int) -> isl.Map:
        """Pairs of times in the same block of so many turns."""
        names = [f"t{d}" for d in range(space.dim(isl.dim_type.set))]
        others = [f"u{d}" for d in range(len(names))]
        t, u = (f"floor(({name[self.dimension]} - {self.low})/{block})" for name in (names, others))
        return isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(others)}] : {t} = {u} }}")


def turns_of(program: Program, statements: Sequence[Statement]) -> Turns:
    """The outermost loop in which instances of statements differ."""
    times = [program.order_of(s.name).intersect_domain(s.domain).range() for s in statements if not s.domain.is_empty()]
    for d in range(times[0].dim(isl.dim_type.set)):
        low = min(t.dim_min_val(d).to_python() for t in times)
        high = max(t.dim_max_val(d).to_python() for t in times)
        if low < high:
            return Turns(d, low, high)
    return Turns(0, 0, 0)


def in_time(program: Program, statements: Sequence[Statement]) -> list[Statement]:
    """Statements of one instance each, in order."""
    def time(statement: Statement) -> tuple[int, ...]:
        point = program.order_of(statement.name).intersect_domain(statement.domain).range()
        return tuple(point.dim_min_val(d).to_python() for d in range(point.dim(isl.dim_type.set)))

    return sorted(statements, key=time)


def _before(program: Program, a: Statement, b: Statement, agree: isl.Map | None) -> isl.Map:
    """Pairs of instances of which the first comes before the second and both agree."""
    first, second = program.order_of(a.name), program.order_of(b.name)
    before = first.lex_lt_map(second)
    return before if agree is None else before.intersect(first.apply_range(agree).apply_range(second.reverse()))


def _precedes(program: Program, a: Statement, b: Statement, agree: isl.Map | None) -> bool:
    """Whether some instance of `a` has to come before one of `b` that agrees with it."""
    pairs = [(a.write, b.write), *((a.write, r) for r in b.reads), *((r, b.write) for r in a.reads)]
    pairs = [(x, y) for x, y in pairs if x.array == y.array]
    if not pairs:
        return False
    before = _before(program, a, b, agree)
    return any(not touching(a, x, b, y).intersect(before).is_empty() for x, y in pairs)


def needs_itself(program: Program, statement: Statement, agree: isl.Map | None) -> bool:
    """Whether some instance needs another's result, or replaces it, other than in an accumulation, a scan of all
    iterations, or stores, which are done in their order at once."""
    if isinstance(statement.value, Store) or (agree is None and is_scan(program, statement)):
        return False
    return carries(program, statement, _before(program, statement, statement, agree))


def groups_of(program: Program, statements: Sequence[Statement], agree: isl.Map | None) -> Iterator[list[Statement]]:
    """Statements in an order in which each group can run before the next one."""
    order = nx.DiGraph()
    order.add_nodes_from(range(len(statements)))
    order.add_edges_from((i, j) for i, j in permutations(range(len(statements)), 2)
                         if _precedes(program, statements[i], statements[j], agree))
    groups = nx.condensation(order)
    for group in nx.lexicographical_topological_sort(groups, key=lambda g: min(groups.nodes[g]["members"])):
        yield [statements[i] for i in sorted(groups.nodes[group]["members"])]


def split_by_sources(program: Program, statements: Sequence[Statement], agree: isl.Map) -> list[Statement]:
    """Each statement in two parts, if there are two: instances that read nothing but what instances that do not agree
    with them have written, and the others. What is accumulated does not count."""
    found: list[Statement] = []
    for statement in statements:
        own = accumulation_of(program, statement)
        reads = [read for n, read in enumerate(statement.reads) if own is None or n != own.read]
        near = isl.Set.empty(statement.domain.get_space())
        for other in statements:
            for read in reads:
                near = near.union(_fed(program, other, statement, read, agree))
        near = near.coalesce()
        far = statement.domain.subtract(near).coalesce()
        found += [replace(statement, domain=part) for part in (far, near) if not part.is_empty()]
    return found


def _fed(program: Program, source: Statement, sink: Statement, read: Access, agree: isl.Map) -> isl.Set:
    """Instances of a statement that read what agreeing instances of another write before them."""
    if source.write.array != read.array:
        return isl.Set.empty(sink.domain.get_space())
    return touching(source, source.write, sink, read).intersect(_before(program, source, sink, agree)).range()


def unwritten_arrays(program: Program) -> list[str]:
    """Arrays of which elements are read, or come out, that no statement has written: they are zeros."""
    known = {array.name for array in program.inputs}
    found = {array.name for array in program.outputs if not _covered(program, array)}
    for statement in program.statements:
        for read in statement.reads:
            if read.array not in known and not _is_fed(program, statement, read):
                found.add(read.array)
    return sorted(found)


def _covered(program: Program, array: Array) -> bool:
    """Whether every element of an array is written."""
    writes = [s.write.map.intersect_domain(s.domain).range() for s in program.statements if s.write.array == array.name]
    if not writes:
        return False
    elements = isl.Set.universe(writes[0].get_space())
    for axis, extent in enumerate(array.shape):
        elements = elements.lower_bound_val(isl.dim_type.set, axis, isl.Val(0))
        elements = elements.upper_bound_val(isl.dim_type.set, axis, isl.Val(extent - 1))
    for written in writes:
        elements = elements.subtract(written)
    return elements.is_empty()


def _is_fed(program: Program, statement: Statement, read: Access) -> bool:
    """Whether what an access reads has always been written before."""
    rest = statement.domain
    for source in program.statements:
        if source.write.array == read.array:
            pairs = touching(source, source.write, statement, read)
            rest = rest.subtract(pairs.intersect(_before(program, source, statement, None)).range())
    return rest.is_empty()
