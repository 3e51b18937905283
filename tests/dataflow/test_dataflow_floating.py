"""Row F24 of seed 003: floating-point operators against numpy's single precision, alone and in a kernel."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Elaboratable, Module, Signal
from amaranth.sim import Simulator
from kernel_bench import run_kernel
from network_programs import program

from compiler.bind.dataflow.options import Options
from compiler.bind.dataflow.plan import make_plan
from hw.dataflow.floating import float_units
from hw.dataflow.pipeline import Taps
from hw.dataflow.spec import Operator, Word

BITS = Word(32, False)
SPECIAL = (0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC00000, 1, 0x80000001, 0x007FFFFF, 0x00800000, 0x7F7FFFFF,
           0x3F800000)


class Pair(Elaboratable):
    """Both operators on the same operands."""

    def __init__(self, latency: int) -> None:
        self.latency = latency
        self.operands = (Signal(32), Signal(32))
        self.results = {"float_add": Signal(32), "float_mul": Signal(32)}

    def elaborate(self, platform: object) -> Module:
        m = Module()
        enable, alive = Signal(init=1), Signal()
        m.d.sync += alive.eq(~alive)
        for name, unit in float_units(m, Taps(m, enable)).items():
            value = unit(Operator(name, (0, 1), BITS, self.latency, 0, 8), list(self.operands), [BITS, BITS])
            m.d.comb += self.results[name].eq(value)
        return m


def single(bits: int) -> np.float32:
    return np.uint32(bits).view(np.float32)


def draw(chance: random.Random) -> tuple[int, int]:
    """Operands near each other, subnormal, special, or anything."""
    def one() -> int:
        kind = chance.randrange(4)
        if kind == 0:
            return chance.choice(SPECIAL)
        exponent = (0, chance.randrange(118, 136), chance.randrange(256))[kind - 1]
        return chance.getrandbits(1) << 31 | exponent << 23 | chance.getrandbits(23)

    left = one()
    return left, (left ^ 1 << 31 ^ chance.getrandbits(3)) if chance.random() < 0.2 else one()


@pytest.mark.parametrize("latency", [0, 4])
def test_f24_single_precision_is_bit_exact(latency: int) -> None:
    dut, chance = Pair(latency), random.Random(latency)
    pairs = [*((a, b) for a in SPECIAL[:5] for b in SPECIAL[:5]), *(draw(chance) for _ in range(100))]

    async def process(ctx: Any) -> None:
        for left, right in pairs:
            ctx.set(dut.operands[0], left)
            ctx.set(dut.operands[1], right)
            for _ in range(latency):
                await ctx.tick()
            with np.errstate(all="ignore"):
                wanted = {"float_add": single(left) + single(right), "float_mul": single(left) * single(right)}
            for name, value in wanted.items():
                expected = 0x7FC00000 if np.isnan(value) else int(value.view(np.uint32))
                assert ctx.get(dut.results[name]) == expected, (name, hex(left), hex(right))
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(process)
    simulator.run()


DOT = """
void f(const uint32_t a[4], const uint32_t b[4], uint32_t y[1]) {
#pragma scop
  y[0] = 0;
  for (int i = 0; i < 4; i++) y[0] = y[0] + a[i] * b[i];
#pragma endscop
}"""


def test_f24_a_format_needs_only_operators() -> None:
    """The kernel of an integer program with other operators of the same latency computes in single precision."""
    tested = program("dot", DOT)
    plan = make_plan(tested, Options(latency={"add": 3, "mul": 2}, interleave=1))
    names = {"add": "float_add", "mul": "float_mul"}

    def exchanged(operator: Operator) -> Operator:
        return replace(operator, op=names[operator.op], value=8) if operator.op in names else operator

    nodes = tuple(replace(n, operators=tuple(map(exchanged, n.operators))) for n in plan.kernel.nodes)
    floats = replace(plan, kernel=replace(plan.kernel, nodes=nodes))
    values = [np.array(v, np.float32) for v in ([1.5, -2.25, 1e-3, 3e7], [0.1, 1 / 3, 7e4, -2.5])]
    run = run_kernel(tested, floats, dict(zip("ab", (v.view(np.uint32).astype(np.int64) for v in values), strict=True)))
    total = np.float32(0)
    for left, right in zip(*values, strict=True):
        total = np.float32(total + np.float32(left * right))
    assert int(run.outputs["y"][0]) == int(total.view(np.uint32))
