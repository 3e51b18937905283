"""Compiled systolic arrays in RTL simulation: every choice of space loops, sizes at run time, memory that stalls."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from systolic_programs import kernel_app, scop

from compiler.bind.registry import compile_program
from compiler.bind.systolic.design import SystolicDesign
from compiler.bind.systolic.errors import MappingError
from compiler.bind.systolic.kernel import recognise
from compiler.cli.input_files import random_inputs
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.sched.space_time import enumerate_arrays
from hw.sim.simulate import StallProfile

MM = ({"I": 3, "J": 4, "K": 5}, {"I": 5, "J": 1, "K": 3})
CNN = ({"O": 3, "H": 2, "W": 3, "I": 3, "P": 2, "Q": 2},)
SPACES = [*(("mm", MM, tuple(space)) for space in ("i", "j", "k", "ij", "ik", "jk")),
          *(("cnn", CNN, tuple(space)) for space in ("o", "h", "w", "i", "oh", "ow", "oi", "hw", "hi", "wi"))]


def compiled(program: Program, **options: object) -> SystolicDesign:
    design = compile_program(program, "systolic", **options)
    assert isinstance(design, SystolicDesign)
    return design


def right(design: SystolicDesign, simulator: str, seed: int = 1, stall: float = 0.2) -> int:
    """Cycles of a run on random inputs, which is bit-exact."""
    inputs = random_inputs(design.program, seed)
    run = design.simulate(inputs, simulator, seed=seed, stall=StallProfile.uniform(stall) if stall else None)
    expected = interpret(design.program, inputs)
    for name, values in expected.items():
        np.testing.assert_array_equal(run.outputs[name], values)
    assert run.counters["steps"] == design.plan.steps
    return run.cycles


def test_the_arrays_are_all_that_there_are() -> None:
    for name in ("mm", "cnn"):
        found = enumerate_arrays(recognise(kernel_app(name)).analysis)
        assert {space for app, _, space in SPACES if app == name} == set(found)


@pytest.mark.parametrize(("name", "sizes", "space"), SPACES)
def test_every_array_is_right_for_several_sizes(name: str, sizes: tuple[dict[str, int], ...], space: tuple[str, ...]
                                                ) -> None:
    """2 x 2 elements; the extents are odd, smaller than a tile, and 1. One build runs all sizes, memory stalls."""
    design = compiled(kernel_app(name, **sizes[0]), space=space, array=(2, 2)[: len(space)], simd="off",
                      time={"i": 2, "k": 2} if name == "mm" else {"i": 2, "h": 2})
    right(design, "icarus")
    for other in sizes[1:]:
        right(design.for_sizes(kernel_app(name, **other)), "icarus", seed=2)


OTHERS = {
    "mttkrp over both axes": (kernel_app("mttkrp", I=2, J=3, K=3, L=3), {"space": "k,l", "simd": "i:2"}),
    "initial values, 16 bits": (kernel_app("fully_connected", N=3, O=3, I=5, DATA_BITS=16), {"bus_bits": 128}),
    "scaled before": (kernel_app("gemm", I=5, J=3, K=5), {"space": "k,i", "bus_bits": 32}),
    "scaled after, over both axes": (
        scop("for (int i = 0; i < 3; i++) { int16_t s = z[i] * 3; for (int k = 0; k < 3; k++) for (int j = 0; j < 3; "
             "j++) s += x[k] * y[j]; out[i] = s > 0 ? s >> 4 : -1; }",
             "const int8_t x[3], const int8_t y[3], const int8_t z[3], int8_t out[3]"), {"space": "k,j"}),
    "residual layer": (kernel_app("residual_layer", O=3, H=3, W=3, I=2, P=2, Q=2), {"space": "o,h", "simd": "v:2"}),
    "factors of sums over both axes": (
        scop("for (int i = 0; i < 3; i++) { int s = 0; for (int k = 0; k < 3; k++) for (int j = 0; j < 3; j++) "
             "s += x[k][i] * y[j]; out[i] = (s * f[i]) >> 4; }",
             "const int8_t x[3][3], const int8_t y[3], const uint8_t f[3], int16_t out[3]"), {"space": "k,j"}),
    "results of a triangle": (kernel_app("syrk", N=5, M=3), {"simd": "off"}),
    "quantised layer": (kernel_app("quantised_layer", N=3, O=3, I=5), {"simd": "i:2"}),
    "border of an image": (scop("for (int i = 0; i < 5; i++) { int s = 0; for (int p = 0; p < 3; p++) "
                                "if (i + p >= 1 && i + p < 6) s += x[i + p - 1] * w[p]; y[i] = s; }",
                                "const int8_t x[5], const int8_t w[3], int32_t y[5]"), {"space": "i", "array": "3"}),
    "guarded maximum": (scop("for (int i = 0; i < 3; i++) for (int j = 0; j < 3; j++) { m[i][j] = -30000; "
                             "for (int k = 0; k < 7; k++) { int s = x[i][k] + y[k][j]; "
                             "m[i][j] = m[i][j] > s ? m[i][j] : s; } }",
                             "const int8_t x[3][7], const int8_t y[7][3], int16_t m[3][3]"),
                        {"simd": "k:2", "time": "k:2"}),
}


@pytest.mark.parametrize(("name", "simulator"), [("mttkrp over both axes", "verilator"),
                                                 ("initial values, 16 bits", "icarus"),
                                                 ("scaled before", "icarus"), ("quantised layer", "verilator"),
                                                 ("scaled after, over both axes", "icarus"),
                                                 ("border of an image", "icarus"), ("results of a triangle", "icarus"),
                                                 ("residual layer", "icarus"),
                                                 ("factors of sums over both axes", "verilator"),
                                                 ("guarded maximum", "verilator")])
def test_other_kernels(name: str, simulator: str) -> None:
    program, options = OTHERS[name]
    right(compiled(program, **{"array": "2x2", **options}), simulator)


@pytest.mark.parametrize(("array", "buffered"), [("1x8", False), ("2x4", True)])
def test_start_to_done_is_close(array: str, buffered: bool, simulator: str) -> None:
    """Within 5 %, also where results have no room but in the PEs and leave one after the other (Wang 2021, 7.2)."""
    rows, columns = map(int, array.split("x"))
    design = compiled(kernel_app("mm", I=4 * rows, J=4 * columns, K=64), space="i,j", array=array, time="i:1,j:1,k:64",
                      simd="off", bus_bits=256, double_buffering=buffered)
    assert abs(design.predicted_start_to_done / right(design, simulator, stall=0) - 1) < 0.05


SIZES = [(8, 8, 8), (16, 16, 16), (32, 32, 32), (13, 17, 19), (1, 5, 3)]
LARGE = [(64, 64, 64), (33, 33, 33)]
SHAPES = {
    "4x4, lanes": {"array": "4x4", "simd": "k:4", "time": "i:4,k:8"},
    "2x8, tiles of one step": {"array": "2x8", "simd": "k:2"},
    "line of PEs": {"space": "i", "array": "4", "simd": "off", "time": "i:2,j:8,k:4"},
    "sums along rows": {"space": "i,k", "array": "2x4", "simd": "off", "time": "i:4,j:4,k:2"},
}


@pytest.mark.parametrize(("shape", "simulator"), [("4x4, lanes", "icarus"), ("4x4, lanes", "verilator"),
                                                  ("2x8, tiles of one step", "icarus"), ("line of PEs", "icarus"),
                                                  ("sums along rows", "icarus")])
def test_start_to_done_is_close_at_every_size(shape: str, simulator: str) -> None:
    """Within 5 % at small, odd and ragged sizes, on one build for each shape."""
    design = compiled(kernel_app("mm", I=8, J=8, K=8), **{"space": "i,j", **SHAPES[shape]})
    for i, j, k in (*SIZES, *(LARGE if simulator == "verilator" else ())):
        own = design.for_sizes(kernel_app("mm", I=i, J=j, K=k))
        assert own.predicted_start_to_done == pytest.approx(right(own, simulator, stall=0), rel=0.05), (i, j, k)


@pytest.mark.parametrize(("space", "array", "simd"), [
    ("i,j", "4x4", "k:4"), ("i,j", "8x4", "k:2"), ("i,j", "8x8", "off"), ("i", "16", "k:4")])
def test_the_port_is_busy_from_start_to_done(space: str, array: str, simd: str) -> None:
    """At most 1.10 times the bound, and 150 cycles, for a product of 32 x 32 bytes, whose results take 512 beats: steps
    begin when the first words are there."""
    design = compiled(kernel_app("mm", I=32, J=32, K=32), space=space, array=array, simd=simd)
    assert design.lower_bound == 512
    cycles = right(design, "icarus", stall=0)
    assert cycles <= 1.1 * design.lower_bound + 150
    assert design.predicted_start_to_done == pytest.approx(cycles, rel=0.05)


def test_memory_errors_end_the_run() -> None:
    design = compiled(kernel_app("mm", **MM[0]), space="i,j", array="2x2", simd="off", time={"i": 2, "k": 2})
    inputs = random_inputs(design.program, 1)
    (first, second), (result,) = ([array.name for array in side]
                                  for side in (design.program.inputs, design.program.outputs))
    hung = "the run ended with error WATCHDOG: nothing moved; streams"
    for fault, message in ((f"read {second}", "the run ended with a memory error while reading operands"),
                           (f"write {result}", "the run ended with a memory error while writing results"),
                           ("stuck ar", f"{hung} {first}, {second}, {result} have words left to move"),
                           ("stuck w", f"{hung} {result} have words left to move")):
        with pytest.raises(MappingError) as caught:
            design.simulate(inputs, "icarus", inject=fault)
        assert str(caught.value) == message
    right(design, "icarus", stall=0.0)


@given(st.data())
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
def test_random_kernels(data: st.DataObject) -> None:
    """Random subscripts, loop orders, extents, arrays and tiles."""
    draw = data.draw
    extents = {name: draw(st.integers(1, 5), label=name) for name in "ijk"}
    update = draw(st.sampled_from(["+= {}", "= y[i][j] > {0} ? y[i][j] : {0}"]))
    column = draw(st.sampled_from(["j", "j + k"]))
    body = f"x{draw(st.sampled_from(['[i + k]', '[2 * i + k]', '[k]']))} * w[k][{column}]"
    loops = " ".join(f"for (int {n} = 0; {n} < {extents[n]}; {n}++)" for n in draw(st.permutations("ijk")))
    program = scop(f"for (int i = 0; i < {extents['i']}; i++) for (int j = 0; j < {extents['j']}; j++) y[i][j] = -9;\n"
                   f"{loops} y[i][j] {update.format(body)};",
                   "const int8_t x[15], const int8_t w[5][10], int32_t y[5][5]")
    space = draw(st.sampled_from(enumerate_arrays(recognise(program).analysis)))
    right(compiled(program, space=space, array=[draw(st.integers(1, 3)) for _ in space],
                   time={name: draw(st.integers(1, 3)) for name in "ijk"}, simd=draw(st.sampled_from([None, "off"])),
                   double_buffering=draw(st.booleans())), "icarus", seed=draw(st.integers(0, 9)))


PRODUCT = ("for (int i = 0; i < 4; i++) for (int j = 0; j < 3; j++) { c[i][j] = 0; "
           "for (int k = 0; k < 5; k++) c[i][j] += a[i][k] * b[k][j]; }")

NAMED = {  # how many multipliers a PE names, each with all its registers
    "bytes, two lanes": (kernel_app("mm", I=5, J=4, K=6, DATA_BITS=8), {"simd": "k:2"}, 2),
    "16 bits": (kernel_app("mm", I=5, J=4, K=6, DATA_BITS=16), {"simd": "off"}, 1),
    "32 bits are more than one": (kernel_app("mm", I=3, J=3, K=4, DATA_BITS=32), {"simd": "off"}, 0),
    "without a sign": (scop(PRODUCT, "const uint16_t a[4][5], const uint8_t b[5][3], uint32_t c[4][3]"),
                       {"simd": "off"}, 1),
    "one with and one without": (scop(PRODUCT, "const int16_t a[4][5], const uint8_t b[5][3], int32_t c[4][3]"),
                                 {"simd": "off"}, 1),
}


@pytest.mark.parametrize("simulator", ["icarus", "verilator"])
@pytest.mark.parametrize("name", NAMED)
def test_multipliers_with_registers_of_their_own_do_the_same(name: str, simulator: str) -> None:
    """Beside the model of the primitive: the same results in the same cycles as Verilog for any FPGA."""
    program, options, multipliers = NAMED[name]
    both = [compiled(program, space="i,j", array="2x2", technology=technology, **options)
            for technology in (None, "ecp5")]
    counts = [text.count("MULT18X18D") for text in
              (design.executable.sources["systolic_pe.v"] for design in both)]
    assert counts == [0, multipliers]
    first, second = (right(design, simulator, stall=0.0) for design in both)
    assert first == second
