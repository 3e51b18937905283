"""Statements whose last iterations are missing, as where tiles do not divide an image, on whole boxes.

Static schedules count in loops of constant bounds. `pad_to_bounding_boxes` lets such statements run over the whole box
around their domain; arrays grow by what the additional instances touch. The host fills inputs up with zeros and drops
what was added to outputs (`compiler.passes.arrays.partition.Partition`). No additional instance writes an element that
one of the program's own instances touches, so these see what they saw before. Where the first terms of sums are
missing, too, `compiler.passes.normalize.boundary_padding` does the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from operator import add

import islpy as isl

from compiler.analysis.affine import pieces
from compiler.analysis.dependences import DependenceError, flow
from compiler.analysis.instance_budget import count_instances
from compiler.ir.expr import memories_used
from compiler.ir.program import Access, Array, Program, Statement

__all__ = [
    "PaddedProgram",
    "extent",
    "filled",
    "moved",
    "nearest",
    "on_all_iterations",
    "on_box",
    "pad_to_bounding_boxes",
]

_MOST = 4
"""How many times as many instances a statement may get: two tiles in each direction, both hardly used."""


@dataclass(frozen=True)
class PaddedProgram:
    """A program as it is asked for and as it runs. `fronts`: for arrays that have grown in front, too, by how many
    elements in every dimension. `edges`: inputs that have grown by copies of their nearest element instead of zeros.
    `guarded`: statements that store what their element held before where the program asked for has no instance.
    `clearing`: statements that are not asked for; they set arrays to zero before anything else runs."""

    before: Program
    after: Program
    fronts: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    edges: frozenset[str] = frozenset()
    guarded: frozenset[str] = frozenset()
    clearing: frozenset[str] = frozenset()

    def front(self, array: str) -> tuple[int, ...]:
        """By how many elements an array of `before` has grown in front, in every dimension."""
        return self.fronts.get(array, (0,) * len(self.before.array(array).shape))

    def then(self, later: PaddedProgram) -> PaddedProgram:
        """Both, one after the other."""
        fronts = {array.name: tuple(map(add, self.front(array.name), later.front(array.name)))
                  for array in self.before.arrays}
        return PaddedProgram(self.before, later.after, {name: front for name, front in fronts.items() if any(front)},
                      self.edges | later.edges, self.guarded | later.guarded, self.clearing | later.clearing)

    def asked_instances(self) -> dict[str, int]:
        """How many instances `before` has of the statements that are `guarded` or `clearing`."""
        counts = {s.name: count_instances(s.domain) for s in self.before.statements if s.name in self.guarded}
        return counts | dict.fromkeys(self.clearing, 0)

    def moved(self, array: str) -> isl.Map:
        """{element of `before` -> element of `after`}."""
        front = self.front(array)
        names = [f"e{k}" for k in range(len(front))]
        there = [f"{name} + {more}" for name, more in zip(names, front, strict=True)]
        return isl.Map(f"{{ {array}[{', '.join(names)}] -> {array}[{', '.join(there)}] }}")

    def origin(self, array: str) -> isl.Map:
        """{element of `after` -> the element of `before` that it is, or of `edges` is a copy of}."""
        back = self.moved(array).reverse()
        return back.apply_range(nearest(self.before.array(array))) if array in self.edges else back


def moved(growth: PaddedProgram, statement: Statement) -> Statement:
    """The statement on arrays that have grown in front."""
    def access(one: Access) -> Access:
        relation = one.map.apply_range(growth.moved(one.array)) if one.array in growth.fronts else one.map
        return replace(one, map=relation)

    return replace(statement, reads=tuple(map(access, statement.reads)), write=access(statement.write))



def nearest(array: Array) -> isl.Map:
    """{any index -> the nearest element of `array`}."""
    names = [f"e{k}" for k in range(len(array.shape))]
    inside = [f"max(0, min({size - 1}, {name}))" for name, size in zip(names, array.shape, strict=True)]
    return isl.Map(f"{{ {array.name}[{', '.join(names)}] -> {array.name}[{', '.join(inside)}] }}")


def pad_to_bounding_boxes(program: Program) -> PaddedProgram | None:
    """`program` on whole boxes, None if that is what it has, or if its domains cannot be filled up."""
    if all(statement.box() is not None for statement in program.statements):
        return None
    statements = []
    for statement in program.statements:
        whole = statement if statement.box() is not None else filled(statement)
        if whole is None:
            return None
        statements.append(whole)
    arrays = [_grown(array, statements) for array in program.arrays]
    if None in arrays or any(_disturbs(old, new, program) for old, new in zip(program.statements, statements,
                                                                                strict=True)):
        return None
    after = replace(program, statements=tuple(statements), arrays=tuple(a for a in arrays if a is not None))
    try:
        flow(after)
    except DependenceError:
        return None
    return PaddedProgram(program, after)


def filled(statement: Statement) -> Statement | None:
    """The statement on the box around its domain, None if that has too many instances or other accesses, or if it
    accesses memories, which more instances would change."""
    if memories_used(statement.value):
        return None
    dims = range(len(statement.iterators))
    bounds = [(statement.domain.dim_min_val(k).to_python(), statement.domain.dim_max_val(k).to_python()) for k in dims]
    if prod(high - low + 1 for low, high in bounds) > _MOST * count_instances(statement.domain):
        return None
    return on_box(statement, bounds)


def on_box(statement: Statement, bounds: Sequence[tuple[int, int]]) -> Statement | None:
    """The statement with the first and last value of every iterator given, None if its accesses are not one function
    each."""
    inside = [f"{low} <= {name} <= {high}" for name, (low, high) in zip(statement.iterators, bounds, strict=True)]
    point = f"{statement.name}[{', '.join(statement.iterators)}]"
    domain = isl.Set(f"{{ {point} : {' and '.join(inside) or 'true'} }}")
    accesses = [_continued(access, statement, domain) for access in (*statement.reads, statement.write)]
    if None in accesses:
        return None
    *reads, write = [access for access in accesses if access is not None]
    return replace(statement, domain=domain, reads=tuple(reads), write=write)


def _continued(access: Access, statement: Statement, box: isl.Set) -> Access | None:
    """The access as one function on all iterations, None if it is several. It is the function that is written in the
    program if that has values in all of the `box`."""
    if box.is_subset(access.map.domain()) and len(pieces(access.map)) == 1:
        return access
    found = pieces(access.map.intersect_domain(statement.domain))
    if len(found) != 1:
        return None
    return on_all_iterations(access, found[0][1], statement)


def on_all_iterations(access: Access, function: isl.MultiAff, statement: Statement) -> Access:
    """The access by this function."""
    relation = isl.Map.from_multi_aff(function)
    for position, name in enumerate(statement.iterators):
        relation = relation.set_dim_name(isl.dim_type.in_, position, name)
    return replace(access, map=relation)


def _grown(array: Array, statements: Sequence[Statement]) -> Array | None:
    """The array with room for what is touched, None if that would have to be in front of it."""
    first, shape = extent(array, statements)
    return None if any(first) else replace(array, shape=shape)


def extent(array: Array, statements: Sequence[Statement]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The first element and the shape of the smallest box that holds the array and all that statements touch of it."""
    first, end = [0] * len(array.shape), list(array.shape)
    for statement in statements:
        for access in (*statement.reads, statement.write):
            if access.array == array.name:
                touched = access.map.intersect_domain(statement.domain).range()
                for k in range(len(end)):
                    first[k] = min(first[k], touched.dim_min_val(k).to_python())
                    end[k] = max(end[k], touched.dim_max_val(k).to_python() + 1)
    return tuple(first), tuple(high - low for low, high in zip(first, end, strict=True))


def _disturbs(old: Statement, new: Statement, program: Program) -> bool:
    """Whether an additional instance writes what one of the program's own touches, or an element of an output."""
    more = new.domain.subtract(old.domain)
    written = new.write.map.intersect_domain(more).range()
    array = program.array(old.write.array)
    if array.role == "output":
        names = [f"e{k}" for k in range(len(array.shape))]
        bounds = " and ".join(f"0 <= {name} < {size}" for name, size in zip(names, array.shape, strict=True))
        return not written.is_disjoint(isl.Set(f"{{ {array.name}[{', '.join(names)}] : {bounds or 'true'} }}"))
    touched = [access.map.intersect_domain(statement.domain).range() for statement in program.statements
               for access in (*statement.reads, statement.write) if access.array == array.name]
    return any(not written.is_disjoint(part) for part in touched)
