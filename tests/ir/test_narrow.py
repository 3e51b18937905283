"""Narrowing changes no value: random expressions and programs before and after, and what it should achieve."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_programs import programs

from compiler.cli.input_files import random_inputs
from compiler.frontend import kernel
from compiler.frontend.c_scop import parse_scop
from compiler.ir import expr
from compiler.ir import narrow as narrowing
from compiler.ir.evaluate import evaluate, storage
from compiler.ir.expr import Apply, Cast, Const, Expr, Iterator, Lookup, Read, fold, postorder
from compiler.ir.interpret import interpret
from compiler.ir.narrow import narrow, narrow_value
from compiler.ir.program import Program, Table
from compiler.ir.ranges import Range, value_range
from compiler.ir.types import BIT, Int
from compiler.ir.verify import verify
from hw.ops import DIVISIONS, EVERY_OPERATION, OPERATIONS, Kind

TYPES = tuple(Int(width, signed) for width in (8, 16, 32, 64) for signed in (True, False))
TABLE = Table("curve", tuple((k * 37 + 11) % 1000 - 300 for k in range(256)), Int(16))
ITERATORS = {"i": (-3, 200), "j": (0, 70000)}


def _cast(node: Expr, type: Int) -> Expr:
    return node if node.type == type else Cast(node, type)


@st.composite
def expressions(draw: st.DrawFn) -> tuple[Expr, list[Int], list[Range]]:
    """An expression with sharing, the types of its reads, and the ranges that the words read are promised to have."""
    types = draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=3))
    ranges = [draw(_ranges(type)) for type in types]
    nodes: list[Expr] = [Read(number, type) for number, type in enumerate(types)]
    nodes += [Iterator("i", Int(32)), Iterator("j", draw(st.sampled_from(TYPES)))]
    bits: list[Expr] = [Const(1, BIT)]
    for _ in range(draw(st.integers(1, 9))):
        node = _step(draw, nodes, bits)
        (bits if node.type == BIT else nodes).append(node)
    return _cast(nodes[-1], draw(st.sampled_from(TYPES))), types, ranges


@st.composite
def _ranges(draw: st.DrawFn, type: Int) -> Range:
    ends = st.one_of(st.sampled_from([type.minimum, type.maximum, 0, 1]), st.integers(type.minimum, type.maximum),
                     st.integers(max(type.minimum, -300), min(type.maximum, 300)))
    low, high = sorted((draw(ends), draw(ends)))
    return low, high


def _step(draw: st.DrawFn, nodes: list[Expr], bits: list[Expr]) -> Expr:
    type = draw(st.sampled_from((Int(32), Int(32), Int(32, False), *TYPES)))

    def word() -> Expr:
        if draw(st.integers(0, 3)) == 0:
            return Const(type.wrap(draw(st.one_of(st.integers(-20, 20), st.integers(-(2**33), 2**33)))), type)
        return _cast(nodes[-1 - draw(st.integers(0, len(nodes) - 1))], type)

    op = draw(st.sampled_from([*OPERATIONS, *DIVISIONS, "cast", "cast", "lookup"]))
    if op == "cast":
        return _cast(draw(st.sampled_from([*nodes, *bits])), type)
    if op == "lookup":
        return Lookup("curve", expr.apply("and", word(), Const(type.wrap(127), type)), TABLE.type)
    table = [Const(draw(st.integers(0, 255)), expr.LUT3_TABLE)] if op == "lut3" else []
    operands = [word() if kind is Kind.WORD else draw(st.sampled_from(bits)) for kind in EVERY_OPERATION[op].operands]
    return expr.apply(op, *table, *operands)


def _words(generator: np.random.Generator, type: Int, range: Range, count: int) -> np.ndarray:
    """Random values in `range`, among them its ends and the numbers around zero."""
    low, high = range
    special = [value for value in (low, high, low + 1, high - 1, -1, 0, 1, 255, 256) if low <= value <= high]
    picked = [int(generator.integers(0, 2**62)) % (high - low + 1) + low for _ in np.arange(count - len(special))]
    return np.array(special + picked, dtype=object).astype(storage(type))[generator.permutation(count)]


@settings(max_examples=300, deadline=None)
@given(expressions(), st.integers(0, 2**32 - 1))
def test_random_expressions_keep_their_values(case: tuple[Expr, list[Int], list[Range]], seed: int) -> None:
    value, types, ranges = case
    tables = {"curve": (min(TABLE.values), max(TABLE.values))}
    narrowed = narrow_value(value, ranges, ITERATORS, tables)
    assert narrowed.type == value.type
    generator = np.random.default_rng(seed)
    data = [_words(generator, type, range, 60) for type, range in zip(types, ranges, strict=True)]
    iterators = {name: _words(generator, Int(32), range, 60).astype(np.int64) for name, range in ITERATORS.items()}
    results = [
        np.broadcast_to(evaluate(node, lambda number: data[number], iterators, {"curve": TABLE}), 60)
        for node in (value, narrowed)
    ]
    np.testing.assert_array_equal(results[1], results[0])
    low, high = fold(value, lambda node, args: value_range(node, args, ranges, ITERATORS, tables))
    assert all(low <= word <= high for word in results[0])


@settings(max_examples=15, deadline=None)
@given(programs(largest=8), st.integers(0, 1000))
def test_random_programs_keep_their_outputs(program: Program, seed: int) -> None:
    narrowed = narrow(program)
    verify(narrowed)
    inputs = random_inputs(program, seed)
    before, after = interpret(program, inputs), interpret(narrowed, inputs)
    for name in before:
        np.testing.assert_array_equal(after[name], before[name])


def _widths(program: Program) -> set[int]:
    """Widths of all operations and intermediates."""
    nodes = [node for s in program.statements for node in postorder(s.value) if isinstance(node, Apply)]
    types = [arg.type for node in nodes if node.op != "lut3" for arg in node.args]
    types += [a.type for a in program.arrays if a.role == "intermediate"]
    return {type.width for type in types if isinstance(type, Int) and type != BIT}


KERNEL = """
#include <stdint.h>
void f(const uint8_t b[9], const uint16_t u[9], const int16_t s[9], uint16_t out[9]) {
#pragma scop
  for (int i = 0; i < 9; i++) { BODY }
#pragma endscop
}
"""


@pytest.mark.parametrize(
    ("body", "widths"),
    [
        ("out[i] = u[i] * s[i] + (u[i] << 3) - (s[i] ^ 77);", {16}),  # only low bits are used
        ("out[i] = (b[i] * 100 + b[8 - i] * 157) >> 8;", {16}),  # the sum fits 16 bits
        ("out[i] = (b[i] * 100 + b[8 - i] * 158) >> 8;", {32}),  # the sum does not fit
        ("out[i] = (uint16_t)(u[i] + u[8 - i]) >> 1;", {16}),  # cut before the shift
        ("out[i] = (u[i] + u[8 - i]) >> 1;", {32}),  # 17 bits
        ("out[i] = u[i] > 1000 ? u[i] : 3;", {16}),
        ("out[i] = u[i] > s[i];", {32}),  # no 16-bit type holds both
        ("out[i] = u[i] / 16 + u[i] % 16;", {16}),
        ("out[i] = (b[i] + b[8 - i] + b[3] + 4) / 9 + b[i] % 7;", {16}),
        ("out[i] = u[i] / 3 + s[i] % 10;", {16}),
        ("out[i] = (u[i] + u[8 - i]) / 3;", {32}),
        ("int t = 0; for (int k = 0; k < 9; k++) t += b[k]; out[i] = t / 9;", {16}),  # at most 9 * 255
        ("int t = 5; for (int k = 0; k < 9; k++) t -= 14 * b[k]; out[i] = t >> 1;", {16}),
        ("int t = 5; for (int k = 0; k < 9; k++) t -= 15 * b[k]; out[i] = t >> 1;", {32}),
        ("int t = 0; for (int k = 0; k < 9; k++) if (s[k] > 3) t += b[k] - b[8 - k]; out[i] = t % 10;", {16}),
        ("int t = 0; for (int k = 0; k < i; k++) t = b[k] * 4 + t; out[i] = t / 5;", {16}),
        ("int t = 1; for (int k = 0; k < 9; k++) t = t * 2 + b[k]; out[i] = t >> 1;", {32}),  # no sum
        ("int t = 0, r = 0; for (int k = 0; k < 9; k++) { t += b[k]; r += t; } out[i] = r >> 2;", {16}),
        ("int t = 0, r = 1; for (int k = 0; k < 9; k++) { t += r; r += t; } out[i] = r >> 2;", {32}),
        ("int t = b[i] - b[8 - i]; out[i] = t < 0 ? -t : t;", {16}),  # the temporary is narrowed too
        ("int t = u[i] * u[8 - i]; out[i] = t + 1;", {16}),  # nobody uses its high bits
        ("out[i] = s[i] > s[8 - i] ? s[i] - s[8 - i] : s[8 - i] - s[i];", {16}),  # nor those of a distance
        ("out[i] = (s[i] > u[i] ? s[i] - u[i] : u[i] - s[i]);", {32}),
        ("int t = u[i] * u[8 - i]; out[i] = t >> 1;", {32}),
        ("int t = 0; for (int k = 0; k < 9; k++) t += u[k] * s[i]; out[i] = t;", {16}),  # a sum of unknown length
        ("long t = b[i]; out[i] = (t << 7) / 2;", {16}),
    ],
)
def test_operations_get_as_narrow_as_they_can(body: str, widths: set[int]) -> None:
    assert _widths(parse_scop(KERNEL.replace("BODY", body))) == widths


def test_decided_conditions_and_neutral_operands_disappear() -> None:
    read = kernel.Typed(Read(0, Int(8, False)))
    wide = kernel.cast(Int(32), read)
    value = kernel.select(wide >= 0, (wide + 0) * 1, wide - 7)
    assert narrow_value(value.expr, [(0, 255)], {}, {}) == Cast(Read(0, Int(8, False)), Int(32))
    clamped = kernel.minimum(kernel.maximum(wide, 0), 255)
    assert not any(isinstance(node, Apply) for node in postorder(narrow_value(clamped.expr, [(0, 255)], {}, {})))


def test_expressions_that_are_too_deep_stay() -> None:
    value: Expr = Read(0, Int(32))
    for _ in range(20000):
        value = Apply("add", (value, Read(1, Int(32))), Int(32))
    assert narrow_value(value, [(0, 1), (0, 1)], {}, {}) is value


TERMS = ("b[k]", "3 * b[k]", "s[k]", "u[k]", "(b[k] - b[8 - k])", "b[k] * b[i]", "(s[k] >> 4)", "100", "k", "r / 7")
SUMS = """
#include <stdint.h>
void f(const uint8_t b[9], const uint16_t u[9], const int16_t s[9], int32_t out[9]) {
#pragma scop
  for (int i = 0; i < 9; i++) {
    int t = START, r = 2;
    for (int k = FIRST; k < 9; k++) { r += OTHER; t = t SIGN TERM SIGN2 TERM2; if (s[k] > 0) t += MORE; }
    out[i] = t / 9 + (t >> 2) + r % 5;
  }
#pragma endscop
}
"""


def test_divisors_that_no_dividend_reaches() -> None:
    program = parse_scop(KERNEL.replace("BODY", "out[i] = (u[i] & 59998) % 60000 + (u[i] & 40000) / 40001;"))
    inputs = random_inputs(program, 1) | {"u": np.full(9, 65535, np.uint16)}
    assert (interpret(program, inputs)["out"] == 59998).all()


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_random_sums_keep_their_values(data: st.DataObject) -> None:
    """Among words at the ends of their ranges, which make sums as large as they can be."""
    choices = {"SIGN2": ("+", "-"), "SIGN": ("+", "-"), "TERM2": TERMS, "TERM": TERMS, "MORE": TERMS,
               "OTHER": TERMS[:-1], "START": ("0", "-7"), "FIRST": ("0", "i")}
    text = SUMS
    for place, among in choices.items():
        text = text.replace(place, data.draw(st.sampled_from(among)))
    wide, slim = parse_scop(text, narrowed=False), parse_scop(text)
    for low in (True, False):
        inputs = {a.name: np.full(a.shape, a.type.minimum if low else a.type.maximum, a.type.dtype)
                  for a in wide.inputs if isinstance(a.type, Int)}
        for values in (inputs, random_inputs(wide, data.draw(st.integers(0, 99)))):
            np.testing.assert_array_equal(interpret(slim, values)["out"], interpret(wide, values)["out"])


def test_long_chains_of_scalars_are_looked_at_a_few_times_each(monkeypatch):
    """In a chain of which the last value is needed in full, every scalar is found to be wide by the one after it."""
    looked: list[str] = []
    original = narrowing._uses_low
    monkeypatch.setattr(narrowing, "_uses_low", lambda s, name, wide: looked.append(name) or original(s, name, wide))
    steps = "".join(f"s = s * 3 + {k};\n" for k in range(60))
    parse_scop(f"void f(const int a[8], int y[8]) {{\n#pragma scop\nfor (int i = 0; i < 8; i++) {{\nint s = a[i];\n"
               f"{steps}y[i] = s >> 16;\n}}\n#pragma endscop\n}}\n")
    assert len(set(looked)) == 61
    assert len(looked) < 4 * 61


def test_masks_and_clamps_in_recurrences_bound_what_is_carried() -> None:
    """A search by halves: what the bounds of the place that is looked at become is known only after the mask."""
    program = parse_scop("""
void search(const short keys[32], const short wanted[4], int found[4]) {
#pragma scop
  for (int i = 0; i < 4; i++) {
    int low = 0, high = 31;
    for (int s = 0; s < 6; s++) {
      int middle = (low + high) >> 1, place = middle & 31;
      if (keys[place] < wanted[i]) low = middle + 1 < 31 ? middle + 1 : 31;
      else high = place;
    }
    found[i] = low;
  }
#pragma endscop
}
""")
    assert not any(memory.trap for memory in program.memories)
    ranges = narrowing.array_ranges(program)
    assert ranges["place"] == ranges["high"] == (0, 31)
    assert ranges["low"][1] == 31
    inputs = {"keys": np.arange(32, dtype=np.int16) * 3, "wanted": np.array([-5, 10, 30, 99], np.int16)}
    found = np.searchsorted(inputs["keys"], inputs["wanted"]).clip(0, 31)
    assert (interpret(program, inputs)["found"] == found).all()
