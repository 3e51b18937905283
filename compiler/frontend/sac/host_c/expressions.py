"""Scalar nodes as expressions of C."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.frontend.sac.ddcf.graph import Node
from compiler.frontend.sac.types import FLOAT, Kind, Scalar

__all__ = ["INFIX", "scalar_expression"]

INFIX = {"ADD": "+", "SUB": "-", "BIT_AND": "&", "BIT_OR": "|", "BIT_XOR": "^", "EQ": "==", "NEQ": "!=", "LT": "<",
         "LE": "<=", "GT": ">", "GE": ">="}
_COMPARISONS = ("EQ", "NEQ", "LT", "LE", "GT", "GE")


def scalar_expression(node: Node, operands: Sequence[str], types: Sequence[Scalar], place: str) -> str:
    """The value of a node whose output is a scalar; `place` is a C string."""
    scalar = node.outputs[0].scalar
    width, sign = scalar.width, int(scalar.signed)
    if node.kind in _COMPARISONS:
        return _compared(INFIX[node.kind], operands, types)
    if node.kind == "CAST":
        return _cast(operands[0], types[0], scalar)
    if node.kind == "INTRINSIC":
        return f"{node.attribute('function')}({', '.join(operands)})"
    if scalar.floating:
        return f"-{operands[0]}" if node.kind == "NEG" else (
            f"({operands[0]} {dict(INFIX, MUL='*', DIV='/')[node.kind]} {operands[1]})")
    if node.kind in INFIX:
        return f"low((uint64_t)({operands[0]} {INFIX[node.kind]} {operands[1]}), {width}, {sign})"
    given = ", ".join(operands)
    forms = {"MUL": f"multiply({given}, {scalar.fraction}, {width}, {sign})",
             "DIV": f"divide({place}, {given}, {scalar.fraction}, {width}, {sign})",
             "MOD": f"modulo({place}, {given})", "LEFT_SHIFT": f"shift_left({place}, {given}, {width}, {sign})",
             "RIGHT_SHIFT": f"shift_right({place}, {given})", "NOT": f"!{operands[0]}",
             "BIT_NOT": f"low(~(uint64_t){operands[0]}, {width}, {sign})"}
    return forms[node.kind]


def _compared(operator: str, operands: Sequence[str], types: Sequence[Scalar]) -> str:
    if any(type_.floating for type_ in types):
        left, right = (_as_double(operand, type_) for operand, type_ in zip(operands, types, strict=True))
        return f"({left} {operator} {right})"
    return f"(compare({operands[0]}, {types[0].fraction}, {operands[1]}, {types[1].fraction}) {operator} 0)"


def _as_double(operand: str, scalar: Scalar) -> str:
    whole = scalar.floating or not scalar.fraction
    return f"(double){operand}" if whole else f"ldexp((double){operand}, -{scalar.fraction})"


def _cast(operand: str, source: Scalar, target: Scalar) -> str:
    width, sign = target.width, int(target.signed)
    if target.floating:
        return f"({'float' if target == FLOAT else 'double'}){_as_double(operand, source)}"
    if target.kind is Kind.BOOL and source.kind is not Kind.BITS:
        return f"({operand} != 0)"
    if source.floating and target.kind is not Kind.BITS:
        return f"from_double({operand}, {target.fraction}, {width}, {sign})"
    if source.floating:
        kind, word = ("float", "uint32_t") if source == FLOAT else ("double", "uint64_t")
        return f"low(((union {{ {kind} v; {word} w; }}){{{operand}}}).w, {width}, {sign})"
    if Kind.BITS in (source.kind, target.kind):
        return f"low(low((uint64_t){operand}, {source.width}, 0), {width}, {sign})"
    shift = target.fraction - source.fraction
    moved = f"{operand} * {1 << shift}LL" if shift >= 0 else f"{operand} >> {-shift}"
    return f"low((uint64_t)({moved}), {width}, {sign})"
