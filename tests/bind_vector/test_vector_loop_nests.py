"""Loop-nest and C programs on the vector target: translated to parallel arrays, equal to the interpreter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import compiler
from compiler.bind.registry import TargetError
from compiler.bind.vector.apps import load_any
from compiler.bind.vector.design import VectorDesign
from compiler.bind.vector.element_values import UnsupportedValue, container, value_of
from compiler.bind.vector.errors import VectorTargetError
from compiler.cli.input_files import random_inputs
from compiler.frontend import parallel_array as pa
from compiler.frontend.apps import load
from compiler.frontend.c_scop import load_c, parse_scop
from compiler.ir.evaluate import evaluate
from compiler.ir.expr import Apply, Cast, Const, Expr, Iterator, Lookup, Read, apply
from compiler.ir.interpret import interpret
from compiler.ir.program import Program, Table
from compiler.ir.types import BIT, Int

C = Path(__file__).resolve().parents[2] / "apps" / "dataflow"


def compare(program: Program, lanes: int = 4) -> VectorDesign:
    """Compile, execute, and compare with the interpreter."""
    design = compiler.compile(program, target="vector", lanes=lanes, search=False)
    assert isinstance(design, VectorDesign) and design.program is program
    inputs = random_inputs(program, 1)
    found = design.execute(inputs)
    for name, wanted in interpret(program, inputs).items():
        np.testing.assert_array_equal(found[name], wanted)
        assert found[name].dtype == wanted.dtype
    return design


@pytest.mark.parametrize(("name", "parameters"), [
    ("cascade", {}), ("gaussian", {}), ("gaussian_pyramid", {}), ("gaussian_tiled", {}), ("harris", {}), ("sobel", {}),
    ("upsample", {}), ("unsharp", {"height": 16}), ("laplacian_pyramid", {"size": 16})])
def test_applications_equal_the_interpreter(name: str, parameters: dict[str, Any]) -> None:
    design = compare(load(name, **parameters))
    assert 0 < design.lower_bound <= design.predicted_cycles
    assert design.resources["vector instructions"] > 0
    for item in design.storage:
        assert 0 < item.live_words <= item.allocated_words <= design.spec.capacity // 4


@pytest.mark.parametrize("name", ["fir", "inner_product", "jacobi_1d", "jacobi_2d", "matmul", "moving_average",
                                  "row_sum", "stencil_3", "triangular_solve"])
def test_c_programs_equal_the_interpreter(name: str) -> None:
    """Time loops and triangular solves have loop-carried dependences: they are unrolled."""
    compare(load_c(C / f"{name}.c"))


SOURCE = """
void kernel(short unused[3], short a[12][9], short b[9], short out[12][9], short most[12], unsigned char flags[9][12],
            short corner[9][9], short lengths[9])
{
    #pragma scop
    for (int i = 0; i < 12; i++)
        most[i] = -100;
    for (int i = 0; i < 12; i++)
        for (int j = 0; j < 9; j++)
            most[i] = most[i] > a[i][j] ? most[i] : a[i][j];
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 9; j++)
            out[2 * i + 1][8 - j] = a[i][j] * 3 - b[j];
    for (int i = 0; i < 6; i++)
        for (int j = 1; j < 8; j++)
            out[2 * i][j] = out[2 * i + 1][j + 1] + i;
    for (int i = 0; i < 12; i++)
        for (int j = 0; j < 9; j++)
            flags[j][i] = a[i][j] > b[j];
    for (int i = 0; i < 9; i++)
        for (int j = i; j < 9; j++)
            corner[i][j] = a[i][j] - corner[i][j];
    for (int i = 0; i < 9; i++)
        for (int j = 0; j <= i; j++)
            lengths[i] += a[j][i] * 2;
    #pragma endscop
}
"""


def test_writes_in_steps_backwards_transposed_and_in_triangles(tmp_path: Path) -> None:
    path = tmp_path / "mixed.c"
    path.write_text(SOURCE)
    compare(load_c(path), lanes=1)


FRAMES = """
void frames(const short x[40][24], short y[40][24], short z[40][24], const short w[40][9], short v[40][9])
{
    #pragma scop
    for (int i = 0; i < 40; i++)
        for (int j = 0; j < 24; j++) {
            if (i < 3 || i > 38 || j < 1 || j > 20)
                y[i][j] = x[i][j] + 1;
            if (j > 5)
                z[i][j] = x[i][j];
            if (j == 3 && (i < 7 || i > 30))
                z[i][j] = 7;
        }
    for (int i = 0; i < 40; i++)
        for (int j = 0; j < 9; j++)
            if (j <= i % 9)
                v[i][j] = w[i][j];
    #pragma endscop
}
"""


@pytest.mark.parametrize("body", [
    """for (int i = 0; i < 5; i++) y[i][i + 1] = a[i][i] + i;
    for (int i = 0; i < 5; i++) y[5 - i][i] = a[i][1] * 3;
    for (int i = 0; i < 3; i++) for (int k = 0; k < 6; k++) y[2 * i][i] += a[i][k];""",
    "for (int i = 0; i < 5; i++) for (int j = 0; j < i; j++) y[j][j] += a[i][j];"])
def test_writes_along_diagonals(body: str, tmp_path: Path) -> None:
    """Beside them elements stay as they were, or zero."""
    source = tmp_path / "f.c"
    source.write_text("void f(const short a[6][6], short y[6][6]) {\n#pragma scop\n"
                      "for (int i = 0; i < 6; i++) for (int j = 0; j < 6; j++) y[i][j] = a[j][i];\n"
                      f"{body}\n#pragma endscop\n}}")
    compare(load_c(source))


def test_iterations_around_a_box_need_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but a box, all but one along one dimension; and others, whose table is made in parts."""
    path = tmp_path / "frames.c"
    path.write_text(FRAMES)
    monkeypatch.setattr("compiler.bind.vector.iteration_masks._POINTS", 64)
    code = compare(load_c(path), lanes=1).code
    assert not [array for array in code.arrays if array.role == "constant" and array.shape == (40, 24)]


# Operations at every width.

_BINARY = ("add", "sub", "mul", "and", "or", "xor", "min", "max", "absd", "shl", "shr", "eq", "ne", "lt", "ge", "gt",
           "le", "mul_mid", "mul_high")


def expression(op: str, kind: Int, number: int) -> Expr:
    """Operation `op` on words, with a conversion, a constant and a counter around it."""
    a, b = Read(0, kind), Read(1, kind)
    if op == "mad":
        return apply("mad", a, b, Const(kind.wrap(number), kind))
    if op == "abs":
        return apply("abs", apply("add", a, Iterator("i", kind)))
    if op == "select":
        return apply("select", apply("lt", a, b), a, Const(kind.wrap(number), kind))
    if op == "lut3":
        bits = [apply("lt", a, b), apply("eq", a, b), Cast(a, BIT)]
        return Cast(Apply("lut3", (Const(number % 256, Int(8, signed=False)), *bits), BIT), kind)
    return Cast(apply(op, a, b), kind) if op in ("eq", "ne", "lt", "ge", "gt", "le") else apply(op, a, b)


@pytest.mark.parametrize("op", [*_BINARY, "mad", "abs", "select", "lut3"])
@settings(max_examples=12, deadline=None)
@given(width=st.sampled_from([3, 8, 11, 16, 20, 32]), signed=st.booleans(), seed=st.integers(0, 2**16))
def test_operations_equal_the_table(op: str, width: int, signed: bool, seed: int) -> None:
    kind = Int(width, signed)
    rng = np.random.default_rng(seed)
    words = [rng.integers(kind.minimum, kind.maximum, 25, endpoint=True) for _ in range(2)]
    words[1][:10] = kind.wrap(np.arange(-2, 8))
    value = expression(op, kind, seed)
    reads = [pa.input(name, 25, container(kind), kind.minimum, kind.maximum) for name in ("a", "b")]
    counter = pa.as_array(np.arange(25, dtype=np.int32))
    try:
        found = value_of(value, reads.__getitem__, lambda _: counter, {})
        program = pa.program("one", out=pa.broadcast_to(found, (25,)))
    except UnsupportedValue as error:
        assert width > 16 and "products have 32 bits" in str(error)
        return
    inputs = {name: data for name, data in zip("ab", words, strict=True) if name in program.inputs}
    wanted = evaluate(value, [w.astype(np.int64 if width < 32 else object) for w in words].__getitem__,
                      {"i": np.arange(25)}, {})
    assert (program.reference(inputs)["out"] == wanted.astype(np.int64)).all()
    design = compiler.compile(program, target="vector", lanes=1, search=False)
    assert isinstance(design, VectorDesign)
    assert (design.execute(inputs)["out"] == wanted.astype(np.int64)).all()


# The interface that all targets share.


def test_a_design_reports_and_emits(tmp_path: Path) -> None:
    program = load_c(C / "matmul.c", N=4)
    design = compare(program)
    page = design.report()
    assert page.startswith("<!doctype html>") and "matmul on 4 vector lanes" in page and "vector_set_vl" in page
    assert '<rect class="lanes"' in page and '<rect class="load"' in page
    design.emit(tmp_path, random_inputs(program, 2))
    written = {p.name for p in tmp_path.iterdir()}
    assert written == {"configuration.hex", "manifest.json", "matmul.c", "matmul.vector", "memory.hex", "rtl", "host",
                       "component.xml", "vector_system.core", "vector_system_litex.py"}
    assert any("module" in p.read_text() for p in (tmp_path / "rtl").iterdir())


def test_options_of_another_target_are_refused() -> None:
    x = pa.input("x", 8, "int16")
    with pytest.raises(TargetError, match=r"^target vector has no option 'array'; there are: memory_latency, "
                                          r"memory_bursts, lanes, scratchpad, "):
        compiler.compile(pa.program("p", out=x + 1), target="vector", array="4x4")


# Errors.


def broken(what: str, folder: Path) -> Program:
    """Programs that the target refuses."""
    bodies = {
        "again": "for (int i = 0; i < 8; i++) for (int j = 0; j < 8; j++) y[i][0] = x[i][j];",
        "index": "for (int i = 0; i < 200; i++) z[i] = x[(7 * i + 3) % 97 / 13][1];",
        "turns": "for (int i = 1; i < 200; i++) z[i] = z[i / 2] * 3;",
    }
    path = folder / "broken.c"
    path.write_text("void kernel(short x[8][8], short y[8][8], short z[200])\n{\n#pragma scop\n" + bodies[what]
                    + "\n#pragma endscop\n}\n")
    return load_c(path)


@pytest.mark.parametrize(("what", "message"), [
    ("index", "is neither affine nor an affine expression divided by a number, nor periodic with a period of up to 64 "
              "iterations"),
    ("turns", "a loop of 199 iterations has a loop-carried dependence; the vector target computes whole arrays, and "
              "unrolls at most 128 iterations: call the program for 128 of them at a time, or compile it for fpga or "
              "dataflow"),
])
def test_refused_programs_name_the_statement(what: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(VectorTargetError) as caught:
        compiler.compile(broken(what, tmp_path), target="vector")
    assert message in str(caught.value) and str(caught.value).startswith("statement '")


def test_as_many_turns_as_the_message_says(tmp_path: Path) -> None:
    path = tmp_path / "turns.c"
    path.write_text("void kernel(short z[129])\n{\n#pragma scop\nfor (int i = 1; i < 129; i++) z[i] = z[i - 1] * 3;\n"
                    "#pragma endscop\n}\n")
    compare(load_c(path))


@pytest.mark.parametrize("body", [
    "for (int i = 0; i < 8; i++) for (int j = 0; j < 8; j++) y[i][j] = x[i][j] % x[j][i] - 100 * x[i][j] / x[j][i];",
    "for (int i = 0; i < 24; i++) z[i] = x[i % 3][i / 3] * (i % 5) + i;",
    "for (int i = 0; i < 8; i++) for (int j = 0; j < 8; j++) y[j][i] = x[2 * (i / 2)][(i + 3 * j) % 4 + 1] - "
    "x[j % 2 * 3][j];",
    "for (int i = 0; i < 64; i++) z[i / 8] += x[i % 8][i / 8];",
    "for (int i = 3; i < 40; i += 3) z[i] = x[i % 2][i % 4] + x[(i + 1) / 2 % 3][7 - i % 7];",
    "for (int i = 0; i < 8; i++) for (int j = 0; j < 8; j++) for (int k = 0; k < 3; k++) "
    "y[i][j] += x[(i + k + 7) % 8][(j + 2 * k) % 8] * k;",
    "for (int i = 0; i < 200; i++) z[i] = x[i % 97 / 13][1];",
])
def test_indices_that_go_round(body: str, tmp_path: Path) -> None:
    """With one iterator, with several, into a sum, in steps, around the ends; and without, with divisions by what is
    read."""
    path = tmp_path / "round.c"
    path.write_text(f"void kernel(short x[8][8], short y[8][8], short z[200])\n{{\n#pragma scop\n{body}\n"
                    "#pragma endscop\n}\n")
    compare(load_c(path))


def test_a_statement_that_writes_again_and_again(tmp_path: Path) -> None:
    """The last write counts, as in the program."""
    compare(broken("again", tmp_path))


def test_errors_of_later_passes_name_the_line_of_the_program() -> None:
    with pytest.raises(VectorTargetError, match=r"matmul\.c:\d+"):
        compiler.compile(load_c(C / "matmul.c", N=8), target="vector", lanes=1, scratchpad=8)


def test_arrays_of_too_many_dimensions(tmp_path: Path) -> None:
    path = tmp_path / "deep.c"
    path.write_text("void kernel(short x[2][2][2][2][2][2][2], short y[4])\n{\n#pragma scop\n"
                    "for (int i = 0; i < 4; i++) y[i] = x[0][0][0][0][0][0][i / 2];\n#pragma endscop\n}\n")
    with pytest.raises(VectorTargetError, match="input x has 7 dimensions; the vector target has arrays of up to 6"):
        compiler.compile(load_c(path), target="vector")


def test_unknown_values() -> None:
    with pytest.raises(UnsupportedValue, match="values of type int40 are unsupported"):
        value_of(Const(1, Int(40)), lambda _: pa.as_array(1), lambda _: pa.as_array(1), {})


def test_a_bit_looks_up_one_of_two() -> None:
    table = Table("t", (7, -9), Int(8))
    for bit in (0, 1):
        found = value_of(Lookup("t", Const(bit, BIT), Int(8)), lambda _: pa.as_array(1), lambda _: pa.as_array(1),
                         {"t": table})
        value = compiler.evaluate(found + np.zeros(3, np.int8), {}, target="machine", lanes=1)
        assert value.tolist() == [table.values[bit]] * 3


@pytest.mark.parametrize(("name", "parameters", "kind"), [("fir", {"n": 9}, "ArrayProgram"), ("harris", {}, "Program")])
def test_applications_are_found(name: str, parameters: dict[str, Any], kind: str) -> None:
    assert type(load_any(name, **parameters)).__name__ == kind


EDGES = """
void edges(const unsigned char image[9][11], short blurred[9][11], short mirrored[9][11]) {
#pragma scop
  for (int y = 0; y < 9; y++)
    for (int x = 0; x < 11; x++) {
      blurred[y][x] = image[y > 0 ? y - 1 : 0][x] + image[y < 8 ? y + 1 : 8][x < 10 ? x + 1 : 10] - image[y][x];
      mirrored[y][x] = image[y < 5 ? y : 8 - y][x > 2 ? x - 2 : 2 - x] * 3;
    }
#pragma endscop
}
"""


def test_accesses_that_are_affine_in_parts() -> None:
    """Windows that repeat the edge are clamped arrays, and others come part by part."""
    program = parse_scop(EDGES, "edges.c")
    compare(program)
    compare(program, 1)
