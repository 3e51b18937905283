"""Sections as targets, and functions with several results: interpreter, host C and numpy agree."""

import numpy as np
import pytest

from compiler.frontend.sac import SacRunError, parse_sac
from compiler.frontend.sac.ddcf import interpret, parse_module, print_module, verify
from compiler.frontend.sac.host_c import compile_host, run_host
from compiler.ir.types import ProgramError


def run_twice(text: str, inputs: dict, folder) -> dict:
    """Results, equal on the interpreter, in C, and after all passes."""
    program = parse_sac(text, "p.sc")
    verify(program.module)
    assert parse_module(print_module(program.module)) == program.module
    held = program.held(inputs)
    wanted = interpret(program.module, program.main.name, held)
    executable = compile_host(program.host_c(), folder)
    found = run_host(executable, held, program.main.graph.inputs, program.main.result_types)
    after = program.optimised()[0]
    for one, *others in zip(wanted, found, interpret(after.module, after.main.name, held), strict=True):
        assert all(np.array_equal(one, other, equal_nan=one.dtype.kind == "f") for other in others)
    return program.results(wanted)


ARRAY = np.arange(20).reshape(4, 5)


@pytest.mark.parametrize("section, place", [
    ("1,2", (1, 2)), ("1,:", (1, slice(None))), (":,2", (slice(None), 2)), ("1:2,0:4:2", (slice(1, 3), slice(0, 5, 2))),
    ("2:,:1", (slice(2, None), slice(0, 2))),
])
def test_a_section_is_given_one_number(section, place, tmp_path):
    found = run_twice(f"uint8[:,:], uint8[:,:] f (uint8 A[:,:]) {{ uint8 B[:,:] = A; B[{section}] = 99; }} return "
                      f"(A, B);",
                      {"A": ARRAY}, tmp_path)
    wanted = ARRAY.copy()
    wanted[place] = 99
    assert np.array_equal(found["A"], ARRAY) and np.array_equal(found["B"], wanted)


def test_a_section_is_given_elements_which_are_cast(tmp_path):
    found = run_twice("uint8[:,:] f (uint8 A[:,:], int16 R[:]) { A[1,:] = R; A[2:3,1:2] = A[0:1,3:4]; } return (A);",
                      {"A": ARRAY, "R": [1, -1, 257, 3, 4]}, tmp_path)["A"]
    wanted = ARRAY.copy()
    wanted[1] = [1, 255, 1, 3, 4]
    wanted[2:4, 1:3] = wanted[0:2, 3:5]
    assert np.array_equal(found, wanted)


def test_what_was_read_before_is_as_it_was(tmp_path):
    found = run_twice("uint8, uint8 f (uint8 A[:]) { uint8 b = A[0]; A[0] = 7; } return (b, A[0]);", {"A": [3, 4]},
                      tmp_path)
    assert [int(v) for v in found.values()] == [3, 7]


def test_loops_carry_arrays_whose_elements_they_give(tmp_path):
    """Sums over prefixes in place."""
    found = run_twice("uint16[:] f (uint16 A[:], uint8 n) { uint16 R[:] = for uint8 i in [1~n] { next A[i] = A[i] + "
                      "A[i-1]; } return (final (A)); } return (R);", {"A": [1, 2, 3, 4], "n": 3}, tmp_path)["R"]
    assert found.tolist() == [1, 3, 6, 10]


def test_complex_elements(tmp_path):
    found = run_twice("complex fix16.4[:] f (complex fix16.4 A[:]) { A[1] = make_complex ((fix16.4)2, (fix16.4)-1); "
                      "A[0] = 3; } return (A);", {"A": [1j, 2j, 3j]}, tmp_path)
    assert next(iter(found.values())).tolist() == [3, 2 - 1j, 3j]


def test_in_every_iteration_of_a_loop(tmp_path):
    found = run_twice("uint8[:,:] f (uint8 A[:]) { uint8 R[:,:] = for a in A at (uint8 i) { uint8 T[3] = {a, a, a}; "
                      "T[i] "
                      "= 0; } return (array (T)); } return (R);", {"A": [5, 6, 7]}, tmp_path)["R"]
    assert found.tolist() == [[0, 5, 5], [6, 0, 6], [7, 7, 0]]


@pytest.mark.parametrize("text, message", [
    ("uint8[:] f (uint8 A[4]) { A[0:1] = A; } return (A);",
     "p.sc:1:27: the section of 'A' is uint8[2], and the value is uint8[4]: shapes differ"),
    ("uint8[:] f (uint8 A[:,:]) { A[0] = 1; } return (A[0,:]);", "p.sc:1:29: 1 subscripts of uint8[:,:], which has 2 "
                                                               "dimensions"),
    ("uint8[:] f (uint8 A[:], uint8 B[:,:]) { A[0:1] = B; } return (A);",
     "p.sc:1:41: the section of 'A' is uint8[2], and the value is uint8[:,:]: shapes differ"),
    ("uint8 f (uint8 A[:]) { uint8 s = for a in A { A[0] = 1; } return (sum (A[0])); } return (s);",
     "p.sc:1:47: 'A' is not defined in this body: elements are given only where the array is; a loop carries it: next "
     "A[...]"),
    ("uint8 f (uint8 A[:]) { B[0] = 1; } return (A[0]);", "p.sc:1:24: 'B' has no value here"),
    ("uint8 f (uint8 a) { a[0] = 1; } return (a);", "p.sc:1:21: 1 subscripts of uint8, which has 0 dimensions"),
    ("uint8 f (uint8 A[:]) { next A[0] = 1; } return (A[0]);",
     "p.sc:1:29: 'next A' is allowed only directly in the body of a loop"),
    ("uint8[:] f (uint8 A[:]) { A[0] = make_complex ((int8)1, (int8)2); } return (A);",
     "p.sc:1:27: the section of 'A' is declared uint8, and the value is complex int8: take real(...) or imag(...)"),
    ("uint8[:] f (uint8 A[:]) { A[0.5] = 1; } return (A);", "p.sc:1:29: an index is an integer, not double"),
])
def test_targets_that_are_none(text, message):
    with pytest.raises(ProgramError) as error:
        parse_sac(text, "p.sc")
    assert str(error.value) == message


@pytest.mark.parametrize("text, inputs, message", [
    ("uint8[:] f (uint8 A[:], uint8 i) { A[i] = 1; } return (A);", {"A": [1, 2], "i": 2},
     "p.sc:1:36: index 2 in dimension 0 of an array whose extent there is 2"),
    ("uint8[:] f (uint8 A[:], uint8 i) { A[0:i] = A; } return (A);", {"A": [1, 2, 3], "i": 1},
     "p.sc:1:36: a section of shape [2] is given elements of shape [3]"),
])
def test_targets_that_are_outside(text, inputs, message):
    with pytest.raises(SacRunError) as error:
        parse_sac(text, "p.sc").run(inputs)
    assert str(error.value) == message


def test_functions_with_several_results(tmp_path):
    text = """double[:], double[:], double[:], int32[:] f (double A[:]) {
        double R[:], double W[:], double F[:], int32 E[:] = for a in A {
            double rest, double whole = modf (a);
            double fraction, int32 exponent = frexp (a);
        } return (array (rest), array (whole), array (fraction), array (exponent));
    } return (R, W, F, E);"""
    given = np.array([0.0, 1.5, -2.75, 1e300, 3e-310, -0.0, 12345.678])
    found = run_twice(text, {"A": given}, tmp_path)
    wanted = [*np.modf(given), *np.frexp(given)]
    assert all(np.array_equal(one, other) for one, other in zip(found.values(), wanted, strict=True))


def test_windows_that_take_a_dimension_whole(tmp_path):
    """Hybrid of window and slice, as the thesis proposes it (section 2.4.1)."""
    found = run_twice("uint16[:] f (uint8 A[:,:]) { uint16 R[:] = for W[:,3] in A return (array (array_sum "
                      "((uint16[:,:])W))); } return (R);", {"A": ARRAY}, tmp_path)["R"]
    assert found.tolist() == [ARRAY[:, k:k + 3].sum() for k in range(3)]
