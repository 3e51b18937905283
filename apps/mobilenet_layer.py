"""A separable convolution layer of MobileNet: Liu 2023, table 7.1.

    d(c, x, y) = sum over rx, ry of depthwise(c, rx, ry) * in(c, x + rx, y + ry)
    out(k, x, y) = sum over c of pointwise(k, c) * d(c, x, y)

int16, wrapping; `size` x `size` elements of each of `outputs` channels from `inputs` channels, which come with a border
of one element. Everything but the loops over the image is parallel: a whole pixel of all channels in every cycle.
"""

from compiler.frontend.kernel import Typed
from compiler.frontend.loop_nest import prog
from compiler.ir.program import Program
from compiler.ir.types import INT16
from compiler.passes import directives as transform

WINDOW = [(rx, ry) for ry in range(3) for rx in range(3)]


def sum_of_products(*factors: Typed) -> Typed:
    total = factors[0] * factors[1]
    for a, b in zip(factors[2::2], factors[3::2], strict=True):
        total = total + a * b
    return total


def build(size: int = 28, inputs: int = 4, outputs: int = 3) -> Program:
    prg = prog("mobilenet_layer", INT16)
    prg.add_input("input", shape=(inputs, size + 2, size + 2))
    prg.add_input("depthwise", shape=(3, 3, inputs))
    prg.add_input("pointwise", shape=(inputs, outputs))
    prg.add_output("output", shape=(outputs, size, size))

    op = prg.add_loop("y", 0, size).add_loop("x", 0, size).add_loop("c", 0, inputs).add_op("Depthwise")
    op.add_function(sum_of_products)
    for rx, ry in WINDOW:
        op.add_load("input", f"x + {rx}", f"y + {ry}", "c")
        op.add_load("depthwise", "c", rx, ry)
    op.add_store("d", "x", "y", "c")

    op = prg.add_loop("y", 0, size).add_loop("x", 0, size).add_loop("k", 0, outputs).add_op("Pointwise")
    op.add_function(sum_of_products)
    for c in range(inputs):
        op.add_load("d", "x", "y", c)
        op.add_load("pointwise", "k", c)
    op.add_store("output", "x", "y", "k")
    return transform.unroll(transform.unroll(prg.build(), "c"), "k")
