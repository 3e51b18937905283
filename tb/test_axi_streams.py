"""Designs between AXI4-Streams on both simulators: several runs without a pause, with stalls, bit for bit and in the
cycles that are predicted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import compiler
from compiler.bind.streamed_design import StreamedDesign
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from hw.axi_stream.spec import StreamError
from tb.verilog_lint import lint

STENCIL = """void stencil(const unsigned char x[5][6], const short g[1], short y[3][6]) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 6; j++)
            y[i][j] = g[0] * x[i][j] - x[i + 1][j] + x[i + 2][j];
}
"""
PRODUCT = """void product(const short a[3][4], const short b[4][3], int c[3][3]) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            c[i][j] = 0;
            for (int k = 0; k < 4; k++)
                c[i][j] += a[i][k] * b[k][j];
        }
}
"""
OUTSIDE = """void outside(const short x[4], const short at[4], short y[4]) {
    for (int i = 0; i < 4; i++)
        y[i] = x[at[i]];
}
"""
LINES = """void lines(short y[5]) {
    for (int i = 0; i < 5; i++)
        y[i] = 3 * i;
}
"""


def check(design: StreamedDesign, program: Program, simulator: str, stall: float) -> None:
    """Three runs: all values, and without stalls the cycles of each."""
    runs = [random_inputs(program, seed) for seed in range(3)]
    found = design.simulate_runs(runs, simulator, stall=stall, seed=5)
    for outputs, inputs in zip(found.outputs, runs, strict=True):
        for name, expected in interpret(program, inputs).items():
            assert np.array_equal(outputs[name], expected), name
    assert found.cycles == 3 * design.design.cycles_for(runs[0])
    predicted = design.predicted_cycles(runs[0])
    if stall:
        assert found.wall_cycles > 3 * predicted
    else:
        assert (found.first_cycles, found.wall_cycles) == (predicted, 3 * predicted)


@pytest.mark.parametrize("target, text, bits, options", [
    ("fpga", STENCIL, 0, {}), ("dataflow", PRODUCT, 64, {"reorder": "chip"})])
def test_values_and_cycles(target: str, text: str, bits: int, options: dict[str, str]) -> None:
    """The same build without stalls and with some; beats of one element, and wide ones with TKEEP."""
    program = parse_scop(text)
    design = compiler.compile(program, target=target, **options).with_streams(bits)
    assert any(stream.port.has_keep for stream in (*design.inputs, *design.outputs)) == bool(bits)
    for simulator in ("verilator", "icarus"):
        for stall in (0, 0.4):
            check(design, program, simulator, stall)


@pytest.mark.parametrize("target, text, bits, options", [
    ("fpga", STENCIL, 32, {"lanes": 2}), ("fpga", PRODUCT, 64, {}), ("fpga", LINES, 0, {}), ("dataflow", LINES, 0, {}),
    ("dataflow", STENCIL, 128, {"lanes": 2}), ("dataflow", PRODUCT, 0, {})])
def test_other_designs(target: str, text: str, bits: int, options: dict[str, int]) -> None:
    """No inputs at all, words of several elements, arrays in another order than theirs. Inputs of one word and wide
    beats are in the cycles, too."""
    program = parse_scop(text)
    design = compiler.compile(program, target=target, **options).with_streams(bits)
    runs = [random_inputs(program, seed) for seed in range(2)]
    for stall in (0, 0.5):
        found = design.simulate_runs(runs, "icarus", stall=stall, seed=2)
        for outputs, inputs in zip(found.outputs, runs, strict=True):
            assert all(np.array_equal(outputs[name], value) for name, value in interpret(program, inputs).items())
        if not stall:
            assert found.wall_cycles == 2 * design.predicted_cycles(runs[0])


@pytest.mark.parametrize("target", ["fpga", "dataflow"])
def test_access_outside(target: str) -> None:
    """Stops the design until reset; it gives nothing wrong before."""
    design = compiler.compile(parse_scop(OUTSIDE), target=target).with_streams()
    inputs = {"x": np.arange(4), "at": np.array([3, 0, 9, 1])}
    with pytest.raises(StreamError, match=r"error INDEX: an access was outside of its array"):
        design.simulate(inputs, "icarus")
    run = design.simulate({**inputs, "at": np.array([3, 0, 2, 1])}, "icarus")
    assert run.outputs["y"].tolist() == [3, 0, 2, 1]


@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
def test_no_warnings(simulator: str, tmp_path: Path) -> None:
    design = compiler.compile(parse_scop(STENCIL), target="fpga").with_streams(64)
    assert lint(design.sources, "stream_system", simulator, tmp_path) == ""
