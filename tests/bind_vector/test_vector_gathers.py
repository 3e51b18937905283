"""Loads of C at places that depend on data, as gathers of the lanes."""

from __future__ import annotations

import numpy as np
import pytest
from irregular_programs import case_of, design_of

import compiler
from compiler.bind.vector.errors import VectorTargetError
from compiler.frontend.c_scop import parse_scop
from compiler.ir.memory_bounds import with_bounds


@pytest.mark.parametrize("name", ["gamma_table", "ellpack", "crc_table", "first_equal"])
def test_machine_gives_what_gcc_gives(name):
    design = design_of(name, "vector")
    for seed in (1, 2):
        inputs, wanted = case_of(name, seed)
        for array, values in design.execute(inputs).items():
            np.testing.assert_array_equal(values, wanted[array], err_msg=array)


def test_an_index_that_may_be_outside_has_to_be_bounded():
    text = """void f(const unsigned char x[8], const int t[10], int y[8]) {
#pragma scop
    for (int i = 0; i < 8; i++) y[i] = t[x[i]];
#pragma endscop
}"""
    program = parse_scop(text, "f.c")
    with pytest.raises(VectorTargetError, match="an index of 't' may be outside its 10 elements, which the vector "
                                                "target does not trap: mask the index, or say --bounds-check wrap"):
        compiler.compile(program, target="vector")
    t, x = np.arange(10, dtype=np.int32) * 7, np.array([0, 9, 10, 23, 255, 5, 19, 20], np.uint8)
    design = compiler.compile(with_bounds(program, "wrap"), target="vector")
    np.testing.assert_array_equal(design.execute({"x": x, "t": t})["y"], t[x % 10])
