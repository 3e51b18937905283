"""Watchdog and run control by themselves: when a run ends, with what code, and what the host may do meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

import pytest
from amaranth.sim import Simulator

from hw.dma.run_control import RunControl
from hw.dma.watchdog import Watchdog


class Errors(IntEnum):
    NONE = 0
    READ = 1
    WRITE = 2
    SIZE = 3
    ABORTED = 4
    WATCHDOG = 5


def simulate(unit, bench: Callable) -> None:
    simulator = Simulator(unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


async def pulse(ctx, port) -> None:
    ctx.set(port, 1)
    await ctx.tick()
    ctx.set(port, 0)


async def until(ctx, port, most: int = 50) -> int:
    """Cycles until `port` is high."""
    for cycle in range(most):
        if ctx.get(port):
            return cycle
        await ctx.tick()
    raise AssertionError("never")


@pytest.mark.parametrize("limit", [1, 2, 7, 20])
def test_watchdog_counts_from_the_last_progress(limit: int) -> None:
    unit = Watchdog()

    async def bench(ctx) -> None:
        ctx.set(unit.limit, limit)
        await ctx.tick().repeat(3)
        ctx.set(unit.running, 1)
        for _ in range(3):  # progress just in time
            await pulse(ctx, unit.progress)
            for _ in range(limit - 1):
                assert not ctx.get(unit.expired)
                await ctx.tick()
        await pulse(ctx, unit.progress)
        assert limit <= await until(ctx, unit.expired) <= limit + 2
        for _ in range(3 * limit + 6):  # once in a run
            await ctx.tick()
            assert not ctx.get(unit.expired)
        ctx.set(unit.running, 0)
        await ctx.tick().repeat(2)
        ctx.set(unit.running, 1)
        assert await until(ctx, unit.expired) <= limit + 3

    simulate(unit, bench)


def test_watchdog_is_off_at_zero() -> None:
    unit = Watchdog()

    async def bench(ctx) -> None:
        ctx.set(unit.running, 1)
        for _ in range(50):
            await ctx.tick()
            assert not ctx.get(unit.expired)

    simulate(unit, bench)


def control() -> RunControl:
    return RunControl(Errors, [Errors.READ, Errors.WRITE], [Errors.SIZE])


async def begin(ctx, unit: RunControl) -> None:
    await pulse(ctx, unit.start)
    assert ctx.get(unit.flush) and ctx.get(unit.busy) and not ctx.get(unit.done)
    await ctx.tick()
    assert ctx.get(unit.begin)
    await ctx.tick()
    assert ctx.get(unit.running) and not ctx.get(unit.error)


def test_a_run_that_ends_well() -> None:
    unit = control()

    async def bench(ctx) -> None:
        await begin(ctx, unit)
        await pulse(ctx, unit.complete)
        assert (ctx.get(unit.busy), ctx.get(unit.done), ctx.get(unit.error)) == (0, 1, Errors.NONE)
        await pulse(ctx, unit.clear)
        assert not ctx.get(unit.done)

    simulate(unit, bench)


@pytest.mark.parametrize(("faults", "error"), [(1, Errors.READ), (2, Errors.WRITE), (3, Errors.READ)])
def test_faults_end_a_run_when_the_engines_are_idle(faults: int, error: Errors) -> None:
    unit = control()

    async def bench(ctx) -> None:
        await begin(ctx, unit)
        ctx.set(unit.complete, 1)
        ctx.set(unit.faults, faults)
        await ctx.tick()
        ctx.set(unit.faults, 0)
        for _ in range(5):
            assert (ctx.get(unit.stop), ctx.get(unit.busy), ctx.get(unit.done)) == (1, 1, 0)
            await pulse(ctx, unit.start)
        assert ctx.get(unit.start_ignored)
        await pulse(ctx, unit.idle)
        assert (ctx.get(unit.busy), ctx.get(unit.done), ctx.get(unit.error)) == (0, 1, error)
        await pulse(ctx, unit.clear)
        assert (ctx.get(unit.done), ctx.get(unit.error), ctx.get(unit.start_ignored)) == (0, Errors.NONE, 0)
        await ctx.tick().repeat(9)
        assert ctx.get(unit.stop)  # no chunk that waited begins behind the end
        await pulse(ctx, unit.start)
        assert (ctx.get(unit.stop), ctx.get(unit.flush)) == (0, 1)

    simulate(unit, bench)


def test_a_run_that_cannot_be() -> None:
    unit = control()

    async def bench(ctx) -> None:
        ctx.set(unit.refused, 1)
        ctx.set(unit.idle, 1)
        await pulse(ctx, unit.start)
        await ctx.tick().repeat(2)
        assert (ctx.get(unit.busy), ctx.get(unit.done), ctx.get(unit.error)) == (0, 1, Errors.SIZE)

    simulate(unit, bench)


@pytest.mark.parametrize("delay", [0, 1, 2, 6])
def test_clear_aborts_from_the_first_cycle_on(delay: int) -> None:
    unit = control()

    async def bench(ctx) -> None:
        await pulse(ctx, unit.start)
        for _ in range(delay):
            await ctx.tick()
        await pulse(ctx, unit.clear)
        assert ctx.get(unit.stop) and not ctx.get(unit.done)
        await pulse(ctx, unit.idle)
        assert (ctx.get(unit.busy), ctx.get(unit.done), ctx.get(unit.error)) == (0, 1, Errors.ABORTED)
        await begin(ctx, unit)

    simulate(unit, bench)


@pytest.mark.parametrize("aborted", [False, True])
def test_the_host_hears_of_a_hang_at_once_and_once(aborted: bool) -> None:
    """The code is that of the first cause; the system stays busy until its engines are idle, and a start is ignored."""
    unit = control()

    async def bench(ctx) -> None:
        ctx.set(unit.limit, 10)
        await begin(ctx, unit)
        if aborted:
            await pulse(ctx, unit.clear)
        await until(ctx, unit.done)
        await ctx.tick()
        expected = Errors.ABORTED if aborted else Errors.WATCHDOG
        assert (ctx.get(unit.busy), ctx.get(unit.stop), ctx.get(unit.error)) == (1, 1, expected)
        await pulse(ctx, unit.clear)
        await pulse(ctx, unit.start)
        assert (ctx.get(unit.done), ctx.get(unit.start_ignored), ctx.get(unit.error)) == (0, 1, expected)
        await pulse(ctx, unit.idle)
        assert (ctx.get(unit.busy), ctx.get(unit.done)) == (0, 0)
        await begin(ctx, unit)
        ctx.set(unit.progress, 1)
        await ctx.tick().repeat(40)
        assert ctx.get(unit.running)

    simulate(unit, bench)
