"""Compiling for the coarse-grained array: the stages in order, each an object that can be looked at."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from compiler.analysis.dependences import DependenceError, flow, recurring_around
from compiler.attempts import attempt
from compiler.bind.buffers.wide_fetch import AccessPatternError, NestError
from compiler.bind.cgra.budget import Budget, OutOfTime
from compiler.bind.cgra.configuration import configure, configure_banks, plan_bands
from compiler.bind.cgra.design import CgraDesign
from compiler.bind.cgra.elastic.design import elastic_design
from compiler.bind.cgra.labels import asked_labels
from compiler.bind.cgra.mapping import Application, map_program
from compiler.bind.cgra.memories import BufferKey, CapacityError, PortContention
from compiler.bind.cgra.netlist import PeNode
from compiler.bind.cgra.options import Options, OptionsError
from compiler.bind.cgra.path_balancing import UnbalanceablePathsError
from compiler.bind.cgra.pipeline import Preparation, prepare_program, tile_depth_of
from compiler.bind.cgra.place_and_route import implement
from compiler.bind.cgra.relaxation import Relaxation, RelaxationSpace
from compiler.bind.cgra.remedies import REMEDIED, with_remedy
from compiler.bind.cgra.resource_folding import choose_folds
from compiler.bind.cgra.resource_sharing import choose_shared
from compiler.bind.cgra.shortage import with_largest_user
from compiler.bind.cgra.sites import ArrayTooSmall
from compiler.bind.cgra.timing import RecurrenceViolation
from compiler.ir.program import Program
from compiler.passes.arrays.border_copies import copy_borders
from compiler.passes.arrays.partition import Partition
from compiler.passes.directives import apply_script
from compiler.passes.normalize.dead_statements import remove_dead_statements
from compiler.passes.normalize.index_set_splitting import split_by_access, split_by_dependence
from compiler.passes.recurrence.array_expansion import (
    BEHIND_GUARDS,
    has_undefined_reads,
)
from compiler.passes.recurrence.recurrence_interchange import recurrence_order
from compiler.sched.static.fill_then_drain import writers_first
from compiler.sched.static.reservation import default_slack
from compiler.sched.static.static_schedule import (
    UNIT_II,
    InitiationIntervals,
    Schedule,
    schedule_program,
    sequential_schedule,
)
from compiler.sched.streams.streams import passes_sooner, stage_streams
from compiler.sched.streams.window_unfolding import repeated_inputs
from hw.errors import SluiceError
from hw.fabric.spec import FabricSpec, TileKind
from hw.memtile.spec import ConfigurationError

__all__ = ["PLACE", "Options", "compile_program", "schedule_of"]

PLACE = "the array"
"""What results call the target."""

_TRIES, _MARGIN = 3, 4
"""How often the way through shared units gets more time, and by how many cycles more than it lacks; and how often
buffers are set apart."""


_WAY_BACK, _GOOD = 8, 1.2
"""Cycles from one step of a sum to the next through an addition, a merge and wires between them; and how many times its
bound a program with loops in another order may take without another attempt."""

_WORTH = 0.95
"""Part of the cycles of a schedule within which another one has to end for another attempt."""

_MORE = 6
"""Attempts in a row that may fail once there is a design."""

_CROWDED = 0.8
"""Part of the array's processing elements beyond which sums take as few as they can."""

_NEVER = 1 << 60
"""A cycle that no program reaches."""

_MOST_FOLDS = 6
"""How often sums are folded, all of one kind at a time, for a program that needs more units than there are."""


class _TooLate(SluiceError):
    """No design of a program ends before one that is known."""


class _Stopwatch:
    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - start


@dataclass(frozen=True)
class _Task:
    """What stays the same whatever is tried. `merged`: two buffers may share a memory tile, and delay lines wrap in
    loops instead of masks. Only a design that ends before cycle `known` is of use. `budget`: of the search for a first
    one."""

    options: Options
    spec: FabricSpec
    merged: bool
    known: int
    stage: _Stopwatch
    budget: Budget


def compile_program(program: Program, options: Options) -> CgraDesign:
    """Compile `program`: see `_compile`. For buffets the mapping to dual-port memories, one buffer in each, is turned
    into one for the ready-valid array. With ``share=auto``, sums are folded until they fit the array, and with
    ``loops=auto`` sums that come back too soon get loops in another order; the design's option `transform` says
    which."""
    options = options.described()
    try:
        return _compiled(program, options, Budget.of_array(options.fabric()))
    except REMEDIED as error:
        raise with_remedy(error, options, lambda other, budget: _compiled(program, other, budget)) from None


def _compiled(program: Program, options: Options, budget: Budget) -> CgraDesign:
    try:
        return _ordered(program, options, budget)
    except ArrayTooSmall as error:
        design = _folded(program, options, error, budget) if options.share == "auto" else None
        if design is None:
            raise
        return design


def _folded(program: Program, options: Options, error: ArrayTooSmall, budget: Budget) -> CgraDesign | None:
    """The program with sums in rounds, as many as the array needs; None if that is not enough."""
    mem = options.fabric().mem
    for _ in range(_MOST_FOLDS):
        folds = choose_folds(apply_script(program, options.transform), mem) if error.lacks_units else ""
        if not folds:
            return None
        options = options.with_directives(folds)
        try:
            with attempt(f"sums in rounds: {folds}"):
                return _ordered(program, options, budget)
        except ArrayTooSmall as again:
            error = again
    return None


def _ordered(program: Program, options: Options, budget: Budget) -> CgraDesign:
    """With the loops around recurrences in the order in which there is time for these, where that ends earlier."""
    ordered = None
    if options.loops == "auto" and options.schedule == "pipelined":
        ordered = _with_time(program, options, budget)
    if ordered is not None and (budget.strict or ordered.predicted_cycles <= _GOOD * ordered.lower_bound):
        return ordered
    if ordered is None:
        return _compile_as_asked(program, options, budget)
    with suppress(SluiceError):
        asked = _compile_as_asked(program, options, budget, ordered.predicted_cycles)
        return min(asked, ordered, key=lambda design: design.predicted_start_to_done)
    return ordered


def _with_time(program: Program, options: Options, budget: Budget) -> CgraDesign | None:
    """The program with time for its recurrences, or with less of it where the array is too small for that; None if that
    changes nothing or cannot be compiled."""
    before = apply_script(program, options.transform)
    for cycles in (_WAY_BACK, _WAY_BACK // 2):
        script = recurrence_order(before, cycles)
        if not script:
            return None
        try:
            with attempt(f"loops in another order: {script}"):
                return _compile_as_asked(program, options.with_directives(script), budget)
        except ArrayTooSmall:
            continue
        except SluiceError:
            return None
    return None


def _compile_as_asked(program: Program, options: Options, budget: Budget, known: int = _NEVER) -> CgraDesign:
    """The design; one that ends before cycle `known`, if that makes it impossible sooner."""
    if options.memory == "buffet":
        options.fabric()
        static = _compile(program, replace(options, memory="dual-port"), budget, known, merged=False)
        return elastic_design(static, options)
    return _compile(program, options, budget, known)


def _compile(program: Program, options: Options, budget: Budget, known: int, merged: bool = True) -> CgraDesign:
    """Compile `program`; every stage checks its own input, and the finished mapping is validated from outside.

    Where memory tiles cannot follow the tightest schedule, it is loosened step by step: loop lengths are rounded up
    to the fetch width, then the initiation interval grows, as that of a recurrence does which takes longer than its
    distance. `CgraDesign.choices` says what was needed. Where no schedule helps, statements are split whose reads
    change their functions. `budget`, `known` and `merged` as in `_Task`.
    """
    spec = options.fabric()
    task = _Task(options, spec, merged, known, _Stopwatch(), budget)
    with task.stage("verify"):
        parts = prepare_program(program, options, spec)
    if spec.protocol == "static" and merged and _passes_sooner(parts, options, spec):
        with suppress(SluiceError), attempt("all in one tile"):
            return _compile(program, replace(options, tile_depth=0), budget, known)
    try:
        return _split_if_needed(program, parts, task)
    except SluiceError:
        for behind in BEHIND_GUARDS[1:] if has_undefined_reads(parts.program) else ():
            with suppress(SluiceError), attempt(f"predicated reads: {behind}"):
                other = prepare_program(program, options, spec, Preparation(predicated=behind))
                return _split_if_needed(program, other, task)
        raise


def _split_if_needed(program: Program, parts: Partition, task: _Task) -> CgraDesign:
    """The mapping of `program`, prepared in `parts`, as it is, or with statements split."""
    elements = parts.program if parts.elements is parts.original or parts.elements is None else parts.elements
    if split_by_dependence(split_by_access(elements)) is not elements:
        with suppress(AccessPatternError, RecurrenceViolation):
            return _with_sharing(parts, task, patient=False)
        with suppress(SluiceError), attempt("statements split by pieces of their reads"):
            return _with_sharing(prepare_program(program, task.options, task.spec, Preparation(split=True)), task)
        if copy_borders(elements) is not elements:
            with suppress(SluiceError), attempt("arrays copied with a border"):
                bordered = prepare_program(program, task.options, task.spec, Preparation(bordered=True))
                return _with_sharing(bordered, task)
    return _with_sharing(parts, task)


def _with_sharing(parts: Partition, task: _Task, patient: bool = True) -> CgraDesign:
    live = remove_dead_statements(parts.program)
    if task.options.share == "auto":
        with task.stage("share"):
            shared = choose_shared(live, lambda p: _scheduled(p, task.options, task.spec, Relaxation(), None),
                                   task.spec.mem)
        try:
            return _loosened(parts, shared, task, patient)
        except SluiceError:
            if shared == live:
                raise
    return _loosened(parts, live, task, patient)


def schedule_of(program: Program, options: Options) -> Schedule:
    """The schedule alone, without a mapping: the tightest, which is what is tried first. For programs whose full size
    is only planned."""
    spec = options.fabric()
    live = remove_dead_statements(prepare_program(program, options, spec).program)
    return _scheduled(live, options, spec, Relaxation(), None)


def _passes_sooner(parts: Partition, options: Options, spec: FabricSpec) -> bool:
    """Whether the compiler may and should take the program as one tile, larger than the global buffer."""
    return options.tile_depth is None and passes_sooner(remove_dead_statements(parts.program), spec.glb.half_words)


def _loosened(parts: Partition, live: Program, task: _Task, patient: bool) -> CgraDesign:
    """The mapping at the least relaxation at which there is one, or at another one of which it ends sooner; without
    patience only at the full rate."""
    failure: SluiceError | None = None
    found: CgraDesign | None = None
    failed = 0
    ways = RelaxationSpace(task.merged, patient, task.options.memory == "pub")
    for relaxation in ways:
        known = found.application.schedule.end if found else task.known
        if failed == _MORE or not _ends_before(known, live, task, relaxation):
            if failed == _MORE or relaxation.tight:
                break
            continue
        if found is None and failure is not None and task.budget.spent:
            raise OutOfTime(f"{failure}; {task.budget.note()}")
        made = _attempt(parts, live, task, relaxation, ways, first=found is None)
        if isinstance(made, SluiceError):
            failure = failure or made
            failed += found is not None
            continue
        good = task.budget.strict or made.predicted_cycles <= _GOOD * made.lower_bound
        if good or (relaxation.tight and relaxation.pace == UNIT_II):
            return made
        found, failed = min(found or made, made, key=lambda design: design.predicted_start_to_done), 0
    if found is not None:
        return found
    raise failure or _TooLate("nothing ends before what is known")


def _attempt(parts: Partition, live: Program, task: _Task, relaxation: Relaxation, ways: RelaxationSpace,
             first: bool) -> CgraDesign | SluiceError:
    """The mapping at one relaxation, or why there is none, of which `ways` learn. Raises what no other one would mend;
    the `first` one has to show whether the array is large enough."""
    try:
        with attempt(str(relaxation)) as tried:
            design = _with_slack(parts, live, task, relaxation)
            tried.outcome = f"{design.predicted_start_to_done} cycles"
        return design
    except DependenceError as error:
        if relaxation.pace == UNIT_II:
            raise
        return error
    except RecurrenceViolation as error:
        units = [unit.partition(".")[0] for unit in error.units]
        ways.note(relaxation, error, recurring_around(flow(live), units))
        return error.of(asked_labels(parts, live))
    except NestError as error:
        ways.note_pattern(relaxation)
        return error
    except (AccessPatternError, ConfigurationError, UnbalanceablePathsError) as error:
        ways.note_memory()
        return error
    except (CapacityError, ArrayTooSmall) as error:
        if first and not relaxation.in_turns:
            raise
        return error


def _ends_before(known: int, live: Program, task: _Task, relaxation: Relaxation) -> bool:
    """Whether the schedule at this relaxation ends noticeably before cycle `known`."""
    if known == _NEVER:
        return True
    with suppress(DependenceError):
        return _scheduled(live, task.options, task.spec, relaxation, None).end < _WORTH * known
    return False


def _with_slack(parts: Partition, live: Program, task: _Task, relaxation: Relaxation) -> CgraDesign:
    """The mapping at one relaxation. Where the way through shared units and back turns out longer than the schedule has
    time for, they get more."""
    slack = default_slack(live) if live.shared else None
    for _ in range(_TRIES if live.shared else 0):
        try:
            return _compile_at(parts, live, task, relaxation, slack)
        except RecurrenceViolation as error:
            slack = (slack or 0) + error.excess + _MARGIN
    return _compile_at(parts, live, task, relaxation, slack)


def _scheduled(live: Program, options: Options, spec: FabricSpec, relaxation: Relaxation,
               slack: int | None) -> Schedule:
    staged = stage_streams(live, tile_depth_of(live, options, spec), relaxation.windows)
    if options.schedule == "sequential":
        if live.shared:
            raise OptionsError("statements that share units need a modulo reservation of them, which is part of "
                               "schedule=pipelined")
        return sequential_schedule(staged)
    rhythm = spec.mem.fetch_width if relaxation.in_step else 0
    return schedule_program(staged, options.fusion_level, relaxation.alignment, relaxation.pace, slack, rhythm)


def _in_turns(schedule: Schedule, live: Program, options: Options, spec: FabricSpec) -> Schedule:
    """The schedule with buffers written before they are read, if that ends before one at half the rate does."""
    found = None if live.shared else writers_first(schedule)
    if found is None or found.end >= _scheduled(live, options, spec, Relaxation(pace=InitiationIntervals(2)), None).end:
        raise AccessPatternError("no buffer is sooner written and then read than both at half the rate")
    return found


def _compile_at(parts: Partition, live: Program, task: _Task, relaxation: Relaxation, slack: int | None) -> CgraDesign:
    """All stages after the first, at one relaxation; `live` is the program of `parts` without its dead statements.
    Buffers, and then reads of a buffer, that turn out to have too little time in one memory tile together get one
    each."""
    with task.stage("schedule"):
        schedule = _scheduled(live, task.options, task.spec, relaxation, slack)
        if relaxation.in_turns:
            schedule = _in_turns(schedule, live, task.options, task.spec)
    if relaxation.windows and not repeated_inputs(schedule):
        raise AccessPatternError("no input is loaded in the order of a window")
    apart: frozenset[BufferKey] = frozenset()
    crowded: PortContention | None = None
    for turn in range(1 + _TRIES):
        try:
            design = _mapped(parts, schedule, task, relaxation, apart)
            break
        except PortContention as error:
            if error.buffers <= apart or turn == _TRIES:
                raise
            apart, crowded = apart | error.buffers, error
        except ArrayTooSmall as error:
            raise crowded or error from None
    with task.stage("validate"):
        design.validate()
    return design


def _mapped(parts: Partition, schedule: Schedule, task: _Task, relaxation: Relaxation,
            apart: frozenset[BufferKey]) -> CgraDesign:
    """The configured array; no buffer of `apart` shares its tile."""
    options, spec, stage = task.options, task.spec, task.stage
    with stage("map"):
        applications = _applications(schedule, options, spec, relaxation, apart)
    failure: ArrayTooSmall | None = None
    for application in applications:
        try:
            with stage("place and route"):
                physical = implement(application.netlist, spec, options.seed, task.budget)
            break
        except ArrayTooSmall as error:
            failure = failure or with_largest_user(error, application, parts)
    else:
        assert failure is not None
        raise failure
    with stage("configure"):
        config = configure(application, physical, spec)
        designs = [CgraDesign(parts.asked, parts, options, spec, application, physical,
                              replace(config, banks=configure_banks(application, physical, spec, bands)), bands,
                              stage.seconds) for bands in plan_bands(application, spec)]
        design = min(designs, key=lambda made: made.predicted_start_to_done)
        _ = design.words
    return design


def _applications(schedule: Schedule, options: Options, spec: FabricSpec, relaxation: Relaxation,
                  apart: frozenset[BufferKey]) -> list[Application]:
    """The units of the program, with sums that end soon and with sums of few units: which of the two takes less room
    shows when paths are balanced. What is asked for is first, on a crowded array the one of few units."""
    def mapped(balance_sums: bool) -> Application:
        found = map_program(schedule, spec.mem, relaxation.sparse, relaxation.shared, spec.pe.counter, apart,
                                  relaxation.rings, spec.memories if spec.mem_depths else None, balance_sums)
        found.require_followed()
        return found

    if options.sums == "chain":
        return [mapped(False)]
    soon = mapped(True)
    room = _CROWDED * len(spec.tiles(TileKind.PE))
    few = mapped(False)
    if soon.netlist == few.netlist:
        return [few]
    return [few, soon] if soon.netlist.count(PeNode) > room else [soon, few]
