"""Temporaries get a memory of their own for every iteration that uses them afresh.

A scalar that is assigned and used again within one iteration of some loops is one element per iteration of these
loops: ``acc`` of a matrix product becomes ``acc[i][j]``. Uses that no value joins become different arrays. The
accesses then carry only the flow of values, and iterations that C runs one after the other are independent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import islpy as isl
import networkx as nx

from compiler.frontend.flow import Reach, reaching_writes
from compiler.ir.program import Access, Array, Program, Statement

__all__ = ["expand"]

_Node = tuple[str, int]
"""A statement and one of its accesses: the number of a read, or -1 for its write."""


@dataclass(frozen=True)
class _Web:
    """Accesses of one array that values join, the number of outer loops to expand by, and the flow inside."""

    nodes: frozenset[_Node]
    depth: int


@dataclass(frozen=True)
class _Change:
    """What an access becomes: one to array `name` whose first subscripts are the iterators of outer loops, less their
    first values `lows`; the old subscripts follow if they are `kept`."""

    name: str
    lows: tuple[int, ...]
    kept: bool


def expand(program: Program, arrays: Sequence[str], loops: Mapping[str, tuple[int, ...]], used: set[str]) -> Program:
    """`program` with `arrays` (intermediates; every read sees a write) split and expanded.

    `loops` gives the loops around every statement, by number, outermost first; `used` the names that are taken,
    which new arrays are added to.
    """
    changes: dict[_Node, _Change] = {}
    replaced: dict[str, list[Array]] = {}
    for name in arrays:
        replaced[name] = _expand_array(program, name, loops, used, changes)
    return replace(
        program,
        arrays=tuple(new for array in program.arrays for new in replaced.get(array.name, [array])),
        statements=tuple(_redirected(statement, changes) for statement in program.statements),
    )


def _expand_array(program: Program, name: str, loops: Mapping[str, tuple[int, ...]], used: set[str],
                  changes: dict[_Node, _Change]) -> list[Array]:
    """The arrays in place of array `name`; `changes` gets what its accesses become."""
    reaches = reaching_writes(program, name)
    original = program.array(name)
    domains = {statement.name: statement.domain for statement in program.statements}
    found: list[Array] = []
    for number, nodes in enumerate(_components(program, name, reaches)):
        web = _web(nodes, reaches, loops)
        new_name = name if number == 0 else _free(name, used)
        boxes = _boxes(domains, web)
        own_shape = () if original.shape == (1,) and web.depth else original.shape
        found.append(replace(original, name=new_name, shape=(*(high - low + 1 for low, high in boxes), *own_shape)))
        change = _Change(new_name, tuple(low for low, _ in boxes), bool(own_shape))
        changes |= dict.fromkeys(web.nodes, change)
    return found


def _components(program: Program, name: str, reaches: list[Reach]) -> list[frozenset[_Node]]:
    graph: nx.Graph = nx.Graph()
    graph.add_nodes_from((s.name, -1) for s in program.statements if s.write.array == name)
    for reach in reaches:
        graph.add_edges_from(((reach.statement.name, reach.read), (source, -1)) for source in reach.sources)
    return [frozenset(component) for component in nx.connected_components(graph)]


def _web(nodes: frozenset[_Node], reaches: list[Reach], loops: Mapping[str, tuple[int, ...]]) -> _Web:
    around = [loops[statement] for statement, _ in nodes]
    depth = 0
    while all(len(chain) > depth for chain in around) and len({chain[depth] for chain in around}) == 1:
        depth += 1
    for reach in reaches:
        if (reach.statement.name, reach.read) in nodes:
            for relation in reach.sources.values():
                depth = _same_iteration(relation, depth)
    return _Web(nodes, depth)


def _same_iteration(relation: isl.Map, depth: int) -> int:
    """The largest number of loops up to `depth` in which source and sink always agree."""
    same = relation
    for position in range(depth):
        same = same.equate(isl.dim_type.in_, position, isl.dim_type.out, position)
        if not relation.is_subset(same):
            return position
    return depth


def _boxes(domains: Mapping[str, isl.Set], web: _Web) -> list[tuple[int, int]]:
    """First and last value of every loop that the web is expanded by."""
    inside = [domains[name] for name in {name for name, _ in web.nodes}]
    return [(min(d.dim_min_val(k).to_python() for d in inside), max(d.dim_max_val(k).to_python() for d in inside))
            for k in range(web.depth)]


def _free(name: str, used: set[str]) -> str:
    number = 1
    while f"{name}_{number}" in used:
        number += 1
    used.add(f"{name}_{number}")
    return f"{name}_{number}"


def _redirected(statement: Statement, changes: Mapping[_Node, _Change]) -> Statement:
    def changed(access: Access, number: int) -> Access:
        change = changes.get((statement.name, number))
        return access if change is None else _redirect(statement, access, change)

    reads = tuple(changed(access, number) for number, access in enumerate(statement.reads))
    return replace(statement, reads=reads, write=changed(statement.write, -1))


def _redirect(statement: Statement, access: Access, change: _Change) -> Access:
    """The access with the expanding loops as first subscripts."""
    space = isl.LocalSpace.from_space(statement.domain.get_space())
    mapping = access.map.project_out(isl.dim_type.out, 0, 0 if change.kept else access.map.dim(isl.dim_type.out))
    for position, low in reversed(list(enumerate(change.lows))):
        index = isl.Map.from_aff(isl.Aff.var_on_domain(space, isl.dim_type.set, position) - low)
        mapping = index.flat_range_product(mapping)
    return replace(access, array=change.name, map=mapping.set_tuple_name(isl.dim_type.out, change.name))
