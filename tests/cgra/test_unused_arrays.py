"""Arrays that no statement uses any more do not matter, whatever their elements."""

from dataclasses import replace

import compiler
from compiler.frontend.c_scop import parse_scop
from compiler.ir.program import Array
from compiler.ir.types import Int


def test_an_array_of_wide_elements_that_nothing_uses():
    program = parse_scop("""void f(const short a[8], short y[8]) {
#pragma scop
    for (int i = 0; i < 8; i++)
        y[i] = a[i] + 1;
#pragma endscop
}
""")
    unused = Array("unused", (8,), Int(64), "intermediate")
    wider = replace(program, arrays=(*program.arrays, unused))
    designs = [compiler.compile(p, target="cgra", array="4x4", memory="dual-port") for p in (program, wider)]
    assert designs[0].predicted_cycles == designs[1].predicted_cycles
