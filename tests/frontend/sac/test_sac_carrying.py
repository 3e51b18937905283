"""Values carried from one iteration to the next, smaller windows, arrays that become one, and loops side by side."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_sac_loops import LoopWriter
from test_sac_loop_passes import FUSED_PAIR, GOLDEN, did, pixels, refused, same

from compiler.frontend.apps import sac_applications
from compiler.frontend.sac import load_sac, parse_sac, random_inputs
from compiler.frontend.sac.ddcf import interpret
from compiler.frontend.sac.host_c import compile_host, run_host
from compiler.frontend.sac.passes import count_nodes, optimise

UNROLLED = ["inline", "cycle"]


def test_a_smaller_window_stays_crossed():
    program = parse_sac("""int16[:,:] main (int12 A[3], fix12.4 B[5]) return (
        for a in A cross window W[2] in B return (array ((int16)a - (int16)W[1])));""")
    assert did(same(program, ["inline", "windows", "cycle"], 1), "windows")


@pytest.mark.parametrize("name", ["nextify", "nextify_padded"])
@given(seed=st.integers(0, 2**32))
@settings(max_examples=15)
def test_random_loops_carry_what_they_computed(name, seed):
    assert did(same(parse_sac(LoopWriter(seed).repeated()), [*UNROLLED, name, "cycle"], seed), name)


@given(seed=st.integers(0, 2**32))
@settings(max_examples=15)
def test_random_windows_become_smaller(seed):
    same(parse_sac(LoopWriter(seed).repeated()), [*UNROLLED, "nextify", "windows", "cycle"], seed)


NEXTIFIED = """uint8[:,:] main (uint8 A[:,:]) {
    uint8 S00 = 0; uint8 S01 = 0; uint8 S10 = 0; uint8 S11 = 0;
    uint8 R[:,:] = for window W[3,3] in A {
        uint8 S02 = f (W[0:1,0:2]);
        uint8 S12 = f (W[1:2,0:2]);
        uint8 T[2,3] = {{S00, S01, S02}, {S10, S11, S12}};
        uint8 V = array_max (T);
        next S00 = S01; next S01 = S02; next S10 = S11; next S11 = S12;
    } return (array (V));
} return (R[:,2:]);
""" + FUSED_PAIR[FUSED_PAIR.index("uint8 f"):]
"""Hammes 2000, appendix A.5; the array is built before the variables move on, as `next` gives the new value."""


@pytest.mark.parametrize("name, text", [
    ("nextify_padded", "4 values from iterations before, in 4 registers; 2 additional iterations, 2 columns of "
                       "padding, of which 2 cancel"),
    ("nextify", "4 values from iterations before, in 4 registers"),
])
def test_the_pair_of_the_thesis_carries_four_values(name, text):
    sized = FUSED_PAIR.replace("A[:,:]", "A[6,8]").replace("R1[:,:] =", "R1[:,:] =\n// PRAGMA (no_unroll)\n")
    program = parse_sac(sized)
    done = same(program, ["inline", "fuse", "cycle", name, "windows", "cycle"], 1)
    assert did(done, name) == [text]
    counts = count_nodes(done.module)
    assert counts["SWITCH"] == 2 + 4 * (name == "nextify") and counts["FORNXT"] == 1 and counts["NEXT"] == 4
    written = parse_sac(NEXTIFIED)
    for module in (written.module, done.module):
        assert interpret(module, "main", [pixels(6, 8)])[0].tolist() == GOLDEN
    windows = [n.outputs[0].extents for n in done.module.function("main").graph.walk() if n.kind == "WINDOWGEN"]
    assert windows[-1] == (3, 3)


FIGURE = """int32[:,:] main (int16 A[9,31], int16 B[8,54]) {
    int32 R[:,:] =
        // PRAGMA (no_unroll)
        for window WA[6,9] in A dot window WB[5,10] in B step (1,2) {
            int32 v0 = f (WA[0:2,4:5]); int32 v1 = f (WA[0:2,7:8]);
            int32 v2 = g (WA[2:5,1]); int32 v3 = g (WA[2:5,3]); int32 v4 = g (WA[2:5,6]);
            int32 v5 = h (WB[0:1,1:2]); int32 v6 = h (WB[0:1,4:5]); int32 v7 = h (WB[0:1,8:9]);
            int32 v8 = m (WB[2,2:4]); int32 v9 = m (WB[2,7:9]);
            int32 v10 = p (WB[3:4,0:2]); int32 v11 = p (WB[3:4,4:6]);
        } return (array (((v0 - v1 * v2) ^ (v3 - v4 * v5)) + ((v6 - v7 * v8) ^ (v9 - v10 * v11))));
} return (R);
int32 f (int16 V[3,2]) return (array_max ((int32[:,:])V));
int32 g (int16 V[4]) return (array_sum ((int32[:])V));
int32 h (int16 V[2,2]) return (array_min ((int32[:,:])V));
int32 m (int16 V[3]) return (array_max ((int32[:])V));
int32 p (int16 V[2,3]) return (array_sum ((int32[:,:])V));"""


@pytest.mark.parametrize("name, text", [
    ("nextify", ""),
    ("nextify_padded", "; 5 additional iterations, 5 columns of padding, of which 5 cancel, 10 columns of padding, of "
                       "which 1 cancel"),
])
def test_several_windows_with_different_steps(name, text):
    """Hammes 2000, figures 4.16 and 4.17: of two values an odd number of columns apart, in steps of two, each is
    computed."""
    done = same(parse_sac(FIGURE), ["inline", "cycle", name, "windows", "cycle"], 1)
    assert did(done, name) == ["5 values from iterations before, in 12 registers" + text]
    assert count_nodes(done.module)["NEXT"] == 12


def test_padding_that_does_not_cancel():
    """Hammes 2000, section 4.2.2.2: windows of 7 in steps of 3, then of 5 in steps of 2."""
    program = parse_sac("""int16[:] main (int16 A[91]) {
        int16 R[:] = for window W[7] in A step (3) return (array (W[0] * W[1] + W[2] * W[3] + W[4] * W[5] + W[6]));
        int16 S[:] =
            // PRAGMA (no_unroll)
            for window V[5] in R step (2) return (array ((V[0] + V[1]) * (V[2] - V[3]) + V[4]));
    } return (S);""")
    done = same(program, ["fuse", "cycle", "nextify_padded"], 1)
    assert did(done, "fuse")[0].endswith("windows of 19 in steps of 6")
    assert did(done, "nextify_padded") == ["3 values from iterations before, in 3 registers; 2 additional iterations, "
                                           "12 columns of padding, of which 9 cancel"]


def test_reductions_are_masked_while_registers_fill():
    """Hammes 2000, section 4.2.2.3."""
    program = parse_sac("""int8 main (int8 A[:,:]) {
        int8 R0[:,:] = for window W[3,2] in A return (array (W[0,0] * W[1,1] + W[2,0]));
        int8 R1 = for window W[2,2] in R0 return (sum ((int8)array_sum (W)));
    } return (R1);""")
    done = same(program, ["fuse", "cycle", "nextify_padded", "cycle"], 1)
    assert "1 additional iteration, 1 columns of padding, of which 1 cancel" in did(done, "nextify_padded")[0]
    counts = count_nodes(done.module)
    assert counts["GE"] == 1 and counts["NEXT"] == 2 and "ARRAY_CONCAT" not in counts
    assert next(n for n in done.module.function("main").graph.walk() if n.kind == "SUM").operands[1:]


def test_pixels_are_not_carried():
    """Windows are shift registers already; a sum of pixels is worth a register, a pixel is none."""
    text = "uint8[:] main (uint8 A[99]) return (for window W[3] in A return (array (W[0] + W[2])));"
    assert refused(text, "nextify_padded") == ("p.sc:1:37: nextify_padded: not done: no value was computed by an "
                                               "iteration before")


@pytest.mark.parametrize("loop, name, reason", [
    ("for window W[3] in A { next s = s + W[0]; } return (final (s))", "nextify", "the loop carries values already"),
    ("for a in A cross b in A return (sum (a))", "nextify", "generators are joined by cross"),
    ("for window W[3] in A return (max (W[0] / W[1] + W[1] / W[2]))", "nextify_padded",
     "DIV in the body may have no value in additional iterations"),
    ("for window W[n] in A return (max (W[0] + W[1]))", "nextify",
     "windows and steps are not known, or dimensions are taken whole"),
    ("for window W[3] in A return (max (W[0] * W[1] + W[1] * W[2]))", "nextify",
     "the array's last extent is not known, or less than the window's"),
    ("for window W[3] in B return (mean (W[0] * W[1] + W[1] * W[2]))", "nextify",
     "MEAN of parts of the iterations does not make up that of all"),
])
def test_loops_that_cannot_carry(loop, name, reason):
    text = f"uint8 main (uint8 A[:], uint8 n, uint8 B[99]) {{ uint8 s = 0; uint8 r = {loop}; }} return (r);"
    assert refused(text, name).endswith(f"{name}: not done: {reason}")


@pytest.mark.parametrize("extents", ["9,9", ":,:"])
def test_windows_without_columns_that_nothing_uses(extents):
    """Hammes 2000, section 4.2.3."""
    program = parse_sac(f"""uint8[:,:] main (uint8 A[{extents}]) return (
        // PRAGMA (no_unroll)
        for window W[4,3] in A {{ uint8 S[:] = W[:,1]; }} return (array (array_sum (S))));""")
    done = same(program, ["windows", "cycle"], 1)
    assert did(done, "windows") == ["a window of 4 x 3 is one of 4 x 1"]


@given(seed=st.integers(0, 2**32))
@settings(max_examples=15)
def test_random_arrays_are_combined(seed):
    program = parse_sac(LoopWriter(seed).several())
    assert did(same(program, ["combine"], seed), "combine")
    same(program, ["most"], seed)


def test_combining_lets_loops_fuse():
    """Hammes 2000, section 7.4.4 and appendix A.6."""
    program = load_sac(sac_applications()["sac/combined_pair"])
    done = same(program, ["inline", "cycle", "combine", "cycle"], 1)
    assert did(done, "combine")[0].endswith(": uint8 and uint8 in 16 bits")
    assert did(done, "fuse")[0].endswith(": windows of 2 x 4 in steps of 1 x 1")
    assert count_nodes(done.module)["FORALL"] == 1


@pytest.mark.parametrize("upper, lower, reason", [
    ("uint16 X[:], uint17 Y[:] = for a in A return (array (a), array (a))",
     "for x in X dot y in Y return (sum (x + y))",
     "their elements have 33 bits together; a scalar has at most 32"),
    ("float X[:], uint8 Y[:] = for a in A return (array (a), array (a))",
     "for x in X dot y in Y return (sum (x + y))",
     "one is no array of scalars of the iterations"),
    ("uint8 X[:], uint8 Y[:] = for a in A return (array (a), array (a))",
     "for x in X dot window W[1] in Y return (sum (x + W[0]))", "generators take them in different ways"),
    ("uint8 X[:], uint8 Y[:] = for a in A return (array (a), array (a))",
     "for x in X dot y in Y return (sum (x + y + X[0]))",
     "something other than generators of this loop uses one of them, too"),
])
def test_arrays_that_are_not_combined(upper, lower, reason):
    text = f"uint32 main (uint8 A[:]) {{ {upper}; uint32 s = {lower}; }} return (s);"
    if "array (a), array (a))" in upper and "uint8 X" not in upper:
        text = text.replace("array (a), array (a)", "array ((T0)a), array ((T1)a)")
        kinds = [word.split()[0] for word in upper.split("=")[0].split(", ")]
        text = text.replace("T0", kinds[0]).replace("T1", kinds[1])
    reasons = {reason, "one holds floating-point numbers"} if "float" in upper else {reason}
    assert any(refused(text, "combine").endswith(f"combine: not done: arrays of the loop at p.sc:1:{column}: {each}")
               for each in reasons for column in range(40, 60))


@given(seed=st.integers(0, 2**32))
@settings(max_examples=15)
def test_random_loops_side_by_side_become_one(seed):
    program = parse_sac(LoopWriter(seed).siblings())
    assert did(same(program, ["siblings"], seed), "siblings")
    same(program, ["most"], seed)


def test_a_loop_with_two_readers_is_fused_once_they_are_one():
    program = parse_sac("""uint8[:], uint16 main (uint8 A[99]) {
        uint8 R[:] = for window W[3] in A return (array (W[0] * W[1] + W[2]));
        uint8 S[:] = for window V[2] in R return (array (V[0] + V[1]));
        uint16 t = for window V[2] in R return (sum ((uint16)V[0] * V[1]));
    } return (S, t);""", "p.sc")
    alone = optimise(program.module, "main", ["fuse"])
    assert not did(alone, "fuse") and all("something other than one generator" in n.text for n in alone.notes)
    done = same(program, ["siblings", "fuse", "cycle"], 1)
    assert did(done, "siblings") == ["with the loop at p.sc:3:22: the same generators"]
    assert did(done, "fuse") == ["with the loop at p.sc:2:22: windows of 4 in steps of 1"]
    assert count_nodes(done.module)["FORALL"] == 1


def test_two_makers_of_equal_shape_become_one_loop():
    program = parse_sac("""uint8[:] main (uint8 A[99], uint8 B[98]) {
        uint8 R[:] = for window W[3] in A return (array (W[0] + W[2]));
        uint8 S[:] = for window W[2] in B return (array (W[0] - W[1]));
        uint8 T[:] = for r in R dot s in S return (array (r * s));
    } return (T);""", "p.sc")
    done = same(program, ["sizes", "siblings", "combine", "fuse", "cycle"], 1)
    assert did(done, "siblings") == ["with the loop at p.sc:2:22: both of shape [97], and read by the loop at "
                                     "p.sc:4:22"]
    assert count_nodes(done.module)["FORALL"] == 1 and did(done, "combine") and did(done, "fuse")


def test_loops_with_different_pragmas_stay_apart():
    text = """uint8[:], uint8[:] main (uint8 A[99]) {
        uint8 R[:] = for a in A return (array (a + 1));
        uint8 S[:] =
            // PRAGMA (stripmine (4))
            for a in A return (array (a + 2)); } return (R, S);"""
    assert refused(text, "siblings").endswith(": siblings: not done: with the loop at p.sc:2:22: they have different "
                                              "pragmas")


@pytest.mark.parametrize("kind", ["pair", "repeated", "several", "siblings"])
def test_what_most_passes_make_runs_in_c(kind, tmp_path):
    """The second reference agrees on loops that carry, on combined arrays and on narrow numbers."""
    for seed in range(3):
        program = parse_sac(getattr(LoopWriter(seed), kind)())
        inputs = program.held(random_inputs(program, seed, 6))
        after, _ = program.optimised(["most"])
        executable = compile_host(after.host_c(), tmp_path)
        found = run_host(executable, inputs, after.main.graph.inputs, after.main.result_types)
        for one, other in zip(interpret(program.module, "main", inputs), found, strict=True):
            assert one.tolist() == other.tolist()
