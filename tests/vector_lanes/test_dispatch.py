"""What dispatch knows about an entry: legality by the table of the instruction set, and how far operands reach."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Elaboratable
from amaranth.sim import Simulator, SimulatorContext

from hw.vector_lanes.dispatch import Dispatcher
from hw.vector_lanes.dispatch_decode import ModeDecoder
from hw.vector_lanes.isa import MODE, Control, Entry, Mode, Op, check
from hw.vector_lanes.ranges import DMA_SLOT, Products
from hw.vector_lanes.spec import VectorSpec
from hw.vector_lanes.streams import random_entries


def simulate(dut: Elaboratable, body: Callable[[SimulatorContext], Any], *, clock: bool) -> None:
    simulator = Simulator(dut)
    if clock:
        simulator.add_clock(1e-6)
    simulator.add_testbench(body)
    simulator.run()


def test_modes_are_legal_as_the_table_says() -> None:
    """A twenty-third of all mode words: every rule is broken, alone and with others, many times."""
    check_modes(VectorSpec(), 23)


@pytest.mark.parametrize(("float32", "bfloat16"), [(True, False), (False, True), (True, True)])
def test_modes_on_floating_point_numbers_are_legal_as_the_table_says(float32: bool, bfloat16: bool) -> None:
    check_modes(VectorSpec(float32=float32, bfloat16=bfloat16), 61)


def test_modes_are_legal_as_the_table_says_where_lanes_multiply_and_add_at_once() -> None:
    check_modes(VectorSpec(float32=True, fma=True), 61)


def check_modes(spec: VectorSpec, step: int) -> None:
    """Every `step`-th mode word."""
    dut = ModeDecoder(spec)

    async def body(ctx: SimulatorContext) -> None:
        for word in range(0, 1 << MODE.size, step):
            ctx.set(dut.mode.as_value(), word)
            mode, broken = Mode.decode(word), check(word, spec.float32, spec.bfloat16, spec.fma)
            assert ctx.get(dut.legal) == (not broken), f"{mode}: {broken}"
            if not broken:
                assert ctx.get(dut.size) == mode.exec_size
                assert ctx.get(dut.sets_mask) == mode.sets_mask
                assert ctx.get(dut.reads_a) == mode.reads_a
                assert ctx.get(dut.reads_b) == mode.reads_b
                assert ctx.get(dut.writes_d) == mode.writes_d
                assert ctx.get(dut.indexed) == mode.op.indexed
                assert ctx.get(dut.mac) == (mode.op is Op.VMAC or (mode.fuses and mode.scalar))

    simulate(dut, body, clock=False)


def reach(count: int, increment: int, limit: int) -> tuple[int, int, bool]:
    total = (count - 1) * increment
    return max(0, -total), max(0, total), abs(total) >= limit


def test_products_are_exact_or_out_of_the_scratchpad() -> None:
    spec = VectorSpec(lanes=1, scratchpad_bytes=1024)
    dut, rng = Products(spec), random.Random(3)

    def number(bits: int) -> int:
        return rng.choice([0, 1, 2, rng.randrange(40), rng.randrange(1 << bits), (1 << bits) - 1])

    async def body(ctx: SimulatorContext) -> None:
        for _ in range(120):
            counts = [max(1, number(32)) for _ in range(3)]
            increments = [rng.choice([-1, 1]) * number(31) for _ in range(DMA_SLOT + 1)]
            for port, value in zip((dut.rows, dut.mats, dut.transfers), counts, strict=True):
                ctx.set(port, value)
            for port, value in zip(dut.increments, increments, strict=True):
                ctx.set(port, value)
            ctx.set(dut.change, (1 << DMA_SLOT + 1) - 1)
            await ctx.tick()
            ctx.set(dut.change, 0)
            cycles = 0
            while not ctx.get(dut.ready):
                await ctx.tick()
                cycles += 1
            assert cycles <= DMA_SLOT + 5
            for operand in range(3):
                rows = reach(counts[0], increments[operand], spec.capacity)
                mats = reach(counts[1], increments[3 + operand], spec.capacity)
                compare(ctx.get(dut.reach[0][operand]), rows)
                both = (rows[0] + mats[0], rows[1] + mats[1], rows[2] or mats[2])
                compare(ctx.get(dut.reach[1][operand]), both)
            compare(ctx.get(dut.transfer_reach), reach(counts[2], increments[DMA_SLOT], spec.capacity))

    simulate(dut, body, clock=True)


def compare(found: Any, expected: tuple[int, int, bool]) -> None:
    assert bool(found.out) == expected[2]
    if not expected[2]:
        assert (found.below, found.above) == expected[:2]


class Work:
    """What dispatch has handed out of one kind, in order, each piece to be finished some cycles later."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.unfinished, self.ends = rng, 0, list[int]()

    def begins(self, cycle: int) -> None:
        self.ends.append(max([cycle + self.rng.randrange(1, 12), *(end + 1 for end in self.ends[-1:])]))

    def finishes(self, cycle: int) -> bool:
        """Whether the oldest piece ends in this cycle."""
        ends = self.ends[:1] == [cycle]
        if ends:
            del self.ends[0]
        return ends


def test_idle_is_told_for_the_cycle_that_it_is_of() -> None:
    """Neither kind is idle from the cycle after its entry was taken to the cycle in which its last piece ends; both are
    soon after."""
    spec = VectorSpec(lanes=1, scratchpad_bytes=1 << 15)
    entries = random_entries(spec, np.random.default_rng(7), 250)
    dut, rng = Dispatcher(spec), random.Random(7)
    seen = {"vector": set[int](), "dma": set[int]()}

    async def body(ctx: SimulatorContext) -> None:
        vector, jobs, taken, quiet, cycle = Work(rng), Work(rng), 0, 0, 0
        dispatched, unfinished_jobs, before = 0, 0, None
        while quiet < 20:
            offers = taken < len(entries) and rng.random() < 0.7
            offer(ctx, dut, entries[taken] if offers else None)
            ctx.set(dut.instruction.ready, rng.random() < 0.7)
            ctx.set(dut.job.ready, rng.random() < 0.7)
            retired, done = vector.finishes(cycle), jobs.finishes(cycle)
            ctx.set(dut.retired, retired)
            ctx.set(dut.job_done, done)
            idle = {"vector": ctx.get(dut.vector_idle), "dma": ctx.get(dut.dma_idle)}
            assert not (idle["vector"] and (dispatched or before == "vector")), f"cycle {cycle}"
            assert not (idle["dma"] and (unfinished_jobs or before == "dma")), f"cycle {cycle}"
            for kind, value in idle.items():
                seen[kind].add(value)
            accepted = offers and ctx.get(dut.entry.ready)
            before = kind_of(entries[taken]) if accepted else None
            if ctx.get(dut.instruction.valid) and ctx.get(dut.instruction.ready):
                vector.begins(cycle)
            handed = ctx.get(dut.job.valid) and ctx.get(dut.job.ready)
            if handed:
                jobs.begins(cycle)
            dispatched += ctx.get(dut.dispatched) - retired
            unfinished_jobs += handed - done
            taken += accepted
            quiet = quiet + 1 if taken == len(entries) and not (dispatched or unfinished_jobs) else 0
            await ctx.tick()
            cycle += 1
        assert ctx.get(dut.vector_idle) and ctx.get(dut.dma_idle)

    simulate(dut, body, clock=True)
    assert seen == {"vector": {0, 1}, "dma": {0, 1}}


def offer(ctx: SimulatorContext, dut: Dispatcher, entry: Entry | None) -> None:
    ctx.set(dut.entry.valid, entry is not None)
    if entry is not None:
        for field in ("control", "code", "a", "b", "c", "d"):
            ctx.set(getattr(dut.entry.payload, field), int(getattr(entry, field)))


def kind_of(entry: Entry) -> str | None:
    """The kind of work that an entry brings; None for control operations."""
    if not entry.control:
        return "vector"
    return "dma" if entry.code in (Control.DMA_TO_VECTOR, Control.DMA_TO_HOST) else None
