"""Errors of exp, log, sin and cos of floating-point numbers against MPFR, in units in the last place of the result.

    python -m benchmarks.float_functions [NAME ...] [-o benchmarks/results/float_functions.json]

Formats of 16 bits are exhaustive; of others a million (float32) or a hundred thousand (float64) operands, half of them
any finite bit pattern, half of exponents where results are neither 0 nor 1 nor infinite. The hardware computes the same
bits as the interpreter that is measured here (`compiler.ir.float_functions`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import gmpy2
import numpy as np

from benchmarks.command import Measurement, reports_errors
from benchmarks.float_operators import FORMATS
from benchmarks.markdown import table
from benchmarks.results import read_results
from compiler.ir.float_functions import FUNCTIONS
from hw.float.spec import Float

__all__ = ["float_function_table", "main", "units_off", "worst"]

_COUNTS = {"bfloat16": 0, "float16": 0, "float32": 1_000_000, "float64": 100_000}
"""How many operands of each format are drawn; 0 for all of them."""

_NAMES = [f"{op} {name}" for op in FUNCTIONS for name in FORMATS]
_PRECISION = 220


def units_off(form: Float, op: str, word: int) -> float:
    """How far the result for the finite operand `word` is from the exact one, in units of its last place; 0 where both
    are infinite or no number."""
    found = FUNCTIONS[op](form, word)
    exact = getattr(gmpy2, op)(_value(form, word))
    if gmpy2.is_nan(exact) or gmpy2.is_infinite(exact):
        return 0.0 if found & (1 << form.width - 1) - 1 >= form.infinity else float("inf")
    field = found >> form.mantissa & (1 << form.exponent) - 1
    unit = gmpy2.exp2(max(1, field) - form.bias - form.mantissa)
    if found & (1 << form.width - 1) - 1 == form.infinity:
        # The number that would be rounded to infinity is half a unit below the next power of two.
        limit = gmpy2.exp2(form.bias + 1)
        return float(max(0, limit - abs(exact)) * 2 / unit)
    return float(abs(_value(form, found) - exact) / unit)


def _value(form: Float, word: int) -> Any:
    """The exact value of a finite number."""
    field = word >> form.mantissa & (1 << form.exponent) - 1
    size = word & (1 << form.mantissa) - 1 | (field > 0) << form.mantissa
    scaled = gmpy2.mpfr(size) * gmpy2.exp2(max(1, field) - form.bias - form.mantissa)
    return -scaled if word >> form.width - 1 else scaled


def _operands(form: Float, count: int, seed: int) -> Iterator[int]:
    if not count:
        yield from range(1 << form.width)
        return
    generator = np.random.default_rng(seed)
    words = generator.integers(0, 1 << form.width, count, np.uint64, endpoint=False) if form.width < 64 else \
        generator.integers(0, 2**64 - 1, count, np.uint64, endpoint=True)
    near = generator.integers(form.bias - form.mantissa - 2, form.bias + 10, count)
    for place, word in enumerate(map(int, words)):
        keep = word & ~(((1 << form.exponent) - 1) << form.mantissa)
        yield keep | int(near[place]) << form.mantissa if place % 2 else word


def worst(form: Float, op: str, count: int, seed: int = 0) -> tuple[float, int, int]:
    """The largest error, the operand that has it, and the number of finite operands."""
    with gmpy2.context(gmpy2.get_context(), precision=_PRECISION):
        found, used = (0.0, 0), 0
        for word in _operands(form, count, seed):
            if word & (1 << form.width - 1) - 1 < form.infinity:
                used += 1
                found = max(found, (units_off(form, op, word), word))
    return *found, used


def _measured(name: str) -> dict[str, Any]:
    op, format_name = name.split()
    count = _COUNTS[format_name]
    error, word, used = worst(FORMATS[format_name], op, count)
    return {"operands": used, "exhaustive": not count, "largest error": round(error, 4), "at": f"{word:#x}"}


def float_function_table() -> str:
    """The committed results as Markdown."""
    results = read_results("float_functions")["functions"]
    rows = [[op, *(f"{results[f'{op} {name}']['largest error']:.3f}" for name in FORMATS)] for op in FUNCTIONS]
    counts = ", ".join(f"{name} {'all' if results[f'exp {name}']['exhaustive'] else results[f'exp {name}']['operands']}"
                       for name in FORMATS)
    return ("Largest errors of functions of floating-point numbers in units in the last place, against MPFR "
            f"(`python -m benchmarks.float_functions`; finite operands: {counts}); correct rounding is within "
            "0.5.\n\n" + table(["function", *FORMATS], rows))


@reports_errors
def main() -> None:
    """Measure and write."""
    measurement = Measurement("float_functions", "functions", "function", _NAMES)
    measurement.command(__doc__, _measured, {"precision of MPFR": _PRECISION})


if __name__ == "__main__":
    sys.exit(main())
