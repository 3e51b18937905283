"""Boxes around what a statement does in each turn of a loop, where turns differ in how much they do.

A turn of a decomposition does less than the one before: rows and columns beyond the diagonal. Code of one shape does
all turns if it runs over a box around the iterations of any of them, and a mask says which points of it a turn has.
What says that a point is an iteration are inequalities, in which the number of the turn is a summand: over the points
of the box each takes the values of a table of zeros followed by ones, from a place on that moves with the turn. So
code, masks and the time to find them do not grow with the number of turns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import and_

import islpy as isl
import numpy as np

from compiler.analysis.boxes import bounds
from compiler.bind.vector.iteration_masks import Mask
from compiler.bind.vector.iteration_spaces import Around
from compiler.bind.vector.stepping_boxes import SteppingBox, stepping_box
from compiler.bind.vector.turns import Turns
from compiler.frontend.parallel_array.array import Array, input
from compiler.frontend.parallel_array.views import viewed
from compiler.ir.program import Program, Statement

__all__ = ["MaskTable", "MovingBoxes", "MovingMask", "moving_boxes"]


@dataclass(frozen=True)
class _Inequality:
    """``coefficients . point + step * turn + constant >= 0``; point and turn count from 0."""

    coefficients: tuple[int, ...]
    step: int
    constant: int

    def values(self, sizes: Sequence[int], turns: int) -> tuple[int, int]:
        """The least and the greatest value on the left, for the points of a box in so many turns."""
        moves = [(c, n - 1) for c, n in (*zip(self.coefficients, sizes, strict=True), (self.step, turns))]
        return (self.constant + sum(c * n for c, n in moves if c < 0),
                self.constant + sum(c * n for c, n in moves if c > 0))

    def rising(self) -> tuple[int, ...]:
        """The coefficients, the last of them that is not 0 positive."""
        last = next((c for c in reversed(self.coefficients) if c), 1)
        return self.coefficients if last > 0 else tuple(-c for c in self.coefficients)


@dataclass(frozen=True)
class MaskTable:
    """The elements from `first` on of a constant array of bits, as an input of one dimension with that `name`. Bits are
    read at ``rows . point + offset``, over `sizes` points."""

    name: str
    words: np.ndarray
    first: int
    rows: tuple[int, ...]
    sizes: tuple[int, ...]

    @property
    def axes(self) -> frozenset[int]:
        """The dimensions along which bits change."""
        return frozenset(k for k, c in enumerate(self.rows) if c)

    @property
    def offset(self) -> int:
        """The element that the first point reads."""
        return -sum(c * (n - 1) for c, n in zip(self.rows, self.sizes, strict=True) if c < 0)

    def bits(self) -> Array:
        """The bits of all points, of extent 1 along iterators that do not count."""
        length = 1 + sum(abs(c) * (n - 1) for c, n in zip(self.rows, self.sizes, strict=True))
        whole = input(self.name, length, np.bool_).expression
        return Array(viewed(whole, self.sizes, (self.rows,), (self.offset,), None, whole.location))


@dataclass(frozen=True)
class MovingMask(Mask):
    """The iterations of one turn."""

    boxes: MovingBoxes
    turn: int

    def bits(self) -> Array:
        """Which points are iterations."""
        return reduce(and_, [table.bits() for table in self.tables()])

    def tables(self) -> list[MaskTable]:
        """The tables of bits of which all are 1 for iterations."""
        return [self._table(f"mask__{number}", inequality) for number, inequality in enumerate(self.boxes.open)]

    def _table(self, name: str, inequality: _Inequality) -> MaskTable:
        """A table of all values that the left side takes in any turn: zeros for those below 0, ones for the others."""
        low, high = inequality.values(self.boxes.sizes, self.boxes.turns)
        now = inequality.constant + inequality.step * self.turn
        rows, words, first = inequality.rising(), np.arange(low, high + 1) >= 0, now - low
        if rows != inequality.coefficients:
            words, first = np.ascontiguousarray(words[::-1]), high - now
        sizes = tuple(n if c else 1 for c, n in zip(rows, self.boxes.sizes, strict=True))
        return MaskTable(name, words, first + sum(c * (n - 1) for c, n in zip(rows, sizes, strict=True) if c < 0), rows,
                         sizes)


@dataclass(frozen=True)
class MovingBoxes:
    """Boxes around the iterations of a statement in each of so many `turns` of a loop. `inequalities` hold for
    iterations alone."""

    box: SteppingBox
    turns: int
    inequalities: tuple[_Inequality, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Extents of a box."""
        return self.box.sizes

    @cached_property
    def open(self) -> tuple[_Inequality, ...]:
        """The inequalities that do not hold for some point of some box."""
        return tuple(i for i in self.inequalities if i.values(self.sizes, self.turns)[0] < 0)

    @property
    def is_skewed(self) -> bool:
        """Whether some mask depends on several iterators."""
        return any(sum(c != 0 for c in i.coefficients) > 1 for i in self.open)

    @property
    def points(self) -> int:
        """Points of a box."""
        return int(np.prod(self.sizes, dtype=np.int64))

    def around(self, statement: Statement, turn: int) -> Around:
        """The box of a turn."""
        return Around(self.box.at(statement.domain.get_space(), turn), MovingMask(self, turn))


def moving_boxes(program: Program, statement: Statement, turns: Turns) -> MovingBoxes | None:
    """Boxes around the iterations of a statement in the turns of a loop; None if these are no convex sets that change
    linearly from turn to turn, or if there are none."""
    given = _by_turn(program, statement, turns)
    if given.is_empty():
        return None
    found = given.get_basic_maps()
    if len(found) != 1 or found[0].dim(isl.dim_type.div):
        return None
    box = _box(given)
    return MovingBoxes(box, turns.count, tuple(i for c in found[0].get_constraints() for i in _inequalities(c, box)))


def _by_turn(program: Program, statement: Statement, turns: Turns) -> isl.Map:
    """From turns, counted from 0, to the iterations in them."""
    order = program.order_of(statement.name).intersect_domain(statement.domain).reverse()
    after = order.dim(isl.dim_type.in_) - turns.dimension - 1
    order = order.project_out(isl.dim_type.in_, turns.dimension + 1, after)
    order = order.project_out(isl.dim_type.in_, 0, turns.dimension)
    number = isl.Map(f"{{ [t] -> [t - {turns.low}] : {turns.low} <= t <= {turns.high} }}")
    return order.apply_domain(number).coalesce()


def _box(given: isl.Map) -> SteppingBox:
    """The least box around the iterations in every turn.

    The first iteration of a convex set is a convex function of the turn, the last one a concave one: if those of the
    first two turns that have some and of the last one lie on a line, all do."""
    ((first, last),) = bounds(given.domain())
    turns = list(dict.fromkeys((first, min(first + 1, last), last)))
    return stepping_box(turns, [bounds(_in_turn(given, turn)) for turn in turns], bounds(given.range()))


def _in_turn(given: isl.Map, turn: int) -> isl.Set:
    return given.fix_val(isl.dim_type.in_, 0, isl.Val(turn)).range()


def _inequalities(constraint: isl.Constraint, box: SteppingBox) -> Iterator[_Inequality]:
    """A constraint on turns and iterations as inequalities on points of boxes."""
    own = [constraint.get_coefficient_val(isl.dim_type.out, axis).to_python() for axis in range(len(box.low))]
    step = constraint.get_coefficient_val(isl.dim_type.in_, 0).to_python()
    constant = constraint.get_constant_val().to_python() + sum(c * first for c, first in zip(own, box.low, strict=True))
    step += sum(c * by for c, by in zip(own, box.steps, strict=True))
    yield _Inequality(tuple(own), step, constant)
    if constraint.is_equality():
        yield _Inequality(tuple(-c for c in own), -step, -constant)
