"""The pass that runs a user's directives."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.passes.directives import apply_script
from compiler.passes.program_pass import ProgramPass
from compiler.passes.state import State

__all__ = ["ApplyDirectives"]


@dataclass(frozen=True)
class ApplyDirectives(ProgramPass):
    """Loop transformations that are asked for by name, e.g. ``tile(y=8, x=8)``; each is proven legal."""

    script: str = ""
    name = "directives"

    def apply(self, state: State) -> State:
        return state.with_program(apply_script(state.program, self.script))
