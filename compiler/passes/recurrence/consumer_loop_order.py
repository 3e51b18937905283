"""Loops of a producer in the order in which its readers come to its values.

A memory keeps words in the order of their production. A reader that walks the columns of what was produced in rows
needs another wide word in every step; where nothing asks for rows, the producer can as well go down the columns.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.analysis.driving_loops import driving_loops
from compiler.ir.program import Program
from compiler.passes.normalize.loop_normalization import normalize_loops

__all__ = ["reading_order"]


def reading_order(program: Program, statement: str, loops: Sequence[str]) -> list[str]:
    """The iterators `loops` of a statement, outermost first, in the order in which the first statement that reads its
    values walks the dimensions that they move along; as they are where nobody else reads them, or not so."""
    program = normalize_loops(program)
    mine = program.statement(statement)
    reader = next((s for s in program.statements if s.name != statement
                   and any(read.array == mine.write.array for read in s.reads)), None)
    if reader is None:
        return list(loops)
    own = driving_loops(mine, [mine.write], 0)
    reads = [read for read in reader.reads if read.array == mine.write.array]
    walked = driving_loops(reader, reads, 0)
    dimension = {mine.iterators[position]: k for k, position in own.items()}
    if any(name not in dimension or dimension[name] not in walked for name in loops):
        return list(loops)
    return sorted(loops, key=lambda name: walked[dimension[name]])
