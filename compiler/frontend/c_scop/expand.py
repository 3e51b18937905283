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

from compiler.frontend.c_scop.flow import Reach, reaching_writes
from compiler.ir.program import Access, Array, Program, Statement

__all__ = ["expand"]

_Node = tuple[str, int]
"""A statement and one of its accesses: the number of a read, or -1 for its write."""


@dataclass(frozen=True)
class _Web:
    """Accesses of one array that values join, the number of outer loops to expand by, and the flow inside."""

    nodes: frozenset[_Node]
    depth: int


def expand(program: Program, arrays: Sequence[str], loops: Mapping[str, tuple[int, ...]], used: set[str]) -> Program:
    """`program` with `arrays` (intermediates; every read sees a write) split and expanded.

    `loops` gives the loops around every statement, by number, outermost first; `used` the names that are taken,
    which new arrays are added to.
    """
    for name in arrays:
        program = _expand_array(program, name, loops, used)
    return program


def _expand_array(program: Program, name: str, loops: Mapping[str, tuple[int, ...]], used: set[str]) -> Program:
    reaches = reaching_writes(program, name)
    webs = [_web(nodes, reaches, loops) for nodes in _components(program, name, reaches)]
    original = program.array(name)
    position = program.arrays.index(original)
    arrays: list[Array] = []
    for number, web in enumerate(webs):
        new_name = name if number == 0 else _free(name, used)
        boxes = _boxes(program, web)
        own_shape = () if original.shape == (1,) and web.depth else original.shape
        arrays.append(replace(original, name=new_name, shape=(*(high - low + 1 for low, high in boxes), *own_shape)))
        lows = [low for low, _ in boxes]
        program = replace(program, statements=tuple(
            _redirected(statement, web, new_name, lows, own_shape) for statement in program.statements))
    return replace(program, arrays=(*program.arrays[:position], *arrays, *program.arrays[position + 1:]))


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


def _boxes(program: Program, web: _Web) -> list[tuple[int, int]]:
    """First and last value of every loop that the web is expanded by."""
    domains = [program.statement(name).domain for name, _ in web.nodes]
    return [(min(d.dim_min_val(k).to_python() for d in domains), max(d.dim_max_val(k).to_python() for d in domains))
            for k in range(web.depth)]


def _free(name: str, used: set[str]) -> str:
    number = 1
    while f"{name}_{number}" in used:
        number += 1
    used.add(f"{name}_{number}")
    return f"{name}_{number}"


def _redirected(statement: Statement, web: _Web, name: str, lows: list[int], own_shape: tuple[int, ...]) -> Statement:
    reads = tuple(
        _redirect(statement, access, name, lows, own_shape) if (statement.name, number) in web.nodes else access
        for number, access in enumerate(statement.reads)
    )
    write = statement.write
    if (statement.name, -1) in web.nodes:
        write = _redirect(statement, write, name, lows, own_shape)
    return replace(statement, reads=reads, write=write)


def _redirect(statement: Statement, access: Access, name: str, lows: list[int], own_shape: tuple[int, ...]) -> Access:
    """The access with the expanding loops as first subscripts."""
    space = isl.LocalSpace.from_space(statement.domain.get_space())
    mapping = access.map.project_out(isl.dim_type.out, 0, 0 if own_shape else access.map.dim(isl.dim_type.out))
    for position, low in reversed(list(enumerate(lows))):
        index = isl.Map.from_aff(isl.Aff.var_on_domain(space, isl.dim_type.set, position) - low)
        mapping = index.flat_range_product(mapping)
    return replace(access, array=name, map=mapping.set_tuple_name(isl.dim_type.out, name))
