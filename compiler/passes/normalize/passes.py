"""The passes of this room by name: loops, domains and names as static schedules want them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from compiler.passes.normalize.boundary_padding import pad_domains
from compiler.passes.normalize.constant_fills import fold_constant_fills
from compiler.passes.normalize.dead_statements import remove_dead_statements
from compiler.passes.normalize.distinct_names import rename_clashing_statements
from compiler.passes.normalize.index_set_splitting import split_by_access, split_by_dependence
from compiler.passes.normalize.loop_coalescing import coalesce_tile_loops
from compiler.passes.normalize.loop_normalization import normalize_loops
from compiler.passes.normalize.source_selection import select_sources
from compiler.passes.normalize.static_form import static_form
from compiler.passes.program_pass import ProgramPass
from compiler.passes.state import State

__all__ = ["COALESCED", "CoalesceTileLoops", "FoldConstantFills", "NormalizeLoops", "PadDomains",
           "RemoveDeadStatements", "RenameClashingStatements", "SelectSources", "SplitByAccess", "SplitByDependence",
           "StaticForm"]


COALESCED = {"loops coalesced": "tile loops of the program"}
"""What designs say among their choices where `CoalesceTileLoops` has changed the program."""


@dataclass(frozen=True)
class CoalesceTileLoops(ProgramPass):
    """Loops over tiles and the loops inside a tile become one again, where dependences allow it."""

    name = "coalesce-tile-loops"

    def apply(self, state: State) -> State:
        after = state.with_program(coalesce_tile_loops(state.program))
        notes = {**state.notes, self.name: COALESCED["loops coalesced"]}
        return after if after is state else replace(after, notes=notes)


@dataclass(frozen=True)
class FoldConstantFills(ProgramPass):
    """Memories that are filled with a constant first hold it from the beginning."""

    name = "fold-constant-fills"

    def apply(self, state: State) -> State:
        return state.with_program(fold_constant_fills(state.program))


@dataclass(frozen=True)
class NormalizeLoops(ProgramPass):
    """Iterators become the loops: in the order of execution, counting up."""

    name = "normalize-loops"

    def apply(self, state: State) -> State:
        return state.with_program(normalize_loops(state.program))


@dataclass(frozen=True)
class PadDomains(ProgramPass):
    """Domains become boxes, by neutral terms, copied edges or predication; inputs and outputs grow.

    `everywhere`: predicated-off instances read what the active ones would, too.
    """

    everywhere: bool = False
    name = "pad-domains"
    witness = "padded"
    follows = ("normalize-loops",)

    def apply(self, state: State) -> State:
        padded = pad_domains(state.program, self.everywhere)
        return state if padded is None else replace(state, program=padded.after, padded=padded)


@dataclass(frozen=True)
class SelectSources(ProgramPass):
    """A read that sees values of several statements, in triangles or the like, becomes a read of each and a select."""

    name = "select-sources"
    follows = ("static-form",)

    def apply(self, state: State) -> State:
        return state.with_program(select_sources(state.program))


@dataclass(frozen=True)
class SplitByAccess(ProgramPass):
    """Index-set splitting: a statement for each piece of a piecewise affine read."""

    name = "split-by-access"

    def apply(self, state: State) -> State:
        return state.with_program(split_by_access(state.program))


@dataclass(frozen=True)
class SplitByDependence(ProgramPass):
    """Index-set splitting: a statement for each piece of a piecewise affine dependence."""

    name = "split-by-dependence"
    follows = ("split-by-access", "static-form")

    def apply(self, state: State) -> State:
        return state.with_program(split_by_dependence(state.program))


@dataclass(frozen=True)
class StaticForm(ProgramPass):
    """Unions become statements of their own, accumulators are drained to outputs, constants propagate."""

    name = "static-form"
    follows = ("pad-domains",)

    def apply(self, state: State) -> State:
        return state.with_program(static_form(state.program))


@dataclass(frozen=True)
class RemoveDeadStatements(ProgramPass):
    """Statements go whose results reach no output."""

    name = "remove-dead-statements"

    def apply(self, state: State) -> State:
        return state.with_program(remove_dead_statements(state.program))


@dataclass(frozen=True)
class RenameClashingStatements(ProgramPass):
    """No statement has the name of an array or a table."""

    name = "rename-clashing-statements"

    def apply(self, state: State) -> State:
        return state.with_program(rename_clashing_statements(state.program))
