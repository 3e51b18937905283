"""The interlock issues every wavefront in the first cycle in which it may, and no earlier."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest
from amaranth.sim import Simulator, SimulatorContext

from hw.vector_lanes.hazards import Interlock
from hw.vector_lanes.spec import VectorSpec

SPEC = VectorSpec(lanes=2, scratchpad_bytes=4096)


@dataclass(frozen=True)
class Wave:
    """Byte ranges (address, bytes) that a wavefront reads and writes."""

    reads: tuple[tuple[int, int], ...]
    target: tuple[int, int]
    kind: str

    @property
    def fields(self) -> dict[str, int]:
        values = {"d_address": self.target[0], "d_bytes": self.target[1], "d_used": int(self.kind == "writes")}
        values |= {"accumulates": int(self.kind != "writes"), "last": int(self.kind == "ends a row")}
        for name, (address, count) in zip("ab", self.reads, strict=False):
            values |= {f"{name}_used": 1, f"{name}_address": address, f"{name}_bytes": count}
        return values


def random_wave(rng: random.Random, window: int) -> Wave:
    def span() -> tuple[int, int]:
        return rng.randrange(window), rng.randint(1, SPEC.row_bytes)

    kind = rng.choice(["writes", "writes", "writes", "ends a row", "inside a row"])
    return Wave(tuple(span() for _ in range(rng.randint(0, 2))), span(), kind)


def meet(first: tuple[int, int], second: tuple[int, int]) -> bool:
    return first[0] < sum(second) and second[0] < sum(first)


def earliest(waves: list[Wave], lag: int, sum_lag: int) -> list[int]:
    """First possible cycle of each wavefront, the first one's being 0."""
    cycles: list[int] = []
    written: list[tuple[int, tuple[int, int]]] = []
    for wave in waves:
        cycle = cycles[-1] + 1 if cycles else 0
        while True:
            done = cycle + lag
            reads_old = any(when >= cycle and meet(read, target) for when, target in written for read in wave.reads)
            writes = wave.kind == "writes"
            overtakes = writes and any(when > done and meet(wave.target, target) for when, target in written)
            if not reads_old and not overtakes and not (writes and done in [when for when, _ in written]):
                break
            cycle += 1
        cycles.append(cycle)
        if wave.kind == "writes":
            written.append((done, wave.target))
        elif wave.kind == "ends a row":
            written.append((cycle + sum_lag, wave.target))
    return cycles


def issue_cycles(waves: list[Wave], lag: int, sum_lag: int) -> list[int]:
    """When the hardware issues them."""
    dut, cycles = Interlock(SPEC, lag, sum_lag), []

    async def feed(ctx: SimulatorContext) -> None:
        for wave in waves:
            ctx.set(dut.wave.payload, wave.fields)
            ctx.set(dut.wave.valid, 1)
            await ctx.tick().until(dut.wave.ready)
        ctx.set(dut.wave.valid, 0)

    async def watch(ctx: SimulatorContext) -> None:
        cycle = 0
        while len(cycles) < len(waves):
            _, _, issued = await ctx.tick().sample(dut.issued)
            if issued:
                cycles.append(cycle)
            cycle += 1

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(feed)
    simulator.add_testbench(watch)
    simulator.run()
    return [cycle - cycles[0] for cycle in cycles]


@pytest.mark.parametrize(("lag", "sum_lag"), [(6, 8), (6, 11)])
@pytest.mark.parametrize("window", [24, 120, 1000])
def test_issues_as_early_as_possible(lag: int, sum_lag: int, window: int) -> None:
    rng = random.Random(window + sum_lag)
    waves = [random_wave(rng, window) for _ in range(250)]
    assert issue_cycles(waves, lag, sum_lag) == earliest(waves, lag, sum_lag)


def test_neighbouring_bytes_do_not_conflict() -> None:
    target = (100, 7)
    for address, count, expected in ((107, 8, 1), (92, 8, 1), (106, 1, 7), (93, 8, 7), (100, 7, 7)):
        waves = [Wave((), target, "writes"), Wave(((address, count),), (500, 8), "writes")]
        assert issue_cycles(waves, 6, 9) == [0, expected]
