"""A 3x3 convolution with unequal weights and a zero in the middle (clockwork's ``conv_3_3``).

    out(x, y) = sum over i, j in 0..2 of K[j][i] * in(x+i, y+j)

uint16, wrapping; `width` x `height` in, two less in each direction out. The zero weight reads nothing.
"""

from compiler.frontend.kernel import Typed, weighted_sum
from compiler.frontend.loop_nest import prog
from compiler.ir.program import Program

WEIGHTS = ((11, 14, 17), (12, 0, 18), (13, 16, 19))
TAPS = [(i, j, weight) for j, row in enumerate(WEIGHTS) for i, weight in enumerate(row) if weight]


def convolve(*window: Typed) -> Typed:
    return weighted_sum([weight for _, _, weight in TAPS], window)


def build(width: int = 64, height: int = 64) -> Program:
    prg = prog("conv_3_3")
    prg.add_input("input", shape=(height, width))
    prg.add_output("output")
    y = prg.add_loop("y", 0, height - 2)
    x = y.add_loop("x", 0, width - 2)
    op = x.add_op("Convolve")
    op.add_function(convolve)
    for i, j, _ in TAPS:
        op.add_load("input", f"x + {i}", f"y + {j}")
    op.add_store("output", "x", "y")
    return prg.build()
