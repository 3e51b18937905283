"""From a program of parallel arrays to a verified program of loop nests with the same inputs and outputs."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from compiler.frontend.kernel import Typed
from compiler.frontend.nest_memories import TimedStatement, order_of
from compiler.frontend.parallel_array.expression import (
    Assembly,
    Expression,
    Literal,
    Place,
    Reduce,
    Scan,
    Scatter,
    Take,
)
from compiler.frontend.parallel_array.lowering.elements import Element, Loops
from compiler.frontend.parallel_array.lowering.numbers import combined, converted, given_type, identity_of, number_type
from compiler.frontend.parallel_array.lowering.statements import StatementBuilder, Surroundings, entry
from compiler.frontend.parallel_array.lowering.stored import Stored, stored_expressions
from compiler.frontend.parallel_array.program import ArrayProgram
from compiler.ir.expr import Const, Load, Store
from compiler.ir.memory_bounds import with_bounds
from compiler.ir.names import legal_name
from compiler.ir.narrow import narrow
from compiler.ir.program import Array, Memory, Program, Statement
from compiler.ir.types import BIT
from compiler.ir.verify import verify

__all__ = ["loop_nests"]


def loop_nests(program: ArrayProgram) -> Program:
    """`program` as loops: arrays of the same names, shapes and element types (bool: one bit; an array without
    dimensions has one element).

    Raises `ArrayError` for expressions that have no such form, and `ProgramError` as `compiler.ir.verify` does.
    """
    return _Lowering(program).program()


class _Lowering:
    """The work on one program."""

    def __init__(self, source: ArrayProgram) -> None:
        self._source = source
        self._around = Surroundings(used={*source.inputs, *source.outputs})
        self._copies: list[Array] = []
        self._memories: dict[int, tuple[Memory, Array]] = {}
        self._timed: list[TimedStatement] = []

    def program(self) -> Program:
        """All of it."""
        for name, node in self._source.inputs.items():
            self._around.arrays[id(node)] = Array(name, node.shape, given_type(node), "input")
        stored = stored_expressions(self._source.outputs)
        for each in stored.values():
            self._around.arrays[id(each.node)] = self._array(each.node)
        for each in stored.values():
            self._add(each)
        self._add_copies()
        statements = tuple(timed.statement for timed in self._timed)
        filled = self._memories.values()
        arrays = (*self._around.arrays.values(), *self._copies, *(token for _, token in filled))
        memories = tuple(memory for memory, _ in filled)
        tables = tuple(self._around.tables.values())
        found = Program(legal_name(self._source.name), arrays, tables, statements, order_of(self._timed),
                        memories=memories)
        verify(found)
        return with_bounds(narrow(found))

    def _array(self, node: Expression) -> Array:
        names = [name for name, output in self._source.outputs.items() if output is node]
        if names:
            return Array(names[0], node.shape or (1,), number_type(node.dtype), "output")
        name = self._around.new_name(f"array{len(self._around.arrays)}")
        return Array(name, node.shape or (1,), number_type(node.dtype), "intermediate")

    def _add_copies(self) -> None:
        """Outputs that are inputs, or the same as outputs before."""
        for name, node in self._source.outputs.items():
            if self._around.arrays[id(node)].name != name:
                array = Array(name, node.shape or (1,), number_type(node.dtype), "output")
                self._copies.append(array)
                loops = Loops.around(node.shape)
                builder = self._builder(name, loops, node)
                value = builder.value(loops.element(node, loops.identity))
                self._append(builder.store(array, loops.identity, value))

    def _add(self, stored: Stored) -> None:
        """The statements that store an expression."""
        node, array = stored.node, self._around.arrays[id(stored.node)]
        match node:
            case Scatter():
                raise node.location.error("unsupported operation: loops do not scatter arrays as a whole")
            case Reduce():
                self._add_reduction(node, array, stored.parts[0])
            case Scan():
                self._add_scan(node, array, stored.parts)
            case Assembly():
                for part, place in zip(stored.parts, node.places, strict=True):
                    self._store(array, part, _placed(part.loops, place))
            case Take() if not isinstance(node.table, Literal):
                (part,) = stored.parts
                builder = self._builder(array.name, part.loops, node)
                self._append(builder.store(array, part.indices, self._loaded(builder, node, part)))
            case _:
                self._store(array, stored.parts[0], stored.parts[0].indices, computed=True)

    def _store(self, array: Array, part: Element, place: Sequence[isl.PwAff], computed: bool = False) -> None:
        """The statements that give elements of an array, at `place`, the value of `part`."""
        first = len(self._timed)
        for loops in self._around.regions(part, computed):
            builder = self._builder(array.name, loops, part.node)
            value = builder.value(loops.element(part.node, part.indices), computed)
            self._append(builder.store(array, place, value), first)

    def _add_reduction(self, node: Reduce, array: Array, part: Element) -> None:
        """The element that it begins with, and all others combined with it, in the loops around both."""
        outer = part.loops.first(len(node.shape))
        begin = self._builder(f"{array.name}_begin", outer, node)
        place = len(self._timed)
        self._append(begin.store(array, outer.identity, identity_of(node)), place)
        target = part.loops.identity[: len(node.shape)]
        self._accumulate(node, array, part, (target, target), place)

    def _accumulate(self, node: Reduce | Scan, array: Array, part: Element,
                    places: tuple[Sequence[isl.PwAff], Sequence[isl.PwAff]], place: int) -> None:
        """Combine the element of an array at the first of `places` with `part` and store it at the second, in the loops
        around the statement that has `place`."""
        depth = len(places[0]) - isinstance(node, Scan)
        first = place if depth else len(self._timed)
        for loops in self._around.regions(part):
            builder = self._builder(array.name, loops, node)
            term = builder.value(loops.element(part.node, part.indices))
            total = combined(node, builder.read(array, places[0]), term)
            self._append(builder.store(array, places[1], total), first, depth)

    def _add_scan(self, node: Scan, array: Array, parts: tuple[Element, ...]) -> None:
        """The first elements, and each other one combined with the one before, in the loops around both."""
        first, *others = parts
        begin = self._builder(f"{array.name}_begin", first.loops, node)
        place = len(self._timed)
        zero = first.loops.space.constant(0)
        self._append(begin.store(array, (*first.loops.identity, zero), begin.value(first)), place)
        for part in others:
            self._accumulate(node, array, part, (part.loops.identity, part.loops.later), place)

    def _loaded(self, builder: StatementBuilder, node: Take, part: Element) -> Typed:
        """The entry of a table that is an array: a memory, which is filled before."""
        memory, filled = self._memory(node.table)
        (element,) = part.sources
        token = builder.read(filled, (part.loops.space.constant(0),))
        word = Load(memory.name, entry(node, builder.value(element)).expr, (token.expr,), memory.type)
        return converted(Typed(word), node.dtype)

    def _memory(self, table: Expression) -> tuple[Memory, Array]:
        if id(table) not in self._memories:
            array = self._around.arrays[id(table)]
            memory = Memory(self._around.new_name(f"{array.name}_memory"), array.shape[0], array.type, array.name)
            filled = Array(self._around.new_name(f"{array.name}_filled"), (1,), BIT, "intermediate")
            loops = Loops.around(table.shape)
            builder = self._builder(filled.name, loops, table)
            word = builder.read(array, loops.identity)
            store = Store(memory.name, builder.index(loops.identity[0]).expr, word.expr, Const(1, BIT), ())
            self._append(builder.store(filled, (loops.space.constant(0),), Typed(store)))
            self._memories[id(table)] = memory, filled
        return self._memories[id(table)]

    def _builder(self, name: str, loops: Loops, node: Expression) -> StatementBuilder:
        return StatementBuilder(self._around.new_name(f"{name}_value"), loops, node.location, self._around)

    def _append(self, statement: Statement, place: int | None = None, shared: int = 0) -> None:
        """A statement after all others; with `place` in the outer loops of the one that has this place, `shared` many,
        behind it."""
        time: list[int | str] = [len(self._timed) if place is None else place]
        for name in statement.iterators:
            time += [name, 0]
        if shared:
            time[2 * shared] = 1
        self._timed.append(TimedStatement(statement, tuple(time), ()))


def _placed(loops: Loops, place: Place) -> list[isl.PwAff]:
    """Where an element of a part is in the whole."""
    return [index.scale_val(isl.Val(step)).add(loops.space.constant(first))
            for index, first, step in zip(loops.identity, place.first, place.steps, strict=True)]
