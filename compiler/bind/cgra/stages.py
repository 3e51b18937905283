"""The stages of a candidate for the array: program, schedule, application, design. Each keeps what it has found."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from math import prod

from compiler.analysis.boxes import extents
from compiler.analysis.dependences import flow, recurring_around
from compiler.bind.buffers.wide_fetch import AccessPatternError
from compiler.bind.cgra.bands import LEAST_LINES
from compiler.bind.cgra.budget import Budget
from compiler.bind.cgra.candidate import Candidate
from compiler.bind.cgra.configuration import configure, configure_banks, plan_bands
from compiler.bind.cgra.design import CgraDesign
from compiler.bind.cgra.idle_loops import idle_longer
from compiler.bind.cgra.independent_tiles import IndependentLoops, best_sizes, independent_loops
from compiler.bind.cgra.labels import asked_labels
from compiler.bind.cgra.mapping import Application, map_program
from compiler.bind.cgra.options import Options, OptionsError
from compiler.bind.cgra.pipeline import prepare_program, tile_depth_of
from compiler.bind.cgra.place_and_route import implement
from compiler.bind.cgra.relaxation import Relaxation
from compiler.bind.cgra.resource_sharing import choose_shared
from compiler.bind.cgra.timing import RecurrenceViolation
from compiler.ir.program import Program
from compiler.passes.arrays.border_copies import copy_borders
from compiler.passes.arrays.partition import Partition
from compiler.passes.directives import TransformError, apply_script
from compiler.passes.directives.right_looking import right_looking_script
from compiler.passes.directives.unroll_outer import unroll_outer_script
from compiler.passes.normalize.dead_statements import remove_dead_statements
from compiler.passes.normalize.index_set_splitting import split_by_access, split_by_dependence
from compiler.passes.normalize.loop_coalescing import coalesce_tile_loops
from compiler.passes.recurrence.array_expansion import has_undefined_reads
from compiler.passes.recurrence.distribute_recurrences import distribute_recurrences
from compiler.passes.recurrence.recurrence_interchange import recurrence_order
from compiler.sched.search.space import KeptResults
from compiler.sched.static.fill_then_drain import writers_first
from compiler.sched.static.schedule import InitiationIntervals, Schedule
from compiler.sched.static.static_schedule import schedule_program, sequential_schedule
from compiler.sched.streams.streams import StagedProgram, StreamError, passes_sooner, stage_streams
from compiler.sched.streams.window_unfolding import repeated_inputs
from hw.errors import SluiceError
from hw.fabric.driver import MOST_CYCLES
from hw.fabric.spec import FabricSpec

__all__ = ["Stages"]

_LONG = 1 << 18
"""Instances of a statement from which on tiles are tried first."""

_MANY = 64
"""Tiles that are many."""

_TILINGS = 3
"""Sizes of tiles that are tried, and of tiles of several rows and columns: a tile of one row needs words of it and of
what it is multiplied by in the same cycles, and one memory has no port for both where lengths are odd."""


class Stages:
    """What follows from a candidate for `program`. `merged`: two buffers may share a memory tile, and delay lines wrap
    in loops instead of masks."""

    def __init__(self, program: Program, options: Options, budget: Budget, merged: bool) -> None:
        self.program, self.options, self.budget, self.merged = program, options, budget, merged
        self.seconds: dict[str, float] = {}
        self._kept = KeptResults()

    @cached_property
    def spec(self) -> FabricSpec:
        """The array."""
        return self.options.fabric()

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - start

    def options_of(self, choice: Candidate) -> Options:
        """The options with what the candidate decides of them."""
        depth = 0 if choice.one_tile else self.options.tile_depth if choice.tile_loops is None else choice.tile_loops
        return replace(self.options, transform=choice.directives, tile_depth=depth)

    # The program.

    @cached_property
    def coalesced(self) -> Program:
        """The program without its tile loops; as it is if it has none, or if the options say which there are."""
        return coalesce_tile_loops(self.program) if self.may_tile else self.program

    @cached_property
    def distributed(self) -> Program:
        """The program without its tile loops, and with loops of their own for the steps of recurrences within an
        iteration; the same if it has none, or if the options say which loops there are."""
        return distribute_recurrences(self.coalesced) if self._may_reorder else self.coalesced

    @cached_property
    def right_looking(self) -> str:
        """Directives for right-looking order; empty if nothing changes, or if the options say which loops there are."""
        return right_looking_script(self.coalesced) if self._may_reorder else ""

    @property
    def steps_apart(self) -> str:
        """The directive that gives the steps of a short time loop statements of their own; empty if there is none, or
        if the options say which loops there are."""
        return unroll_outer_script(self.coalesced) if self._may_reorder else ""

    @property
    def may_tile(self) -> bool:
        """Whether the compiler may cut outputs into tiles: the options say nothing of loops."""
        return self._may_reorder and self.options.tile_depth is None

    @property
    def _may_reorder(self) -> bool:
        return self.options.searches_orders and not (self.options.transform or self.options.passes)

    def directed(self, choice: Candidate) -> Program:
        """The program after its directives."""
        program = self.distributed if choice.distributed else self.coalesced if choice.coalesced else self.program
        return self._kept.once(("directed", choice.coalesced, choice.distributed, choice.directives),
                               lambda: apply_script(program, choice.directives))

    def loop_order(self, choice: Candidate, cycles: int) -> str:
        """Directives for loops in which recurrences have so many cycles; empty if nothing changes."""
        return recurrence_order(self.directed(choice), cycles)

    def parts(self, choice: Candidate) -> Partition:
        """The prepared program, with the record of its arrays."""
        return self._kept.once(("parts", choice.prepared), lambda: self._prepared(choice))

    def _prepared(self, choice: Candidate) -> Partition:
        preparation = replace(choice.preparation, coalesced=choice.coalesced, distributed=choice.distributed)
        with self._timed("verify"):
            return prepare_program(self.program, self.options_of(choice), self.spec, preparation)

    def live(self, choice: Candidate) -> Program:
        """The prepared program without dead statements, with its shared units."""
        return self._kept.once(("live", choice.shared), lambda: self._live(choice))

    def _live(self, choice: Candidate) -> Program:
        live = remove_dead_statements(self.parts(choice).program)
        if not choice.sharing:
            return live
        with self._timed("share"):
            return choose_shared(live, lambda p: self._schedule_of(p, choice.shared), self.spec.mem)

    def can_share(self, choice: Candidate) -> bool:
        """Whether there are statements that can share units for nothing."""
        return self.live(replace(choice, sharing=True)) != self.live(replace(choice, sharing=False))

    def fits_sooner(self, choice: Candidate) -> bool:
        """Whether the compiler may and should take the program as one tile, larger than the global buffer."""
        if self.spec.protocol != "static" or not self.merged or self.options_of(choice).tile_depth is not None:
            return False
        try:
            live = self.live(choice)
        except StreamError:  # of arrays in parts, which are counted in tiles
            live = self.live(replace(choice, one_tile=True))
        return passes_sooner(live, self.spec.glb.half_words)

    @cached_property
    def independent_loops(self) -> IndependentLoops | None:
        """Loops that the compiler may cut into tiles because no dependence crosses them, if there are any."""
        return independent_loops(self.coalesced) if self.may_tile else None

    def require_countable(self, choice: Candidate) -> None:
        """Raise `StreamError` for a statement with more instances than a run has cycles."""
        most = MOST_CYCLES
        for statement in self.directed(choice).statements:
            trips = extents(statement.domain)
            if prod(trips) > most:
                rest = prod(trips[1:])
                part = f"; take at most {most // rest} values of '{statement.iterators[0]}' in a run"
                raise StreamError(f"{statement}: it has {prod(trips)} instances, of which its unit computes one in a "
                                  f"cycle; a run counts up to {most} cycles{part if rest <= most else ''}")

    @cached_property
    def is_long(self) -> bool:
        """Whether there are more instances than are quickly gone through, and loops to cut them into tiles."""
        most = max(prod(extents(s.domain)) for s in self.program.statements)
        return most > _LONG and self.independent_loops is not None

    def independent_tiles(self, choice: Candidate) -> list[Candidate]:
        """The choice with the tilings of independent loops that end soonest by prediction; none where there are no such
        loops."""
        loops, program = self.independent_loops, self.directed(choice)
        if loops is None:
            return []
        found = []
        best = best_sizes(program, loops, self.spec.glb.half_words)
        square = [sizes for sizes in best if min(sizes) > 1]
        for sizes in dict.fromkeys([*best[:_TILINGS], *square[:_TILINGS]]):
            with suppress(TransformError):
                tiled = choice.with_directives(loops.script(program, sizes), "independent tiles")
                found.append(replace(tiled, tile_loops=len(sizes)))
        return found

    def largest_tile(self, choice: Candidate, depth: int) -> int:
        """Words of the largest array of a tile, if the outermost `depth` loops enumerate tiles."""
        staged = stage_streams(self.live(choice), depth)
        return max(footprint.words for footprint in (*staged.inputs, *staged.outputs))

    def has_undefined_reads(self, choice: Candidate) -> bool:
        """Whether guards leave it open what reads deliver."""
        return has_undefined_reads(self.parts(choice).program)

    def can_split(self, choice: Candidate) -> bool:
        """Whether statements can be split by pieces of their reads."""
        elements = self._elements(choice)
        return split_by_dependence(split_by_access(elements)) is not elements

    def can_copy_borders(self, choice: Candidate) -> bool:
        """Whether there are arrays whose reads turn at edges."""
        elements = self._elements(choice)
        return copy_borders(elements) is not elements

    def _elements(self, choice: Candidate) -> Program:
        parts = self.parts(choice)
        return parts.program if parts.elements is parts.original or parts.elements is None else parts.elements

    def around(self, choice: Candidate, units: Iterable[str]) -> frozenset[str]:
        """The statements of the recurrences through these units."""
        return recurring_around(flow(self.live(choice)), [unit.partition(".")[0] for unit in units])

    def explain(self, choice: Candidate, error: SluiceError) -> SluiceError:
        """`error` with the names that the user's program has for its statements."""
        labelled = isinstance(error, RecurrenceViolation)
        return error.of(asked_labels(self.parts(choice), self.live(choice))) if labelled else error

    # The schedule.

    def schedule(self, choice: Candidate) -> Schedule:
        """The schedule. Raises `AccessPatternError` where what is relaxed makes no difference."""
        return self._kept.once(("schedule", choice.scheduled), lambda: self._scheduled(choice))

    def end(self, choice: Candidate) -> int:
        """The cycle in which the schedule ends: a lower bound of what its mapping takes."""
        return self.schedule(choice).end

    def _scheduled(self, choice: Candidate) -> Schedule:
        with self._timed("schedule"):
            schedule = self._schedule_of(self.live(choice), choice)
            return self._filled_first(schedule, choice) if choice.relaxation.in_turns else schedule

    def _schedule_of(self, live: Program, choice: Candidate) -> Schedule:
        relaxation, options = choice.relaxation, self.options
        staged = self._staged(live, choice)
        if options.schedule == "sequential":
            if live.shared:
                raise OptionsError("statements that share units need a modulo reservation of them, which is part of "
                                   "schedule=pipelined")
            return sequential_schedule(staged)
        rhythm = self.spec.mem.fetch_width if relaxation.in_step else 0
        return schedule_program(staged, options.fusion_level, relaxation.alignment, relaxation.pace, choice.slack,
                                rhythm)

    def _staged(self, live: Program, choice: Candidate) -> StagedProgram:
        depth = tile_depth_of(live, self.options_of(choice), self.spec)
        return stage_streams(live, depth, choice.relaxation.windows)

    def _filled_first(self, schedule: Schedule, choice: Candidate) -> Schedule:
        """The schedule with buffers written before they are read, if that ends before one at half the rate does."""
        live = self.live(choice)
        found = None if live.shared else writers_first(schedule)
        half = replace(choice, relaxation=Relaxation(pace=InitiationIntervals(2)), slack=None)
        if found is None or found.end >= self.end(half):
            raise AccessPatternError("no buffer is sooner written and then read than both at half the rate")
        return found

    # The mapping.

    def idling(self, choice: Candidate, loop: RecurrenceViolation, margin: int) -> Candidate | None:
        """The choice with a loop that idles for longer: for the cycles that a recurrence lacks and a margin."""
        if self.options.schedule == "sequential":
            return None
        pace = idle_longer(self.application(choice), loop, margin)
        return None if pace is None else replace(choice, relaxation=choice.relaxation._replace(pace=pace))

    def application_key(self, choice: Candidate) -> Hashable:
        """What the application depends on: equal schedules have equal ones, whatever was relaxed for them."""
        schedule, relaxation = self.schedule(choice), choice.relaxation
        times = tuple((entry.statement, entry.offset, tuple(entry.strides.items()), tuple(entry.trips.items()))
                      for entry in schedule.statements.values())
        return (choice.shared, relaxation.windows, times, schedule.period, schedule.alignment, schedule.pace.interval,
                relaxation.sparse, relaxation.shared, relaxation.rings, choice.apart, choice.balanced)

    def application(self, choice: Candidate) -> Application:
        """The units of the program. Raises `NestError` where no memory can follow."""
        return self._kept.once(("application", self.application_key(choice)), lambda: self._mapped(choice))

    def _mapped(self, choice: Candidate) -> Application:
        schedule, spec, relaxation = self.schedule(choice), self.spec, choice.relaxation
        if relaxation.windows and not repeated_inputs(schedule):
            raise AccessPatternError("no input is loaded in the order of a window")
        plan_bands(schedule, spec, LEAST_LINES[:1])  # whether the arrays fit is known before anything is placed
        with self._timed("map"):
            found = map_program(schedule, spec.mem, relaxation.sparse, relaxation.shared, spec.pe.counter, choice.apart,
                                relaxation.rings, spec.memories if spec.mem_depths else None, choice.balanced, spec.pe,
                                self.merged)
            found.require_followed()
            return found

    @staticmethod
    def _band_lengths(schedule: Schedule) -> Sequence[int]:
        """The lengths of bands that are tried: of many tiles whole ones, as bands only matter to the first and the last
        tile."""
        return LEAST_LINES if schedule.staged.tiles <= _MANY else LEAST_LINES[-1:]

    def design(self, choice: Candidate) -> CgraDesign:
        """The configured array, validated from outside."""
        application, parts, spec = self.application(choice), self.parts(choice), self.spec
        with self._timed("place and route"):
            physical = implement(application.netlist, spec, self.options.seed, self.budget)
        with self._timed("configure"):
            config = configure(application, physical, spec)
            designs = [CgraDesign(parts.asked, parts, self.options_of(choice), spec, application, physical,
                                  replace(config, banks=configure_banks(application, physical, spec, bands)), bands,
                                  self.seconds, choice.coalesced, choice.distributed)
                       for bands in plan_bands(application.schedule, spec, self._band_lengths(application.schedule))]
            design = min(designs, key=lambda made: made.predicted_start_to_done)
            _ = design.words
        with self._timed("validate"):
            design.validate()
        return design
