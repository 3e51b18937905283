"""Arithmetic on constants, integers and floating-point numbers, with C's types."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from pycparser import c_ast

from compiler.frontend.c_scop.constants import evaluate, literal_constant
from compiler.frontend.c_scop.types import BYTE, LONG, Bool, Number, usual
from compiler.ir.evaluate import evaluate as evaluate_expression
from compiler.ir.expr import Const, Expr
from compiler.ir.expr import apply as typed
from compiler.ir.floating import decode, encode, encode_exact, encode_number, to_integers
from compiler.ir.types import Float, Int

__all__ = ["arithmetic_type", "as_type", "folded", "known_number"]

_NAMES = {"+": "add", "-": "sub", "*": "mul", "/": "div"}


def arithmetic_type(node: Expr) -> Number:
    """The type of `node`, which is an integer or floating-point type."""
    assert isinstance(node.type, Int | Float)
    return node.type


def as_type(constant: Const, type: Number) -> Const:
    """`constant` converted to `type`, as C does."""
    if isinstance(type, Bool):
        zero = constant.value == 0 if isinstance(constant.type, Int) else _number(constant) == 0
        return Const(int(not zero), BYTE)
    if constant.type == type:
        return constant
    if isinstance(constant.type, Int):
        value = constant.value
        return Const(type.wrap(value) if isinstance(type, Int) else encode_exact(type, Fraction(value)), type)
    value = _number(constant)
    if isinstance(type, Int):
        return Const(int(to_integers(type, np.array([value]))[0]), type)
    return Const(encode_number(type, value), type)


def _number(constant: Const) -> float:
    """The value of a floating-point constant."""
    assert isinstance(constant.type, Float)
    return float(decode(constant.type, np.array([constant.value], np.uint64))[0])


def folded(op: str, operands: list[Const]) -> Const:
    """Operation `op` of `hw.ops` on floating-point constants of one type."""
    result = typed(op, *operands)
    value = evaluate_expression(result, lambda k: np.empty(0), {}, {})
    found = encode(result.type, value) if isinstance(result.type, Float) else value
    return Const(int(found[0]), result.type)


def known_number(node: Any, names: Mapping[str, int]) -> Const:
    """A constant expression: integers as they are in mathematics, floating-point numbers rounded in their types.
    `names` are integers that are known. Raises `NotConstant`."""
    match node:
        case c_ast.Constant():
            return Const(*literal_constant(node))
        case c_ast.UnaryOp(op="-" | "+"):
            operand = known_number(node.expr, names)
            if isinstance(operand.type, Float):
                return folded("neg", [operand]) if node.op == "-" else operand
        case c_ast.BinaryOp() if node.op in _NAMES:
            operands = known_number(node.left, names), known_number(node.right, names)
            type = usual(*map(arithmetic_type, operands))
            if isinstance(type, Float):
                return folded(_NAMES[node.op], [as_type(operand, type) for operand in operands])
    return Const(evaluate(node, names), LONG)
