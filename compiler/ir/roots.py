"""What a program is executed for: the statements whose results leave it, and those that can end it with an error."""

from __future__ import annotations

from compiler.ir.expr import Store, postorder
from compiler.ir.program import Program, Statement

__all__ = ["asserts", "live_roots"]


def asserts(program: Program, statement: Statement) -> bool:
    """Whether `statement` stores to a memory that asserts that nothing does."""
    names = {memory.name for memory in program.memories if memory.assertion}
    return bool(names) and any(isinstance(node, Store) and node.memory in names for node in postorder(statement.value))


def live_roots(program: Program) -> frozenset[str]:
    """Names of the statements that write an output or assert something: what none of them depends on is dead."""
    outputs = {array.name for array in program.outputs}
    return frozenset(s.name for s in program.statements if s.write.array in outputs or asserts(program, s))
