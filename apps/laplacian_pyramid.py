"""Laplacian pyramid of three levels, taken apart and put together (Halide-to-Hardware app ``laplacian_pyramid``).

    blur(f)(x, y) = (sum over i, j in -1..1 of K[j][i] * f(x+i, y+j)) >> 8       K = 3 21 3 / 21 158 21 / 3 21 3
    l0 = blur f0,   h0 = f0 - l0,   f1(x, y) = l0(2x, 2y)
    l1 = blur f1,   h1 = f1 - l1,   f2(x, y) = l1(2x, 2y)
    f1u = blur of f2 twice as large + h1,   out = blur of f1u twice as large + h0

uint16, wrapping. `size` outputs in each direction, a multiple of 4, need `size` + 12 inputs: 7 more before, 5 behind
(an image program repeats its edges).
"""

from collections.abc import Callable

from compiler.frontend.kernel import Typed, weighted_sum
from compiler.frontend.loop_nest import Prog, prog
from compiler.ir.program import Program
from compiler.ir.types import ProgramError

WEIGHTS = (3, 21, 3, 21, 158, 21, 3, 21, 3)
WINDOW = [(i, j) for j in range(3) for i in range(3)]


def blur(*window: Typed) -> Typed:
    return weighted_sum(WEIGHTS, window) >> 8


def blur_and_add(*values: Typed) -> Typed:
    return blur(*values[:-1]) + values[-1]


def build(size: int = 64) -> Program:
    if size < 4 or size % 4:
        raise ProgramError(f"laplacian_pyramid: size {size} is not a multiple of 4")
    prg = prog("laplacian_pyramid")
    prg.add_input("input", shape=(size + 12, size + 12))
    prg.add_output("output")
    half = size // 2
    # Index 0 of every array is its first element needed; the comments give its coordinate in the formulas.
    _stage(prg, "l0", size + 9, blur, [("input", f"x + {i}", f"y + {j}") for i, j in WINDOW])  # -6
    f1 = half + 4  # -3: f1 is every second element of l0
    _stage(prg, "l1", f1 - 1, blur, [("l0", f"2*x + {2 * i}", f"2*y + {2 * j}") for i, j in WINDOW])  # -2
    _stage(prg, "h1", f1 - 2, lambda low, full: full - low,
           [("l1", "x + 1", "y + 1"), ("l0", "2*x + 4", "2*y + 4")])  # -1
    _stage(prg, "f1u", f1 - 2, blur_and_add,
           [*(("l1", f"2*((x + {i}) // 2)", f"2*((y + {j}) // 2)") for i, j in WINDOW), ("h1", "x", "y")])  # -1
    _stage(prg, "h0", size, lambda full, low: full - low, [("input", "x + 7", "y + 7"), ("l0", "x + 6", "y + 6")])
    _stage(prg, "output", size, blur_and_add,
           [*(("f1u", f"(x + {i + 1}) // 2", f"(y + {j + 1}) // 2") for i, j in WINDOW), ("h0", "x", "y")])
    return prg.build()


def _stage(prg: Prog, name: str, side: int, function: Callable[..., Typed], loads: list[tuple[str, str, str]]) -> None:
    op = prg.add_loop("y", 0, side).add_loop("x", 0, side).add_op(name)
    op.add_function(function)
    for load in loads:
        op.add_load(*load)
    op.add_store(name, "x", "y")
