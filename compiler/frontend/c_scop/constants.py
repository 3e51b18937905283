"""Constants of C: literals with their types, and integer constant expressions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from pycparser import c_ast

from compiler.ir.floating import encode_exact
from compiler.ir.types import FLOAT32, FLOAT64, Float, Int

__all__ = ["NotConstant", "characters", "divide", "evaluate", "literal", "literal_constant", "remainder"]

_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)([uUlL]*)")
_FLOATING = re.compile(r"(?P<digits>0[xX][0-9a-fA-F.]+[pP][+-]?\d+|[\d.]+(?:[eE][+-]?\d+)?)(?P<suffix>[fF]?)")
_ESCAPED = re.compile(r"\\x([0-9a-fA-F]+)|\\([0-7]{1,3})|\\(.)|(.)", re.DOTALL)
_ESCAPES = {"?": 63, "n": 10, "t": 9, "r": 13, "a": 7, "b": 8, "f": 12, "v": 11, "\\": 92, "'": 39, '"': 34}


class NotConstant(Exception):
    """An expression that is no integer constant expression. `node` is the part that is not."""

    def __init__(self, node: Any, reason: str) -> None:
        super().__init__(reason)
        self.node = node
        self.reason = reason


def divide(a: int, b: int) -> int:
    """C's ``a / b``: rounds towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a: int, b: int) -> int:
    """C's ``a % b``: has the sign of `a`."""
    return a - b * divide(a, b)


def literal(node: c_ast.Constant) -> tuple[int, Int]:
    """Value and type (C11, 6.4.4.1) of an integer or character literal. Raises `NotConstant`."""
    if node.type == "char":
        return _character(node), Int(32)
    match = _INTEGER.fullmatch(node.value)
    if match is None:
        raise NotConstant(node, f"{node.value} is not an integer constant")
    digits, suffix = match[1], match[2].lower()
    octal = digits.isdigit() and len(digits) > 1 and digits[0] == "0"
    value = int(digits, 8 if octal else 0)
    for type in _candidates("u" in suffix, "l" in suffix, digits[0] != "0"):
        if type.contains(value):
            return value, type
    raise NotConstant(node, f"{node.value} does not fit any integer type")


def literal_constant(node: c_ast.Constant) -> tuple[int, Int | Float]:
    """Value and type of a literal; of a floating-point one (C11, 6.4.4.2) the bit pattern of the nearest number, that
    is, not of the nearest double first. Raises `NotConstant`."""
    if "float" not in node.type and "double" not in node.type:
        return literal(node)
    match = _FLOATING.fullmatch(node.value)
    if match is None:
        raise NotConstant(node, f"{node.value} is no constant of type float or double")
    type = FLOAT32 if match["suffix"] else FLOAT64
    return encode_exact(type, _fraction(match["digits"])), type


def _fraction(digits: str) -> Fraction:
    """The exact value of a decimal or hexadecimal floating-point literal."""
    if not digits.lower().startswith("0x"):
        return Fraction(digits)
    mantissa, power = digits[2:].lower().split("p")
    whole, _, part = mantissa.partition(".")
    return int(whole + part or "0", 16) * Fraction(2) ** (int(power) - 4 * len(part))


def _candidates(unsigned: bool, long: bool, decimal: bool) -> list[Int]:
    """Types that a literal may have, in order of preference; 32 is int, 64 is long."""
    widths = (64,) if long else (32, 64)
    signs = (False,) if unsigned else (True,) if decimal else (True, False)
    return [Int(width, signed) for width in widths for signed in signs]


def _character(node: c_ast.Constant) -> int:
    found = characters(node)
    if len(found) != 1:
        raise NotConstant(node, f"character constant {node.value} is not supported")
    return found[0]


def characters(node: c_ast.Constant) -> list[int]:
    """The values, as signed char, of a character constant or a string without its final 0. Raises `NotConstant`."""
    if node.value[0] not in "\"'":
        raise NotConstant(node, f"{node.value} is of wide characters, which are not supported")
    found: list[int] = []
    for hexadecimal, octal, escape, plain in _ESCAPED.findall(node.value[1:-1]):
        if escape and escape not in _ESCAPES:
            raise NotConstant(node, f"{node.value}: there is no escape sequence \\{escape}")
        if plain:
            found += plain.encode()
        else:
            found.append(int(hexadecimal, 16) if hexadecimal else int(octal, 8) if octal else _ESCAPES[escape])
    if any(value > 255 for value in found):
        raise NotConstant(node, f"{node.value}: an escape sequence is larger than a char")
    return [value - 256 if value > 127 else value for value in found]


_BINARY: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": divide, "%": remainder,
    "<<": lambda a, b: a << b, ">>": lambda a, b: a >> b, "&": lambda a, b: a & b, "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b, "<": lambda a, b: int(a < b), ">": lambda a, b: int(a > b),
    "<=": lambda a, b: int(a <= b), ">=": lambda a, b: int(a >= b), "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b), "&&": lambda a, b: int(bool(a and b)), "||": lambda a, b: int(bool(a or b)),
}
_UNARY: dict[str, Callable[[int], int]] = {
    "-": lambda a: -a, "+": lambda a: a, "~": lambda a: ~a, "!": lambda a: int(not a),
}


def evaluate(node: Any, names: Mapping[str, int] | None = None) -> int:
    """An integer constant expression on mathematical integers: array sizes and ``#if``. Raises `NotConstant`."""
    match node:
        case c_ast.Constant():
            return literal(node)[0]
        case c_ast.ID() if names and node.name in names:
            return names[node.name]
        case c_ast.UnaryOp() if node.op in _UNARY:
            return _UNARY[node.op](evaluate(node.expr, names))
        case c_ast.BinaryOp() if node.op in _BINARY:
            return _binary(node, evaluate(node.left, names), evaluate(node.right, names))
        case c_ast.TernaryOp():
            return evaluate(node.iftrue if evaluate(node.cond, names) else node.iffalse, names)
    name = f"'{node.name}'" if isinstance(node, c_ast.ID) else "it"
    raise NotConstant(node, f"{name} is not a constant")


def _binary(node: c_ast.BinaryOp, left: int, right: int) -> int:
    if node.op in ("/", "%") and right == 0:
        raise NotConstant(node, "division by zero")
    if node.op in ("<<", ">>") and not 0 <= right < 64:
        raise NotConstant(node, f"shift by {right}")
    return _BINARY[node.op](left, right)
