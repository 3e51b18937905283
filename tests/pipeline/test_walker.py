"""Walks: their model in numbers against the loops they mean, and the hardware against the model."""

from __future__ import annotations

import random
from collections.abc import Mapping

import numpy as np
import pytest
from amaranth.sim import Simulator
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hw.pipeline.nested_walk import Around, loop_starts, nested_walk
from hw.pipeline.spec import Level, PipelineError, Walk
from hw.pipeline.walker import Walker


@st.composite
def walks(draw: st.DrawFn) -> Walk:
    size = draw(st.sampled_from((1, 2, 5, 8, 13)))
    address = st.integers(0, size - 1)
    levels = []
    for _ in range(draw(st.integers(0, 3))):
        trips = draw(st.integers(2, 5))
        deltas = draw(st.lists(address, min_size=1, max_size=4))
        levels.append(Level(trips, draw(st.integers(1, 4)), tuple(deltas)))
    return Walk(draw(st.integers(0, 5)), tuple(levels), size, draw(address))


def by_loops(walk: Walk) -> list[tuple[int, int]]:
    """Events, one step of the innermost loop that has iterations left after the other."""
    counts, time, address = [0] * len(walk.levels), walk.start, walk.origin
    found = [(time, address)]
    while True:
        for k, level in enumerate(walk.levels):
            if counts[k] < level.trips - 1:
                address = (address + level.deltas[counts[k] % len(level.deltas)]) % walk.size
                time += level.gap
                counts[k] += 1
                found.append((time, address))
                break
            counts[k] = 0
        else:
            return found


def simulated(dut: Walker, end: int, jumps: Mapping[int, int], skips: bool = False) -> list[tuple[int, int]]:
    """Events in hardware of a run to cycle `end`, in which cycles count as later ones; with `skips` the walker is told
    how many are left out."""
    events: list[tuple[int, int]] = []

    async def bench(ctx):
        ctx.set(dut.start, 1)
        await ctx.tick()
        ctx.set(dut.start, 0)
        ctx.set(dut.en, 1)
        logical = 0
        while logical < end:
            counted = jumps.get(logical, logical)
            ctx.set(dut.jump, logical in jumps)
            if skips:
                ctx.set(dut.skipped, counted - logical)
            if ctx.get(dut.fire):
                events.append((logical, ctx.get(dut.address)))
            await ctx.tick()
            logical = counted + 1
        assert not ctx.get(dut.left)

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return events


def jumping(walk: Walk, cycle: int, target: int) -> list[tuple[int, int]]:
    """Events in hardware of a run in which `cycle` counts as `target`."""
    return simulated(Walker(walk, target), by_loops(walk)[-1][0] + 4, {cycle: target})


def by_hardware(walk: Walk, runs: int = 1) -> list[list[tuple[int, int]]]:
    """Events of a few runs, with random stalls; the first runs are given up in the middle."""
    dut, chance = Walker(walk), random.Random(walk.count)
    last = by_loops(walk)[-1][0]
    found: list[list[tuple[int, int]]] = []

    async def bench(ctx):
        for run in range(runs):
            ctx.set(dut.start, 1)
            await ctx.tick()
            ctx.set(dut.start, 0)
            events, cycle = [], 0
            end = last + 4 if run == runs - 1 else last // 2
            while cycle < end:
                enabled = chance.random() < 0.7
                ctx.set(dut.en, enabled)
                if enabled and ctx.get(dut.fire):
                    events.append((cycle, ctx.get(dut.address)))
                await ctx.tick()
                cycle += enabled
            ctx.set(dut.en, 0)
            found.append(events)
        assert not ctx.get(dut.left)

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return found


@settings(max_examples=60, deadline=None)
@given(walks())
def test_model_is_the_loops(walk):
    times, addresses = walk.events()
    assert list(zip(times.tolist(), addresses.tolist(), strict=True)) == by_loops(walk)
    assert walk.count == len(times)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(walks())
def test_hardware_is_the_model(walk):
    aborted, complete = by_hardware(walk, runs=2)
    assert complete == by_loops(walk)
    assert aborted == complete[: len(aborted)]


@settings(max_examples=60, deadline=None)
@given(walks())
def test_the_next_event_is_found_without_a_list(walk):
    events = by_loops(walk)
    for cycle in range(events[-1][0] + 2):
        wanted = next((event for event in events if event[0] >= cycle), None)
        found = walk.next_event(cycle)
        assert found is None if wanted is None else found is not None and (found.time, found.address) == wanted
    assert walk.last == events[-1][0]


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(walks(), st.integers(0, 40), st.integers(1, 40))
def test_hardware_goes_on_in_another_cycle(walk, cycle, more):
    events = by_loops(walk)
    assert jumping(walk, cycle, cycle + more) == [e for e in events if e[0] <= cycle or e[0] > cycle + more]


def in_nest(walk: Walk, period: int, around: Around, target: int, jumps: dict[int, int]) -> list[tuple[int, int]]:
    """Events in hardware of a run in which cycles count as later ones, all in the same iteration of the loop that
    `target` is in."""
    nested, skipped = nested_walk(walk, period, around), max(to - cycle for cycle, to in jumps.items())
    dut = Walker(walk, target, nested, 0 if nested else skipped)
    return simulated(dut, walk.last + 4, jumps, skips=not nested)


AROUND = ((3, 40), (2, 150))
INNER_WALKS = {
    "address of the loop": Walk(3, (Level(8, 4, (1,)), Level(3, 12, (1,)), Level(2, 42, (1,))), 8),
    "address of the loops around it": Walk(4, (Level(8, 4), Level(3, 12, (2,)), Level(2, 42, (3,))), 16),
    "two events an iteration": Walk(3, (Level(2, 1, (1,)), *(Level(trips, gap, (1,)) for trips, gap in (
        (8, 3), (3, 11), (2, 41)))), 2),
    "before the loop": Walk(1, (Level(3, 40, (1,)), Level(2, 70, (1,))), 5),
    "behind all loops": Walk(340, (Level(5, 1, (1,)),), 5),
}


@pytest.mark.parametrize("walk", INNER_WALKS.values(), ids=INNER_WALKS)
def test_a_loop_inside_others_is_left_once_in_each_of_their_iterations(walk: Walk) -> None:
    """Another iteration in each, none of them in the last one."""
    starts = loop_starts(AROUND).tolist()
    jumps = {start + 9 + 4 * k: start + 25 for k, start in enumerate(starts[:4])}
    left_out = {cycle for cycle, target in jumps.items() for cycle in range(cycle + 1, target + 1)}
    assert in_nest(walk, 4, AROUND, 25, jumps) == [event for event in by_loops(walk) if event[0] not in left_out]


def test_loops_that_were_joined_are_found_again() -> None:
    """Three loops of one step each."""
    found = nested_walk(Walk(3, (Level(24, 4, (0, 0, 0, 0, 0, 0, 0, 1)),), 16), 4, ((3, 32),))
    assert found is not None and found.walk.levels == (Level(8, 4, (0,)), Level(3, 4, (1,)))
    assert nested_walk(Walk(3, (Level(24, 4, (0, 0, 1)),), 16), 4, ((3, 32),)) is None


def test_table_that_is_no_power_of_two_long():
    walk = Walk(1, (Level(7, 1, (1, 2, 4)), Level(3, 2, (3,))), 11)
    assert by_hardware(walk) == [by_loops(walk)]


def test_impossible_walks():
    with pytest.raises(PipelineError, match="a loop of 1 iterations with 1 cycles"):
        Level(1, 1)
    with pytest.raises(PipelineError, match="at least 2 iterations and 1 cycle"):
        Level(4, 0)
    with pytest.raises(PipelineError, match="the first event of a walk is in cycle -1, before the pipeline begins"):
        Walk(-1)
    with pytest.raises(PipelineError, match=r"a walk has addresses outside 0\.\.3"):
        Walk(0, (Level(2, 1, (5,)),), 4)


def test_events_of_a_long_walk_are_quick():
    walk = Walk(0, (Level(1920, 1, (1,)), Level(1080, 5, (1,))), 4096)
    times, addresses = walk.events()
    assert len(times) == 1920 * 1080
    assert times[-1] == 1080 * 1924 - 5
    assert np.array_equal(addresses, np.arange(1920 * 1080) % 4096)
