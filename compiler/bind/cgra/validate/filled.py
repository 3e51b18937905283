"""Memory tiles that look up words that a statement stores: what they hold is proven, and when, word by word.

The decoded controllers say in which cycle each word of the tile was at the filling input; the program says which
instance's word it has to be. What the statements that look words up compute from them is compared on examples, with
random words in the memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from compiler.analysis.points import all_points, values_at
from compiler.bind.cgra.validate.memory_enumerated import MemoryNumbers
from compiler.ir.evaluate import evaluate
from compiler.ir.expr import Const, Store, postorder
from compiler.ir.program import Memory, Program, Statement
from compiler.sched.verify import ValidationError

__all__ = ["FilledTable", "filled_tables", "stored_words"]


@dataclass(frozen=True)
class FilledTable:
    """Word k of `memory` is what instance ``instances[k]`` of `statement` stores last; `known`: if there is one."""

    memory: Memory
    statement: Statement
    instances: np.ndarray
    known: np.ndarray

    def require_before(self, program: Program, reader: Statement) -> None:
        """Raise `ValidationError` if `reader` looks words up before the last one is stored."""
        stored, read = (program.order_of(s.name).intersect_domain(s.domain) for s in (self.statement, reader))
        if not read.lex_le_map(stored).is_empty():
            raise ValidationError(f"{reader} reads '{self.memory.label}' before {self.statement} has filled it")

    def cycles(self, held: MemoryNumbers, first: int) -> tuple[int, np.ndarray]:
        """The input of a tile, and the cycle in which each known word was there. Raises `ValidationError` if one is not
        stored before cycle `first`, or if anything is stored from then on."""
        port, found, cycles, last = held.filled(np.flatnonzero(self.known))
        if last >= first:
            raise ValidationError(f"'{self.memory.label}' is filled until cycle {last}, but read in cycle {first}")
        if not found.all():
            word = int(np.flatnonzero(self.known)[np.argmin(found)])
            raise ValidationError(f"word {word} of '{self.memory.label}' is never stored in its memory tile")
        return port, cycles


def filled_tables(program: Program) -> dict[str, FilledTable]:
    """Of every memory that one statement fills and others look up, what it holds; by name."""
    found: dict[str, FilledTable] = {}
    for memory in program.memories:
        fills = [s for s in program.statements if _stores(s, memory.name)]
        store = fills[0].value if len(fills) == 1 else None
        if isinstance(store, Store) and isinstance(store.enable, Const) and store.enable.value:
            found[memory.name] = _table(program, memory, fills[0], store)
    return found


def _stores(statement: Statement, memory: str) -> bool:
    return any(isinstance(node, Store) and node.memory == memory for node in postorder(statement.value))


def _table(program: Program, memory: Memory, statement: Statement, store: Store) -> FilledTable:
    points = all_points(statement.domain)
    order = np.lexsort(_times(program, statement, points).T[::-1])
    columns = {name: points[order, k] for k, name in enumerate(statement.iterators)}
    tables = {table.name: table for table in program.tables}
    places = np.broadcast_to(evaluate(store.index, _no_read, columns, tables), len(points)).astype(np.int64)
    if len(places) and not (places.min() >= 0 and places.max() < memory.words):
        raise ValidationError(f"{statement} stores outside '{memory.label}'")
    instances = np.zeros((memory.words, points.shape[1]), dtype=np.int64)
    known = np.zeros(memory.words, dtype=bool)
    instances[places], known[places] = points[order], True
    if memory.initial is not None and not known.all():
        raise ValidationError(f"{statement} leaves words of '{memory.label}' as they are at the start")
    return FilledTable(memory, statement, instances, known)


def _times(program: Program, statement: Statement, points: np.ndarray) -> np.ndarray:
    """Their time vectors."""
    _, times = values_at(program.order_of(statement.name), points)
    return times


def _no_read(index: int) -> np.ndarray:
    raise ValidationError(f"read {index} is part of the place of a store into a table")


def stored_words(statement: Statement) -> Statement:
    """A statement that stores as one whose value is the word."""
    return replace(statement, value=statement.value.value) if isinstance(statement.value, Store) else statement
