"""The iterations of statements as index spaces of arrays, and where in an array they write."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl
import numpy as np

from compiler.analysis.boxes import bounds
from compiler.bind.vector.affine_pieces import parts_of
from compiler.bind.vector.array_state import Written
from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.iteration_masks import IterationMask, Mask
from compiler.bind.vector.residue_splitting import MOST_CLASSES, divided_sum, rounded_parts
from compiler.frontend.parallel_array.array import Array, array_constant
from compiler.frontend.parallel_array.expression import Place
from compiler.frontend.parallel_array.functions import broadcast_to
from compiler.ir.program import Access, Statement

__all__ = ["Around", "Rows", "Space", "Target"]

Rows = list[tuple[tuple[int, ...], int, int]]
"""Per dimension of an array: coefficients of the iterators, constant, and what the sum is divided by."""


@dataclass(frozen=True)
class Around:
    """A box around the iterations of a statement that it runs over instead; `mask` says which points of it they are."""

    box: isl.Set
    mask: Mask


class Space:
    """The iterations of a statement as an index space from 0. Where they are no box, the space is the least box around
    them, or one that is given, and `mask` says which of its points they are."""

    def __init__(self, statement: Statement, around: Around | None = None) -> None:
        self.statement = statement
        self.domain = domain = around.box if around else statement.domain
        ends = bounds(domain)
        self.low, self.sizes = [low for low, _ in ends], [high - low + 1 for low, high in ends]
        whole = around is not None or statement.box() is not None
        self.mask: Mask | None = around.mask if around else None
        if not whole:
            self.mask = IterationMask(domain, tuple(self.low), tuple(self.sizes))

    def rows(self, statement: Statement, access: Access) -> Rows:
        """The affine functions of an access, counted from the first iteration."""
        parts = parts_of(access, self.domain)
        if len(parts) != 1:
            raise VectorTargetError(f"{statement.label(access)}: the access to {access.array} changes from iteration "
                                    "to iteration")
        return self.rows_of(statement, access, parts[0][1])

    def rows_of(self, statement: Statement, access: Access, index: isl.MultiAff) -> Rows:
        """The same for an access of which `index` is known."""
        return [self._row(statement, access, index.get_aff(i)) for i in range(index.dim(isl.dim_type.out))]

    def folds(self) -> bool:
        """Whether several loops move along one dimension of the written array, as in loops over tiles."""
        return any(sum(c != 0 and n > 1 for c, n in zip(row, self.sizes, strict=True)) > 1
                   for row, *_ in self.rows(self.statement, self.statement.write))

    def repeats(self) -> bool:
        """Whether the points along some loop write one element, as those beside skewed tiles do."""
        rows = [row for row, *_ in self.rows(self.statement, self.statement.write)]
        return any(n > 1 and not any(row[k] for row in rows) for k, n in enumerate(self.sizes))

    def reduced(self) -> tuple[int, ...]:
        """The loops along which all points write one element."""
        rows = [row for row, *_ in self.rows(self.statement, self.statement.write)]
        return tuple(k for k, n in enumerate(self.sizes) if n == 1 or not any(row[k] for row in rows))

    def _row(self, statement: Statement, access: Access, aff: isl.Aff) -> tuple[tuple[int, ...], int, int]:
        divisor = 1
        if (total := divided_sum(aff)) is not None:
            aff = total
            divisor = aff.get_denominator_val().to_python()
            aff = aff.scale_val(isl.Val(divisor))
        if rounded_parts(aff) or aff.get_denominator_val().to_python() != 1:
            raise VectorTargetError(f"{statement.label(access)}: the index {aff} of {access.array} is neither affine "
                                    "nor an affine expression divided by a number, nor periodic with a period of "
                                    f"up to {MOST_CLASSES} iterations")
        row = tuple(aff.get_coefficient_val(isl.dim_type.in_, k).to_python() for k in range(len(self.sizes)))
        offset = aff.get_constant_val().to_python() + sum(c * low for c, low in zip(row, self.low, strict=True))
        return row, offset, divisor

    def index(self, name: str) -> Array:
        """The values of an iterator."""
        place = self.statement.iterators.index(name)
        values = np.arange(self.low[place], self.low[place] + self.sizes[place], dtype=np.int32)
        shape = [1] * len(self.sizes)
        shape[place] = self.sizes[place]
        return array_constant(values.reshape(shape))

    def spread(self, value: Array) -> Array:
        """A value for every iteration."""
        return broadcast_to(value, self.sizes)


class Target:
    """Where a statement writes: per dimension of the array an iterator with a step, or a fixed index."""

    def __init__(self, space: Space, statement: Statement) -> None:
        rows = space.rows(statement, statement.write)
        self.offsets = [o for _, o, _ in rows]
        self.axes: list[int | None] = []
        self.steps: list[int] = []
        for row, _, divisor in rows:
            used = [k for k, c in enumerate(row) if c and space.sizes[k] > 1]
            if divisor > 1 or len(used) > 1 or (used and used[0] in self.axes):
                raise VectorTargetError(f"{statement}: it writes {statement.write.array} neither row by row nor in "
                                        "steps")
            self.axes.append(used[0] if used else None)
            self.steps.append(row[used[0]] if used else 1)
        self.kept = [k for k in range(len(space.sizes)) if k in self.axes]
        self.reduced = tuple(k for k in range(len(space.sizes)) if k not in self.axes)

    def placed(self, value: Array) -> Written:
        """Where `value`, of all iterations or of those that are kept, is written."""
        if value.ndim > len(self.kept):
            value = value[tuple(slice(None) if k in self.kept else 0 for k in range(value.ndim))]
        order = [self.kept.index(a) for a in self.axes if a is not None]
        value = value.transpose(*order) if order else value
        value = value[tuple(None if a is None else slice(None, None, -1 if s < 0 else 1)
                            for a, s in zip(self.axes, self.steps, strict=True))]
        starts = [o + s * (n - 1) if s < 0 else o
                  for o, s, n in zip(self.offsets, self.steps, value.shape, strict=True)]
        return Written(value, Place(tuple(starts), tuple(abs(s) for s in self.steps)))
