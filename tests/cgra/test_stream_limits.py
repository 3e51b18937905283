"""Arrays that an array of tiles cannot take are refused before anything is placed, in time that does not grow."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import compiler
from compiler.frontend.apps import load
from compiler.frontend.c_scop import load_c
from compiler.ir.program import Program
from hw.errors import SluiceError

KERNELS = Path(__file__).parents[2] / "apps" / "polybench"


def refusal(program: Program) -> tuple[str, float]:
    """The message, and the processor seconds that it took."""
    start = time.process_time()
    with pytest.raises(SluiceError) as caught:
        compiler.compile(program, target="cgra", array="16x32")
    return str(caught.value), time.process_time() - start


@pytest.mark.parametrize("size", [256, 4096])
def test_operands_of_a_product_larger_than_the_buffer(size):
    message, seconds = refusal(load_c(KERNELS / "gemm.c", NI=size, NJ=size, NK=size))
    assert message == (f"array B: a tile of {size * size} words does not fit the global buffer's 32768 words per half; "
                       "add tile loops around all statements")
    assert seconds < 10


def test_pictures_of_more_words_than_a_bank_counts_are_taken_in_tiles():
    start = time.process_time()
    design = compiler.compile(load("conv_3_3", width=4096, height=4096), target="cgra", array="16x32")
    assert time.process_time() - start < 20
    assert 4096 ** 2 <= design.predicted_start_to_done <= 1.1 * design.lower_bound
