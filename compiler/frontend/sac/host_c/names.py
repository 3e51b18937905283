"""SA-C's types and numbers in C."""

from __future__ import annotations

from compiler.frontend.sac.types import DOUBLE, FLOAT, Scalar, Type

__all__ = ["c_type", "element_kind", "kind_member", "literal", "type_literal", "wide_kind"]


def c_type(type_: Type) -> str:
    """The type of a variable."""
    if type_.is_array:
        return "array"
    return {FLOAT: "float", DOUBLE: "double"}.get(type_.scalar, "int64_t")


def element_kind(scalar: Scalar) -> str:
    """The letter of ``runtime.h`` for elements of arrays: 8, 16 or 32 bits (Hammes 2000, section 6.1.1)."""
    if scalar.floating:
        return "f" if scalar == FLOAT else "d"
    letter = next(letter for bits, letter in ((8, "b"), (16, "h"), (32, "w")) if scalar.width <= bits)
    return letter if scalar.signed else letter.upper()


def literal(value: int | float, scalar: Scalar) -> str:
    """A number."""
    if not scalar.floating:
        return f"{value}LL"
    text = {"inf": "INFINITY", "-inf": "(-INFINITY)", "nan": "NAN"}.get(str(value)) or f"({float(value).hex()})"
    return f"((float){text})" if scalar == FLOAT else text


def type_literal(scalar: Scalar) -> str:
    """The type as a value of C's ``type``."""
    kind = "f" if scalar == FLOAT else "d" if scalar == DOUBLE else "i"
    return f"(type){{'{kind}', {scalar.width}, {scalar.fraction}, {int(scalar.signed)}}}"


def kind_member(type_: Type) -> str:
    """The member of C's union `number` that holds such a number."""
    return {"float": "f", "double": "d"}.get(str(type_.scalar), "i")


def wide_kind(type_: Type) -> str:
    """The letter of numbers outside of arrays: integers have 64 bits."""
    return {"i": "q"}.get(kind_member(type_), kind_member(type_))
