"""Parallel arrays: lazily evaluated arrays of integers with numpy's operators (seed 004, section 2.3).

    from compiler.frontend import parallel_array as pa

    x = pa.input("x", 1024, "int16")
    y = pa.evaluate(pa.maximum(x, pa.shift(x, 1, pa.CLAMP)), {"x": data})
"""

from compiler.frontend.parallel_array.array import Array, array, as_array, input
from compiler.frontend.parallel_array.expression import CLAMP, WRAP, Boundary, default
from compiler.frontend.parallel_array.functions import (
    abs_difference,
    absolute,
    broadcast_to,
    clip,
    dot,
    interleave,
    matmul,
    maximum,
    minimum,
    rotate,
    select,
    shift,
    sliding_window_view,
    stretch,
    transpose,
    where,
)
from compiler.frontend.parallel_array.location import ArrayError
from compiler.frontend.parallel_array.program import ArrayProgram, evaluate, program
from compiler.frontend.parallel_array.rearranging import (
    arange,
    concatenate,
    diff,
    flip,
    full,
    inner,
    ones,
    outer,
    pad,
    repeat,
    roll,
    square,
    stack,
    swapaxes,
    tile,
    zeros,
)

__all__ = [
    "CLAMP", "WRAP", "Array", "ArrayError", "ArrayProgram", "Boundary", "abs_difference", "absolute", "arange",
    "array", "as_array", "broadcast_to", "clip", "concatenate", "default", "diff", "dot", "evaluate", "flip", "full",
    "inner", "input", "interleave", "matmul", "maximum", "minimum", "ones", "outer", "pad", "program", "repeat",
    "roll", "rotate", "select", "shift", "sliding_window_view", "square", "stack", "stretch", "swapaxes", "tile",
    "transpose", "where", "zeros",
]
