"""bfloat16 programs for the array, and what numpy with ml_dtypes computes for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from compiler.frontend.kernel import Typed, cast, constant, maximum, select
from compiler.frontend.loop_nest import prog
from compiler.ir.program import Program
from compiler.ir.types import BFLOAT16, INT16

__all__ = ["BF16", "PROGRAMS", "gaussian", "mixed", "running_sum"]

Arrays = dict[str, np.ndarray]
Reference = Callable[[Arrays], Any]
BF16: Any = ml_dtypes.bfloat16
WEIGHTS = (1, 2, 1, 2, 4, 2, 1, 2, 1)


def zero() -> Typed:
    return constant(BFLOAT16, 0)


def add_product(total: Typed, a: Typed, b: Typed) -> Typed:
    return total + a * b


def gaussian(height: int = 6, width: int = 8) -> Program:
    prg = prog("gaussian", "bfloat16")
    prg.add_input("a", (height + 2, width + 2))
    prg.add_output("b", (height, width))
    op = prg.add_loop("y", 0, height).add_loop("x", 0, width).add_op("blur")
    for k in range(9):
        op.add_load("a", f"x + {k % 3}", f"y + {k // 3}")

    def blur(p0: Typed, p1: Typed, p2: Typed, p3: Typed, p4: Typed, p5: Typed, p6: Typed, p7: Typed,
             p8: Typed) -> Typed:
        total = p0 * (1 / 16)
        for value, weight in zip((p1, p2, p3, p4, p5, p6, p7, p8), WEIGHTS[1:], strict=True):
            total = total + value * (weight / 16)
        return total

    op.add_function(blur)
    op.add_store("b", "x", "y")
    return prg.build()


def gaussian_by_numpy(given: Arrays) -> Any:
    a: Any = given["a"].astype(BF16)
    height, width = (size - 2 for size in a.shape)
    parts = [a[k // 3 : k // 3 + height, k % 3 : k % 3 + width] * BF16(weight / 16) for k, weight in enumerate(WEIGHTS)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def conv_layer(channels: int = 2, filters: int = 2, size: int = 4) -> Program:
    """Sums over channels and a window, and then the larger of the sum and zero."""
    prg = prog("conv_layer", "bfloat16")
    prg.add_input("a", (channels, size + 2, size + 2))
    prg.add_input("w", (filters, channels, 3, 3))
    prg.add_output("b", (filters, size, size))
    place = prg.add_loop("f", 0, filters).add_loop("y", 0, size).add_loop("x", 0, size)
    first = place.add_op("first")
    first.add_function(zero)
    first.add_store("t", "x", "y", "f")
    term = place.add_loop("c", 0, channels).add_loop("r", 0, 3).add_loop("s", 0, 3).add_op("term")
    term.add_load("t", "x", "y", "f")
    term.add_load("a", "x + s", "y + r", "c")
    term.add_load("w", "s", "r", "c", "f")
    term.add_function(add_product)
    term.add_store("t", "x", "y", "f")
    last = place.add_op("last")
    last.add_load("t", "x", "y", "f")
    last.add_function(lambda total: maximum(total, 0))
    last.add_store("b", "x", "y", "f")
    return prg.build()


def conv_by_numpy(given: Arrays) -> Any:
    a: Any = given["a"].astype(BF16)
    w: Any = given["w"].astype(BF16)
    size = a.shape[1] - 2
    total: Any = np.zeros((len(w), size, size), BF16)
    for c, r, s in np.ndindex(w.shape[1:]):
        total = total + a[c, r : r + size, s : s + size] * w[:, c, r, s][:, None, None]
    return np.where(total > 0, total, BF16(0))


def gemm(rows: int = 3, columns: int = 4, depth: int = 5) -> Program:
    prg = prog("gemm", "bfloat16")
    prg.add_input("a", (rows, depth))
    prg.add_input("b", (depth, columns))
    prg.add_output("c", (rows, columns))
    place = prg.add_loop("i", 0, rows).add_loop("j", 0, columns)
    first = place.add_op("first")
    first.add_function(zero)
    first.add_store("c", "j", "i")
    term = place.add_loop("k", 0, depth).add_op("term")
    term.add_load("c", "j", "i")
    term.add_load("a", "k", "i")
    term.add_load("b", "j", "k")
    term.add_function(add_product)
    term.add_store("c", "j", "i")
    return prg.build()


def gemm_by_numpy(given: Arrays) -> Any:
    a: Any = given["a"].astype(BF16)
    b: Any = given["b"].astype(BF16)
    total: Any = np.zeros((len(a), b.shape[1]), BF16)
    for k in range(len(b)):
        total = total + a[:, k, None] * b[None, k]
    return total


def running_sum(length: int = 12) -> Program:
    """A sum that needs the one before it in every iteration."""
    prg = prog("running_sum", "bfloat16")
    prg.add_input("a", (length,))
    prg.add_output("b", (length,))
    first = prg.add_op("first")
    first.add_load("a", "0")
    first.add_store("b", "0")
    following = prg.add_loop("x", 1, length - 1).add_op("following")
    following.add_load("b", "x - 1")
    following.add_load("a", "x")
    following.add_function(lambda before, a: before + a * a)
    following.add_store("b", "x")
    return prg.build()


def running_by_numpy(given: Arrays) -> Any:
    a: Any = given["a"].astype(BF16)
    found = [a[0]]
    for value in a[1:]:
        found.append(found[-1] + value * value)
    return np.array(found)


def mixed(length: int = 40) -> Program:
    """Integers in and out, a choice by a comparison, changes of sign, a difference."""
    prg = prog("mixed", "bfloat16")
    prg.add_input("n", (length,), "int16")
    prg.add_input("a", (length,))
    prg.add_output("b", (length,))
    prg.add_output("m", (length,), "int16")
    loop = prg.add_loop("x", 0, length)
    choose = loop.add_op("choose")
    choose.add_load("n", "x")
    choose.add_load("a", "x")
    choose.add_function(lambda n, a: select(a < 1.5, -(cast(BFLOAT16, n) - a), maximum(a, 3)))
    choose.add_store("b", "x")
    whole = loop.add_op("whole")
    whole.add_load("a", "x")
    whole.add_function(lambda a: cast(INT16, a * 3))
    whole.add_store("m", "x")
    return prg.build()


PROGRAMS: dict[str, tuple[Callable[[], Program], str, Reference | None]] = {
    "gaussian": (gaussian, "b", gaussian_by_numpy), "conv_layer": (conv_layer, "b", conv_by_numpy),
    "gemm": (gemm, "c", gemm_by_numpy), "running_sum": (running_sum, "b", running_by_numpy),
    "mixed": (mixed, "b", None)}
"""By name: the program, its output that numpy computes, and how."""
