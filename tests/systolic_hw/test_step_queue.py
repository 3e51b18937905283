"""Queues between neighbours: nothing is lost, nobody waits for the way back, and handshakes end where they should."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.sim import Simulator

from hw.dma.register_slice import Skid
from hw.systolic.buffers import LateQueue, Queue, StepQueue


def taken(queue: Any, offer: float, take: float, cycles: int = 500) -> list[tuple[int, int]]:
    """Cycles in which a word is taken, and the word; whoever offers one goes on until it is accepted."""
    chance, found = random.Random(3), []

    async def bench(ctx: Any) -> None:
        number, offered = 0, False
        for cycle in range(cycles):
            coming, wanted = chance.random() < offer, chance.random() < take
            offered = offered or coming
            ctx.set(queue.i.valid, offered)
            ctx.set(queue.i.payload, number if offered else 0x5555)
            ctx.set(queue.o.ready, wanted)
            if wanted and ctx.get(queue.o.valid):
                found.append((cycle, ctx.get(queue.o.payload)))
            if offered and ctx.get(queue.i.ready):
                number, offered = number + 1, False
            await ctx.tick()

    simulate(queue, bench)
    return found


def simulate(queue: Any, bench: Any) -> None:
    """Run a test bench beside a queue."""
    simulator = Simulator(queue)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize(("offer", "take"), [(1.0, 1.0), (1.0, 0.5), (0.9, 0.2), (0.3, 0.9), (0.6, 0.6)])
def test_nobody_waits_longer_than_at_a_register_slice(offer: float, take: float) -> None:
    """Every word, in order, and no later than through two places whose ready is seen at once."""
    found, before = taken(StepQueue(16), offer, take), taken(Skid(16), offer, take)
    assert [word for _, word in found] == list(range(len(found))) and len(found) > 80
    assert all(late <= early for (late, _), (early, _) in zip(found, before, strict=False))
    assert len(found) >= len(before)


@pytest.mark.parametrize(("offer", "take"), [(1.0, 1.0), (0.9, 0.2), (0.6, 0.6)])
@pytest.mark.parametrize("delay", [1, 12])
def test_late_steps_keep_their_order_and_come_one_per_cycle(delay: int, offer: float, take: float) -> None:
    """More of them wait than there are cycles of delay; when all places are taken, nothing is overwritten."""
    found = taken(LateQueue(16, delay), offer, take)
    assert [word for _, word in found] == list(range(len(found))) and len(found) > 80
    assert found[0][0] >= delay + 1
    if offer == take == 1.0:
        assert [cycle for cycle, _ in found] == list(range(delay + 1, 500))


def test_the_way_back_takes_a_cycle() -> None:
    """`ready` falls a cycle after the third step has come, so a fourth one is still taken; none is lost."""
    queue, ready = StepQueue(16), []

    async def bench(ctx: Any) -> None:
        ctx.set(queue.i.valid, 1)
        for _ in range(6):
            ready.append(ctx.get(queue.i.ready))
            await ctx.tick()
        ctx.set(queue.o.ready, 1)
        for _ in range(4):
            ready.append(ctx.get(queue.i.ready))
            await ctx.tick()

    simulate(queue, bench)
    assert ready == [1, 1, 1, 1, 0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize("depth", [2, 16])
def test_queues_in_lut_ram_keep_the_order(depth: int) -> None:
    """A word comes out a cycle after it was pushed, at the earliest."""
    queue, chance, waiting = Queue(16, depth), random.Random(5), []

    async def bench(ctx: Any) -> None:
        for number in range(400):
            push, take = len(waiting) < depth and chance.random() < 0.7, chance.random() < 0.5
            ctx.set(queue.push, push)
            ctx.set(queue.data, number)
            ctx.set(queue.o.ready, take)
            assert ctx.get(queue.o.valid) == bool(waiting)
            if waiting:
                assert ctx.get(queue.o.payload) == waiting[0]
            if take and waiting:
                waiting.pop(0)
            if push:
                waiting.append(number)
            await ctx.tick()

    simulate(queue, bench)
