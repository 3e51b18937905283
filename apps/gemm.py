"""Matrix product: the DNN benchmark GEMM of Liu 2023, table 7.1.

    c(x, y) = sum over r of a(r, y) * b(x, r)

int16, wrapping; square matrices of `size`. `unroll` columns of the result at a time, each with `products` products
(0: as many as columns): 8 x 8 multiply-accumulates in every cycle by default. The sum's loop is the outermost, so that
a partial sum comes back only when it has been through its memory.
"""

from compiler.frontend.kernel import Typed
from compiler.frontend.loop_nest import prog
from compiler.ir.program import Program, ProgramError
from compiler.ir.types import INT16
from compiler.passes import directives as transform


def accumulate(total: Typed, *factors: Typed) -> Typed:
    for a, b in zip(factors[0::2], factors[1::2], strict=True):
        total = total + a * b
    return total


def build(size: int = 64, unroll: int = 8, products: int = 0) -> Program:
    products = products or unroll
    for what, number in (("columns", unroll), ("products", products)):
        if number < 1 or size < number or size % number:
            raise ProgramError(f"gemm: {number} {what} at a time do not divide a matrix of {size}")
    prg = prog("gemm", INT16)
    prg.add_input("a", shape=(size, size))
    prg.add_input("b", shape=(size, size))
    prg.add_output("c", shape=(size, size))

    start = prg.add_loop("y", 0, size).add_loop("xo", 0, size // unroll).add_loop("xi", 0, unroll).add_op("Start")
    start.add_function(lambda: 0)
    start.add_store("c", f"{unroll}*xo + xi", "y")

    y = prg.add_loop("ro", 0, size // products).add_loop("y", 0, size)
    op = y.add_loop("xo", 0, size // unroll).add_loop("xi", 0, unroll).add_op("Accumulate")
    op.add_function(accumulate)
    op.add_load("c", f"{unroll}*xo + xi", "y")
    for ri in range(products):
        op.add_load("a", f"{products}*ro + {ri}", "y")
        op.add_load("b", f"{unroll}*xo + xi", f"{products}*ro + {ri}")
    op.add_store("c", f"{unroll}*xo + xi", "y")
    return transform.unroll(prg.build(), "xi")
