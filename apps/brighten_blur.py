"""Brighten and blur an image in tiles: Liu 2023, figure 4.1.

    brighten(x, y) = 2 * input(x, y, t)
    blur(x, y, t)  = (brighten(x, y) + brighten(x+1, y) + brighten(x, y+1) + brighten(x+1, y+1)) / 4

uint16, wrapping. `tiles` tiles of `size` x `size` pixels in, (`size`-1) x (`size`-1) out.
"""

from compiler.frontend.kernel import Typed
from compiler.frontend.loop_nest import prog
from compiler.ir.program import Program


def brighten_kernel(arg0: Typed) -> Typed:
    return arg0 * 2


def blur_kernel(arg0: Typed, arg1: Typed, arg2: Typed, arg3: Typed) -> Typed:
    return (arg0 + arg1 + arg2 + arg3) // 4


def build(tiles: int = 16, size: int = 64) -> Program:
    # Outer tiling loop
    prg = prog("br-bl")
    prg.add_input("input")
    prg.add_output("blur")
    t = prg.add_loop("t", 0, tiles)

    # Brighten sub-loop
    y_br = t.add_loop("y_br", 0, size)
    x_br = y_br.add_loop("x_br", 0, size)
    brighten_op = x_br.add_op("Brighten")

    # Brighten OP
    brighten_op.add_function("brighten_kernel")
    brighten_op.add_load("input", "x_br", "y_br", "t")
    brighten_op.add_store("brighten", "x_br", "y_br")

    # Blur sub-loop
    y_bl = t.add_loop("y_bl", 0, size - 1)
    x_bl = y_bl.add_loop("x_bl", 0, size - 1)
    blur_op = x_bl.add_op("Blur")

    # Blur OP
    blur_op.add_function("blur_kernel")
    blur_op.add_load("brighten", "x_bl", "y_bl")
    blur_op.add_load("brighten", "x_bl+1", "y_bl")
    blur_op.add_load("brighten", "x_bl", "y_bl+1")
    blur_op.add_load("brighten", "x_bl+1", "y_bl+1")
    blur_op.add_store("blur", "x_bl", "y_bl", "t")
    return prg.build()
