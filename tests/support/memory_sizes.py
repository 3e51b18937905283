"""An array with memories of two sizes, and programs for it."""

from __future__ import annotations

from compiler.frontend.kernel import lookup
from compiler.frontend.loop_nest import prog
from compiler.ir.program import Program
from compiler.ir.types import Int

MIXED = """rows = 2
columns = 8
mem_depths = [8, 64]
[mem]
kind = "{kind}"
depth = 64
[glb]
half_words = 1024
"""
"""Every other column of memories has 32 words, the others 256."""


def smoothed_curve(width: int = 26, height: int = 6) -> Program:
    """A curve of 128 points, looked up at the mean of three rows: delay lines of a row, and a table."""
    prg = prog("smoothed_curve")
    prg.add_input("image", shape=(height, width))
    prg.add_output("out")
    curve = prg.add_table("curve", [(k * 31 + 5) & 0xFFFF for k in range(128)], Int(16, False))
    op = prg.add_loop("y", 0, height - 2).add_loop("x", 0, width).add_op("Look")
    op.add_function(lambda above, here, below: lookup(curve, ((above + here + here + below) >> 3) & 127))
    for row in range(3):
        op.add_load("image", "x", f"y + {row}")
    op.add_store("out", "x", "y")
    return prg.build()


def cross(width: int = 24, height: int = 4) -> Program:
    """Sums of a word and those at the right and lower ends: a rectangle is loaded whose last words nobody reads."""
    prg = prog("cross")
    prg.add_input("a")
    prg.add_output("b")
    op = prg.add_loop("y", 0, height).add_loop("x", 0, width).add_op("Add")
    op.add_function(lambda here, right, below: here + right + below)
    for x, y in (("x", "y"), (f"x + {width - 1}", "y"), ("x", f"y + {height - 1}")):
        op.add_load("a", x, y)
    op.add_store("b", "x", "y")
    return prg.build()
