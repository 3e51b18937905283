"""Values of expressions for many iterations at once.

Integers up to 31 bits are computed in int64, where no operation of `hw.ops` can overflow before its result wraps
(the widest result, of a multiply-add or a left shift, has 2 * 31 + 1 bits). Wider ones are computed with Python's
integers in object arrays: slower, and exact too. Floating-point numbers: `compiler.ir.floating`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from compiler.ir.expr import Apply, Cast, Const, Expr, Iterator, Load, Lookup, Read, Store, fold
from compiler.ir.floating import apply_float, decode, from_integers, rounded, to_integers
from compiler.ir.program import Table
from compiler.ir.types import Float, Int, ProgramError, Type
from hw.ops import operation

__all__ = ["Memories", "TableIndexError", "constant_words", "evaluate", "integer", "storage", "word_type"]

_NARROW = 31


class Memories(Protocol):
    """What loads and stores work on; a position of their arguments is an iteration, in the order of execution. `after`:
    what they have waited for."""

    def load(self, node: Load, index: np.ndarray, after: Sequence[np.ndarray]) -> np.ndarray:
        """The words at `index`."""
        ...

    def store(self, node: Store, index: np.ndarray, value: np.ndarray, enable: np.ndarray,
              after: Sequence[np.ndarray]) -> np.ndarray:
        """Write `value` to the words at `index` where `enable` is not 0; of equal ones the last counts. The result of
        the store."""
        ...


class TableIndexError(ProgramError):
    """A lookup outside its table, or an access outside its memory. `positions` are the iterations that do one, in the
    order that was given."""

    def __init__(self, message: str, positions: np.ndarray) -> None:
        super().__init__(message)
        self.positions = positions


def integer(type: Type) -> Int:
    """`type` if it is an integer type. Raises `ProgramError` otherwise."""
    if not isinstance(type, Int):
        raise ProgramError(f"values of type {type} are no integers")
    return type


def word_type(type: Type) -> Int:
    """The integers that hold the bits of values of `type`: an integer type itself. Raises `ProgramError` for others
    than integers and floating-point numbers."""
    return Int(type.width, False) if isinstance(type, Float) else integer(type)


def storage(type: Type) -> np.dtype:
    """The dtype in which values of `type` are held during interpretation. Raises `ProgramError` if it has none."""
    if isinstance(type, Float) and type.computable:
        return type.dtype
    if not isinstance(type, Int):
        raise ProgramError(f"values of type {type} cannot be interpreted: only integers and floating-point numbers "
                           "within float11.52 are supported")
    return np.dtype(np.int64 if type.width <= _NARROW else object)


def evaluate(
    value: Expr,
    read: Callable[[int], np.ndarray],
    iterators: Mapping[str, np.ndarray],
    tables: Mapping[str, Table],
    memories: Memories | None = None,
) -> np.ndarray:
    """`value` for every iteration: an array of shape [iterations] or [1], in the `storage` of its type.

    `read(i)` gives the words of read `i`, `iterators` the columns of the iterators; `memories` are accessed. Raises
    `TableIndexError`.
    """

    def step(node: Expr, arguments: list[np.ndarray]) -> np.ndarray:
        match node:
            case Const(constant, type):
                return constant_words(type, (constant,))
            case Read(index, _):
                return read(index)
            case Iterator(name, type):
                return _wrapped(integer(type), iterators[name])
            case Cast(arg, type):
                return _converted(arg.type, type, arguments[0])
            case Lookup(table, _, type):
                return _looked_up(tables[table], arguments[0], type)
            case Load():
                assert memories is not None
                return memories.load(node, arguments[0], arguments[1:])
            case Store():
                assert memories is not None
                return memories.store(node, arguments[0], arguments[1], arguments[2], arguments[3:])
            case Apply(op, args, type):
                words = next((arg.type for arg in args if isinstance(arg.type, Float)), None)
                if words is not None:
                    return apply_float(op, words, arguments)
                return _applied(op, integer(type), [integer(arg.type) for arg in args], arguments)

    return fold(value, step)


def constant_words(type: Type, values: Sequence[int]) -> np.ndarray:
    """Constants of the program text: floating-point ones are bit patterns."""
    held = storage(type)
    return decode(type, np.array(values, np.uint64)) if isinstance(type, Float) else np.array(values, held)


def _converted(source: Type, type: Type, values: np.ndarray) -> np.ndarray:
    if isinstance(type, Float):
        if isinstance(source, Float):
            with np.errstate(invalid="ignore"):
                return values if source == type else rounded(type, values.astype(np.float64))
        return from_integers(type, values)
    type = integer(type)
    return _wrapped(type, to_integers(type, values) if isinstance(source, Float) else values)


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


def _looked_up(table: Table, index: np.ndarray, type: Type) -> np.ndarray:
    outside = np.flatnonzero((index < 0) | (index >= len(table.values)))
    if outside.size:
        first, size = index[outside[0]], len(table.values)
        raise TableIndexError(f"index {first} is outside table '{table.name}' of {size} entries", outside)
    return constant_words(type, table.values)[index.astype(np.int64, copy=False)]
