"""Loops with a stated maximum of trips: what finds out that one makes more."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from compiler.ir.memory_bounds import with_bounds
from compiler.ir.program import Program
from compiler.ir.text import parse_program, print_program
from compiler.ir.types import ProgramError
from compiler.ir.verify import verify

BODIES = {
    "a while loop": "while (a > 0) { a -= 3; n++; }",
    "a for loop": "for (int k = a; k > 0; k -= 3) n++;",
    "a loop that also ends inside": "while (a > 0) { if (a == 100) break; a -= 3; n++; }",
}


def counting(body: str) -> Program:
    """y[i]: trips of the loop, at most 3, for x[i]."""
    return parse_scop(f"""void f(const int x[4], int y[4]) {{
#pragma scop
    for (int i = 0; i < 4; i++) {{
        int a = x[i], n = 0;
#pragma sluice max_trips(3)
        {body}
        y[i] = n;
    }}
#pragma endscop
}}""", "f.c")


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_one_trip_too_many_is_an_error(body):
    program = counting(body)
    fine = np.array([9, 0, 4, 7], np.int32)
    assert interpret(program, {"x": fine})["y"].tolist() == [3, 0, 2, 3]
    for place in (0, 3):
        more = fine.copy()
        more[place] = 10
        with pytest.raises(ProgramError, match=r"statement '\w+' \(f.c:6\): the loop makes more than max_trips\(3\) "
                                               rf"trips, at i={place}"):
            interpret(program, {"x": more})


def test_a_stated_maximum_counts_in_blocks_and_in_functions():
    """A block that is no loop's body, and one that a call leaves behind."""
    inside = "#pragma sluice max_trips(9)\nwhile (b) { unsigned t = a % b; a = b; b = t; }"
    program = parse_scop(f"""
static unsigned gcd(unsigned a, unsigned b) {{
    {inside}
    return a;
}}
void f(const unsigned x[4], const unsigned y[4], unsigned g[4], unsigned h[4]) {{
    for (int i = 0; i < 4; i++) {{
        g[i] = gcd(x[i], y[i]);
        {{ unsigned a = x[i], b = y[i];
           {inside}
           h[i] = a; }}
    }}
}}""")
    data = {"x": np.array([12, 35, 64, 7], np.uint32), "y": np.array([18, 21, 48, 0], np.uint32)}
    found = interpret(program, data)
    assert found["g"].tolist() == found["h"].tolist() == np.gcd(data["x"], data["y"]).tolist()


def test_a_break_keeps_the_condition():
    """The condition still holds where the loop was left, which is no error."""
    assert interpret(counting(BODIES["a loop that also ends inside"]),
                     {"x": np.array([100, 103, 106, 3], np.int32)})["y"].tolist() == [0, 1, 2, 1]


def test_text_keeps_what_is_asserted():
    program = counting(BODIES["a while loop"])
    assert [m.assertion for m in program.memories] == ["the loop makes more than max_trips(3) trips"]
    verify(program)
    assert parse_program(print_program(program)) == program


def test_nothing_is_asserted_where_it_is_taken_for_granted():
    program = with_bounds(counting(BODIES["a while loop"]), "assume")
    verify(program)
    assert not program.memories
    assert interpret(program, {"x": np.array([10, 0, 4, 7], np.int32)})["y"].tolist() == [3, 0, 2, 3]


@pytest.mark.parametrize("target", ["cgra", "vector"])
def test_targets_that_cannot_end_a_run_take_it_for_granted(target):
    assert compiler.compile(counting(BODIES["a while loop"]), target=target).predicted_cycles > 0
