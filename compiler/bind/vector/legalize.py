"""Operations of parallel arrays that the lanes have in another form, or not at all."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.bind.vector.element_values import value_of
from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.scans import COMBINED, doubled, neutral_number
from compiler.frontend.kernel import Typed
from compiler.frontend.parallel_array.array import Array
from compiler.frontend.parallel_array.element_types import FLOATS
from compiler.frontend.parallel_array.expression import Apply, Expression, Input, Literal, Scan
from compiler.frontend.parallel_array.lowering.numbers import applied, constant, given_type
from compiler.ir.expr import Read

__all__ = ["by_doubling", "has_divider", "long_division"]


def has_divider(expression: Apply) -> bool:
    """Whether this is a quotient or remainder by anything but a positive number, for which reciprocals do."""
    if expression.operation not in ("floor_divide", "remainder"):
        return False
    divisor = expression.operands[1]
    return not isinstance(divisor, Literal) or divisor.shape != () or int(divisor.value) <= 0


def long_division(division: Apply, given: Sequence[Input]) -> Expression:
    """`division` of the elements of `given` in operations that the lanes have: one comparison and subtraction for each
    bit that the quotient may have."""
    reads: list[Typed] = []
    for number, (each, written) in enumerate(zip(given, division.operands, strict=True)):
        known = isinstance(written, Literal) and written.shape == ()
        reads.append(constant(int(written.value), written.dtype) if known else Typed(Read(number, given_type(each))))
    return value_of(applied(division, reads).expr, lambda number: Array(given[number]), _no_iterator, {}).expression


def _no_iterator(name: str) -> Array:
    raise TypeError(f"no loop {name} around elements")


def by_doubling(scan: Scan, source: Input) -> Expression:
    """`scan` of `source` as log2 of its length many operations on all elements (Hillis 1986). Raises
    `VectorTargetError` for floating-point numbers, whose sums are to be rounded in order."""
    if scan.dtype in FLOATS:
        raise VectorTargetError(f"{scan.location}: {scan.operation}.accumulate of {scan.dtype} adds one element after "
                                "the other, which lanes side by side do not; take the target dataflow or fpga")
    op = {"add": "add", "minimum": "min", "maximum": "max"}[scan.operation]
    last = len(scan.shape) - 1
    return doubled(Array(source), COMBINED[op], last, 1, neutral_number(op, scan.dtype)).expression

