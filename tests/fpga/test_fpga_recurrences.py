"""Recurrences of the fpga target: a step per cycle where the operators' delays allow it at the clock rate."""

from __future__ import annotations

import numpy as np
import pytest
from amaranth.hdl import Shape
from chained_programs import RECURRENCES, recurrence
from pipeline_emulator import run_design

import compiler
from compiler.bind.fpga.errors import FpgaError
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import load_c, parse_scop
from compiler.ir.interpret import interpret
from hw.integer import integer_latency

START = 5
"""Cycles until the first value is in the recurrence, and from the last one to the output."""


def exact(program, **options):
    design = compiler.compile(program, target="fpga", **options)
    inputs = random_inputs(program, 3)
    for name, values in run_design(design, inputs).items():
        np.testing.assert_array_equal(values, interpret(program, inputs)[name])
    return design


@pytest.mark.parametrize("name", RECURRENCES)
def test_a_step_per_cycle(name):
    design = exact(recurrence(name))
    assert design.choices["initiation interval"] == "1"
    assert design.predicted_cycles <= RECURRENCES[name][1] + START


def test_a_faster_clock_takes_more_cycles_per_step():
    steps = RECURRENCES["iir"][1]
    cycles = [exact(recurrence("iir"), clock_mhz=clock).predicted_cycles for clock in (120, 250, 500)]
    assert cycles[0] <= steps + START < 2 * steps <= cycles[1] <= cycles[2] <= 2 * steps + START


def test_what_is_longer_than_a_period_gets_registers_inside():
    program = parse_scop("""void chain(const int x[16], int y[16]) {
#pragma scop
  int s = 0;
  for (int i = 0; i < 16; i++) {
    s = (((s + x[i]) >> 1) + ((s + 1) >> 3)) - (s >> 2);
    s = ((s + 5) >> 1) + (((s ^ 3) + 7) >> 2);
    y[i] = s;
  }
#pragma endscop
}
""", "chain.c")
    assert exact(program, clock_mhz=60).choices["initiation interval"] == "1"
    assert 2 * 16 <= exact(program).predicted_cycles <= 3 * 16 + START


def test_divisions_take_the_cycles_of_their_steps():
    program = parse_scop("""void quotients(const short x[6], short y[6]) {
#pragma scop
  short s = 100;
  for (int i = 0; i < 6; i++) {
    s = s / x[i] + 50;
    y[i] = s;
  }
#pragma endscop
}
""", "quotients.c")
    for clock_mhz in (60, 120):
        cycles = integer_latency("div", [Shape(16, True)] * 2, clock_mhz)
        assert exact(program, clock_mhz=clock_mhz).choices["initiation interval"].startswith(f"{cycles} for")
    assert cycles == 16


def divisions(count):
    divisors = "".join(f" / (x[i] | {k})" for k in range(1, count + 1))
    return parse_scop(f"""void f(const int x[5], int y[1]) {{
    int s = y[0];
#pragma scop
    for (int i = 0; i < 5; i++)
        s = {"(" * count}s{divisors.replace(" /", ") /")};
    y[0] = s;
#pragma endscop
}}""", "f.c")


def test_recurrences_of_hundreds_of_cycles():
    """Initiation intervals have no end at what is usual; those of thousands are refused with what takes them."""
    design = exact(divisions(9))
    assert 9 * 32 * 5 <= design.predicted_cycles <= 1.5 * 9 * 33 * 5
    with pytest.raises(FpgaError) as caught:
        compiler.compile(divisions(150), target="fpga")
    assert str(caught.value) == (
        "statement 'S0' (f.c:5): its recurrence latency exceeds the distance of its loop-carried dependence, at the "
        "largest initiation interval, too; take target dataflow, whose operators wait for their operands")


def test_other_clock_rates():
    with pytest.raises(FpgaError, match="option clock_mhz is 501, must be 1 to 500"):
        compiler.compile(recurrence("iir"), target="fpga", clock_mhz=501)


def test_what_is_around_a_recurrence_runs_at_its_own_rate():
    """Rows are computed from the last one on, so that the first one waits for all of the input: that comes a word per
    cycle, and not at the rate of the sums. Registers inside of chained operators belong to the outer loop's recurrence,
    which idles for them, in place of more cycles for every term."""
    size = 24
    design = compiler.compile(load_c("apps/polybench/nussinov.c", N=size), target="fpga")
    assert design.schedule.pace.interval == 2 and design.schedule.pace.idle
    assert design.schedule.statements["load_table_in"].span == size * size
    assert design.predicted_start_to_done < 1.2 * (2 * size ** 3 + 2 * size ** 2)


def test_an_inner_recurrence_goes_on_from_the_last_outer_iteration():
    """From one iteration of the inner loop to the next there is no memory, though there is one from the last iteration
    of the loop around."""
    program = parse_scop("""void walk(const int a[8], int y[8]) {
#pragma scop
  int x[8], other[8], s = 1;
  for (int k = 0; k < 8; k++)
    x[k] = a[k];
  for (int p = 0; p < 4; p++) {
    for (int k = 0; k < 8; k++) {
      s = s + (x[7 - k] ^ s >> 3);
      other[k] = s;
    }
    for (int k = 0; k < 8; k++)
      x[k] = other[k];
  }
  for (int k = 0; k < 8; k++)
    y[k] = x[k];
#pragma endscop
}
""", "walk.c")
    design = exact(program)
    assert design.choices["initiation interval"].startswith("1;")
    assert design.predicted_cycles <= 4 * (8 + 4)
