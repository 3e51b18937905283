"""Removing statements whose values reach no output."""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from compiler.analysis.dependences import flow
from compiler.ir.program import Program, Statement
from hw.errors import SluiceError

__all__ = ["NoOutputError", "remove_dead_statements"]


class NoOutputError(SluiceError):
    """A program that computes nothing anybody could see."""


def remove_dead_statements(program: Program) -> Program:
    """`program` without the statements that no output depends on. Raises `NoOutputError` if none is left."""
    outputs = {array.name for array in program.outputs}
    live = {s.name for s in program.statements if s.write.array in outputs}
    if not live:
        raise NoOutputError(f"program '{program.name}' writes no output")
    dependences = flow(program)
    while True:
        more = {d.source for d in dependences if d.sink in live} - live
        if not more:
            break
        live |= more
    if len(live) == len(program.statements):
        return program
    statements = tuple(s for s in program.statements if s.name in live)
    order = program.order.intersect_domain(_instances(statements))
    shared = tuple(kept for group in program.shared if len(kept := tuple(n for n in group if n in live)) > 1)
    return replace(program, statements=statements, order=order, shared=shared)


def _instances(statements: tuple[Statement, ...]) -> isl.UnionSet:
    total = isl.UnionSet.from_set(statements[0].domain)
    for statement in statements[1:]:
        total = total.union(isl.UnionSet.from_set(statement.domain))
    return total
