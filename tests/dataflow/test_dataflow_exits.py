"""Loops that data end: where counters leave out the rest, why not elsewhere, and what random search found wrong."""

from __future__ import annotations

import re

import numpy as np
import pytest
from c_targets import MODELS, require_gcc_results
from inner_exits import GCD_CASES, GCD_OF_ALL
from random_data import function_data

import compiler
from compiler.bind.dataflow.errors import DataflowError
from compiler.frontend.c_scop import load_c, parse_scop
from compiler.ir.program import Program

LONGER_VECTORS = """void f(const unsigned char x[8], const int h[8], int y[8], int r[3])
{
    int a = 2, b = -2, n = -2;
#pragma scop
r[2] = 0;
for (int k = 0; k < 8; k++) y[k] = h[k];
#pragma sluice max_trips(64)
for (int k = 0; k < 64 && (b ^ b) >= 33; k++) {
if (n != 44) break;
if (1) a = (h[(n) & 7] ^ h[(b) & 7]);
a -= ((1) + x[(n) & 7]);
if (1) a -= (y[(b) & 7] - n);
b ^= (x[(n) & 7] + (b ^ a));
n += k;
}
#pragma endscop
}
"""
"""For its recurrence isl's scheduler gives time vectors of more dimensions than the program has."""


def test_schedules_in_more_dimensions_than_the_program_has_are_not_tried() -> None:
    options = {"interleave": 2, "latency": {"sub": 2, "select": 2, "lt": 4}, "reorder": "chip", "clock_mhz": 60}
    require_gcc_results(LONGER_VECTORS, "f", function_data(LONGER_VECTORS, "f", 4), MODELS["dataflow"], options)


def of_body(body: str, parameters: str, after: str) -> Program:
    lines = [f"void f({parameters}) {{", "    int a, b;", "#pragma scop", "a = x[0]; b = 1;", body, after,
             "#pragma endscop", "}"]
    return parse_scop("\n".join(lines), "f.c")


HALVING = "#pragma sluice max_trips(40)\nwhile (a > 1) { a = a - ((a + 7) >> 3); b += 3; }"
ONE = "const int x[1], int y[1]"


def test_a_design_says_between_what_its_ticks_are() -> None:
    design = compiler.compile(of_body(HALVING, ONE, "y[0] = b;"), target="dataflow")
    first, some, late = ({"x": np.array([value], np.int32)} for value in (0, 30, 1000))
    assert design.cycles_for(first) == design.least_cycles < design.cycles_for(some) < design.predicted_cycles
    assert design.cycles_for(late) == design.predicted_cycles
    assert design.start_to_done_for(first) < design.start_to_done_for(late) == design.predicted_start_to_done
    rows = design.summary()
    assert rows["unstalled cycles predicted"] == f"between {design.least_cycles} and {design.predicted_cycles}"
    assert re.fullmatch(r"the loop of statement '\w+' \(f.c:6\), \d+ iterations after its value is zero",
                        str(rows["early exit"]))


def test_an_option_asks_for_all_iterations() -> None:
    design = compiler.compile(of_body(HALVING, ONE, "y[0] = b;"), target="dataflow", exits="maximum")
    assert design.least_cycles == design.predicted_cycles and "early exit" not in design.choices
    with pytest.raises(DataflowError, match="exits is 'late', neither 'early' nor 'maximum'"):
        compiler.compile(of_body(HALVING, ONE, "y[0] = b;"), target="dataflow", exits="late")


REFUSED = {
    "a stream": ("for (int i = 0; i < 40; i++) { if (x[i] == 3) break; b += x[i]; }", "const int x[40], int y[1]",
                 "y[0] = a + b;", "every iteration moves a word of statement 'Read_x' from or to main memory"),
    "what goes on": ("int on = a; for (int i = 0; i < 40; i++) { if (b == 5) on = 0; b = (b + 3) & 7; }",
                     "const int x[1], int y[2]", "y[0] = b; y[1] = on;", "depends on what every iteration computes"),
    "what alternates": ("int on = a, c = 5; for (int i = 0; i < 40; i++) { if (b == 5) on = 0; int d = a; a = b; "
                        "b = d; }", "const int x[1], int y[2]", "y[0] = a + b; y[1] = on;",
                        "depends on what every iteration computes"),
}


@pytest.mark.parametrize(("body", "parameters", "after", "reason"), REFUSED.values(), ids=REFUSED)
def test_a_loop_that_makes_all_iterations_says_why(body: str, parameters: str, after: str, reason: str) -> None:
    design = compiler.compile(of_body(body, parameters, after), target="dataflow")
    assert design.least_cycles == design.predicted_cycles and design.plan.kernel.exit is None
    wanted = rf"statement '\w+' \(f.c:\d+\) says when its loop ends, but .*{reason}"
    assert re.search(wanted, design.choices["early exit"])


def test_a_loop_inside_another_ends_early_each_time() -> None:
    design = compiler.compile(parse_scop(GCD_OF_ALL, "f.c"), target="dataflow")
    first, some, late = ({"x": np.array(x, np.int32)} for x in GCD_CASES)
    assert design.cycles_for(first) == design.least_cycles < design.cycles_for(some) < design.cycles_for(late)
    assert design.cycles_for(late) < design.predicted_cycles
    assert re.fullmatch(r"the loop of statement '\w+' \(f.c:8\), \d+ iterations after its value is zero, 4 times",
                        design.choices["early exit"])


def test_loops_that_take_turns_end_together() -> None:
    design = compiler.compile(load_c("apps/irregular/mandelbrot.c", MOST=12), target="dataflow")
    assert re.search(r"after 3 values are zero, 8 times$", design.choices["early exit"])
    assert design.least_cycles < design.cycles_for({}) < design.predicted_cycles


def test_a_delay_across_a_loop_becomes_a_queue() -> None:
    """What waits for ticks only would come out too late behind a loop that has ended."""
    text = GCD_OF_ALL.replace("(20)", "(5)").replace("a = x[i];", "a = x[i]; int c = 3 * a;")
    program = parse_scop(text.replace("y[i] = b;", "y[i] = b + c;"), "f.c")
    designs = [compiler.compile(program, target="dataflow", exits=exits) for exits in ("early", "maximum")]
    kinds = [[channel.kind for channel in design.plan.kernel.channels] for design in designs]
    assert kinds[0].count("delay") < kinds[1].count("delay")
    assert designs[0].least_cycles < designs[0].predicted_cycles == designs[1].predicted_cycles


def test_programs_without_such_loops_are_as_they_were() -> None:
    program = of_body("for (int i = 0; i < 9; i++) b = b * a + i;", ONE, "y[0] = b;")
    designs = [compiler.compile(program, target="dataflow", exits=exits) for exits in ("early", "maximum")]
    assert designs[0].plan.kernel == designs[1].plan.kernel
    assert designs[0].executable.sources == designs[1].executable.sources
    assert "skip" not in "".join(designs[0].executable.sources.values()) and "early exit" not in designs[0].choices
