"""Nearest-neighbour magnification by two in both directions (Liu 2023, table 7.1).

    out(x, y) = in(x // 2, y // 2)

uint16; `width` x `height` in, twice as many in each direction out.
"""

from compiler.frontend.loop_nest import prog
from compiler.ir.program import Program


def build(width: int = 64, height: int = 64) -> Program:
    prg = prog("upsample")
    prg.add_input("input")
    prg.add_output("output")
    y = prg.add_loop("y", 0, 2 * height)
    x = y.add_loop("x", 0, 2 * width)
    op = x.add_op("Upsample")
    op.add_load("input", "x // 2", "y // 2")
    op.add_store("output", "x", "y")
    return prg.build()
