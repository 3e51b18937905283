"""The affine controller in Amaranth's simulator against `AffineNest.events`."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from functools import cache

import pytest
from amaranth.sim import Simulator
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_configurations import nests

from hw.memtile import Affine, AffineNest, AffineSpec, encode_nest
from hw.memtile.controller import AffineController

SMALL = AffineSpec((3, 5), dims=4, counter_width=3, time_width=5)
FULL = AffineSpec((16,))


@dataclass
class Case:
    """What one run of the bench does: each nest is configured, flushed and run for some unstalled cycles."""

    nests: list[AffineNest] = field(default_factory=list)
    cycles: list[int] = field(default_factory=list)
    stall: random.Random = field(default_factory=random.Random)
    seen: list[list[tuple[int, tuple[int, ...]]]] = field(default_factory=list)


class Bench:
    """A simulator that is built once; each run starts it again from reset."""

    def __init__(self, spec: AffineSpec) -> None:
        self.spec = spec
        self.dut = AffineController(spec)
        self.case = Case()
        self.used = False
        self.simulator = Simulator(self.dut)
        self.simulator.add_clock(1e-6)
        self.simulator.add_testbench(self.drive)

    def run(self, case: Case) -> Case:
        self.case = case
        if self.used:
            self.simulator.reset()
        self.used = True
        self.simulator.run()
        return case

    async def drive(self, ctx) -> None:
        for nest, cycles in zip(self.case.nests, self.case.cycles, strict=True):
            await self.configure(ctx, nest)
            self.case.seen.append(await self.observe(ctx, cycles))

    async def configure(self, ctx, nest: AffineNest) -> None:
        ctx.set(self.dut.cfg.valid, 1)
        for register, data in encode_nest(nest, self.spec).items():
            ctx.set(self.dut.cfg.register, register)
            ctx.set(self.dut.cfg.data, data)
            await ctx.tick()
        ctx.set(self.dut.cfg.valid, 0)
        ctx.set(self.dut.flush, 1)
        ctx.set(self.dut.en, self.case.stall.randrange(2))
        await ctx.tick()
        ctx.set(self.dut.flush, 0)

    async def observe(self, ctx, cycles: int) -> list[tuple[int, tuple[int, ...]]]:
        seen = []
        for cycle in range(cycles):
            ctx.set(self.dut.en, 0)
            while self.case.stall.randrange(4) == 0:
                await ctx.tick()
            ctx.set(self.dut.en, 1)
            if ctx.get(self.dut.fire):
                seen.append((cycle, tuple(ctx.get(address) for address in self.dut.addresses)))
            await ctx.tick()
        ctx.set(self.dut.en, 0)
        return seen


@cache
def bench(spec: AffineSpec) -> Bench:
    return Bench(spec)


def expected(nest: AffineNest, spec: AffineSpec, cycles: int) -> list[tuple[int, tuple[int, ...]]]:
    def wrap(addresses: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(a % (1 << width) for a, width in zip(addresses, spec.address_widths, strict=True))

    return [(time, wrap(addresses)) for time, addresses in nest.events() if time < cycles]


def check(spec: AffineSpec, some: list[AffineNest], seed: int, cut: int | None = None) -> None:
    """Run nests one after the other on one controller. `cut`: stop each in this cycle, finished or not."""
    cycles = [nest.last_time + 12 if cut is None else cut for nest in some]
    case = bench(spec).run(Case(some, cycles, random.Random(seed)))
    for nest, length, seen in zip(some, cycles, case.seen, strict=True):
        assert seen == expected(nest, spec, length)


QUICK = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@QUICK
@given(st.lists(nests(SMALL), min_size=1, max_size=3), st.integers(0, 99))
def test_small_controller_follows_random_nests(some: list[AffineNest], seed: int) -> None:
    check(SMALL, some, seed)


@QUICK
@given(st.lists(nests(FULL), min_size=1, max_size=3), st.integers(0, 99))
def test_full_size_controller_follows_random_nests(some: list[AffineNest], seed: int) -> None:
    check(FULL, some, seed)


@settings(QUICK, max_examples=10)
@given(st.lists(nests(SMALL), min_size=2, max_size=3), st.integers(0, 99), st.integers(1, 40))
def test_flush_restarts_an_unfinished_nest(some: list[AffineNest], seed: int, cut: int) -> None:
    check(SMALL, some, seed, cut)


@pytest.mark.parametrize(
    "nest",
    [
        AffineNest((8, 8), (1, 8), 0, (Affine((1, 0)), Affine((0, 1)))),
        AffineNest((8,), (32,), 31, (Affine((7,), 7), Affine((31,), 31))),
        AffineNest((1,), (0,), 0, (Affine((0,), 5), Affine((0,), 31))),
        AffineNest((2, 2, 2, 2), (1, 2, 4, 8), 3, (Affine((1, 2, 4, 8)), Affine((8, 4, 2, 1)))),
    ],
    ids=["every cycle", "largest trip count, wait and offset", "one event", "all dimensions"],
)
def test_limits_of_the_fields(nest: AffineNest) -> None:
    """Also that nothing happens after the last event until every counter has wrapped."""
    check(SMALL, [nest], 1, cut=nest.last_time + 80)


def test_largest_trip_count_of_a_full_size_counter() -> None:
    spec = AffineSpec((16,), dims=2, counter_width=12)
    check(spec, [AffineNest((1 << 12,), (1,), 0, (Affine((3,)),))], 1)


def test_controller_that_is_not_configured_never_fires() -> None:
    class Unconfigured(Bench):
        async def configure(self, ctx, nest: AffineNest) -> None:
            ctx.set(self.dut.flush, 1)
            await ctx.tick()
            ctx.set(self.dut.flush, 0)

    nest = AffineNest((4,), (1,), 0, (Affine((1,)), Affine((1,))))
    assert Unconfigured(SMALL).run(Case([nest], [20], random.Random(1))).seen == [[]]
