"""Arrays of 32 bits as pairs of arrays of words: the program on words computes the same, and what has no words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import compiler
from compiler.analysis.dependences import DependenceError
from compiler.bind.cgra.legalize_arrays import legalize_arrays
from compiler.bind.cgra.mapping import ApplicationError
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import load_c, parse_scop
from compiler.ir.expr import Apply, Read
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.ir.types import Int
from compiler.passes.directives.place import order_of_places, places
from compiler.sched.verify import ValidationError, check_word_arrays

ARGUMENTS = "const int a[12], const unsigned u[12], const short s[12], int x[12], unsigned y[12], short z[12]"
BODIES = {
    "sums with carries": "x[i] = a[i] + s[i]; y[i] = u[i] - a[i]; z[i] = 0;",
    "products": "x[i] = a[i] * s[i]; y[i] = u[i] * u[i]; z[i] = s[i] * a[i];",
    "shifts": "x[i] = a[i] >> 5; y[i] = (u[i] >> 20) | (u[i] << 7); z[i] = a[i] >> 16;",
    "choices": "x[i] = a[i] < s[i] ? a[i] : -a[i]; y[i] = u[i] > 70000u ? u[i] : 5u; z[i] = a[i] == s[i];",
    "quotients": "x[i] = a[i] / 3 - a[i] % -1000; y[i] = u[i] / 641 + u[i] % 7; z[i] = (a[i] - s[i]) / 10;",
    "a copy": "x[i] = a[i]; y[i] = a[i]; z[i] = u[i];",
    "iterators": "x[i] = a[i] + i; y[i] = (u[i] ^ (i - 4)) * (70000 + 9 * i); z[i] = s[i] * (i * 40000 - 7) >> 20;",
}


def scop(body: str) -> Program:
    text = f"for (int i = 0; i < 12; i++) {{ {body} }}"
    return parse_scop(f"void wide({ARGUMENTS}) {{\n#pragma scop\n{text}\n#pragma endscop\n}}", "wide.c")


def same(program: Program) -> None:
    words = legalize_arrays(program)
    assert words is not None
    assert all(isinstance(a.type, Int) and a.type.width <= 16 for a in words.after.arrays)
    inputs = random_inputs(program, 4)
    found = words.join(interpret(words.after, words.split(inputs)))
    for name, expected in interpret(program, inputs).items():
        np.testing.assert_array_equal(found[name], expected)


@pytest.mark.parametrize("name", BODIES)
def test_values_are_the_same(name: str) -> None:
    same(scop(BODIES[name]))


@pytest.mark.parametrize("file", ["fir", "inner_product"])
def test_sums_in_int(file: str) -> None:
    """The carry into the high words comes from the low words as they were before."""
    same(load_c(f"apps/dataflow/{file}.c"))


def test_a_running_maximum_keeps_its_words_together() -> None:
    """Both words of the larger one depend on both words before the step."""
    program = parse_scop("void most(const int a[12], int x[1]) {\n#pragma scop\nx[0] = a[0];\n"
                         "for (int i = 0; i < 12; i++) x[0] = x[0] < a[i] ? a[i] : x[0];\n#pragma endscop\n}", "most.c")
    same(program)
    words = legalize_arrays(program)
    assert words is not None and words.kept == {"S1_high": "S1_high_next"}
    design = compiler.compile(program, array="8x8")
    assert design.resources["PEs"] > 0


@pytest.mark.parametrize(("value", "reason"), [
    ("a[i] / s[i]", "it divides int32 by what is no constant"),
    ("a[i] << s[i]", "it shifts int32 by an amount that is no constant"),
    ("(long long)a[i] * s[i] > 5", "it computes with int64"),
])
def test_what_has_no_words_is_refused(value: str, reason: str) -> None:
    with pytest.raises(ApplicationError) as error:
        compiler.compile(scop(f"x[i] = {value}; y[i] = u[i]; z[i] = s[i];"), array="4x4")
    assert str(error.value) == (
        f"statement 'S0' (wide.c:3): array a holds int32; {reason}; the array target has 16-bit words, and pairs of "
        "them for 32-bit sums, differences, products, comparisons, and divisions and shifts by constants; take target "
        "fpga or dataflow")


def test_values_of_iterators_beyond_int64_are_refused() -> None:
    body = "for (int i = 0; i < 8; i++) y[i] = a[i] ^ 0x8000000000000000u * i;"
    text = f"void f(const uint64_t a[8], uint64_t y[8]) {{ {body} }}"
    with pytest.raises(ApplicationError, match=r"statement 'S0' .*: array a holds uint64; it computes with uint64; "):
        compiler.compile(parse_scop(f"#include <stdint.h>\n{text}", function="f"), array="4x4")


def test_programs_on_words_are_narrow_already() -> None:
    assert legalize_arrays(load_c("apps/dataflow/matmul.c", N=4)) is None


def test_the_check_finds_a_lost_carry() -> None:
    words = legalize_arrays(load_c("apps/dataflow/inner_product.c"))
    assert words is not None
    high = next(s for s in words.after.statements if s.name == words.statements["S1"][1])
    reads = [k for k, read in enumerate(high.reads) if read.array == high.write.array]
    lost = replace(high, value=Apply("add", (Read(reads[0], Int(16, False)), Read(reads[0], Int(16, False))),
                                     Int(16, False)))
    after = replace(words.after, statements=tuple(lost if s is high else s for s in words.after.statements))
    with pytest.raises(ValidationError, match=r"statement 'S1_high' .* computes .* where statement 'S1' .* has"):
        check_word_arrays(replace(words, after=after))


def test_the_check_finds_another_order() -> None:
    """With the low words first, the high ones would see them as they are after the step."""
    words = legalize_arrays(load_c("apps/dataflow/inner_product.c"))
    assert words is not None
    after = words.after
    where = places(after)
    low, high = words.statements["S1"]
    swapped = {low: where[low].moved(1, where[high].positions[1]), high: where[high].moved(1, where[low].positions[1])}
    order = order_of_places(after.statements, where | swapped)
    with pytest.raises(ValidationError, match=r"sees values of .* of other instances"):
        check_word_arrays(replace(words, after=replace(after, order=order)))


def test_refusals_name_the_statements_of_the_program() -> None:
    """A triangular loop over 32-bit words, with a read in two parts, is refused as it was written, not as a half of
    it."""
    program = parse_scop("""void f(const int a[9], int y[8]) {
#pragma scop
    for (int i = 0; i < 8; i++)
        for (int j = 0; j <= i; j++)
            y[i] += a[i > 2 * j ? i : j + 1];
#pragma endscop
}
""", "f.c")
    with pytest.raises(DependenceError, match=r"^statement 'S0' \(f.c:5\): its iteration domain is not a box of "):
        compiler.compile(program, target="cgra")
