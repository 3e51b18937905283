"""Tables that inputs fill before data index them, in the memory tiles of the array, on both simulators with stalls."""

from __future__ import annotations

import numpy as np
import pytest
from c_targets import inputs_of
from irregular_programs import case_of, program_of
from random_data import function_data

import compiler
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from hw.sim.simulate import StallProfile

STALLS = StallProfile(ar=0.3, r=0.3, aw=0.3, w=0.3)

TABLES = """void f(const unsigned char x[20], const short s[14], const unsigned char t[2][32], short y[20]) {
#pragma scop
    for (int i = 0; i < 20; i++) y[i] = s[x[i] % 8] + s[t[x[i] >> 7][x[19 - i] & 31] & 7];
#pragma endscop
}"""


@pytest.mark.parametrize("name", ["gamma_table", "two tables"])
def test_memory_tiles_look_up_what_an_input_filled(name: str, simulator: str) -> None:
    """Each table fills its tiles in parallel, a word in a cycle."""
    if name == "gamma_table":
        program, (inputs, wanted) = program_of(name), case_of(name, 6)
    else:
        program = parse_scop(TABLES, "f.c")
        inputs = inputs_of(program, function_data(TABLES, "f", 4))
        wanted = interpret(program, inputs)
    design = compiler.compile(program, array="8x4")
    run = design.simulate(inputs, simulator, seed=3, stall=STALLS)
    for array, values in run.outputs.items():
        np.testing.assert_array_equal(values, wanted[array], err_msg=f"{name}: {array}")
    assert run.cycles == design.predicted_cycles
