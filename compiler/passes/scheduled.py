"""A program with what its source's schedule asks of hardware beside an order: copies of loops' bodies.

Targets differ in what copies are: some have a number of lanes of their own, others take copies as statements. So the
program stays as it was written, and `ScheduledProgram.for_target` says what one target takes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from math import prod
from typing import Any

from compiler.analysis.boxes import extents
from compiler.ir.program import Program
from compiler.passes.directives.errors import TransformError
from compiler.passes.directives.loops import reorder
from compiler.passes.directives.parallel import parallelize
from compiler.passes.directives.split import split
from compiler.passes.directives.unroll import unroll

__all__ = ["MOST_LANES", "Copies", "ScheduledProgram", "add_copies"]

MOST_LANES = 64
"""As many as a target with lanes can have."""


@dataclass(frozen=True)
class Copies:
    """`count` iterations of a loop side by side in `statements`, which share it: neighbours, or the first ones of
    `blocks`. `whole`: a name for loops that are copied as statements everywhere, all of them or none."""

    iterator: str
    count: int
    statements: tuple[str, ...]
    blocks: bool = False
    whole: str = ""

    def __str__(self) -> str:
        return f"{'parallelize' if self.blocks else 'unroll'}({self.iterator}, {self.count})"


@dataclass(frozen=True, eq=False)
class ScheduledProgram(Program):
    """`copies`: those that are asked for, innermost loop first. `tile_depth`: outer loops that walk over tiles.
    `chooses`: fewer copies will do, if more gain little. `remarks`: what became of the schedule, in words."""

    copies: tuple[Copies, ...] = ()
    tile_depth: int = 0
    chooses: bool = False
    remarks: tuple[str, ...] = ()

    @property
    def algorithm(self) -> Program:
        """The program without wishes."""
        return Program(**{field.name: getattr(self, field.name) for field in fields(Program)})

    @property
    def lanes(self) -> int:
        """The most copies of one statement."""
        names = {name for copies in self.copies for name in copies.statements}
        return max((prod(c.count for c in self.copies if name in c.statements) for name in names), default=1)

    def for_target(self, known: Mapping[str, Any], options: Mapping[str, Any]) -> tuple[Program, dict[str, Any]]:
        """The program and options for a target that has the options `known`, with these defaults, of which lanes are
        what copies are at least, but for whole outer loops of which lanes, a power of two, would not be as many: these
        are copied as statements everywhere. `options` are the user's, who wins. Raises `TransformError` for copies that
        cannot be."""
        given = dict(options)
        if self.tile_depth and "tile_depth" in known:
            given = {"tile_depth": self.tile_depth} | given
        if self.lanes == 1:
            return self.algorithm, given
        as_statements = [c for c in self.copies if c.whole or "lanes" not in known or self._is_whole_outer_loop(c)]
        program = self.algorithm
        for copies in as_statements:
            program = add_copies(program, copies)
        number = replace(self, copies=tuple(c for c in self.copies if c not in as_statements)).lanes
        if number == 1:
            return program, given
        lanes = 1 << min(number, MOST_LANES).bit_length() - 1
        return program, {"lanes": max(lanes, known["lanes"] or 1)} | given

    def _is_whole_outer_loop(self, copies: Copies) -> bool:
        """Whether all iterations of a loop around others, in a number that lanes cannot have, are side by side."""
        statements = [self.statement(name) for name in copies.statements]
        return not copies.blocks and copies.count.bit_count() > 1 and all(
            s.iterators[-1] != copies.iterator for s in statements) and \
            copies.count == _extent(self, copies.iterator, copies.statements)


def add_copies(program: Program, copies: Copies) -> Program:
    """`program` with copies as statements. Raises `TransformError` if that changes what it computes."""
    names = _descendants(program, copies)
    if copies.blocks:
        return parallelize(program, copies.iterator, copies.count, names)
    lane = copies.iterator
    if copies.count < _extent(program, copies.iterator, names):
        lane = f"{copies.iterator}_lane"
        program = split(program, copies.iterator, copies.count, (copies.iterator, lane), names)
    for name in names:
        inner = [loop for loop in program.statement(name).iterators if loop != lane]
        where = program.statement(name).iterators.index(lane)
        program = reorder(program, [*inner[where:], lane], [name])
    return unroll(program, lane, statements=names)


def _descendants(program: Program, copies: Copies) -> list[str]:
    """The statements that those of `copies` have become by other copies."""
    found = [s.name for s in program.statements for name in copies.statements
             if s.name == name or (s.name.startswith(f"{name}_") and s.name[len(name) + 1:].replace("_", "").isdigit())]
    if not found:
        raise TransformError(f"program '{program.name}' has no statement '{copies.statements[0]}'")
    return [name for name in found if copies.iterator in program.statement(name).iterators]


def _extent(program: Program, iterator: str, names: Collection[str]) -> int:
    statements = map(program.statement, names)
    return max(extents(s.domain)[s.iterators.index(iterator)] for s in statements)
