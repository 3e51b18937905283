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
    fma,
    interleave,
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
    cos,
    divide,
    equal,
    exp,
    expand_dims,
    floor_divide,
    full_like,
    greater,
    greater_equal,
    invert,
    left_shift,
    less,
    less_equal,
    log,
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
    remainder,
    right_shift,
    sign,
    sin,
    sqrt,
    squeeze,
    subtract,
    sum,
    zeros_like,
)
from compiler.frontend.parallel_array.products import (
    convolve,
    correlate,
    dot,
    einsum,
    inner,
    kron,
    matmul,
    outer,
    tensordot,
    trace,
)
from compiler.frontend.parallel_array.program import ArrayProgram, evaluate, program
from compiler.frontend.parallel_array.rearranging import (
    arange,
    concatenate,
    diagonal,
    diff,
    flip,
    full,
    ones,
    pad,
    repeat,
    roll,
    square,
    stack,
    swapaxes,
    tile,
    tril,
    triu,
    zeros,
)
from compiler.frontend.parallel_array.reshaping import ravel, reshape
from compiler.frontend.parallel_array.searching import (
    argmax,
    argmin,
    count_nonzero,
    cumsum,
    mean,
    prod,
    ptp,
    sort,
)
from compiler.frontend.parallel_array.stacking import (
    column_stack,
    diag,
    fliplr,
    flipud,
    hstack,
    isin,
    moveaxis,
    rot90,
    select_first,
    split,
    vstack,
)

abs = absolute

__all__ = [
    "CLAMP", "WRAP", "Array", "ArrayError", "ArrayProgram", "Boundary", "abs", "abs_difference", "absolute", "add",
    "all", "any", "arange", "argmax", "argmin", "array", "as_array", "bitwise_and", "bitwise_or", "bitwise_xor",
    "broadcast_to", "clip", "column_stack", "concatenate", "convolve", "correlate", "cos", "count_nonzero", "cumsum",
    "default", "diag", "diagonal", "diff", "divide", "dot", "einsum", "equal", "evaluate", "exp", "expand_dims", "flip",
    "fliplr", "flipud", "floor_divide", "fma", "full", "full_like", "greater", "greater_equal", "hstack", "inner",
    "input", "interleave", "invert", "isin", "kron", "left_shift", "less", "less_equal", "log", "logical_and",
    "logical_not", "logical_or", "logical_xor", "matmul", "max", "maximum", "mean", "min", "minimum", "moveaxis",
    "multiply", "multiply_high", "negative", "not_equal", "ones", "ones_like", "outer", "pad", "power", "prod",
    "program", "ptp", "ravel", "remainder", "repeat", "reshape", "right_shift", "roll", "rot90", "rotate", "select",
    "select_first", "shift", "sign", "sin", "sliding_window_view", "sort", "split", "sqrt", "square", "squeeze",
    "stack", "stretch", "subtract", "sum", "swapaxes", "take", "tensordot", "tile", "trace", "transpose", "tril",
    "triu", "vstack", "where", "zeros", "zeros_like",
]
