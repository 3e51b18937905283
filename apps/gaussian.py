"""Gaussian blur 3x3: the published array's benchmark (Liu 2023, table 7.1; Halide-to-Hardware app ``gaussian``).

    out(x, y) = (sum over i, j in 0..2 of K[j][i] * in(x+i, y+j)) >> 8

uint16; the valid region only: `width` x `height` in, two less in each direction out. The weights are those of
sigma 1.5 scaled to 256 and rounded down, so they sum to 253 and 8-bit pixels cannot overflow. With `lanes`, as many
strips of the image are computed at the same time.
"""

from compiler.frontend.kernel import Typed, weighted_sum
from compiler.frontend.loop_nest import prog
from compiler.ir.program import Program
from compiler.passes.directives import parallelize

WEIGHTS = ((24, 30, 24), (30, 37, 30), (24, 30, 24))


def blur(*window: Typed) -> Typed:
    return weighted_sum([weight for row in WEIGHTS for weight in row], window) >> 8


def build(width: int = 64, height: int = 64, lanes: int = 1) -> Program:
    prg = prog("gaussian")
    prg.add_input("input", shape=(height, width))
    prg.add_output("output")
    y = prg.add_loop("y", 0, height - 2)
    x = y.add_loop("x", 0, width - 2)
    op = x.add_op("Gaussian")
    op.add_function(blur)
    for j in range(3):
        for i in range(3):
            op.add_load("input", f"x + {i}", f"y + {j}")
    op.add_store("output", "x", "y")
    return prg.build() if lanes == 1 else parallelize(prg.build(), "y", lanes)
