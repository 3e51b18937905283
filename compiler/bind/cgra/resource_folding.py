"""Which sums to compute in rounds when a program needs more processing elements than the array has."""

from __future__ import annotations

from math import prod

from compiler.analysis.accesses import iterators_of
from compiler.bind.cgra.resource_sharing import units_of
from compiler.ir.expr import Store
from compiler.ir.isomorphism import first_difference
from compiler.ir.program import Program, Statement
from compiler.passes.directives import TransformError, fold
from compiler.passes.normalize.loop_normalization import normalize_loops
from hw.memtile import MemTileSpec

__all__ = ["choose_folds"]

_ROUNDS = (2, 3, 5, 7, 11, 13)
_DISTANCE = 24
"""Cycles after which a partial sum is expected to be back: innermost loops around which the rounds lie take at least as
many steps together."""


def choose_folds(program: Program, mem: MemTileSpec) -> str:
    """Directives that halve (or more, if they cannot be halved) the units of the statement that has the most of them,
    and of all that compute the same; "" if nothing can be folded."""
    program = normalize_loops(program)
    sums = [s for s in program.statements if not isinstance(s.value, Store)]  # what fills a table is no sum
    units = {s.name: units_of(program, s, mem) for s in sums}
    for statement in sorted(sums, key=lambda s: -units[s.name]):
        for rounds in _ROUNDS if units[statement.name] > 1 else ():
            text = _folds(program, statement, rounds)
            if text:
                return text
    return ""


def _folds(program: Program, statement: Statement, rounds: int) -> str:
    alike = [s for s in program.statements if first_difference(statement, s) is None]
    found = []
    for member in alike:
        loops = _loops(member)
        try:
            fold(program, member.name, rounds, loops)
        except TransformError:
            return ""
        found.append(f"fold({member.name}, {rounds}, {loops})")
    return "; ".join(found)


def _loops(statement: Statement) -> int:
    """How many innermost loops the rounds lie around: as few as give a partial sum the time to come back, and none of
    another reduction, whose order is the program's."""
    box = statement.box()
    trips = [high - low + 1 for low, high in box.values()] if box else []
    moving = iterators_of(statement.write)
    most = next((count for count, k in enumerate(reversed(range(len(trips)))) if k not in moving), len(trips))
    return next((count for count in range(1, most + 1) if prod(trips[-count:]) >= _DISTANCE), most)
