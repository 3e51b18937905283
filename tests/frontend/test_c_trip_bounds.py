"""Loops whose heads depend on data: how many trips their ranges and arrays allow."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from c_targets import gcc_results, inputs_of
from pycparser.c_parser import CParser

from compiler.frontend.c_scop import parse_scop
from compiler.frontend.c_scop.trip_bounds import Span, Trips, most_trips
from compiler.frontend.c_scop.types import promote, usual
from compiler.ir.interpret import interpret
from compiler.ir.memory_bounds import with_bounds
from compiler.ir.types import Int, ProgramError

ENDLESS = 400
"""Trips after which a loop over bytes does not end."""

BYTE, SIGNED, INT, UNSIGNED = Int(8, signed=False), Int(8), Int(32), Int(32, signed=False)
SPANS = [(0, 3), (1, 2), (-3, 1), (250, 255), (5, 9), (120, 127), (0, 0)]
STEPS = {"k += s": lambda k, s: k + s, "k -= s": lambda k, s: k - s, "k >>= s": lambda k, s: k >> s,
         "k *= s": lambda k, s: k * s, "k /= s": lambda k, s: int(k / s), "k <<= s": lambda k, s: k << s}
TESTS = {"<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__, "!=": int.__ne__}


def _bound(step: str, operator: str, kind: Int, first: Span, end: Span, by: Span) -> Trips | None:
    text = f"void f(void) {{ int k; for (k = a; k {operator} e; {step}) {{ t = 1; }} }}"
    [loop] = [item for item in CParser().parse(text).ext[0].body.block_items if hasattr(item, "next")]
    known = {"a": first, "e": end, "s": by}
    return most_trips(loop, "k", kind, lambda node: known[node.name], lambda name: ())


def _trips(step: str, operator: str, kind: Int, value: int, end: int, end_type: Int, by: int) -> int:
    """Trips of a loop as C makes them, `ENDLESS` of one that does not end."""
    common, value = usual(promote(kind), promote(end_type)), kind.wrap(value)
    for trips in range(ENDLESS):
        if not TESTS[operator](common.wrap(value), common.wrap(end)):
            return trips
        value = kind.wrap(INT.wrap(STEPS[step](value, by)))
    return ENDLESS


@pytest.mark.parametrize(("step", "kind"), list(product(STEPS, (BYTE, SIGNED))), ids=str)
def test_no_loop_makes_more_trips(step: str, kind: Int) -> None:
    known = 0
    for operator, first, end, end_type in product(TESTS, SPANS, SPANS, (INT, UNSIGNED)):
        for by in [(1, 1), (2, 3), (1, 4), (0, 1)]:
            if end_type is UNSIGNED and end[0] < 0:
                continue
            found = _bound(step, operator, kind, Span(*first, INT), Span(*end, end_type), Span(*by, INT))
            if found is None or (step == "k /= s" and by[0] == 0):
                continue
            known += 1
            for value, last, s in product(first, end, by):
                assert _trips(step, operator, kind, value, last, end_type, s) <= found.most, (operator, first, end, by)
    assert known > 20


@pytest.mark.parametrize(("head", "most"), [
    ("int k = x[i] & 7; k < 12; k++", 12), ("int k = 0; k < (x[i] & 15); k++", 15), ("int k = x[i] >> 4; k; k--", 15),
    ("uint8_t v = x[i]; v; v >>= 1", 8), ("int v = x[i]; v > 0; v /= 2", 8), ("int k = 1; k <= x[i]; k <<= 1", 8),
    ("int k = i * i; k < 64; k += i + 1", 64), ("int k = i * i; 64 > k; k += i + 2", 32),
    ("int k = 0; k < (x[i] < 9 ? x[i] : 9); k += 2", 5), ("int k = 0; k < T[x[i] & 3]; k++", 12),
    ("int k = 20; k >= (x[i] & 3); k -= (x[i] & 1) + 2", 11), ("unsigned k = 9; k != (x[i] & 7); k--", 9),
    ("int k = 6; k < (x[i] & 15) && i < 12; k += 3", 3),
    ("int k = 0; k < x[i] && k < (x[15 - i] & 31); k++", 31), ("int k = x[i]; k * k < x[15 - i]; k++", 0),
])
def test_ranges_say_how_many(head: str, most: int) -> None:
    text = ("#include <stdint.h>\nstatic const uint8_t T[4] = {3, 9, 12, 1};\n"
            "void f(const uint8_t x[16], int y[16]) {\n"
            f"#pragma scop\nfor (int i = 0; i < 16; i++) {{ int s = 0; for ({head}) s += 3 * i + 1; y[i] = s; }}\n"
            "#pragma endscop\n}\n")
    if not most:
        with pytest.raises(ProgramError, match="or say how many trips the loop makes at most"):
            parse_scop(text)
        return
    program = parse_scop(text)
    data = {"x": np.random.default_rng(most).integers(0, 256, 16).astype(np.uint8), "y": np.zeros(16, np.int32)}
    np.testing.assert_array_equal(interpret(program, inputs_of(program, data))["y"], gcc_results(text, "f", data)["y"])
    inner = max(s.domain.dim_max_val(1).to_python() + 1 for s in program.statements if len(s.iterators) == 2)
    assert inner == most
    assert not program.memories


ROWS = """void f(const int first[9], const int values[24], int y[8]) {
#pragma scop
    for (int i = 0; i < 8; i++) {
        int s = 0;
        for (int k = first[i]; k < first[i + 1]; k++)
            s += values[k];
        y[i] = s;
    }
#pragma endscop
}"""


def test_an_array_says_how_many() -> None:
    """A trip that takes no element of it is an error."""
    program = parse_scop(ROWS, "f.c")
    data = {"first": np.array([0, 0, 24, 24, 24, 24, 24, 24, 24], np.int32), "values": np.arange(24, dtype=np.int32),
            "y": np.zeros(8, np.int32)}
    assert interpret(program, inputs_of(program, data))["y"].tolist() == gcc_results(ROWS, "f", data)["y"].tolist()
    for first in (-1, 3):
        outside = {**data, "first": np.array([first, 28, *[28] * 7], np.int32)}
        with pytest.raises(ProgramError, match=r"index (-1|24) is outside 'values' of 24 elements"):
            interpret(program, inputs_of(program, outside))


def test_elements_do_not_say_how_many_where_indices_wrap() -> None:
    with pytest.raises(ProgramError, match=r"\(f.c:5\): with indices that wrap around, the loop may make more "
                                           r"trips than the array has elements; say .* max_trips\(N\) before it"):
        with_bounds(parse_scop(ROWS, "f.c"), "wrap")
    stated = ROWS.replace("        for (int k = first", "#pragma sluice max_trips(30)\n        for (int k = first")
    data = {"first": np.array([20, 27, *[27] * 7], np.int32), "values": np.arange(24, dtype=np.int32)}
    wrapped = with_bounds(parse_scop(stated, "f.c"), "wrap")
    assert interpret(wrapped, data)["y"].tolist() == [20 + 21 + 22 + 23 + 0 + 1 + 2, *[0] * 7]


def test_conditions_that_are_no_lines() -> None:
    text = ("void f(int y[64]) {\n#pragma scop\nfor (int i = 0; i < 64; i++) y[i] = i > 1;\n"
            "for (int i = 2; i * i < 64; i++) if (y[i]) for (int j = i * i; j < 64; j += i) y[j] = 0;\n"
            "for (int i = 0; 1 << i <= 32; i += 2) y[i] += 5;\n#pragma endscop\n}")
    program = parse_scop(text)
    data = {"y": np.zeros(64, np.int32)}
    np.testing.assert_array_equal(interpret(program, {})["y"], gcc_results(text, "f", data)["y"])


def test_a_step_by_what_is_in_an_array_unrolls_nothing() -> None:
    text = ("void f(const unsigned char x[16], int y[16]) {\n#pragma scop\nfor (int i = 0; i < 16; i++)\n"
            "for (int k = x[i] & 3; k < 9; k += (x[i] & 1) + 1) y[i] += k;\n#pragma endscop\n}")
    assert len(parse_scop(text).statements) < 12
