"""Loops on the window machine, on both simulators: results of the interpreter, words as the host's counts have them."""

from __future__ import annotations

import numpy as np
import pytest
from random_sac_loops import LoopWriter

from compiler.bind.window.application import WindowApplication, place_on_windows
from compiler.bind.window.errors import WindowError
from compiler.frontend.apps import sac_applications
from compiler.frontend.sac import SacProgram, load_sac, parse_sac, random_inputs
from compiler.frontend.sac.ddcf import interpret
from compiler.frontend.sac.dfg import run_on_dfgs

_ALL = ("all",)


def check(program: SacProgram, inputs: dict, simulator: str, memories: int = 1, passes=_ALL, **settings
          ) -> WindowApplication:
    """Run it; every word is read and written as `WindowLoop.traffic` says."""
    sized = program.with_extents({name: np.shape(value) for name, value in inputs.items() if np.ndim(value)})
    held = program.held(inputs)
    placed = place_on_windows(sized.optimised(list(passes))[0], memories)
    found = placed.simulate(held, simulator, **settings)
    for one, other in zip(interpret(program.module, program.main.name, held), found, strict=True):
        assert one.dtype == other.dtype and np.array_equal(one, other)
    for _, run in placed.runs:
        assert (run.reads - run.arguments, run.writes) == (run.traffic.reads, run.traffic.writes)
        assert run.cycles >= run.least_cycles
    return placed


def strip(bits: int, window: int, depth: int) -> SacProgram:
    return parse_sac(f"uint{bits}[:,:] main (uint{bits} A[:,:]) return (// PRAGMA (stripmine ({depth},3))\n"
                     f"for window W[{window},3] in A return (array (array_max (W))));")


def picture(bits: int, shape: tuple[int, int]) -> dict:
    return {"A": np.random.default_rng(bits).integers(0, 1 << bits, shape)}


@pytest.mark.parametrize(("bits", "memories", "stall", "simulator"), [
    (1, 1, 0.0, "icarus"), (2, 2, 0.0, "verilator"), (4, 1, 0.3, "icarus"), (8, 2, 0.3, "icarus"),
    (8, 2, 0.3, "verilator"), (16, 1, 0.0, "icarus"), (32, 2, 0.0, "icarus")])
def test_packed_words(bits, memories, stall, simulator):
    """Every width of elements, rows that end inside a word, memories that are not always ready."""
    placed = check(strip(bits, 2, 4), picture(bits, (8, 37)), simulator, memories, stall=stall)
    (_, run), *_ = placed.runs
    assert run.iterations == 2 * 35 and run.arguments == 7
    if not stall:  # two columns of each sweep fill the window; start, arguments, first and last words
        assert run.cycles <= run.least_cycles + 2 * 2 + 45


@pytest.mark.parametrize(("name", "simulator"), [
    ("prewitt", "icarus"), ("prewitt", "verilator"), ("combined_pair", "icarus"), ("dot_product", "icarus")])
def test_applications(name, simulator):
    """Roots, several generators, fixed point, sums."""
    program = load_sac(sac_applications()[f"sac/{name}"])
    inputs = random_inputs(program, 1, 80 if name == "dot_product" else 12)
    assert check(program, inputs, simulator, 1, ("inline", "tables", "inline", "cycle")).runs


@pytest.mark.parametrize("seed", [1, 4])
def test_random_loops(seed):
    """Any windows, steps and tiles, masks, reductions, several results."""
    program = parse_sac(LoopWriter(seed).strip(("stripmine",), known=False))
    size = 90 if program.inputs["A"].types[0].rank == 1 else 13
    placed = check(program, random_inputs(program, seed, size), "icarus", 1 + seed % 2, stall=0.3 * (seed == 1))
    assert placed.runs


_CARRIED = """int16[:], uint8, int20, uint8[:] main (int12 A[:], uint8 n) {
    uint8 c = n;
    int16 R[:], uint8 last, int20 s, uint8 T[:] =
        for a in A dot uint8 k in [3~40] {
            next c = c + k;
            uint8 P[2] = {k, c};
        } return (array ((int16)a * (a > 3 ? 2 : -1)), final (c), sum ((int20)a, k > 9), tile (P));
} return (R, last, s, T);"""


def test_carried_values(simulator):
    """Registers between iterations, scalars as arguments, numbers of a generator, masks, wide tiles."""
    program = parse_sac(_CARRIED)
    values = np.random.default_rng(0).integers(-2048, 2048, 38)
    check(program, {"A": values, "n": 5}, simulator)


_LABELS = """uint32[:], int9[:], uint16[:,:], int12[:], bool[:] main (uint4 A[:,:], int12 B[:,:], uint5 n) {
    uint32 H[:], int9 S[:], uint16 C[:,:], int12 L[:], bool X[:] =
        for window W[1,2] in A dot window V[1,2] in B
        return (histogram (W[0,0], 13, W[0,0] < n), accum (sum ((int9)V[0,0]), W[0,1], 16),
                accum (histogram (W[0,1], 16, W[0,0] < 3), W[0,0], 3), accum (min (V[0,1]), W[0,0], 16),
                accum (or (V[0,0] > 9, V[0,0] >= 0), V[0,1], 30));
} return (H, S, C, L, X);"""


@pytest.mark.parametrize(("simulator", "memories", "stall"), [("icarus", 1, 0.3), ("verilator", 2, 0.0)])
def test_labels(simulator, memories, stall):
    """Histograms and accumulations by label: any values, all equal, and labels outside results, which are dropped."""
    program = parse_sac(_LABELS)
    chance = np.random.default_rng(1)
    inputs = {"A": chance.integers(0, 16, (6, 22)), "B": chance.integers(0, 30, (6, 22)), "n": 13}
    placed = check(program, inputs, simulator, memories, stall=stall)
    (_, run), = placed.runs
    words = 13 + 8 + 3 * 16 + 8 + 1
    assert run.writes == words and run.least_cycles == 6 * 21 + words
    assert stall or run.cycles <= run.least_cycles + 6 + 15 + 45  # a column of each sweep; arguments; first, last words
    equal = {"A": np.full((6, 22), 3), "B": np.full((6, 22), 5), "n": 13}
    (_, same), = check(program, equal, simulator, memories, stall=stall).runs
    assert stall or same.cycles == run.cycles
    outside = program.held({**inputs, "B": inputs["B"] - 6, "n": 16})
    found = placed.simulate(outside, simulator, stall=stall)
    for one, other in zip(run_on_dfgs(placed.program.module, "main", outside), found, strict=True):
        assert np.array_equal(one, other)


_TABLES = """uint8[:], int12[:], int16 main (uint5 A[:], uint9 B[:], uint8 T[19], int12 S[3,5], uint5 n) {
    uint8 R[:], int12 Q[:], int16 s = for window W[2] in A dot b in B
        return (array (T[W[0] & n] + T[W[1] & 15]), array (S[W[0] & 1, W[1] & 3]), sum ((int16)S[2, W[0] >> 3]));
} return (R, Q, s);"""


@pytest.mark.parametrize(("simulator", "memories", "stall"), [("icarus", 1, 0.3), ("verilator", 2, 0.0)])
def test_tables(simulator, memories, stall):
    """Arrays that values index, each read once; what is outside is 0. Nothing reads B."""
    program = parse_sac(_TABLES)
    chance = np.random.default_rng(2)
    inputs = {"A": chance.integers(0, 32, 90), "B": np.zeros(89, int), "T": chance.integers(0, 256, 19),
              "S": chance.integers(-2048, 2048, (3, 5)), "n": 15}
    placed = check(program, inputs, simulator, memories, stall=stall)
    (_, run), = placed.runs
    assert run.traffic.reads == 23 + 5 + 3 * 3 and run.least_cycles >= 5 + 3 * 3 + 89
    outside = program.held({**inputs, "n": 31})
    found = placed.simulate(outside, simulator, stall=stall)
    for one, other in zip(run_on_dfgs(placed.program.module, "main", outside), found, strict=True):
        assert np.array_equal(one, other)


def test_no_iterations():
    """A loop of no windows leaves what reductions of nothing are."""
    program = parse_sac("int8[:], int12, uint32[:] main (int8 A[:]) {\n  int8 R[:], int12 m, uint32 H[:] = for "
                        "window W[5] in A return (array (W[0]), max ((int12)W[1]), histogram (W[2], 40));\n} "
                        "return (R, m, H);")
    held = program.held({"A": np.arange(3)})
    placed = place_on_windows(program)
    found = placed.simulate(held, "icarus")
    for one, other in zip(interpret(program.module, "main", held), found, strict=True):
        assert np.array_equal(one, other)
    assert len(placed.runs) == 1 and placed.runs[0][1].iterations == 0


def test_refusals():
    for result, reason in [
            ("histogram (a, n)", "HISTOGRAM_VALUES at program.sc:2:28: the number of its results is not known, and "
                                 "they need memory on chip; write it as a number"),
            ("histogram (a, 40000)", "it has 40000 results, and memory on chip is for 32768; divide labels by"),
            ("array (T[a & 15])", "AREF at program.sc:2:35: the extents of the array are not known, and it needs "
                                  "memory on chip; declare it with extents: uint8 T[64]"),
            ("array (U[a])", "the array has 1025 words, and memory within a cycle is for 1024; leave the loop")]:
        program = parse_sac("uint32[:] main (uint16 A[:], uint16 n, uint32 T[:], bool U[32769])\n"
                            f"return (for a in A return ({result}));")
        (_, obstacle), = place_on_windows(program.optimised(list(_ALL))[0]).host
        assert reason in obstacle.reason
    loop = place_on_windows(strip(32, 1, 1)).loops
    (machine,) = loop.values()
    with pytest.raises(WindowError, match="takes 500508 words of a memory of 262144; the pragma block"):
        machine.run([np.zeros((500, 1001), dtype=np.int64)], (500, 999))
    with pytest.raises(WindowError, match="has an extent of 70000, and the machine counts to 65535"):
        machine.run([np.zeros((1, 70000), dtype=np.int64)], (1, 69998))
