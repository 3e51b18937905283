"""Programs of parallel arrays on the targets that take loop nests, on both simulators with stalls: numpy's results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import compiler
from compiler.frontend import parallel_array as pa
from hw.sim.simulate import StallProfile

STALLS = StallProfile.uniform(0.2)
RANDOM = np.random.default_rng(12)


def several_stages() -> pa.ArrayProgram:
    """Borders, a reduction, sums up to each element, a table that is an input, and a result made of parts."""
    image = pa.input("image", (6, 8), "uint8")
    curve = pa.input("curve", 64, "int16")
    wide = pa.shift(image, (1, 0), pa.CLAMP).astype("int16") + image - pa.shift(image, (0, 2), pa.default(9))
    looked = curve[abs(wide).clip(0, 63).astype("uint8")]
    rows = looked.sum(axis=1)
    return pa.program("several_stages", looked=looked, sums=np.cumsum(rows), quotients=rows // (rows[::-1] | 1),
                      best=np.argmax(rows), mixed=pa.interleave([wide.T[0], wide.T[1]]))


def softmax() -> pa.ArrayProgram:
    """Maxima, exponentials, sums and quotients of float."""
    x = pa.input("x", (3, 4), "float32")
    powers = np.exp(x - x.max(axis=1)[:, None])
    return pa.program("softmax", y=powers / powers.sum(axis=1)[:, None])


def filtered() -> pa.ArrayProgram:
    """Neighbours in a row, a border, and 16-bit arithmetic."""
    image = pa.input("image", (4, 12), "uint8")
    result = image.astype("uint16")
    result[:, 1:-1] = (image[:, :-2].astype("uint16") + image[:, 1:-1] * 2 + image[:, 2:]) >> 2
    return pa.program("filtered", result=result.astype("uint8"))


def product() -> pa.ArrayProgram:
    """A product of matrices."""
    a, b = pa.input("a", (4, 6), "int8"), pa.input("b", (6, 5), "int8")
    return pa.program("product", c=a.astype("int32") @ b.astype("int32"))


@pytest.mark.parametrize(("build", "target"), [
    (several_stages, "fpga"), (several_stages, "dataflow"), (softmax, "fpga"),
    (filtered, "cgra"), (product, "systolic")])
def test_results_are_those_of_numpy(build: Callable[[], pa.ArrayProgram], target: str) -> None:
    program = build()
    design: Any = compiler.compile(program, target=target, **({"array": "8x4"} if target == "cgra" else {}))
    for simulator in ("icarus", "verilator"):
        inputs = program.random_inputs(RANDOM)
        wanted = program.reference(inputs)
        run = design.simulate(inputs, simulator, stall=STALLS)
        for name, values in wanted.items():
            np.testing.assert_array_equal(run.outputs[name].reshape(values.shape), values)
        assert run.cycles >= design.lower_bound


def test_evaluate_takes_every_target() -> None:
    x = pa.input("x", (3, 4), "int16")
    data = RANDOM.integers(-99, 99, (3, 4)).astype(np.int16)
    found = compiler.evaluate({"any": (x > 90).any(), "sums": x.sum(axis=0)}, {"x": data}, target="dataflow")
    assert found["any"].shape == () and found["any"].dtype == np.bool_ and found["any"] == (data > 90).any()
    assert (found["sums"] == data.sum(axis=0)).all() and found["sums"].dtype == np.int32
