"""From C kernels to arrays: every plan computes what the program does, step by step in numpy."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest
from c_reference import FLAGS, call
from hypothesis import given, settings
from hypothesis import strategies as st
from systolic_programs import APPS, emulate, kernel_app, scop

from compiler.bind.registry import compile_program
from compiler.bind.systolic.choose import choose
from compiler.bind.systolic.design import SystolicDesign
from compiler.bind.systolic.groups import io_groups
from compiler.bind.systolic.kernel import recognise
from compiler.bind.systolic.options import Options
from compiler.bind.systolic.plan import Plan
from compiler.bind.systolic.simd import simd_loops
from compiler.bind.systolic.text import parse_plan, print_plan
from compiler.bind.systolic.timeline import follow_tiles, start_to_done
from compiler.bind.systolic.validate import validate_plan
from compiler.cli.input_files import random_inputs
from compiler.ir.evaluate import integer
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.sched.space_time import enumerate_arrays
from hw.main_memory import MainMemory
from hw.systolic.spec import EAST, INTERIOR, SOUTH

APPS_FOLDER = Path(__file__).resolve().parents[2] / "apps" / "systolic"
SMALL = {"mm": {"I": 5, "J": 4, "K": 7}, "mm_scalar": {"I": 3, "J": 5, "K": 2},
         "cnn": {"O": 3, "H": 2, "W": 3, "I": 2, "P": 2, "Q": 3}, "mttkrp": {"I": 3, "J": 2, "K": 3, "L": 5},
         "ttmc": {"I": 2, "J": 3, "K": 2, "L": 3, "M": 3}, "ttm": {"I": 2, "J": 3, "K": 3, "L": 5},
         "pointwise": {"O": 3, "H": 2, "W": 3, "I": 5}, "depthwise": {"C": 3, "H": 3, "W": 2, "P": 2, "Q": 3},
         "fully_connected": {"N": 3, "O": 2, "I": 5}, "gemm": {"I": 5, "J": 4, "K": 7},
         "quantised_layer": {"N": 3, "O": 2, "I": 5},
         "cnn_same": {"O": 2, "H": 4, "W": 3, "I": 2, "P": 3, "Q": 3}, "trmm": {"N": 5, "M": 3},
         "syrk": {"N": 5, "M": 4}, "residual_layer": {"O": 3, "H": 2, "W": 3, "I": 2, "P": 2, "Q": 2}}
IN_PLACE = ("fully_connected", "gemm", "syrk")


def design(program: Program, **options: object) -> SystolicDesign:
    found = compile_program(program, "systolic", **options)
    assert isinstance(found, SystolicDesign)
    return found


def check(plan: Plan) -> None:
    """The plan is proven, and computes what the interpreter does on random inputs."""
    validate_plan(plan)
    program = plan.kernel.program
    inputs = random_inputs(program, 7)
    expected = interpret(program, inputs)[plan.kernel.output]
    np.testing.assert_array_equal(emulate(plan, inputs).astype(expected.dtype), expected)


def every_array(program: Program, simd: str | None = None) -> int:
    kernel = recognise(program)
    spaces = enumerate_arrays(kernel.analysis)
    for space in spaces:
        check(choose(kernel, Options(space=space, array=(2, 2)[: len(space)], simd=simd)))
    return len(spaces)


@pytest.mark.parametrize("name", APPS)
def test_every_array_of_every_kernel_is_right(name: str) -> None:
    count = every_array(kernel_app(name, **SMALL[name]))
    six = ("mm", "mm_scalar", "depthwise", "fully_connected", "gemm", "quantised_layer", "trmm", "syrk")
    assert count == {"ttmc": 15, **dict.fromkeys(six, 6)}.get(name, 10)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    path = tmp_path_factory.mktemp("gcc") / "library.so"
    files = [APPS_FOLDER / f"{name}.c" for name in APPS if name not in IN_PLACE]
    subprocess.run(["gcc", *FLAGS, "-DI=3", "-DJ=4", "-DK=5", "-DL=2", "-DM=3", "-DDATA_BITS=16", "-o", path, *files],
                   check=True, capture_output=True)
    return ctypes.CDLL(str(path))


@pytest.mark.parametrize("name", [name for name in APPS if name not in IN_PLACE])
def test_arrays_compute_what_gcc_compiles(name: str, library: ctypes.CDLL) -> None:
    used = {"mm": "IJK", "mm_scalar": "IJK", "mttkrp": "IJKL", "ttmc": "IJKLM", "ttm": "IJKL",
            "trmm": "M"}.get(name, "I")
    used = "" if name == "depthwise" else used
    sizes = {"I": 3, "J": 4, "K": 5, "L": 2, "M": 3, "DATA_BITS": 16}
    program = kernel_app(name, **{key: value for key, value in sizes.items() if key in used or key == "DATA_BITS"})
    plan = choose(recognise(program), Options())
    inputs = random_inputs(program, 3)
    arguments = [np.ascontiguousarray(inputs[a.name].astype(f"i{a.type.width // 8}")) for a in program.inputs]
    out = np.zeros(program.outputs[0].shape, f"i{integer(program.outputs[0].type).width // 8}")
    call(library, name, [*arguments, out])
    np.testing.assert_array_equal(emulate(plan, inputs), out)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (7, 5, 3), (1, 13, 2), (2, 1, 11)])
def test_degenerate_and_prime_extents(sizes: tuple[int, int, int]) -> None:
    program = kernel_app("mm", **dict(zip("IJK", sizes, strict=True)))
    kernel = recognise(program)
    for space in enumerate_arrays(kernel.analysis):
        check(choose(kernel, Options(space=space, array=(3, 4)[: len(space)], time={"i": 2, "j": 1, "k": 3})))
        check(choose(kernel, Options(space=space, array=(3, 4)[: len(space)], simd="off")))


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_element_types(bits: int) -> None:
    program = kernel_app("mm", I=3, J=4, K=5, DATA_BITS=bits)
    assert str(program.outputs[0].type) == {8: "int32", 16: "int32", 32: "int64"}[bits]
    check(choose(recognise(program), Options(array="2x2")))


KERNELS = {
    "maximum": ("for (int i = 0; i < 5; i++) { m[i] = -32768; for (int k = 0; k < 7; k++) "
                "m[i] = m[i] > x[i][k] ? m[i] : x[i][k]; }", "const int16_t x[5][7], int16_t m[5]"),
    "product": ("for (int i = 0; i < 5; i++) { m[i] = 1; for (int k = 0; k < 7; k++) m[i] *= x[i][k] + 3; }",
                "const int8_t x[5][7], int32_t m[5]"),
    "sum of differences": ("for (int i = 0; i < 3; i++) for (int j = 0; j < 4; j++) { s[i][j] = 0; "
                           "for (int k = 0; k < 5; k++) { int d = x[i][k] - y[j][k]; s[i][j] += d < 0 ? -d : d; } }",
                           "const uint8_t x[3][5], const uint8_t y[4][5], int32_t s[3][4]"),
    "starts from 7": ("for (int i = 0; i < 3; i++) { s[i] = 7; for (int k = 0; k < 5; k++) s[i] += x[i][k]; }",
                      "const int8_t x[3][5], int16_t s[3]"),
    "in place": ("for (int k = 0; k < 5; k++) for (int i = 0; i < 3; i++) s[i] -= x[i][k] * c[0];",
                 "const int8_t x[3][5], const int8_t c[1], int16_t s[3]"),
    "no reduction": ("for (int i = 0; i < 5; i++) for (int j = 0; j < 3; j++) z[j][i] = 3 * x[i][j] - y[j];",
                     "const int8_t x[5][3], const int8_t y[3], int16_t z[3][5]"),
    "part of the output": ("for (int i = 0; i < 6; i++) s[i] = 5; for (int i = 1; i < 5; i++) "
                           "for (int k = 0; k < 3; k++) s[i] += x[i + k - 1];", "const int8_t x[6], int16_t s[6]"),
    "triangle": ("for (int i = 0; i < 5; i++) { s[i] = z[i]; for (int k = i; k < 5; k++) s[i] += x[i][k] * w[k]; }",
                 "const int8_t x[5][5], const int8_t w[5], const int8_t z[5], int32_t s[5]"),
    "band": ("for (int i = 0; i < 7; i++) { s[i] = 0; for (int k = 0; k < 7; k++) if (i - k <= 2 && k - i <= 1) "
             "s[i] += x[i][k] * w[k]; }", "const int8_t x[7][7], const int8_t w[7], int32_t s[7]"),
    "border of an image": ("for (int i = 0; i < 5; i++) for (int j = 0; j < 4; j++) { int s = 0; for (int p = 0; "
                           "p < 3; p++) for (int q = 0; q < 3; q++) if (i + p >= 1 && i + p < 6 && j + q >= 1 && "
                           "j + q < 5) s += x[i + p - 1][j + q - 1] * w[p][q]; y[i][j] = s; }",
                           "const int8_t x[5][4], const int8_t w[3][3], int32_t y[5][4]"),
    "conditions on data": ("for (int i = 0; i < 4; i++) { s[i] = 1; for (int k = 0; k < 5; k++) if (x[i][k] > w[k]) "
                           "s[i] += x[i][k]; else s[i] -= 2; }",
                           "const int8_t x[4][5], const int8_t w[5], int16_t s[4]"),
    "partial sums": ("int t[4][6]; for (int i = 0; i < 4; i++) { t[i][0] = x[i][0]; for (int k = 1; k < 6; k++) "
                     "t[i][k] = t[i][k - 1] + x[i][k]; s[i] = t[i][5]; }", "const int8_t x[4][6], int32_t s[4]"),
    "first term before the loop": ("for (int i = 0; i < 4; i++) { int t = x[i][0] * w[0]; for (int k = 1; k < 6; k++) "
                                   "t += x[i][k] * w[k]; s[i] = t; }",
                                   "const int8_t x[4][6], const int8_t w[6], int32_t s[4]"),
    "first term by a choice": ("for (int i = 0; i < 4; i++) for (int k = 0; k < 6; k++) s[i] = (k == 0 ? 0 : s[i]) + "
                               "x[i][k] * w[k];", "const int8_t x[4][6], const int8_t w[6], int32_t s[4]"),
    "constants": ("for (int i = 0; i < 4; i++) s[i] = 7;", "int32_t s[4]"),
    "backwards and strides": ("for (int i = 0; i < 5; i++) { s[4 - i] = 0; for (int k = 0; k < 3; k++) "
                              "s[4 - i] += x[2 * i + k] * w[2 - k]; }",
                              "const int8_t x[11], const int8_t w[3], int32_t s[5]"),
    "narrow accumulator": ("for (int i = 0; i < 3; i++) { int8_t a = 0; for (int k = 0; k < 5; k++) a += x[i][k]; "
                           "s[i] = a; }", "const int8_t x[3][5], int32_t s[3]"),
    "one element twice": ("for (int i = 0; i < 4; i++) { s[i] = 0; for (int k = 0; k < 4; k++) "
                          "s[i] += x[i][k] * x[k][i] + x[i][k]; }", "const int8_t x[4][4], int32_t s[4]"),
    "unrolled by hand": ("for (int i = 0; i < 3; i++) { int s = 0; for (int k = 0; k < 3; k++) { "
                         "s += x[i][2 * k] * w[k]; s += x[i][2 * k + 1]; } y[i] = s; }",
                         "const int8_t x[3][6], const int8_t w[3], int32_t y[3]"),
    "bias in the end": ("for (int o = 0; o < 3; o++) for (int h = 0; h < 4; h++) { int s = 0; for (int k = 0; k < 3; "
                        "k++) s += x[h + k] * w[o][k]; y[o][h] = b[o] + s; }",
                        "const int8_t x[6], const int8_t w[3][3], const int32_t b[3], int32_t y[3][4]"),
    "two stages of stencils": ("int t[7]; for (int i = 0; i < 7; i++) t[i] = x[i] + 2 * x[i + 1]; "
                               "for (int i = 0; i < 5; i++) s[i] = t[i] * t[i + 2] - t[i + 1];",
                               "const int8_t x[8], int32_t s[6]"),
    "results of a triangle": ("for (int i = 0; i < 5; i++) for (int j = i + 1; j < 6; j++) { s[i][j] = 32767; "
                              "for (int k = 0; k < 3; k++) { int16_t d = x[i][k] - x[j][k]; "
                              "s[i][j] = s[i][j] < d ? s[i][j] : d; } }",
                              "const int8_t x[6][3], int16_t s[6][6]"),
    "results of a triangle, constants elsewhere": (
        "for (int i = 0; i < 5; i++) for (int j = 0; j < 5; j++) { if (j <= i) { int t = 0; "
        "for (int k = 0; k < 3; k++) t += x[i][k] * y[j][k]; s[i][j] = t >> 2; } else s[i][j] = -128; }",
        "const int8_t x[5][3], const int8_t y[5][3], int16_t s[5][5]"),
    "sums under a condition": (
        "for (int i = 0; i < 5; i++) for (int j = 0; j < 5; j++) { s[i][j] = 0; if (j <= i) for (int k = 0; k < 3; "
        "k++) s[i][j] += x[i][k] * y[j][k]; }",
        "const int8_t x[5][3], const int8_t y[5][3], int32_t s[5][5]"),
    "a factor per channel, over both axes": (
        "for (int i = 0; i < 5; i++) { int t = 0; for (int j = 0; j < 3; j++) for (int k = 0; k < 4; k++) "
        "t += x[i][j] * y[k]; s[i] = (t * z[i] + x[i][0]) >> 3; }",
        "const int8_t x[5][3], const int8_t y[4], const int16_t z[5], int16_t s[5]"),
    "starts from two elements": (
        "for (int i = 0; i < 5; i++) { s[i] = x[i][0] > y[i] ? x[i][0] : y[i]; for (int k = 0; k < 3; k++) "
        "s[i] = x[i][k] > s[i] ? x[i][k] : s[i]; }", "const int8_t x[5][3], const int8_t y[5], int16_t s[5]"),
    "starts from one element, with another one added": (
        "for (int i = 0; i < 5; i++) { int t = y[i]; for (int k = 0; k < 3; k++) t += x[i][k]; t = t + z[i]; "
        "s[i] = t < 0 ? 0 : t; }", "const int8_t x[5][3], const int8_t y[5], const int8_t z[5], int16_t s[5]"),
    "one element added, scaled by another one": (
        "for (int i = 0; i < 5; i++) { int t = 0; for (int k = 0; k < 3; k++) t += x[i][k]; t = (t + y[i]) * z[i]; "
        "s[i] = t >> 2; }", "const int8_t x[5][3], const int8_t y[5], const int8_t z[5], int16_t s[5]"),
    "scalars of the caller": (
        "for (int i = 0; i < 3; i++) for (int j = 0; j < 4; j++) { s[i][j] *= b[0]; for (int k = 0; k < 5; k++) "
        "s[i][j] += a[0] * x[i][k] * y[k][j]; }",
        "const int32_t a[1], const int32_t b[1], const int8_t x[3][5], const int8_t y[5][4], int32_t s[3][4]"),
    "a triangle of scaled results": (
        "for (int i = 0; i < 5; i++) for (int j = i; j < 5; j++) { int t = 0; for (int k = 0; k < 3; k++) "
        "t += x[i][k] * x[j][k]; s[i][j] = t * z[j]; }",
        "const int8_t x[5][3], const int16_t z[5], int32_t s[5][5]"),
    "cut into tiles by hand": (
        "for (int i = 0; i < 5; i++) for (int j = 0; j < 4; j++) s[i][j] = 0; for (int p = 0; p < 5; p += 2) "
        "for (int q = 0; q < 6; q += 3) for (int i = p; i < (p + 2 < 5 ? p + 2 : 5); i++) for (int j = 0; j < 4; j++) "
        "for (int k = q; k < q + 3; k++) s[i][j] += x[i][k] * y[k][j];",
        "const int8_t x[5][6], const int8_t y[6][4], int32_t s[5][4]"),
    "some results without terms, scaled in place": (
        "for (int i = 0; i < 4; i++) for (int j = 0; j < 3; j++) { for (int k = i + 1; k < 4; k++) "
        "s[i][j] += x[k][i] * s[k][j]; s[i][j] = 3 * s[i][j]; }", "const int8_t x[4][4], int32_t s[4][3]"),
    "a single sum": ("s[0] = 0; for (int k = 0; k < 11; k++) s[0] += x[k] * y[k];",
                     "const int8_t x[11], const int8_t y[11], int32_t s[1]"),
}


@pytest.mark.parametrize("name", KERNELS)
def test_forms_of_kernels(name: str) -> None:
    assert every_array(scop(*KERNELS[name])) >= 1
    every_array(scop(*KERNELS[name]), simd="off")


@given(st.data())
@settings(max_examples=15, deadline=None)
def test_random_kernels(data: st.DataObject) -> None:
    """Random subscripts, loop orders, extents, arrays and tiles."""
    draw = data.draw
    extents = {name: draw(st.integers(1, 5), label=name) for name in "ijkl"}
    order = draw(st.permutations("ijkl"))
    stride = draw(st.integers(1, 2))
    subscript = draw(st.sampled_from(["[i + k][l]", f"[l][{stride} * i + k]", "[i][k + l]", "[k][i]"]))
    update = draw(st.sampled_from(["+= {}", "= y[i][j] > {0} ? y[i][j] : {0}", "^= {}"]))
    body = f"x{subscript} * w[{draw(st.sampled_from(['j', 'j + k']))}][l]"
    loops = " ".join(f"for (int {n} = 0; {n} < {extents[n]}; {n}++)" for n in order)
    text = (f"for (int i = 0; i < {extents['i']}; i++) for (int j = 0; j < {extents['j']}; j++) y[i][j] = -9;\n"
            f"{loops} y[i][j] {update.format(body)};")
    kernel = recognise(scop(text, "const int8_t x[15][15], const int8_t w[10][5], int32_t y[5][5]"))
    space = draw(st.sampled_from(enumerate_arrays(kernel.analysis)))
    simd = draw(st.sampled_from([None, "off"]))
    time = {name: draw(st.integers(1, 3)) for name in draw(st.sets(st.sampled_from("ijkl")))}
    check(choose(kernel, Options(space=space, array=[draw(st.integers(1, 3)) for _ in space], time=time, simd=simd,
                                 pack=draw(st.sampled_from([None, 1, 4])))))


def test_one_array_runs_other_sizes() -> None:
    first = design(kernel_app("cnn", O=4, H=4, W=4, I=4), array="2x2")
    for sizes in ({"O": 3, "H": 5, "W": 2, "I": 7}, {"O": 1, "H": 1, "W": 1, "I": 1, "P": 1, "Q": 1}):
        other = first.for_sizes(kernel_app("cnn", **sizes))
        assert other.plan.spec is first.plan.spec
        check(other.plan)


def test_plans_print_and_parse_back() -> None:
    plan = design(kernel_app("pointwise", **SMALL["pointwise"]), array="2x2", time="i:2").plan
    assert parse_plan(print_plan(plan)).spec == plan.spec
    assert print_plan(parse_plan(print_plan(plan))) == print_plan(plan)


def test_directions_follow_from_reuse() -> None:
    """MM design 4 and 5 of Wang 2021: both matrices pass through; with the reduction in space one of them cannot."""
    found = {space: {o.name: o.direction for o in choose(
        recognise(kernel_app("mm")), Options(space=space)).spec.operands} for space in (("i", "j"), ("i", "k"))}
    assert found == {("i", "j"): {"A": EAST, "B": SOUTH}, ("i", "k"): {"A": INTERIOR, "B": SOUTH}}


def test_io_groups_say_what_moves() -> None:
    groups = {g.name: g for g in io_groups(choose(recognise(kernel_app("mm", I=4, J=4, K=4)), Options(array="2x2")))}
    assert str(groups["A"]).startswith("read, exterior, east, from a feeder per row")
    assert str(groups["C"]) == "output, interior, from every element east and down the edge, kept while k step"
    assert groups["A"].copy_in.count_val().to_python() == 64
    assert groups["C"].copy_out.is_equal(type(groups["C"].copy_out)("{ S1[i, j, 3] : 0 <= i <= 3 and 0 <= j <= 3 }"))


def test_lanes_and_the_layout_they_need() -> None:
    found = simd_loops(recognise(kernel_app("mm")))
    assert (found["k"].moved, found["k"].repeated, found["k"].reason) == (("B",), (), "")
    assert found["i"].moved == ("A",)
    found = simd_loops(recognise(scop(*KERNELS["backwards and strides"])))
    assert found["i"].reason == "'x' has stride 2 along it"
    assert found["k"].repeated == ("x",)


def test_windows_share_elements() -> None:
    """A row of a convolution needs its window once, not once per tap."""
    plan = choose(recognise(kernel_app("cnn")), Options(space="o,i", array="2x2", simd="off",
                                                        time={"h": 4, "w": 4, "p": 3, "q": 3, "o": 1, "i": 1}))
    assert plan.spec.operands[0].words == 36


def test_the_model_of_a_design_is_its_prediction() -> None:
    found = design(kernel_app("mm"), array="2x2", simd="off")
    assert found.lower_bound == 16**3 // 4
    assert found.lower_bound < found.predicted_cycles < 1.2 * found.lower_bound
    assert found.resources["multipliers"] == 4
    assert found.arrays == (("i",), ("j",), ("k",), ("i", "j"), ("i", "k"), ("j", "k"))
    assert "mm as a systolic array" in found.report()


@pytest.mark.parametrize(("size", "lanes"), [(16, 2), (64, 4)])
def test_the_cheapest_array_that_is_as_fast(size: int, lanes: int) -> None:
    """Lanes for which memory is too slow are left out."""
    found = design(kernel_app("mm", I=size, J=size, K=size), space="i,j", array="4x4")
    assert found.plan.spec.lanes == lanes
    assert found.predicted_start_to_done <= 1.1 * found.lower_bound + 150


def test_what_limits_a_run_is_said() -> None:
    program = kernel_app("mm", I=16, J=16, K=16)
    waits = design(program, space="i,j", array="8x8", simd="k:4", time="i:1,j:1,k:4")
    wider = design(program, space="i,j", array="8x8", simd="k:4", time="i:1,j:1,k:4", bus_bits=128)
    assert wider.predicted_start_to_done < waits.predicted_start_to_done
    assert waits.choices["bound"] == ("by memory: 128 cycles; 128 bits would give "
                                      f"{wider.predicted_start_to_done} from start to done")
    assert design(program, array="2x2").choices["bound"] == "by operations: 256 cycles on 16 units"


def test_many_tiles_are_extrapolated() -> None:
    """Following fewer tiles gives what following all of them gives, within 2 %, whatever limits the run."""
    memory = MainMemory()
    for time in ({"i": 1, "j": 1, "k": 1}, {"i": 1, "j": 2, "k": 8}, {"i": 2, "j": 1, "k": 2}):
        plan = design(kernel_app("mm", I=16, J=24, K=32), space="i,j", array="2x2", simd="off", time=time).plan
        every = follow_tiles(plan.spec, plan.tiles, memory).done
        assert start_to_done(plan.spec, plan.tiles, memory) == pytest.approx(every, rel=0.02)


def test_loops_with_one_tile_fetch_nothing_again() -> None:
    spec = design(kernel_app("mm", I=8, J=8, K=8), space="i,j", array="2x2", simd="off").plan.spec
    a, b = spec.operands
    assert [spec.innermost(a, tiles) for tiles in ((2, 2, 2), (2, 2, 1), (1, 2, 1))] == [2, 0, -1]
    assert [spec.innermost(b, tiles) for tiles in ((2, 2, 2), (2, 2, 1), (2, 1, 1))] == [2, 1, -1]
