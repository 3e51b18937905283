"""Operations of parallel arrays that the lanes have in another form, or not at all."""

from __future__ import annotations

from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.scans import COMBINED, doubled, neutral_number
from compiler.frontend.parallel_array.array import Array
from compiler.frontend.parallel_array.element_types import FLOATS
from compiler.frontend.parallel_array.expression import Apply, Expression, Input, Literal, Scan

__all__ = ["by_doubling", "check_division"]


def check_division(expression: Apply) -> None:
    """Raises `VectorTargetError` for a quotient or remainder by anything but a positive number."""
    if expression.operation not in ("floor_divide", "remainder"):
        return
    divisor = expression.operands[1]
    if isinstance(divisor, Literal) and not divisor.shape and divisor.value > 0:
        return
    raise VectorTargetError(f"{expression.location}: unsupported operation: the vector processor divides by positive "
                            "constants only; multiply by a reciprocal and shift, or take the target dataflow or fpga")


def by_doubling(scan: Scan, source: Input) -> Expression:
    """`scan` of `source` as log2 of its length many operations on all elements (Hillis 1986). Raises
    `VectorTargetError` for floating-point numbers, whose sums are to be rounded in order."""
    if scan.dtype in FLOATS:
        raise VectorTargetError(f"{scan.location}: {scan.operation}.accumulate of {scan.dtype} adds one element after "
                                "the other, which lanes side by side do not; take the target dataflow or fpga")
    op = {"add": "add", "minimum": "min", "maximum": "max"}[scan.operation]
    last = len(scan.shape) - 1
    return doubled(Array(source), COMBINED[op], last, 1, neutral_number(op, scan.dtype)).expression

