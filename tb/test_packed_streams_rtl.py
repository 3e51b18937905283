"""Pipelines with several elements of a row at a time, in RTL: outputs equal the program's, cycles the prediction."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

import compiler
from compiler.bind.applications import HARDWARE_PASSES, Placed, place_application
from compiler.bind.fpga.design import FpgaDesign
from compiler.bind.host_interface import NoDriver
from compiler.cli.input_files import random_inputs
from compiler.frontend.apps import sac_applications
from compiler.frontend.c_scop import parse_scop
from compiler.frontend.sac import load_sac, parse_sac
from compiler.ir.interpret import interpret

PROGRAM = """void f(const unsigned char a[9][29], short y[7][27], unsigned char z[7][27]) {
#pragma scop
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 27; j++) {
            int s = a[i][j] - 2 * a[i + 1][j + 1] + a[i + 2][j + 2];
            y[i][j] = s * j;
            z[i][j] = s > 0 ? s : a[i][j + 1];
        }
#pragma endscop
}
"""

NARROW = """uint2[:,:], int4[:,:] main (uint2 A[6,37], int4 B[6,37]) {
    uint2 R[:,:], int4 S[:,:] = for window W[1,3] in A dot window V[1,3] in B
        return (array (array_max (W)), array (V[0,2] - V[0,0]));
} return (R, S);
"""


@lru_cache
def design(bus_bits: int) -> FpgaDesign:
    found = compiler.compile(parse_scop(PROGRAM), target="fpga", lanes=0, bus_bits=bus_bits)
    assert isinstance(found, FpgaDesign) and found.lanes == bus_bits // 16
    return found


@pytest.mark.parametrize("simulator", ["icarus", "verilator"])
@pytest.mark.parametrize("bus_bits", [32, 64])
def test_ragged_rows_in_lanes(bus_bits: int, simulator: str) -> None:
    one = design(bus_bits)
    inputs = random_inputs(one.program, 3)
    run = one.simulate(inputs, simulator)
    for name, wanted in interpret(one.program, inputs).items():
        np.testing.assert_array_equal(run.outputs[name], wanted)
    assert run.cycles == one.predicted_cycles
    assert abs(run.wall_cycles - one.predicted_start_to_done) <= 0.02 * run.wall_cycles


@pytest.mark.parametrize("simulator", ["icarus", "verilator"])
def test_elements_of_a_few_bits_are_packed(simulator: str) -> None:
    """Eight elements come in the word of a narrow bus, those of 2 bits in half of one; rows end inside a word."""
    program = parse_sac(NARROW)
    draw = np.random.default_rng(5)
    held = program.held({"A": draw.integers(0, 4, (6, 37)), "B": draw.integers(-8, 8, (6, 37))})
    placed = place_application(program.optimised(HARDWARE_PASSES)[0], held, "fpga", lanes=0, bus_bits=32)
    [group] = placed.groups
    assert isinstance(group.design, FpgaDesign) and group.design.lanes == 8
    assert group.design.bounds.transfers == 6 * 37 * 6 // 32 + 1
    for found, wanted in zip(placed.simulate(simulator), placed.expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
    with pytest.raises(NoDriver, match="A_in has elements of less than a byte, packed in words; set the option lanes"):
        _ = group.design.host_interface
    [run] = placed.runs.values()
    assert run.cycles == group.design.predicted_cycles


@lru_cache
def ragged_pair() -> Placed:
    """Rows of 16 pixels, of which windows leave 12: the second word of a row has no neighbour, which half of its lanes
    would read."""
    program = load_sac(sac_applications()["sac/fused_pair"]).with_extents({"A": (12, 16)})
    pixels = np.random.default_rng(6).integers(0, 256, (12, 16))
    return place_application(program.optimised(HARDWARE_PASSES)[0], program.held({"A": pixels}), "fpga", lanes=0)


@pytest.mark.parametrize("simulator", ["icarus", "verilator"])
def test_lanes_behind_the_end_of_a_row(simulator: str) -> None:
    placed = ragged_pair()
    [group] = placed.groups
    assert isinstance(group.design, FpgaDesign) and group.design.lanes == 8 and not placed.host
    for found, wanted in zip(placed.simulate(simulator), placed.expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
    [run] = placed.runs.values()
    assert run.cycles == group.design.predicted_cycles < 12 * 4  # words of four pixels
