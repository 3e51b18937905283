"""Turns on shared units (Liu 2023, section 4.3.3): what first fit has found, or better ones of an exact search."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from compiler.analysis.dependences import recurrences
from compiler.sched.static.modulo_cpsat import Precedence, SharedUnitsProblem
from compiler.sched.static.reservation import ReservationTables, instance_cycles
from compiler.sched.static.schedule import Schedule

__all__ = ["with_best_turns"]

_NEAR_BOUND = 1.05
"""How many times the bound first fit may take before the exact search is worth its time."""


def with_best_turns(schedule: Schedule, turns: ReservationTables, shortest: int) -> Schedule:
    """The same loops, and offsets and a period of which none are better, where first fit has not found these and the
    exact search does. No period is below `shortest` or what the statements of a group take together."""
    tiles = schedule.staged.tiles
    taken = [sum(prod(schedule.statements[name].trips.values()) for name in group if name in schedule.statements)
             for group in turns.groups]
    shortest = max(shortest, *taken) if tiles > 1 else schedule.period
    exact = _turn_problem(schedule, turns, shortest if tiles > 1 else None)
    bound = exact.bound() + 1
    least = (tiles - 1) * shortest + bound
    if schedule.end <= least:
        return replace(schedule, method="first fit, which is optimal for its loops")
    if schedule.end <= _NEAR_BOUND * least:
        return replace(schedule, method=f"first fit, {_gap_text(schedule.end, least)}")
    known = max(exact.last({n: e.offset for n, e in schedule.statements.items()}), bound + shortest)
    found = exact.solve(known)
    if found is not None:
        entries = {n: replace(e, offset=found.offsets[n]) for n, e in schedule.statements.items()}
        better = replace(schedule, statements=entries, period=shortest)
        if better.end < schedule.end:
            gap = "optimal for its loops" if found.proven else _gap_text(better.end, least)
            return replace(better, method=f"exact search (CP-SAT), {gap}")
    optimal = found is not None and found.proven and schedule.period == shortest
    gap = "optimal for its loops" if optimal else _gap_text(schedule.end, least)
    return replace(schedule, method=f"first fit, {gap}")


def _gap_text(end: int, least: int) -> str:
    return f"{end - least} cycles above the bound of {least}"


def _turn_problem(schedule: Schedule, turns: ReservationTables, period: int | None) -> SharedUnitsProblem:
    carried = recurrences(schedule.staged.program, schedule.timed)
    entries = schedule.statements
    lags = []
    for d in schedule.timed:
        now = entries[d.sink].offset - entries[d.source].offset
        wait = 1 if d.key in carried else turns.wait(d)
        if d.source != d.sink:
            lags.append(Precedence(d.source, d.sink, now - schedule.distance(d)[0] + wait))
    cycles = {name: instance_cycles(entry.strides, entry.trips) for name, entry in entries.items()}
    results = list(schedule.staged.roots)
    return SharedUnitsProblem(cycles, lags, turns.groups, results, period)


