"""What operations on elements are in the expressions of the intermediate representation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import nan

import numpy as np

from compiler.frontend import kernel
from compiler.frontend.kernel import Typed
from compiler.frontend.parallel_array.element_types import BOOL, FLOATS
from compiler.frontend.parallel_array.expression import Apply, Input, Literal, Reduce, Scan
from compiler.frontend.parallel_array.reference import FLOAT_OPERATIONS, FORMATS
from compiler.ir import expr
from compiler.ir.types import BIT, Float, Int

__all__ = ["applied", "combined", "constant", "converted", "given_type", "identity_of", "number_type"]

_WIDE = Int(64)

_WORDS: Mapping[str, Callable[[Typed, Typed], Typed]] = {
    "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b,
    "left_shift": lambda a, b: a << b, "right_shift": lambda a, b: a >> b, "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b, "bitwise_xor": lambda a, b: a ^ b, "minimum": kernel.minimum,
    "maximum": kernel.maximum, "equal": lambda a, b: a == b, "not_equal": lambda a, b: a != b,
    "less": lambda a, b: a < b, "less_equal": lambda a, b: a <= b, "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b, "abs_difference": kernel.absolute_difference,
}
_BITS: Mapping[str, Callable[[Typed, Typed], Typed]] = {
    **{name: _WORDS[name] for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "equal", "not_equal")},
    "minimum": _WORDS["bitwise_and"], "maximum": _WORDS["bitwise_or"],
}


def number_type(dtype: np.dtype) -> Int | Float:
    """The type of the elements; bool is one bit."""
    if dtype in FORMATS:
        return FORMATS[dtype]
    return BIT if dtype == BOOL else Int(8 * dtype.itemsize, dtype.kind == "i")


def given_type(node: Input) -> Int | Float:
    """The type of an input's elements: the narrowest that holds the promised range."""
    type = number_type(node.dtype)
    if isinstance(type, Float):
        return type
    signed = node.low < 0
    bits = max(node.high.bit_length(), (-node.low - 1).bit_length() if signed else 0) + signed
    return Int(max(bits, 1), signed) if bits < type.width else type


def constant(value: np.generic | float, dtype: np.dtype) -> Typed:
    """A number as a constant of the element type."""
    return kernel.constant(number_type(dtype), float(value) if dtype in FLOATS else int(value))


def converted(value: Typed, dtype: np.dtype) -> Typed:
    """`value` as an element of `dtype`: cut to its bits; to bool, whether it is not 0."""
    wanted = number_type(dtype)
    if wanted == BIT and value.type != BIT:
        return value != 0
    return kernel.cast(wanted, value)


def applied(node: Apply, operands: list[Typed]) -> Typed:
    """An operation on elements."""
    if node.operation == "where":
        condition, *values = operands
        a, b = (converted(value, node.dtype) for value in values)
        if isinstance(condition.expr, expr.Const):
            return a if condition.expr.value else b
        return kernel.select(converted(condition, np.dtype(np.bool_)), a, b)
    if node.operation == "convert":
        return converted(operands[0], node.dtype)
    if node.operation in ("floor_divide", "remainder"):
        return converted(_divided(node, operands), node.dtype)
    values = [converted(operand, node.compute) for operand in operands]
    return converted(_computed(node.operation, node.compute, values), node.dtype)


def _computed(operation: str, kind: np.dtype, values: list[Typed]) -> Typed:
    if kind in FLOATS:
        return kernel.apply(FLOAT_OPERATIONS[operation], *values)
    if kind == BOOL:
        return _of_bits(operation, values)
    if operation == "absolute":
        return kernel.absolute(values[0])
    if operation == "multiply_high":
        a, b = (kernel.cast(_WIDE, value) for value in values)
        return kernel.cast(number_type(kind), (a * b) >> 32)
    return _WORDS[operation](*values)


def _of_bits(operation: str, values: list[Typed]) -> Typed:
    """Truth values count as 0 and 1 of 8 bits where logic does not do."""
    if operation in _BITS:
        return _BITS[operation](*values)
    return _WORDS[operation](*(kernel.cast(Int(8, False), value) for value in values))


def _divided(node: Apply, operands: list[Typed]) -> Typed:
    """Rounded down; 0 if the divisor is 0."""
    kind = node.compute if node.compute != BOOL else np.dtype(np.uint8)
    a, b = (converted(operand, kind) for operand in operands)
    divisor = node.operands[1]
    known = int(divisor.value) if isinstance(divisor, Literal) and not divisor.shape else None
    by = b if known is None else known
    return a // by if node.operation == "floor_divide" else a % by


def combined(node: Reduce | Scan, total: Typed, term: Typed) -> Typed:
    """What a reduction or a scan makes of what it has so far and one more element."""
    return _computed(node.operation, node.dtype, [total, term])


def identity_of(node: Reduce) -> Typed:
    """What a reduction begins with: combined with it, every number is itself. Of floating-point numbers that is -0 for
    sums, and what is no number for minima and maxima, which take the other one."""
    type = number_type(node.dtype)
    if isinstance(type, Float):
        return kernel.constant(type, -0.0 if node.operation == "add" else nan)
    ends = {"add": 0, "minimum": type.maximum, "maximum": type.minimum}
    return kernel.constant(type, ends[node.operation])
