"""Systolic arrays of floating-point processing elements: bit for bit the program's sums, in its order, with memory that
stalls; steps that wait for the adder as long as predicted; what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from c_reference import call, compile_c
from driver_bench import DriverBench
from systolic_programs import scop

from compiler.bind.registry import compile_program
from compiler.bind.systolic.design import SystolicDesign
from compiler.bind.systolic.errors import MappingError
from compiler.bind.systolic.layout import result_places
from compiler.bind.systolic.text import parse_plan, print_plan
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import parse_scop
from compiler.ir.floating import same
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from hw.sim.simulate import StallProfile
from hw.systolic.layout import pack_results

KERNELS = Path(__file__).resolve().parents[1] / "apps" / "systolic"
PRODUCT = """
void f(const {t} A[{i}][{k}], const {t} B[{k}][{j}], {t} C[{i}][{j}]) {{
#pragma scop
  for (int i = 0; i < {i}; i++)
    for (int j = 0; j < {j}; j++) {{
      {t} sum = 0;
      for (int k = 0; k < {k}; k++)
        sum += A[i][k] * B[k][j];
      C[i][j] = sum;
    }}
#pragma endscop
}}
"""
GEMM = """for (int i = 0; i < 4; i++) {
    for (int j = 0; j < 5; j++) C[i][j] *= 1.5f;
    for (int k = 0; k < 3; k++)
      for (int j = 0; j < 5; j++) C[i][j] += 0.3f * A[i][k] * B[k][j];
  }"""
CNN = """for (int o = 0; o < 3; o++)
    for (int h = 0; h < 2; h++)
      for (int w = 0; w < 3; w++) {
        float sum = B[o];
        for (int i = 0; i < 2; i++)
          for (int p = 0; p < 2; p++)
            for (int q = 0; q < 2; q++) sum += X[i][h + p][w + q] * W[o][i][p][q];
        Y[o][h][w] = sum > 0 ? sum : 0;
      }"""
MIXED = """for (int i = 0; i < 3; i++)
    for (int j = 0; j < 4; j++) {
      float sum = -0.0f;
      for (int k = 0; k < 3; k++) sum -= (float)A[i][k] * (float)B[k][j];
      C[i][j] = sum;
    }"""

BORDER = """for (int i = 0; i < 4; i++)
    for (int j = 0; j < 5; j++) C[i][j] = 0.3f;
  for (int i = 1; i < 3; i++)
    for (int j = 0; j < 4; j++) {
      C[i][j] = 0.7f;
      for (int k = 0; k < 3; k++) C[i][j] += A[i][k] * B[k][j];
    }"""


CONDITION = """for (int i = 0; i < 3; i++) {
    float sum = 0;
    for (int k = 0; k < 4; k++)
      if (a[i][k] > 0) sum += a[i][k] * x[k];
    y[i] = sum;
  }"""


def product(i: int, j: int, k: int, kind: str = "float") -> Program:
    return parse_scop(PRODUCT.format(i=i, j=j, k=k, t=kind))


def gemm() -> Program:
    return scop(GEMM, "float C[4][5], const float A[4][3], const float B[3][5]")


def convolution() -> Program:
    return scop(CNN, "const float X[2][3][4], const float W[3][2][2][2], const float B[3], float Y[3][2][3]")


def mixed() -> Program:
    return scop(MIXED, "const _Float16 A[3][3], const __bf16 B[3][4], float C[3][4]")


def condition() -> Program:
    return scop(CONDITION, "const float a[3][4], const float x[4], float y[3]")


def compiled(program: Program, **options: object) -> SystolicDesign:
    design = compile_program(program, "systolic", **options)
    assert isinstance(design, SystolicDesign)
    return design


def special_inputs(program: Program, seed: int) -> dict[str, np.ndarray]:
    """Random numbers, among them zeros of both signs, and infinities that padding with zeros would turn into none."""
    random, found = np.random.default_rng(seed), random_inputs(program, seed)
    for values in found.values():
        chosen = random.random(values.shape)
        values[chosen < 0.15] = -0.0
        values[(chosen > 0.15) & (chosen < 0.25)] = 0.0
        values[chosen > 0.97] = np.inf
    return found


def right(design: SystolicDesign, simulator: str, seed: int = 1, stall: float = 0.0) -> Mapping[str, np.ndarray]:
    """The inputs of a run that is bit-exact and, without stalls, as long as predicted."""
    inputs = special_inputs(design.program, seed)
    run = design.simulate(inputs, simulator, seed=seed, stall=StallProfile.uniform(stall) if stall else None)
    for name, values in interpret(design.reference, inputs).items():
        assert same(run.outputs[name], values), name
    if not stall:
        assert abs(design.predicted_start_to_done - run.cycles) <= 0.05 * run.cycles
    return inputs


def test_a_product_is_that_of_the_program_for_several_sizes() -> None:
    """Steps wait for the adder; the last tile of k is padded; one build runs two sizes on each simulator."""
    design = compiled(product(4, 6, 5), space="i,j", array="2x2", time="i:2,j:2,k:2", simd="off")
    assert design.plan.spec.interval == 4 and design.choices["cycles per step"] == "4"
    larger = design.for_sizes(product(5, 3, 8))
    for simulator in ("icarus", "verilator"):
        right(design, simulator)
        right(larger, simulator, seed=2, stall=0.3)


def test_gcc_computes_the_same(tmp_path: Path) -> None:
    source = PRODUCT.format(i=3, j=5, k=7, t="float")
    design = compiled(parse_scop(source), space="j", array="2", simd="off", latency="add:4,mul:3")
    assert design.plan.spec.interval == 1
    inputs = right(design, "icarus")
    run = design.simulate(inputs, "icarus", stall=StallProfile.uniform(0.3))
    expected = np.empty((3, 5), np.float32)
    call(compile_c(tmp_path, {"f": source}), "f", [*map(np.ascontiguousarray, inputs.values()), expected])
    assert same(run.outputs["C"], expected)


@pytest.mark.parametrize(("program", "options"), [
    (product(3, 4, 3, "__bf16"), {"space": "i", "simd": "j:2", "latency": "add:5"}),
    (product(3, 4, 3, "_Float16"), {"space": "i,j", "array": "2x2", "order": "k,i,j"}),
    (gemm(), {"array": "2x2"}), (convolution(), {"space": "o,w", "array": "2x2"}), (mixed(), {"array": "2x2"}),
    (condition(), {"array": "2", "latency": "add:2,mul:2"}),
], ids=("bfloat16", "float16", "gemm", "convolution", "mixed", "condition"))
def test_formats_and_kernels(program: Program, options: dict[str, str]) -> None:
    """Starts from elements, functions of finished sums, factors, differences, conditions; outputs in lanes."""
    right(compiled(program, **options), "icarus", seed=3)


def test_drivers_lay_them_out(tmp_path: Path) -> None:
    """Elements, the number that sums start from, and elements that the array leaves alone."""
    program = scop(BORDER, "const float A[3][3], const float B[3][4], float C[4][5]")
    design = compiled(program, space="i,j", array="2x2", simd="off")
    inputs, bench = right(design, "icarus"), DriverBench(design, tmp_path)
    bench.packed(inputs)
    for address, content in design.executable.loads(inputs):
        assert bench.memory[address:][:len(content)].tobytes() == content
    place, bits = design.executable.places[-1], np.arange(20, dtype=np.uint32).reshape(4, 5)
    tiles = pack_results(design.plan.spec, bits.ravel()[result_places(design.plan, bits.shape)[0]][0])
    bench.memory[place.address:][:place.bytes] = np.frombuffer(tiles, np.uint8)
    found = bench.unpacked(inputs)["C"]
    np.testing.assert_array_equal(found[1:3, :4].view(np.uint32), bits[1:3, :4])
    assert (found[[0, 3]] == np.float32(0.3)).all() and (found[:, 4] == np.float32(0.3)).all()


def reassociated(program: Program, **options: object) -> SystolicDesign:
    design = compiled(program, reassociate=True, **options)
    assert design.reference is not program
    return design


def in_any_order(design: SystolicDesign, simulator: str, seed: int = 1) -> None:
    """Without stalls and with them, bit for bit what the design states; where no sum rounds, what the program says."""
    for stall in (0.0, 0.3):
        right(design, simulator, seed, stall)
    small = {name: np.round(values * 3) for name, values in random_inputs(design.program, seed).items()}
    for name, values in interpret(design.program, small).items():
        assert same(interpret(design.reference, small)[name], values)


def test_lanes_and_space_loops_add_in_the_order_that_the_design_states() -> None:
    """Three lanes, then two columns, then steps; -0 where k, of 7 iterations, ends."""
    design = reassociated(product(2, 3, 7), space="j,k", array="2x2", simd="k:3", time="i:2,k:1",
                          latency="add:3,mul:2")
    assert design.arrays == (("i",), ("j",), ("k",), ("i", "j"), ("i", "k"), ("j", "k"))
    in_any_order(design, "icarus")
    in_any_order(design, "verilator")
    inputs = random_inputs(design.program, 5)
    terms = [inputs["A"][:, k, None] * inputs["B"][k] for k in range(7)] + [np.full((2, 3), -0.0, np.float32)] * 5
    trees = [(terms[k] + terms[k + 1]) + terms[k + 2] for k in range(0, 12, 3)]
    wanted = ((np.float32(0) + trees[0]) + trees[1]) + (trees[2] + trees[3])
    assert same(interpret(design.reference, inputs)["C"], wanted)


BOTH = """for (int i = 0; i < 3; i++) {
    {t} sum = D[i];
    for (int k = 0; k < 4; k++)
      for (int l = 0; l < 3; l++) sum += A[i][k][l] * B[k][l];
    C[i] = sum;
  }"""


TURNS = """for (int i = 0; i < 3; i++) {
    float s = D[i];
    for (int k = 0; k < 19; k++) s += A[i][k] * B[k];
    C[i] = s > 0 ? s : s * 0.5f;
  }"""


def both(kind: str) -> Program:
    head = "const {t} A[3][4][3], const {t} B[4][3], const {t} D[3], {t} C[3]"
    return scop(BOTH.replace("{t}", kind), head.replace("{t}", kind))


@pytest.mark.parametrize(("program", "options"), [
    (both("float"), {"space": "k,l", "array": "2x2", "simd": "off", "latency": "add:2,mul:2"}),
    (both("__bf16"), {"space": "k,l", "array": "2x2", "time": "i:3", "latency": "add:5,mul:2"}),
    (both("_Float16"), {"space": "k", "array": "3", "simd": "l:3", "latency": "add:1,mul:1"}),
    (convolution(), {"space": "i,w", "array": "2x2", "simd": "q:2"}),
], ids=("both axes", "bfloat16", "float16", "convolution"))
def test_sums_over_the_array(program: Program, options: dict[str, str]) -> None:
    """Rows, then columns; sums begin with an element; formats; functions of finished sums."""
    in_any_order(reassociated(program, **options), "icarus", seed=3)


@pytest.mark.parametrize(("options", "parts"), [
    ({"space": "i", "array": "2", "simd": "off", "time": "k:4", "latency": "add:5,mul:2"}, 4),
    ({"space": "i,k", "array": "3x2", "simd": "k:2", "time": "k:4", "partial_sums": 2, "latency": "add:3,mul:2"}, 2),
], ids=("in PEs", "at the edge"))
def test_partial_sums_take_turns(options: dict[str, object], parts: int) -> None:
    """The first begins with an element, the others with -0, in the end they are added; then a function of the sum."""
    program = scop(TURNS, "const float A[3][19], const float B[19], const float D[3], float C[3]")
    design = reassociated(program, **options)
    assert design.plan.spec.result.parts == parts and design.choices["partial sums"] == str(parts)
    in_any_order(design, "icarus", seed=3)
    if parts == 4:
        right(design, "verilator", seed=4, stall=0.3)


def test_a_long_sum_takes_a_term_per_cycle() -> None:
    program = scop("for (int i = 0; i < 2; i++) { y[i] = 0; for (int k = 0; k < 64; k++) y[i] += a[i][k] * x[k]; }",
                   "const float a[2][64], const float x[64], float y[2]")
    plain = compiled(program, space="i", simd="off")
    parts = reassociated(program, space="i", simd="off")
    assert plain.plan.spec.interval == 13 and parts.plan.spec.interval == 1
    assert parts.predicted_cycles < 250 < 800 < plain.predicted_cycles


@pytest.mark.parametrize(("options", "message"), [
    ({"partial_sums": 2}, "partial_sums=2 adds floating-point numbers in another order than the program, which rounds "
     "otherwise; let sums change with reassociate=True"),
    ({"partial_sums": 3, "reassociate": True}, "partial_sums is 3, not a power of two"),
    ({"partial_sums": 4, "reassociate": True, "time": "k:2", "array": "2x2"}, "partial_sums=4 alternate in the "
     "innermost loop of a tile, a sum's, of a multiple of 4 steps; legal is time=k:4 and an order that ends with k"),
])
def test_partial_sums_that_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(MappingError) as error:
        compiled(product(4, 4, 4), **options)
    assert str(error.value) == message
    if "time" in options:
        compiled(product(4, 4, 4), **options | {"time": "k:4", "order": "i,j,k"})


def test_sums_that_keep_their_order_state_none() -> None:
    design = compiled(product(4, 4, 4), space="i,j", array="2x2", simd="off", reassociate=True)
    assert design.reference is design.program
    free = compiled(convolution(), space="o,w", array="2x2", time="p:2,q:1", simd="off", reassociate=True)
    assert free.reference is not free.program
    assert parse_plan(print_plan(free.plan)).spec == free.plan.spec


def test_tiles_are_chosen_in_which_no_step_waits() -> None:
    """As many outputs in turn as the adder takes cycles, where the program has them."""
    design = compiled(product(16, 16, 8))
    assert design.plan.spec.interval == 1 and design.plan.spec.result.words > design.plan.spec.result.latency
    assert design.arrays == (("i",), ("j",), ("i", "j"))


@pytest.mark.parametrize(("program", "options", "message"), [
    (product(4, 4, 4), {"space": "i,k"}, "statement 'S1' (scop.c:8): 'k' as a space loop would add floating-point "
     "numbers in another order than the program, which rounds otherwise; legal are i, j, or simd=off, or any with "
     "reassociate=True"),
    (product(4, 4, 4), {"simd": "k:2"}, "statement 'S1' (scop.c:8): 'k' as a loop in lanes would add floating-point "
     "numbers in another order than the program, which rounds otherwise; legal are i, j, or simd=off, or any with "
     "reassociate=True"),
    (convolution(), {"time": "p:2,q:1"}, "statement 'S1' (scop.c:10): these tiles and this order would add "
     "floating-point numbers in another order than the program, which rounds otherwise; keep i, p, q in this order, "
     "and cut only the first of them that has several steps into tiles, or let sums change with reassociate=True"),
])
def test_other_orders_of_terms_are_refused(program: Program, options: dict[str, str], message: str) -> None:
    with pytest.raises(MappingError) as error:
        compiled(program, **options)
    assert str(error.value) == message


LU = "#define N 4\n#define FLOAT_BITS 32\n" + (KERNELS / "lu.c").read_text()


def test_lu_is_gccs(tmp_path: Path) -> None:
    """Quotients, products and differences of a recurrence, with pipelined dividers; one build runs twice."""
    design = compile_program(parse_scop(LU), "systolic", space="j,k", latency="add:3,sub:3,mul:2,div:4")
    before = np.random.default_rng(4).standard_normal((4, 4)).astype(np.float32)
    wanted = before.copy()
    call(compile_c(tmp_path, {"lu": LU}), "lu", [wanted])
    for simulator in ("icarus", "verilator"):
        run = design.simulate({"A_in": before}, simulator)
        assert same(run.outputs["A"], wanted) and run.cycles == design.predicted_cycles
    assert same(design.simulate({"A_in": before}, "icarus", stall=StallProfile.uniform(0.3)).outputs["A"], wanted)
    assert design.resources["multipliers"] == 4 * 6 and design.resources["dividers"] == 3


@pytest.mark.parametrize(("body", "head"), [
    ("for (int i = 1; i < 6; i++) x[i] = x[i - 1] * 0.5f + x[i];", "float x[6]"),
    ("for (int i = 0; i < 3; i++) { m[i] = a[i][0]; for (int k = 1; k < 3; k++) "
     "m[i] = fmaxf(m[i], (float)a[i][k]); }", "const __bf16 a[3][3], float m[3]"),
], ids=("sweep", "maxima"))
def test_other_programs_are_recurrences(body: str, head: str) -> None:
    design = compile_program(scop(body, head), "systolic")
    inputs = special_inputs(design.program, 2)
    run = design.simulate(inputs, "icarus")
    for name, values in interpret(design.program, inputs).items():
        assert same(run.outputs[name], values), name


def test_what_is_refused() -> None:
    terms = scop("for (int i = 0; i < 4; i++) for (int k = 0; k < 4; k++) y[i] = y[i] + a[i][k] + a[i][k + 1];",
                 "const float a[4][5], float y[4]")
    with pytest.raises(MappingError) as error:
        compiled(terms, array="2")
    assert str(error.value) == (
        "option array is for reduction kernels, and program 'scop' is none: statement 'S0' (scop.c:4) accumulates "
        "floating-point numbers in another form than a sum of one term, x = x + e, whose order an array keeps; legal "
        "is to put the terms of an iteration in brackets, x = x + (a + b), which rounds otherwise")
    backwards = scop("for (int i = 0; i < 4; i++) { y[i] = 0; for (int k = 3; k >= 0; k--) y[i] += a[i][k]; }",
                     "const float a[4][4], float y[4]")
    right(compiled(backwards), "icarus")
