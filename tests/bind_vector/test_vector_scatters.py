"""Stores of C at places that depend on data, on the lanes: what the interpreter gives, equal addresses included."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.bind.vector.gathers import with_gathers
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from compiler.ir.program import Program

BODIES = {
    "a histogram": "for (int i = 0; i < 10; i++) y[i] = 0; for (int i = 0; i < 12; i++) y[k[i] & 7]++;",
    "under a condition": "for (int i = 0; i < 12; i++) if (x[i] > 0) y[k[i] & 7] = x[i];",
    "in two loops": "for (int i = 0; i < 3; i++) for (int j = 0; j < 4; j++) s[(k[4 * i + j] + i) & 3] = x[4 * i + j];",
    "backwards": "for (int i = 11; i >= 0; i--) y[k[i] & 3] = x[i];",
    "a difference of narrow words": "for (int i = 0; i < 12; i++) if (x[i] & 1) s[k[i] & 3] -= x[i];",
    "a maximum": "for (int i = 0; i < 12; i++) if (y[k[i] & 7] < x[i]) y[k[i] & 7] = x[i];",
    "a minimum": "for (int i = 0; i < 12; i++) y[k[i] & 7] = x[i] <= y[k[i] & 7] ? x[i] : y[k[i] & 7];",
    "another function of the word": "for (int i = 0; i < 5; i++) y[k[i] & 7] = y[k[i] & 7] * 3 ^ x[i];",
    "two that meet": "for (int i = 0; i < 4; i++) { y[k[i] & 7] = x[i]; y[k[i + 1] & 3] += 5; }",
    "an index that was stored": "for (int i = 0; i < 6; i++) s[n[i] & 3] = i; "
                                "for (int i = 0; i < 12; i++) y[s[k[i] & 3] & 7] += x[i];",
    "one store": "for (int i = 0; i < 4; i++) y[k[i] & 7] = i; y[0] += x[0]; y[k[0] & 7] = x[1];",
    "affine places beside": "for (int i = 0; i < 3; i++) { y[i + 2] = n[i]; y[k[i] & 7] += y[x[i] & 7]; }",
}


def program_of(body: str) -> Program:
    return parse_scop(f"""typedef unsigned char byte;
void f(const int x[12], const byte k[12], const byte n[6], int y[10], short s[6]) {{
#pragma scop
    {body}
#pragma endscop
}}""", "f.c")


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_stores_are_those_of_the_program(body):
    program, random = program_of(body), np.random.default_rng(4)
    design = compiler.compile(program, target="vector")
    for most in (256, 3):
        given = {"x": random.integers(-(1 << 31), 1 << 31, 12).astype(np.int32), "k": random.integers(0, most, 12),
                 "n": random.integers(0, most, 6), "y_in": random.integers(-9, 9, 10).astype(np.int32),
                 "s_in": random.integers(-9, 9, 6)}
        inputs = {array.name: given[array.name].astype(array.type.dtype) for array in program.inputs}
        found = design.execute(inputs)
        for array, values in interpret(program, inputs).items():
            np.testing.assert_array_equal(found[array], values, err_msg=array)


@pytest.mark.parametrize(("name", "steps"), [("a histogram", 1), ("a maximum", 1), ("under a condition", 2)])
def test_words_are_reduced_over_all_iterations(name, steps):
    """Not stored iteration by iteration: a place, terms, and per word a reduction; the last of several by one per part
    of its key, here two for 32 bits."""
    program = with_gathers(program_of(BODIES[name]))
    words = [s for s in program.statements if s.iterators[-1] == "word" and len(s.iterators) > 1]
    assert len(words) == steps
    for statement in words:
        assert getattr(statement.value, "op", "") in ("add", "max")
