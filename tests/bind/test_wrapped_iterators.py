"""Values of iterators that do not fit the type which an expression takes them in: they wrap, on every target."""

from __future__ import annotations

import numpy as np
import pytest
from c_targets import MODELS

from compiler.ir.interpret import interpret
from compiler.ir.text import parse_program

PROGRAM = parse_program('''
program "wrapped" {
  input a : int16[3, 6]
  output o : int16[3, 6]
  statement s(i, j) {
    domain "{ s[i, j] : 0 <= i <= 2 and 0 <= j <= 5 }"
    read a "{ s[i, j] -> a[i, j] }"
    write o "{ s[i, j] -> o[i, j] }"
    value add(#0:int16, cast(mul($j:int3, $j:int3):int3):int16):int16
  }
  order "{ s[i, j] -> [0, i, 0, j, 0] }"
}
''')


@pytest.mark.parametrize("target", MODELS)
def test_iterators_wrap_to_their_type(target: str) -> None:
    inputs = {"a": np.arange(18, dtype=np.int16).reshape(3, 6) * 100}
    wanted = interpret(PROGRAM, inputs)["o"]
    assert wanted[0].tolist() == [0, 101, 196, 301, 400, 501]
    np.testing.assert_array_equal(MODELS[target](PROGRAM, inputs, {})["o"], wanted)
