"""Row F24 of Bok 2018: floating-point operators against the interpreter, which the tests of `compiler.ir.floating`
hold against numpy, alone and in a kernel."""

from __future__ import annotations

import gc
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Elaboratable, Module, Signal, UnusedElaboratable
from amaranth.sim import Simulator
from kernel_bench import run_kernel
from network_programs import program

from compiler.bind.dataflow.expressions import word
from compiler.bind.dataflow.options import Options
from compiler.bind.dataflow.plan import make_plan
from compiler.frontend.c_scop import load_c
from compiler.ir.evaluate import evaluate
from compiler.ir.expr import Apply, Cast, Expr, Read
from compiler.ir.floating import encode, from_words, to_words
from compiler.ir.interpret import interpret
from compiler.ir.types import BFLOAT16, BIT, FLOAT16, FLOAT32, Float, Int, Type
from hw.dataflow.floating import FLOAT_LATENCY
from hw.dataflow.operators import build_operators
from hw.dataflow.spec import KernelError, Operator, Word
from hw.labels import Label
from hw.lib.taps import Taps

APPS = Path(__file__).resolve().parents[2] / "apps" / "float"
SPECIAL = (0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC00000, 1, 0x80000001, 0x007FFFFF, 0x00800000, 0x7F7FFFFF,
           0x3F800000)
ARITHMETIC = ("add", "sub", "mul", "div")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def operations(form: Float) -> list[Expr]:
    """Every operation on two words of `form`."""
    a, b = Read(0, form), Read(1, form)
    return [*(Apply(op, (a, b), form) for op in ARITHMETIC), *(Apply(op, (a, b), BIT) for op in COMPARISONS),
            Apply("neg", (a,), form), Apply("abs", (a,), form),
            Apply("select", (Apply("lt", (a, b), BIT), a, b), form)]


class Bench(Elaboratable):
    """Expressions on the same operands of `types`; all registers step in every cycle."""

    def __init__(self, values: list[Expr], types: list[Type], latency: int | None) -> None:
        self.values, self.types, self.latency = values, types, latency
        self.operands = [Signal(word(type, "").shape) for type in types]
        self.results = [Signal(word(value.type, "").shape) for value in values]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        enable, alive = Signal(init=1), Signal()
        m.d.sync += alive.eq(~alive)
        taps = Taps(m, enable)
        reads = [Operator("read", (), word(type, ""), value=k) for k, type in enumerate(self.types)]
        for number, value in enumerate(self.values):
            steps = self._operators(list(reads), value)
            result = build_operators(m, taps, Label(f"v{number}"), steps, self.operands, (), ())
            m.d.comb += self.results[number].eq(result)
        return m

    def _operators(self, steps: list[Operator], value: Expr) -> list[Operator]:
        args = value.args if isinstance(value, Apply) else (value.arg,) if isinstance(value, Cast) else ()
        for arg in args:
            steps = steps if isinstance(arg, Read) else self._operators(steps, arg)
        places = tuple(arg.index if isinstance(arg, Read) else len(steps) - 1 for arg in args)
        op = value.op if isinstance(value, Apply) else "cast"
        latency = FLOAT_LATENCY[op] if self.latency is None else self.latency
        start = max(steps[place].done for place in places)
        return [*steps, Operator(op, places, word(value.type, ""), latency, start)]


def compare(bench: Bench, rows: np.ndarray, depth: int) -> None:
    """Every result for every row of words must be the interpreter's."""
    columns = [from_words(type, rows[:, k]) for k, type in enumerate(bench.types)]
    expected = [to_words(value.type, np.broadcast_to(evaluate(value, columns.__getitem__, {}, {}), len(rows)))
                for value in bench.values]

    async def process(ctx: Any) -> None:
        for number, row in enumerate(rows):
            for operand, item in zip(bench.operands, row, strict=True):
                ctx.set(operand, int(item))
            for _ in range(depth):
                await ctx.tick()
            for value, result, wanted in zip(bench.values, bench.results, expected, strict=True):
                assert ctx.get(result) == int(wanted[number]), (value, [hex(int(x)) for x in row])
            await ctx.tick()

    simulator = Simulator(bench)
    simulator.add_clock(1e-6)
    simulator.add_testbench(process)
    simulator.run()


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


def test_f24_operators_in_a_kernel_have_the_latency_of_their_words() -> None:
    """The operators alone: tb/test_float_operators.py."""
    chance = random.Random(7)
    rows = np.array([draw(chance) for _ in range(12)], np.int64)
    compare(Bench(operations(FLOAT32), [FLOAT32, FLOAT32], None), rows, 31)


def test_conversions_have_registers_and_widen() -> None:
    rows = np.random.default_rng(6).integers(0, 1 << 16, (25, 2))
    values: list[Expr] = [Cast(Read(0, BFLOAT16), FLOAT32), Cast(Read(1, FLOAT16), FLOAT32),
                          Cast(Read(0, BFLOAT16), Int(32))]
    compare(Bench(values, [BFLOAT16, FLOAT16], 4), rows, 5)


def test_an_operation_without_an_operator_is_refused() -> None:
    number = Word(32, False, 8)
    operators = [Operator("read", (), number), Operator("and", (0, 0), number)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnusedElaboratable)
        m = Module()
        with pytest.raises(KernelError) as error:
            build_operators(m, Taps(m, Signal()), Label("x"), operators, [Signal(32)], (), ())
        message = str(error.value)
        del m, error
        gc.collect()
    assert message == ("there is no operator 'and' for floating-point numbers, only add, sub, mul, mad, div, sqrt, "
                       "neg, abs, cast, exp, log, sin, cos, eq, ne, lt, le, gt, ge, min, max")


DOT = """
void f(const float a[4], const float b[4], float y[1]) {
#pragma scop
  y[0] = 0;
  for (int i = 0; i < 4; i++) y[0] = y[0] + a[i] * b[i];
#pragma endscop
}"""


def test_f24_a_kernel_computes_in_single_precision() -> None:
    tested = program("dot", DOT)
    plan = make_plan(tested, Options(latency={"add": 3, "mul": 2}, interleave=1))
    values = [np.array(v, np.float32) for v in ([1.5, -2.25, 1e-3, 3e7], [0.1, 1 / 3, 7e4, -2.5])]
    words = dict(zip("ab", (encode(FLOAT32, v) for v in values), strict=True))
    run = run_kernel(tested, plan, words)
    expected = interpret(tested, dict(zip("ab", values, strict=True)))["y"]
    assert int(run.outputs["y"][0]) == int(expected.view(np.uint32)[0])
    assert [o.latency for n in plan.kernel.nodes for o in n.operators if o.op == "add"] == [3]


AVERAGE = """
void average(const float x[8], float y[6]) {
#pragma scop
  for (int i = 1; i < 7; i++) y[i - 1] = (x[i - 1] + x[i] + x[i + 1]) / 3;
#pragma endscop
}"""


def test_f25_moving_average_of_the_seed_divides() -> None:
    """Listings 3.1 to 3.3: 1, 2/3, 2, 5/3, 13/3, 4, each the nearest number of single precision."""
    tested = program("average", AVERAGE)
    plan = make_plan(tested, Options(latency={"add": 2, "div": 4}))
    run = run_kernel(tested, plan, {"x": encode(FLOAT32, np.array([1, 0, 2, 0, 4, 1, 8, 3], np.float32))})
    expected = np.array([1, 2 / 3, 2, 5 / 3, 13 / 3, 4], np.float32)
    assert run.outputs["y"].tolist() == expected.view(np.uint32).tolist()


@pytest.mark.parametrize(("name", "ticks", "turns"), [
    ("matmul", 12**3, "12 of time dimension 1"), ("fir", 41 * 8, "41 of time dimension 0"), ("stencil", 64, None),
])
def test_f27_sums_take_turns_in_the_adder(name: str, ticks: int, turns: str | None) -> None:
    """One multiplication per tick, although a sum waits twelve ticks for the next."""
    plan = make_plan(load_c(APPS / f"{name}.c"), Options())
    assert (plan.kernel.ticks, plan.choices.get("interleaved")) == (ticks, turns)


def test_f20_a_sum_alone_keeps_its_order_and_waits() -> None:
    """Between its four additions, of twelve ticks each; the first value and the last one take a tick."""
    assert make_plan(program("dot", DOT), Options()).kernel.ticks == 3 * 12 + 2
