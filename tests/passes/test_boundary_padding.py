"""What programs do at edges: zeros or copies of elements around inputs, and what must not be filled."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import islpy as isl
import numpy as np
import pytest
from pipeline_emulator import run_design

import compiler
from compiler.bind.cgra.design import CgraDesign
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.passes.arrays.partition import Partition
from compiler.passes.normalize.boundary_padding import pad_domains
from compiler.passes.normalize.domain_padding import PaddedProgram
from compiler.sched.verify import ValidationError, check_parts

INSIDE = "i + u >= 1 && i + u <= 6 && j + v >= 1 && j + v <= 7"
TERM = "x[i + u - 1][j + v - 1]"
BODIES = {
    "a condition around the sum": f"if ({INSIDE}) y[i][j] += {TERM} * w[u][v];",
    "a condition inside": f"y[i][j] += ({INSIDE} ? {TERM} : 0) * w[u][v];",
    "constant weights": f"if ({INSIDE}) y[i][j] += {TERM} * k[u][v];",
    "a maximum": f"if ({INSIDE}) y[i][j] = {TERM} > y[i][j] ? {TERM} : y[i][j];",
}


def layer(body: str, element: str = "uint8_t", result: str = "uint16_t") -> Program:
    """A window of 3 x 3 on an image of 6 x 7."""
    return parse_scop(f"""#include <stdint.h>
static const int8_t k[3][3] = {{{{1, -2, 1}}, {{2, 4, 2}}, {{1, 2, 3}}}};
void layer(const {element} x[6][7], const int8_t w[3][3], {result} y[6][7]) {{
#pragma scop
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 7; j++) {{
      y[i][j] = 0;
      for (int u = 0; u < 3; u++)
        for (int v = 0; v < 3; v++)
          {body}
    }}
#pragma endscop
}}
""", "layer.c")


@cache
def grown() -> PaddedProgram:
    growth = pad_domains(layer(BODIES["a condition inside"]))
    assert growth is not None
    return growth


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("types", [("uint8_t", "uint16_t"), ("uint8_t", "uint32_t")])
def test_zeros_around_an_input(body: str, types: tuple[str, str]) -> None:
    """The same results, in hardly more cycles than instances, whatever the width of the sums."""
    program = layer(BODIES[body], *types)
    growth = pad_domains(program)
    assert growth is not None and growth.front("x") == (1, 1)
    assert growth.after.array("x").shape == (8, 9)
    inputs = random_inputs(program, 1)
    parts = Partition(growth.after, growth.after, (), growth=growth)
    check_parts(parts)
    expected = interpret(program, inputs)
    outputs = parts.join(interpret(growth.after, parts.split(inputs)), inputs)
    np.testing.assert_array_equal(outputs["y"], expected["y"])
    design = compiler.compile(program, target="fpga")
    np.testing.assert_array_equal(run_design(design, inputs)["y"], expected["y"])


@pytest.mark.parametrize("memory", ["dual-port", "buffet"])
def test_padded_sums_have_their_time(memory: str) -> None:
    """Loops move inside as they do around sums on boxes."""
    design = compiler.compile(layer(BODIES["a condition around the sum"]), memory=memory, array="8x4")
    assert isinstance(design, CgraDesign)
    assert design.lower_bound == 6 * 7 * 9
    assert design.predicted_cycles <= design.lower_bound + 70


@pytest.mark.parametrize("body", [
    "if (i + u >= 2 && i + u <= 6) y[i][j] += x[i + u - 1][j] * w[u][v];",
    f"if ({INSIDE}) y[i][j] += {TERM} * w[u][v] + 1;",
    f"if ({INSIDE}) y[i][j] = {TERM} < y[i][j] ? {TERM} : y[i][j];",
    f"if ({INSIDE}) y[i][j] = {TERM};",
])
def test_what_zeros_would_change(body: str) -> None:
    """An element is left out that is there; a term remains; a minimum is not that of what is inside. Such statements
    stand behind guards, with their results."""
    program = layer(body)
    growth = pad_domains(program)
    assert growth is not None and "S1" in growth.guarded
    inputs = random_inputs(program, 4)
    parts = Partition(growth.after, growth.after, (), growth=growth)
    check_parts(parts)
    outputs = parts.join(interpret(growth.after, parts.split(inputs)), inputs)
    np.testing.assert_array_equal(outputs["y"], interpret(program, inputs)["y"])


CLAMPED = "x[i + u < 1 ? 0 : i + u > 6 ? 5 : i + u - 1][j + v < 1 ? 0 : j + v > 7 ? 6 : j + v - 1]"


@pytest.mark.parametrize("body", [f"y[i][j] += {CLAMPED} * w[u][v];",
                                  f"y[i][j] = {CLAMPED} > y[i][j] ? {CLAMPED} : y[i][j];"])
def test_copies_of_elements_at_edges(body: str) -> None:
    """Reads that stop at the edge of an image go on into copies, so that their addresses are a loop nest."""
    program = layer(body)
    growth = pad_domains(program)
    assert growth is not None and (growth.edges, growth.front("x")) == ({"x"}, (1, 1))
    assert growth.after.array("x").shape == (8, 9)
    inputs = random_inputs(program, 2)
    design = compiler.compile(program, target="fpga")
    expected = interpret(program, inputs)
    np.testing.assert_array_equal(run_design(design, inputs)["y"], expected["y"])
    assert compiler.compile(program, memory="dual-port", array="8x4").predicted_cycles <= 6 * 7 * 9 + 70
    zeros = replace(growth, edges=frozenset())
    with pytest.raises(ValidationError, match="its access to 'x' is another one on the whole box"):
        check_parts(Partition(growth.after, growth.after, (), growth=zeros))


def test_zeros_and_copies_do_not_go_together() -> None:
    """An input that one statement reads with a border of zeros and another one with one of copies gets neither."""
    program = layer(f"y[i][j] += (({INSIDE}) ? {TERM} : 0) * w[u][v] + {CLAMPED};")
    growth = pad_domains(program)
    assert growth is not None and not growth.edges and "S1" in growth.guarded
    check_parts(Partition(growth.after, growth.after, (), growth=growth))


def filled_by_force(program: Program) -> PaddedProgram:
    """All of the window's instances, whatever they change."""
    start, add = program.statements
    box = isl.Set("{ S1[i, j, u, v] : 0 <= i <= 5 and 0 <= j <= 6 and 0 <= u <= 2 and 0 <= v <= 2 }")
    return PaddedProgram(program, replace(program, statements=(start, replace(add, domain=box))))


def test_damage_is_found() -> None:
    growth = grown()
    less = replace(growth.after, statements=growth.after.statements[:1])
    small = replace(growth.after, arrays=growth.before.arrays)
    for damaged, message in [
        (replace(growth, fronts={"x": (0, 1)}), "its access to 'x' is another one on the whole box"),
        (replace(growth, fronts={**growth.fronts, "y": (1, 1)}), "its access to 'y' is another one on the whole box"),
        (replace(growth, after=less), "have other statements or another order"),
        (replace(growth, after=small), "array 'x' of the whole boxes is not 'x'"),
        (filled_by_force(layer("if (i != 3) y[i][j] += x[i][j];")),
         "writes elements of 'y' on its whole box that the program uses"),
    ]:
        with pytest.raises(ValidationError, match=message):
            check_parts(Partition(damaged.after, damaged.after, (), growth=damaged))
