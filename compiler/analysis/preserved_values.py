"""Whether instances of a statement store what their element held before, and operands to try that with."""

from __future__ import annotations

from collections.abc import Collection

import islpy as isl
import numpy as np

from compiler.analysis.accesses import same_elements
from compiler.analysis.points import some_points
from compiler.analysis.sample_operands import UnknownMemories, operand_columns
from compiler.ir.evaluate import evaluate
from compiler.ir.floating import same
from compiler.ir.program import Program, Statement, Table
from compiler.ir.types import Int

__all__ = ["computing", "operands", "same_values", "stays"]


def computing(program: Program, statement: Statement) -> isl.Set:
    """The instances that may store something else than what their element held: all, or those whose reads all have
    elements, if the others are proven to keep it."""
    asked = statement.domain
    for read in statement.reads:
        asked = asked.intersect(read.map.domain())
    closed = statement.domain.subtract(asked)
    integers = all(isinstance(program.array(read.array).type, Int) for read in statement.reads)
    own = {k for k, read in enumerate(statement.reads) if same_elements(read, statement.write, statement.domain)}
    kept = integers and own and not closed.is_empty() and stays(program, statement, (), own, closed)
    return asked if kept else statement.domain


def stays(program: Program, statement: Statement, zeros: Collection[int], own: Collection[int],
           instances: isl.Set) -> bool:
    """Whether the value is that of the reads in `own` where those in `zeros` are zero: on vectors of operands, for the
    iterators of some of the instances."""
    columns, steps, tables = operands(program, statement, own, instances)
    for k in zeros:
        columns[k] = np.zeros_like(columns[k])
    found = evaluate(statement.value, columns.__getitem__, steps, tables, UnknownMemories(program))
    return same_values(found, columns[min(own)])


def same_values(found: np.ndarray, wanted: np.ndarray) -> bool:
    """Whether all values are equal, floating-point ones bit for bit; one stands for many."""
    return same(*np.broadcast_arrays(found, wanted))


def operands(program: Program, statement: Statement, own: Collection[int], instances: isl.Set,
              ) -> tuple[list[np.ndarray], dict[str, np.ndarray], dict[str, Table]]:
    """Words of all reads, equal ones of those in `own`; iterators of some of the instances; tables."""
    columns = operand_columns([program.array(read.array).type for read in statement.reads])
    for k in own:
        columns[k] = columns[min(own)]
    points = some_points(instances, len(columns[0]))
    steps = {name: points[:, k] for k, name in enumerate(statement.iterators)}
    return columns, steps, {table.name: table for table in program.tables}
