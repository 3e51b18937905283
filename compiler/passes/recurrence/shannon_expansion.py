"""Shannon expansion of recurrences: what comes after a condition is computed for both of its values.

    same[i] = p[q[i]] == t[i];                          same[i] = p[q[i]] == t[i];
    r[i] = same[i] ? q[i] + 1 : f[q[i]];          =>    yes[i] = q[i] + 1 == 4 ? 0 : q[i] + 1;
    q[i + 1] = r[i] == 4 ? 0 : r[i];                    no[i] = f[q[i]] == 4 ? 0 : f[q[i]];
                                                        q[i + 1] = same[i] ? yes[i] : no[i];

Between a condition that is known late, as it waits for a memory, and the next iteration there were all operations that
depend on it; now these run beside the condition, which only selects (Soviani, Tardieu and Edwards 2007, who do so with
gates). Each is there three times at most: for either value, and as the selected one where anything else needs it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import islpy as isl
import networkx as nx

from compiler.analysis.dependences import Dependence, flow, recurring
from compiler.ir.constant_folding import decided
from compiler.ir.expr import (
    Apply,
    Cast,
    Const,
    Expr,
    Load,
    Lookup,
    Read,
    Store,
    apply,
    fold,
    memories_used,
    postorder,
    pruned,
    select,
    with_children,
)
from compiler.ir.narrow import table_ranges
from compiler.ir.program import Access, Array, Program, Statement
from compiler.ir.ranges import type_range, value_range
from compiler.ir.types import BIT, Int
from compiler.passes.directives.errors import TransformError
from compiler.passes.recurrence.shorten_recurrences import hull
from compiler.passes.recurrence.statement_groups import StatementGroups

__all__ = ["expand_conditions", "late_conditions"]

_SLOW = ("mul", "div", "mod", "rem")
"""Operations that make a condition late, as accesses of memories do."""


def late_conditions(program: Program) -> list[str]:
    """The conditions in recurrences that wait for a memory or a product there, but for no other such condition, and
    that other statements of the same iteration wait for, in the order of the program: the statements that compute
    them, when those that select by more than a value have another one for it (``S4_if`` for ``S4``)."""
    if not any(_is_slow(s.value) for s in program.statements):
        return []
    try:
        program = _named(program)
    except TransformError:
        return []
    found = (_Expansion(program, s.name) for s in program.statements if _is_condition(program, s))
    late = [one for one in found if one.is_late and one.after]
    behind = {statement.name for one in late for statement in one.after}
    return [one.name for one in late if one.name not in behind]


def expand_conditions(program: Program, names: Sequence[str]) -> Program:
    """`program` with what depends on a condition, in its own recurrence and iteration, computed for both of its values,
    one condition after the other. `names`: the statements that compute them, as `late_conditions` has them.

    Raises `TransformError` for one that computes something else than 0 or 1, and if loops are not those of a text.
    """
    program = _named(program)
    for name in names:
        if not _is_condition(program, program.statement(name)):
            raise TransformError(f"{program.statement(name)}: what depends on a condition is computed for both of its "
                                 "values, 0 and 1, and this one computes others, too; name a statement that compares")
        program = _expanded(_Expansion(program, name))
    return program


def _named(program: Program) -> Program:
    """`program` with a statement for every condition of a recurrence by which another one selects its value."""
    groups = StatementGroups(program)
    inside = recurring(flow(program)) - _shared(program)
    for statement in program.statements:
        match statement.value:
            case Apply("select", (condition, *values)) if (statement.name in inside
                                                           and not _is_computed(program, statement, condition)):
                made, array = groups.beside(statement, "if", *pruned(condition, statement.reads))
                reads = (*statement.reads, groups.element(statement, array))
                value, reads = pruned(apply("select", Read(len(statement.reads), BIT), *values), reads)
                groups.groups[statement.name] = [made, replace(statement, reads=reads, value=value)]
    return groups.result()


def _shared(program: Program) -> set[str]:
    """The statements that share units."""
    return {name for group in program.shared for name in group}


def _is_computed(program: Program, statement: Statement, condition: Expr) -> bool:
    """Whether a condition of a statement only asks which of 0 and 1 others have computed."""
    match condition:
        case Const():
            return True
        case Read(index):
            array = statement.reads[index].array
            return all(_is_condition(program, each) for each in program.statements if each.write.array == array)
        case Cast(inner) | Apply("eq" | "ne", (inner, Const(0))):
            return _is_computed(program, statement, inner)
    return False


@dataclass(frozen=True)
class _Expansion:
    """The expansion by the condition that statement `name` computes."""

    program: Program
    name: str

    @cached_property
    def condition(self) -> Statement:
        """The statement."""
        return self.program.statement(self.name)

    @cached_property
    def _inside(self) -> list[Dependence]:
        """The dependences within the recurrence of the condition."""
        dependences = flow(self.program)
        graph = nx.DiGraph((d.source, d.sink) for d in dependences)
        members = next((part for part in nx.strongly_connected_components(graph) if self.name in part), set())
        return [d for d in dependences if d.source in members and d.sink in members]

    @cached_property
    def _iteration(self) -> nx.DiGraph:
        """From statement to statement, `reads` that see the value of the same iteration, and nothing else."""
        sources = Counter((d.sink, d.read) for d in flow(self.program))
        graph: nx.DiGraph[str] = nx.DiGraph()
        for d in self._inside:
            if sources[d.sink, d.read] == 1 and self._is_same(d):
                graph.add_edge(d.source, d.sink)
                graph.edges[d.source, d.sink].setdefault("reads", []).append(d.read)
        return graph

    def _is_same(self, dependence: Dependence) -> bool:
        """Whether every instance of a reader sees the value of the one with the same iterators."""
        sink, source = self.program.statement(dependence.sink), self.program.statement(dependence.source)
        same = _same_iterators(sink, source.name).intersect_domain(sink.domain)
        return sink.iterators == source.iterators and dependence.relation.is_equal(same)

    @cached_property
    def is_late(self) -> bool:
        """Whether the condition waits for a memory or a product of its recurrence."""
        graph = self._iteration
        return self.name in graph and any(_is_slow(self.program.statement(name).value)
                                          for name in (self.name, *nx.ancestors(graph, self.name)))

    @cached_property
    def after(self) -> list[Statement]:
        """The statements that are computed for both values, in the order of an iteration."""
        graph = self._iteration
        reached = nx.descendants(graph, self.name) if self.name in graph else set[str]()
        pure = {name for name in reached if self._is_pure(self.program.statement(name))}
        kept = graph.subgraph({self.name, *pure})
        names = nx.descendants(kept, self.name) if pure else set()
        return [self.program.statement(name) for name in nx.topological_sort(kept) if name in names]

    def _is_pure(self, statement: Statement) -> bool:
        """Whether it may be computed though its value is not used: it stores nothing and reports no index, and has no
        units in common with others, which have to be alike."""
        traps = {memory.name for memory in self.program.memories if memory.trap}
        stores = any(isinstance(node, Store) for node in postorder(statement.value))
        alone = statement.name not in _shared(self.program)
        return alone and not stores and memories_used(statement.value).isdisjoint(traps)

    def sources(self, statement: Statement) -> dict[int, str]:
        """Of the reads of a statement that see values of the same iteration, what computes them."""
        edges = self._iteration.in_edges(statement.name, data="reads")
        return {read: source for source, _, reads in edges for read in reads}


def _expanded(one: _Expansion) -> Program:
    """The program with a statement more for every branch that is no constant."""
    draft = _Draft(one.program, one.condition)
    for statement in one.after:
        sources = {read: source for read, source in one.sources(statement).items() if source in draft.branches}
        draft.expand(statement, sources)
    return draft.groups.result()


class _Draft:
    """A program in the making. `branches`: of every expanded statement what it computes where the condition holds and
    where it does not: a constant, or an array with an element for each iteration."""

    def __init__(self, program: Program, condition: Statement) -> None:
        self.groups = StatementGroups(program)
        type_ = program.array(condition.write.array).type
        self.branches: dict[str, tuple[Const | Array, ...]] = {condition.name: (Const(1, type_), Const(0, type_))}
        kept, self.kept = self.groups.beside(condition, "kept", Read(0, type_), (condition.write,))
        self.groups.groups[condition.name].append(kept)

    def expand(self, statement: Statement, sources: Mapping[int, str]) -> None:
        """Compute a statement for both branches, and select. `sources`: the expanded ones whose values it reads."""
        values = [_simplified(statement.value, {read: self.branches[source][side] for read, source in sources.items()})
                  for side in range(2)]
        reads, group = list(statement.reads), list[Statement]()
        self.groups.groups[statement.name] = group
        for read in _in_common(values) - set(sources):
            type_ = self.groups.arrays[statement.reads[read].array].type
            made, array = self.groups.beside(statement, f"read_{read}", Read(0, type_), (statement.reads[read],))
            reads[read] = self.groups.element(statement, array)
            group.append(made)
        branches = [self._branch(statement, value, self._accesses(statement, reads, sources, side), suffix)
                    for side, (value, suffix) in enumerate(zip(values, ("yes", "no"), strict=True))]
        self.branches[statement.name] = tuple(branches)
        group.append(self._selected(statement, branches))

    def _accesses(self, statement: Statement, reads: Sequence[Access], sources: Mapping[int, str], side: int
                  ) -> list[Access]:
        """What a branch of a statement reads: `reads`, but for what is another array there."""
        found = list(reads)
        for read, source in sources.items():
            branch = self.branches[source][side]
            if isinstance(branch, Array):
                found[read] = self.groups.element(statement, branch)
        return found

    def _branch(self, statement: Statement, value: Expr, reads: Sequence[Access], suffix: str) -> Const | Array:
        """What a statement computes in one branch."""
        value, kept = pruned(value, reads)
        if isinstance(value, Const):
            return value
        made, array = self.groups.beside(statement, suffix, value, kept)
        self.groups.groups[statement.name].append(made)
        return array

    def _selected(self, statement: Statement, branches: Sequence[Const | Array]) -> Statement:
        """The statement, taking the value of the branch that the condition says."""
        used = [self.kept, *(branch for branch in branches if isinstance(branch, Array))]
        asked: Expr = Read(0, self.kept.type)
        if asked.type != BIT:
            asked = apply("ne", asked, Const(0, asked.type))
        values = [branch if isinstance(branch, Const) else Read(used.index(branch), branch.type) for branch in branches]
        return replace(statement, reads=tuple(self.groups.element(statement, array) for array in used),
                       value=select(asked, *values))


def _in_common(values: Sequence[Expr]) -> set[int]:
    """The reads that both of two values need: these come back from the last iteration on one way. Accesses of memories
    wait for what they name themselves, and have none."""
    if any(map(memories_used, values)):
        return set()
    first, second = ({node.index for node in postorder(value) if isinstance(node, Read)} for value in values)
    return first & second


def _simplified(value: Expr, known: Mapping[int, Const | Array]) -> Expr:
    """A value with what some reads deliver known, or of the type of an array."""
    def step(node: Expr, parts: list[Expr]) -> Expr:
        if isinstance(node, Read) and node.index in known:
            found = known[node.index]
            return found if isinstance(found, Const) else Read(node.index, found.type)
        return decided(with_children(node, parts))

    return fold(value, step)


def _is_condition(program: Program, statement: Statement) -> bool:
    """Whether a statement computes 0 or 1, and is no store, whose result others wait for."""
    type_ = program.array(statement.write.array).type
    if not isinstance(type_, Int) or isinstance(statement.value, Read | Const | Store) or statement.domain.is_empty():
        return False
    reads = [type_range(program.array(access.array).type) for access in statement.reads]
    tables, box = table_ranges(program), hull(statement)
    low, high = fold(statement.value, lambda node, parts: value_range(node, parts, reads, box, tables))
    return low >= 0 and high <= 1


def _is_slow(value: Expr) -> bool:
    """Whether a value waits for a memory or a product."""
    return any(isinstance(node, Load | Lookup) or (isinstance(node, Apply) and node.op in _SLOW)
               for node in postorder(value))


def _same_iterators(sink: Statement, source: str) -> isl.Map:
    """{instance of `sink` -> the one of `source` with the same iterators}."""
    iterators = ", ".join(sink.iterators)
    return isl.Map(f"{{ {sink.name}[{iterators}] -> {source}[{iterators}] }}")
