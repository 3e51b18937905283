"""exp, log, sin and cos in the interpreter: errors against MPFR, special values, and who has them."""

import numpy as np
import pytest

from benchmarks.float_functions import worst
from compiler.ir.expr import result_type
from compiler.ir.float_functions import FUNCTIONS
from compiler.ir.floating import apply_float
from compiler.ir.types import FLOAT32, INT16, ProgramError
from hw.float.spec import Float

INF, NAN = np.inf, np.nan


@pytest.mark.parametrize("op", FUNCTIONS)
@pytest.mark.parametrize(("form", "count"), [(Float(4, 3), 0), (Float(2, 20), 400), (Float(8, 7), 800),
                                             (Float(8, 23), 800), (Float(11, 52), 300)], ids=str)
def test_errors_are_below_six_tenths_of_a_unit(op: str, form: Float, count: int) -> None:
    """`python -m benchmarks.float_functions` looks at all numbers of 16 bits and a million others."""
    error, word, used = worst(form, op, count, seed=7)
    assert used > 200 and error < 0.6, f"{error} at {word:#x}"


@pytest.mark.parametrize(("op", "values", "wanted"), [
    ("exp", (0.0, -0.0, INF, -INF, NAN, 89.0, -104.5, 1e-30), (1, 1, INF, 0, NAN, INF, 0, 1)),
    ("log", (0.0, -0.0, INF, -INF, NAN, -1.0, 1.0), (-INF, -INF, INF, NAN, NAN, NAN, 0)),
    ("sin", (0.0, -0.0, INF, -INF, NAN, 1e-40), (0.0, -0.0, NAN, NAN, NAN, 1e-40)),
    ("cos", (0.0, -0.0, INF, -INF, NAN, 1e-40), (1, 1, NAN, NAN, NAN, 1)),
])
def test_special_values(op: str, values: tuple[float, ...], wanted: tuple[float, ...]) -> None:
    found = apply_float(op, FLOAT32, [np.array(values, np.float32)])
    expected = np.array(wanted, np.float32)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found[~np.isnan(expected)]), np.signbit(expected[~np.isnan(expected)]))


def test_integers_have_no_such_functions() -> None:
    with pytest.raises(ProgramError) as error:
        result_type("exp", [INT16])
    assert str(error.value) == "operation 'exp' on int16: only floating-point numbers have it; cast to one"
