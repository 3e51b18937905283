"""Loop nests with accesses at places that elements of arrays decide."""

from __future__ import annotations

import numpy as np

from compiler.frontend.loop_nest import prog
from compiler.ir.program import Program
from compiler.ir.types import INT16, Int

INT32, UINT8 = Int(32), Int(8, signed=False)
X = np.array([3, 77, 3, 3, 130, 255, 77, 0], np.uint8)


BETWEEN = """void f(const unsigned char x[8], int h[8]) {
#pragma scop
    for (int i = 0; i < 5; i++) { h[x[i] & 7] ^= 5; h[x[i] & 7] -= 7; }
    for (int i = 0; i < 3; i++) for (int j = 0; j < 2; j++) h[x[i] & 7] = x[j];
#pragma endscop
}"""
"""Loads and stores take their indices between two words of `x`, one after the other."""

BETWEEN_DATA = {"x": np.array([242, 11, 129, 0, 93, 1, 4, 72], np.uint8), "h_in": np.arange(8, dtype=np.int32) * 100}


def histogram() -> Program:
    """How often each value modulo 16 is in an input; the bins are 0 at first."""
    prg = prog("histogram", INT32)
    prg.add_input("x", type=UINT8)
    prg.add_output("bins", shape=(16,))
    op = prg.add_loop("i", 0, 8).add_op("Count")
    op.add_load("bins", "x[i] % 16")
    op.add_function(lambda bin: bin + 1)
    op.add_store("bins", "x[i] % 16")
    return prg.build()


def gather() -> Program:
    """y[i, j] = t[a[b[i]], j] + 1 at rows that a table of a table decides."""
    prg = prog("gather", INT32)
    prg.add_input("b", type=UINT8)
    prg.add_input("a", shape=(8,), type=UINT8)
    prg.add_input("t", shape=(4, 3))
    prg.add_output("y")
    op = prg.add_loop("i", 0, 8).add_loop("j", 0, 3).add_op("Row")
    op.add_load("t", "2 - j", "a[b[i] % 8] % 4")
    op.add_function(lambda word: word + 1)
    op.add_store("y", "j", "i")
    return prg.build()


def passes() -> Program:
    """A permutation that is applied in place, twice: stores and loads of two operations, each waiting for the other."""
    prg = prog("passes", INT16)
    prg.add_input("to", type=UINT8)
    prg.add_input("x")
    prg.add_output("y", shape=(4,))
    prg.add_intermediate("other", shape=(4,))
    first = prg.add_loop("k", 0, 4).add_op("First")
    first.add_load("x", "k")
    first.add_store("y", "k")
    loop = prg.add_loop("p", 0, 2)
    there = loop.add_loop("i", 0, 4).add_op("There")
    there.add_load("y", "i")
    there.add_function(lambda word: word * 3)
    there.add_store("other", "to[i] % 4")
    back = loop.add_loop("j", 0, 4).add_op("Back")
    back.add_load("other", "j")
    back.add_load("y", "to[j] % 4")
    back.add_function(lambda word, old: word - old)
    back.add_store("y", "j")
    return prg.build()


B, A = np.array([1, 9, 2, 2, 7, 0, 255, 4], np.uint8), np.array([3, 6, 1, 0, 250, 2, 9, 3], np.uint8)
T = np.arange(12, dtype=np.int32).reshape(4, 3) * 7
