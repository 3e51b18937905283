"""Several elements of a row at a time: all statements as many times, and arrays with wide elements.

A stream moves one element per cycle, whatever the port of main memory takes. Here neighbours along a row come and go in
one wide element, and every statement has as many copies, the *lanes*, as that has elements (what vectorisation is for
processors, or unrolling with arrays partitioned in cycles in high-level synthesis). The copies of a statement that
writes an output are one statement with a wide value; a read of an input takes its bits out of a wide element, which
costs nothing. Where the copies of one wide element do not all exist, as at the end of a row, the others compute
anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce

import islpy as isl

from compiler.analysis.affine import affine_form
from compiler.analysis.dependences import agree, flow
from compiler.ir import expr
from compiler.ir.expr import Apply, Cast, Const, Expr, Read, apply, converted, fold, renumbered, with_children
from compiler.ir.names import fresh_name
from compiler.ir.program import Access, Array, Program, Statement
from compiler.ir.types import Int, ProgramError
from compiler.ir.verify import verify
from compiler.passes.arrays.packed_arrays import PackedArrays, group_map, packed_array, packed_value
from compiler.passes.arrays.stream_lanes import LaneLoop, NotPackableError, StreamLanes, find_lanes, form_of
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
        reads = _Reads(self)
        value = reads.of(lane)
        new = lane.renaming
        return replace(lane.old, name=lane.name, domain=new.domain, reads=reads.accesses(new.domain, lane.old),
                       write=new.access(lane.old.write), value=value)

    def _joined(self, lanes: Sequence[_Lane]) -> tuple[Statement, isl.Map]:
        """All copies as one statement that writes wide elements."""
        old = lanes[0].old
        image = reduce(isl.Map.union, (lane.renaming.image for lane in lanes)).coalesce()
        domain = image.range().coalesce()
        for position, name in enumerate(old.iterators):
            domain = domain.set_dim_name(isl.dim_type.set, position, name)
        reads = _Reads(self)
        width = self.program.array(old.write.array).type.width
        words = {lane.number: converted(reads.of(lane), Int(width, False)) for lane in lanes}
        written = [self._grouped(lane.renaming.back.apply_range(old.write.map), old.write.array) for lane in lanes]
        write = reduce(isl.Map.union, written).intersect_domain(domain).coalesce()
        return replace(old, domain=domain, reads=reads.accesses(domain, old), write=replace(old.write, map=write),
                       value=packed_value(words, width, self.factor)), image

    def _grouped(self, relation: isl.Map, array: str) -> isl.Map:
        return relation.apply_range(group_map(array, len(self.program.array(array).shape), self.factor))


class _Reads:
    """The reads of a new statement, each once: lanes often need the same wide element."""

    def __init__(self, packing: _Packing) -> None:
        self.packing = packing
        self._found: dict[tuple[str, str], tuple[Access, isl.Map]] = {}

    def of(self, lane: _Lane) -> Expr:
        """The value of a lane on these reads."""
        numbers, bits = {}, {}
        for k, read in enumerate(lane.old.reads):
            numbers[k], bits[k] = self._number(lane, read)
        packed = self.packing.found.packed

        def step(node: Expr, parts: list[Expr]) -> Expr:
            if not isinstance(node, Read) or lane.old.reads[node.index].array not in packed:
                return with_children(node, parts)
            array = self.packing.program.array(lane.old.reads[node.index].array)
            return _taken(Read(node.index, packed_array(array, self.packing.factor).type), bits[node.index], array)

        return renumbered(fold(lane.value(), step), numbers.__getitem__)

    def _number(self, lane: _Lane, read: Access) -> tuple[int, int]:
        """Number of a read among those of the new statement, and its lowest bit."""
        renaming, first = lane.renaming, 0
        relation = renaming.back.apply_range(read.map)
        if read.array in self.packing.found.packed:
            relation, first = self._wide(lane, read)
        key = read.array, _text(relation, renaming.domain)
        known = self._found.get(key)
        domain = relation.intersect_domain(renaming.domain)
        self._found[key] = (known[0], known[1].union(domain)) if known else (read, domain)
        return list(self._found).index(key), first

    def _wide(self, lane: _Lane, read: Access) -> tuple[isl.Map, int]:
        """The wide element of a read, and where in it the read's own begins."""
        factor = self.packing.factor
        coefficients, constant = form_of(lane.old, read)[-1]
        steps = list(coefficients)
        constant += steps[lane.loop.number] * (lane.number - lane.loop.offset)
        steps[lane.loop.number] *= factor
        if any(step % factor for step in steps):
            raise NotPackableError(f"{lane.old.label(read)}: which of {factor} neighbours in '{read.array}' it is "
                                   "depends on another loop; unroll that")
        back = lane.renaming.back.apply_range(read.map)
        width = self.packing.program.array(read.array).type.width
        return self.packing._grouped(back, read.array), constant % factor * width

    def accesses(self, domain: isl.Set, statement: Statement) -> tuple[Access, ...]:
        """All reads."""
        return tuple(replace(read, map=name_inputs(relation.coalesce(), statement.iterators)) for read, relation
                     in self._found.values())


def _text(relation: isl.Map, domain: isl.Set) -> str:
    """The function of a relation, whatever its domain."""
    function = isl.PwMultiAff.from_map(relation.intersect_domain(domain))
    forms = []
    for k in range(function.dim(isl.dim_type.out)):
        form = affine_form(function.get_pw_aff(k))
        forms.append(str(form) if form else str(relation))
    return str(forms)


def _taken(word: Expr, first: int, array: Array) -> Expr:
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
