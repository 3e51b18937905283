"""Removing statements whose values reach no output."""

from __future__ import annotations

from dataclasses import replace

from compiler.analysis.dependences import flow
from compiler.ir.program import Program
from compiler.ir.relations import united
from compiler.ir.roots import live_roots
from hw.errors import SluiceError

__all__ = ["NoOutputError", "remove_dead_statements"]


class NoOutputError(SluiceError):
    """A program that computes nothing anybody could see."""


def remove_dead_statements(program: Program) -> Program:
    """`program` without the statements that no output and no assertion depends on. Raises `NoOutputError` if there is
    no output."""
    written = {s.write.array for s in program.statements}
    if not any(array.name in written for array in program.outputs):
        raise NoOutputError(f"program '{program.name}' writes no output")
    live = set(live_roots(program))
    dependences = flow(program)
    while True:
        more = {d.source for d in dependences if d.sink in live} - live
        if not more:
            break
        live |= more
    if len(live) == len(program.statements):
        return program
    statements = tuple(s for s in program.statements if s.name in live)
    order = program.order.intersect_domain(united(s.domain for s in statements))
    shared = tuple(kept for group in program.shared if len(kept := tuple(n for n in group if n in live)) > 1)
    return replace(program, statements=statements, order=order, shared=shared)
