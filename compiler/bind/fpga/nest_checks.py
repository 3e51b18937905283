"""Translation validation of statements that are loop nests, for all their instances at once.

What a read means comes from the original program (`compiler.sched.verify`), what a cell carries from the cells
(`compiler.bind.fpga.nest_proof`). A check that does not succeed says nothing: then instances are looked at one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import islpy as isl
import numpy as np

from compiler.analysis.dependences import constant_bounds
from compiler.analysis.loop_regions import LoopRegion
from compiler.analysis.port_nests import LoopSum, ReadNest, linear_sum, word_numbers
from compiler.bind.fpga.build import BuiltPipeline
from compiler.bind.fpga.fanin import Leaf
from compiler.bind.fpga.formats import keeps_iterator
from compiler.bind.fpga.instance_trace import ReadPart, Reads
from compiler.bind.fpga.nest_proof import NestProof, Value, element_positions, walk_times
from compiler.ir.expr import Const
from compiler.ir.program import Program, Statement
from compiler.sched.verify import Source
from hw.pipeline.spec import CounterCell, InputCell, OutputCell, PipelineSpec, Tap, Walk
from hw.pipeline.streams import ArrayStream

__all__ = ["NestChecks"]

_Origins = Mapping[Source, isl.Map]


@dataclass(frozen=True, eq=False)
class NestChecks:
    """Checks of `program`; `carries` and `streams` as in `NestProof`."""

    program: Program
    built: BuiltPipeline
    spec: PipelineSpec
    carries: Mapping[int, str]
    streams: Mapping[str, ArrayStream]

    @cached_property
    def proof(self) -> NestProof:
        """What is known of cells."""
        clocks = {name: self.clock(name) for name in self.built.results}
        return NestProof(self.spec, self.carries, clocks, self.streams, {a.name: a.shape for a in self.program.arrays})

    def clock(self, name: str) -> LoopSum:
        """Cycles in which the values of a statement are in its cell."""
        return self.built.events.clock(name).plus(self.built.results[name].shift)

    def loads(self, name: str, cell: InputCell) -> bool:
        """Whether a stream's words come in the cycles of a statement."""
        return self.happens(cell.walk, self.clock(name))

    def happens(self, walk: Walk, cycles: LoopSum) -> bool:
        """Whether the events of a walk are proven to be in these cycles, in their order."""
        times = walk_times(walk, _numbers(cycles.trips))
        return walk.count == cycles.count and times is not None and times.same(cycles)

    def iterator(self, statement: Statement, leaf: Leaf) -> str | None:
        """The iterator that a counter counts, None if none is proven."""
        cell = self.spec.cells[leaf.cell]
        assert isinstance(cell, CounterCell)
        cycles = self.clock(statement.name).plus(-leaf.cycles)
        for place, (name, (low, high)) in enumerate(constant_bounds(statement).items()):
            steps = [int(k == place) for k in range(len(cycles.trips))]
            meant = linear_sum(low, steps, cycles.trips)
            if self.proof.counts(cell, cycles, meant) and keeps_iterator(cell, low, high):
                return name
        return None

    def read(self, statement: Statement, leaf: Leaf, number: int, origins: _Origins) -> bool:
        """Whether a leaf is proven to be a read."""
        cycles = self.clock(statement.name).plus(-leaf.cycles)
        lows = [low for low, _ in constant_bounds(statement).values()]
        for source, reads in self._parts(origins, lows, cycles.trips):
            if reads is None:
                return False
            value = self._value(source, reads.nest.digits, self._born(statement, number, reads.nest), reads.region)
            if not self._carried(leaf, cycles.taken(reads.nest.kept), value):
                return False
        return True

    def _carried(self, leaf: Leaf, cycles: LoopSum, value: Value) -> bool:
        """Whether a leaf is proven to carry a value, looked at without loops that run once."""
        pinned = value.region and value.region.pinned()
        if pinned:
            region, fold = pinned
            cycles, value = fold(cycles), value.over(region, fold)
        return self.proof.carried(Tap(leaf.cell), cycles, value)

    def output(self, stream: ArrayStream, cell: OutputCell, origins: _Origins) -> bool:
        """Whether all that an output stream stores is proven to be what the program writes."""
        shape, count = self.program.array(cell.name).shape, 0
        for source, part in self._parts(origins, [0] * len(shape), shape):
            if part is None or part.region is not None:
                return False
            nest = part.nest
            count += nest.count
            elements = _numbers(shape).taken(nest.kept)
            places = element_positions(stream, elements)
            cycles = None if places is None else walk_times(cell.walk, places)
            if cycles is None or not self.proof.carried(cell.operand, cycles, self._value(source, nest.digits, None)):
                return False
        return count == cell.walk.count == stream.rows * stream.row

    def _parts(self, origins: _Origins, lows: Sequence[int],
               trips: Sequence[int]) -> Iterator[tuple[Source, ReadPart | None]]:
        """All origins as nests, or parts of such; None in place of those that are none."""
        for source, relation in origins.items():
            if source.computed:
                bounds = constant_bounds(self.program.statement(source.name)).values()
            else:
                bounds = [(0, size - 1) for size in self.program.array(source.name).shape]
            first, shape = tuple(low for low, _ in bounds), tuple(high - low + 1 for low, high in bounds)
            reads = Reads(relation, tuple(lows), tuple(trips), first, shape, _unlisted)
            for part in (None,) if reads.pieces is None else reads.pieces:
                yield source, part

    def _value(self, source: Source, digits: tuple[LoopSum, ...],
               born: tuple[str, tuple[LoopSum, ...]] | None, region: LoopRegion | None = None) -> Value:
        value = self.program.statement(source.name).value if source.computed else None
        return Value(source, digits, value.value if isinstance(value, Const) else None, born, region)

    def _born(self, statement: Statement, number: int, nest: ReadNest) -> tuple[str, tuple[LoopSum, ...]] | None:
        """What the schedule says brings a read its value: where to look, which is then compared."""
        for dependence in self.built.schedule.dependences:
            if (dependence.sink, dependence.read) == (statement.name, number):
                for found, _ in self.built.events.reads(dependence).parts or ():
                    if all(map(_subset, nest.kept, found.kept)):
                        places = [np.searchsorted(*pair) for pair in zip(found.kept, nest.kept, strict=True)]
                        return dependence.source, tuple(digit.taken(places) for digit in found.digits)
        return None


def _unlisted() -> None:
    raise AssertionError("a proof of nests lists nothing")


def _subset(part: np.ndarray, whole: np.ndarray) -> bool:
    return bool(np.isin(part, whole).all())


def _numbers(trips: Sequence[int]) -> LoopSum:
    """Numbers of the iterations of a box."""
    digits = [linear_sum(0, [int(k == place) for k in range(len(trips))], trips) for place in range(len(trips))]
    return word_numbers(digits, trips, trips)
