"""Passes keep what programs compute, and make of them what they are for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_sac import Writer

from compiler.frontend.apps import sac_applications
from compiler.frontend.sac import SacError, SacProgram, SacRunError, load_sac, parse_sac, random_inputs
from compiler.frontend.sac.ddcf import Module, interpret, parse_module, print_module, verify
from compiler.frontend.sac.host_c import compile_host, emit_c, run_host
from compiler.frontend.sac.passes import PASSES, count_nodes, optimise
from compiler.ir.types import ProgramError


def outcome(module: Module, name: str, inputs: list[np.ndarray]) -> list[np.ndarray] | None:
    try:
        return interpret(module, name, inputs)
    except SacRunError:
        return None


def check(program: SacProgram, passes: list[str] | None, seed: int, extent: int = 4) -> None:
    """A run has the results after the passes that it had before. One that had none may have some: what failed may have
    been of no use."""
    inputs = program.held(random_inputs(program, seed, extent))
    wanted = outcome(program.module, program.main.name, inputs)
    try:
        module = optimise(program.module, program.main.name, passes).module
    except SacError:
        assert wanted is None  # an error of the run that is known before it
        return
    assert parse_module(print_module(module)) == module
    if wanted is not None:
        found = interpret(module, program.main.name, inputs)
        for one, other in zip(wanted, found, strict=True):
            assert np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


@given(st.integers(0, 2**32))
@settings(max_examples=15)
def test_all_passes_together(seed):
    check(parse_sac(Writer(seed).program()), None, seed)


@pytest.mark.parametrize("name", PASSES)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=5)
def test_each_pass_alone(name, seed):
    check(parse_sac(Writer(seed).program()), [name], seed)


@pytest.mark.parametrize("name", sac_applications())
def test_applications(name):
    check(load_sac(sac_applications()[name]), None, 3, 9)


def optimised(text: str) -> Module:
    program = parse_sac(text)
    return optimise(program.module, program.main.name).module


def test_prewitt_needs_eight_pixels_and_no_products_with_its_masks():
    """Hammes 2000, section 7.3.2: after unrolling, the masks' elements are known."""
    program = load_sac(sac_applications()["sac/prewitt"])
    before, after = count_nodes(program.module), count_nodes(optimise(program.module, "prewitt").module)
    assert before["FORALL"] == 2 and after["FORALL"] == 1
    assert after["AREF"] == 8
    assert after["MUL"] == 2  # the squares of the gradient
    assert "FCALL" not in after and "ARR_DEF" not in after


def test_sums_of_known_arrays_are_side_by_side():
    module = optimised("uint16 f (uint8 A[4]) return (for a in A return (sum ((uint16)a)));")
    assert count_nodes(module) == {"AREF": 4, "CAST": 4, "SUM_MANY": 1}


def test_loops_with_a_pragma_and_large_ones_stay():
    kept = "uint16 f (uint8 A[4]) return (\n// PRAGMA (no_unroll)\nfor a in A return (sum ((uint16)a)));"
    assert count_nodes(optimised(kept))["FORALL"] == 1
    assert count_nodes(optimised("uint16 f (uint8 A[100]) return (array_sum ((uint16[:])A));"))["FORALL"] == 1


def test_extents_follow_from_windows():
    """A 7x7 convolution: the kernel's extents are those of the window."""
    module = optimised("""uint8[:,:] f (uint8 Image[20,30]) {
        uint8 R[:,:] = for window W[7,7] in Image step (1,2) return (array (array_max (W)));
    } return (R);""")
    assert "%0: uint8[14,12] = FORALL(^0)" in print_module(module)


def test_shapes_that_are_known_to_differ_are_errors():
    program = parse_sac("""uint8 f (uint8 A[3], uint8 B[:]) return (g (A, B[0:4]));
        uint8 g (uint8 X[:], uint8 Y[:]) return (for x in X dot y in Y return (sum (x * y)));""", "p.sc")
    with pytest.raises(SacError) as error:
        optimise(program.module, "f")
    assert str(error.value) == ("p.sc:2:54: generators that are joined by dot have equal shapes, and these have "
                                "extents 3 and 5 in dimension 0")


@pytest.mark.parametrize("expression, kinds", [
    ("a + 0", {}), ("a * 1", {}), ("0 * a", {}), ("a * 8", {"LEFT_SHIFT": 1}), ("a / 4", {"RIGHT_SHIFT": 1}),
    ("a & (uint8)255", {}), ("(uint8)(3 + 4) - 7 + a", {}), ("true ? a : (uint8)1", {}), ("a / 3", {"DIV": 1}),
    ("(a + 1) * (a + 1)", {"ADD": 1, "MUL": 1}),
])
def test_identities(expression, kinds):
    assert count_nodes(optimised(f"uint8 f (uint8 a) return ({expression});")) == kinds


MAGNITUDE = """// PRAGMA (lookup)
ufix10.5 magnitude (ufix4.1 a, ufix4.1 b) return (sqrt ((ufix10.2)a * a + (ufix10.2)b * b));
ufix10.5[:] main (ufix4.1 A[:], ufix4.1 B[:]) return (for a in A dot b in B return (array (magnitude (a, b))));"""


def test_tables_hold_all_values_of_a_function():
    """The example of Hammes 2000, section 4.1.5."""
    program = parse_sac(MAGNITUDE)
    after, done = program.optimised()
    assert done.changes["tables"] == 1
    counts = count_nodes(after.module)
    assert "INTRINSIC" not in counts and "FCALL" not in counts
    table = next(node for node in after.module.function("main").graph.walk() if node.kind == "ARR_DEF")
    assert table.outputs[0].extents == (16, 16)
    a, b = (part.ravel() / 2 for part in np.indices((16, 16)))
    found = after.run({"A": a, "B": b})["result1"]
    assert np.array_equal(found, program.run({"A": a, "B": b})["result1"])
    assert np.array_equal(found, np.floor(np.sqrt(a * a + b * b) * 32) / 32)


@pytest.mark.parametrize("function, reason", [
    ("uint8 g (uint8 a, uint7 b) return (a)", "its parameters have 15 bits; a table has at most 14"),
    ("uint8 g (float a) return (1)", "a parameter or result is a floating-point number"),
    ("uint8 g (uint8 a[:]) return (a[0])", "a parameter or result is an array"),
    ("uint8, uint8 g (uint8 a) return (a, a)", "it has 2 results, and a table has one"),
    ("uint8 g () return (1)", "it has no parameter"),
    ("uint8 g (uint8 a) return (1 / a)", "it has no value everywhere (p.sc:2:29: division by zero)"),
])
def test_functions_that_are_no_tables(function, reason):
    program = parse_sac(f"// PRAGMA (lookup)\n{function};\nuint8 main (uint8 x) return (x);", "p.sc")
    with pytest.raises(SacError) as error:
        optimise(program.module, "main", ["tables"])
    assert str(error.value) == f"p.sc:1:1: 'g' is no table: {reason}"


def test_a_pass_that_does_not_exist():
    program = load_sac(sac_applications()["sac/median"])
    with pytest.raises(ProgramError) as error:
        optimise(program.module, "main", ["turbo"])
    known = ", ".join(PASSES)
    assert str(error.value) == (f"there is no pass 'turbo'; there are: {known}, and cycle, separate, "
                                "cycle_inner, separate_inner, all, most")


def test_what_was_optimised_runs_on_the_host(tmp_path):
    """Unrolled reductions, in C as by the interpreter."""
    text = """uint16, uint8, uint8, uint8 f (uint8 A[5], bool M[5]) {
        uint16 s, uint8 m, uint8 d = for a in A dot m in M return (sum ((uint16)a, m), max (a, m), median (a));
    } return (s, m, d, array_mode (A, M));"""
    program = parse_sac(text)
    module = optimise(program.module, "f").module
    verify(module)
    assert count_nodes(module)["MODE_MANY"] == 1
    main = module.function("f")
    executable = compile_host(emit_c(module, main, 1000), tmp_path)
    for seed in range(5):
        inputs = program.held(random_inputs(program, seed))
        found = run_host(executable, inputs, main.graph.inputs, main.result_types)
        assert [int(v) for v in found] == [int(v) for v in interpret(program.module, "f", inputs)]
