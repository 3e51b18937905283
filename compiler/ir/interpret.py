"""The reference interpreter: what a program computes, exactly.

Statements run vectorised over as many iterations as their dependences allow. Two statement instances that touch the
same element, one of them writing, must keep their order. The interpreter computes the differences of their times with
isl and applies Allen and Kennedy's idea: statements that do not depend on themselves through any cycle run whole, one
after the other; a cycle is run step by step along the first time dimension in which its instances differ, and what is
left inside a step is treated the same way. Time dimensions that carry no dependence are never stepped through.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import islpy as isl
import networkx as nx
import numpy as np

from compiler.ir.evaluate import TableIndexError, evaluate, integer, storage
from compiler.ir.floating import as_elements
from compiler.ir.limits import check_array_bytes
from compiler.ir.memory_state import MemoryState
from compiler.ir.points import Columns, contains, enumerate_points, evaluate_map
from compiler.ir.program import Access, Array, Program, Statement
from compiler.ir.types import Fixed, Float, ProgramError

__all__ = ["interpret", "statement_values"]

Rows = np.ndarray | None
"""Numbers of some instances of a statement; None stands for all of them."""


def interpret(program: Program, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The outputs of a verified `program` for `inputs`, arrays of numbers by name.

    Outputs come in the smallest numpy integer type that holds their element type, floating-point ones in float32.
    Raises `ProgramError` if an input is missing, unknown, of another shape or outside its type's range, if a lookup
    leaves its table, and if all arrays together take more than the budget.
    """
    memory = _executed(program, inputs, {})
    return {
        array.name: memory[array.name].reshape(array.shape).astype(array.type.dtype)
        for array in program.outputs if not isinstance(array.type, Fixed)
    }


def statement_values(program: Program, inputs: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    """What the instances of statement `name` compute, in lexicographic order of its iterators. Raises what `interpret`
    does."""
    seen = {name: np.zeros(0, storage(program.statement(name).value.type))}
    _executed(program, inputs, seen)
    return seen[name]


def _executed(program: Program, inputs: Mapping[str, np.ndarray], seen: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """All arrays after the run. `seen`: statements whose values are kept there."""
    _check_names(program, inputs)
    check_array_bytes({array.name: (array.shape, array.type.width) for array in program.arrays})
    memory = {array.name: _initial(array, inputs.get(array.name)) for array in program.arrays}
    memories = MemoryState(program)
    statements = {statement.name: _Instances(program, statement, memories) for statement in program.statements}
    for name in seen:
        seen[name] = statements[name].kept = np.zeros(len(statements[name].times[0]), seen[name].dtype)
    _run(_Plan(program), statements, memory, dict.fromkeys(statements, None), frozenset())
    return memory


def _check_names(program: Program, inputs: Mapping[str, np.ndarray]) -> None:
    wanted = [array.name for array in program.inputs]
    for name in wanted:
        if name not in inputs:
            raise ProgramError(f"program '{program.name}': input '{name}' is missing")
    for name in inputs:
        if name not in wanted:
            raise ProgramError(f"program '{program.name}' has no input '{name}'; there are: {', '.join(wanted)}")


def _initial(array: Array, data: np.ndarray | None) -> np.ndarray:
    """The flat contents of `array` before the program runs."""
    held = storage(array.type)
    if array.role != "input":
        return np.zeros(array.shape, held).ravel()
    data = np.asarray(data)
    if data.shape != array.shape:
        raise ProgramError(f"input '{array.name}' has shape {list(data.shape)}; the program wants {list(array.shape)}")
    if isinstance(array.type, Float):
        try:
            return as_elements(array.type, data).ravel()
        except ValueError as error:
            raise ProgramError(f"input '{array.name}' {error}; the program wants {array.type}") from None
    type = integer(array.type)
    if data.dtype.kind not in "iub":
        raise ProgramError(f"input '{array.name}' holds {data.dtype}; the program wants integers, {type}")
    low, high = int(data.min()), int(data.max())
    if not (type.contains(low) and type.contains(high)):
        raise ProgramError(f"input '{array.name}' holds values {low}..{high}, which do not fit {type}")
    return data.ravel().astype(held)


class _Instances:
    """The instances of one statement in lexicographic order of their iterators, and how to run some of them. `kept`, if
    there is such an array, gets the value of each."""

    def __init__(self, program: Program, statement: Statement, memories: MemoryState) -> None:
        self._program, self._memories = program, memories
        self.statement = statement
        self.kept: np.ndarray | None = None
        self._tables = {table.name: table for table in program.tables}

    @cached_property
    def _points(self) -> tuple[int, Columns]:
        return enumerate_points(self.statement.domain)

    @cached_property
    def times(self) -> Columns:
        """The time vector of every instance."""
        return self._image(self._program.order_of(self.statement.name))

    @cached_property
    def _addresses(self) -> list[np.ndarray]:
        return [self._address(access) for access in (*self.statement.reads, self.statement.write)]

    def _image(self, mapping: isl.Map) -> Columns:
        count, columns = self._points
        return evaluate_map(mapping, self.statement.domain, columns, count)

    def _address(self, access: Access) -> np.ndarray:
        """The element of the flat array that every instance accesses; the first one for an instance that has none."""
        count, columns = self._points
        flat = np.zeros(count, np.int64)
        for size, index in zip(self._program.array(access.array).shape, self._image(access.map), strict=True):
            flat = flat * size + index
        if self.statement.domain.is_subset(access.map.domain()):
            return flat
        return np.where(contains(access.map.domain(), columns, count), flat, 0)

    def _selected(self, number: int, rows: Rows) -> np.ndarray:
        """Addresses of access `number` (the write comes last); kept for reuse only if not all instances run at once."""
        if rows is None:
            return self._address((*self.statement.reads, self.statement.write)[number])
        return self._addresses[number][rows]

    def run(self, memory: dict[str, np.ndarray], rows: Rows) -> None:
        """Run the instances `rows`: all their reads happen before all their writes."""
        _, columns = self._points
        chosen = columns if rows is None else [column[rows] for column in columns]
        iterators = dict(zip(self.statement.iterators, chosen, strict=True))

        def read(number: int) -> np.ndarray:
            return memory[self.statement.reads[number].array][self._selected(number, rows)]

        try:
            value = evaluate(self.statement.value, read, iterators, self._tables, self._memories)
        except TableIndexError as error:
            where = ", ".join(f"{name}={column[error.positions[0]]}" for name, column in iterators.items())
            raise ProgramError(f"{self.statement}: {error}, at {where or 'its only iteration'}") from None
        memory[self.statement.write.array][self._selected(len(self.statement.reads), rows)] = value
        if self.kept is not None:
            self.kept[slice(None) if rows is None else rows] = value


@dataclass(frozen=True)
class _Step:
    """Statements to run together: whole if `dimension` is None, else step by step along that time dimension."""

    statements: frozenset[str]
    dimension: int | None


class _Plan:
    """Which statements depend on which, once some time dimensions are fixed to one value."""

    def __init__(self, program: Program) -> None:
        names = [statement.name for statement in program.statements]
        self._dimensions = program.order_of(names[0]).dim(isl.dim_type.out) if names else 0
        self._differences = {
            (first, second): _time_differences(program, program.statement(first), program.statement(second))
            for first, second in product(names, repeat=2)
        }
        self._cache: dict[tuple[frozenset[str], frozenset[int]], list[_Step]] = {}

    def steps(self, names: frozenset[str], fixed: frozenset[int]) -> list[_Step]:
        """How to run statements `names` at equal values of the time dimensions `fixed`, in a legal order."""
        if (names, fixed) not in self._cache:
            self._cache[names, fixed] = list(self._find_steps(names, fixed))
        return self._cache[names, fixed]

    def _find_steps(self, names: frozenset[str], fixed: frozenset[int]) -> Iterator[_Step]:
        graph = nx.DiGraph()
        graph.add_nodes_from(sorted(names))
        graph.add_edges_from(pair for pair in product(names, names) if self._active(pair, fixed))
        components = nx.condensation(graph)
        for number in nx.topological_sort(components):
            members = frozenset(components.nodes[number]["members"])
            cyclic = any(graph.has_edge(*pair) for pair in product(members, members))
            yield _Step(members, self._first_dimension(members, fixed) if cyclic else None)

    def _active(self, pair: tuple[str, str], fixed: frozenset[int]) -> bool:
        return not _at_zero(self._differences[pair], fixed).is_empty()

    def _first_dimension(self, members: frozenset[str], fixed: frozenset[int]) -> int:
        """The first time dimension in which dependent instances differ; all differences there are positive."""
        active = [_at_zero(self._differences[pair], fixed) for pair in product(members, members)]
        for dimension in range(self._dimensions):
            if any(not difference.is_subset(_at_zero(difference, {dimension})) for difference in active):
                return dimension
        raise ProgramError("the order puts two dependent iterations at the same time")


def _at_zero(difference: isl.Set, dimensions: frozenset[int] | set[int]) -> isl.Set:
    for dimension in dimensions:
        difference = difference.fix_val(isl.dim_type.set, dimension, isl.Val(0))
    return difference


def _time_differences(program: Program, first: Statement, second: Statement) -> isl.Set:
    """Time of `second` minus time of `first` for instances that must run in this order: lexicographically positive."""
    first_time, second_time = program.order_of(first.name), program.order_of(second.name)
    zero = isl.Set.from_point(isl.Point.zero(first_time.range().get_space()))
    differences = isl.Set.empty(zero.get_space())
    for before, after in _conflicts(first, second):
        pairs = _instances(first, before).apply_range(_instances(second, after).reverse())
        differences |= pairs.apply_domain(first_time).apply_range(second_time).deltas()
    positive = zero.lex_lt_set(isl.Set.universe(zero.get_space())).range()
    return differences.intersect(positive).coalesce()


def _instances(statement: Statement, access: Access) -> isl.Map:
    return access.map.intersect_domain(statement.domain)


def _conflicts(first: Statement, second: Statement) -> Iterator[tuple[Access, Access]]:
    """Pairs of accesses to the same array of which one is a write."""
    for before, after in product((*first.reads, first.write), (*second.reads, second.write)):
        writes = before is first.write or after is second.write
        if writes and before.array == after.array:
            yield before, after


def _run(
    plan: _Plan,
    statements: dict[str, _Instances],
    memory: dict[str, np.ndarray],
    chosen: dict[str, Rows],
    fixed: frozenset[int],
) -> None:
    """Run the instances `chosen`, which agree in the time dimensions `fixed`."""
    for step in plan.steps(frozenset(chosen), fixed):
        if step.dimension is None:
            for name in step.statements:
                statements[name].run(memory, chosen[name])
            continue
        inside = {name: chosen[name] for name in step.statements}
        for group in _split(statements, inside, step.dimension):
            _run(plan, statements, memory, group, fixed | {step.dimension})


def _split(statements: dict[str, _Instances], chosen: dict[str, Rows], dimension: int) -> Iterator[dict[str, Rows]]:
    """The instances `chosen`, grouped by their time in `dimension`, earliest first."""
    groups: dict[int, dict[str, Rows]] = defaultdict(dict)
    for name, rows in chosen.items():
        times = statements[name].times[dimension]
        rows = np.arange(len(times)) if rows is None else rows
        rows = rows[np.argsort(times[rows], kind="stable")]
        values, starts = np.unique(times[rows], return_index=True)
        for value, part in zip(values, np.split(rows, starts[1:]), strict=True):
            groups[int(value)][name] = part
    yield from (groups[value] for value in sorted(groups))
