"""Two 3x3 convolutions in sequence (clockwork's ``cascade``).

    conv1(x, y) = sum over i, j in 0..2 of K[j][i] * in(x+i, y+j)        K = [1 2 1; 2 4 2; 1 2 1]
    conv2(x, y) = the same of conv1

uint16, wrapping, no scaling; `width` x `height` in, four less in each direction out.
"""

from compiler.frontend.kernel import Typed, weighted_sum
from compiler.frontend.loop_nest import Prog, prog
from compiler.ir.program import Program

WEIGHTS = ((1, 2, 1), (2, 4, 2), (1, 2, 1))


def convolve(*window: Typed) -> Typed:
    return weighted_sum([weight for row in WEIGHTS for weight in row], window)


def add_stage(prg: Prog, source: str, target: str, width: int, height: int) -> None:
    """One convolution of `source` into `target`, which has `width` x `height` elements."""
    y = prg.add_loop("y", 0, height)
    x = y.add_loop("x", 0, width)
    op = x.add_op(target.capitalize())
    op.add_function(convolve)
    for j in range(3):
        for i in range(3):
            op.add_load(source, f"x + {i}", f"y + {j}")
    op.add_store(target, "x", "y")


def build(width: int = 64, height: int = 64) -> Program:
    prg = prog("cascade")
    prg.add_input("input", shape=(height, width))
    prg.add_output("conv2")
    add_stage(prg, "input", "conv1", width - 2, height - 2)
    add_stage(prg, "conv1", "conv2", width - 4, height - 4)
    return prg.build()
