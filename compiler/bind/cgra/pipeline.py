"""From the program that was asked for to the one that is mapped: the array's pipeline of passes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from compiler.bind.cgra.options import Options
from compiler.bind.cgra.passes import LegalizeArrays, LegalizeTables
from compiler.ir.program import Program
from compiler.ir.verify import verify
from compiler.passes.arrays.partition import Partition
from compiler.passes.arrays.passes import (
    CopyBorders,
    InsertWindowCopies,
    MaterializeIteratorValues,
    NarrowIteratorValues,
    PartitionArrays,
)
from compiler.passes.directives.passes import ApplyDirectives
from compiler.passes.normalize.dead_statements import remove_dead_statements
from compiler.passes.normalize.passes import (
    CoalesceTileLoops,
    NormalizeLoops,
    PadDomains,
    SplitByAccess,
    SplitByDependence,
    StaticForm,
)
from compiler.passes.pipeline import PassPipeline
from compiler.passes.program_pass import ProgramPass
from compiler.passes.recurrence.array_expansion import BEHIND_GUARDS, PredicatedReads
from compiler.passes.recurrence.passes import (
    DistributeRecurrences,
    ExpandArrays,
    FoldExtremes,
    Reassociate,
    ShortenRecurrences,
)
from compiler.passes.state import State
from compiler.sched.streams.streams import choose_tile_depth, require_tile_depth
from hw.fabric.spec import FabricSpec

__all__ = ["Preparation", "prepare_program", "tile_depth_of"]


@dataclass(frozen=True)
class Preparation:
    """What is chosen between pipelines. `coalesced`: without the tile loops that the program has. `distributed`: with
    loops of their own for the steps of recurrences within an iteration. `split`: statements
    are split by pieces of their reads and dependences. `bordered`: arrays whose reads turn at edges are copied with a
    border. `predicated`: what predicated-off reads deliver."""

    coalesced: bool = False
    distributed: bool = False
    split: bool = False
    bordered: bool = False
    predicated: PredicatedReads = BEHIND_GUARDS[0]

    def __str__(self) -> str:
        """What differs from the usual, in words."""
        words = {"statements split by pieces of their reads": self.split, "arrays copied with a border": self.bordered,
                 "last values also of predicated-off instances": not self.predicated.computed,
                 "reads everywhere": self.predicated.everywhere}
        return ", ".join(word for word, used in words.items() if used)

    def pipeline(self, options: Options) -> PassPipeline:
        """The passes, without the last one, which partitions arrays."""
        return PassPipeline.parse(options.passes) if options.passes else PassPipeline(tuple(self._passes(options)))

    def _passes(self, options: Options) -> Iterator[ProgramPass]:
        if self.coalesced:
            yield CoalesceTileLoops()
        if self.distributed:
            yield DistributeRecurrences()
        yield ApplyDirectives(options.transform)
        yield FoldExtremes()
        yield ShortenRecurrences()
        yield NormalizeLoops()
        yield Reassociate()
        yield PadDomains(self.predicated.everywhere)
        if self.bordered:
            yield CopyBorders()
        if self.split:
            yield SplitByAccess()
        yield NarrowIteratorValues()
        yield LegalizeTables()
        yield LegalizeArrays()
        yield StaticForm()
        yield InsertWindowCopies()
        if self.split:
            yield SplitByDependence()
        if self.predicated.computed:
            yield ExpandArrays()
        yield MaterializeIteratorValues()


def prepare_program(program: Program, options: Options, spec: FabricSpec,
                    preparation: Preparation = Preparation()) -> Partition:
    """`program` as it is mapped, and the record of how the host converts its arrays. Raises `ProgramError` and what the
    passes raise."""
    verify(program)
    state = preparation.pipeline(options).run(State(program))
    return _partitioned(state, options, spec).layout()


def _partitioned(state: State, options: Options, spec: FabricSpec) -> State:
    """Arrays in parts, with the words of a tile counted where the program is tiled."""
    streams = len(spec.bank_numbers)
    whole = PassPipeline((PartitionArrays(streams),)).run(state)
    split = whole.partition is not None and whole.partition.parts
    depth = tile_depth_of(remove_dead_statements(whole.program), options, spec) if split else 0
    return PassPipeline((replace(PartitionArrays(streams), tile_depth=depth),)).run(state) if depth else whole


def tile_depth_of(live: Program, options: Options, spec: FabricSpec) -> int:
    """The tile loops that were asked for, or the fewest that will do. Raises `StreamError`."""
    if options.tile_depth is None:
        return choose_tile_depth(live, spec.glb.half_words)
    require_tile_depth(live, options.tile_depth, spec.glb.half_words)
    return options.tile_depth
