"""How long plans take by the cost model, and how much code was looked at to find out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from compiler.bind.vector.cost import CACHED, Timeline, steady_times
from compiler.bind.vector.ir import Instruction, Statement, Transfer
from compiler.bind.vector.plan import PhasePlan
from compiler.bind.vector.redundant_copies import Repeats
from compiler.bind.vector.row_streaming import SlidingPlan
from compiler.bind.vector.select_loop_form import arranged
from compiler.bind.vector.shapes import Settings

__all__ = ["ALL", "Timing", "second_tile_instructions", "time_all", "time_plan"]

ALL, LONG = 24, 12_000
"""Plans of no more tiles than the first, and of no more statements than the second, are timed as a whole."""
SAMPLED, SLID, LEAST = 12, 96, 3
"""Tiles that are timed of others; the rest is taken to be like the last of them. The second: rows of sliding plans;
the third: tiles of so many statements that fewer are too many."""


class Timing(NamedTuple):
    """Predicted clock cycles of a phase, and the statements that were made to know them."""

    cycles: float
    statements: int


def time_plan(plan: PhasePlan | SlidingPlan, sharing: float = 1.0) -> Timing:
    """Few tiles are timed as the code that they become, of more only the first ones, and the others are taken to be
    like the last of them. `sharing` as in `Timeline`."""
    if not isinstance(plan, PhasePlan) or plan.steps > ALL:
        return _sampled(plan, sharing)
    return time_all(plan, sharing)


def time_all(plan: PhasePlan, sharing: float = 1.0) -> Timing:
    """All tiles, unless they are very long."""
    groups: list[list[Statement]] = []
    statements, passed = 0, Repeats()
    for group in plan.segments(Settings()):
        groups.append(passed.without(group))
        statements += len(groups[-1])
        if len(groups) == 2 and plan.steps > LEAST and len(groups[1]) * plan.steps > LONG:
            return _sampled(plan, sharing)
    return Timing(arranged(groups, plan.spec, sharing)[0], statements)


def _sampled(plan: PhasePlan | SlidingPlan, sharing: float) -> Timing:
    timeline = Timeline(plan.spec, sharing=sharing)
    times: list[float] = []
    total, statements = plan.steps, 0
    sampled = SAMPLED if isinstance(plan, PhasePlan) else min(plan.height, plan.ahead + SLID)
    longest, steady = 0, []
    # Before that, tiles have code of their own, or code that is fetched.
    first = plan.period + 1 + (plan.ahead if isinstance(plan, SlidingPlan) else 0)
    last: list[Statement] = []
    for number, group in enumerate(map(Repeats().without, plan.segments(Settings()))):
        timeline.cold = number <= plan.period or plan.period * longest > CACHED
        before = timeline.words
        timeline.feed(group)
        statements += len(group)
        longest = max(longest, timeline.words - before)
        times.append(timeline.horizon)
        last = group
        steady = steady_times(times[first:])
        if steady or number > sampled or (number > LEAST and statements > LONG):
            break
    if len(times) > total:
        return Timing(timeline.now, statements)
    if isinstance(plan, SlidingPlan) and sampled < plan.height:
        row = sum(steady) / len(steady) if steady else _mean(times, min(SLID // 2, len(times) - 1))
        block = times[-1] - times[0] + row * (plan.height + 1 - len(times))
        return Timing(timeline.now - times[-1] + times[0] + block * plan.steps / plan.height, statements)
    # The last tiles load nothing: what they compute and store then follows alone.
    drained = plan.tiling.ahead if isinstance(plan, PhasePlan) else 0
    step = sum(steady) / len(steady) if steady else _mean(times, len(times) - 2)
    for _ in range(drained):
        timeline.feed(s for s in last if not isinstance(s, Transfer) or s.to_host)
    return Timing(timeline.now + step * (total + 1 - drained - len(times)), statements)


def _mean(times: Sequence[float], count: int) -> float:
    """What the last `count` tiles take on average."""
    return (times[-1] - times[-1 - count]) / count


def second_tile_instructions(plan: PhasePlan) -> int:
    """Vector instructions of the second tile: the first one may begin in parts."""
    group = next(islice(plan.segments(Settings()), 2, None))
    return sum(isinstance(statement, Instruction) for statement in group)
