"""Building graphs: hash-consing with canonical offsets, constant folding and simplification, node by node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from compiler.bind.vector.access import Access, compose, identity, translated, whole
from compiler.bind.vector.float_words import FLOAT_OPERATIONS
from compiler.bind.vector.graph import Extend, Leaf, Node, Op, Part, Reduce, Scatter, Stretch, Take, Value, seen_from
from compiler.bind.vector.reassociate_constants import regrouped
from compiler.bind.vector.value_ranges import Range, exact_range, range_of, wrapped, wraps
from compiler.frontend.parallel_array.element_types import bounds
from compiler.frontend.parallel_array.expression import Boundary
from compiler.frontend.parallel_array.location import Location
from compiler.frontend.parallel_array.reference import OPERATIONS

__all__ = ["COMMUTATIVE", "GraphBuilder"]

COMMUTATIVE = frozenset({"add", "multiply", "multiply_high", "bitwise_and", "bitwise_or", "bitwise_xor", "minimum",
                         "maximum", "abs_difference", "equal", "not_equal", *(
    prefix + name for prefix in ("float_", "bfloat_") for name in ("add", "multiply", "equal", "not_equal"))})
_MIRRORED = {"greater": "less", "greater_equal": "less_equal", "float_greater": "float_less",
             "float_greater_equal": "float_less_equal", "bfloat_greater": "bfloat_less",
             "bfloat_greater_equal": "bfloat_less_equal"}


def power_of_two(value: Value) -> int | None:
    """The exponent of a number that is a power of two."""
    if isinstance(value, int) and value > 0 and value & (value - 1) == 0:
        return value.bit_length() - 1
    return None


class GraphBuilder:
    """Makes nodes, each once. `constants` holds the data of leaves that are part of the program."""

    def __init__(self) -> None:
        self._table: dict[tuple[Any, ...], Node] = {}
        self.constants: dict[str, np.ndarray] = {}
        self._constant_names: dict[tuple[Any, ...], str] = {}

    def _intern(self, kind: type[Node], key: tuple[Any, ...], make: Callable[[int], Node]) -> Node:
        full = (kind, *key)
        if full not in self._table:
            self._table[full] = make(len(self._table))
        return self._table[full]

    # Leaves.

    def leaf(self, name: str, shape: tuple[int, ...], dtype: np.dtype, low: int, high: int, location: Location,
             boundaries: tuple[Boundary | None, ...] | None = None, variant: int = 0,
             part: Part | None = None) -> Access:
        """An array in memory, as a whole or in `part`. Variants are nodes of their own for the same array."""
        limits = boundaries or (None,) * len(shape)
        values = [b.value for b in limits if b is not None and b.kind == "default"]
        node = self._intern(Leaf, (name, limits, variant, part, shape, dtype, low, high), lambda n: Leaf(
            n, len(shape), dtype, min([low, *values]), max([high, *values]), location, name, shape, limits, variant,
            part))
        return whole(node)

    def constant(self, data: np.ndarray, location: Location) -> Value:
        """Numbers known at compile time: a number if all are equal."""
        low, high = int(data.min()), int(data.max())
        if low == high:
            return low
        key = (data.shape, data.dtype.str, data.tobytes())
        name = self._constant_names.setdefault(key, f"constant_{len(self._constant_names)}")
        self.constants[name] = data
        return self.leaf(name, data.shape, data.dtype, low, high, location)

    # Operations.

    def operation(self, operation: str, operands: Sequence[Value], dtype: np.dtype, location: Location,
                  rank: int) -> Value:
        """`operation` of operands that are read from a space of `rank` dimensions, wrapped to `dtype`."""
        operands = [self._folded(o) for o in operands]
        if operation in _MIRRORED:
            operation, operands = _MIRRORED[operation], operands[::-1]
        if all(isinstance(o, int) for o in operands) and operation != "copy":
            return _fold(operation, [int(o) for o in operands if isinstance(o, int)], dtype)
        simple = self._simplified(operation, operands, dtype, location, rank)
        if simple is not None:
            return simple
        if (again := regrouped(operation, operands, dtype)) is not None:
            return self.operation(*again, dtype, location, rank)
        low, high = exact_range(operation, [range_of(o) for o in operands])
        least, greatest = bounds(dtype)
        if low == high and least <= low <= greatest and operation != "copy":
            return low
        if not least <= low <= high <= greatest:
            low, high = least, greatest
        return self._canonical(operation, operands, dtype, (low, high), location, rank)

    def _folded(self, value: Value) -> Value:
        """Elements of constants at fixed places are numbers."""
        if not isinstance(value, Access) or not isinstance(value.node, Leaf) or any(any(r) for r in value.matrix):
            return value
        if value.node.name not in self.constants or any(value.node.boundaries):
            return value
        return int(self.constants[value.node.name][value.offset])

    def _canonical(self, operation: str, operands: Sequence[Value], dtype: np.dtype, limits: Range,
                   location: Location, rank: int) -> Access:
        """The node whose operands are read from their first elements on, and where it has to be read then."""
        if operation in COMMUTATIVE:
            operands = sorted(operands, key=_order)
        origin = _origin([o for o in operands if isinstance(o, Access)], rank)
        back = tuple(-o for o in origin)
        moved = tuple(translated(o, back) if isinstance(o, Access) else o for o in operands)
        node = self._intern(Op, (operation, moved, dtype, rank), lambda n: Op(
            n, rank, dtype, *limits, location, operation, moved))
        return Access(node, identity(rank), origin)

    def _simplified(self, operation: str, operands: Sequence[Value], dtype: np.dtype, location: Location,
                    rank: int) -> Value | None:
        rule = _RULES.get(operation)
        found = rule(self, operands, dtype, location, rank) if rule else None
        return None if found is None else self._wrap(found, dtype, location, rank)

    def _wrap(self, value: Value, dtype: np.dtype, location: Location, rank: int) -> Value:
        """`value` converted to `dtype`: itself if it fits."""
        low, high = range_of(value)
        least, greatest = bounds(dtype)
        if least <= low and high <= greatest:
            return value
        if isinstance(value, int):
            return wrapped(value, least, greatest)
        return self._canonical("convert", (value,), dtype, (least, greatest), location, rank)

    # Everything else.

    def reduction(self, operation: str, source: Access, extents: tuple[int, ...], dtype: np.dtype,
                  location: Location) -> Access:
        """`operation` over the last dimensions of the space in which `source` is read."""
        rank = _width(source, len(extents))
        count = int(np.prod(extents, dtype=np.int64))
        low, high = source.node.low, source.node.high
        if operation == "add":
            low, high = low * count, high * count
        least, greatest = bounds(dtype)
        if not least <= low <= high <= greatest:
            low, high = least, greatest
        origin = (0,) * rank
        if source.is_translation(rank + len(extents)):
            origin = source.offset[:rank]
            source = translated(source, (*(-o for o in origin), *(0,) * len(extents)))
        node = self._intern(Reduce, (operation, source, extents, dtype), lambda n: Reduce(
            n, rank, dtype, low, high, location, operation, source, extents))
        return Access(node, identity(rank), origin)

    def extension(self, value: Value, shape: tuple[int, ...], dtype: np.dtype,
                  boundaries: tuple[Boundary | None, ...], location: Location) -> Access:
        """`value` inside `shape`, continued outside as `boundaries` say."""
        rank = len(shape)
        if isinstance(value, int) or not value.is_translation(rank):
            value = self.copy(value, dtype, location, rank)
        source = value.node
        if isinstance(source, Leaf) and source.shape == shape and not any(value.offset):
            merged = _merged(source.boundaries, boundaries)
            if merged is not None:
                return self.leaf(source.name, shape, source.dtype, source.low, source.high, location, merged)
        defaults = [b.value for b in boundaries if b is not None and b.kind == "default"]
        limits = min([source.low, *defaults]), max([source.high, *defaults])
        starts = value.offset
        node = self._intern(Extend, (source, starts, shape, boundaries), lambda n: Extend(
            n, rank, dtype, *limits, location, source, starts, shape, boundaries))
        return Access(node, identity(rank), starts)

    def copy(self, value: Value, dtype: np.dtype, location: Location, rank: int) -> Access:
        """A node of its own that holds `value`, in the consumer's own dimensions; of type `dtype` if that holds all
        that `value` may be, else of the narrowest type that does."""
        limits = range_of(value)
        return self._canonical("copy", (value,), _holding(limits, dtype), limits, location, rank)

    def stretching(self, source: Access, factors: tuple[int, ...], location: Location) -> Access:
        """Every element repeated `factors` times."""
        node = self._intern(Stretch, (source, factors), lambda n: Stretch(
            n, len(factors), source.node.dtype, source.node.low, source.node.high, location, source, factors))
        return whole(node)

    def taking(self, table: Value, length: int, index: Value, location: Location, rank: int) -> Value:
        """Entries of the first `length` elements of `table`, which is seen from a space of one dimension, at `index`,
        which lies in it and is seen from a space of `rank` dimensions."""
        if isinstance(table, int):
            return table
        if isinstance(index, int):
            return self._folded(compose(table, ((0,) * rank,), (index % length,), rank))
        if not table.is_translation(1):
            table = self.copy(table, table.node.dtype, location, 1)
        source, origin = table.node, _origin([index], rank)
        moved = translated(index, tuple(-o for o in origin))
        node = self._intern(Take, (table, length, moved, rank), lambda n: Take(
            n, rank, source.dtype, source.low, source.high, location, table, length, moved))
        return Access(node, identity(rank), origin)


    def scattering(self, like: Scatter, base: Value, index: Access, value: Value) -> Access:
        """A scatter as `like` that one, of other sources; `number`, type and range of `like` do not count."""
        ends = [bounds(like.dtype)] if like.adds else [range_of(base), range_of(value), (0, 0)]
        low, high = min(low for low, _ in ends), max(high for _, high in ends)
        key = (base, index, value, like.extents, like.length, like.kept, like.adds, like.dtype)
        return whole(self._intern(Scatter, key, lambda n: replace(
            like, number=n, low=low, high=high, base=base, index=index, value=value)))


def _origin(accesses: Sequence[Access], rank: int) -> tuple[int, ...]:
    """For every dimension of a consumer the index that reads the first element of its first operand that moves with
    this dimension alone; with steps, the first but for what is left of the offset."""
    origin = [0] * rank
    for dimension in range(rank):
        own = ((row[dimension], offset) for access in accesses for row, offset in zip(access.matrix, access.offset,
                                                                                      strict=True)
               if row[dimension] and sum(c != 0 for c in row) == 1)
        step, offset = next(own, (1, 0))
        origin[dimension] = offset // step
    return tuple(origin)


def _holding(limits: Range, wanted: np.dtype) -> np.dtype:
    """`wanted`, or where it does not hold all numbers of a range the narrowest type that does."""
    kinds = (wanted, *(np.dtype(f"{'i' if limits[0] < 0 else 'u'}{size}") for size in (1, 2, 4)))
    return next(kind for kind in kinds if bounds(kind)[0] <= limits[0] and limits[1] <= bounds(kind)[1])


def _width(source: Access, reduced: int) -> int:
    """Dimensions of the space in which `source` is read, less those that are reduced."""
    return (len(source.matrix[0]) if source.matrix else reduced) - reduced


def _merged(a: tuple[Boundary | None, ...], b: tuple[Boundary | None, ...]) -> tuple[Boundary | None, ...] | None:
    """Boundaries of a leaf that is extended once more, if the first extension had none where the second has one."""
    if any(x is not None for x in a):
        return a if all(y is None or x == y for x, y in zip(a, b, strict=True)) else None
    return b


def _order(value: Value) -> tuple[Any, ...]:
    if isinstance(value, int):
        return (0, value)
    return (1, value.node.number, value.matrix, value.offset)


def _fold(operation: str, operands: list[int], dtype: np.dtype) -> int:
    least, greatest = bounds(dtype)
    if operation == "where":
        return wrapped(operands[1] if operands[0] else operands[2], least, greatest)
    if operation == "multiply_high":
        return wrapped(operands[0] * operands[1] >> 32, least, greatest)
    if operation == "left_shift":
        amount = operands[1] if 0 <= operands[1] < 32 else 32
        return wrapped(operands[0] << amount, least, greatest)
    if operation == "right_shift":
        return wrapped(operands[0] >> (operands[1] if 0 <= operands[1] < 32 else 32), least, greatest)
    if operation in FLOAT_OPERATIONS:
        return wrapped(FLOAT_OPERATIONS[operation](*operands), least, greatest)
    wide = [np.asarray(o, np.int64) for o in operands]
    return wrapped(int(OPERATIONS[operation](*wide)), least, greatest)


# Simplifications: rule(builder, operands, dtype, location, rank) gives an equal value before wrapping, or None.

_Rule = Callable[[GraphBuilder, Sequence[Value], np.dtype, Location, int], Value | None]


def _with_number(operands: Sequence[Value]) -> tuple[Value, int] | None:
    """The other operand and the number, of an operation whose operands may be swapped."""
    a, b = operands
    if isinstance(b, int):
        return a, b
    return (b, a) if isinstance(a, int) else None


def _add(builder: GraphBuilder, operands: Sequence[Value], dtype: np.dtype, location: Location,
         rank: int) -> Value | None:
    pair = _with_number(operands)
    return pair[0] if pair and pair[1] == 0 else None


def _subtract(builder: GraphBuilder, operands: Sequence[Value], dtype: np.dtype, location: Location,
              rank: int) -> Value | None:
    a, b = operands
    if a == b:
        return 0
    return a if b == 0 and isinstance(b, int) else None


def _multiply(builder: GraphBuilder, operands: Sequence[Value], dtype: np.dtype, location: Location,
              rank: int) -> Value | None:
    pair = _with_number(operands)
    if pair and pair[1] in (0, 1):
        return pair[0] if pair[1] else 0
    return None


def _minimum(builder: GraphBuilder, operands: Sequence[Value], dtype: np.dtype, location: Location,
             rank: int) -> Value | None:
    a, b = operands
    if a == b or range_of(a)[1] <= range_of(b)[0]:
        return a
    return b if range_of(b)[1] <= range_of(a)[0] else None


def _maximum(builder: GraphBuilder, operands: Sequence[Value], dtype: np.dtype, location: Location,
             rank: int) -> Value | None:
    a, b = operands
    if a == b or range_of(a)[0] >= range_of(b)[1]:
        return a
    return b if range_of(b)[0] >= range_of(a)[1] else None


def _and(builder: GraphBuilder, operands: Sequence[Value], dtype: np.dtype, location: Location,
         rank: int) -> Value | None:
    a, b = operands
    pair = _with_number(operands)
    if a == b:
        return a
    if pair and pair[1] == 0:
        return 0
    if pair and range_of(pair[0])[0] >= 0 and pair[1] == (1 << range_of(pair[0])[1].bit_length()) - 1:
        return pair[0]
    return pair[0] if pair and pair[1] == -1 else None


def _or(builder: GraphBuilder, operands: Sequence[Value], dtype: np.dtype, location: Location,
        rank: int) -> Value | None:
    a, b = operands
    pair = _with_number(operands)
    return a if a == b else pair[0] if pair and pair[1] == 0 else None


def _xor(builder: GraphBuilder, operands: Sequence[Value], dtype: np.dtype, location: Location,
         rank: int) -> Value | None:
    a, b = operands
    pair = _with_number(operands)
    return 0 if a == b else pair[0] if pair and pair[1] == 0 else None


def _shift(builder: GraphBuilder, operands: Sequence[Value], dtype: np.dtype, location: Location,
           rank: int) -> Value | None:
    a, b = operands
    if not isinstance(b, int):
        return None
    return a if b == 0 else None


def _convert(builder: GraphBuilder, operands: Sequence[Value], dtype: np.dtype, location: Location,
             rank: int) -> Value | None:
    (a,) = operands
    low, high = range_of(a)
    least, greatest = bounds(dtype)
    return a if least <= low and high <= greatest else None


def _absolute(builder: GraphBuilder, operands: Sequence[Value], dtype: np.dtype, location: Location,
              rank: int) -> Value | None:
    """abs(a - b) is the absolute difference if the subtraction cannot wrap."""
    (a,) = operands
    if range_of(a)[0] >= 0:
        return a
    if isinstance(a, Access) and isinstance(a.node, Op) and a.node.operation == "subtract" and not wraps(a.node):
        return builder.operation("abs_difference", seen_from(a), dtype, location, rank)
    return None


def _where(builder: GraphBuilder, operands: Sequence[Value], dtype: np.dtype, location: Location,
           rank: int) -> Value | None:
    """Selects of a comparison's own operands are minimum and maximum."""
    condition, a, b = operands
    if isinstance(condition, int) or a == b:
        return a if condition else b
    if isinstance(condition.node, Op) and condition.node.operation in ("less", "less_equal"):
        x, y = seen_from(condition)
        if (a, b) == (x, y):
            return builder.operation("minimum", (a, b), dtype, location, rank)
        if (a, b) == (y, x):
            return builder.operation("maximum", (a, b), dtype, location, rank)
    if condition.node.high == 1 and condition.node.low == 0 and (a, b) == (1, 0):
        return condition
    tested = _compared_with_zero(condition)
    if tested is None:
        return None
    value, equal = tested
    return builder.operation("where", (value, b, a) if equal else (value, a, b), dtype, location, rank)


def _compared_with_zero(condition: Access) -> tuple[Access, bool] | None:
    """What a condition compares with 0, and whether for being equal: the conditional move tests that by itself."""
    if not isinstance(condition.node, Op) or condition.node.operation not in ("equal", "not_equal"):
        return None
    pair = _with_number(seen_from(condition))
    if pair is None or pair[1] != 0 or not isinstance(pair[0], Access):
        return None
    return pair[0], condition.node.operation == "equal"


def _not_equal(builder: GraphBuilder, operands: Sequence[Value], dtype: np.dtype, location: Location,
               rank: int) -> Value | None:
    pair = _with_number(operands)
    return pair[0] if pair and pair[1] == 0 and range_of(pair[0]) == (0, 1) else None


def _divide(builder: GraphBuilder, operands: Sequence[Value], dtype: np.dtype, location: Location,
            rank: int) -> Value | None:
    a, b = operands
    exponent = power_of_two(b)
    if exponent is not None:
        return builder.operation("right_shift", (a, exponent), dtype, location, rank)
    assert isinstance(b, int)
    low, high = range_of(a)
    if low >= 0:
        return _divide_unsigned(builder, a, b, location, rank)
    # floor(a / b) is ~(~a // b) for negative a.
    word = np.dtype(np.int32)
    sign = builder.operation("right_shift", (a, 31), word, location, rank)
    folded = builder.operation("bitwise_xor", (a, sign), word, location, rank)
    limit = max(high, -low - 1)
    folded = builder.operation("bitwise_and", (folded, (1 << limit.bit_length()) - 1), word, location, rank)
    quotient = _divide_unsigned(builder, folded, b, location, rank)
    return builder.operation("bitwise_xor", (quotient, sign), dtype, location, rank)


def _divide_unsigned(builder: GraphBuilder, a: Value, divisor: int, location: Location, rank: int) -> Value:
    """Division by multiplication with a rounded-up reciprocal, exact for all values that `a` can have."""
    word = np.dtype(np.uint32)
    high = range_of(a)[1]

    def op(name: str, *operands: Value) -> Value:
        return builder.operation(name, operands, word, location, rank)

    for shift in range(64):
        factor = -(-(1 << shift) // divisor)
        if (factor * divisor - (1 << shift)) * high < 1 << shift:
            break
    if high * factor < 1 << 32:
        return op("right_shift", op("multiply", a, factor), shift)
    if factor < 1 << 32 and shift >= 32:
        return op("right_shift", op("multiply_high", a, factor), shift - 32)
    if shift < 32:
        return op("right_shift", op("multiply_high", a, factor << 32 - shift), 0)
    # The factor has 33 bits: add its top bit's product by halves.
    part = op("multiply_high", a, factor - (1 << 32))
    half = op("right_shift", op("subtract", a, part), 1)
    return op("right_shift", op("add", half, part), shift - 33)


def _remainder(builder: GraphBuilder, operands: Sequence[Value], dtype: np.dtype, location: Location,
               rank: int) -> Value | None:
    a, b = operands
    assert isinstance(b, int)
    if power_of_two(b) is not None:
        return builder.operation("bitwise_and", (a, b - 1), dtype, location, rank)
    quotient = builder.operation("floor_divide", (a, b), dtype, location, rank)
    product = builder.operation("multiply", (quotient, b), dtype, location, rank)
    return builder.operation("subtract", (a, product), dtype, location, rank)


_RULES: dict[str, _Rule] = {
    "add": _add, "subtract": _subtract, "multiply": _multiply, "minimum": _minimum, "maximum": _maximum,
    "bitwise_and": _and, "bitwise_or": _or, "bitwise_xor": _xor, "left_shift": _shift, "right_shift": _shift,
    "convert": _convert, "absolute": _absolute, "where": _where, "not_equal": _not_equal, "floor_divide": _divide,
    "remainder": _remainder,
}

