"""The systolic target from outside: refusals, translation validation, host code, design directories, command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from driver_bench import DriverBench
from systolic_emulator import run_array
from systolic_programs import emulate, kernel_app, scop

from compiler.bind.registry import compile_program
from compiler.bind.systolic.choose import choose
from compiler.bind.systolic.design import SystolicDesign
from compiler.bind.systolic.errors import KernelError, MappingError
from compiler.bind.systolic.kernel import recognise
from compiler.bind.systolic.layout import pack_result, to_tiles
from compiler.bind.systolic.options import Options
from compiler.bind.systolic.plan import Plan
from compiler.bind.systolic.text import parse_plan, print_plan
from compiler.bind.systolic.validate import validate_plan
from compiler.cli.input_files import random_inputs
from compiler.cli.main import main
from compiler.ir.interpret import interpret
from compiler.sched.space_time import SpaceTimeError
from compiler.sched.verify import ValidationError
from hw.boards.build import main as build
from hw.dataflow.spec import Operator
from hw.designs.registry import load_design
from hw.errors import SluiceError
from hw.systolic.layout import pack_results
from hw.systolic.spec import SOUTH, Address

MM = kernel_app("mm", I=5, J=4, K=6)


def design(program: Any = MM, **options: Any) -> SystolicDesign:
    found = compile_program(program, "systolic", **options)
    assert isinstance(found, SystolicDesign)
    return found


# What is refused.

OPTIONS = [
    ({"space": "i,z"}, "space loops ['i', 'z']: program 'mm' has no loop 'z'; legal are: i, j, k, ij, ik, jk"),
    ({"space": "i,i"}, "space names a loop twice: i, i"),
    ({"space": "i", "array": "2x2"}, "array has 2 extents for 1 space loops"),
    ({"array": "0x2"}, "array is '0x2'; write one or two numbers of at least 1, like 4x8"),
    ({"array": "2x2x2"}, "array is '2x2x2'; write one or two numbers of at least 1, like 4x8"),
    ({"time": "z:2"}, "time names 'z', which is no loop of program 'mm'; its loops are i, j, k"),
    ({"time": "i:0"}, "time is 'i:0'; write loops with numbers of at least 1, like i:2,k:8"),
    ({"order": "z"}, "order names 'z', which is no loop of program 'mm'; its loops are i, j, k"),
    ({"technology": "ecp6"}, "technology is 'ecp6', not one of generic, ecp5"),
    ({"simd": "k"}, "simd is 'k'; write a loop and a number of lanes, like k:4, or off"),
    ({"simd": "z:4"}, "simd names 'z', which is no loop of program 'mm'; its loops are i, j, k"),
    ({"pack": 3}, "pack is 3, not a power of two"),
    ({"bus_bits": 48}, "bus_bits is 48, not one of 32, 64, 128, 256, 512, 1024"),
    ({"double_buffering": 1}, "option double_buffering is 1, which is not of type bool"),
    ({"speed": 1}, "target systolic has no option 'speed'; there are: memory_latency, memory_bursts, space, array, "
                   "time, order, simd, pack, double_buffering, bus_bits, technology, latency, reassociate, "
                   "partial_sums, check"),
]


@pytest.mark.parametrize(("options", "message"), OPTIONS)
def test_options_that_fit_no_array(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SluiceError) as caught:
        design(**options)
    assert str(caught.value) == message


def test_loops_that_cannot_run_in_lanes() -> None:
    program = scop("for (int i = 0; i < 4; i++) { y[i] = 0; for (int k = 0; k < 3; k++) y[i] += x[2 * i + k]; }",
                   "const int8_t x[9], int32_t y[4]")
    with pytest.raises(MappingError) as caught:
        design(program, simd="i:2")
    assert str(caught.value) == "loop 'i' cannot run in lanes: 'x' has stride 2 along it; legal are: k"


KERNELS = [
    ("for (int i = 0; i < 4; i++) { y[i] = 0; for (int k = 0; k < 3; k++) y[i] += x[k] * i; }",
     "statement 'S1' (scop.c:4) uses the value of loop counter 'i'; a processing element computes from array elements "
     "and constants, so put the values into an array"),
    ("for (int i = 0; i < 4; i++) { y[i] = i; for (int k = 0; k < 3; k++) y[i] += x[k]; }",
     "statement 'S0' (scop.c:4) starts sums from its loop counters; a reduction kernel starts from a constant or from "
     "a function of one element of an input"),
    ("for (int i = 0; i < 4; i++) { y[i] = x[i] + i; for (int k = 0; k < 3; k++) y[i] += x[k]; }",
     "statement 'S0' (scop.c:4) uses the value of loop counter 'i'; before and after its sums a reduction kernel "
     "computes from elements and constants"),
    ("for (int i = 0; i < 2; i++) { y[i] = 0; for (int k = 0; k < 3; k++) y[i] += x[k]; y[3 - i] = y[i]; }",
     "statement 'S2' (scop.c:4) stores results of statement 'S1' (scop.c:4) in a second place of 'y'; a reduction "
     "kernel stores each of them once: legal is to copy them there outside the program"),
    ("for (int i = 0; i < 2; i++) { int s = 0; for (int k = 0; k < 3; k++) s += x[k]; y[i] = s; y[3 - i] = s; }",
     "results of statement 'S1' (scop.c:4) go to 2 places; a reduction kernel stores each of them once: legal is to "
     "copy them to the others outside the program"),
    ("for (int i = 0; i < 4; i++) { y[i] = 0; for (int k = 0; k < 3; k++) { y[i] += x[k]; v[i] += x[k + i]; } }",
     "program 'scop' accumulates in several statements (statement 'S1' (scop.c:4) and statement 'S2' (scop.c:4)); a "
     "reduction kernel has one: legal is a program for each"),
    ("for (int i = 0; i < 4; i++) { y[i] = x[i]; v[i] = x[i + 1]; }",
     "program 'scop' has several outputs ('y', 'v'); a reduction kernel has one: legal is a program for each"),
    ("y[0] = 3; for (int i = 1; i < 4; i++) { int s = 0; for (int k = 0; k < 3; k++) s += x[k]; y[i] = s * y[0]; }",
     "statement 'S3' (scop.c:4) combines results with 'y', which the program computes; a reduction kernel stores "
     "functions of single results and of elements of inputs"),
    ("for (int i = 0; i < 4; i++) { y[i] = 0; for (int k = 0; k < i; k++) y[i] += x[k]; }",
     "statement 'S1' (scop.c:4): its iterations are no box of constant bounds, which a reduction kernel needs unless "
     "zeros in place of elements that it never reads make up for the rest"),
    ("for (int i = 0; i < 4; i++) if (i != 2) y[i] = x[i] + 1;",
     "statement 'S0' (scop.c:4): its results are no box, triangle or other part of a box with affine bounds, which a "
     "reduction kernel needs"),
    ("int s[4]; for (int i = 0; i < 4; i++) s[i] = 7; for (int i = 0; i < 3; i++) for (int k = 0; k < 5; k++) "
     "s[i] += x[k]; for (int i = 0; i < 4; i++) y[i] = s[i];",
     "statement 'S2' (scop.c:4) stores other values than results of statement 'S1' (scop.c:4), too; a reduction kernel "
     "stores its results in a statement of their own"),
    ("for (int i = 0; i < 4; i++) { y[i] = 0; for (int k = 0; k < 3; k++) { y[i] += x[k]; y[i] *= x[k + 1]; } }",
     "statement 'S2' (scop.c:4) reads what the program computes and is no reduction 'x = x op e' with an op out of "
     "add, mul, and, or, xor, min, max"),
]


ENDS = [
    ("y[i] = z[i] * 3 - 1; for (int k = 0; k < 3; k++) y[i] += x[k];", True, False),
    ("int s = 0; for (int k = 0; k < 3; k++) s += x[k]; y[i] = s >> 3;", False, True),
    ("int s = 0; for (int k = 0; k < 3; k++) s += x[k]; s += z[i]; y[i] = s > 9 ? s : 9;", False, True),
    ("int s = x[i]; for (int k = 0; k < 3; k++) s += x[k]; y[i] = s + 1;", True, True),
    ("int16_t s = 0; for (int k = 0; k < 3; k++) s += x[k]; y[i] = s;", False, False),
    ("y[i] = 0; for (int k = 0; k < 3; k++) y[i] += x[k]; y[i] = y[i] > 0 ? y[i] : 0;", False, True),
    ("y[i] = z[i] - 4; for (int k = 0; k < 3; k++) y[i] = y[i] > x[k] ? y[i] : x[k];", True, False),
]


@pytest.mark.parametrize(("body", "start", "finish"), ENDS)
def test_functions_of_single_elements_before_and_after_the_sums(body: str, start: bool, finish: bool) -> None:
    program = scop(f"for (int i = 0; i < 4; i++) {{ {body} }}", "const int8_t x[6], const int32_t z[4], int32_t y[4]")
    kernel = recognise(program)
    assert ((kernel.start is not None), (kernel.finish is not None)) == (start, finish)
    plan = design(program, array=3).plan
    inputs = random_inputs(program, 5)
    np.testing.assert_array_equal(emulate(plan, inputs), interpret(program, inputs)["y"])


def test_the_checker_notices_another_function() -> None:
    plan = design(kernel_app("quantised_layer")).plan
    result = plan.spec.result
    assert result.conversion is not None
    body = tuple(replace(o, value=o.value + 1) if o.op == "const" else o for o in result.conversion.body)
    other = replace(plan, spec=replace(plan.spec, result=replace(result, conversion=replace(result.conversion,
                                                                                            body=body))))
    with pytest.raises(ValidationError, match="it does not store of results what statement"):
        validate_plan(other)
    operand = plan.spec.operands[-1]
    assert operand.conversion is not None
    negated = (*operand.conversion.body, Operator("neg", (len(operand.conversion.body) - 1,), operand.word))
    operands = *plan.spec.operands[:-1], replace(operand, conversion=replace(operand.conversion, body=negated))
    with pytest.raises(ValidationError, match="it does not start sums from what statement"):
        validate_plan(replace(plan, spec=replace(plan.spec, operands=operands)))


def test_the_checker_notices_elements_of_other_results() -> None:
    plan = choose(recognise(scop("for (int i = 0; i < 4; i++) { int s = 0; for (int k = 0; k < 3; k++) s += x[i + k]; "
                                 "y[i] = s * z[i]; }", "const int8_t x[6], const int8_t z[5], int32_t y[4]")),
                  Options(array="2", simd="off"))
    reference = plan.sources[-1].reference
    moved = replace(reference, subscripts=(replace(reference.subscripts[0], constant=1),))
    validate_plan(plan)
    with pytest.raises(ValidationError, match="no elements of 'z' that the program reads for its results come with"):
        validate_plan(replace(plan, kernel=replace(plan.kernel, extras=(moved,)),
                              sources=(*plan.sources[:-1], replace(plan.sources[-1], reference=moved))))
    result = plan.spec.result
    assert result.conversion is not None
    added = tuple(replace(o, op="add") if o.op == "mul" else o for o in result.conversion.body)
    with pytest.raises(ValidationError, match="it does not store of results what statement 'S2'"):
        validate_plan(replace(plan, spec=replace(plan.spec, result=replace(
            result, conversion=replace(result.conversion, body=added)))))


def test_sums_along_both_axes_need_a_start_that_adds_nothing() -> None:
    program = scop("for (int i = 0; i < 4; i++) { y[i] = z[i] | 1; for (int j = 0; j < 3; j++) "
                   "for (int k = 0; k < 3; k++) y[i] += x[j] * w[k]; }",
                   "const int8_t x[3], const int8_t w[3], const int32_t z[4], int32_t y[4]")
    with pytest.raises(MappingError) as caught:
        design(program, space="j,k", array="2x2")
    assert str(caught.value) == ("with sums along both axes of the array, what is computed from 'z' before they begin "
                                 "must leave them alone for some number; choose other space loops")


@pytest.mark.parametrize(("body", "message"), KERNELS)
def test_programs_that_are_no_reduction_kernels(body: str, message: str) -> None:
    with pytest.raises(KernelError) as caught:
        recognise(scop(body, "const int8_t x[6], const int32_t z[4], int32_t y[4], int32_t v[4]"))
    assert str(caught.value) == message


REFUSED = [
    ("for (int i = 0; i < 4; i++) y[i] = x[x[i] & 3];",
     "statement 'S1' (scop.c:4) reads 'x' at a place that depends on data: target systolic has affine addresses only; "
     "with others: dataflow, fpga, vector; or loop over all indices and use the one that is equal: for (k = 0; k < N; "
     "k++) if (k == INDEX) ..."),
    ("for (int i = 0; i < 4; i++) { y[i] = 0; for (int k = 0; k < 3; k++) y[i] += x[2 * k + i]; }",
     "program 'scop' has no legal space loop: along 'i' a read dependence of 'x' in statement 'S1' (scop.c:4) has "
     "distance 2; along 'k' a read dependence of 'x' in statement 'S1' (scop.c:4) runs backwards along it (distance "
     "-1); legal is a loop along which every flow and read dependence has distance 0 or 1"),
]


@pytest.mark.parametrize(("body", "message"), REFUSED)
def test_programs_without_an_array(body: str, message: str) -> None:
    with pytest.raises(SluiceError) as caught:
        design(scop(body, "const int8_t x[9], int32_t y[4]"))
    assert str(caught.value) == message


def test_chains_of_stencils_are_refused_before_they_explode() -> None:
    stages = [f"int t{k}[40]; for (int i = 0; i < {40 - 2 * k}; i++) t{k}[i] = {name}[i] * {name}[i + 1] ^ "
              f"{name}[i + 2];" for k, name in enumerate(["x", *(f"t{k}" for k in range(11))])]
    body = " ".join(stages) + " for (int i = 0; i < 4; i++) y[i] = t11[i];"
    with pytest.raises(SpaceTimeError, match=r"and it is no reduction kernel: statement 'S\d+' \(scop.c:4\): with what "
                       r"its temporaries are computed from, one iteration of program 'scop' takes over 512 operations, "
                       r"too many for a processing element; legal are fewer stages of stencils"):
        design(scop(body, "const int16_t x[64], int32_t y[4]"))


# Translation validation.


def changed(plan: Plan, operand: int, **values: Any) -> Plan:
    operands = list(plan.spec.operands)
    operands[operand] = replace(operands[operand], **values)
    return replace(plan, spec=replace(plan.spec, operands=tuple(operands)))


def split(plan: Plan, **values: Any) -> Plan:
    return replace(plan, splits=(replace(plan.splits[0], **values), *plan.splits[1:]))


MUTATIONS: dict[str, Callable[[Plan], Plan]] = {
    "an address": lambda p: changed(p, 0, address=Address((0, 0, 1), 1), words=9),
    "a step through the words": lambda p: changed(p, 1, address=Address(tuple(reversed(
        p.spec.operands[1].address.coefficients)))),
    "a direction": lambda p: changed(p, 0, direction=SOUTH),
    "tile loops": lambda p: changed(p, 0, tile_loops=(0,)),
    "a numbering of words": lambda p: replace(p, sources=(replace(p.sources[0], words=replace(
        p.sources[0].words, origin=(0, 1))), *p.sources[1:])),
    "a position": lambda p: split(p, axis=1),
    "steps": lambda p: split(p, time=1),
    "accumulators": lambda p: replace(p, spec=replace(p.spec, result=replace(
        p.spec.result, address=Address((1, 1, 0))))),
    "the operation": lambda p: replace(p, spec=replace(p.spec, result=replace(p.spec.result, combine="xor"))),
    "the body": lambda p: replace(p, spec=replace(p.spec, body=p.spec.body[:-1])),
    "operands exchanged": lambda p: replace(p, kernel=replace(p.kernel, reads=p.kernel.reads[::-1])),
}


@pytest.mark.parametrize("what", MUTATIONS)
def test_validation_finds_plans_that_are_wrong(what: str) -> None:
    plan = design(array="2x2", simd="off", time="i:2,j:2,k:4", check=False).plan
    validate_plan(plan)
    with pytest.raises((ValidationError, ValueError, IndexError)):
        validate_plan(MUTATIONS[what](plan))


def test_validation_finds_padding_without_a_guard() -> None:
    program = scop("for (int i = 0; i < 3; i++) { m[i] = -9; for (int k = 0; k < 5; k++) "
                   "m[i] = m[i] > x[i][k] ? m[i] : x[i][k]; }", "const int8_t x[3][5], int8_t m[3]")
    plan = design(program, time="k:2", simd="off").plan
    assert [guard.name for guard in plan.spec.guards] == ["k"]
    with pytest.raises(ValidationError, match=r"padding changes a result at i=0, k=5 \(row 0, column \d\)"):
        validate_plan(replace(plan, spec=replace(plan.spec, guards=())))


def test_sums_of_products_need_no_guard() -> None:
    assert design(time="k:4").plan.spec.guards == ()


def test_large_arrays_are_validated_by_samples() -> None:
    plan = choose(recognise(kernel_app("mm", I=1024, J=1024, K=1024, DATA_BITS=16)),
                  Options(array="16x16", simd="k:32", time="i:4,j:4,k:8", bus_bits=512))
    validate_plan(plan)
    with pytest.raises(ValidationError, match="operand A is not the element that the program reads"):
        validate_plan(changed(plan, 0, address=Address((8, 0, 0))))


@pytest.mark.parametrize(("text", "message"), [
    ("{", "this is no plan of a systolic array ('sluice systolic plan 1')"),
    ("[]", "this is no plan of a systolic array ('sluice systolic plan 1')"),
    ('{"format": "sluice systolic plan 1"}', "the plan lacks something, or has something too much: 'program'"),
])
def test_texts_that_are_no_plans(text: str, message: str) -> None:
    with pytest.raises(MappingError) as caught:
        parse_plan(text)
    assert str(caught.value) == message


def test_a_plan_whose_array_was_edited() -> None:
    text = print_plan(design(array="2x2").plan).replace('"rows": 2', '"rows": 3')
    with pytest.raises(MappingError, match="the plan's array does not follow from its program and choices"):
        parse_plan(text)


def test_arrays_do_not_run_other_programs() -> None:
    with pytest.raises(MappingError, match="cannot run program 'mm_scalar': its body differ"):
        design(kernel_app("mm", I=4, J=4, K=4)).for_sizes(kernel_app("mm_scalar"))


# The host's side.


@pytest.mark.parametrize(("name", "options"), [
    ("pointwise", {"array": "2x2"}), ("mm", {"space": "i,k", "array": "2x2"}), ("depthwise", {"array": "2x2"}),
    ("mttkrp", {"space": "k,l", "array": "2x2", "simd": "j:2"}),
    ("trmm", {"array": "2x2"}), ("syrk", {"array": "2x2"}), ("cnn_same", {"space": "o,h", "array": "2x2"}),
    ("residual_layer", {"space": "o,h", "array": "2x2", "simd": "v:2"}),
    ("mm", {"array": "2x3", "simd": "k:8", "time": "i:2,j:2", "bus_bits": 256}),
])
def test_the_driver_packs_and_unpacks(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    """The C driver, compiled, with memory in which the results lie already."""
    found = design(kernel_app(name), **options)
    program, executable = found.program, found.executable
    inputs = random_inputs(program, 4)
    bench = DriverBench(found, tmp_path)
    bench.packed(inputs)
    for (address, content), operand in zip(executable.loads(inputs), found.plan.spec.streams, strict=True):
        assert bench.memory[address : address + len(content)].tobytes() == content, operand.name
    results, place = _result_bytes(found.plan, inputs), executable.places[-1]
    bench.memory[place.address : place.address + place.bytes] = np.frombuffer(results, np.uint8)
    result = program.outputs[0]
    np.testing.assert_array_equal(bench.unpacked(inputs)[result.name], interpret(program, inputs)[result.name])


def _result_bytes(plan: Plan, inputs: dict[str, np.ndarray]) -> bytes:
    """Results as the hardware leaves them in memory."""
    tiles = [to_tiles(plan, n, None if s.reference.array is None else inputs[s.reference.array])
             for n, s in enumerate(plan.sources)]
    return b"".join(pack_results(plan.spec, tile) for tile in run_array(plan.spec, plan.tiles, tiles, []))


def test_design_directories_are_built_for_boards(tmp_path: Path) -> None:
    found = design(kernel_app("mm", I=4, J=4, K=4), array="2x2", simd="off", time="k:4,i:2,j:2")
    inputs = random_inputs(found.program, 1)
    found.emit(tmp_path / "design", inputs)
    loaded = load_design(str(tmp_path / "design"), None, None)
    assert loaded.registers.addresses == found.executable.registers.addresses
    assert loaded.image.plan == tuple(found.executable.writes())
    assert loaded.image.outputs[0].crc32 is not None
    assert parse_plan((tmp_path / "design" / "plan.json").read_text()).spec == found.plan.spec
    assert build(["--design", str(tmp_path / "design"), "--board", "ulx3s-25f", "-o", str(tmp_path / "board")]) == 0


def test_checksums_only_of_results_that_fill_their_tiles() -> None:
    plan = design(array="2x2").plan
    assert pack_result(plan, np.zeros((5, 4), np.int64)) is None


def test_the_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    app = str(Path(__file__).resolve().parents[2] / "apps" / "systolic" / "mm.c")
    common = [app, "--target", "systolic", "--simulator", "none", "--random", "1"]
    assert main([*common, "--set", "I=6", "--option", "array=2x3", "--report", str(tmp_path)]) == 0
    assert "mm on the systolic array" in capsys.readouterr().out
    assert (tmp_path / "report.html").exists()
    assert main([*common, "--option", "space=q"]) == 1
    assert capsys.readouterr().err.startswith("error: space loops ['q']: program 'mm' has no loop 'q'")


def test_recurrences_go_to_arrays_of_their_own() -> None:
    program = scop("for (int i = 0; i < 4; i++) y[i] = i < 1 ? x[i] : y[i - 1] + x[i];",
                   "const int32_t x[4], int32_t y[4]")
    assert not isinstance(compile_program(program, "systolic"), SystolicDesign)
    with pytest.raises(MappingError, match="option simd is for reduction kernels, and program 'scop' is none: "):
        compile_program(program, "systolic", simd="off")


def test_emulation_is_not_given_away_by_the_planner() -> None:
    """The executions that tests compare with can fail."""
    plan = design(array="2x2", simd="off", time="i:2,j:2,k:4").plan
    inputs = random_inputs(plan.kernel.program, 2)
    wrong = changed(plan, 0, address=Address((0, 0, 1)))
    assert (emulate(wrong, inputs) != interpret(plan.kernel.program, inputs)["C"]).any()
