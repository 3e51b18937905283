"""The order that accesses to memories have to keep within a statement.

What accesses of other statements come after is part of their expressions (`compiler.ir.memory_order`), for the last
instance of each only: instances of one statement are executed in the order of the program where it matters. Schedules
have to keep it as if every instance read what the one before gives.
"""

from __future__ import annotations

from compiler.analysis.dependences import Dependence
from compiler.ir.expr import Store, memories_used
from compiler.ir.memory_order import accesses_memory, last_instances, must_wait
from compiler.ir.program import Program, Statement

__all__ = ["ORDER", "access_order"]

ORDER = -1
"""In place of the number of a read, in dependences that move no value."""


def access_order(program: Program) -> tuple[Dependence, ...]:
    """For each statement whose accesses have to stay in order: {instance -> the one before it}."""
    found = []
    for statement in program.statements:
        memory = next((m for m in sorted(memories_used(statement.value)) if _matters(program, statement, m)), None)
        before = None if memory is None else last_instances(program, statement, statement)
        if memory is not None and before is not None and not before.is_empty():
            found.append(Dependence(statement.name, ORDER, statement.name, program.memory(memory).label, before))
    return tuple(found)


def _matters(program: Program, statement: Statement, memory: str) -> bool:
    """Whether it stores, or some statement waits for its last instance only."""
    if accesses_memory(statement.value, memory, (Store,)):
        return True
    waiting = [s for s in program.statements if must_wait(s, statement, memory)]
    return any(not last_instances(program, s, statement).is_empty() for s in waiting)
