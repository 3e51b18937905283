"""What programs do at the edges of images, by elements that the host puts around inputs.

**Sums leave terms out.** A convolution with a border of zeros is written with a condition that skips what lies beside
the input. Its instances are no box. Where a statement that adds to its own result would leave it as it is for an
operand of zero, it runs over the whole box instead and reads zeros around the input: no additional instance changes
anything. Statements that copy an element onto itself, as a condition inside of an expression leaves them, go.

**Addresses stop at the edge.** Where a read of an input takes the nearest element instead of one beside it, its
addresses are no loop nest. They are one if copies of the elements at the edges lie around the input.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

import islpy as isl

from compiler.analysis.accesses import same_elements
from compiler.analysis.affine import maps, pieces
from compiler.analysis.dependences import DependenceError, flow
from compiler.ir.affine_index import iterator_ranges
from compiler.ir.expr import Lookup, Read, converted, postorder
from compiler.ir.narrow import narrow_value, table_ranges
from compiler.ir.program import Access, Array, Program, Statement
from compiler.ir.ranges import type_range
from compiler.ir.types import Int
from compiler.passes.normalize.domain_padding import (
    PaddedProgram,
    extent,
    filled,
    moved,
    nearest,
    on_all_iterations,
    pad_to_bounding_boxes,
)
from compiler.passes.normalize.predication import predicate_domains

__all__ = ["is_self_copy", "out_of_bounds_reads", "pad_domains"]


def pad_domains(program: Program, everywhere: bool = False) -> PaddedProgram | None:
    """`program` with zeros for the terms that sums leave out and copies of elements at the edges for reads that stop
    there, and on whole boxes: as they are where these leave everything else as it is, else behind guards, with reads
    `everywhere` or not (`compiler.passes.normalize.predication`); None if that is what it has, or if nothing can be
    done."""
    around = _with_surroundings(program) or PaddedProgram(program, program)
    ends = pad_to_bounding_boxes(around.after) or predicate_domains(around.after, everywhere)
    if ends is not None:
        return around.then(ends)
    return around if around.after is not program else None


def _with_surroundings(program: Program) -> PaddedProgram | None:
    kept, edges = _past_edges(_without_copies(program))
    whole = {s.name: new for s in kept.statements
             if s.box() is None and (new := _filled_sum(kept, s, edges)) is not None}
    statements = tuple(whole.get(s.name, s) for s in kept.statements)
    if not whole and not edges:
        return None
    extents = {array.name: extent(array, statements) for array in kept.arrays}
    inputs = {array.name for array in kept.inputs}
    if any(any(first) for name, (first, _) in extents.items() if name not in inputs):
        return None
    arrays = tuple(replace(array, shape=extents[array.name][1]) for array in kept.arrays)
    fronts = {name: tuple(-k for k in first) for name, (first, _) in extents.items() if any(first)}
    growth = PaddedProgram(program, kept, fronts, edges)
    after = replace(kept, arrays=arrays, statements=tuple(moved(growth, s) for s in statements))
    try:
        flow(after)
    except DependenceError:
        return None
    return replace(growth, after=after)


def _past_edges(program: Program) -> tuple[Program, frozenset[str]]:
    """`program` with reads that go on where they stopped at the edge of an input, and the inputs of these."""
    edges: set[str] = set()

    def access(statement: Statement, read: Access) -> Access:
        array = program.array(read.array)
        if array.role != "input" or len(read.map.get_basic_maps()) == 1:
            return read
        wanted = read.map.intersect_domain(statement.domain)
        for _, function in pieces(wanted):
            found = on_all_iterations(read, function, statement)
            if found.map.intersect_domain(statement.domain).apply_range(nearest(array)).is_equal(wanted):
                if not found.map.intersect_domain(statement.domain).is_equal(wanted):
                    edges.add(array.name)
                return found
        return read

    statements = tuple(replace(s, reads=tuple(access(s, read) for read in s.reads)) for s in program.statements)
    return replace(program, statements=statements), frozenset(edges)


def _without_copies(program: Program) -> Program:
    """`program` without statements that change nothing and share no units."""
    shared = {name for group in program.shared for name in group}
    statements = tuple(s for s in program.statements if s.name in shared or not is_self_copy(s))
    names = {statement.name for statement in statements}
    order = isl.UnionMap.empty(program.order.get_space())
    for relation in maps(program.order):
        if relation.get_tuple_name(isl.dim_type.in_) in names:
            order = order.union(isl.UnionMap.from_map(relation))
    return replace(program, statements=statements, order=order)


def is_self_copy(statement: Statement) -> bool:
    """Whether a statement only writes what it has read from the same element."""
    value = statement.value
    return isinstance(value, Read) and same_elements(statement.reads[value.index], statement.write, statement.domain)


def _filled_sum(program: Program, statement: Statement, edges: Collection[str]) -> Statement | None:
    """The statement on the box around its domain if its additional instances change nothing; None if they might. There
    are no zeros around `edges`."""
    new = filled(statement)
    if new is None:
        return None
    more = new.domain.subtract(statement.domain)
    own = [k for k, read in enumerate(new.reads) if same_elements(read, new.write, new.domain)]
    for zeros, instances in out_of_bounds_reads(program, new, more, edges):
        if any(_keeps(program, new, zeros, k) for k in own):
            more = more.subtract(instances)
    return new if more.is_empty() else None


def out_of_bounds_reads(program: Program, statement: Statement, instances: isl.Set,
                  edges: Collection[str]) -> Iterator[tuple[Collection[int], isl.Set]]:
    """Reads that some of the `instances` of a statement find zero, since they are beside an input that is none of
    `edges`, one by one and then all that some do together; and those instances."""
    found = {k: instances.intersect(_beside(program.array(read.array), read))
             for k, read in enumerate(statement.reads)
             if program.array(read.array).role == "input" and read.array not in edges}
    together, everyone = set[int](), instances
    for k, part in found.items():
        yield {k}, part
        if not part.is_empty():
            together.add(k)
            everyone = everyone.intersect(part)
    if len(together) > 1:
        yield together, everyone


def _beside(array: Array, read: Access) -> isl.Set:
    """The instances whose read is outside of an array."""
    names = [f"e{k}" for k in range(len(array.shape))]
    bounds = " and ".join(f"0 <= {name} < {size}" for name, size in zip(names, array.shape, strict=True))
    inside = isl.Set(f"{{ {array.name}[{', '.join(names)}] : {bounds or 'true'} }}")
    return read.map.domain().subtract(read.map.intersect_range(inside).domain())


def _keeps(program: Program, statement: Statement, zeros: Collection[int], own: int) -> bool:
    """Whether the value is that of read `own` where the reads in `zeros` are zero."""
    types = [program.array(read.array).type for read in statement.reads]
    written = program.array(statement.write.array).type
    looked_up = [node.index for node in postorder(statement.value) if isinstance(node, Lookup)]
    by_data = any(isinstance(node, Read) for index in looked_up for node in postorder(index))
    if by_data or not all(isinstance(type_, Int) for type_ in (*types, written)):
        return False
    ranges = [(0, 0) if k in zeros else type_range(type_) for k, type_ in enumerate(types)]
    steps, tables = iterator_ranges(statement), table_ranges(program)
    value = narrow_value(converted(statement.value, written), ranges, steps, tables)
    return value == narrow_value(Read(own, written), ranges, steps, tables)
