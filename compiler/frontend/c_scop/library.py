"""Functions of the standard library that have values in a scop: absolute values, minima and maxima."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.frontend.c_scop import building
from compiler.frontend.c_scop.types import INT, LONG, Number
from compiler.ir.expr import Const, Expr
from compiler.ir.types import FLOAT32

__all__ = ["LIBRARY", "call_library"]

LIBRARY: dict[str, tuple[Number, ...]] = {
    "abs": (INT,), "labs": (LONG,), "llabs": (LONG,), "fabsf": (FLOAT32,), "fminf": (FLOAT32, FLOAT32),
    "fmaxf": (FLOAT32, FLOAT32),
}
"""The types of the parameters; the result has that of the first."""


def call_library(name: str, arguments: Sequence[Expr]) -> Expr:
    """The value of ``name(arguments)``, which have the types of `LIBRARY`; the absolute value of the lowest number is
    itself. Of two numbers of which one is not a number, `fminf` and `fmaxf` take the other."""
    first = arguments[0]
    if name in ("abs", "labs", "llabs"):
        zero = Const(0, first.type)
        return building.select(building.apply("lt", first, zero), building.apply("sub", zero, first), first)
    if name == "fabsf":
        zero = Const(0, first.type)
        positive = building.select(building.apply("lt", first, zero), building.apply("neg", first), first)
        return building.select(building.apply("eq", first, zero), zero, positive)
    second = arguments[1]
    better = building.apply("lt" if name == "fminf" else "gt", first, second)
    chosen = building.select(better, first, second)
    return building.select(building.apply("ne", second, second), first, chosen)
