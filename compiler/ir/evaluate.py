"""Values of expressions for many iterations at once.

Integers up to 31 bits are computed in int64, where no operation of `hw.ops` can overflow before its result wraps
(the widest result, of a multiply-add or a left shift, has 2 * 31 + 1 bits). Wider ones are computed with Python's
integers in object arrays: slower, and exact too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from compiler.ir.expr import Apply, Cast, Const, Expr, Iterator, Lookup, Read, fold
from compiler.ir.program import Table
from compiler.ir.types import Int, ProgramError, Type
from hw.ops import operation

__all__ = ["TableIndexError", "evaluate", "integer", "storage"]

_NARROW = 31


class TableIndexError(ProgramError):
    """A lookup outside its table. `position` is the first such iteration in the order that was given."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


def integer(type: Type) -> Int:
    """`type` if it is an integer type. Raises `ProgramError` otherwise."""
    if not isinstance(type, Int):
        raise ProgramError(f"values of type {type} cannot be interpreted: only integers are supported")
    return type


def storage(type: Int) -> np.dtype:
    """The dtype in which values of `type` are held during interpretation."""
    return np.dtype(np.int64 if type.width <= _NARROW else object)


def evaluate(
    value: Expr,
    read: Callable[[int], np.ndarray],
    iterators: Mapping[str, np.ndarray],
    tables: Mapping[str, Table],
) -> np.ndarray:
    """`value` for every iteration: an array of shape [iterations] or [1], in the `storage` of its type.

    `read(i)` gives the words of read `i`, `iterators` the columns of the iterators. Raises `TableIndexError`.
    """

    def step(node: Expr, arguments: list[np.ndarray]) -> np.ndarray:
        type = integer(node.type)
        match node:
            case Const(constant, _):
                return np.array([constant], storage(type))
            case Read(index, _):
                return read(index)
            case Iterator(name, _):
                return _wrapped(type, iterators[name])
            case Cast():
                return _wrapped(type, arguments[0])
            case Lookup(table, _, _):
                return _looked_up(tables[table], arguments[0], type)
            case Apply(op, args, _):
                return _applied(op, type, [integer(arg.type) for arg in args], arguments)

    return fold(value, step)


def _wrapped(type: Int, values: np.ndarray) -> np.ndarray:
    """Exact `values` as values of `type`."""
    if storage(type).kind == "O":
        values = values.astype(object, copy=False)
    return np.asarray(type.wrap(values)).astype(storage(type), copy=False)


def _applied(op: str, type: Int, types: list[Int], arguments: list[np.ndarray]) -> np.ndarray:
    """One operation. Its width, which shifts and partial products refer to, is that of its word operands."""
    width = max(argument.width for argument in (*types, type))
    if width > _NARROW:
        arguments = [argument.astype(object, copy=False) for argument in arguments]
    result = operation(op).evaluate(_word_width(op, types), *arguments)
    return _wrapped(type, np.asarray(result))


def _word_width(op: str, types: list[Int]) -> int:
    """Width of the word operands; operations on bits alone have none and ignore it."""
    return 1 if op == "lut3" else max(type.width for type in types)


def _looked_up(table: Table, index: np.ndarray, type: Int) -> np.ndarray:
    outside = np.flatnonzero((index < 0) | (index >= len(table.values)))
    if outside.size:
        first = int(outside[0])
        size = len(table.values)
        raise TableIndexError(f"index {index[first]} is outside table '{table.name}' of {size} entries", first)
    return np.array(table.values, storage(type))[index.astype(np.int64, copy=False)]
