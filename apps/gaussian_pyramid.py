"""Gaussian pyramid: three stages, each the mean of 2x2 blocks (application ``gpyr`` of Liu 2023, table 7.1).

    f[k+1](x, y) = (f[k](2x, 2y) + f[k](2x+1, 2y) + f[k](2x, 2y+1) + f[k](2x+1, 2y+1)) >> 2

uint16, wrapping; `size` must be a multiple of 8. 64x64 in, 8x8 out.
"""

from compiler.frontend.kernel import Typed
from compiler.frontend.loop_nest import Prog, prog
from compiler.ir.program import Program


def mean(a: Typed, b: Typed, c: Typed, d: Typed) -> Typed:
    return (a + b + c + d) >> 2


def add_stage(prg: Prog, source: str, result: str, size: int) -> None:
    """One reduction to `size` x `size`."""
    y = prg.add_loop(f"y_{result}", 0, size)
    x = y.add_loop(f"x_{result}", 0, size)
    op = x.add_op(f"Reduce_{result}")
    op.add_function(mean)
    for j in range(2):
        for i in range(2):
            op.add_load(source, f"2*x_{result} + {i}", f"2*y_{result} + {j}")
    op.add_store(result, f"x_{result}", f"y_{result}")


def build(size: int = 64) -> Program:
    prg = prog("gaussian_pyramid")
    prg.add_input("input", shape=(size, size))
    prg.add_output("output")
    add_stage(prg, "input", "f1", size // 2)
    add_stage(prg, "f1", "f2", size // 4)
    add_stage(prg, "f2", "output", size // 8)
    return prg.build()
