"""Translation validation of the order in which nodes access memories.

An access begins when all that it comes after is there, which its operands show as those of other operators; so the
program has to name enough of them, and instances of one node have to fire in the order of the program wherever others
wait for the last of them only. Then no two stores to a memory meet in one tick, and every load sees the last store
before it.
"""

from __future__ import annotations

from collections.abc import Mapping

import islpy as isl

from compiler.bind.dataflow.errors import DataflowError
from compiler.ir.expr import Store, memories_used
from compiler.ir.memory_order import accesses_memory, check_memories, last_instances, must_wait
from compiler.ir.program import Program, Statement
from compiler.ir.types import ProgramError
from hw.dataflow.spec import KernelSpec

__all__ = ["validate_access_order"]


def validate_access_order(kernel: KernelSpec, program: Program, times: Mapping[str, isl.Map]) -> None:
    """Raise `DataflowError` unless the accesses of `kernel` come after all that they have to come after, given that
    operands arrive as in `program`, and nodes fire at `times`."""
    try:
        check_memories(program)
    except ProgramError as error:
        raise DataflowError(f"kernel {kernel.name}: {error}") from None
    for statement in program.statements:
        if any(_in_order(program, statement, memory) for memory in memories_used(statement.value)):
            _check_times(kernel, program, statement, times[statement.name])


def _in_order(program: Program, statement: Statement, memory: str) -> bool:
    """Whether it matters which instance of the statement comes last."""
    return accesses_memory(statement.value, memory, (Store,)) or any(
        must_wait(other, statement, memory) and not last_instances(program, other, statement).is_empty()
        for other in program.statements)


def _check_times(kernel: KernelSpec, program: Program, statement: Statement, time: isl.Map) -> None:
    order = program.order_of(statement.name).intersect_domain(statement.domain)
    pairs = isl.Map.lex_lt(order.range().get_space()).apply_domain(order.reverse()).apply_range(order.reverse())
    timed = pairs.apply_domain(time).apply_range(time)
    if not timed.is_subset(isl.Map.lex_lt(time.range().get_space())):
        raise DataflowError(f"kernel {kernel.name}: node {statement.name} accesses a memory in another order than its "
                            "statement")
