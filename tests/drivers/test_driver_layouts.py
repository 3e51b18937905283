"""Arrays as drivers in C lay them out in memory are those that simulations load, whatever a compiler pass has done."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from driver_bench import DriverBench

import compiler
from compiler.bind.cgra.design import CgraDesign
from compiler.bind.cgra.transfers import element_bytes
from compiler.bind.fpga.design import FpgaDesign
from compiler.bind.fpga.memory import bytes_of
from compiler.bind.host_interface import NoDriver
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret


def function(source: str, result: str, body: str) -> str:
    return f"#include <stdint.h>\nvoid f({source}, {result}) {{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"


LOOPS = "for (int i = 0; i < 10; i++) for (int j = 0; j < 10; j++)"
KEPT = function("const uint8_t a[10][12]", "uint8_t y[10][12]",
                "for (int i = 1; i < 9; i++) for (int j = 1; j < 11; j++) y[i][j] = a[i-1][j] + a[i+1][j];")
FLOATS = function("const float a[10][12]", "float y[10][10]", f"{LOOPS} y[i][j] = a[i][j] + 1.5f;")
WIDE = function("const int32_t a[10][12]", "int32_t y[10][10]", f"{LOOPS} y[i][j] = a[i][j + 2] + 70000;")
TRIANGLE = function("const int16_t a[10][10]", "int16_t y[10][10]",
                    "for (int i = 0; i < 10; i++) for (int j = 0; j <= i; j++) y[i][j] = a[i][j] * 3;")
PACKED = function("const int8_t a[10][12]", "int8_t y[10][10]", f"{LOOPS} y[i][j] = a[i][j] + a[i][j + 2];")
EDGES = function("const int16_t a[10][12]", "int16_t y[10][10]",
                 f"{LOOPS} y[i][j] = a[i > 0 ? i - 1 : 0][j] + a[i][j];")
PARTS = function("const int16_t a[12]", "int16_t y[12]",
                 "for (int i = 0; i < 12; i++) { y[i] = a[i]; if (i >= 2) y[i] += a[i - 2]; }")

BANKS = str(Path(__file__).parents[1] / "support" / "small_banks.toml")

CASES = [("fpga", KEPT, {}), ("fpga", FLOATS, {}), ("fpga", PACKED, {"lanes": 4}), ("fpga", EDGES, {}),
         ("fpga", PARTS, {}), ("cgra", WIDE, {"hardware": BANKS}),
         ("cgra", TRIANGLE, {})]


@pytest.mark.parametrize(("target", "text", "options"), CASES)
def test_layouts(target: str, text: str, options: dict[str, Any], tmp_path: Path) -> None:
    """Parts, borders, words of wide elements, wide elements of neighbours, constants, elements that are left alone."""
    design = compiler.compile(parse_scop(text), target=target, **options)
    assert isinstance(design, FpgaDesign | CgraDesign)
    inputs = random_inputs(design.program, 3)
    data = design.parts.split(inputs)
    wanted = interpret(design.parts.program, data)
    layout = design.layout.addresses if isinstance(design, CgraDesign) else design.executable.layout.addresses
    content = (lambda _, values: element_bytes(values)) if isinstance(design, CgraDesign) else bytes_of
    bench = DriverBench(design, tmp_path)
    bench.packed(inputs)
    for array in design.parts.program.inputs:
        expected = content(array, data[array.name])
        assert bench.memory[layout[array.name]:][:len(expected)].tobytes() == expected
    for array in design.parts.program.outputs:
        held = content(array, wanted[array.name])
        bench.memory[layout[array.name]:][:len(held)] = np.frombuffer(held, np.uint8)
    found = bench.unpacked(inputs)
    for name, expected in interpret(design.program, inputs).items():
        np.testing.assert_array_equal(found[name], expected)


def test_elements_of_a_word_and_a_half_have_no_driver() -> None:
    """And the manifest says why."""
    design = compiler.compile(parse_scop(WIDE), target="cgra", hardware=BANKS)
    assert isinstance(design, CgraDesign) and design.parts.words is not None
    halves = replace(design, parts=replace(design.parts, words=replace(design.parts.words, width=12)))
    reason = "array a has elements of 32 bits in two words of 12; make them 24 bits wide"
    with pytest.raises(NoDriver, match=reason):
        _ = halves.host_interface
    assert (halves.drivers, halves.array_metadata) == ({}, {"no driver": reason})
