"""Decompositions in right-looking order: the loop over the terms of sums outside, quotients of a step side by side."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import load_c, parse_scop
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.passes import directives as transform
from compiler.passes.directives.place import places
from compiler.passes.directives.right_looking import right_looking_script


def kernel(name: str, size: int = 6) -> Program:
    return load_c(f"apps/polybench/{name}.c", N=size)


def require_same(program: Program, other: Program) -> None:
    inputs = random_inputs(program, 2)
    wanted = interpret(program, inputs)
    for name, values in interpret(other, inputs).items():
        np.testing.assert_array_equal(values, wanted[name], err_msg=name)


@pytest.mark.parametrize("name", ["lu", "cholesky", "ludcmp"])
def test_decompositions_keep_their_results(name: str) -> None:
    program = kernel(name)
    script = right_looking_script(program)
    assert script == "right_looking(S0)"
    require_same(program, transform.apply_script(program, script))


def test_quotients_of_a_step_come_before_its_products() -> None:
    found = transform.right_looking(kernel("lu"), "S0")
    assert [s.name for s in found.statements if s.name.startswith("S")] == ["S0", "S1", "S2"]  # both updates are one
    where = places(found)
    assert where["S2"].positions < where["S0"].positions
    assert [where["S0"].iterator(depth) for depth in range(3)] == [2, 0, 1]
    assert [where["S2"].iterator(depth) for depth in range(2)] == [1, 0]


@pytest.mark.parametrize("name", ["gemver", "trisolv", "durbin", "gramschmidt", "nussinov"])
def test_others_have_no_such_order_or_need_none(name: str) -> None:
    assert right_looking_script(load_c(f"apps/polybench/{name}.c")) == ""


def test_sums_alone_need_none() -> None:
    assert right_looking_script(load_c("apps/polybench/gemm.c")) == ""


REFUSED = """void f(int A[6][6], const int b[6]) {
#pragma scop
  for (int i = 1; i < 6; i++) {
    for (int j = 0; j < 6; j++)
      A[i][j] = A[i - 1][5 - j] + A[i][0];
    A[i][0] = A[i][5] / b[i] + A[i - 1][1];
  }
  for (int i = 0; i < 6; i++)
    A[0][i] = 0;
#pragma endscop
}
"""


def test_what_is_refused_says_why() -> None:
    program = parse_scop(REFUSED, "f.c")
    assert right_looking_script(program) == ""
    with pytest.raises(transform.TransformError) as error:
        transform.right_looking(program, "S0")
    assert str(error.value) == ("statement 'S0' (f.c:5): its nest has no right-looking order that keeps the result; "
                                "name a statement of another nest, or leave the directive out")
    with pytest.raises(transform.TransformError) as error:
        transform.right_looking(program, "S2")
    assert str(error.value) == ("statement 'S2' (f.c:9): right-looking order takes nests of up to 10 statements in "
                                "different numbers of loops, each of which walks an iterator; use reorder for other "
                                "nests")


def test_pipelines_choose_it() -> None:
    chosen, asked = (compiler.compile(kernel("lu", 8), target="fpga", loops=loops) for loops in ("auto", "asked"))
    assert chosen.choices["loops moved"] == "right_looking(S0)"
    assert chosen.predicted_start_to_done < 0.7 * asked.predicted_start_to_done
