"""The passes of this room by name: loop-carried dependences made shorter, or given more time."""

from __future__ import annotations

from dataclasses import dataclass, replace

from compiler.ir.expr import Apply, Expr, Read, fold
from compiler.ir.program import Statement
from compiler.passes.program_pass import ProgramPass
from compiler.passes.recurrence.array_expansion import expand_arrays
from compiler.passes.recurrence.distribute_recurrences import distribute_recurrences
from compiler.passes.recurrence.fold_extremes import fold_extremes
from compiler.passes.recurrence.reassociate import OperandDepth, reassociate_for_recurrences
from compiler.passes.recurrence.shannon_expansion import expand_conditions, late_conditions
from compiler.passes.recurrence.shorten_recurrences import shorten_recurrences
from compiler.passes.state import State

__all__ = ["DISTRIBUTED", "DistributeRecurrences", "ExpandArrays", "ExpandConditions", "FoldExtremes", "Reassociate",
           "ShortenRecurrences", "count_operations"]

DISTRIBUTED = {"loops distributed": "recurrences within an iteration of an outer loop"}
"""The line of a report for what `DistributeRecurrences` did."""

_NO_PATH = -(1 << 30)
"""The length of a path that does not exist."""


def count_operations(statement: Statement, read: int) -> int:
    """Operations on the longest path from read number `read` to the result."""
    def step(node: Expr, depths: list[int]) -> int:
        longest = 0 if isinstance(node, Read) and node.index == read else max(depths, default=_NO_PATH)
        return longest + isinstance(node, Apply)

    return fold(statement.value, step)


@dataclass(frozen=True)
class FoldExtremes(ProgramPass):
    """Choices of the greater or smaller of two values are one operation, also where another statement compares them."""

    name = "fold-extremes"

    def apply(self, state: State) -> State:
        return state.with_program(fold_extremes(state.program))


@dataclass(frozen=True)
class DistributeRecurrences(ProgramPass):
    """Statements whose values come back within an iteration of an outer loop are split by the steps before, in loops of
    their own."""

    name = "distribute-recurrences"

    def apply(self, state: State) -> State:
        return state.with_program(distribute_recurrences(state.program))


@dataclass(frozen=True)
class ShortenRecurrences(ProgramPass):
    """Conditions select what is accumulated instead of its result, and nothing is cast on the carried path."""

    name = "shorten-recurrences"

    def apply(self, state: State) -> State:
        return state.with_program(shorten_recurrences(state.program))


@dataclass(frozen=True)
class ExpandConditions(ProgramPass):
    """What depends on conditions that are known late is computed for both of their values, and selected.

    `statements`: which compute these conditions, e.g. ``S9 S12`` (default: those of recurrences that wait for a memory
    or a product). Raises `TransformError` for one that does not compute 0 or 1.
    """

    statements: str = ""
    name = "expand-conditions"
    follows = ("shorten-recurrences",)

    def apply(self, state: State) -> State:
        names = self.statements.split() or late_conditions(state.program)
        return state.with_program(expand_conditions(state.program, names))


@dataclass(frozen=True)
class Reassociate(ProgramPass):
    """Terms of integer sums are reordered so that a statement's newest own result enters last.

    `depth`: how long it takes from an operand to the result (default: operations between them).
    """

    depth: OperandDepth = count_operations
    name = "reassociate"
    follows = ("shorten-recurrences",)

    def apply(self, state: State) -> State:
        program, changed = reassociate_for_recurrences(state.program, self.depth)
        notes = {**state.notes, self.name: ", ".join(changed)}
        return replace(state, program=program, notes=notes) if changed else state

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class ExpandArrays(ProgramPass):
    """Intermediate arrays get an element for every value, where predicated-off copies would delay a recurrence.

    `everywhere`: reads of predicated-off instances are forwarded, too.
    """

    everywhere: bool = False
    name = "expand-arrays"
    witness = "elements"
    follows = ("pad-domains", "static-form")

    def apply(self, state: State) -> State:
        return replace(state, program=expand_arrays(state.program, self.everywhere), elements=state.program)
