"""Two references of SA-C agree bit for bit: the graphs' interpreter, and C for the host, compiled by gcc."""

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_sac import Writer

from compiler.frontend.apps import sac_applications
from compiler.frontend.sac import SacProgram, SacRunError, load_sac, parse_sac, random_inputs
from compiler.frontend.sac.ddcf import interpret, parse_module, print_module, verify
from compiler.frontend.sac.host_c import compile_host, run_host


def on_the_host(program: SacProgram, inputs: list[np.ndarray], folder: Path) -> list[np.ndarray]:
    executable = compile_host(program.host_c(), folder)
    return run_host(executable, inputs, program.main.graph.inputs, program.main.result_types)


def outcome(run, *arguments) -> list[np.ndarray] | None:
    """Outputs, or None where there is no result."""
    try:
        return run(*arguments)
    except SacRunError:
        return None


def check(program: SacProgram, seed: int, extent: int, folder: Path) -> None:
    inputs = program.held(random_inputs(program, seed, extent))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wanted = outcome(interpret, program.module, program.main.name, inputs)
    found = outcome(on_the_host, program, inputs, folder)
    assert (wanted is None) == (found is None)
    for one, other in zip(wanted or (), found or (), strict=True):
        assert np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


@given(st.integers(0, 2**32))
@settings(max_examples=12)
def test_random_programs(seed):
    program = parse_sac(Writer(seed).program())
    verify(program.module)
    assert parse_module(print_module(program.module)) == program.module
    with TemporaryDirectory() as folder:
        check(program, seed, 4, Path(folder))


@pytest.mark.parametrize("name", sac_applications())
def test_applications(name, tmp_path):
    check(load_sac(sac_applications()[name]), 1, 12, tmp_path)


HAND = {
    "complex": """complex fix16.4[:] f (complex fix16.4 A[:]) return (
        for a in A return (array ((complex fix16.4)(a * a / make_complex ((fix16.4)2, (fix16.4)-1)))));""",
    "while": """uint32, uint32[:] f (uint8 n) {
        uint32 m = (uint32)n + 1;
        uint32 last, uint32 all[:] = while (m != 1) { next m = m % 2 == 0 ? m / 2 : m * 3 + 1; }
            return (final (m), array (m));
    } return (last, all);""",
    "structure": """uint8[:,:,:], uint8[:,:,:], uint8[:], uint8[:,:] f (uint8 A[:], uint8 B[3,2,2]) {
        uint8 X[:,:,:] = for a in A { uint8 T[2,3] = {{a-1,a,a+1},{a-2,a-1,a}}; } return (array (T));
        uint8 Y[:,:,:] = for b in B { uint8 T[2,2] = {{b,b+1},{b+2,b+3}}; } return (tile (T));
        uint8 Z[:] = for a in A at (uint8 i) { uint8 P[:] = A[0:(int16)i-1]; } return (concat (P));
    } return (X, Y, Z, array_conperim (Y[0,:,:], 1, 9));""",
    "extremes": """uint8[:,:], int8[:], int8 f (int8 A[:,:]) return (
        for a in A at (uint8 i, uint8 j) return (vals_at_maxs (a, {i, j}), vals_at_first_min (a, {a, a}, a != 0),
            vals_at_last_max (a, (int8)j)));""",
    "carried arrays": """uint8[:] f (uint3 n) {
        uint8 A[2] = {7, 8};
        uint8 B[:] = A;
        uint8 R[:] = for uint8 i in [n] { uint8 T[1] = {i}; next B = array_concat (B, T); } return (final (B));
    } return (R);""",
    "dots inside crosses": """uint8[:,:], uint32 f (uint8 A[:], uint8 C[:]) return (
        for a in A dot b in A cross uint8 c in [3] { uint32 i, uint32 j = loop_indices (); }
        return (array (a * b + c), sum (i * j)));""",
}


@pytest.mark.parametrize("name", HAND)
def test_constructs(name, tmp_path):
    for seed in range(3):
        check(parse_sac(HAND[name]), seed, 5, tmp_path)


def test_a_run_without_result_says_where(tmp_path):
    program = parse_sac("uint8 f (uint8 a, uint8 b) return (a / b);", "p.sc")
    with pytest.raises(SacRunError, match=r"^p\.sc:1:38: division by zero$"):
        on_the_host(program, [np.asarray(1), np.asarray(0)], tmp_path)
