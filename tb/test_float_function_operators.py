"""exp, log, sin and cos of floating-point numbers on both simulators: the bits of the interpreter, as operators and in
programs of the targets that have them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from float_batch import Batch, run_batches

import compiler
from compiler.frontend.c_scop import parse_scop
from compiler.ir.float_functions import FUNCTIONS
from compiler.ir.floating import same
from compiler.ir.interpret import interpret
from hw.float import Float, FloatSpec
from hw.sim.simulate import StallProfile

FORMATS = {"small": Float(4, 3), "float32": Float(8, 23)}
LATENCIES = {"exp": 24, "log": 9, "sin": 32, "cos": 1}
DEPTH = 256

PROGRAM = """
#include <math.h>
void functions(const float x[8], float y[8], _Float16 z[8]) {
#pragma scop
  for (int i = 0; i < 8; i++) {
    y[i] = expf(-x[i]) + logf(x[i]) * sinf(x[7 - i]);
    z[i] = (_Float16)cosf(y[i]);
  }
#pragma endscop
}
"""


def words(form: Float) -> np.ndarray:
    """All words of a small format; of a larger one special values, any, and those with exponents around one."""
    if form.width <= 8:
        return np.arange(DEPTH, dtype=np.uint64)
    generator = np.random.default_rng(1)
    drawn = generator.integers(0, 1 << form.width, DEPTH, np.uint64)
    near = generator.integers(form.bias - form.mantissa, form.bias + 8, DEPTH).astype(np.uint64)
    field = np.uint64(((1 << form.exponent) - 1) << form.mantissa)
    drawn[::2] = (drawn & ~field | near << np.uint64(form.mantissa))[::2]
    special = [0, 1, form.infinity, form.nan, form.infinity - 1, 1 << form.mantissa]
    drawn[: 2 * len(special)] = [sign << form.width - 1 | word for word in special for sign in (0, 1)]
    return drawn


def test_operators_compute_the_bits_of_the_interpreter(simulator: str, tmp_path: Path) -> None:
    batches = [Batch({op: FloatSpec(op, form, LATENCIES[op]) for op in FUNCTIONS}, (words(form),))
               for form in FORMATS.values()]
    for form, batch, found in zip(FORMATS.values(), batches, run_batches(batches, simulator, tmp_path, DEPTH),
                                  strict=True):
        for op, results in found.items():
            wanted = [FUNCTIONS[op](form, int(word)) for word in batch.operands[0]]
            np.testing.assert_array_equal(results, np.array(wanted, np.uint64), err_msg=f"{op} {form}")


@pytest.mark.parametrize("target", ["fpga", "dataflow"])
def test_programs_compute_the_bits_of_the_interpreter(target: str) -> None:
    design: Any = compiler.compile(parse_scop(PROGRAM), target=target)
    inputs = {"x": np.array([0.5, 1.0, 2.75, 20.0, 1e-3, np.inf, 1e-40, 3.14159], np.float32)}
    run = design.simulate(inputs, "icarus", seed=3, stall=StallProfile.uniform(0.2))
    for name, values in interpret(design.program, inputs).items():
        assert same(run.outputs[name], values), name
    assert run.cycles == design.predicted_cycles
