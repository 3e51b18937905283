"""The body of a kernel as operators of a processing element, and whether padding with zeros leaves results alone."""

from __future__ import annotations

from collections.abc import Collection

from compiler.bind.dataflow.expressions import pipeline
from compiler.bind.dataflow.options import Options as OperatorOptions
from compiler.bind.systolic.kernel import Kernel
from compiler.ir.expr import fold
from compiler.ir.program import Access, Statement
from compiler.ir.ranges import type_range, value_range
from hw.dataflow.spec import Operator

__all__ = ["operators", "padding_counts"]


def operators(kernel: Kernel) -> tuple[Operator, ...]:
    """Operators of the body; ``read`` has the number of a reference."""
    update = kernel.analysis.program.statement(kernel.update)
    reads = tuple(Access(reference.array or "", update.write.map) for reference in kernel.reads)
    statement = Statement(update.name, update.iterators, update.domain, reads, update.write, kernel.body,
                          update.location)
    return pipeline(statement, OperatorOptions(), ()).operators


def padding_counts(kernel: Kernel, position: int) -> bool:
    """Whether iterations of reduction loop number `position` beyond its bound would change results, although words
    that belong to them alone are zeros."""
    zero = _alone(kernel, position)
    reads = [(0, 0) if number in zero else type_range(reference.type) for number, reference in enumerate(kernel.reads)]
    low, high = fold(kernel.body, lambda node, parts: value_range(node, parts, reads, {}, {}))
    return (low, high) != (kernel.neutral, kernel.neutral)


def _alone(kernel: Kernel, position: int) -> Collection[int]:
    """References with a subscript that depends on this loop and no other: padding is recognised in their layout."""
    return {
        number for number, reference in enumerate(kernel.reads)
        if any(s.coefficients[position] and sum(map(bool, s.coefficients)) == 1 for s in reference.subscripts)
    }
