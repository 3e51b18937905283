"""What the C front end makes of a scop: arrays and their roles, temporaries, order, parameters; its preprocessor."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from c_reference import call, compile_c

from compiler.bind.registry import compile_program
from compiler.frontend.apps import applications, load
from compiler.frontend.c_scop import load_c, parse_scop
from compiler.ir.expr import Iterator, Lookup, postorder
from compiler.ir.interpret import interpret
from compiler.ir.program import Location, Program, ProgramError


def scop(body: str, before: str = "", after: str = "", head: str = "int a[4], int b[4]", top: str = "") -> Program:
    """The program of a function with parameters `head`."""
    text = f"{top}\nvoid f({head}) {{\n{before}\n#pragma scop\n{body}\n#pragma endscop\n{after}\n}}\n"
    return parse_scop(text)


def roles(program: Program) -> dict[str, str]:
    return {array.name: array.role for array in program.arrays}


def shapes(program: Program) -> dict[str, tuple[int, ...]]:
    return {array.name: array.shape for array in program.arrays}


COPY = "for (int i = 0; i < 4; i++) b[i] = a[i];"


@pytest.mark.parametrize(
    ("body", "before", "after", "expected"),
    [
        (COPY, "", "", {"a": "input", "b": "output"}),
        ("for (int i = 0; i < 4; i++) b[i] += a[i];", "", "", {"a": "input", "b_in": "input", "b": "output"}),
        ("b[2] = a[0];", "", "", {"a": "input", "b_in": "input", "b": "output"}),  # the rest of b stays
        ("b[0] = 1; b[1] = 2; b[2] = 3; b[3] = b[0];", "", "", {"b": "output"}),
        ("int t = a[0]; " + COPY + " b[0] = t;", "", "", {"a": "input", "b": "output", "t": "intermediate"}),
        ("int t; t = 3; " + COPY, "", "", {"a": "input", "b": "output"}),  # nobody reads t
        ("s = a[0]; " + COPY, "int s;", "use(s);", {"a": "input", "b": "output", "s": "output"}),
        ("s += a[0]; " + COPY, "int s = 3;", "use(s);", {"a": "input", "b": "output", "s": "output"}),
        ("s += a[0]; " + COPY, "int s = g();", "return s;",
         {"a": "input", "b": "output", "s_in": "input", "s": "output"}),
        ("b[0] = m[1]; b[1] = b[2] = b[3] = 0;", "int m[2]; g(m);", "", {"b": "output", "m": "input"}),
        ("b[0] = m[1]; b[1] = b[2] = b[3] = 0;", "int m[2] = {7, 8};", "", {"b": "output"}),  # a constant
        ("m[0] = a[0]; b[0] = m[0] + m[1]; b[1] = b[2] = b[3] = 0;", "int m[2] = {7, 8};", "",
         {"a": "input", "b": "output", "m": "intermediate"}),
    ],
)
def test_roles_follow_from_what_is_read_and_used(body: str, before: str, after: str, expected: dict[str, str]) -> None:
    assert roles(scop(body, before, after)) == expected


def test_globals_are_inputs_and_outputs() -> None:
    program = scop("total = gain * a[1]; for (int i = 0; i < 4; i++) { seen[i] = k[i]; b[i] = 0; }",
                   top="int total, gain; short seen[4]; static const short k[4] = {1, 2, 3, 4};")
    assert roles(program) == {"total": "output", "gain": "input", "seen": "output", "a": "input", "b": "output"}
    assert shapes(program)["total"] == (1,)
    assert [table.values for table in program.tables] == [(1, 2, 3, 4)]


def test_a_pair_computes_in_place() -> None:
    program = scop("for (int i = 1; i < 4; i++) b[i] = b[i - 1] + a[i];")
    result = interpret(program, {"a": np.array([0, 1, 2, 3]), "b_in": np.array([10, -1, -1, -1])})
    assert result["b"].tolist() == [10, 11, 13, 16]
    assert program.statements[0].name == "b_copy"
    assert program.statements[0].domain.is_equal(type(program.statements[0].domain)("{ b_copy[0] }"))


def test_only_whole_live_in_reads_go_to_the_input() -> None:
    """``C *= beta`` reads what was there; the updates read what it wrote, and nothing is copied."""
    program = scop("for (int i = 0; i < 4; i++) { b[i] *= 3; for (int k = 0; k < 4; k++) b[i] += a[k]; }")
    assert [(s.name, [r.array for r in s.reads]) for s in program.statements] == [("S0", ["b_in"]), ("S1", ["b", "a"])]


def test_temporaries_are_expanded_by_the_loops_that_use_them_afresh() -> None:
    program = scop(
        "for (int i = 0; i < 4; i++) for (int j = 1; j < 3; j++) { s = 0; for (int k = 0; k < 4; k++) s += a[k] * j;"
        " c[i][j] = s; s = a[j]; c[i][0] = s; } for (int i = 0; i < 4; i++) { c[i][3] = last; last = a[i]; }",
        before="int s, last = 5;", head="int a[4], int c[4][4]")
    assert shapes(program) == {"a": (4,), "c": (4, 4), "s": (4, 2), "s_1": (4, 2), "last": (1,)}


def test_arrays_of_a_loop_body_belong_to_the_iteration() -> None:
    inner = "for (int j = 0; j < 2; j++) w[j] = a[i] + j;"
    program = scop(f"for (int i = 0; i < 4; i++) {{ int w[2]; {inner} b[i] = w[1]; }}")
    assert shapes(program)["w"] == (4, 2)


def test_statements_keep_their_line_their_label_and_c_order() -> None:
    program = scop("for (int i = 0; i < 4; i++) {\nfirst: b[i] = a[i];\n b[i] -= 3; }")
    assert [s.name for s in program.statements] == ["first", "S1"]
    assert [s.location for s in program.statements] == [Location("scop.c", 6), Location("scop.c", 7)]
    order = program.order_of("S1").lex_gt_map(program.order_of("first"))
    same = type(order)("{ S1[i] -> first[j] : i = j and 0 <= i < 4 }")
    assert same.is_subset(order)


def test_loops_of_other_steps_count_from_zero() -> None:
    program = scop("for (int i = 3; i >= 0; i--) b[i] = a[3 - i] + i;")
    statement = program.statements[0]
    assert statement.box() == {"i": (0, 3)}
    assert interpret(program, {"a": np.arange(4)})["b"].tolist() == [3, 3, 3, 3]


def test_conditions_on_iterators_restrict_domains_and_cost_nothing() -> None:
    program = scop("for (int i = 0; i < 4; i++) b[i] = i > 0 && a[i - 1] ? a[i - 1] : i == 3 ? 7 : 1;")
    assert not any(isinstance(node, Iterator) for s in program.statements for node in postorder(s.value))
    assert len(program.statements) > 1


def test_branches_that_are_never_evaluated_only_give_their_type() -> None:
    top = "static const unsigned w[4] = {1, 2, 3, 4};"
    program = scop("for (int i = 0; i < 4; i++) b[i] = (i > 0 ? w[i - 1] : -1) > 5;", top=top)
    assert interpret(program, {})["b"].tolist() == [1, 0, 0, 0]


def test_sums_of_hundreds_of_terms() -> None:
    terms = " + ".join(f"{k} * a[{k % 4}]" for k in range(300))
    program = scop(f"for (int i = 0; i < 4; i++) b[i] = {terms};")
    weights = [sum(range(k, 300, 4)) for k in range(4)]
    assert interpret(program, {"a": np.array([1, 10, 100, -7])})["b"][0] == np.dot(weights, [1, 10, 100, -7])


def test_constant_arrays_are_numbers_or_tables() -> None:
    top = "static const unsigned char curve[16] = {1, 3};"
    fixed = scop("for (int i = 0; i < 4; i++) b[i] = a[i] * curve[1];", top=top)
    assert fixed.tables == ()
    looked_up = scop("for (int i = 0; i < 4; i++) b[i] = curve[a[i] & 15];", top=top)
    assert any(isinstance(node, Lookup) for node in postorder(looked_up.statements[0].value))
    assert interpret(looked_up, {"a": np.array([0, 1, 2, 17])})["b"].tolist() == [1, 3, 0, 3]


def test_first_sizes_that_are_not_written_follow_from_the_subscripts() -> None:
    body = "for (int i = 0; i < 4; i++) q[i] = p[2 * i + 1] + r[i][2];"
    program = scop(body, head="short *q, short p[], int (*r)[3]")
    assert shapes(program) == {"q": (4,), "p": (8,), "r": (4, 3)}


def test_autosa_style_main_with_local_arrays() -> None:
    text = """
    #include <stdio.h>
    #include <stdlib.h>
    typedef short data_t;
    int main(int argc, char **argv) {
      data_t A[3][4], C[3], C_golden[3];
      for (int i = 0; i < 3; i++) for (int j = 0; j < 4; j++) A[i][j] = rand() % 7;
    #pragma scop
      for (int i = 0; i < 3; i++) {
        C[i] = 0;
        for (int j = 0; j < 4; j++) C[i] = C[i] + A[i][j];
      }
    #pragma endscop
      for (int i = 0; i < 3; i++) { C_golden[i] = 0; if (C[i] != C_golden[i]) { printf("bad %f\\n", 1.0); return 1; } }
      return 0;
    }
    """
    assert roles(parse_scop(text)) == {"A": "input", "C": "output"}


# Parameters and preprocessing.


SIZED = """
#ifndef N
#define N 8 /* elements */
#endif
#define TWICE (2 * N)
#define LONG 1 + \\
    TWICE
#if N > 10 && defined(N) || 0
typedef short element;
#else
typedef int element;
#endif
void f(int n, element a[TWICE], element b[N]) {
#pragma scop
  for (int i = 0; i < n; i++) b[i] = a[LONG - 2 - i]; // not past the end
#pragma endscop
}
"""


def test_parameters_set_macros_and_scalars() -> None:
    program = parse_scop(SIZED, n=8)
    assert shapes(program) == {"a": (16,), "b": (8,)}
    assert str(program.array("a").type) == "int32"
    program = parse_scop(SIZED, N=12, n=12)
    assert shapes(program) == {"a": (24,), "b": (12,)}
    assert str(program.array("a").type) == "int16"


def test_includes_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "kernel.h").write_text("#pragma once\n#define N 3\ntypedef unsigned char data_t;\n")
    (tmp_path / "k.c").write_text(
        '#include "kernel.h"\nvoid k(data_t a[N], data_t b[N]) {\n#pragma scop\n'
        "  for (int i = 0; i < N; i++) b[i] = a[i];\n#pragma endscop\n}\n")
    program = load_c(tmp_path / "k.c")
    assert (program.name, program.array("b").shape, str(program.array("b").type)) == ("k", (3,), "uint8")
    assert program.statements[0].location == Location(str(tmp_path / "k.c"), 4)
    assert load_c(tmp_path / "k.c", N=5).array("b").shape == (5,)


# Applications.


def test_c_applications_load_by_name_and_by_path() -> None:
    assert {"fir", "sobel"} <= set(applications())
    program = load("fir", N=20, CHANNELS=2)
    assert program == load(Path("apps/fir.c").resolve(), N=20, CHANNELS=2)
    assert program.array("y").shape == (2, 12)
    with pytest.raises(ProgramError) as error:
        load("sobel", width=3)
    assert str(error.value) == "apps/sobel.c: there is no macro or scalar parameter 'width'; there are: H, W"


@pytest.mark.parametrize(
    ("name", "sizes", "shape", "result"),
    [("fir", {"CHANNELS": 3, "N": 24}, (3, 24), (3, 16)), ("sobel", {"H": 9, "W": 12}, (9, 12), (7, 10))],
)
def test_applications_equal_gcc_and_compile_onto_the_array(tmp_path: Path, name: str, sizes: dict[str, int],
                                                           shape: tuple[int, int], result: tuple[int, int]) -> None:
    program = load(name, **sizes)
    image = np.random.default_rng(5).integers(0, 256, shape, np.uint8)
    defines = "".join(f"#define {key} {value}\n" for key, value in sizes.items())
    library = compile_c(tmp_path, {name: defines + Path(f"apps/{name}.c").read_text()})
    expected = np.zeros(result, np.uint8)
    call(library, name, [image, expected])
    (computed,) = interpret(program, {program.inputs[0].name: image}).values()
    np.testing.assert_array_equal(computed, expected)
    design = compile_program(program, "cgra")
    assert design.predicted_cycles < 1.5 * image.size
