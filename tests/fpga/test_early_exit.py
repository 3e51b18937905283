"""Loops that end when the data say so, as pipelines: emulated runs give what all iterations would, in the cycles that
are predicted for their data."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import numpy as np
import pytest
from inner_exits import GCD_CASES, GCD_OF_ALL
from irregular_programs import case_of, design_of
from pipeline_emulator import count_cycles, run_design
from random_exits import exit_data, exit_function

import compiler
from compiler.attempts import record_attempts
from compiler.bind.fpga.design import FpgaDesign
from compiler.bind.fpga.errors import FpgaError
from compiler.frontend.c_scop import load_c, parse_scop
from compiler.ir.interpret import interpret, statement_values
from compiler.ir.program import Program


def of_body(body: str, parameters: str, before: str = "", after: str = "") -> Program:
    lines = [f"void f({parameters}) {{", "    int a, b;", "#pragma scop", before, body, after, "#pragma endscop", "}"]
    return parse_scop("\n".join(lines), "f.c")


HALVING = of_body("#pragma sluice max_trips(40)\nwhile (a > 1) { a = a - ((a + 7) >> 3); b += 3; }",
                  "const int x[1], int y[1]", "a = x[0]; b = 0;", "y[0] = b;")


@pytest.fixture(scope="module")
def halving():
    return compiler.compile(HALVING, target="fpga")


@pytest.mark.parametrize("first", [0, 1, 2, 9, 50, 150])
def test_a_run_takes_the_cycles_of_its_data(halving, first: int) -> None:
    inputs = {"x": np.array([first], np.int32)}
    assert run_design(halving, inputs)["y"] == interpret(HALVING, inputs)["y"]
    assert count_cycles(halving, inputs) == halving.cycles_for(inputs)
    assert halving.least_cycles <= halving.cycles_for(inputs) <= halving.predicted_cycles


def test_both_ends_are_reached(halving) -> None:
    at_once, late = ({"x": np.array([first], np.int32)} for first in (0, 400))
    assert halving.cycles_for(at_once) == halving.least_cycles < halving.predicted_cycles
    assert halving.start_to_done_for(at_once) < halving.predicted_start_to_done
    assert halving.cycles_for(late) == halving.predicted_cycles
    assert halving.start_to_done_for(late) == halving.predicted_start_to_done


def test_a_design_says_between_what_its_cycles_are(halving) -> None:
    rows = halving.summary()
    assert rows["unstalled cycles predicted"] == f"between {halving.least_cycles} and {halving.predicted_cycles}"
    wanted = r"the loop of statement '\w+' \(f.c:6\), \d+ cycles after its value is zero"
    assert re.fullmatch(wanted, str(rows["early exit"]))
    at_once = halving.start_to_done_for({"x": np.array([0], np.int32)})
    assert at_once == halving.least_start_to_done
    assert rows["start to done predicted (model)"] == f"between {at_once} and {halving.predicted_start_to_done}"


def test_an_option_asks_for_all_iterations() -> None:
    design = compiler.compile(HALVING, target="fpga", exits="maximum")
    assert design.least_cycles == design.predicted_cycles and "early exit" not in design.choices
    with pytest.raises(FpgaError, match="option exits is 'late', must be one of early, maximum"):
        compiler.compile(HALVING, target="fpga", exits="late")


MIXED, ONES = ((np.resize([1, 2, 1, 3], 16), np.r_[0, 0, 1, 0, 1:13]), (np.r_[[1] * 15, 2], np.r_[0:15, 0]))
"""Patterns of 16 symbols, each with where they could begin again."""


def test_a_first_value_counts_in_the_first_iteration_alone() -> None:
    """What starts the loop is anything in its other iterations, which nothing takes: no reason to make all of them."""
    design = compiler.compile(load_c("apps/irregular/kmp.c", N=8, P=16), target="fpga")
    assert isinstance(design, FpgaDesign) and design.schedule.pace.idle
    assert re.search("8 times$", design.choices["early exit"])
    took = set()
    for (pattern, failure), text in ((MIXED, [1, 2, 1, 3, 1, 2, 1, 2]), (ONES, [1] * 7 + [3]), (ONES, [2] * 8)):
        given = {"pattern": pattern.astype(np.int8), "failure": failure.astype(np.int32),
                 "text": np.array(text, np.int8)}
        took.add(design.cycles_for(given))
        assert run_design(design, given)["matches"] == interpret(design.program, given)["matches"]
        assert count_cycles(design, given) == design.cycles_for(given)
    assert min(took) == design.least_cycles < max(took) < design.predicted_cycles


def test_of_designs_the_one_with_the_smallest_mean_is_taken() -> None:
    """Here it is not that of the fewest cycles at most; the record says between what the cycles of each are."""
    points = load_c("apps/irregular/mandelbrot.c", H=2, W=4, MOST=12)
    with record_attempts() as record:
        design = compiler.compile(points, target="fpga", loops="asked")
    found = [re.fullmatch(r"(?:between (\d+) and )?(\d+) cycles", one.outcome) for one in record]
    spans = [(int(one[1] or one[2]), int(one[2])) for one in found if one]
    assert min(spans, key=sum) == (design.least_start_to_done, design.predicted_start_to_done)
    assert design.predicted_start_to_done > min(most for _, most in spans)
    assert design.expected_start_to_done == sum(min(spans, key=sum)) // 2


def test_a_search_takes_its_steps() -> None:
    """Matching a pattern, a comparison per step: results of gcc, cycles as many as the data say."""
    design = design_of("kmp_steps")
    inputs, wanted = case_of("kmp_steps", 3)
    assert run_design(design, inputs)["matches"] == wanted["matches"]
    assert count_cycles(design, inputs) == design.cycles_for(inputs) < design.predicted_cycles


@pytest.fixture(scope="module")
def inner():
    return compiler.compile(parse_scop(GCD_OF_ALL, "f.c"), target="fpga")


@pytest.mark.parametrize("x", GCD_CASES)
def test_a_loop_inside_another_ends_early_each_time(inner, x: tuple[int, ...]) -> None:
    inputs = {"x": np.array(x, np.int32)}
    np.testing.assert_array_equal(run_design(inner, inputs)["y"], interpret(inner.program, inputs)["y"])
    assert count_cycles(inner, inputs) == inner.cycles_for(inputs)
    assert (inner.cycles_for(inputs) == inner.least_cycles) == (len(set(x)) == 1)
    assert re.fullmatch(r"the loop of statement '\w+' \(f.c:8\), \d+ cycles after its value is zero, 4 times",
                        inner.choices["early exit"])


def test_loops_that_take_turns_end_together() -> None:
    """Points of a row, none of which is in the set."""
    path = "apps/irregular/mandelbrot.c"
    text = Path(path).read_text().replace("x - W / 2 - W / 6", "x + 2").replace("#define MOST 32", "#define MOST 24")
    program = parse_scop(text, "f.c")
    design = compiler.compile(program, target="fpga")
    np.testing.assert_array_equal(run_design(design, {})["count"], interpret(program, {})["count"])
    assert design.least_cycles <= count_cycles(design, {}) == design.cycles_for({}) < design.predicted_cycles
    assert re.search(r"after 6 values are zero, 4 times$", design.choices["early exit"])


REFUSED = {
    "a stream": ("for (int i = 0; i < 40; i++) { if (x[i] == 3) break; b += x[i]; }", "const int x[40], int y[1]",
                 "every iteration moves a word of 'x' from or to main memory"),
    "a short loop": ("#pragma sluice max_trips(3)\nwhile (a > 1) a = a - ((a + 7) >> 3);", "const int x[1], int y[1]",
                     "there are other statements in the same cycles, or loops inside it|take . iterations to settle"),
    "what goes on": ("int on = x[0]; for (int i = 0; i < 40; i++) { if (b == 5) on = 0; b = (b + 3) & 7; }\ny[1] = on;",
                     "const int x[1], int y[2]", r"statement '\w+' \(f.c:\d+\) depends on what statement '\w+' "),
    "what alternates": ("int on = x[0], c = 5; for (int i = 0; i < 40; i++) { if (b == 5) on = 0; "
                        "int d = a; a = b; b = d; }\ny[1] = on;",
                        "const int x[1], int y[2]", r"statement '\w+' \(f.c:\d+\) depends on what statement '\w+' "),
}


@pytest.mark.parametrize(("body", "parameters", "reason"), REFUSED.values(), ids=REFUSED)
def test_a_loop_that_makes_all_iterations_says_why(body: str, parameters: str, reason: str) -> None:
    program = of_body(body, parameters, "a = x[0]; b = 1;", "y[0] = a + b;")
    design = compiler.compile(program, target="fpga")
    assert design.least_cycles == design.predicted_cycles
    wanted = rf"statement '\w+' \(f.c:\d+\) says when its loop ends, but ({reason})"
    assert re.search(wanted, design.choices["early exit"])


@pytest.mark.parametrize("seed", [19])
def test_random_loops(seed: int) -> None:
    program = parse_scop(exit_function(Random(seed), "f"), "f.c")
    design = compiler.compile(program, target="fpga")
    for given in range(2):
        data = exit_data(given)
        inputs = {array.name: data[array.name.removesuffix("_in")] for array in program.inputs}
        outputs = run_design(design, inputs)
        for name, wanted in interpret(program, inputs).items():
            np.testing.assert_array_equal(outputs[name], wanted)
        assert count_cycles(design, inputs) == design.cycles_for(inputs)


def test_values_of_one_statement() -> None:
    inputs = {"x": np.array([9], np.int32)}
    [name] = [statement.name for statement in HALVING.statements if statement.write.array == "y"]
    assert statement_values(HALVING, inputs, name).tolist() == interpret(HALVING, inputs)["y"].tolist()


def test_loops_of_nothing_but_zeros() -> None:
    """Their word stays what it is, as that of a loop that has ended does; nothing is inside of the loop."""
    program = of_body("for (int i = 0; i < 7; i++) for (int j = 0; j < 3; j++) a ^= 0;\n"
                      "for (int i = 0; i < 3; i++) for (int j = 0; j < 3; j++) a -= a;", "const int x[1], int y[1]",
                      "a = x[0];", "y[0] += a;")
    inputs = {"x": np.array([5], np.int32), "y_in": np.array([3], np.int32)}
    design = compiler.compile(program, target="fpga")
    assert run_design(design, inputs)["y"] == interpret(program, inputs)["y"] == [3]
