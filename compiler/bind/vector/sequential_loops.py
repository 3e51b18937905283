"""Loops that carry values from turn to turn, as loops of the vector program: arrays stay where they are, in main memory
or on chip (`resident_arrays`), and turns are carried out in blocks.

What a block needs of the blocks before comes first, for all of its turns at once: in the substitution of a triangular
system the rows of a block less what the solved rows contribute, in squares of the matrix. The turns of a block follow,
each on a box around what any of them touches, with a mask. Three blocks, turns or squares of each kind are compiled;
where numbers of the code step from one to the next, and do so up to the last one, they are a loop, so that the code and
the time to find it do not grow with the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import inf, isqrt, prod

import islpy as isl
import numpy as np

from compiler.analysis.accesses import iterators_of
from compiler.analysis.boxes import bounds, extents
from compiler.bind.vector.accumulations import accumulation_of
from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.from_program import given_array
from compiler.bind.vector.ir import Loop, Statement
from compiler.bind.vector.iteration_masks import IterationMask, Mask
from compiler.bind.vector.iteration_spaces import Around, Space
from compiler.bind.vector.loop_reroll import LoopGroup, is_progression, loop_of
from compiler.bind.vector.memory_pieces import PieceCompiler
from compiler.bind.vector.moving_boxes import MovingBoxes, moving_boxes
from compiler.bind.vector.statement_groups import (
    in_time,
    meet_in_some,
    needs_itself,
    read_from_others,
    split_by_order,
    split_by_sources,
    unwritten_arrays,
)
from compiler.bind.vector.statement_order import carrying_turns, singles_of
from compiler.bind.vector.statement_precedence import groups_of
from compiler.bind.vector.stepping_boxes import SteppingBox, stepping_box
from compiler.bind.vector.turns import Turns
from compiler.frontend.parallel_array.array import Array, array_constant
from compiler.ir.expr import Apply, Expr, postorder
from compiler.ir.program import Program
from compiler.ir.program import Statement as ProgramStatement
from compiler.ir.types import Int

__all__ = ["SequentialCode", "Unrolled", "unrolled_form"]

SHORT = 16
"""Turns of a loop of which whole arrays are as well computed in a row."""

DIVISION = 8
"""Instructions for each bit of a quotient."""

MOST_POINTS = 1 << 14
"""Points of the masks of all turns of a block."""

PEELED = 3
"""Turns at the beginning of a loop that may be unlike the others."""

FEW = 4
"""Turns of a loop that are made one by one."""

MOST_SKEWED = 1 << 16
"""Points of a box in which iterations depend on each other, as in a triangle: tiles of it differ, and are made one by
one."""

PARTS = 4
"""Parts of a loop whose iterations do ever less, or ever more: each has boxes of its own size."""

Code = tuple[Statement, ...]
Pairs = Sequence[tuple[ProgramStatement, ProgramStatement]]
"""Statements, each with the same in the turns of the loops around it."""


@dataclass(frozen=True)
class _Place:
    """Where code is made for: the times of the turns around it, and which times agree in them. `unseen`: for each loop
    the times of turns that may get the code of others, without being looked at, as far as they agree with the place in
    the loops inside."""

    times: isl.Set | None = None
    agree: isl.Map | None = None
    unseen: tuple[isl.Set, ...] = ()

    def inside(self, times: isl.Set, agree: isl.Map, *unseen: isl.Set) -> _Place:
        """The same in a turn of another loop."""
        return _Place(times if self.times is None else self.times.intersect(times), self.agreeing(agree),
                      (*(others.intersect(times) for others in self.unseen), *unseen))

    def agreeing(self, agree: isl.Map) -> isl.Map:
        """Times that agree in the turns around it and by `agree`."""
        return agree if self.agree is None else self.agree.intersect(agree)


def _restricted(program: Program, statement: ProgramStatement, place: _Place) -> ProgramStatement:
    """A statement in a turn of the loops around it."""
    if place.times is None:
        return statement
    order = program.order_of(statement.name)
    domain = statement.domain.intersect(order.intersect_range(place.times).domain()).coalesce()
    return replace(statement, domain=domain)


@dataclass(frozen=True)
class Unrolled:
    """What a program is whose loops that carry values from turn to turn are unrolled: about so many `rows`, that is
    statements that run as a whole, and vector instructions, and the statement that takes most of them. `is_long`: there
    are loops of more than `SHORT` iterations inside of as many turns, for which loops are as good."""

    rows: int
    operations: int
    statement: ProgramStatement
    is_long: bool


def unrolled_form(program: Program) -> Unrolled | None:
    """The size of the unrolled form of a program, without making it; None if no loop carries values."""
    found = [group for group in groups_of(program, program.statements) if _carrying(program, group, None) is not None]
    parts = [part for group in found for part in _unrolled(program, group, _Place(), 1)]
    if not parts:
        return None
    most = max(parts, key=lambda part: part.rows + part.operations)
    return Unrolled(sum(part.rows for part in parts), sum(part.operations for part in parts), most.statement,
                    any(part.is_long for part in parts))


def _unrolled(program: Program, statements: Sequence[ProgramStatement], place: _Place,
              times: int) -> Iterator[Unrolled]:
    """The same of statements in one of so many turns of the loops around them: a turn in the middle of each of these
    stands for all."""
    for group in groups_of(program, statements, place.agree):
        turns = _carrying(program, group, place.agree)
        if turns is None or turns.count == 1:
            most = max(prod(high - low + 1 for low, high in bounds(s.domain)) for s in group)
            for statement in group:
                yield Unrolled(times, times * _operations(statement.value), statement, min(times, most) > SHORT)
            continue
        space, middle = program.order_of(group[0].name).range().get_space(), turns.count // 2
        inner = place.inside(turns.part(space, middle, middle), turns.same(space, 1))
        now = [_restricted(program, s, inner) for s in group]
        now = [s for s in now if not s.domain.is_empty()]
        yield from _unrolled(program, now, inner, times * turns.count)


def _carrying(program: Program, group: Sequence[ProgramStatement], agree: isl.Map | None) -> Turns | None:
    """The loop that carries values between statements of a group, of turns that agree; None if there is none."""
    carries = len(group) > 1 or needs_itself(program, group[0], agree)
    return carrying_turns(program, group, agree) if carries else None


def _operations(value: Expr) -> int:
    """Vector instructions of a value, about: a division takes some for every bit."""
    return sum(DIVISION * node.type.width if node.op in ("div", "rem") and isinstance(node.type, Int) else 1
               for node in postorder(value) if isinstance(node, Apply))


@dataclass(frozen=True)
class _RowMask(Mask):
    """The bits of a turn, of a table with those of all turns."""

    table: Array
    row: int

    def bits(self) -> Array:
        """Which points are iterations."""
        return self.table[self.row]


@dataclass(frozen=True)
class _Boxes:
    """Boxes around the iterations of a statement in the turns of a block. `table`: the iterations in every turn."""

    box: SteppingBox
    table: Array

    def around(self, statement: ProgramStatement, turn: int) -> Around:
        """The box of a turn."""
        return Around(self.box.at(statement.domain.get_space(), turn), _RowMask(self.table, turn))


_BoxesOf = Mapping[int, _Boxes | MovingBoxes]
"""Boxes around the iterations of statements, by the identity of these."""


@dataclass
class SequentialCode:
    """Makes the code of a program. `in_parts`: instances of a turn that come before and behind what it changes are
    computed as wholes; `has_parts`: some were. Raises `VectorTargetError` where turns of a loop are not alike, and for
    more than `most` pieces."""

    pieces: PieceCompiler
    in_parts: bool = True
    most: float = inf
    has_parts: bool = field(default=False, init=False)

    @property
    def program(self) -> Program:
        """What it is made of."""
        return self.pieces.program

    def body(self) -> Code:
        """All of it."""
        given = {array.name for array in self.program.inputs}
        for statement in self.program.statements:
            if statement.write.array in given:
                raise VectorTargetError(f"{statement}: it writes input {statement.write.array}")
        zeros = self.pieces.zeros(unwritten_arrays(self.program))
        return zeros + self._sequence(self.program.statements, _Place())

    # Statements in order.

    def _sequence(self, statements: Sequence[ProgramStatement], place: _Place,
                  boxes: _BoxesOf | None = None, turn: int = 0) -> Code:
        """The code of statements in a turn of the loops around them. `boxes`: around the iterations of some, by their
        identity, in the turns of the innermost one; `turn` is the number of this one."""
        found: list[Statement] = []
        waiting: list[ProgramStatement] = []
        wholes: list[ProgramStatement] = []
        around: dict[int, Around] = {}

        def flush() -> None:
            if waiting:
                found.extend(self._piece(waiting, around))
                waiting.clear()
                wholes.clear()
                around.clear()  # with the statements that its keys are the identities of

        for group in groups_of(self.program, statements, place.agree):
            if len(group) > 1 or needs_itself(self.program, group[0], place.agree):
                flush()
                found += self._loop(group, place)
                continue
            (statement,) = group
            now = _restricted(self.program, statement, place)
            if self._are_unlike(wholes, statement, place):
                flush()
            if boxes and (box := boxes.get(id(statement))) is not None:
                alone = isinstance(box, MovingBoxes)  # what others see of a part of a box differs from turn to turn
                if alone:
                    flush()
                around[id(now)] = box.around(now, turn)
                waiting.append(now)
                wholes.append(statement)
                if alone:
                    flush()
            elif not now.domain.is_empty() and (chunks := self._chunks(statement, now, place)):
                flush()
                found += chunks
            elif not now.domain.is_empty():
                waiting += singles_of(self.program, now)
                wholes.append(statement)
        flush()
        return tuple(found)

    def _are_unlike(self, earlier: Sequence[ProgramStatement], statement: ProgramStatement, place: _Place) -> bool:
        """Whether a statement needs what `earlier` ones make in some turns that are not looked at, but not in all."""
        return place.agree is not None and any(meet_in_some(self.program, other, statement, place.agree, times)
                                               for other in earlier for times in place.unseen)

    def _piece(self, statements: Sequence[ProgramStatement], around: Mapping[int, Around]) -> Code:
        """The code of statements that can each run as a whole."""
        if len(self.pieces.choices) >= self.most:
            raise VectorTargetError(f"{statements[0]}: the program has more than {self.most} pieces")

        def space_of(statement: ProgramStatement) -> Space:
            return Space(statement, around.get(id(statement)))

        for statement in statements:
            space = space_of(statement)
            if space.folds() or (accumulation_of(self.program, statement) is None and space.repeats()):
                raise VectorTargetError(f"{statement}: it writes an element more than once in an iteration of a loop "
                                        "with a loop-carried dependence")
        try:
            return self.pieces.code(statements, space_of)
        except VectorTargetError:
            if len(statements) == 1:
                raise
            # Each may read what those before have stored.
            return tuple(s for statement in statements for s in self.pieces.code([statement], space_of))

    # Loops.

    @property
    def _block(self) -> int:
        """Turns of a block: a square of elements takes a quarter of the scratchpad at most."""
        size = max(given_array(array, f"array {array.name}").dtype.itemsize for array in self.program.arrays)
        return min(64, 1 << (isqrt(self.pieces.spec.capacity // (4 * size)).bit_length() - 1))

    def _loop(self, group: Sequence[ProgramStatement], place: _Place) -> Code:
        pairs = self._inside(group, place)
        if not pairs:
            return ()
        group, now = [s for s, _ in pairs], [n for _, n in pairs]
        turns = carrying_turns(self.program, now, place.agree)
        if turns.count == 1:
            return self._piece(in_time(self.program, now), {})
        if turns.count > 2 * self._block and self._feeds_blocks(group, place, turns):
            return self._blocks(group, place, turns)
        if self.in_parts:
            pairs = self._inside(self._split(group, place, turns), place)
            group = [s for s, _ in pairs]
        boxes = self._around(pairs, turns)
        if not any(isinstance(box, MovingBoxes) for box in boxes.values()):
            return self._alike(group, place, turns, boxes)
        return tuple(s for part in turns.divided(PARTS) for s in self._part(group, place, part))

    def _inside(self, group: Sequence[ProgramStatement], place: _Place) -> Pairs:
        """Statements that have instances in the turns of the loops around them, with these."""
        pairs = [(s, _restricted(self.program, s, place)) for s in group]
        return [(s, now) for s, now in pairs if not now.domain.is_empty()]

    def _split(self, group: Sequence[ProgramStatement], place: _Place, turns: Turns) -> list[ProgramStatement]:
        """Statements of a loop, those that need themselves within a turn in parts that do not."""
        agree = place.agreeing(turns.same(self._time_space(), 1))
        parts = [part for statement in group for part in split_by_order(self.program, statement, agree)]
        self.has_parts |= len(parts) > len(group)
        return parts

    def _part(self, group: Sequence[ProgramStatement], place: _Place, turns: Turns) -> Code:
        """Some of the turns of a loop, with boxes of their own."""
        space = self._time_space()
        pairs = self._inside(group, place.inside(turns.part(space, 0, turns.count - 1), isl.Map.universe(
            isl.Space.map_from_domain_and_range(space, space))))
        return self._alike([s for s, _ in pairs], place, turns, self._all_moving(pairs, turns)) if pairs else ()

    def _alike(self, group: Sequence[ProgramStatement], place: _Place, turns: Turns, boxes: _BoxesOf) -> Code:
        """The turns of a loop, with boxes around the iterations of some statements."""
        space = self._time_space()
        agree, unseen = turns.same(space, 1), turns.part(space, 2, turns.count - 2)

        def code(turn: int, masked: bool) -> Code:
            inner = place.inside(turns.part(space, turn, turn), agree, unseen)
            return self._sequence(group, inner, boxes if masked else None, turn)

        return self._turns(code, turns.count, group[0])

    def _around(self, pairs: Pairs, turns: Turns) -> _BoxesOf:
        """Boxes around the iterations of statements, by the identity of those that need them: if one has boxes that
        move all have."""
        if turns.count > 2 * self._block:
            return self._all_moving(pairs, turns)
        found = {id(s): self._boxes(s, now, turns) for s, now in pairs}
        if any(isinstance(boxes, MovingBoxes) for boxes in found.values()):
            return self._all_moving(pairs, turns)
        return {name: boxes for name, boxes in found.items() if boxes is not None}

    def _all_moving(self, pairs: Pairs, turns: Turns) -> _BoxesOf:
        """The same with boxes that move for all that need some."""
        found = [(id(s), self._moving_boxes(s, now, turns)) for s, now in pairs]
        return {name: boxes for name, boxes in found if boxes is not None}

    def _feeds_blocks(self, group: Sequence[ProgramStatement], place: _Place, turns: Turns) -> bool:
        """Whether turns write as much as others, and even the last one of a block accumulates over what other blocks
        have made."""
        space, block = self._time_space(), self._block
        inside = place.agreeing(turns.same(space, block))
        first, last = (place.inside(turns.part(space, turn, turn), inside) for turn in (block, 2 * block - 1))
        return all(self._writes_as_much(s, first, last) for s in group) and \
            any(self._accumulates_others(group, s, last, inside) for s in group)

    def _writes_as_much(self, statement: ProgramStatement, first: _Place, last: _Place) -> bool:
        """Whether the iterators that move along what a statement writes take as many values in two turns."""
        found = [_restricted(self.program, statement, place).domain for place in (first, last)]
        if any(domain.is_empty() for domain in found):
            return all(domain.is_empty() for domain in found)
        one, other = map(extents, found)
        return all(one[k] == other[k] for k in iterators_of(statement.write))

    def _accumulates_others(self, group: Sequence[ProgramStatement], statement: ProgramStatement, place: _Place,
                            agree: isl.Map) -> bool:
        """Whether a statement accumulates, in a place, over what instances of the group have made that do not agree."""
        own, arrays = accumulation_of(self.program, statement), {s.write.array for s in group}
        if own is None or all(r.array not in arrays for n, r in enumerate(statement.reads) if n != own.read):
            return False
        far = read_from_others(self.program, group, statement, agree)
        return not _restricted(self.program, replace(statement, domain=far), place).domain.is_empty()

    def _time_space(self) -> isl.Space:
        return self.program.order_of(self.program.statements[0].name).range().get_space()

    def _blocks(self, group: Sequence[ProgramStatement], place: _Place, turns: Turns) -> Code:
        """The code of a loop block by block; the last one may be shorter."""
        block, space = self._block, self._time_space()
        same = turns.same(space, block)
        parts = split_by_sources(self.program, group, place.agreeing(same))
        whole, rest = divmod(turns.count, block)
        unseen = turns.part(space, 2 * block, (whole - 1) * block - 1)

        @cache
        def made(number: int) -> Code:
            times = turns.part(space, number * block, min((number + 1) * block, turns.count) - 1)
            return self._sequence(parts, place.inside(times, same, unseen))

        def code(number: int, masked: bool) -> Code:
            return made(number)

        return self._turns(code, whole, group[0]) + (code(whole, False) if rest else ())

    def _turns(self, code: Callable[[int, bool], Code], count: int, statement: ProgramStatement) -> Code:
        """The turns of a loop, of which the code of each is known: as a loop where they are alike."""
        code = cache(code)
        found: Code = ()
        for first in range(min(count, PEELED + 1)):
            for end in (count, count - 1):
                if end - first > FEW and (loop := _progression(lambda number: code(number, True), first, end)):
                    return (*found, loop, *(code(end, False) if end < count else ()))
            found += code(first, False)
        if count > PEELED + 1 + FEW:
            raise VectorTargetError(f"{statement}: the iterations of a loop with a loop-carried dependence are not "
                                    "alike")
        return (*found, *(s for number in range(PEELED + 1, count) for s in code(number, False)))

    # Boxes around iterations.

    def _boxes(self, statement: ProgramStatement, now: ProgramStatement, turns: Turns
               ) -> _Boxes | MovingBoxes | None:
        """Boxes of one size around the iterations in every turn; None if these are such boxes."""
        space, order = self._time_space(), self.program.order_of(statement.name)
        domains = [now.domain.intersect(order.intersect_range(turns.part(space, t, t)).domain())
                   for t in range(turns.count)]
        found = {turn: bounds(domain) for turn, domain in enumerate(domains) if not domain.is_empty()}
        whole = [(min(low for low, _ in ends), max(high for _, high in ends))
                 for ends in zip(*found.values(), strict=True)]
        box = stepping_box([*found], [*found.values()], whole)
        if all(domain.is_equal(box.at(domain.get_space(), turn)) for turn, domain in enumerate(domains)):
            return None
        if turns.count * prod(box.sizes) > MOST_POINTS:
            return self._moving_boxes(statement, now, turns)
        table = np.stack([IterationMask(domain, box.first(turn), box.sizes).table() if turn in found else
                          np.zeros(box.sizes, np.bool_) for turn, domain in enumerate(domains)])
        return _Boxes(box, array_constant(table))

    def _moving_boxes(self, statement: ProgramStatement, now: ProgramStatement, turns: Turns) -> MovingBoxes | None:
        """The same in any number of turns."""
        found = moving_boxes(self.program, now, turns)
        if found is None:
            raise VectorTargetError(f"{statement}: its instances in the iterations of a loop with a loop-carried "
                                    "dependence are of different shape")
        if found.is_skewed and found.points > MOST_SKEWED:
            raise VectorTargetError(
                f"{statement}: its instances in an iteration of a loop with a loop-carried dependence are a triangle "
                f"in a box of {found.points} points; the vector target masks triangles of up to {MOST_SKEWED}")
        return found if found.open else None

    # Accumulating over what grows from block to block.

    def _chunks(self, statement: ProgramStatement, now: ProgramStatement, place: _Place) -> Code:
        """The code of a statement that accumulates, over one part after the other of an iterator that takes more or
        fewer values in other turns; empty if there is no such iterator."""
        block = self._block
        moving = [] if place.times is None else \
            [k for k in range(len(now.iterators)) if self._grows(statement, now, k)]
        if len(moving) != 1 or moving[0] in iterators_of(statement.write) or now.box() is None:
            return ()
        (axis,) = moving
        low, high = bounds(now.domain)[axis]
        count, rest = divmod(high - low + 1, block)

        def part(first: int, last: int) -> Code:
            domain = now.domain.lower_bound_val(isl.dim_type.set, axis, isl.Val(first))
            domain = domain.upper_bound_val(isl.dim_type.set, axis, isl.Val(last))
            return self._piece(singles_of(self.program, replace(now, domain=domain)), {})

        def code(number: int) -> Code:
            return part(low + rest + number * block, low + rest + (number + 1) * block - 1)

        start = part(low, low + rest - 1) if rest else ()
        if count < 3:
            return (*start, *(s for number in range(count) for s in code(number)))
        if (loop := _progression(code, 0, count)) is None:
            raise VectorTargetError(f"{statement}: the parts of a sum are not alike")
        return (*start, loop)

    def _grows(self, statement: ProgramStatement, now: ProgramStatement, axis: int) -> bool:
        """Whether an iterator takes more or fewer values in other turns than now."""
        low, high = bounds(statement.domain)[axis]
        first, last = bounds(now.domain)[axis]
        others = [k for k in range(len(now.iterators)) if k != axis]
        return (low, high) != (first, last) and bool(others) and not _moves(statement, now, axis)


def _progression(code: Callable[[int], Code], first: int, end: int) -> Loop | None:
    """The turns of a loop from the first one up to an end; None if their numbers do not step."""
    one, two, last = (LoopGroup(code(number)) for number in (first, first + 1, end - 1))
    return loop_of([one], [two], end - first) if is_progression(one, two, last, end - 1 - first) else None


def _moves(statement: ProgramStatement, now: ProgramStatement, axis: int) -> bool:
    """Whether the values of an iterator now are none of those in other turns."""
    first, last = bounds(now.domain)[axis]
    rest = statement.domain.subtract(now.domain)
    inside = rest.lower_bound_val(isl.dim_type.set, axis, isl.Val(first))
    return inside.upper_bound_val(isl.dim_type.set, axis, isl.Val(last)).is_empty()
