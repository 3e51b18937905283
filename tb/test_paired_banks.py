"""Arrays whose columns both send words and take them: every column in both directions, with tiles that overlap."""

from __future__ import annotations

import numpy as np

import compiler
from compiler.frontend.loop_nest import prog
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from hw.sim.simulate import StallProfile

HARDWARE = """
rows = 2
columns = 4
[glb]
half_words = 64
paired = true
"""
LANES = 4


def running(tiles: int = 3, size: int = 16) -> Program:
    """A word plus its predecessor, of as many arrays as there are columns; tile by tile."""
    prg = prog("running")
    nest = prg.add_loop("t", 0, tiles).add_loop("x", 0, size)
    for lane in range(LANES):
        prg.add_input(f"a{lane}", shape=(tiles, size + 1))
        prg.add_output(f"b{lane}")
        op = nest.add_op(f"Sum{lane}")
        op.add_function(lambda here, before: here + before)
        op.add_load(f"a{lane}", "x + 1", "t")
        op.add_load(f"a{lane}", "x", "t")
        op.add_store(f"b{lane}", "x", "t")
    return prg.build()


def test_every_column_reads_and_writes(simulator, tmp_path):
    description = tmp_path / "paired.toml"
    description.write_text(HARDWARE)
    program = running()
    design = compiler.compile(program, hardware=str(description), tile_depth=1)
    assert set(design.config.banks) == set(range(2 * LANES)), "all columns, in both directions"
    generator = np.random.default_rng(4)
    inputs = {a.name: generator.integers(0, 1 << 16, a.shape) for a in program.inputs}
    run = design.simulate(inputs, simulator, seed=6, stall=StallProfile.uniform(0.3))
    for name, expected in interpret(program, inputs).items():
        np.testing.assert_array_equal(run.outputs[name], expected)
    assert run.cycles == design.predicted_cycles
    assert design.predicted_cycles <= design.lower_bound + 24
