"""The passes that only the array needs: everything on streams of 16-bit words."""

from __future__ import annotations

from dataclasses import dataclass, replace

from compiler.bind.cgra.legalize_arrays import legalize_arrays
from compiler.bind.cgra.word_memories import with_word_memories
from compiler.bind.cgra.word_tables import with_word_tables
from compiler.passes.program_pass import ProgramPass
from compiler.passes.state import State

__all__ = ["LegalizeArrays", "LegalizeTables"]


@dataclass(frozen=True)
class LegalizeTables(ProgramPass):
    """Tables of 32 bits, and memories that are filled, become those of low and of high words."""

    name = "legalize-tables"
    follows = ("narrow-iterator-values",)

    def apply(self, state: State) -> State:
        return state.with_program(with_word_memories(with_word_tables(state.program)))


@dataclass(frozen=True)
class LegalizeArrays(ProgramPass):
    """Arrays of 32 bits become arrays of low and of high words, their operations those on words."""

    name = "legalize-arrays"
    witness = "words"
    follows = ("legalize-tables", "pad-domains")

    def apply(self, state: State) -> State:
        words = legalize_arrays(state.program)
        return state if words is None else replace(state, program=words.after, words=words)
