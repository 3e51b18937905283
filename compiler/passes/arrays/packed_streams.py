"""Several elements of a row at a time: all statements as many times, and arrays with wide elements.

A stream moves one element per cycle, whatever the port of main memory takes. Here neighbours along a row come and go in
one wide element, and every statement has as many copies, the *lanes*, as that has elements (what vectorisation is for
processors, or unrolling with arrays partitioned in cycles in high-level synthesis). The copies of a statement that
writes an output are one statement with a wide value; a read of an input takes its bits out of a wide element, which
costs nothing. Where the copies of one wide element do not all exist, as at the end of a row, the others compute
anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce

import islpy as isl

from compiler.analysis.dependences import agree, flow
from compiler.analysis.instance_budget import count_instances
from compiler.ir import expr
from compiler.ir.expr import Apply, Cast, Const, Expr, Read, apply, converted, fold, renumbered, with_children
from compiler.ir.names import fresh_name
from compiler.ir.program import Access, Array, Program, Statement
from compiler.ir.types import Int, ProgramError
from compiler.ir.verify import verify
from compiler.passes.arrays.packed_arrays import PackedArrays, group_map, packed_array, packed_value
from compiler.passes.arrays.stream_lanes import Form, LaneLoop, NotPackableError, StreamLanes, find_lanes, form_of
from compiler.passes.directives.errors import TransformError
from compiler.passes.directives.instances import Renaming, name_inputs
from compiler.passes.directives.legality import check_legal
from compiler.passes.directives.place import Place, order_of_places, places

__all__ = ["most_lanes", "pack_streams"]

_LARGEST = 64
"""Bits of the widest integers in expressions."""


def most_lanes(program: Program, bits: int) -> int:
    """Elements of the program's packed arrays that fit `bits` bits. Raises `NotPackableError`."""
    widths = [program.array(name).type.width for name in find_lanes(program).packed]
    return min(bits, _LARGEST) // max(widths)


def pack_streams(program: Program, lanes: int) -> tuple[Program, PackedArrays]:
    """`program` with `lanes` elements at a time, and how to read and write its arrays. Raises `NotPackableError`, which
    names what is in the way."""
    try:
        found = find_lanes(program)
        if lanes * max(program.array(name).type.width for name in found.packed) > _LARGEST:
            raise NotPackableError(f"{lanes} elements of an array take more than {_LARGEST} bits")
        result = _Packing(_expanded(program, found), found, lanes).run()
    except TransformError as error:
        raise NotPackableError(str(error)) from None
    return result, PackedArrays(program, dict.fromkeys(sorted(found.packed), lanes))


# Arrays with values of one iteration.


def _expanded(program: Program, found: StreamLanes) -> Program:
    """`program` with private arrays as arrays along the lane loop. Raises `NotPackableError` if a value is wanted in
    another iteration."""
    if not found.private:
        return program
    for dependence in flow(program):
        array = program.statement(dependence.sink).reads[dependence.read].array
        if array in found.private and not agree(dependence.relation, found.loops[dependence.sink].number,
                                                found.loops[dependence.source].number):
            raise NotPackableError(f"{program.statement(dependence.sink)} sees '{array}' of another iteration")
    lows, ends = {}, {}
    for statement in program.statements:
        for array in {access.array for access in (*statement.reads, statement.write)} & found.private:
            number = found.loops[statement.name].number
            low, high = statement.domain.dim_min_val(number), statement.domain.dim_max_val(number)
            lows[array] = min(lows.get(array, low.to_python()), low.to_python())
            ends[array] = max(ends.get(array, high.to_python()), high.to_python())

    def access(statement: Statement, one: Access) -> Access:
        if one.array not in found.private:
            return one
        number = found.loops[statement.name].number
        return replace(one, map=_along(one.map, statement, number, lows[one.array]))

    arrays = tuple(replace(a, shape=(*a.shape, ends[a.name] - lows[a.name] + 1)) if a.name in found.private else a
                   for a in program.arrays)
    statements = tuple(replace(s, reads=tuple(access(s, read) for read in s.reads), write=access(s, s.write))
                       for s in program.statements)
    return replace(program, arrays=arrays, statements=statements)


def _along(relation: isl.Map, statement: Statement, number: int, low: int) -> isl.Map:
    """The access with another subscript, the iterator number `number` from `low` on."""
    names = [f"i{k}" for k in range(len(statement.iterators))]
    array = relation.get_tuple_name(isl.dim_type.out)
    last = isl.Map(f"{{ {statement.name}[{', '.join(names)}] -> last[{names[number]} - {low}] }}")
    return relation.flat_range_product(last).set_tuple_name(isl.dim_type.out, array)


# Lanes.


@dataclass(frozen=True)
class _Lane:
    """Copy number `number` of a statement."""

    old: Statement
    loop: LaneLoop
    number: int
    factor: int
    name: str

    @cached_property
    def renaming(self) -> Renaming:
        """From instances of the statement; the iterator of its lane loop counts wide elements."""
        values = [f"n{k}" for k in range(len(self.old.iterators))]
        values[self.loop.number] = f"{self.factor}*{values[self.loop.number]} + {self.number - self.loop.offset}"
        return Renaming(self.old, self.name, self.old.iterators, values)

    def moved(self, form: Form) -> Form:
        """A function of the iterators as one of the new iterators."""
        coefficients, constant = form
        step = coefficients[self.loop.number]
        return (tuple(self.factor * c if k == self.loop.number else c for k, c in enumerate(coefficients)),
                constant + step * (self.number - self.loop.offset))

    def value(self) -> Expr:
        """The value, of the new iterators."""
        return fold(self.old.value, self._node)

    def _node(self, node: Expr, parts: list[Expr]) -> Expr:
        if not isinstance(node, expr.Iterator) or node.name != self.old.iterators[self.loop.number]:
            return with_children(node, parts)
        if not isinstance(node.type, Int):
            raise NotPackableError(f"{self.old}: iterator '{node.name}' has type {node.type}, not an integer")
        factor, first = (Const(node.type.wrap(v), node.type) for v in (self.factor, self.number - self.loop.offset))
        return Apply("add", (Apply("mul", (node, factor), node.type), first), node.type)


class _Packing:
    """One program and its lanes."""

    def __init__(self, program: Program, found: StreamLanes, factor: int) -> None:
        self.program, self.found, self.factor = program, found, factor
        self.places = places(program)
        self.names = program.names

    def run(self) -> Program:
        """The program with lanes, checked."""
        statements: list[Statement] = []
        where: dict[str, Place] = {}
        images: dict[str, list[isl.Map]] = {}
        for old in self.program.statements:
            for number, (new, image) in enumerate(self._copies(old)):
                statements.append(new)
                where[new.name] = self._place(old, new, number)
                images.setdefault(old.name, []).append(image)
        arrays = tuple(packed_array(a, self.factor) if a.name in self.found.packed else a for a in self.program.arrays)
        result = replace(self.program, arrays=arrays, statements=tuple(statements), shared=(),
                         order=order_of_places(tuple(statements), where))
        check_legal(self.program, result, images, f"computing {self.factor} elements at a time")
        _check_whole(result, self.found.packed)
        try:
            verify(result, guarded=True)
        except ProgramError as error:
            raise NotPackableError(str(error)) from None
        return result

    def _copies(self, old: Statement) -> list[tuple[Statement, isl.Map]]:
        """What becomes of a statement, with the images of its instances."""
        loop = self.found.loops.get(old.name)
        if loop is None:
            return [(old, isl.Map.identity(old.domain.get_space().map_from_set()))]
        if old.write.array in self.found.packed:
            lanes = [_Lane(old, loop, number, self.factor, old.name) for number in range(self.factor)]
            return [self._joined([lane for lane in lanes if not lane.renaming.image.is_empty()])]
        lanes = [_Lane(old, loop, number, self.factor, self._fresh(f"{old.name}_{number}"))
                 for number in range(self.factor)]
        return [(self._alone(lane), lane.renaming.image) for lane in lanes if not lane.renaming.image.is_empty()]

    def _fresh(self, name: str) -> str:
        found = fresh_name(name, self.names)
        self.names.add(found)
        return found

    def _place(self, old: Statement, new: Statement, number: int) -> Place:
        """Where a lane stands: as the statement, lanes one after the other inside all of its loops."""
        place = self.places[old.name]
        positions = [self.factor * position for position in place.positions]
        positions[-1] += number
        same = Renaming(old, new.name, old.iterators, [f"n{k}" for k in range(len(old.iterators))])
        return Place(tuple(positions), tuple(same.time(loop) for loop in place.loops))

    def _alone(self, lane: _Lane) -> Statement:
        """One copy, as a statement."""
        reads, new = _Reads(self, [lane]), lane.renaming
        return replace(lane.old, name=lane.name, domain=new.domain, reads=reads.accesses(lane.old.iterators),
                       write=new.access(lane.old.write), value=reads.value(lane))

    def _joined(self, lanes: Sequence[_Lane]) -> tuple[Statement, isl.Map]:
        """All copies as one statement that writes wide elements."""
        old = lanes[0].old
        image = reduce(isl.Map.union, (lane.renaming.image for lane in lanes)).coalesce()
        domain = image.range().coalesce()
        for position, name in enumerate(old.iterators):
            domain = domain.set_dim_name(isl.dim_type.set, position, name)
        reads = _Reads(self, lanes)
        width = self.program.array(old.write.array).type.width
        words = {lane.number: converted(reads.value(lane), Int(width, False)) for lane in lanes}
        written = [self.grouped(lane.renaming.back.apply_range(old.write.map), old.write.array) for lane in lanes]
        write = reduce(isl.Map.union, written).intersect_domain(domain).coalesce()
        return replace(old, domain=domain, reads=reads.accesses(old.iterators), write=replace(old.write, map=write),
                       value=packed_value(words, width, self.factor)), image

    def grouped(self, relation: isl.Map, array: str) -> isl.Map:
        return relation.apply_range(group_map(array, len(self.program.array(array).shape), self.factor))


_Function = tuple[str, tuple[Form, ...]]
"""An array, and its subscripts as functions of the new iterators."""


@dataclass(frozen=True)
class _LaneRead:
    """What a lane reads: element `function` of an array, in the instances of `relation`; its own bits in that begin at
    number `first`."""

    access: Access
    function: _Function
    relation: isl.Map
    first: int


class _Reads:
    """The reads of a new statement that has these lanes, each once: lanes often need the same wide element.

    The last lanes of a row need not exist, and do not say then what they read. So reads are alike if they are the same
    function, or if one is what the other is wherever it is anything: lanes that do not exist are computed from what
    the others read.
    """

    def __init__(self, packing: _Packing, lanes: Sequence[_Lane]) -> None:
        self.packing = packing
        self._seen = {lane.number: [self._seen_by(lane, read) for read in lane.old.reads] for lane in lanes}
        reads: dict[_Function, Access] = {}
        for seen in (seen for lane in self._seen.values() for seen in lane):
            relation = seen.relation.union(reads[seen.function].map) if seen.function in reads else seen.relation
            reads[seen.function] = replace(seen.access, map=relation)
        self._alike = _alike(reads)
        self._taken = {function: reads[function] for function in dict.fromkeys(self._alike.values())}

    def accesses(self, iterators: Sequence[str]) -> tuple[Access, ...]:
        """All reads."""
        return tuple(replace(read, map=name_inputs(read.map.coalesce(), iterators)) for read in self._taken.values())

    def value(self, lane: _Lane) -> Expr:
        """The value of a lane on these reads."""
        packed = self.packing.found.packed
        seen = self._seen[lane.number]
        numbers = [list(self._taken).index(self._alike[one.function]) for one in seen]

        def step(node: Expr, parts: list[Expr]) -> Expr:
            if not isinstance(node, Read) or lane.old.reads[node.index].array not in packed:
                return with_children(node, parts)
            array = self.packing.program.array(lane.old.reads[node.index].array)
            return _bits(Read(node.index, packed_array(array, self.packing.factor).type), seen[node.index].first, array)

        return renumbered(fold(lane.value(), step), numbers.__getitem__)

    def _seen_by(self, lane: _Lane, read: Access) -> _LaneRead:
        """What a lane reads."""
        relation, first = lane.renaming.back.apply_range(read.map), 0
        forms = [lane.moved(form) for form in form_of(lane.old, read)]
        if read.array in self.packing.found.packed:
            relation, first = self.packing.grouped(relation, read.array), self._first(lane, read, forms[-1])
            forms[-1] = _divided(forms[-1], self.packing.factor)
        return _LaneRead(read, (read.array, tuple(forms)), relation.intersect_domain(lane.renaming.domain), first)

    def _first(self, lane: _Lane, read: Access, form: Form) -> int:
        """Where in the wide element of a read its own begins."""
        factor, (coefficients, constant) = self.packing.factor, form
        if any(step % factor for step in coefficients):
            raise NotPackableError(f"{lane.old.label(read)}: which of {factor} neighbours in '{read.array}' it is "
                                   "depends on another loop; unroll that")
        return constant % factor * self.packing.program.array(read.array).type.width


def _alike(reads: Mapping[_Function, Access]) -> dict[_Function, _Function]:
    """For each read the one of most instances that is what it is."""
    most = sorted(reads, key=lambda function: -count_instances(reads[function].map.domain()))
    return {function: next(other for other in most if function[0] == other[0]
                           and read.map.is_subset(reads[other].map)) for function, read in reads.items()}


def _divided(form: Form, factor: int) -> Form:
    """The wide element of a subscript."""
    coefficients, constant = form
    return tuple(step // factor for step in coefficients), constant // factor


def _bits(word: Expr, first: int, array: Array) -> Expr:
    """The element of `array` whose lowest bit in `word` is bit `first`."""
    return Cast(apply("shr", word, Const(first, word.type)) if first else word, array.type)


def _check_whole(program: Program, packed: frozenset[str]) -> None:
    """Raise `NotPackableError` if two instances write to one wide element of an output."""
    for array in program.outputs:
        written = isl.Set.empty(isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, len(array.shape)).set_tuple_name(
            isl.dim_type.set, array.name))
        for statement in program.statements:
            if array.name not in packed or statement.write.array != array.name:
                continue
            own = statement.write.map.intersect_domain(statement.domain)
            if not own.is_injective() or not own.range().is_disjoint(written):
                raise NotPackableError(f"{statement}: others write to the same wide elements of '{array.name}'")
            written = written.union(own.range())
