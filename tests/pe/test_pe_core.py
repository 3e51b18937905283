"""The processing element in Amaranth's simulator against the operation table: all operands, then random programs."""

from __future__ import annotations

import random

import pytest
from amaranth.sim import Simulator, SimulatorContext
from hypothesis import given, settings
from hypothesis import strategies as st
from pe_reference import (
    Operands,
    all_operands,
    configurations,
    expected,
    feedback_configurations,
    feedback_results,
    random_operands,
)

from hw.ops import OPERATIONS
from hw.pe import PE_LATENCY, Pe, PeConfig, PeSpec


class Driver:
    """Steps a processing element; one cycle of input, one of output."""

    def __init__(self, ctx: SimulatorContext, pe: Pe):
        self.ctx = ctx
        self.pe = pe

    async def configure(self, config: PeConfig) -> None:
        """Clear the registers, then write those that `config` needs."""
        ctx, pe = self.ctx, self.pe
        ctx.set(pe.clear, 1)
        await ctx.tick()
        ctx.set(pe.clear, 0)
        ctx.set(pe.cfg.valid, 1)
        for (feature, register), data in config.words(pe.spec).items():
            ctx.set(pe.cfg.feature, feature)
            ctx.set(pe.cfg.register, register)
            ctx.set(pe.cfg.data, data)
            await ctx.tick()
        ctx.set(pe.cfg.valid, 0)

    async def compute(self, operands: Operands) -> tuple[int, int]:
        """The result of operands that are applied until it must be there."""
        for _ in range(PE_LATENCY):
            result = await self.step(operands)
        return result

    async def step(self, operands: Operands, en: int = 1) -> tuple[int, int]:
        """Apply operands for one cycle; the outputs after it."""
        for index in range(3):
            self.ctx.set(getattr(self.pe, f"i_word{index}"), operands.words[index])
            self.ctx.set(getattr(self.pe, f"i_bit{index}"), operands.bits[index])
        self.ctx.set(self.pe.en, en)
        await self.ctx.tick()
        self.ctx.set(self.pe.en, 0)
        return self.ctx.get(self.pe.o_word), self.ctx.get(self.pe.o_bit)


def run(spec: PeSpec, bench) -> None:
    pe = Pe(spec)
    simulator = Simulator(pe)
    simulator.add_clock(1e-6)

    async def testbench(ctx: SimulatorContext) -> None:
        await bench(Driver(ctx, pe))

    simulator.add_testbench(testbench)
    simulator.run()


def test_a_result_comes_every_cycle_after_the_latency() -> None:
    async def bench(driver: Driver) -> None:
        await driver.configure(PeConfig("add"))
        rows = [Operands((k, 100 * k, 0), (0, 0, 0)) for k in range(20)]
        results = [await driver.step(row) for row in rows]
        assert results[PE_LATENCY - 1 :] == [(101 * k, 0) for k in range(21 - PE_LATENCY)]

    run(PeSpec(16), bench)


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operand_of_every_operation(name: str) -> None:
    spec = PeSpec(3)

    async def bench(driver: Driver) -> None:
        for config in (config for config in configurations() if config.op == name):
            await driver.configure(config)
            for operands in all_operands(config, spec.width):
                assert await driver.compute(operands) == expected(config, operands, spec.width), (config, operands)

    run(spec, bench)


steps = st.tuples(
    st.sampled_from(configurations()),
    st.tuples(*[st.none() | st.integers(0, 2**16 - 1)] * 3),
    st.tuples(*[st.none() | st.integers(0, 1)] * 3),
    st.integers(0, 2**32),
)


@settings(max_examples=15, deadline=None)
@given(st.lists(steps, min_size=20, max_size=60))
def test_random_programs_with_constants_at_16_bits(program: list) -> None:
    spec = PeSpec(16)

    async def bench(driver: Driver) -> None:
        for base, constants, bit_constants, seed in program:
            config = PeConfig(base.op, base.signed, constants, bit_constants, base.table)
            await driver.configure(config)
            rng = random.Random(seed)
            for _ in range(3):
                operands = random_operands(rng, spec.width)
                assert await driver.compute(operands) == expected(config, operands, spec.width), (config, operands)

    run(spec, bench)


@pytest.mark.parametrize("width", [3, 16])
def test_the_own_result_is_an_operand_one_cycle_later(width: int) -> None:
    """Every operation that can take it, through cycles in which nothing moves."""
    async def bench(driver: Driver) -> None:
        for number, config in enumerate(feedback_configurations()):
            rng = random.Random(number)
            rows = [random_operands(rng, width) for _ in range(12)]
            await driver.configure(config)
            await driver.step(rows[0])
            held = driver.ctx.get(driver.pe.o_word)
            shown = []
            for row in (*rows[1:], rows[-1]):
                while rng.random() < 0.3:
                    await driver.step(random_operands(rng, width), en=0)
                shown.append(await driver.step(row))
            assert shown == feedback_results(config, rows, width, held), config

    run(PeSpec(width), bench)


def test_outputs_hold_while_en_is_0_and_configuration_does_not() -> None:
    async def bench(driver: Driver) -> None:
        await driver.configure(PeConfig("add"))
        assert await driver.compute(Operands((3, 4, 0), (0, 0, 0))) == (7, 0)
        await driver.configure(PeConfig("lt"))
        for _ in range(3):
            assert await driver.step(Operands((2, 1, 0), (0, 0, 0)), en=0) == (7, 0)
        assert await driver.step(Operands((2, 1, 0), (0, 0, 0))) == (0, 1)
        assert await driver.step(Operands((2, 1, 0), (0, 0, 0))) == (0, 0)

    run(PeSpec(16), bench)


def test_an_element_that_is_off_holds() -> None:
    async def bench(driver: Driver) -> None:
        assert await driver.compute(Operands((3, 4, 0), (1, 1, 1))) == (0, 0)

    run(PeSpec(16), bench)
