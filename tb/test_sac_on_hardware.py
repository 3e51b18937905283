"""SA-C applications whose loops run in RTL, on both simulators: equal to the interpreter of the written graphs."""

from __future__ import annotations

import numpy as np
import pytest
from random_sac_loops import LoopWriter

from compiler.bind.applications import HARDWARE_PASSES, Placed, place_application
from compiler.cli.main import main
from compiler.frontend.apps import sac_applications
from compiler.frontend.sac import SacProgram, load_sac, parse_sac, random_inputs
from compiler.frontend.sac.ddcf import interpret


def check(program: SacProgram, inputs: dict, target: str, simulator: str) -> Placed:
    sized = program.with_extents({name: np.shape(value) for name, value in inputs.items() if np.ndim(value)})
    held = program.held(inputs)
    placed = place_application(sized.optimised(HARDWARE_PASSES)[0], held, target)
    found = placed.simulate(simulator)
    for one, other in zip(interpret(program.module, program.main.name, held), found, strict=True):
        assert one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    return placed


@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
@pytest.mark.parametrize("name", ["canny", "histogram", "morphology", "motion", "threshold", "wavelet"])
def test_applications_on_fpga(name, simulator):
    """Several loops in one design, with a scalar between them, with reductions, strides and fixed point."""
    program = load_sac(sac_applications()[f"sac/{name}"])
    placed = check(program, random_inputs(program, 1, 18), "fpga", simulator)
    assert len(placed.groups) == len(placed.runs) == 1
    for group in placed.groups:
        run = placed.runs[group.group.program.name]
        assert run.cycles == group.design.predicted_cycles


BY_VALUES = """
uint16[:], uint8[:] main (uint8 A[70], uint8 T[16]) {
    uint16 H[:] = for a in A return (histogram (a & 15, 16, a > 40));
    uint8 E[:] = for a in A return (array (T[a >> 4]));
} return (H, E);
"""


@pytest.mark.parametrize("target", ["dataflow", "fpga"])
def test_histograms_and_places_that_values_decide(target):
    program = parse_sac(BY_VALUES)
    assert len(check(program, random_inputs(program, 1), target, "icarus").groups) == 2


NEST = """
int16[:,:], uint16[:,:] main (int8 A[3,9], int8 B[9,2], uint8 C[4], uint8 D[5]) {
    // PRAGMA (no_unroll)
    int16 P[:,:] = for Row (~,:) in A cross Column (:,~) in B {
        // PRAGMA (no_unroll)
        int16 c = for a in Row dot b in Column return (sum ((int16)a * b));
    } return (array (c));
    // PRAGMA (no_unroll)
    uint16 Q[:,:] = for c in C cross d in D return (array ((uint16)c * d));
} return (P, Q);
"""


@pytest.mark.parametrize("target", ["cgra", "fpga"])
@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
def test_nests_and_crossed_generators(target, simulator):
    program = parse_sac(NEST)
    placed = check(program, random_inputs(program, 1), target, simulator)
    assert len(placed.groups) == 2 and not placed.host


COUNTED = """
uint8[:,:], uint8[:], uint8, uint8[:] main (int16 X[12], int16 Y[7], uint8 A[70], uint8 b) {
    uint8 T[:,:] = for y in Y cross x in X {
        int16 a = 0; int16 c = 0; uint8 k = 0;
        uint8 n = while (k < 9 && a * a + c * c < 256) {
            next k = k + 1;
            next a = ((a * a - c * c) >> 3) + (x & 31);
            next c = ((a * c) >> 2) + (y & 31);
        } return (final (k));
    } return (array (n));
    uint8 E[:] = for window W[2] in A at (uint8 i) {
        uint8 I[1] = {i};
        uint8 V[:] = W[0] > W[1] ? I : W[1:0];
    } return (concat (V));
    uint8 z = b;
    // PRAGMA (max_trips (70))
    uint8 s, uint8 F[:] = while (z != 1) { next z = (z & 1) == 0 ? z >> 1 : z - 1; } return (final (z), array (z));
} return (T, E, s, F);
"""


@pytest.mark.parametrize("target", ["dataflow", "fpga"])
@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
def test_loops_that_values_end_and_arrays_whose_extents_they_decide(target, simulator):
    """An orbit for each point, the places of what falls, and a loop whose iterations a pragma bounds."""
    program = parse_sac(COUNTED)
    placed = check(program, random_inputs(program, 1) | {"b": 200}, target, simulator)
    assert [fate.loop.kind for fate, _ in placed.host] == ["WHILE"]


@pytest.mark.parametrize("target", ["cgra", "dataflow", "vector"])
def test_applications_elsewhere(target):
    program = load_sac(sac_applications()["sac/median"])
    assert check(program, random_inputs(program, 1, 18), target, "icarus").groups


@pytest.mark.parametrize("seed", range(6))
def test_random_loops(seed):
    program = parse_sac(getattr(LoopWriter(seed), ("pair", "several", "siblings")[seed % 3])())
    check(program, random_inputs(program, seed, 9), "fpga", "icarus")


def test_the_command(capsys, tmp_path):
    assert main(["sac/histogram", "--target", "fpga", "--random", "2", "--simulator", "icarus", "--directory",
                 str(tmp_path), "--output", f"white={tmp_path / 'white.npy'}"]) == 0
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "stays on the host" not in text
    assert "equal to the interpreter yes" in text and "equal to the program in C on the host yes" in text
    assert (tmp_path / "histogram_3" / "rtl" / "pipeline.v").exists()
    program = load_sac(sac_applications()["sac/histogram"])
    wanted = program.run(random_inputs(program, 2))["white"]
    assert np.array_equal(np.load(tmp_path / "white.npy"), wanted)
