"""exp, log, sin and cos of floating-point numbers: the algorithm of `hw.float.functions` in integers, bit for bit.

Results are not correctly rounded: `python -m benchmarks.float_functions` measures errors against MPFR, which stay below
0.6 units in the last place. Not-a-numbers give the one quiet not-a-number; so do logarithms of negative numbers, and
sines and cosines of infinities.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from compiler.ir.types import Float
from hw.float.function_tables import Polynomial, exponential, logarithm, sine
from hw.float.spec import Float as Format

__all__ = ["FUNCTIONS", "apply_function"]


def apply_function(op: str, type: Float, patterns: np.ndarray) -> np.ndarray:
    """Bit patterns of results for bit patterns of operands."""
    form = Format(type.exponent, type.mantissa)
    work = partial(FUNCTIONS[op], form)
    return np.array([work(int(word)) for word in patterns.ravel()], np.uint64).reshape(patterns.shape)


def _exp(form: Format, word: int) -> int:
    plan = exponential(form)
    negative, exponent, significand = _unpacked(form, word)
    if exponent is None:
        return form.nan if significand else 0 if negative else form.infinity
    down = plan.whole - 1 + form.bias - exponent
    if down < 0:
        return 0 if negative else form.infinity
    fixed = (significand << plan.whole + plan.fraction - 1 - form.mantissa) >> down
    power = fixed * plan.scale >> plan.digits
    power = -power if negative else power
    value = _polynomial(plan.power, power & (1 << plan.fraction) - 1)
    one = 1 << plan.power.fraction
    value = min(max(value, one), 2 * one - 1)
    return _rounded(form, 0, (power >> plan.fraction) + form.bias, value)


def _log(form: Format, word: int) -> int:
    plan = logarithm(form)
    negative, exponent, significand = _unpacked(form, word)
    if not significand and exponent is not None:
        return form.infinity | 1 << form.width - 1
    if negative or exponent is None:
        return form.nan if negative or significand else form.infinity
    lead = form.mantissa + 1 - significand.bit_length()
    mantissa = (significand << lead) & (1 << form.mantissa) - 1
    high = mantissa >> form.mantissa - 1
    steps = exponent - lead - form.bias + high
    r = mantissa - (1 << form.mantissa) if high else mantissa << 1
    total = (steps * plan.two << form.mantissa + 1) + r * _polynomial(plan.quotient, mantissa)
    if not total:
        return 0
    behind = form.mantissa + 1 + plan.quotient.fraction
    return _rounded(form, total < 0, abs(total).bit_length() - 1 - behind + form.bias, abs(total))


def _sin(form: Format, word: int, cosine: bool) -> int:
    plan = sine(form)
    negative, exponent, significand = _unpacked(form, word)
    if exponent is None:
        return form.nan
    if not significand and not cosine:
        return word
    k = exponent - form.bias + 1
    turns = significand * plan.windows[max(k, 0)] >> form.mantissa + 1
    quadrant = (turns >> plan.fraction) + cosine
    f = turns & (1 << plan.fraction) - 1
    late = max(-k, 0)
    if quadrant & 1:
        f, late = ~(f >> late) & (1 << plan.fraction) - 1, 0
    lead = plan.fraction - f.bit_length()
    kept = (f << lead) >> plan.fraction - plan.kept
    product = kept * _polynomial(plan.ratio, kept >> lead + late)
    exponent = product.bit_length() - 1 - plan.kept - plan.ratio.fraction - lead - late + form.bias
    sign = (quadrant >> 1 & 1) ^ (negative and not cosine)
    return _rounded(form, sign, exponent, product)


FUNCTIONS: Mapping[str, Callable[[Format, int], int]] = {
    "exp": _exp, "log": _log, "sin": partial(_sin, cosine=False), "cos": partial(_sin, cosine=True),
}
"""From the bits of an operand to those of the result, by operation."""


def _unpacked(form: Format, word: int) -> tuple[int, int | None, int]:
    """Sign, exponent (at least 1; None of what is not finite) and significand (of what is not finite the fraction)."""
    fraction, field = word & (1 << form.mantissa) - 1, word >> form.mantissa & (1 << form.exponent) - 1
    sign = word >> form.width - 1
    if field == (1 << form.exponent) - 1:
        return sign, None, fraction
    return sign, max(field, 1), fraction | (field > 0) << form.mantissa


def _polynomial(plan: Polynomial, argument: int) -> int:
    row, t = plan.rows[argument >> plan.rest], argument & (1 << plan.rest) - 1
    value = row[-1]
    for k in reversed(range(len(row) - 1)):
        value = row[k] + (value * (t >> plan.rest - plan.factors[k]) >> plan.factors[k])
    return value


def _rounded(form: Format, sign: int, exponent: int, significand: int) -> int:
    """The number whose highest bit of the `significand` has this exponent, rounded to nearest, ties to even."""
    spare = significand.bit_length() - 1 - form.mantissa + max(0, 1 - exponent)
    if spare > 0:
        kept, half = significand >> spare, 1 << spare - 1
        rest = significand & (1 << spare) - 1
        kept += rest > half or (rest == half and kept & 1)
    else:
        kept = significand << -spare
    magnitude = kept if exponent < 1 else kept + (exponent - 1 << form.mantissa)
    return min(magnitude, form.infinity) | sign << form.width - 1
