"""Inputs without dimensions: one number each, on the lanes and as loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from c_targets import MODELS

import compiler
from compiler.frontend import parallel_array as pa
from compiler.frontend.loop_nest import prog
from compiler.frontend.parallel_array.lowering import loop_nests
from compiler.ir.interpret import interpret

DATA = {"x": np.arange(-10, 10, dtype=np.int16).reshape(4, 5), "t": np.arange(8, dtype=np.int16) ** 2,
        "gain": np.array(7, np.int16), "offset": np.array(-3, np.int16)}

FORMULAS: dict[str, Callable[..., Any]] = {
    "scaled": lambda x, gain, offset: x * gain + offset, "alone": lambda gain, offset: gain * offset - offset,
    "chosen": lambda x, gain: np.where(gain > 3, x, -x), "looked up": lambda t, gain: t[gain & 7] + 0,
    "of a sum": lambda x, gain: x.sum(dtype="int16") * gain, "the same": lambda gain: gain,
    "broadcast": lambda gain: np.broadcast_to(gain, (3, 4)) + np.arange(4, dtype=np.int16),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_formula_equals_numpy_s(name: str) -> None:
    formula = FORMULAS[name]
    names = formula.__code__.co_varnames[: formula.__code__.co_argcount]
    data = {name: DATA[name] for name in names}
    wanted = np.asarray(formula(*data.values()))
    expression = formula(*(pa.input(name, values.shape, values.dtype) for name, values in data.items()))
    np.testing.assert_array_equal(pa.evaluate(expression, data), wanted)
    np.testing.assert_array_equal(compiler.evaluate(expression, data, lanes=2, search=False), wanted)
    program = loop_nests(pa.program("p", y=expression))
    np.testing.assert_array_equal(interpret(program, data)["y"].reshape(wanted.shape), wanted)


def test_vector_takes_a_number_of_a_loop_nest() -> None:
    nest = prog("scale", type="int16")
    nest.add_input("x", shape=(6,))
    nest.add_input("gain", shape=())
    nest.add_output("y")
    op = nest.add_loop("i", 0, 6).add_op("Scale")
    op.add_load("x", "i")
    op.add_load("gain")
    op.add_function(lambda x, gain: x * gain)
    op.add_store("y", "i")
    program, data = nest.build(), {"x": np.arange(6), "gain": np.array(-5)}
    found = MODELS["vector"](program, data, {"lanes": 2})["y"]
    np.testing.assert_array_equal(found, -5 * np.arange(6))
    np.testing.assert_array_equal(interpret(program, data)["y"], found)
