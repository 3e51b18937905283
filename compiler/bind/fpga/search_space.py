"""What is tried for a pipeline of its own, in which order, and what failures teach."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import TypeAlias

from compiler.analysis.common_loops import innermost_recurrences
from compiler.analysis.dependences import flow
from compiler.analysis.instance_budget import require_shallow
from compiler.attempts import note_attempt
from compiler.bind.fpga.build import BuiltPipeline, build_pipeline
from compiler.bind.fpga.candidates import (
    START_UP,
    BuiltSystem,
    choose,
    in_system,
    is_close,
    is_worth,
    stagings,
    tile_script,
    unstalled_cycles,
)
from compiler.bind.fpga.design import FpgaDesign
from compiler.bind.fpga.early_exit import EarlyExit, find_exit
from compiler.bind.fpga.errors import FpgaError, ManySources, SlowRecurrence, UnevenWalk
from compiler.bind.fpga.options import Options
from compiler.bind.fpga.pipeline import Candidate, pipeline_of
from compiler.bind.fpga.validate import validate
from compiler.ir.program import Program
from compiler.passes.arrays.packed_streams import most_lanes, pack_streams
from compiler.passes.arrays.partition import Partition
from compiler.passes.directives import apply_script
from compiler.passes.directives.right_looking import right_looking_script
from compiler.passes.normalize.dead_statements import remove_dead_statements
from compiler.passes.normalize.loop_coalescing import coalesce_tile_loops
from compiler.passes.recurrence.array_expansion import BEHIND_GUARDS, has_undefined_reads
from compiler.passes.recurrence.passes import ShortenRecurrences
from compiler.passes.recurrence.recurrence_interchange import recurrence_order
from compiler.passes.recurrence.shannon_expansion import late_conditions
from compiler.passes.state import State
from compiler.sched.search.space import NEVER, Infeasible, KeptResults, Refused, Step, Strategy, TooLateError, ask
from compiler.sched.static.schedule import InitiationIntervals, Schedule, StatementSchedule
from compiler.sched.static.static_schedule import schedule_program
from compiler.sched.streams.streams import StagedProgram
from compiler.sched.verify import check_parts
from hw.errors import SluiceError

__all__ = ["PipelineSpace", "Stages"]

_INTERVALS = (*range(1, 9), *(n << k for k in range(2, 11) for n in (3, 4)))
"""Initiation intervals that are tried, besides the least ones that recurrences have."""

_MOST_LOOPS = 14
"""Most loops around a statement; what is symbolic takes seconds then."""

_MOST_IDLE = 16
"""Most times that a loop idles for longer."""

_MOST_CONDITIONS = 2
"""Most conditions of recurrences that are expanded, one at a time."""

_Designs: TypeAlias = Strategy[Candidate, FpgaDesign]


class Stages:
    """What follows from a candidate for `program`: prepared program, schedule, system, design."""

    def __init__(self, program: Program, options: Options) -> None:
        self.program, self.options = program, options
        self._kept = KeptResults()
        self._ends: dict[tuple[bool, int], bool] = {}

    @cached_property
    def coalesced(self) -> Program:
        """The program without its tile loops; as it is if it has none, or if the options say which there are."""
        given = self.options.passes or self.options.loops == "asked" or self.options.tile_depth is not None
        return self.program if given else coalesce_tile_loops(self.program)

    def alone(self, choice: Candidate) -> Program:
        """The program whose loops are ordered: here every statement has operators of its own."""
        return self._kept.once(("alone", choice.coalesced, choice.lanes), lambda: self._alone(choice))

    def _alone(self, choice: Candidate) -> Program:
        program = self.coalesced if choice.coalesced else self.program
        if choice.lanes > 1:
            program = pack_streams(program, choice.lanes)[0]
        return ShortenRecurrences().apply(State(replace(program, shared=()))).program

    def lanes(self, choice: Candidate) -> int:
        """Elements of a row that the bus takes at a time. Raises `NotPackableError`."""
        return most_lanes(self.coalesced if choice.coalesced else self.program, self.options.bus_bits)

    def parts(self, choice: Candidate) -> Partition:
        """The prepared program, with the record of its arrays."""
        return self._kept.once(("parts", choice.prepared), lambda: self._prepared(choice))

    def _prepared(self, choice: Candidate) -> Partition:
        require_shallow(self.coalesced if choice.coalesced else self.program, "fpga", _MOST_LOOPS, FpgaError)
        return pipeline_of(choice, self.options).run(State(replace(self.program, shared=()))).layout()

    def live(self, choice: Candidate) -> Program:
        """The prepared program without dead statements."""
        return self._kept.once(("live", choice.prepared), lambda: remove_dead_statements(self.parts(choice).program))

    def stagings(self, choice: Candidate) -> list[StagedProgram]:
        """Ways to move the arrays."""
        return self._kept.once(("stagings", choice.prepared), lambda: stagings(self.live(choice), self.options))

    def schedule(self, choice: Candidate) -> Schedule:
        """The schedule of one of the stagings."""
        return self._kept.once(choice, lambda: self._scheduled(choice))

    def _scheduled(self, choice: Candidate) -> Schedule:
        way = choice.tile_depth, choice.in_order
        staged = next(one for one in self.stagings(choice) if (one.tile_depth, one.in_order) == way)
        return schedule_program(staged, self.options.fusion_level, pace=choice.pace)

    def walk(self, choice: Candidate, read: tuple[str, int]) -> tuple[StatementSchedule, ...]:
        """When a read and the writes that it sees take place, in cycles from its first one on."""
        first = self.stagings(choice)[0]
        schedule = self.schedule(replace(choice, tile_depth=first.tile_depth, in_order=first.in_order))
        reader, number = read
        sources = [d.source for d in schedule.dependences if (d.sink, d.read) == (reader, number)]
        around = [schedule.statements[name] for name in (reader, *sources)]
        return tuple(replace(each, offset=each.offset - around[0].offset) for each in around)

    def bound(self, choice: Candidate) -> int:
        """Unstalled cycles: nothing made of the schedule ends before."""
        return unstalled_cycles(self.schedule(choice))

    def system(self, choice: Candidate) -> BuiltSystem:
        """The pipeline in its system. Raises `SlowRecurrence` if an interval is too short for a recurrence."""
        return self._kept.once(("system", choice), lambda: self._in_system(choice))

    def _in_system(self, choice: Candidate) -> BuiltSystem:
        built = build_pipeline(self.schedule(choice), self.options, choice.split)
        return in_system(built, self._exit(choice, built), self.live(choice), self.options)

    def _exit(self, choice: Candidate, built: BuiltPipeline) -> EarlyExit | str:
        """The loop that ends early. What could end one is in the program, so if its first pipeline has nothing of the
        kind the others are not looked at."""
        form = choice.coalesced, choice.lanes
        if self.options.exits != "early" or not self._ends.get(form, True):
            return ""
        found = find_exit(built)
        self._ends.setdefault(form, found != "")
        return found

    def least_cost(self, choice: Candidate, bound: int) -> int:
        """What systems (`BuiltSystem.cycles`) of a candidate cost at least that take `bound` cycles with all
        iterations."""
        return bound // 2 if self._ends.get((choice.coalesced, choice.lanes), False) else bound

    def design(self, choice: Candidate) -> FpgaDesign:
        """The finished pipeline."""
        parts, chosen = self.parts(choice), self.system(choice)
        return FpgaDesign(self.program, parts, self.options, chosen.built, chosen.system, 0.0, choice.directives,
                          choice.coalesced, choice.lanes, chosen.early, self._stated(choice), choice.expanded)

    def proven(self, design: FpgaDesign) -> FpgaDesign:
        """A design, proven from outside. Raises `ValidationError` for a fault of the compiler, and `FpgaError` for one
        that would take too long to prove."""
        check_parts(design.parts)
        note_attempt("validation")
        validate(design.parts.program, design.built, design.system)
        return design

    def _stated(self, choice: Candidate) -> Program | None:
        """The program that states another order of sums, if the candidate has one."""
        if "reassociate(" not in choice.directives:
            return None
        return apply_script(self.alone(choice), choice.directives)

    def around(self, choice: Candidate, name: str) -> frozenset[str]:
        """The statements of the recurrences through statement `name`, as far as innermost loops may carry them."""
        live = self.live(choice)
        return innermost_recurrences(live, flow(live), [name])


class PipelineSpace:
    """The choices for the program of `stages`; each method is a strategy for one kind of decision."""

    def __init__(self, stages: Stages) -> None:
        self.stages, self.options = stages, stages.options

    def strategy(self) -> _Designs:
        """All that is tried: without the tile loops that the program has, and with them where that may end earlier."""
        if self.stages.coalesced is self.stages.program:
            return (yield from self._in_lanes(Candidate()))
        whole = yield from self._in_lanes(Candidate(coalesced=True))
        if not isinstance(whole, Infeasible) and is_close(whole.predicted_start_to_done, whole.bounds):
            return whole
        tiled = yield from self._in_lanes(Candidate())
        designs = [found for found in (whole, tiled) if not isinstance(found, Infeasible)]
        return min(designs, key=_expected) if designs else tiled

    def _in_lanes(self, choice: Candidate) -> _Designs:
        """With one element of a row at a time, or with more, where that is asked for or ends earlier."""
        asked = self.options.lanes
        if asked > 1:
            return (yield from self._in_order(replace(choice, lanes=asked)))
        found = yield from self._in_order(choice)
        if asked or self.options.passes or isinstance(found, Infeasible) or _moves_enough(found):
            return found
        lanes = yield from ask(self.stages.lanes, choice)
        while not isinstance(lanes, Infeasible) and lanes > 1:
            other = yield from self._in_order(replace(choice, lanes=lanes))
            if not isinstance(other, Infeasible):
                return min(found, other, key=_expected)
            lanes //= 2
        return found

    def _in_order(self, choice: Candidate) -> _Designs:
        """With loops as they are, then in another order or in tiles, where that may end earlier."""
        asked = yield from self._behind_guards(choice, NEVER)
        if isinstance(asked, Infeasible) and (self.options.loops == "asked" or not asked.because(SlowRecurrence)):
            return asked
        if isinstance(asked, Infeasible):
            script = recurrence_order(self.stages.alone(choice), _INTERVALS[-1], self._parts(choice))
            ordered = yield from self._changed(choice, script, NEVER)
            return asked if isinstance(ordered, Infeasible) else ordered
        best = asked
        for script in self._scripts(choice, asked):
            found = yield from self._changed(choice, script, _expected(best))
            best = best if isinstance(found, Infeasible) else min(best, found, key=_expected)
        return (yield from self._expanded(choice, asked, best))

    def _scripts(self, choice: Candidate, asked: FpgaDesign) -> Iterator[str]:
        """Directives for loops in other orders or in tiles, unless they are to be as they are."""
        if self.options.loops != "asked":
            yield self._order(choice, asked)
            yield self._right_looking(choice, asked)
            yield self._tiles(choice, asked)

    def _expanded(self, choice: Candidate, asked: FpgaDesign, best: FpgaDesign) -> _Designs:
        """The fastest design, where recurrences of `asked` take more than a cycle also of those in which what depends
        on late conditions is computed for both of their values."""
        pace = asked.schedule.pace
        waits = not self.options.passes and (pace.interval > 1 or pace.idle)
        late = late_conditions(self.stages.alone(choice)) if waits else []
        for name in late[:_MOST_CONDITIONS]:
            trial = replace(choice, expanded=(*choice.expanded, name))
            found = yield from self._behind_guards(trial, _expected(best))
            if not isinstance(found, Infeasible) and _expected(found) < _expected(best):
                best, choice = found, trial
        return best

    def _order(self, choice: Candidate, asked: FpgaDesign) -> str:
        """Directives that give recurrences more time, where they need any; or reductions with a loop inside, which read
        in the order of memory what `asked` loads before it starts."""
        interval = asked.schedule.pace.interval
        if interval > 1:
            return recurrence_order(self.stages.alone(choice), interval, self._parts(choice))
        return recurrence_order(self.stages.alone(choice), 2, "") if _waits_for_arrays(asked) else ""

    def _right_looking(self, choice: Candidate, asked: FpgaDesign) -> str:
        """Directives for right-looking order, where recurrences need time."""
        pace = asked.schedule.pace
        return right_looking_script(self.stages.alone(choice)) if pace.interval > 1 or pace.idle else ""

    def _parts(self, choice: Candidate) -> str:
        """The directive for partial sums."""
        return "reassociate" if self.options.reassociate and choice.lanes == 1 else "partial"

    def _tiles(self, choice: Candidate, asked: FpgaDesign) -> str:
        """Directives for tiles in which the orders of two arrays meet, where that may end before `asked`."""
        in_order = sorted(asked.schedule.staged.in_order)
        return tile_script(self.stages.alone(choice), asked.predicted_start_to_done, asked.bounds, in_order)

    def _changed(self, choice: Candidate, script: str, known: int) -> _Designs:
        """With loops that `script` changes."""
        if not script:
            return Infeasible(TooLateError("nothing changes"))
        return (yield from self._behind_guards(replace(choice, directives=script), known))

    def _behind_guards(self, choice: Candidate, known: int) -> _Designs:
        """Where guards leave it open what is read, the fastest way; one that ends before cycle `known`."""
        best: FpgaDesign | None = None
        failure: Infeasible | None = None
        found: FpgaDesign | Infeasible = Infeasible(TooLateError("nothing is tried"))
        for behind in BEHIND_GUARDS:
            trial = replace(choice, predicated=behind)
            parts = yield from ask(self.stages.parts, trial)
            if isinstance(parts, Infeasible):
                return parts
            if failure is not None and _needs_boxes(parts.program):
                break  # reads cannot be everywhere: why the first way fails is what counts
            found = yield from self._in_pieces(trial, min(known, _to_beat(best) if best else NEVER))
            if not isinstance(found, Infeasible):
                best = min(best or found, found, key=_expected)
            elif isinstance(found, Refused) or found.because(FpgaError):
                failure = failure or found
            elif not found.because(TooLateError):
                return found
            if parts.elements is None or not has_undefined_reads(parts.elements):
                break
        return best or failure or found

    def _in_pieces(self, choice: Candidate, known: int) -> _Designs:
        """With the dependences of a read in pieces where no counter follows it as a whole."""
        found = yield from self._selected(choice, known)
        while isinstance(found, Infeasible) and isinstance(found.cause, UnevenWalk):
            if found.cause.read in choice.split:
                break
            choice = replace(choice, split=choice.split | {found.cause.read})
            found = yield from self._selected(choice, known)
        return found

    def _selected(self, choice: Candidate, known: int) -> _Designs:
        """With merges of several sources; with selects where counters cannot tell the sources apart, or if that ends
        earlier where they do along diagonals."""
        found = yield from self._least_interval(choice, known)
        if isinstance(found, Infeasible):
            if not found.because(ManySources):
                return found
            other = yield from self._least_interval(replace(choice, selected=True), known)
            return found if isinstance(other, Infeasible) else other
        if not found.built.diagonal:
            return found
        other = yield from self._least_interval(replace(choice, selected=True), min(known, _to_beat(found)))
        return found if isinstance(other, Infeasible) else min(found, other, key=_expected)

    def _least_interval(self, choice: Candidate, known: int) -> _Designs:
        """At the smallest initiation interval that recurrences allow if outer loops idle, and at larger ones as long as
        these end sooner. Only the loops of recurrences that need it have the interval."""
        best: FpgaDesign | None = None
        found: FpgaDesign | Infeasible = Infeasible(TooLateError("nothing is tried"))
        slow: frozenset[str] = frozenset()
        interval = 1
        while interval <= _INTERVALS[-1]:
            trial = replace(choice, pace=InitiationIntervals(interval, slow or None))
            found = yield from self._idling(trial, min(known, _expected(best) if best else NEVER))
            if not isinstance(found, Infeasible):
                best = min(best or found, found, key=_expected)
                if best is not found or not best.schedule.pace.idle:
                    return best
                interval = _larger(interval)
                continue
            least = _least(found.cause, interval, slow)
            before, slow = slow, self._slower(choice, found.cause, slow)
            if not isinstance(found.cause, SlowRecurrence) and slow == before:
                return best or found
            if least > interval:
                interval = least
            elif interval == 1 or slow == before:
                interval = _larger(interval)
        return best or found

    def _slower(self, choice: Candidate, cause: Exception, slow: frozenset[str]) -> frozenset[str]:
        """The statements that need the interval which `slow` ones have: those of a recurrence, and a reader beside them
        whose sources it would see out of step."""
        if isinstance(cause, SlowRecurrence):
            return slow | self.stages.around(choice, cause.name)
        return slow | {cause.name} if slow and isinstance(cause, ManySources) else slow

    def _idling(self, choice: Candidate, known: int) -> _Designs:
        """At these initiation intervals, outer loops idling for as long as recurrences need it."""
        slow: Infeasible | None = None
        trial = choice
        for _ in range(_MOST_IDLE):
            found = yield from self._first_to_end(trial, known)
            if not isinstance(found, Infeasible):
                return found
            if not isinstance(found.cause, SlowRecurrence):
                return slow if slow is not None and self._may_be_idling(found.cause, choice, trial) else found
            slow = found
            if found.cause.idling is None:
                break
            trial = replace(trial, pace=found.cause.idling)
        assert slow is not None
        return slow

    def _may_be_idling(self, cause: SluiceError, choice: Candidate, idling: Candidate) -> bool:
        """Whether `cause` may be there only because loops of `choice` were made `idling`. What a read walks is not, if
        it is the same with and without; nor would it be another at larger initiation intervals of these loops."""
        if isinstance(cause, UnevenWalk):
            return self.stages.walk(choice, cause.read) != self.stages.walk(idling, cause.read)
        return isinstance(cause, FpgaError)

    def _first_to_end(self, choice: Candidate, known: int) -> _Designs:
        """With arrays moved in the way that ends first: from the lowest bound on, until none is below what is known."""
        ways = yield from ask(self.stages.stagings, choice)
        if isinstance(ways, Infeasible):
            return ways
        bounds: list[tuple[int, int, Candidate]] = []
        for place, way in enumerate(ways):
            trial = replace(choice, tile_depth=way.tile_depth, in_order=way.in_order)
            bound = yield from ask(self.stages.bound, trial)
            if isinstance(bound, Infeasible):
                return bound
            bounds.append((bound, place, trial))
        if self.stages.least_cost(choice, min(bounds)[0]) >= known:
            return Infeasible(TooLateError(f"ends after cycle {known}, before which another design does"))
        return (yield from self._built_first(sorted(bounds, key=lambda item: item[:2])))

    def _built_first(self, bounds: list[tuple[int, int, Candidate]]) -> _Designs:
        """The design of the candidate that is chosen among those that are worth it, from the lowest of `bounds` on;
        without those that are refused."""
        found: dict[Candidate, BuiltSystem] = {}
        pending = [(trial, bound) for bound, _, trial in bounds]
        refused: Refused | None = None
        while pending or found:
            while pending and is_worth(self.stages.least_cost(*pending[0]), found.values(), self.options):
                trial, _ = pending.pop(0)
                system = yield Step(self.stages.system, trial, ("system", trial), self.stages.bound, final=True)
                if isinstance(system, Infeasible):
                    return system
                found[trial] = system
            chosen = choose(found, self.options)
            design = yield Step(self.stages.design, chosen, ("design", chosen))
            if not isinstance(design, Refused):
                return design
            refused = refused or design
            del found[chosen]
        assert refused is not None
        return refused


def _moves_enough(design: FpgaDesign) -> bool:
    """Whether the bus hardly allows for anything faster."""
    return is_close(design.predicted_start_to_done, replace(design.bounds, operations=0))


def _waits_for_arrays(design: FpgaDesign) -> bool:
    """Whether arrays that are moved in the order of memory keep a design from its bound."""
    return (bool(design.schedule.staged.in_order)
            and design.predicted_start_to_done > design.bounds.cycles + START_UP)


def _needs_boxes(program: Program) -> bool:
    """Whether there are statements that no static schedule takes."""
    return any(statement.box() is None for statement in program.statements)


def _least(cause: Exception, interval: int, slow: frozenset[str]) -> int:
    """The least initiation interval from `interval` on that `cause` leaves, which `slow` statements have, or all if
    none is named: others have one of a cycle."""
    if not isinstance(cause, SlowRecurrence):
        return interval
    return max(interval, cause.least_interval(interval if cause.name in slow or not slow else 1))


def _larger(interval: int) -> int:
    """The next one of the intervals that are tried."""
    return next((step for step in _INTERVALS if step > interval), interval + 1)


def _expected(design: FpgaDesign) -> int:
    return design.expected_start_to_done


def _to_beat(design: FpgaDesign) -> int:
    """Cycles that a design with the same streams has to be scheduled in to be worth building: no better schedule means
    that no more than a few cycles of start-up are won."""
    return min(unstalled_cycles(design.schedule), _expected(design))
