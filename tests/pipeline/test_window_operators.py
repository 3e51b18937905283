"""Operators of the window machine compute what nodes of dataflow graphs do."""

from __future__ import annotations

import random

import pytest
from amaranth.hdl import Const, Module, Signal
from amaranth.sim import Simulator

from compiler.frontend.sac.dfg.kinds import COMPUTE
from hw.window.operators import OPERATORS, build_operator

_COMPARED = ("EQ", "NEQ", "LT", "LE", "GT", "GE")


def shapes(kind: str, width: int) -> tuple[list[int], int]:
    """Bits of operands and output."""
    if kind.endswith("_MANY"):
        return [width, 1] * 5, width
    if kind == "SELECTOR":
        return [2, 2, width, 2, width, width], width
    if kind == "SQRT":
        return [2 * width], width
    if kind.startswith("CHANGE_WIDTH"):
        return [width], width + 3
    if kind == "BIT_NOT":
        return [width], width
    if kind == "LEFT_SHIFT":
        return [width, 3], width + 2
    outputs = {"MUL": 2 * width, **dict.fromkeys(_COMPARED, 1)}
    return [width, width], outputs.get(kind if kind in _COMPARED else kind[1:], width)


@pytest.mark.parametrize("kind", sorted(OPERATORS))
def test_operators(kind):
    chance = random.Random(kind)
    for width in (1, 3, 8):
        widths, out_width = shapes(kind, width)
        module = Module()
        inputs = [Signal(bits, name=f"i{n}") for n, bits in enumerate(widths)]
        fixed = chance.randrange(1 << widths[1]) if kind.endswith("SHIFT") and width == 8 else None
        given = [*inputs[:1], Const(fixed, widths[1])] if fixed is not None else inputs
        output = Signal(out_width)

        def wire(value, module=module):
            signal = Signal(value.shape())
            module.d.comb += signal.eq(value)
            return signal

        module.d.comb += output.eq(build_operator(kind, given, out_width, wire))
        rows = [[chance.randrange(1 << bits) for bits in widths] for _ in range(60)]
        rows += [[0] * len(widths), [(1 << bits) - 1 for bits in widths]]

        async def bench(context, rows=rows, inputs=inputs, output=output, widths=widths, width=out_width, fixed=fixed):
            for row in rows:
                row = [row[0], fixed] if fixed is not None else row
                for signal, value in zip(inputs, row, strict=True):
                    context.set(signal, value)
                wanted = COMPUTE[kind](row, widths, width) & (1 << width) - 1
                assert context.get(output) == wanted, (kind, widths, row)

        simulator = Simulator(module)
        simulator.add_testbench(bench)
        simulator.run()
