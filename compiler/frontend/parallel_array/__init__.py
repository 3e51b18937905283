"""Parallel arrays: lazily evaluated arrays of integers with numpy's operators (Liu 2012, section 2.3).

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
    multiply_high,
    rotate,
    select,
    shift,
    sliding_window_view,
    stretch,
    take,
    transpose,
    where,
)
from compiler.frontend.parallel_array.location import ArrayError
from compiler.frontend.parallel_array.named import (
    add,
    all,
    any,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    equal,
    expand_dims,
    floor_divide,
    full_like,
    greater,
    greater_equal,
    invert,
    left_shift,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    max,
    min,
    multiply,
    negative,
    not_equal,
    ones_like,
    power,
    ravel,
    remainder,
    reshape,
    right_shift,
    sign,
    squeeze,
    subtract,
    sum,
    zeros_like,
)
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

abs = absolute

__all__ = [
    "CLAMP", "WRAP", "Array", "ArrayError", "ArrayProgram", "Boundary", "abs", "abs_difference", "absolute", "add",
    "all", "any", "arange", "array", "as_array", "bitwise_and", "bitwise_or", "bitwise_xor", "broadcast_to", "clip",
    "concatenate", "default", "diff", "dot", "equal", "evaluate", "expand_dims", "flip", "floor_divide", "full",
    "full_like", "greater", "greater_equal", "inner", "input", "interleave", "invert", "left_shift", "less",
    "less_equal", "logical_and", "logical_not", "logical_or", "logical_xor", "matmul", "max", "maximum", "min",
    "minimum", "multiply", "multiply_high", "negative", "not_equal", "ones", "ones_like", "outer", "pad", "power",
    "program", "ravel", "remainder", "repeat", "reshape", "right_shift", "roll", "rotate", "select", "shift", "sign",
    "sliding_window_view", "square", "squeeze", "stack", "stretch", "subtract", "sum", "swapaxes", "take", "tile",
    "transpose", "where", "zeros", "zeros_like",
]
