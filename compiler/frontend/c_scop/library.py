"""Functions of the standard library that have values in a scop: absolute values, minima and maxima, roots, fused
multiply-add, exponentials, logarithms, sines and cosines."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.frontend.c_scop import building
from compiler.frontend.c_scop.types import INT, LONG, Number
from compiler.ir.expr import Const, Expr
from compiler.ir.types import FLOAT32, FLOAT64

__all__ = ["LIBRARY", "call_library"]

_FLOATING = {"fabs": ("abs", 1), "fmin": ("min", 2), "fmax": ("max", 2), "sqrt": ("sqrt", 1), "fma": ("mad", 3),
             "exp": ("exp", 1), "log": ("log", 1), "sin": ("sin", 1), "cos": ("cos", 1)}
"""Operations and numbers of operands of functions on double; on float with an f behind the name."""

LIBRARY: dict[str, tuple[Number, ...]] = {
    "abs": (INT,), "labs": (LONG,), "llabs": (LONG,),
    **{name: (FLOAT64,) * count for name, (_, count) in _FLOATING.items()},
    **{f"{name}f": (FLOAT32,) * count for name, (_, count) in _FLOATING.items()},
}
"""The types of the parameters; the result has that of the first."""


def call_library(name: str, arguments: Sequence[Expr]) -> Expr:
    """The value of ``name(arguments)``, which have the types of `LIBRARY`; the absolute value of the lowest number is
    itself. Of two numbers of which one is not a number, `fmin` and `fmax` take the other; of zeros with different signs
    the first, as the GNU C library does."""
    first = arguments[0]
    if name in ("abs", "labs", "llabs"):
        zero = Const(0, first.type)
        return building.select(building.apply("lt", first, zero), building.apply("sub", zero, first), first)
    op, _ = _FLOATING[name if name in _FLOATING else name.removesuffix("f")]
    if op in ("min", "max"):
        return building.apply(op, *reversed(arguments))
    return building.apply(op, *arguments)
