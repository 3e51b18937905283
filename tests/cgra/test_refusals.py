"""What refusals of the array say: what takes most, and a remedy only if it is one."""

from __future__ import annotations

import re

import pytest

import compiler
from compiler.bind.buffers.wide_fetch import AccessPatternError
from compiler.bind.cgra.budget import VARIABLE, Budget, OutOfTime
from compiler.bind.cgra.options import Options, OptionsError
from compiler.bind.cgra.remedies import with_remedy
from compiler.bind.cgra.sites import ArrayTooSmall
from compiler.bind.cgra.timing import RecurrenceViolation
from compiler.frontend.c_scop import parse_scop
from compiler.ir.program import Program
from compiler.sched.search.space import Infeasible
from compiler.sched.streams.streams import StreamError
from hw.errors import SluiceError

LONG_SUM = " + ".join(f"{k + 2} * a[i + {k}]" for k in range(30))


def function(parameters: str, body: str) -> Program:
    return parse_scop(f"void f({parameters})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n", "f.c")


def long_sum() -> Program:
    return function("const short a[64], short y[32], short z[32]",
                    f"for (int i = 0; i < 32; i++) {{\n y[i] = {LONG_SUM};\n z[i] = a[i] + 1;\n}}")


def test_programs_with_filled_tables_are_too_large_for_small_arrays() -> None:
    """What fills a table is no sum that could be computed in rounds."""
    program = function("const unsigned char x[20], const short t[4], const short u[2], int y[20]",
                       "for (int i = 0; i < 20; i++) y[i] = t[x[i] >> 3 & 3] ^ u[x[i] >> 3 & 1];")
    with pytest.raises(ArrayTooSmall, match=r"needs \d+ PE tiles, \d+ memory tiles, \d+ streams; the 2x4 array has"):
        compiler.compile(program, array="2x4", memory="pub")


def test_too_small_arrays_name_the_statement_that_takes_most_and_an_array_that_will_do() -> None:
    with pytest.raises(ArrayTooSmall) as error:
        compiler.compile(long_sum(), array="4x4")
    message = str(error.value)
    assert re.search(r"most, \d+ of the \d+ PE tiles, are for statement 'S0' \(f\.c:5\); use --array \d+x\d+$", message)
    compiler.compile(long_sum(), array=message.rpartition(" ")[2])


def test_too_few_memories_name_the_buffer() -> None:
    text = "\n".join(f"for (int i = 0; i < 32; i++) y{k}[i] = a[31 - i] + a[{31 - k} - i / 2];" for k in range(3))
    with pytest.raises(ArrayTooSmall) as error:
        compiler.compile(function("const short a[32], short y0[32], short y1[32], short y2[32]", text),
                         array="2x4", memory="dual-port")
    assert re.search(r"most, \d of the \d memory tiles, are for buffer a", str(error.value))


def test_too_few_streams_name_the_array() -> None:
    text = "for (int i = 0; i < 16; i++) y[i] = a[i] + a[i + 100] + a[i + 200] + a[i + 300] + a[i + 400];"
    with pytest.raises(ArrayTooSmall) as error:
        compiler.compile(function("const short a[416], short y[16]", text), array="8x4")
    assert str(error.value).endswith("most, 5 of the 6 streams, are for array 'a'; use --array 8x8")


def test_what_does_not_help_is_not_recommended() -> None:
    tried = []

    def refused(options: Options, budget: Budget) -> Infeasible:
        tried.append((options.memory, options.array))
        return Infeasible(AccessPatternError("neither"))

    found = with_remedy(AccessPatternError("no"), Options(), refused)
    assert (str(found), tried) == ("no", [("dual-port", "8x8")])
    small = ArrayTooSmall((100, 0, 0), (48, 16, 8), Options().fabric())
    assert "use" not in str(with_remedy(small, Options(), refused))
    assert tried[1:] == [("pub", "16x16"), ("pub", "32x16"), ("pub", "32x32"), ("pub", "8x8")], "the last one shares"


@pytest.mark.parametrize(("kind", "memory"), [("int", "dual-port"), ("short", "pub")])
def test_recurrences_that_are_too_slow_are_named_in_one_line(kind: str, memory: str) -> None:
    """Statements one after the other have no initiation interval that could grow."""
    program = function(f"const {kind} a[32], {kind} y[32]",
                       "y[0] = a[0];\nfor (int i = 1; i < 32; i++) y[i] = (y[i - 1] ^ a[i]) + 5;")
    with pytest.raises(RecurrenceViolation) as error:
        compiler.compile(program, schedule="sequential", memory=memory)
    message = str(error.value)
    wanted = (r"statement 'S1' \(f\.c:5\): its loop-carried dependence passes \d+ processing elements and arrives "
              r"\d+ cycles after the next iteration needs it; compute less between two iterations, or put a loop that "
              "carries nothing inside; use --option schedule=pipelined")
    assert re.fullmatch(wanted, message)
    assert error.value.causes
    compiler.compile(program, memory=memory)


def test_the_search_for_a_remedy_ends() -> None:
    spent = Budget(0, strict=True)
    with pytest.raises(OutOfTime):
        spent.require()
    Budget(0).require()


def test_orders_that_no_controller_has_are_refused_before_placement(monkeypatch: pytest.MonkeyPatch) -> None:
    def placed(*_: object) -> None:
        raise AssertionError("placed")

    monkeypatch.setattr("compiler.bind.cgra.stages.implement", placed)
    text = ("for (int i = 0; i < 24; i++) t[i] = a[i] + 1;\n"
            "for (int i = 0; i < 24; i++) y[i] = t[5 * i % 23];")
    program = function("const short a[24], short y[24], short t[24]", text)
    for memory in ("pub", "dual-port", "dual-port-pe"):
        with pytest.raises(SluiceError) as error:
            compiler.compile(program, memory=memory)
        wanted = (r"statement 'S1.*' \(f\.c:5\) reads 't' in an order that is no loop nest with constant strides, as "
                  f"{memory} memory tiles need; give each part of the order a loop of its own, or take target fpga or "
                  "dataflow")
        assert re.search(wanted, str(error.value))


def test_addresses_that_wrap_are_a_loop_nest_in_a_region_that_the_schedule_decides() -> None:
    """Lengths of shortest paths: one region holds the values of a step, at some initiation interval."""
    program = function("short d[6][6]", """for (int k = 0; k < 6; k++)
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++)
      d[i][j] = d[i][j] < d[i][k] + d[k][j] ? d[i][j] : d[i][k] + d[k][j];""")
    design = compiler.compile(program, memory="dual-port")
    assert design.choices["initiation interval"] != "1"


def test_the_budget_is_a_variable_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "for (int i = 1; i < 32; i++) y[i] = (y[i - 1] * a[i] >> 3) * a[i] >> 2;"
    monkeypatch.setenv(VARIABLE, "0.001")
    with pytest.raises(OutOfTime) as error:
        compiler.compile(function("const short a[32], short y[32]", text))
    assert re.search(r"statement 'S0' \(f\.c:4\): .*; the search ended after 0\.001 s of processor time "
                     rf"\(set {VARIABLE} higher to go on\)$", str(error.value))
    for wrong in ("-1", "nan", "soon", "0"):
        monkeypatch.setenv(VARIABLE, wrong)
        with pytest.raises(OptionsError, match=f"{VARIABLE}='{wrong}' is not a positive number of seconds"):
            compiler.compile(long_sum())


def test_tiles_that_were_asked_for_have_to_fit_the_global_buffer() -> None:
    text = "for (int i = 0; i < 8; i++)\n for (int j = 0; j < 16; j++) y[i][j] = a[{}] + 1;"
    with pytest.raises(StreamError) as error:
        transposed = function("const short a[16][8], short y[8][16]", text.format("j][i"))
        compiler.compile(transposed, tile_depth=0, half_words=64)
    assert str(error.value) == ("array a, which statement 'S0' (f.c:5) reads: a tile of 128 words does not fit the "
                                "global buffer's 64 words per half; add tile loops around all statements")
    in_order = function("const short a[8][16], short y[8][16]", text.format("i][j"))
    assert compiler.compile(in_order, tile_depth=0, half_words=64).schedule.staged.tiles == 1
    compiler.compile(in_order, half_words=64)


def test_a_tile_larger_than_a_bank_needs_a_static_array() -> None:
    text = "for (int i = 0; i < 8; i++)\n for (int j = 0; j < 16; j++) y[i][j] = a[i][j] + 1;"
    program = function("const short a[8][16], short y[8][16]", text)
    with pytest.raises(StreamError) as error:
        compiler.compile(program, memory="buffet", tile_depth=0, half_words=64)
    assert str(error.value) == ("array a, which statement 'S0' (f.c:5) reads: a tile of 128 words does not fit the "
                                "global buffer's 64 words per half; add tile loops around all statements")


@pytest.mark.parametrize("memory", ["pub", "dual-port"])
def test_tile_loops_that_a_program_of_one_instance_does_not_have(memory: str) -> None:
    with pytest.raises(StreamError) as error:
        compiler.compile(function("const short a[8], short y[1]", "y[0] = a[1] + a[2];"), memory=memory, tile_depth=1)
    assert str(error.value) == ("1 tile loops were asked for, but statements share 0 independent outer loops (not "
                                "counting the innermost)")


_TABLES = "looks words up in tables that are "
_PLACE = "at a place that depends on data: target cgra "
_MASKED = "the index may be outside the 8 elements: mask it, or take --bounds-check wrap"
ADDRESSED = {
    "y[i] = t[x[i]];": f"reads 't' {_PLACE}has no errors at run time, and {_MASKED}",
    "t[x[i] & 7] = i;": f"writes 't' {_PLACE}{_TABLES}filled before, and has no memory that is written at such places",
    "t[x[i] & 7] += 3;": f"writes 't' {_PLACE}{_TABLES}filled before, and has no memory that is written at such places",
    "{ y[i] = t[x[i] & 7]; t[i] = i; }": f"writes 't': target cgra {_TABLES}filled once, before anything is looked up",
}


@pytest.mark.parametrize("body", ADDRESSED)
def test_places_that_depend_on_data_name_the_targets_that_take_them(body: str) -> None:
    program = function("const short x[8], short t[8], short y[8]", f"for (int i = 0; i < 8; i++) {body}")
    with pytest.raises(SluiceError) as error:
        compiler.compile(program, target="cgra")
    assert re.fullmatch(rf"statement 'S\d' \(f\.c:4\) {re.escape(ADDRESSED[body])}; with others: dataflow, fpga, "
                        r"vector; or loop over all indices .*", str(error.value))


def test_scattered_stores_name_the_targets_that_take_them() -> None:
    program = function("const short x[16], short v[16]", """  for (int i = 0; i < 16; i++) v[i] = x[i];
  for (int k = 8; k > 0; k >>= 1)
    for (int i = 0; i < 16; i++)
      if ((i & k) == 0) { short a = v[i], b = v[i | k]; v[i] = a < b ? a : b; v[i | k] = a < b ? b : a; }""")
    with pytest.raises(SluiceError, match=r"f\.c:\d+\) writes 'v' at a place that depends on data: .* take target fpga "
                                          r"or dataflow$"):
        compiler.compile(program, target="cgra", array="16x16")
    for target in ("fpga", "dataflow"):
        compiler.compile(program, target=target)
