"""Tables of 32-bit integers on an array of 16-bit words."""

from __future__ import annotations

import numpy as np
from c_targets import gcc_results, inputs_of, on_array

from compiler.bind.cgra.word_tables import with_word_tables
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from compiler.ir.types import Int

TEXT = """static const int T[8] = {100000, -7, 3, 65536, 12, -40000, 2147483647, -2147483647};
static const int S[4] = {5, -6, 7, -32768};
static const unsigned U[2] = {40000, 65535};
void f(const unsigned char x[8], const int z[8], int y[8], short s[8]) {
#pragma scop
  for (int i = 0; i < 8; i++) {
    y[i] = T[x[i] & 7] + z[i] + S[x[i] >> 6] + T[i];
    s[i] = (T[x[i] & 7] * 3) >> 16 ^ U[x[i] & 1];
  }
#pragma endscop
}
"""


def data() -> dict[str, np.ndarray]:
    draw = np.random.default_rng(2)
    x, z = np.array([0, 65, 130, 195, 4, 69, 134, 199], np.uint8), draw.integers(-99, 99, 8).astype(np.int32)
    return {"x": x, "z": z, "y": np.zeros(8, np.int32), "s": np.zeros(8, np.int16)}


def test_entries_become_words_without_another_result() -> None:
    program = parse_scop(TEXT, "f.c")
    after = with_word_tables(program)
    assert {table.name: table.type for table in after.tables} == {
        "T": Int(32, True), "T_low": Int(16, False), "T_high": Int(16, False), "S_words": Int(16, True),
        "U_words": Int(16, False)}, "T is looked up by an iterator, too"
    inputs = inputs_of(program, data())
    for name, values in interpret(after, inputs).items():
        np.testing.assert_array_equal(values, interpret(program, inputs)[name])
        np.testing.assert_array_equal(values, gcc_results(TEXT, "f", data())[name])
    assert with_word_tables(after) is after


def test_the_array_takes_them() -> None:
    program = parse_scop(TEXT, "f.c")
    on_array(program, inputs_of(program, data()), {"memory": "dual-port", "array": "16x16"})


def test_an_element_at_a_known_index_is_no_lookup() -> None:
    text = TEXT.replace("T[x[i] & 7] + z[i] + S[x[i] >> 6] + T[i]", "T[k] + T[2 * k]")
    text = text.replace("(T[x[i] & 7] * 3) >> 16 ^ U[x[i] & 1]", "k").replace("    y[i]", "    int k = 3;\n    y[i]")
    program = parse_scop(text, "f.c")
    assert program.tables == ()
    assert set(interpret(program, inputs_of(program, data()))["y"]) == {65536 + 2147483647 - (1 << 32)}
