"""Loop nests with accesses at places that elements of arrays decide."""

from __future__ import annotations

import re

import numpy as np
import pytest
from addressed_nests import A, B, T, X, gather, histogram, passes
from c_targets import MODELS

from compiler.frontend.kernel import cast
from compiler.frontend.loop_nest import Prog
from compiler.ir.interpret import interpret
from compiler.ir.program import ProgramError
from compiler.ir.text import parse_program, print_program
from compiler.ir.types import FLOAT32, Int

INT32, UINT8 = Int(32), Int(8, signed=False)


def permuted() -> np.ndarray:
    to, y, other = [int(b) % 4 for b in B[:4]], list(range(10, 14)), [0] * 4
    for _ in range(2):
        for i in range(4):
            other[to[i]] = y[i] * 3
        for j in range(4):
            y[j] = other[j] - y[to[j]]
    return np.array(y, np.int16)


CASES = [
    (histogram, {"x": X}, {"bins": np.bincount(X % 16, minlength=16)}, ("fpga", "dataflow")),
    (gather, {"b": B, "a": A, "t": T}, {"y": T[A[B % 8] % 4][:, ::-1] + 1}, ("fpga", "dataflow", "vector")),
    (passes, {"to": B[:4], "x": np.arange(10, 14, dtype=np.int16)}, {"y": permuted()}, ("dataflow",)),
]


@pytest.mark.parametrize(("build", "inputs", "wanted", "targets"), CASES, ids=["histogram", "gather", "passes"])
def test_results_are_those_of_numpy(build, inputs, wanted, targets):
    program = build()
    assert parse_program(print_program(program)).memories == program.memories
    for target in ("interpreter", *targets):
        run = MODELS.get(target, lambda program, inputs, options: interpret(program, inputs))
        for name, values in run(program, inputs, {}).items():
            np.testing.assert_array_equal(values, wanted[name], err_msg=f"{target}: {name}")


def test_an_index_outside_ends_the_run():
    prg = Prog("f", INT32)
    prg.add_input("x", type=UINT8)
    prg.add_input("t", shape=(10,))
    prg.add_output("y")
    op = prg.add_loop("i", 0, 8).add_op("S")
    op.add_load("t", "x[i] - 1")
    op.add_store("y", "i")
    program = prg.build()
    assert program.memories[0].trap
    with pytest.raises(ProgramError, match="index 76 is outside 't' of 10 elements, at i=1"):
        interpret(program, {"x": X, "t": np.arange(10, dtype=np.int32)})


@pytest.mark.parametrize(("addresses", "message"), [
    (["z[i]"], "access to 't': address 'z[i]' reads 'z', which is no array; there are: x, f, t, u, y"),
    (["f[i]"], "access to 't': address 'f[i]' reads 'f' of float8.23; an index is an integer"),
    (["x[i * i]"], "access to 't': address 'x[i * i]' is not affine: it multiplies two expressions that both"),
    (["x[k]"], "access to 't': address 'x[k]' names 'k', no loop around it and no constant; there are: i"),
    (["x[i] + k"], "access to 't': address 'x[i] + k' names 'k', no loop around it and no constant; there are: i"),
    (["x[i] // i"], "access to 't': address 'x[i] // i' divides by something else than a positive constant"),
    (["x[i]", "0"], "access to 't': it has 1 dimensions and is accessed with 2"),
    (["x[i"], "access to 't': address 'x[i' cannot be read at its end; one coordinate is made of "
     "loops, integers, elements of arrays as t[x], and + - * // %"),
])
def test_addresses_that_are_refused(addresses, message):
    prg = Prog("f", INT32)
    for name, kind in (("x", UINT8), ("f", FLOAT32)):
        prg.add_input(name, shape=(8,), type=kind)
    prg.add_input("t", shape=(10,))
    prg.add_input("u")
    prg.add_output("y")
    op = prg.add_loop("i", 0, 8).add_op("S")
    op.add_load("t", *addresses)
    op.add_store("y", "i")
    place = r"statement 'S' \(.*test_loop_nest_memories.py:\d+\): "
    with pytest.raises(ProgramError, match=place + re.escape(message)):
        prg.build()


def test_memories_have_shapes_and_inputs_are_not_stored_to():
    prg = Prog("f", INT32)
    prg.add_input("x", type=UINT8)
    prg.add_output("y")
    op = prg.add_loop("i", 0, 8).add_op("S")
    op.add_function(lambda: 3)
    op.add_store("y", "x[i]")
    with pytest.raises(ProgramError, match=r"array 'y' \(.*\) is accessed at places that depend on data, and has no "
                                           r"shape; declare it with one, as in add_intermediate\(name, shape="):
        prg.build()
    prg = Prog("f", INT32)
    prg.add_input("x", shape=(8,), type=UINT8)
    prg.add_output("y")
    op = prg.add_loop("i", 0, 8).add_op("S")
    op.add_function(lambda: 3)
    op.add_store("x", "x[i]")
    with pytest.raises(ProgramError, match="access to 'x': 'x' is an input, which nothing stores to"):
        prg.build()


def test_values_of_other_types_are_not_stored():
    prg = Prog("f", INT32)
    prg.add_input("x", type=UINT8)
    prg.add_output("y", shape=(9,))
    op = prg.add_loop("i", 0, 8).add_op("S")
    op.add_load("x", "i")
    op.add_store("y", "x[i] % 9")
    with pytest.raises(ProgramError, match="access to 'y': uint8 is stored to an array of int32"):
        prg.build()
    op.add_function(lambda word: cast(INT32, word))
    wanted = np.zeros(9, np.int32)
    wanted[X % 9] = X
    np.testing.assert_array_equal(interpret(prg.build(), {"x": X})["y"], wanted)
