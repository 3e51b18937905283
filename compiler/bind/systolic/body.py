"""The expressions of a kernel as operators of the hardware, and whether padding with zeros leaves results alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from compiler.bind.dataflow.expressions import pipeline, word
from compiler.bind.dataflow.options import Options as OperatorOptions
from compiler.bind.systolic.kernel import Kernel
from compiler.ir.expr import Expr
from compiler.ir.program import Access
from compiler.ir.types import Float, Int
from hw.dataflow.spec import Operator
from hw.systolic.spec import Conversion

__all__ = ["adder_cycles", "conversion", "operators", "padding_counts", "partial_sums"]


def operators(kernel: Kernel, latency: Mapping[str, int] | None = None) -> tuple[Operator, ...]:
    """Operators of the body; ``read`` has the number of a reference. `latency`: cycles of operations on floating-point
    numbers, where they are not `hw.dataflow.floating.FLOAT_LATENCY`."""
    return _operators(kernel, kernel.body, [reference.array for reference in kernel.reads], latency)


def adder_cycles(kernel: Kernel, latency: Mapping[str, int] | None = None) -> int:
    """Cycles of the operation that accumulates, 0 for integers, whose sums are ready in their own cycle."""
    return OperatorOptions(latency=latency).ticks("add", floating=True) if kernel.rounds else 0


def partial_sums(kernel: Kernel, latency: Mapping[str, int] | None = None) -> int:
    """Partial sums of one result, a power of two, that keep the operation that accumulates busy."""
    return 1 << adder_cycles(kernel, latency).bit_length()


def conversion(kernel: Kernel, value: Expr, stored: Int | Float, latency: Mapping[str, int] | None = None
               ) -> Conversion:
    """`value`, a function of read 0 (and of extras), on the way to or from elements of type `stored` in memory."""
    arrays = [kernel.output, *(reference.array for reference in kernel.extras)]
    return Conversion(word(stored, f"array '{kernel.output}'"), _operators(kernel, value, arrays, latency))


def _operators(kernel: Kernel, value: Expr, arrays: Sequence[str | None], latency: Mapping[str, int] | None
               ) -> tuple[Operator, ...]:
    update = kernel.analysis.program.statement(kernel.update)
    reads = tuple(Access(array or "", update.write.map) for array in arrays)
    return pipeline(replace(update, reads=reads, value=value), OperatorOptions(latency=latency), ()).operators


def padding_counts(kernel: Kernel, position: int) -> bool:
    """Whether iterations of reduction loop number `position` beyond its bound would change results, although words
    that belong to them alone are zeros."""
    return not kernel.without_effect(_alone(kernel, position))


def _alone(kernel: Kernel, position: int) -> Collection[int]:
    """References with a subscript that depends on this loop and no other: padding is recognised in their layout."""
    return {
        number for number, reference in enumerate(kernel.reads)
        if any(s.coefficients[position] and sum(map(bool, s.coefficients)) == 1 for s in reference.subscripts)
    }
