"""Values of expressions of loop-nest programs as parallel arrays: the operations of `hw.ops`, exact at any width.

An integer of n bits lies in the next larger element type; what is computed there is cut back to n bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from compiler.frontend.parallel_array import element_types
from compiler.frontend.parallel_array.array import Array, array_constant
from compiler.frontend.parallel_array.functions import abs_difference, fma, maximum, minimum, multiply_high, take, where
from compiler.ir.evaluate import constant_words
from compiler.ir.expr import Apply, Cast, Const, Expr, Iterator, Load, Lookup, Read, fold
from compiler.ir.long_division import without_dividers
from compiler.ir.program import Table
from compiler.ir.types import BFLOAT16, BIT, FLOAT32, Float, Int, Type
from hw.errors import SluiceError

__all__ = ["NUMBERS", "UnsupportedValue", "container", "cut", "float_operation", "value_of"]


NUMBERS = {FLOAT32: element_types.FLOAT32, BFLOAT16: element_types.BFLOAT16}
"""Floating-point types that there are, and what their values lie in."""


class UnsupportedValue(SluiceError):
    """An operation or a type that the vector target does not have."""


_PLAIN: dict[str, Callable[[Array, Array], Array]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "and": lambda a, b: a & b,
    "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b, "min": minimum, "max": maximum, "absd": abs_difference,
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "ge": lambda a, b: a >= b,
    "gt": lambda a, b: a > b, "le": lambda a, b: a <= b,
}


_OF_FLOATS: dict[str, Callable[..., Array]] = {
    **{op: _PLAIN[op] for op in ("add", "sub", "mul", "min", "max", "eq", "ne", "lt", "ge", "gt", "le")},
    "neg": lambda a: -a, "abs": lambda a: abs(a), "pass": lambda a: a, "select": where, "mad": fma,
}


def float_operation(op: str) -> Callable[..., Array]:
    """What an operation on floating-point numbers is on arrays."""
    return _OF_FLOATS[op]


def container(type: Int | Float) -> np.dtype:
    """The element type that holds the values of a type."""
    return np.dtype(np.bool_) if type == BIT else NUMBERS[type] if isinstance(type, Float) else type.dtype


def _no_memory(name: str) -> Array:
    raise UnsupportedValue(f"memory {name}: only arrays that are written once, before, can be gathered from")


def value_of(value: Expr, read: Callable[[int], Array], index: Callable[[str], Array],
             tables: Mapping[str, Table], memory: Callable[[str], Array] = _no_memory) -> Array:
    """`value` as an array, where `read` gives the words of reads, `index` the values of iterators and `memory` the
    words of memories. Look-ups outside their table, which no right program does, find the nearest entry.

    Raises `UnsupportedValue` naming an operation or a type that is not there.
    """

    def step(node: Expr, arguments: list[Array]) -> Array:
        kind = _element(node.type)
        match node:
            case Const(number, Float()):
                return array_constant(constant_words(kind, (number,)).reshape(()).astype(container(kind)))
            case Const(number, _) if isinstance(kind, Int):
                return array_constant(np.array(kind.wrap(number), container(kind)))
            case Read(number, _):
                return read(number)
            case Iterator(name, _):
                return cut(index(name), kind)
            case Cast(argument):
                return _cast(arguments[0], argument.type, kind)
            case Lookup(table, _, _):
                entries = array_constant(constant_words(kind, tables[table].values).astype(container(kind)))
                return take(entries, _as_index(arguments[0]), mode="clip")
            case Load(name, _, _, _):
                return take(memory(name), _as_index(arguments[0]), mode="clip")
            case Apply(op, args, _):
                if isinstance(kind, Float) or any(isinstance(a.type, Float) for a in args):
                    return _on_floats(op, arguments)
                return _applied(op, _integer(kind), [_integer(a.type) for a in args], args, arguments)
        raise UnsupportedValue("stores at places that depend on data are unsupported")

    return fold(without_dividers(value), step)


def _as_index(value: Array) -> Array:
    return value.astype(np.uint8) if value.dtype == np.bool_ else value


def _cast(value: Array, source: Type, kind: Int | Float) -> Array:
    """Integers narrower than their element type come from those of 32 bits."""
    if isinstance(source, Float) and isinstance(kind, Int) and kind.width < 32:
        if kind == BIT:
            raise UnsupportedValue("conversions of floating-point numbers to one bit are unsupported; compare with 0")
        return cut(value.astype(np.int32), kind)
    return cut(value, kind)


def _on_floats(op: str, values: list[Array]) -> Array:
    if op in _OF_FLOATS:
        return _OF_FLOATS[op](*values)
    raise UnsupportedValue(_MISSING.get(op, f"operation '{op}' on float32 is unsupported by the vector target; the "
                                            "targets dataflow and fpga have it"))


_MISSING = {
    "div": "division of float32 is unsupported by the vector target: multiply by a reciprocal, or take the target "
           "dataflow or fpga, which divide",
    "sqrt": "square roots of float32 are unsupported by the vector target; the targets dataflow and fpga have them",
}
"""What there is no instruction for."""


def _element(type: Type) -> Int | Float:
    return type if isinstance(type, Float) and type in NUMBERS else _integer(type)


def _integer(type: Type) -> Int:
    if not isinstance(type, Int) or type.width > 32:
        raise UnsupportedValue(f"values of type {type} are unsupported; the vector target has integers of up to 32 "
                               "bits, float32 and bfloat16")
    return type


def cut(value: Array, kind: Int | Float) -> Array:
    """`value` modulo 2**width, as a value of the type; of a floating-point type the nearest number."""
    if isinstance(kind, Float):
        return (value.astype(np.uint8) if value.dtype == np.bool_ else value).astype(container(kind))
    if kind == BIT:
        return value if value.dtype == np.bool_ else (value & 1) != 0
    found = value.astype(container(kind))
    spare = 8 * container(kind).itemsize - kind.width
    if not spare:
        return found
    return (found << spare) >> spare if kind.signed else found & kind.maximum


def _applied(op: str, kind: Int, types: list[Int], args: tuple[Expr, ...], values: list[Array]) -> Array:
    if op in _PLAIN:
        found = _PLAIN[op](values[0], values[1])
        return found if kind == BIT else cut(found, kind)
    if op == "lut3":
        table = args[0]
        assert isinstance(table, Const)
        return _looked_up(table.value, values[1:])
    width = max(t.width for t in types)
    match op:
        case "pass":
            return values[0]
        case "mul_high" if kind.width == 32:
            return multiply_high(*values)
        case "mul_mid" | "mul_high":
            return cut(_wide_product(op, kind, values) >> (width // 2 if op == "mul_mid" else width), kind)
        case "mad":
            return cut(values[0] * values[1] + values[2], kind)
        case "shl" | "shr":
            return _shifted(op, kind, *values)
        case "abs":
            return cut(abs(values[0]), kind)
        case "select":
            return where(values[0], values[1], values[2])
    raise UnsupportedValue(f"operation '{op}' is unsupported by the vector target")


def _wide_product(op: str, kind: Int, values: list[Array]) -> Array:
    if 2 * kind.width > 32:
        raise UnsupportedValue(f"operation '{op}' on {kind} is unsupported by the vector target: products have 32 "
                               "bits")
    wide = np.dtype(np.int32 if kind.signed else np.uint32)
    return values[0].astype(wide) * values[1].astype(wide)


def _shifted(op: str, kind: Int, value: Array, by: Array) -> Array:
    """An amount is read without sign; amounts from the width on shift everything out."""
    amount = by.astype(f"uint{8 * container(kind).itemsize}")
    if kind.width < 8 * container(kind).itemsize:
        amount = amount & ((1 << kind.width) - 1)
    last = minimum(amount, kind.width - 1).astype(value.dtype)
    if op == "shr" and kind.signed:
        return value >> last
    moved = value << last if op == "shl" else value >> last
    return cut(where(amount < kind.width, moved, 0), kind)


def _looked_up(table: int, bits: list[Array]) -> Array:
    """A function of three bits: the sum of the products for which the table holds 1."""
    found: Array = array_constant(np.array(False))
    p, q, r = bits
    for number in (n for n in range(8) if table >> n & 1):
        one = (p if number & 1 else ~p) & (q if number & 2 else ~q) & (r if number & 4 else ~r)
        found = found | one
    return found
