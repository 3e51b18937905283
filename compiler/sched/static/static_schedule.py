"""Cycle-accurate schedules: every statement instance gets the unstalled cycle in which it executes.

The loops of all statements are aligned into common *levels* (Liu 2023, section 4.4.1): a consumer's loop joins the
level of the producer's loop whose values it walks, at the rate at which it walks them. Levels are flattened innermost
first, so that the busiest statement of a level sets its length, and every statement then starts as early as its
dependences allow (section 4.4, equation 4.14). The initiation interval is one, but for loops that a
`InitiationIntervals` slows down.

These are *logical* cycles: arithmetic takes none. Latencies of units and wires are added after routing by retiming,
which shifts every statement by a constant and so keeps all distances.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from compiler.analysis.dependences import DependenceError, recurrences
from compiler.sched.static.aligned_loops import AlignedLoops
from compiler.sched.static.later_starts import settled
from compiler.sched.static.loop_levels import Levels
from compiler.sched.static.nests import Nests
from compiler.sched.static.placement import Request, never_in_time, schedule_at
from compiler.sched.static.producers_apart import apart_where_sooner, written_apart
from compiler.sched.static.reservation import default_slack
from compiler.sched.static.schedule import UNIT_II, InitiationIntervals, Schedule
from compiler.sched.streams.streams import StagedProgram
from hw.errors import SluiceError

__all__ = ["FusionError", "schedule_program", "sequential_schedule"]


class FusionError(SluiceError):
    """The asked-for loop fusion level does not exist."""


_WORTH = 1.1
"""A program that shares units may take so many times longer if it needs less memory for that: statements that
interleave instead of following each other."""

_MOST_IDLE = 16
"""Most times that a loop idles for longer."""


def schedule_program(staged: StagedProgram, fusion_level: int | None = None, alignment: int = 1,
                     pace: InitiationIntervals = UNIT_II, slack: int | None = None, rhythm: int = 0) -> Schedule:
    """Schedule `staged`, with one instance of innermost loops in as many cycles as `pace` says.

    `fusion_level` is the number of loops inside the tile loops that producers and consumers share step by step:
    None (default) means all of them, 1 lets a consumer start only when whole iterations of the producer's outermost
    loop have finished, 0 when the producer has; loads are no producers in this sense. `alignment` rounds the lengths
    of loops up, for memories that cannot follow them otherwise. Raises `DependenceError` for recurrences,
    `FusionError` for a level that no statement has.

    Statements that share units take turns. Where there are too few cycles for that, either the period grows or a
    multiple of the interval is taken, whatever ends earlier. `slack`: cycles for the way through shared units and back
    to them, by default an estimate. `rhythm`: loads keep step with readers that fetch so many words at once, 0 for
    loads as fast as they can (`compiler.sched.streams.load_stride_padding`).
    """
    nests = Nests(staged)
    _require_fusion_level(nests, fusion_level)
    request = Request(fusion_level, alignment, rhythm)
    try:
        aligned, alone = apart_where_sooner(AlignedLoops.of(nests, pace), request)
    except DependenceError:
        if staged.program.shared:
            raise
        found = _as_written(nests, request, pace)
        if found is None:
            raise
        return settled(found, fusion_level)
    groups = staged.program.shared
    if not groups:
        return settled(alone, fusion_level)
    slack = default_slack(staged.program) if slack is None else slack
    return _taking_turns(aligned, replace(request, groups=groups, slack=slack), alone)


def _as_written(nests: Nests, request: Request, pace: InitiationIntervals) -> Schedule | None:
    """The schedule of loops that are shared as the program has them, of which those around recurrences idle if they
    have to; None if values come too late even then."""
    written = AlignedLoops.of(nests, pace, as_written=True)
    for most_idle in (0, _MOST_IDLE):
        with suppress(DependenceError):
            return written_apart(written, replace(request, most_idle=most_idle))
    return None


def _taking_turns(aligned: AlignedLoops, request: Request, alone: Schedule) -> Schedule:
    """The schedule of statements that share units, which without turns is `alone`."""
    pace = aligned.pace
    best = schedule_at(aligned, request, pace)
    if best.end <= _WORTH * alone.end:
        return best
    for times in range(2, 1 + max(map(len, request.groups))):
        slower = schedule_at(aligned, request, replace(pace, interval=pace.interval * times))
        if slower.end <= _WORTH * best.end:
            best = slower
    return best


def _require_fusion_level(nests: Nests, level: int | None) -> None:
    deepest = max(len(loops) for name, loops in nests.loops.items() if name not in nests.loads)
    if level is not None and not 0 <= level <= deepest:
        raise FusionError(f"fusion level {level} does not exist: the deepest loop nest has {deepest} levels")


def sequential_schedule(staged: StagedProgram) -> Schedule:
    """The baseline: every statement runs at full rate when all that it reads has been produced, loads included, and a
    tile starts when the one before has ended (Liu 2023, section 4.3). Statements that wait for the same ones run side
    by side. Raises `DependenceError` for recurrences.
    """
    nests = Nests(staged)
    levels = Levels(nests)
    entries = levels.entries(levels.weights(1, UNIT_II))
    carried = recurrences(staged.program, nests.dependences)
    for name in nests.order:
        ends = [entries[d.source].last + 1 for d in nests.dependences if d.sink == name and d.key not in carried]
        entries[name] = replace(entries[name], offset=max(ends, default=0))
    period = 1 + max(entry.last for entry in entries.values())
    schedule = Schedule(staged, nests.dependences, entries, period, method="when all that is read has been produced")
    late = next((d for d in nests.dependences if schedule.distance(d)[0] < (1 if d.key in carried else 0)), None)
    if late is not None:
        raise never_in_time(schedule, late)
    return schedule
