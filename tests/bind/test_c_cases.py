"""Small C programs that targets once refused, crashed on or took for others, each compared with what gcc computes."""

from __future__ import annotations

import re
from contextlib import nullcontext

import numpy as np
import pytest
from c_targets import MODELS, require_gcc_results

import compiler
from compiler.analysis.domain_predicate import WidePredicate
from compiler.frontend.c_scop import parse_scop
from compiler.ir.program import Program
from compiler.passes.directives.errors import TransformError
from compiler.passes.directives.script import apply_script
from compiler.passes.normalize.distinct_names import rename_clashing_statements
from hw.errors import SluiceError

PROGRAMS = {
    "array named as a statement": ("void f(int x[5], int S0[1])", """
  S0[0] = 1;
  for (int i = 1; i < 5; i++)
    x[i] = x[i - 1];"""),
    "array named as a later statement": ("void f(const short S1[6], short S0[6], short S2[6])", """
  for (int i = 0; i < 6; i++)
    S0[i] = S1[i] + 1;
  for (int i = 0; i < 6; i++)
    S2[i] = S0[i] * 2;"""),
    "copies alone, a part": ("void f(short u[8], const short a[8])", """
  for (int i = 0; i < 4; i++)
    u[i] = a[i];"""),
    "copies alone, by a condition": ("void f(short u[8], const short a[8])", """
  for (int i = 0; i < 8; i++)
    u[i] = i < 4 ? a[i] : u[i];"""),
    "a condition that wraps": ("void f(const short a[8], short y[8])", """
  for (int i = 0; i < 8; i++) {
    y[i] = 3;
    if ((unsigned)(i - 5) < 4000000000u && 250u - i * 1000000000u)
      y[i] = a[i];
  }"""),
    "copies beside another output": ("void f(short u[8], const short a[8], short v[8])", """
  for (int i = 0; i < 8; i++)
    u[i] = i < 4 ? a[i] : u[i];
  for (int i = 0; i < 8; i++)
    v[i] = a[i] + 1;"""),
    "ping-pong rows": ("void f(short u[2][4])", """
  for (int k = 0; k < 2; k++)
    for (int i = 1; i < 4; i++)
      u[(k + 1) % 2][i] = u[k % 2][i] + u[k % 2][i - 1];"""),
    "pairs of elements, read before both are written": ("void f(const short x[8], short y[8])", """
  short t[8];
  for (int i = 0; i < 8; i++)
    t[i] = x[i];
  for (int g = 0; g < 8; g += 4)
    for (int k = 0; k < 2; k++) {
      short u = t[g + k];
      t[g + k] = u + 5;
      t[g + k + 2] = u;
    }
  for (int i = 0; i < 8; i++)
    y[i] = t[i];"""),
    "a selected term of a sum": ("void f(int q[3][3], const int b[3][3][3])", """
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      q[i][j] = 0;
      for (int k = 0; k < 3; k++)
        q[i][j] += j ? b[i][j][k] : 5;
    }"""),
    "windows and a value of their own": ("void f(const short in[12], short out[8])", """
  for (int x = 0; x < 8; x++) {
    out[x] = 0;
    for (int dx = 0; dx < 4; dx++)
      out[x] += in[x] * in[x + dx];
  }"""),
}


REFUSALS = {
    ("pairs of elements, read before both are written", "systolic"): "come from distances that vary (not uniform)",
}
"""What a target does not take, and why."""


def program_of(case: str) -> tuple[str, dict[str, np.ndarray]]:
    """The C text and the arrays of a case."""
    head, body = PROGRAMS[case]
    generator = np.random.default_rng(3)
    data = {}
    for parameter in head[head.index("(") + 1 : -1].split(","):
        type_, declared = parameter.removeprefix("const").replace("const ", "").split()
        name, *sizes = declared.rstrip("]").replace("]", "").split("[")
        dtype = {"int": np.int32, "short": np.int16}[type_]
        data[name] = generator.integers(-99, 99, tuple(map(int, sizes))).astype(dtype)
    return f"{head} {{\n#pragma scop{body}\n#pragma endscop\n}}\n", data


@pytest.mark.parametrize("target", MODELS)
@pytest.mark.parametrize("case", PROGRAMS)
def test_case_is_what_gcc_computes(case, target):
    text, data = program_of(case)
    refusal = REFUSALS.get((case, target))
    with pytest.raises(SluiceError, match=re.escape(refusal)) if refusal else nullcontext():
        require_gcc_results(text, "f", data, MODELS[target])


@pytest.mark.parametrize("memory", ["pub", "dual-port"])
def test_storage_counts_the_words_of_copies_once(memory):
    """Several tiles hold parts of an input that are not the same."""
    text, _ = program_of("windows and a value of their own")
    design = compiler.compile(parse_scop(text), target="cgra", memory=memory)
    assert all(0 < item.live_words <= item.allocated_words for item in design.storage)


def test_clashing_statements_get_other_names():
    program = parse_scop(program_of("array named as a later statement")[0])
    changed = rename_clashing_statements(program)
    arrays = {array.name for array in changed.arrays}
    assert isinstance(changed, Program)
    assert not arrays & {statement.name for statement in changed.statements}
    assert rename_clashing_statements(changed) is changed


def test_a_table_behind_words_of_32_bits():
    """Operands on which two forms are compared need not lie in the table."""
    text = """
static const unsigned short T[4] = {3, 1, 4, 1};
void f(const int far[8], unsigned short total[8]) {
#pragma scop
  for (int i = 0; i < 8; i++)
    total[i] = T[(far[i] + far[i]) & 3];
#pragma endscop
}
"""
    data = {"far": np.arange(8, dtype=np.int32) * 77777, "total": np.zeros(8, np.uint16)}
    for memory in ("pub", "dual-port"):
        require_gcc_results(text, "f", data, MODELS["cgra"], {"memory": memory})


def test_a_directive_that_puts_two_statements_at_one_time_is_refused():
    program = parse_scop(program_of("a selected term of a sum")[0])
    with pytest.raises(TransformError):
        apply_script(program, "reorder k, j, i")


def test_a_condition_of_more_than_64_bits_is_refused_with_a_rewrite_that_works():
    head, body = "void f(const short a[64], short y[64])", """
#pragma scop
  for (int i = 0; i < 64; i++) {
    y[i] = 0;
    if (%s)
      y[i] = a[i];
  }
#pragma endscop
}
"""
    wide, table = f"{head} {{{body % 'i * 2654435761u > 3000000000u'}", f"{head} {{{body % 'T[i]'}"
    with pytest.raises(WidePredicate) as error:
        compiler.compile(parse_scop(wide), target="fpga")
    assert re.fullmatch(r"statement 'S1' \(scop\.c:6\): the condition .* on iterators has numbers of more than "
                        r"64 bits: compute it in a type that does not wrap there, or read it from a table",
                        str(error.value))
    entries = ", ".join(str(int(i * 2654435761 % 2**32 > 3000000000)) for i in range(64))
    data = {"a": np.arange(64, dtype=np.int16), "y": np.zeros(64, np.int16)}
    require_gcc_results(f"static const unsigned char T[64] = {{{entries}}};\n{table}", "f", data, MODELS["fpga"], {})
