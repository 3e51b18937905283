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

import networkx as nx

from compiler.analysis.dependences import Dependence, agree, flow, recurrence_members, recurring
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
from compiler.ir.program import Access, Array, Program, Statement
from compiler.ir.types import BIT, Int
from compiler.passes.directives.errors import TransformError
from compiler.passes.recurrence.shorten_recurrences import range_within
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
    iterations = _Iterations(program)
    conditions = [statement.name for statement in program.statements if _is_condition(program, statement)]
    after = {name: iterations.after(name) for name in conditions if iterations.is_late(name)}
    behind = {statement.name for statements in after.values() for statement in statements}
    return [name for name, statements in after.items() if statements and name not in behind]


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
        program = _expanded(program, name)
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
class _Iterations:
    """Which statements of a program wait for each other within an iteration of their recurrence."""

    program: Program

    @cached_property
    def _graph(self) -> nx.DiGraph:
        """From statement to statement, `reads` that see the value of the same iteration, and nothing else."""
        dependences = flow(self.program)
        sources = Counter((d.sink, d.read) for d in dependences)
        recurrence = {name: part for part in recurrence_members(dependences) for name in part}
        graph: nx.DiGraph[str] = nx.DiGraph()
        graph.add_nodes_from(statement.name for statement in self.program.statements)
        for d in dependences:
            inside = d.source in recurrence and d.sink in recurrence[d.source]
            if inside and sources[d.sink, d.read] == 1 and self._is_same(d):
                graph.add_edge(d.source, d.sink)
                graph.edges[d.source, d.sink].setdefault("reads", []).append(d.read)
        return graph

    def _is_same(self, dependence: Dependence) -> bool:
        """Whether every instance of a reader sees the value of the one with the same iterators."""
        sink, source = self.program.statement(dependence.sink), self.program.statement(dependence.source)
        return (sink.iterators == source.iterators and sink.domain.is_subset(dependence.relation.domain())
                and all(agree(dependence.relation, k, k) for k in range(len(sink.iterators))))

    def is_late(self, name: str) -> bool:
        """Whether a statement waits for a memory or a product of its recurrence."""
        before = (name, *nx.ancestors(self._graph, name))
        return any(_is_slow(self.program.statement(each).value) for each in before)

    def after(self, name: str) -> list[Statement]:
        """The statements that are computed for both values of a condition, in the order of an iteration."""
        pure = {each for each in nx.descendants(self._graph, name) if self._is_pure(self.program.statement(each))}
        kept = self._graph.subgraph({name, *pure})
        names = nx.descendants(kept, name)
        return [self.program.statement(each) for each in nx.topological_sort(kept) if each in names]

    def _is_pure(self, statement: Statement) -> bool:
        """Whether it may be computed though its value is not used: it stores nothing and reports no index, and has no
        units in common with others, which have to be alike."""
        traps = {memory.name for memory in self.program.memories if memory.trap}
        stores = any(isinstance(node, Store) for node in postorder(statement.value))
        alone = statement.name not in _shared(self.program)
        return alone and not stores and memories_used(statement.value).isdisjoint(traps)

    def sources(self, statement: Statement) -> dict[int, str]:
        """Of the reads of a statement that see values of the same iteration, what computes them."""
        edges = self._graph.in_edges(statement.name, data="reads")
        return {read: source for source, _, reads in edges for read in reads}


def _expanded(program: Program, name: str) -> Program:
    """The program with a statement more for every branch that is no constant of what depends on condition `name`."""
    iterations, draft = _Iterations(program), _Draft(program, program.statement(name))
    for statement in iterations.after(name):
        sources = iterations.sources(statement).items()
        draft.expand(statement, {read: source for read, source in sources if source in draft.branches})
    return draft.made.result()


class _Draft:
    """A program in the making. `branches`: of every expanded statement what it computes where the condition holds and
    where it does not: a constant, or an array with an element for each iteration."""

    def __init__(self, program: Program, condition: Statement) -> None:
        self.made = StatementGroups(program)
        type_ = program.array(condition.write.array).type
        self.branches: dict[str, tuple[Const | Array, ...]] = {condition.name: (Const(1, type_), Const(0, type_))}
        kept, self.kept = self.made.beside(condition, "kept", Read(0, type_), (condition.write,))
        self.made.groups[condition.name].append(kept)

    def expand(self, statement: Statement, sources: Mapping[int, str]) -> None:
        """Compute a statement for both branches, and select. `sources`: the expanded ones whose values it reads."""
        values = [_simplified(statement.value, {read: self.branches[source][side] for read, source in sources.items()})
                  for side in range(2)]
        reads, group = list(statement.reads), list[Statement]()
        self.made.groups[statement.name] = group
        for read in _in_common(values) - set(sources):
            type_ = self.made.arrays[statement.reads[read].array].type
            made, array = self.made.beside(statement, f"read_{read}", Read(0, type_), (statement.reads[read],))
            reads[read] = self.made.element(statement, array)
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
                found[read] = self.made.element(statement, branch)
        return found

    def _branch(self, statement: Statement, value: Expr, reads: Sequence[Access], suffix: str) -> Const | Array:
        """What a statement computes in one branch."""
        value, kept = pruned(value, reads)
        if isinstance(value, Const):
            return value
        made, array = self.made.beside(statement, suffix, value, kept)
        self.made.groups[statement.name].append(made)
        return array

    def _selected(self, statement: Statement, branches: Sequence[Const | Array]) -> Statement:
        """The statement, taking the value of the branch that the condition says."""
        used = [self.kept, *(branch for branch in branches if isinstance(branch, Array))]
        asked: Expr = Read(0, self.kept.type)
        if asked.type != BIT:
            asked = apply("ne", asked, Const(0, asked.type))
        values = [branch if isinstance(branch, Const) else Read(used.index(branch), branch.type) for branch in branches]
        return replace(statement, reads=tuple(self.made.element(statement, array) for array in used),
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
    low, high = range_within(program, statement, statement.value)
    return low >= 0 and high <= 1


def _is_slow(value: Expr) -> bool:
    """Whether a value waits for a memory or a product."""
    return any(isinstance(node, Load | Lookup) or (isinstance(node, Apply) and node.op in _SLOW)
               for node in postorder(value))
