"""From the program that was asked for to the one that is built: the pipeline of passes, and what a search chooses."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Self

from compiler.bind.fpga.expressions import WIDEST
from compiler.bind.fpga.options import Options
from compiler.passes.arrays.passes import PackDrains, PackStreams, PartitionArrays
from compiler.passes.directives.passes import ApplyDirectives
from compiler.passes.normalize.passes import (
    CoalesceTileLoops,
    FoldConstantFills,
    NormalizeLoops,
    PadDomains,
    SelectSources,
    StaticForm,
)
from compiler.passes.pipeline import PassPipeline
from compiler.passes.program_pass import ProgramPass
from compiler.passes.recurrence.array_expansion import BEHIND_GUARDS, PredicatedReads
from compiler.passes.recurrence.passes import ExpandArrays, ExpandConditions, ShortenRecurrences
from compiler.sched.static.schedule import UNIT_II, InitiationIntervals

__all__ = ["Candidate", "pipeline_of"]


@dataclass(frozen=True)
class Candidate:
    """One choice. Whether the program's tile loops are `coalesced`; how many elements of a row come and go at a time,
    in as many `lanes`; statements whose conditions are `expanded`, so that what depends on them is there for both
    values; `directives` for the order of loops, or for tiles; what `predicated` reads deliver that are switched off;
    whether reads of several sources become reads of each, `selected` by conditions; reads whose dependences are `split`
    in pieces; initiation intervals (`pace`); the `tile_depth` outer loops that enumerate tiles; arrays that are moved
    once, `in_order` of memory."""

    coalesced: bool = False
    lanes: int = 1
    expanded: tuple[str, ...] = ()
    directives: str = ""
    predicated: PredicatedReads = BEHIND_GUARDS[0]
    selected: bool = False
    split: frozenset[tuple[str, int]] = frozenset()
    pace: InitiationIntervals = UNIT_II
    tile_depth: int = 0
    in_order: frozenset[str] = frozenset()

    @property
    def prepared(self) -> Self:
        """The partial choice that the prepared program depends on."""
        return replace(self, split=frozenset(), pace=UNIT_II, tile_depth=0, in_order=frozenset())

    def __str__(self) -> str:
        """What is chosen, in words."""
        words = {"tile loops coalesced": self.coalesced, f"{self.lanes} elements at a time": self.lanes > 1,
                 f"{self.tile_depth} tile loops": self.tile_depth > 0,
                 f"{', '.join(sorted(self.in_order))} in the order of memory": bool(self.in_order),
                 f"both values of the conditions {', '.join(self.expanded)}": bool(self.expanded),
                 f"loops changed: {self.directives}": bool(self.directives),
                 "last values also of predicated-off instances": not self.predicated.computed,
                 "reads everywhere": self.predicated.everywhere, "sources selected by conditions": self.selected,
                 f"reads in pieces: {_listed(self.split)}": bool(self.split)}
        return ", ".join([f"initiation interval {self.pace}", *(word for word, used in words.items() if used)])


def _listed(reads: Collection[tuple[str, int]]) -> str:
    return ", ".join(f"{number} of {name}" for name, number in sorted(reads))


def pipeline_of(choice: Candidate, options: Options) -> PassPipeline:
    """All passes of a candidate: whole boxes, sums drained, arrays in parts. Raises `PipelineError`."""
    if options.passes:
        asked = PassPipeline.parse(options.passes).passes
        return PassPipeline((*_directives(choice), *asked, PartitionArrays()))
    return PassPipeline((*_first(choice), ShortenRecurrences(), *_expanded(choice), *_directives(choice),
                         *_passes(choice, options), PartitionArrays()))


def _first(choice: Candidate) -> Iterator[ProgramPass]:
    if choice.coalesced:
        yield CoalesceTileLoops()
    if choice.lanes > 1:
        yield PackStreams(choice.lanes)


def _expanded(choice: Candidate) -> Iterator[ProgramPass]:
    if choice.expanded:
        yield ExpandConditions(" ".join(choice.expanded))


def _directives(choice: Candidate) -> Iterator[ProgramPass]:
    if choice.directives:
        yield ApplyDirectives(choice.directives)


def _passes(choice: Candidate, options: Options) -> Iterator[ProgramPass]:
    yield FoldConstantFills()
    if choice.lanes == 1:
        yield PackDrains(min(WIDEST, options.bus_bits))
    yield NormalizeLoops()
    yield PadDomains(choice.predicated.everywhere)
    yield StaticForm()
    if choice.selected:
        yield SelectSources()
    if choice.predicated.computed:
        yield ExpandArrays(everywhere=True)
