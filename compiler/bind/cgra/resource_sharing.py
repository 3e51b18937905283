"""Which statements can share units for nothing: isomorphic ones that fit into each other's idle cycles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from compiler.bind.cgra.instruction_selection import CoverError, ExpressionSelector
from compiler.bind.cgra.operand_multiplexing import Group
from compiler.ir.expr import memories_used
from compiler.ir.isomorphism import first_difference
from compiler.ir.program import Program, Statement
from compiler.sched.static.schedule import Schedule
from hw.memtile import MemTileSpec

__all__ = ["choose_shared", "units_of"]

_LATER = 1.1
"""How many times later the outputs may end; the period and the initiation interval must stay as they are."""


def choose_shared(program: Program, schedule: Callable[[Program], Schedule], mem: MemTileSpec) -> Program:
    """`program` with groups of statements that share units, beside those that it has, where that costs no throughput
    and hardly any time. `schedule` gives the schedule of a program."""
    base = schedule(program)
    for alike in _alike(program, mem):
        group: tuple[str, ...] = (alike[0],)
        found = program
        for name in alike[1:]:
            trial = replace(program, shared=(*program.shared, (*group, name)))
            if _is_free(base, schedule(trial)):
                group, found = (*group, name), trial
        program = found
    return program


def _is_free(base: Schedule, trial: Schedule) -> bool:
    return (trial.period, trial.pace) == (base.period, base.pace) and trial.end <= _LATER * base.end


def _alike(program: Program, mem: MemTileSpec) -> list[list[str]]:
    """Isomorphic statements that have units and share none, in program order."""
    taken = {name for group in program.shared for name in group}
    classes: list[list[Statement]] = []
    for statement in program.statements:
        if statement.name in taken or memories_used(statement.value) or not units_of(program, statement, mem):
            continue
        same = next((c for c in classes if first_difference(c[0], statement) is None), None)
        if same is None:
            classes.append([statement])
        else:
            same.append(statement)
    return [[statement.name for statement in c] for c in classes if len(c) > 1]


def units_of(program: Program, statement: Statement, mem: MemTileSpec) -> int:
    """Processing elements that compute the values of a statement; 0 where they cannot."""
    group = Group.of(program, (statement.name,))
    coverer = ExpressionSelector(group.statement, group.signals, mem)
    try:
        coverer.result()
    except CoverError:
        return 0
    return len(coverer.pes) if group.operands else 0
