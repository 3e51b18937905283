"""Designs in one line, as a prompt shows them."""

from pathlib import Path

import pytest

import compiler
from compiler.frontend.c_scop import parse_scop

PRODUCT = """
void product(int A[4][4], int B[4][4], int C[4][4]) {
  for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) {
    C[i][j] = 0;
    for (int k = 0; k < 4; k++) C[i][j] += A[i][k] * B[k][j];
  }
}"""


@pytest.mark.parametrize("target", ["cgra", "dataflow", "fpga", "systolic", "vector"])
def test_a_design_says_what_it_is_and_what_it_takes(target: str) -> None:
    program = parse_scop(PRODUCT, "product.c", Path(), "product")
    design = compiler.compile(program, target=target)
    kind = type(design).__name__
    assert repr(design) == f"<{kind} of product: {design.predicted_start_to_done} cycles from start to done>"
