"""Sums of products: every way to write one becomes the same reduction, and what is read across rows is loaded so."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from compiled import check, compile_and_check
from random_arrays import random_inputs

import compiler
from compiler.bind.vector.build import GraphBuilder
from compiler.bind.vector.contractions import ContractionPass
from compiler.bind.vector.graph import Reduce, nodes_of
from compiler.bind.vector.ir import Instruction, Transfer, unrolled
from compiler.bind.vector.translate import translate
from compiler.frontend import parallel_array as pa
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret

N = 12
A, B = (pa.input(name, (N, N), "int8") for name in "ab")


def outer_products() -> pa.Array:
    """What a loop over numpy's slices builds."""
    total = A[:, :1] * B[:1]
    for k in range(1, N):
        total = total + A[:, k:k + 1] * B[k:k + 1]
    return total


FORMS: dict[str, Callable[[], pa.Array]] = {
    "matmul": lambda: A @ B, "loop": outer_products,
    "last": lambda: (A[:, None, :] * B.T[None]).sum(axis=2, dtype="int8"),
    "middle": lambda: (A[:, :, None] * B[None]).sum(axis=1, dtype="int8"),
    "first": lambda: (A.T[:, :, None] * B[:, None, :]).sum(axis=0, dtype="int8"),
}

C = """void mm(const int8_t a[12][12], const int8_t b[12][12], int8_t out[12][12])
{
#pragma scop
  for (int i = 0; i < 12; i++)
    for (int j = 0; j < 12; j++)
      out[i][j] = 0;
  for (int k = 0; k < 12; k++)
    for (int i = 0; i < 12; i++)
      for (int j = 0; j < 12; j++)
        out[i][j] += a[i][k] * b[k][j];
#pragma endscop
}
"""


def cycles_of(form: str, lanes: int) -> int:
    program = pa.program("product", out=FORMS[form]())
    return compile_and_check(program, random_inputs(program, np.random.default_rng(2)), lanes=lanes).predicted_cycles


@pytest.mark.parametrize("form", list(FORMS))
def test_forms_of_a_product_cost_the_same(form: str) -> None:
    """In C with the sum's loop outermost, too."""
    program = parse_scop(C)
    design = compiler.compile(program, target="vector", lanes=1, search=False)
    inputs = {name: np.arange(144, dtype=np.int8).reshape(12, 12) * (3 + i) for i, name in enumerate("ab")}
    np.testing.assert_array_equal(design.execute(inputs)["out"], interpret(program, inputs)["out"])
    assert cycles_of(form, 1) == design.predicted_cycles


def test_the_dma_engine_transposes() -> None:
    """Every lane works on products alone; columns come an element a row, and rest of a part of an array as well."""
    program = pa.program("product", out=FORMS["matmul"]())
    design = compile_and_check(program, random_inputs(program, np.random.default_rng(2)), lanes=1)
    instructions = [s for s in unrolled(design.code.body) if isinstance(s, Instruction)]
    assert {s.mode.op.name for s in instructions} == {"VMUL"}
    assert any(isinstance(s, Transfer) and s.bytes == 1 and s.rows == N for s in unrolled(design.code.body))
    assert design.ideal_cycles == N * N * N // 4


@pytest.mark.parametrize("axes", [(1, 2, 0), (2, 0, 1), (0, 2, 1)])
def test_dimensions_in_any_order(axes: tuple[int, ...]) -> None:
    x, w = pa.input("x", (4, 6, 5), "int16"), pa.input("w", (5,), "int16")
    turned = x.transpose(*axes)
    program = pa.program("turned", out=(turned[1:] * w[:turned.shape[-1]] if turned.shape[-1] <= 5 else turned[1:])
                         .sum(axis=-1, dtype="int32"))
    compile_and_check(program, random_inputs(program, np.random.default_rng(3)), lanes=2)


def reductions(value: pa.Array) -> list[tuple[int, ...]]:
    """Extents of the reductions that a sum becomes, which computes what numpy does."""
    program = pa.program("sum", out=value)
    graph = ContractionPass(translate(program, GraphBuilder()), GraphBuilder()).run()
    design = compiler.compile(program, target="vector", lanes=2, search=False)
    check(design, random_inputs(program, np.random.default_rng(4)))
    return [n.extents for n in nodes_of([r.node for r in graph.results]) if isinstance(n, Reduce)]


X, H = pa.input("x", 40, "int16"), pa.input("h", 9, "int16")


def total(terms: list[pa.Array]) -> pa.Array:
    return sum(terms[1:], start=terms[0])


@pytest.mark.parametrize(("terms", "expected"), [
    ([X[k:k + 30] * H[k] for k in range(9)], [(9,)]),
    ([X[k:k + 30] * H[8 - k] for k in range(9)], [(9,)]),
    ([X[k:k + 30] for k in range(8)], [(8,)]),
    ([X[2 * k:2 * k + 20] * 3 for k in range(5)], [(5,)]),
    ([X[k:k + 30] * H[k] for k in (0, 1, 2, 3, 5)], []),
    ([X[k:k + 30] * H[k] for k in range(3)], []),
    ([X[k:k + 30] * (k + 2) for k in range(6)], []),
    ([*(X[k:k + 30] * H[k] for k in range(6)), X[7:37] >> 1], [(6,)]),
    ([pa.abs_difference(X[k:k + 30], H[k]) * H[k + 1] for k in range(8)], [(8,)]),
    ([X[k:k + 30] * H[k] for k in (4, 0, 2, 1, 3)], [(5,)]),
    ([X[3:33] * 1] * 5, []),
])
def test_terms_that_step_evenly(terms: list[pa.Array], expected: list[tuple[int, ...]]) -> None:
    """Their order and what else is added do not matter; a gap, few terms and numbers that differ do."""
    assert reductions(total(terms)) == expected


def test_parts_of_sums_that_are_used() -> None:
    """A part of a sum that is a result of its own is computed once."""
    terms = [X[k:k + 30] * H[k] for k in range(8)]
    half = total(terms[:4])
    program = pa.program("parts", half=half, out=half + total(terms[4:]) + half)
    compile_and_check(program, random_inputs(program, np.random.default_rng(5)), lanes=1)


def test_sums_wrap_in_their_type() -> None:
    narrow = pa.input("narrow", (6, 30), "uint8")
    program = pa.program("wraps", out=total([narrow[k] * narrow[5 - k] for k in range(6)]) >> 1,
                         wide=total([narrow[k].astype("int32") * 255 for k in range(6)]))
    compile_and_check(program, random_inputs(program, np.random.default_rng(6)), lanes=1)
