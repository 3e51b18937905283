"""Which loop of every statement runs along the rows of its arrays, so that neighbours can be computed together.

A statement that writes an output along its rows has the loop of that as its *lane loop*; so has every statement whose
values it reads there. Values that are no longer wanted when the next iteration of the loop begins, as a sum for one
pixel, count as an array along the loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import islpy as isl

from compiler.analysis.affine import affine_form
from compiler.ir.program import Access, Array, Program, Statement
from compiler.ir.types import Int
from compiler.passes.arrays.packed_arrays import PACKED_WIDTHS
from compiler.passes.directives.place import Place, places
from hw.errors import SluiceError

__all__ = ["Form", "LaneLoop", "NotPackableError", "StreamLanes", "find_lanes", "form_of"]

Form = tuple[tuple[int, ...], int]
"""Coefficients of iterators, and a constant."""


class NotPackableError(SluiceError):
    """A program whose arrays cannot be moved several elements at a time, because of `reason`."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"elements of a row cannot be moved several at a time: {reason}; one at a time (lanes=1) can")


@dataclass(frozen=True)
class LaneLoop:
    """Iterator number `number` of a statement; iteration x is in lane ``(x + offset) % lanes``."""

    number: int
    offset: int


@dataclass(frozen=True)
class StreamLanes:
    """The lane loops of statements, by name; `packed`: inputs and outputs that are walked along their rows; `private`:
    arrays whose values are wanted in one iteration of the loop only."""

    loops: dict[str, LaneLoop]
    packed: frozenset[str]
    private: frozenset[str]


def find_lanes(program: Program) -> StreamLanes:
    """The lanes of a program. Raises `NotPackableError`, which names what is in the way."""
    if program.memories:
        raise NotPackableError("there are addresses that data decide")
    return _Finder(program).run()


def form_of(statement: Statement, access: Access) -> list[Form]:
    """The subscripts of an access. Raises `NotPackableError` if they are not affine."""
    function = isl.PwMultiAff.from_map(access.map.intersect_domain(statement.domain))
    forms = [affine_form(function.get_pw_aff(k)) for k in range(function.dim(isl.dim_type.out))]
    found = [form for form in forms if form is not None]
    if len(found) < len(forms):
        raise NotPackableError(f"{statement.label(access)}: its access to '{access.array}' is not one affine function")
    return found


class _Finder:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.places = places(program)
        self.loops: dict[str, LaneLoop] = {}
        self.packed: set[str] = set()
        self.private: set[str] = set()

    def run(self) -> StreamLanes:
        """All lanes, from the outputs back to the inputs."""
        for array in self.program.outputs:
            self._pack(array)
            for writer in self._writers(array.name):
                self._from_write(writer)
        self._check()
        return StreamLanes(self.loops, frozenset(self.packed), frozenset(self.private))

    def _pack(self, array: Array) -> None:
        if not isinstance(array.type, Int) or array.type.width not in PACKED_WIDTHS or not array.shape:
            raise NotPackableError(f"array '{array.name}' has elements of type {array.type}, or no rows")
        self.packed.add(array.name)

    def _writers(self, array: str) -> Iterator[Statement]:
        return (s for s in self.program.statements if s.write.array == array)

    def _from_write(self, writer: Statement, subscript: int = -1) -> None:
        """The lane loop of a writer: what moves its write along this subscript, and along no other."""
        forms = form_of(writer, writer.write)
        moving = [k for k, c in enumerate(forms[subscript][0]) if c]
        others = [form for k, form in enumerate(forms) if k != subscript % len(forms)]
        if len(moving) != 1 or forms[subscript][0][moving[0]] != 1 or any(form[0][moving[0]] for form in others):
            raise NotPackableError(f"{writer.label(writer.write)}: no loop writes '{writer.write.array}' along it")
        self._visit(writer, moving[0], forms[subscript][1])

    def _visit(self, statement: Statement, number: int, offset: int) -> None:
        """`statement` has lanes along iterator `number`; so have those that write what it reads there."""
        known = self.loops.get(statement.name)
        if known is not None:
            if known.number != number:
                raise NotPackableError(f"{statement}: two of its loops move along rows")
            return
        depth = self.places[statement.name].depth_of(number)
        if depth is None:
            raise NotPackableError(f"{statement}: no loop walks '{statement.iterators[number]}' alone")
        together = self._together(statement, depth)
        shared = next((self.loops[s.name].offset for s, _ in together if s.name in self.loops), offset)
        self.loops[statement.name] = LaneLoop(number, shared)
        for read in statement.reads:
            self._from_read(statement, read, number, together)

    def _together(self, statement: Statement, depth: int) -> list[tuple[Statement, int]]:
        """Statements in the same loop, with the iterator of each that walks it."""
        mine = self.places[statement.name]
        found = []
        for other in self.program.statements:
            place = self.places[other.name]
            if other is not statement and _shares(mine, place, depth):
                number = place.iterator(depth)
                if number is None:
                    raise NotPackableError(f"{other}: no iterator walks its loop number {depth} alone")
                found.append((other, number))
        return found

    def _from_read(self, statement: Statement, read: Access, number: int,
                   together: list[tuple[Statement, int]]) -> None:
        array = self.program.array(read.array)
        moving = [k for k, form in enumerate(form_of(statement, read)) if form[0][number]]
        if array.role == "output":
            raise NotPackableError(f"{statement.label(read)} reads output '{array.name}'")
        if not moving:
            self._unmoved(array, together)
        elif array.role == "input":
            if moving != [len(array.shape) - 1]:
                raise NotPackableError(f"{statement.label(read)}: '{array.name}' is not read along its rows")
            self._pack(array)
        else:
            if len(moving) > 1:
                raise NotPackableError(f"{statement.label(read)}: '{array.name}' is read along a diagonal")
            for writer in self._writers(array.name):
                self._from_write(writer, moving[0])

    def _unmoved(self, array: Array, together: list[tuple[Statement, int]]) -> None:
        """An array that a lane loop does not move along: everybody's, or written anew in each iteration."""
        writers = {writer.name for writer in self._writers(array.name)}
        inside = [(s, k) for s, k in together if s.name in writers]
        for writer, number in inside:
            self.private.add(array.name)
            self._visit(writer, number, self.loops.get(writer.name, LaneLoop(0, 0)).offset)

    def _check(self) -> None:
        """Everything in a lane loop has lanes, and what has lanes is accessed by such only."""
        for statement in self.program.statements:
            laned = self.loops.get(statement.name)
            if laned is None:
                touched = {access.array for access in (*statement.reads, statement.write)}
                wrong = touched & (self.packed | self.private)
                if wrong:
                    raise NotPackableError(f"{statement} accesses '{min(wrong)}' in another order")
                continue
            depth = self.places[statement.name].depth_of(laned.number)
            assert depth is not None
            for other, number in self._together(statement, depth):
                known = self.loops.get(other.name)
                if known is None or known.number != number or known.offset != laned.offset:
                    raise NotPackableError(f"{other} and {statement} share a loop and not its lanes")


def _shares(one: Place, other: Place, depth: int) -> bool:
    """Whether two statements are in the same loop number `depth`."""
    return len(other.loops) > depth and one.positions[:depth + 1] == other.positions[:depth + 1]
