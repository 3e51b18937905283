"""Floating-point operators of any format: IEEE 754 arithmetic as one parametric family.

`FloatOperator` is one operator between ports; `build_float` puts the same hardware into a module of one's own, with
that module's registers. A `FloatSpec` says which: operation, `Float` format, `Rounding`, whether there are subnormal
numbers, and the latency in cycles. Registers are placed where the delays of what lies between them
(`hw.delays`) are most even.

Signed zeros and infinities are those of the standard. Arithmetic that gives no number gives one quiet pattern with a
clear sign and only the first bit of the mantissa set. Changes of sign, absolute values and selections keep all bits.
"""

from hw.float.operator import FLOAT_OPERATIONS, FloatOperator, build_float
from hw.float.spec import Float, FloatError, FloatSpec, Integer, Rounding

__all__ = ["FLOAT_OPERATIONS", "Float", "FloatError", "FloatOperator", "FloatSpec", "Integer", "Rounding",
           "build_float"]
