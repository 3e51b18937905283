"""Passes over loops: they keep what programs compute, do what they are for, and say why they leave a loop."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_sac_loops import LoopWriter

from compiler.frontend.sac import SacProgram, parse_sac, random_inputs
from compiler.frontend.sac.ddcf import interpret, parse_module, print_module
from compiler.frontend.sac.passes import Optimised, count_nodes, optimise


def same(program: SacProgram, passes: list[str] | None, seed: int) -> Optimised:
    """Runs the program before and after passes on random inputs."""
    done = optimise(program.module, program.main.name, passes)
    assert parse_module(print_module(done.module)) == done.module
    inputs = program.held(random_inputs(program, seed, 6))
    wanted = interpret(program.module, program.main.name, inputs)
    found = interpret(done.module, program.main.name, inputs)
    for one, other in zip(wanted, found, strict=True):
        assert one.shape == other.shape and np.array_equal(one, other)
    return done


def did(done: Optimised, name: str) -> list[str]:
    return [note.text for note in done.notes if note.name == name and note.done]


def refused(text: str, name: str, passes: list[str] | None = None) -> str:
    program = parse_sac(text, "p.sc")
    done = optimise(program.module, program.main.name, passes or [name])
    (note,) = [str(note) for note in done.notes if note.name == name]
    return note


@pytest.mark.parametrize("pragmas", [("stripmine",), ("block",), ("block", "stripmine")])
@given(seed=st.integers(0, 2**32))
@settings(max_examples=12)
def test_larger_windows_on_random_loops(pragmas, seed):
    program = parse_sac(LoopWriter(seed).strip(pragmas))
    done = same(program, list(pragmas), seed)
    assert did(done, pragmas[0])
    done = same(program, None, seed)
    assert did(done, "block") or did(done, "stripmine") or did(done, "unroll")


@pytest.mark.parametrize("pragma", ["stripmine", "block"])
@given(seed=st.integers(0, 2**32), rows=st.integers(0, 12), columns=st.integers(0, 12))
@settings(max_examples=15)
def test_larger_windows_on_arrays_of_any_extents(pragma, seed, rows, columns):
    """Arrays that are smaller than the pragma's windows, or empty, are all fringe."""
    program = parse_sac(LoopWriter(seed).strip((pragma,), known=False))
    shape = (rows, columns)[:program.inputs["A"].types[0].rank]
    inputs = [np.random.default_rng(seed).integers(0, 100, shape)]
    wanted = interpret(program.module, "main", inputs)
    for passes in ([pragma], ["all"]):
        done = optimise(program.module, "main", passes)
        assert did(done, pragma)[0].endswith(", as many as fit")
        for one, other in zip(wanted, interpret(done.module, "main", inputs), strict=True):
            assert one.shape == other.shape and np.array_equal(one, other)


STRIP = """uint8[:,:] main (uint8 A[{extents}]) return (
// PRAGMA (stripmine ({larger}))
for window W[{window}] in A {step} return (array (array_max (W))));"""


@pytest.mark.parametrize("extents, larger, window, step, text", [
    ("20,30", "4,5", "3,3", "", "windows of 4 x 5 in steps of 2 x 3, 9 x 9 of them, 1 fringe"),
    ("12,12", "6,6", "3,3", "step (2,2)", "windows of 6 x 6 in steps of 4 x 4, 2 x 2 of them, 2 fringes"),
    ("198,300", "7,3", "2,3", "", "windows of 7 x 3 in steps of 6 x 1, 32 x 298 of them, 1 fringe"),
])
def test_steps_of_stripmined_loops(extents, larger, window, step, text):
    """The examples of Hammes 2000, sections 4.1.3 and 7.4.1.2."""
    program = parse_sac(STRIP.format(extents=extents, larger=larger, window=window, step=step))
    assert did(same(program, ["stripmine"], 1), "stripmine") == [text]


def test_stripmining_makes_bodies_side_by_side():
    """A window of 4x5 for one of 3x3 has six bodies; nothing but the fringe remains of the loop inside."""
    done = same(parse_sac(STRIP.format(extents="20,29", larger="4,5", window="3,3", step="")), None, 2)
    counts = count_nodes(done.module)
    assert counts["FORALL"] == 1 and counts["MAX_MANY"] == 6 and counts["ARR_DEF"] == 1


def test_blocks_of_a_large_picture():
    """Hammes 2000, section 7.4.2: 48 blocks of 500 x 500 for 3000 x 4000 pixels."""
    program = parse_sac("""uint8[:,:] main (uint8 A[3000,4000]) return (
        // PRAGMA (block (500,500))
        for window W[2,3] in A return (array (array_max (W))));""")
    done = optimise(program.module, "main", ["block"])
    assert did(done, "block") == ["windows of 500 x 500 in steps of 499 x 498, 6 x 8 of them, 2 fringes"]


LOOP = "uint8[:,:] main (uint8 A[9,9], uint8 B[9,9]) return (\n// PRAGMA ({pragma})\n{loop});"


@pytest.mark.parametrize("pragma, loop, reason", [
    ("stripmine (2,9)", "for window W[3,3] in A return (array (W[0,0]))",
     "the pragma's extent 2 in dimension 0 is less than the window's, which is 3"),
    ("stripmine (4,10)", "for window W[3,3] in A return (array (W[0,0]))",
     "the pragma's extent 10 in dimension 1 is more than the array's, which is 9"),
    ("stripmine (4)", "for window W[3,3] in A return (array (W[0,0]))",
     "the pragma has 1 numbers, and the loop has 2 dimensions"),
    ("stripmine (4,4)", "for window W[3,3] in A at (uint8 i, uint8 j) return (array (W[0,0] + i))",
     "the body uses indices of the loop"),
    ("stripmine (4,4)", "for window W[3,3] in A dot window V[3,3] in B return (array (W[0,0] + V[0,0]))",
     "the loop has several generators, and the pragma does not say whose windows it enlarges"),
    ("stripmine (4,4)", "for uint8 i, uint8 j in [9,9] return (array (i))", "the loop's generator takes no array"),
    ("stripmine (4,4)", "for V(~,:) in A return (array (V))",
     "the loop's generator takes dimensions whole, or windows and steps of sizes that are not known"),
])
def test_loops_that_are_not_stripmined(pragma, loop, reason):
    assert refused(LOOP.format(pragma=pragma, loop=loop), "stripmine") == f"p.sc:2:1: stripmine: not done: {reason}"


@pytest.mark.parametrize("result, returned, reason", [
    ("uint8", "mean (W[0])", "MEAN of parts of the iterations does not make up that of all"),
    ("uint8", "median (W[0])", "MEDIAN of parts of the iterations does not make up that of all"),
    ("uint32[:]", "histogram (W[0], 256)", "HISTOGRAM of parts of the iterations does not make up that of all"),
    ("uint8[:]", "accum (sum (W[0]), W[1], 256)", "ACCUM_SUM of parts of the iterations does not make up that of all"),
    ("uint8", "vals_at_first_min (W[0], W[1])",
     "VAL_AT_FIRST_MIN of parts of the iterations does not make up that of all"),
    ("double", "sum ((double)W[0])", "SUM of floating-point numbers depends on the order of the iterations"),
    ("fix16.4", "product ((fix16.4)W[0])", "PRODUCT of fixed-point numbers depends on the order of the iterations"),
    ("uint8[:,:]", "array (W)", "the loop returns an array of arrays"),
])
def test_results_that_are_not_stripmined(result, returned, reason):
    text = f"{result} main (uint8 A[9]) return (\n// PRAGMA (block (5))\nfor window W[2] in A return ({returned}));"
    assert refused(text, "block") == f"p.sc:2:1: block: not done: {reason}"


def test_carried_values_and_unknown_extents_are_not_stripmined():
    text = ("uint8 main (uint8 A[9]) { uint8 s = 0; uint8 r =\n// PRAGMA (stripmine (4))\nfor window W[2] in A "
            "{ next s = s + W[0]; } return (final (s)); } return (r);")
    assert refused(text, "stripmine") == ("p.sc:2:1: stripmine: not done: the loop carries values from one "
                                          "iteration to the next")
    unknown = ("uint8[:] main (uint8 A[:], uint8 n) return (\n// PRAGMA (stripmine (4))\nfor window W[2] in A "
               "{ uint8 T[:] = W[0:n]; } return (tile (T)));")
    assert refused(unknown, "stripmine") == ("p.sc:2:1: stripmine: not done: the extents of the array and of the "
                                             "loop's tiles are not known")


@given(seed=st.integers(0, 2**32))
@settings(max_examples=20)
def test_fusion_on_random_pairs(seed):
    program = parse_sac(LoopWriter(seed).pair())
    assert len(did(same(program, ["fuse"], seed), "fuse")) == 1
    same(program, None, seed)


FUSED_PAIR = """uint8[:,:] main (uint8 A[:,:]) {
    uint8 R0[:,:] = for window W[2,3] in A return (array (f (W)));
    uint8 R1[:,:] = for window W[2,3] in R0 return (array (array_max (W)));
} return (R1);
uint8 f (uint8 W[2,3]) {
    uint8 v0 = W[0,0] + W[1,1];
    uint8 v1 = W[0,1] + W[1,0];
    uint16 v2 = (uint16)v0 * v1;
    uint8 v3 = W[1,2] + W[0,2];
    uint16 v4 = (uint16)v3 * 5;
    uint16 v5 = v2 - v4;
} return (v5 > 3562 ? v5 - 1 : v5 + 1);"""
"""Hammes 2000, appendix A.3."""


def pixels(rows: int, columns: int) -> np.ndarray:
    i, j = np.indices((rows, columns))
    return (17 * i + 31 * j + i * j) % 256


GOLDEN = [[250, 250, 250, 245], [250, 250, 250, 245], [211, 211, 151, 243], [229, 229, 200, 243]]


def test_the_pair_of_the_thesis_is_fused():
    program = parse_sac(FUSED_PAIR, "p.sc")
    done = same(program, None, 1)
    assert did(done, "fuse") == ["with the loop at p.sc:2:21: windows of 3 x 5 in steps of 1 x 1"]
    counts = count_nodes(done.module)
    assert counts["FORALL"] == 1 and counts["SWITCH"] == 6 and counts["MAX_MANY"] == 1
    for module in (program.module, done.module):
        assert interpret(module, "main", [pixels(6, 8)])[0].tolist() == GOLDEN


@pytest.mark.parametrize("upper, lower, windows", [
    ("window W[3] in A", "window V[3] in R", "5 in steps of 1"),
    ("window W1[3] in A step (2) dot window W2[4] in B", "window V[2] in R",
     "5 in steps of 2, 5 in steps of 1"),
    ("window W[7] in A step (3)", "window V[5] in R step (2)", "19 in steps of 6"),
    ("a in A", "b in R step (4)", "1 in steps of 4"),
])
def test_windows_of_fused_loops(upper, lower, windows):
    """The examples of Hammes 2000, section 4.1.4.2."""
    one = upper.split("[")[0].split()[-1] + "[0]" if "window" in upper else "a"
    other = "V[0]" if "window" in lower else "b"
    program = parse_sac(f"""uint8[:] main (uint8 A[43], uint8 B[24]) {{
        uint8 R[:] = for {upper} return (array ({one} * 3));
    }} return (for {lower} return (array ({other} + 1)));""", "p.sc")
    assert did(same(program, ["fuse"], 1), "fuse") == [f"with the loop at p.sc:2:22: windows of {windows}"]


@pytest.mark.parametrize("upper, lower, reason", [
    ("uint8 R[:], uint8 s = for a in A return (array (a), max (a))", "for b in R return (array (b + s))",
     "it gives 2 values, and one is fused"),
    ("uint32 R[:] = for a in A return (histogram (a, 256))", "for b in R return (array (b))",
     "it gives HISTOGRAM, which needs all of its iterations, and not an array of them"),
    ("uint8 R[:,:] = for window W[2] in A return (array (W))", "for b in R return (array (b))",
     "it gives an array of arrays"),
    ("uint8 R[:] = for a in A return (array (a + 1))", "for b in R return (array (b + R[0]))",
     "something other than one generator of this loop uses its array, too"),
    ("uint8 R[:] = for a in A return (array (a + 1))", "for b in R dot window W[1] in R return (array (b + W[0]))",
     "something other than one generator of this loop uses its array, too"),
    ("uint8 R[:,:] = for a in A cross b in A return (array (a + b))", "for b in R return (array (b))",
     "generators are joined by cross"),
    ("uint8 R[:] = for a in A return (array (a + 1))", "for b in R cross c in A return (array (b + c))",
     "generators are joined by cross"),
    ("uint8 R[:] = for uint8 a in [8] return (array (a + 1))", "for b in R return (array (b))",
     "sizes and steps of windows are not known, or dimensions are taken whole"),
    ("uint8 R[:] = for window W[n] in A return (array (W[0]))", "for b in R return (array (b))",
     "sizes and steps of windows are not known, or dimensions are taken whole"),
    ("uint8 R[:] = for a in A return (array (a + 1))", "for b in R step (n) return (array (b))",
     "sizes and steps of windows are not known, or dimensions are taken whole"),
    ("uint8 R[:] = for a in A { uint8 i = loop_indices (); } return (array (a + i))", "for b in R return (array (b))",
     "its body uses loop_indices"),
    ("uint8 R[:] =\n// PRAGMA (no_unroll)\nfor a in A return (array (a))", "for b in R return (array (b))",
     "it has the pragma no_unroll"),
    ("uint8 R[:] = for a in A return (array (a))", "for window W[65] in R return (array (W[0]))",
     "65 of its iterations in one are more than are unrolled"),
])
def test_pairs_that_are_not_fused(upper, lower, reason):
    rank = 2 if "cross" in lower or "R[:,:]" in upper else 1
    program = (f"uint32[{','.join(':' * rank)}] main (uint8 A[:], uint8 n) {{ {upper};\n"
               f"uint32 S[{','.join(':' * rank)}] = {lower}; }} return (S);")
    note = refused(program, "fuse")
    assert note.startswith("p.sc:") and note.endswith(reason) and ": fuse: not done: with the loop at p.sc:" in note
