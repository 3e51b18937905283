"""Whether inputs that the host fills with constants hold what the program would have computed."""

from __future__ import annotations

import islpy as isl
import numpy as np

from compiler.ir.evaluate import evaluate
from compiler.ir.expr import Expr, Iterator, Read, children, postorder, with_children
from compiler.ir.program import Access, Program, Statement, Table
from compiler.passes.arrays.partition import Part, Partition
from compiler.sched.verify.errors import ValidationError

__all__ = ["without_constants"]


def without_constants(partition: Partition, old: Statement, new: Statement) -> tuple[Expr, tuple[Access, ...]]:
    """Value and reads of `new` with every read of a constant as the part of `old` that it stands for.

    Raises `ValidationError` if an element is not the value of that part, for all values of the iterators in it.
    """
    count = len(old.reads)
    if len(new.reads) == count:
        return new.value, new.reads
    for index, part in _replaced(old, new, count):
        _check(partition, old, new, new.reads[index], part)
    return old.value, new.reads[:count]


def _replaced(old: Statement, new: Statement, count: int) -> list[tuple[int, Expr]]:
    """Reads of constants in the new value, with what the old one has there; both are alike everywhere else."""
    found: list[tuple[int, Expr]] = []
    stack = [(old.value, new.value)]
    while stack:
        was, now = stack.pop()
        if isinstance(now, Read) and now.index >= count:
            found.append((now.index, was))
        elif len(children(was)) == len(children(now)) and with_children(was, list(children(now))) == now:
            stack.extend(zip(children(was), children(now), strict=True))
        else:
            raise ValidationError(f"{new} computes something else on arrays in parts")
    return found


def _check(partition: Partition, old: Statement, new: Statement, access: Access, part: Expr) -> None:
    names = {node.name for node in postorder(part) if isinstance(node, Iterator)}
    numbers = [k for k, name in enumerate(old.iterators) if name in names]
    lows = [old.domain.dim_min_val(k).to_python() for k in numbers]
    trips = [old.domain.dim_max_val(k).to_python() - low + 1 for k, low in zip(numbers, lows, strict=True)]
    grid = np.indices(trips).reshape(len(trips), -1)
    columns = {old.iterators[k]: row + low for k, row, low in zip(numbers, grid, lows, strict=True)}
    if any(isinstance(node, Read) for node in postorder(part)):
        raise ValidationError(f"{new.label(access)}: '{access.array}' is to hold what depends on an input")
    wanted = evaluate(part, _none, columns, _tables(partition.original))
    held = _held(partition, access, numbers, grid, lows)
    if held is None or not np.array_equal(held, np.broadcast_to(wanted, held.shape)):
        raise ValidationError(f"{new.label(access)}: '{access.array}' does not hold the values of its constants")


def _none(index: int) -> np.ndarray:
    raise AssertionError(f"read {index}")


def _tables(program: Program) -> dict[str, Table]:
    return {table.name: table for table in program.tables}


def _held(partition: Partition, access: Access, numbers: list[int], grid: np.ndarray,
          lows: list[int]) -> np.ndarray | None:
    """The elements that an access sees, None if they are no constants or depend on other iterators."""
    part = next((part for part in partition.parts if part.name == access.array), None)
    data = partition.constants.get(part.parent if part else access.array)
    function = isl.PwMultiAff.from_map(access.map.coalesce())
    found: list[isl.MultiAff] = []
    function.foreach_piece(lambda _, piece: found.append(piece))
    if data is None or len(found) != 1:
        return None
    index = []
    for k in range(found[0].dim(isl.dim_type.out)):
        column = _column(found[0].get_aff(k), numbers, grid, lows)
        if column is None:
            return None
        index.append(_in_parent(part, k, column))
    return np.asarray(data)[tuple(index)]


def _column(function: isl.Aff, numbers: list[int], grid: np.ndarray, lows: list[int]) -> np.ndarray | None:
    """The values of one index, None if it is no plain sum of the iterators `numbers`."""
    others = [k for k in range(function.dim(isl.dim_type.in_)) if k not in numbers]
    if function.dim(isl.dim_type.div) or any(function.involves_dims(isl.dim_type.in_, k, 1) for k in others):
        return None
    total = np.full(grid.shape[1], function.get_constant_val().to_python(), dtype=np.int64)
    for k, row, low in zip(numbers, grid, lows, strict=True):
        total += function.get_coefficient_val(isl.dim_type.in_, k).to_python() * (row + low)
    return total


def _in_parent(part: Part | None, dimension: int, column: np.ndarray) -> np.ndarray:
    return column if part is None else part.low[dimension] + part.step[dimension] * column
