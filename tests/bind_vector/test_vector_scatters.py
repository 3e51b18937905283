"""Stores of C at places that depend on data, on the lanes: what the interpreter gives, equal addresses included."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.bind.vector import from_program
from compiler.bind.vector.design import VectorDesign
from compiler.bind.vector.errors import VectorTargetError
from compiler.bind.vector.gathers import with_gathers
from compiler.bind.vector.ir import Instruction, unrolled
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from hw.vector_lanes.isa import Mode, Op

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
    "a sum that is narrowed": "for (int i = 0; i < 12; i++) y[k[i] & 3] = (signed char)(y[k[i] & 3] + x[i]);",
    "a sum of one word that is narrowed": "for (int i = 0; i < 12; i++) y[0] = (signed char)(y[0] + x[i]);",
    "a triangle": "for (int i = 0; i < 3; i++) for (int j = i; j < 4; j++) y[k[4 * i + j] & 7] = x[i + j];",
    "one store": "for (int i = 0; i < 4; i++) y[k[i] & 7] = i; y[0] += x[0]; y[k[0] & 7] = x[1];",
    "a sum of three elements": "for (int i = 0; i < 3; i++) y[k[i] & 7] += x[i];",
    "a sum of five elements": "for (int i = 0; i < 5; i++) y[k[i] & 7] += x[i];",
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


@pytest.mark.parametrize(("name", "steps"), [("a maximum", 1), ("a minimum", 1)])
def test_words_are_reduced_over_all_iterations(name, steps):
    """Not stored iteration by iteration: a place, terms, and per word a reduction."""
    program = with_gathers(program_of(BODIES[name]))
    words = [s for s in program.statements if s.iterators[-1] == "word" and len(s.iterators) > 1]
    assert len(words) == steps
    for statement in words:
        assert getattr(statement.value, "op", "") in ("min", "max")


def scatters_of(design: VectorDesign) -> list[Mode]:
    return [s.mode for s in unrolled(design.code.body) if isinstance(s, Instruction) and s.mode.op is Op.VSCATTER]


@pytest.mark.parametrize(("name", "adds"), [("a histogram", True), ("a difference of narrow words", True),
                                            ("under a condition", False), ("in two loops", False),
                                            ("an index that was stored", True)])
def test_the_lanes_scatter(name, adds):
    """Sums in any order, other stores in the order of the iterators."""
    modes = scatters_of(compiler.compile(program_of(BODIES[name]), target="vector"))
    assert modes and modes[-1].accumulate == adds


ORDERED = {"y[k[i] & 7] = y[k[i] & 7] * 3 ^ x[i];": "S1", "y[k[i] & 7] = x[i]; y[x[i] & 3] = i;": "S0"}


@pytest.mark.parametrize("body", ORDERED)
def test_a_long_loop_whose_order_matters_is_refused(body):
    program = parse_scop(f"""void f(const unsigned char k[200], const int x[200], int y[10]) {{
#pragma scop
    for (int i = 0; i < 200; i++) {{ {body} }}
#pragma endscop
}}""", "f.c")
    wanted = (rf"statement '{ORDERED[body]}' \(f.c:3\) stores to 'y' at places that depend on data, 200 times in a loop"
              r".*Make it a sum \('y\[\.\.\.\] \+= \.\.\.'\), .* or take --target fpga or dataflow")
    with pytest.raises(VectorTargetError, match=wanted):
        compiler.compile(program, target="vector")


def test_many_elements_are_scattered_in_parts(monkeypatch):
    """Of as many as fit the scratchpad; each part keeps the order of those before."""
    monkeypatch.setattr(from_program, "SCATTERED", 20)
    test_stores_are_those_of_the_program(BODIES["under a condition"])


HISTOGRAM = """void f(const unsigned char x[1000], int y[256]) {
#pragma scop
    for (int b = 0; b < 256; b++) y[b] = 0;
    for (int i = 0; i < 1000; i++) y[x[i]]++;
#pragma endscop
}"""


@pytest.fixture(scope="module")
def histogram() -> VectorDesign:
    return compiler.compile(parse_scop(HISTOGRAM, "f.c"), target="vector", lanes=8)


@pytest.mark.parametrize("data", [np.full(1000, 77), np.arange(1000) % 2,
                                  np.random.default_rng(1).integers(0, 256, 1000)],
                         ids=["equal", "alternating", "random"])
def test_a_histogram_is_added_up_in_copies(histogram, data):
    """One byte per cycle, whatever the data: bytes of one value go to several copies in turn."""
    x = data.astype(np.uint8)
    np.testing.assert_array_equal(histogram.execute({"x": x})["y"], np.bincount(x, minlength=256))
    counts = [mode for mode in scatters_of(histogram) if mode.accumulate]
    assert counts and all(mode.dimensions == 2 for mode in counts[:1])
    assert histogram.predicted_cycles < 1000 + 1000
