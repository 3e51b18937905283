"""A design in a system of LiteX, whose processor runs the C driver and compares the results; needs LiteX."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from litex_bench import run_on_litex

import compiler
from compiler.cli.input_files import random_inputs
from compiler.frontend.apps import load
from compiler.ir.interpret import interpret

PROGRAM = """#include "gaussian.h"
static const uint16_t input[6][8] = @INPUT@, expected[4][6] = @EXPECTED@;
static uint16_t output[4][6];
int main(void)
{
  struct gaussian_device device = {.registers = (void *)REGISTERS, .memory = (void *)MEMORY, .bus_address = MEMORY,
                                   .polls = 10000};
  int code = gaussian_load(&device);
  if (!code)
    code = gaussian_run(&device, input, output);
  if (code)
    return 0x20000 | (code & 0xFF);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 6; j++)
      if (output[i][j] != expected[i][j])
        return 0x30000 | i << 8 | j;
  return 0x10000 | (int)gaussian_cycles(&device);
}
"""


def in_c(array: np.ndarray) -> str:
    return str(array.tolist()).replace("[", "{").replace("]", "}")


@pytest.mark.parametrize("bus_bits", [32, 64])
def test_driver_on_the_processor_of_a_soc(bus_bits: int, tmp_path: Path) -> None:
    """The bus of the SoC has 32 bits; LiteX adapts the other width."""
    pytest.importorskip("litex")
    design = compiler.compile(load("gaussian", width=8, height=6), target="fpga", bus_bits=bus_bits)
    inputs = random_inputs(design.program, 1)
    expected = interpret(design.program, inputs)["output"]
    program = PROGRAM.replace("@INPUT@", in_c(inputs["input"])).replace("@EXPECTED@", in_c(expected))
    folder = design.emit(tmp_path / "design")
    (tmp_path / "run").mkdir()
    code, _ = run_on_litex(folder, design.host_interface.name, program, tmp_path / "run", 200_000)
    assert code >> 16 == 1, f"the program ended with {code:#x}"
    assert code & 0xFFFF >= design.predicted_start_to_done
