"""C's arithmetic types on the usual 64-bit machine: char is signed, int has 32 bits, long has 64, float, double,
_Float16 and __bf16 are IEEE 754's formats (and bfloat16).

A type is the `Int` or `Float` of the intermediate representation. Signed overflow, undefined in C, wraps (as
``gcc -fwrapv``). Operations on _Float16 and __bf16 round once each, as with ``-fexcess-precision=16``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pycparser import c_ast

from compiler.frontend.c_scop.errors import ScopError
from compiler.frontend.c_scop.source import Source
from compiler.ir.types import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, Float, Int, Type

__all__ = [
    "BAD_STRUCTURE", "BOOL", "BYTE", "INT", "LONG", "PRELUDE", "Bool", "Number",
    "named_type", "number_type", "promote", "type_names", "usual",
]

BAD_STRUCTURE = ("unions, and structures with pointers, bit fields or fields that are no numbers, cannot be compiled; "
                 "make the fields arrays of their own")

INT = Int(32)
LONG = Int(64)



class Bool(Int):
    """The type _Bool: a conversion to it is a comparison with zero. Values have the type `BYTE` afterwards."""


BOOL = Bool(8, signed=False)
BYTE = Int(8, signed=False)

Number = Int | Float
"""Types of C's arithmetic."""

PRELUDE = "".join(
    f"typedef {'signed' if kind else 'unsigned'} {base} {'' if kind else 'u'}int{variant}{width}_t;\n"
    for width, base in ((8, "char"), (16, "short"), (32, "int"), (64, "long"))
    for kind in (True, False)
    for variant in ("", "_least")
) + "".join(
    f"typedef {base} {name};\n"
    for name, base in (("size_t", "unsigned long"), ("ptrdiff_t", "long"), ("ssize_t", "long"), ("FILE", "int"),
                       ("intptr_t", "long"), ("uintptr_t", "unsigned long"), ("intmax_t", "long"),
                       ("uintmax_t", "unsigned long"), ("int_fast8_t", "signed char"), ("va_list", "int"),
                       ("uint_fast8_t", "unsigned char"), ("bool", "_Bool"), ("_Float16", "float"), ("__bf16", "float"))
)
"""Types of the standard headers that a file may use; everything outside the scop only has to parse."""

_WORDS = {"char", "short", "int", "long", "signed", "unsigned"}
_FLOATS: dict[tuple[str, ...], Float] = {("float",): FLOAT32, ("double",): FLOAT64, ("_Float16",): FLOAT16,
                                         ("__bf16",): BFLOAT16}
"""The latter two are no words of C's grammar here, so the prelude has them as names of types."""


def named_type(names: tuple[str, ...], typedefs: Mapping[str, Type]) -> Type | None:
    """The arithmetic type that specifiers `names` mean, None if they mean none."""
    if names in _FLOATS:
        return _FLOATS[names]
    if len(names) == 1 and names[0] in typedefs:
        return typedefs[names[0]]
    if names == ("_Bool",):
        return BOOL
    words = set(names)
    if not names or words - _WORDS or {"signed", "unsigned"} <= words:
        return None
    width = 8 if "char" in words else 16 if "short" in words else 64 if "long" in words else 32
    return Int(width, "unsigned" not in words)


def number_type(node: Any, typedefs: Mapping[str, Type], source: Source) -> Number:
    """The type of a declaration or cast whose innermost `TypeDecl` is `node`. Raises `ScopError`."""
    names = tuple(node.type.names) if isinstance(node.type, c_ast.IdentifierType) else ()
    type = named_type(names, typedefs)
    if isinstance(type, Int | Float):
        return type
    text = " ".join(names) or "this type"
    place = source.place(node.type.coord or node.coord)
    if isinstance(node.type, c_ast.Struct | c_ast.Union):
        raise ScopError(place, BAD_STRUCTURE)
    raise ScopError(place, f"'{text}' is no arithmetic type; there are bool, char, short, int, long, those of "
                           "<stdint.h>, float, double, _Float16 and __bf16")


def promote(type: Number) -> Number:
    """Integer promotion (C11, 6.3.1.1): every integer type narrower than int becomes int."""
    return INT if isinstance(type, Int) and type.width < INT.width else type


def usual(a: Number, b: Number) -> Number:
    """The usual arithmetic conversions (C11, 6.3.1.8): the common type of two operands."""
    a, b = promote(a), promote(b)
    if isinstance(a, Float) or isinstance(b, Float):
        return max((type for type in (a, b) if isinstance(type, Float)), key=lambda type: type.width)
    if a.width != b.width:
        return a if a.width > b.width else b
    return Int(a.width, a.signed and b.signed)


def type_names(type: Number) -> list[str]:
    """The words of C that name a type."""
    if isinstance(type, Float):
        return next([*names] for names, known in _FLOATS.items() if known == type)
    sign = "signed" if type.signed else "unsigned"
    return [sign, {8: "char", 16: "short", 32: "int", 64: "long"}[type.width]]
