"""Loops as programs of the polyhedral model: equal to the interpreter of graphs, together where they touch, and with a
reason where they stay on the host."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_dfg import LoopWriter as FlatWriter
from random_sac_loops import LoopWriter

from compiler.bind.applications import HARDWARE_PASSES
from compiler.frontend.apps import sac_applications
from compiler.frontend.sac import SacProgram, SacRunError, load_sac, parse_sac, random_inputs
from compiler.frontend.sac.ddcf import interpret
from compiler.frontend.sac.programs import Application, Group, group_loops, run_application, trace_application
from compiler.ir.expr import Apply, postorder
from compiler.ir.program import Program
from compiler.ir.text import parse_program, print_program


def prepared(program: SacProgram, inputs: dict, passes=HARDWARE_PASSES) -> tuple[SacProgram, list[np.ndarray]]:
    """The program for these inputs' extents, after passes; the integers that hold the inputs."""
    sized = program.with_extents({name: np.shape(value) for name, value in inputs.items() if np.ndim(value)})
    return sized.optimised(passes)[0], program.held(inputs)


def check(program: SacProgram, inputs: dict, passes=HARDWARE_PASSES) -> tuple[Application, list[Group]]:
    """Compare a run whose loops are programs, each alone and in groups, with the interpreter of the written graphs."""
    after, held = prepared(program, inputs, passes)
    application, _ = trace_application(after, held)
    able, _ = application.candidates()
    wanted = interpret(program.module, program.main.name, held)
    for numbers in (group_loops(application.graph, able), [[number] for number in able]):
        groups = [application.group(group) for group in numbers]
        found = run_application(application, groups, held)
        for one, other in zip(wanted, found, strict=True):
            assert one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    return application, [application.group(group) for group in group_loops(application.graph, able)]


def parts(program: Program) -> list[str]:
    """The text of a program, whose order has its parts in any order."""
    return sorted(re.split(r"\s*[;{}]\s*", print_program(program)))


ON_HARDWARE = {"canny": 2, "combined_pair": 2, "convolution": 1, "dot_product": 1, "fft": 1, "fused_pair": 1,
               "histogram": 3, "matrix_product": 1,
               "max_window": 1, "median": 1, "morphology": 4, "motion": 2, "prewitt": 1, "square_root": 1,
               "strip_max": 1, "threshold": 2, "wavelet": 1}
"""Loops that are programs, where there are any."""


@pytest.mark.parametrize("name", sac_applications())
def test_applications(name):
    program = load_sac(sac_applications()[name])
    inputs = random_inputs(program, 1, 70 if name in ("sac/dot_product", "sac/square_root") else 20)
    _, groups = check(program, inputs)
    loops = sum(len(group.numbers) for group in groups)
    assert loops == ON_HARDWARE.get(name.removeprefix("sac/"), 0) or name == "sac/gaussian_pyramid"
    for group in groups:
        assert parts(parse_program(print_program(group.program))) == parts(group.program)


@given(st.integers(0, 2**32), st.sampled_from(["pair", "several", "siblings", "unused", "narrowed"]))
@settings(max_examples=20)
def test_random_loops(seed, kind):
    program = parse_sac(getattr(LoopWriter(seed), kind)())
    check(program, random_inputs(program, seed, 9))


@given(st.integers(0, 2**32))
@settings(max_examples=20)
def test_random_flat_loops(seed):
    program = parse_sac(FlatWriter(seed).program())
    inputs = random_inputs(program, seed, 5) | {"table": np.arange(200, 205)}
    try:
        check(program, inputs)
    except SacRunError as error:
        assert "index" in str(error)


LOOPS = {
    "bits of one": "uint1[:] main (uint1 A[80], uint1 b) return (for a in A return (array (a * b + a - b)));",
    "signed bit": "int1[:], int1 main (int1 A[80]) return (for a in A return (array (a + a), max (a)));",
    "strided": "int9[:,:] main (int9 A[23,31]) return (for window W[3,2] in A step (2,5) return "
               "(array (W[2,1] - W[0,0])));",
    "columns": "uint16[:] main (uint8 A[9,70]) return (for C (:,~) in A { uint16 s = array_sum ((uint16[:])C); } "
               "return (array (s)));",
    "tiles": "uint8[:,:] main (uint8 A[20,20]) return (for window W[2,2] in A step (2,2) { uint8 T[2,3] = "
             "{{W[0,0], W[0,1], 1}, {W[1,0], W[1,1], 2}}; } return (tile (T)));",
    "fixed point": "fix16.4[:] main (fix12.7 A[70], ufix8.3 k) return (for a in A return "
                   "(array ((fix16.4)(a * k - a))));",
    "prefix sums": "uint16[:], uint16 main (uint8 A[70]) { uint16 s = 5; uint16 R[:], uint16 t = for a in A "
                   "{ next s = s + a; } return (array (s), final (s)); } return (R, t);",
    "exchange": "uint8, uint8 main (uint8 A[70], uint8 p, uint8 q) { uint8 x = p; uint8 y = q; uint8 u, uint8 v = "
                "for a in A { uint8 t = x; next x = y + a; next y = t; } "
                "return (final (x), final (y)); } return (u, v);",
    "2-D state": "int16[:,:], int16 main (int16 A[9,11]) { int16 m = 0; int16 R[:,:], int16 s = for a in A "
                 "{ next m = (m >> 1) + a; } return (array (m), final (m)); } return (R, s);",
    "reductions": "uint8, uint8, int20, bool, bool main (uint8 A[70]) return (for a in A return (min (a, a > 9), "
                  "max (a, a < 200), sum ((int20)a - 100, a != 7), and (a > 0), or (a == 255)));",
    "indices": "uint16[:,:] main (uint8 A[9,9]) return (for a in A at (uint16 i, uint16 j) "
               "return (array (i * 5 + j + a)));",
    "ranges": "int16[:,:] main (int16 A[80]) return (for int8 i, uint8 j in [-3~9, 2~70] step (3,4) return "
              "(array (A[j + 1] * i)));",
    "shifts": "int12[:] main (int12 A[70], uint6 n) return (for a in A return (array ((a << n) ^ (a >> n))));",
    "switch": "uint8[:] main (uint8 A[70]) return (for a in A { uint8 r = switch (a & 3) { case 0: return (a + 1) "
              "case 1, 2: return (~a) default: return (a >> 1) }; } return (array (r)));",
    "even median": "int8[:] main (int8 A[90]) return (for window W[4] in A return (array (array_median (W))));",
    "roots": "ufix8.4[:] main (ufix8.1 A[90]) return (for a in A return (array ((ufix8.4)sqrt (a))));",
    "histogram": "uint32[:], uint7[:] main (uint8 A[70], uint3 k) return (for a in A return (histogram (a, 256), "
                 "histogram (a & k, 9, a > 30)));",
    "labels": "uint16[:], int16[:], uint32[:,:] main (uint8 A[7,10]) return (for a in A return "
              "(accum (sum ((uint16)a), a & 3, 4), "
              "accum (max ((int16)a - 99), a >> 5, 8), accum (histogram (a & 15, 16), a >> 6, 4)));",
    "gather": "uint8[:,:] main (uint8 A[7,10], int9 T[16,8]) return (for a in A return "
              "(array (T[a & 15, a >> 5] + T[a >> 4, a & 7])));",
    "gather from a histogram": "uint8[:] main (uint8 A[70]) { uint32 H[:] = for a in A return (histogram (a, 256)); } "
                               "return (for a in A return (array ((uint8)H[a])));",
    "table": "// PRAGMA (lookup)\nuint8 f (uint6 a) return ((a * a) >> 4);\n"
             "uint8[:] main (uint6 A[70]) return (for a in A return (array (f (a))));",
    "a scalar between": "uint8[:] main (uint8 A[70]) { uint8 m = for a in A return (max (a)); } return "
                        "(for a in A return (array (m - a)));",
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops(name):
    """All loops of each program become statements, none stays on the host."""
    program = parse_sac(LOOPS[name], "p.sc")
    inputs = random_inputs(program, 3, 70)
    application, groups = check(program, inputs)
    assert len(groups) == 1 and not application.candidates()[1]


NESTS = {
    "cross": "uint16[:,:] main (uint8 A[7], uint8 B[80]) return (for a in A cross b in B return "
             "(array ((uint16)a*b)));",
    "cross window": "uint16[:,:,:], uint32 main (uint8 A[7,9], uint8 B[80]) return (for window W[7,2] in A "
                    "step (1,3) cross b in B step (2) at (uint16 k) return (array ((uint16)W[0,1]*b + W[6,0] "
                    "+ k), sum((uint32)b)));",
    "cross dot": "uint16[:,:] main (uint8 A[70], uint8 B[3], uint8 C[70]) return (for a in A dot c in C "
                 "cross b in B return (array ((uint16)a*b+c)));",
    "cross range": "int16[:,:] main (int8 A[70]) return (for a in A cross int8 k in [-2~2] return (array "
                   "((int16)a*k)));",
    "matmul": "int32[:,:] main (int16 A[6,70], int16 B[70,5]) return (for Row (~,:) in A cross Col "
              "(:,~) in B { int32 c = for a in Row dot b in Col return (sum((int32)a*b)); } return "
              "(array (c)));",
    "rows": "uint16[:], uint8[:] main (uint8 A[6,70]) return (for Row (~,:) in A { uint16 s = for a "
            "in Row return (sum ((uint16)a)); uint8 m = for a in Row return (max (a)); } return "
            "(array (s - m), array(m)));",
    "normalise": "uint8[:,:] main (uint8 A[6,70]) return (for Row (~,:) in A { uint8 m = for a in Row "
                 "return (max (a)); uint8 R[:] = for a in Row return (array ((uint8)(m - a))); } return "
                 "(array (R)));",
    "prefix": "uint16[:,:], uint16[:] main (uint8 A[6,70], uint16 k) return (for Row (~,:) in A { "
              "uint16 s = Row[3] + k; uint16 R[:], uint16 t = for a in Row { next s = s + a; } return "
              "(array (s), final(s)); } return (array (R), array(t)));",
    "tiles": "uint8[:,:] main (uint8 A[16,80]) return (for window W[1,80] in A step (1,80) { uint8 "
             "T[:,:] = for w in W return (array (w + 1)); } return (tile (T)));",
    "three": "uint32[:] main (uint8 A[4,5,70]) return (for P (~,:,:) in A { uint32 t = for R (~,:) in "
             "P { uint32 s = for a in R return (sum((uint32)a)); } return (max (s)); } return (array "
             "(t)));",
    "outer next": "uint32 main (uint8 A[6,70]) { uint32 s = 7; uint32 r = for Row (~,:) in A { uint32 m = "
                  "for a in Row return (sum ((uint32)a)); next s = s * 3 + m; } return (final (s)); } "
                  "return (r);",
    "stage": "uint8[:] main (uint8 A[70], uint8 B[90]) return (for a in A { uint8 m = for b in B "
             "return (max (b ^ a)); uint8 n = for b in B return (min (b ^ m)); } return (array (m + "
             "n)));",
    "inner table": "uint16[:] main (uint8 A[70,8], uint8 T[256]) return (for R (~,:) in A { // PRAGMA "
                   "(no_unroll)\nuint16 s = for a in R return (sum ((uint16)T[a])); } return (array (s)));",
    "inner hist": "uint16[:,:] main (uint8 A[6,70]) return (for Row (~,:) in A { uint16 H[:] = for a in "
                  "Row return (histogram (a & 7, 8)); } return (array (H)));",
    "inner accum": "uint16[:,:], uint8[:,:] main (uint8 A[6,70]) return (for Row (~,:) in A { uint16 H[:] = "
                   "for a in Row return (accum (sum ((uint16)a), a & 3, 4)); uint8 M[:] = for a in Row "
                   "return (accum (max (a), a >> 6, 4)); } return (array (H), array (M)));",
    "section": "uint16[:] main (uint8 A[6,90]) return (for Row (~,:) in A { uint16 s = for a in "
               "Row[2:80] return (sum ((uint16)a)); } return (array (s)));",
}
"""Loops with loops inside, and crossed generators."""


@pytest.mark.parametrize("name", NESTS)
def test_nests(name):
    """A nest is one program, whatever is inside."""
    program = parse_sac(NESTS[name], "p.sc")
    application, groups = check(program, random_inputs(program, 3))
    assert [len(group.numbers) for group in groups] == [1] and not application.candidates()[1]


def test_stripes_are_one_program():
    """What carries along stripes starts once, and not for each stripe."""
    program = load_sac(sac_applications()["sac/fused_pair"])
    inputs = {"A": np.random.default_rng(1).integers(0, 256, (9, 80))}
    application, (group,) = check(program, inputs, ["all", "nextify", "windows", "cycle"])
    (number,) = group.numbers
    assert application.started[number].extents == (7, 1) and not application.candidates()[1]
    assert [array.role for array in group.program.arrays].count("input") == 1


@pytest.mark.parametrize("width", range(1, 33))
@pytest.mark.parametrize("kind", ["int", "uint"])
def test_every_width(kind, width):
    program = parse_sac(f"{kind}{width}[:], bool[:] main ({kind}{width} A[66]) return (for window W[2] in A return "
                        "(array (W[0] * W[1] - W[1]), array (W[0] < W[1])));")
    assert check(program, random_inputs(program, width))[1]


REASONS = {
    "range": ("uint8[:] main (uint8 n) return (for uint8 i in [n~200] return (array (i)));",
              "p.sc:1:33: SCALARGEN: the range of the generator depends on values of the run; give numbers, or extents "
              "of arrays"),
    "triangle": ("uint16[:] main (uint8 A[70]) return (for uint8 i in [70] { uint16 s = for uint8 j in [i] return "
                 "(sum ((uint16)A[j])); } return (array (s)));",
                 "p.sc:1:71: FORALL: its range, or the size or step of a window, depends on values of the run; give "
                 "numbers, or extents of arrays"),
    "branch": ("uint16[:] main (uint8 A[6,70]) return (for Row (~,:) in A { uint16 s = Row[0] > 9 ? 3 : "
               "(for a in Row return (sum ((uint16)a))); } return (array (s)));",
               "p.sc:1:72: SWITCH: a loop is inside a condition; let the loop run always, and choose what it gives"),
    "carried": ("uint32 main (uint8 A[6,70]) { uint32 s = 7; uint32 r = for Row (~,:) in A { uint32 m = for a in Row "
                "return (sum ((uint32)a + s)); next s = s * 3 + m; } return (final (s)); } return (r);",
                "p.sc:1:56: FORNXT: a loop inside needs what it carries by next; carry it in the inner loop, or let "
                "--passes all unroll that"),
    "inside": ("uint32 main (uint8 A[70]) { uint32 s = 0; uint32 t = while (s < 9000) { next s = s + 1 + "
               "(for a in A return (sum ((uint32)a))); } return (final (s)); } return (t);", None),
    "empty": ("uint8[:] main (uint8 A[1]) return (for window W[3] in A return (array (W[0])));",
              "p.sc:1:36: loop: it has no iterations; let the host give what no iterations give"),
}


@pytest.mark.parametrize("name", REASONS)
def test_reasons(name):
    text, message = REASONS[name]
    program = parse_sac(text, "p.sc")
    after, held = prepared(program, random_inputs(program, 1), ["inline"])
    able, others = trace_application(after, held)[0].candidates()
    assert not able
    reasons = [str(obstacle) for _, obstacle in others]
    assert message in reasons if message else any("would start hardware each time" in text for text in reasons), reasons


def test_groups_are_what_can_run_without_the_host_between():
    """The middle loop needs what the host makes of the first one; both others touch it."""
    program = parse_sac("""
uint8[:] main (uint8 A[70]) {
    uint8 B[:] = for a in A return (array (a + 1));
    uint8 C[:] = for a in A return (array (a * 3));
    uint8 m = array_median (B);
    uint8 D[:] = for b in B dot c in C return (array (b + c * m));
    uint8 E[:] = for window W[2] in D return (array (W[0] + W[1]));
} return (E);
""", "p.sc")
    application, groups = check(program, random_inputs(program, 1), ["inline", "sizes"])
    lines = [[application.graph.nodes[number].place.line for number in group.numbers] for group in groups]
    assert lines == [[3], [4], [6, 7]]
    last = groups[-1].program
    assert {array.role for array in last.arrays} == {"input", "intermediate", "output"}


def test_a_shift_by_a_number_is_as_wide_as_its_value():
    """Not as the amount, whose type may be that of extents: targets with 16-bit words have no wider shifts."""
    program = load_sac(sac_applications()["sac/convolution"])
    (group,) = check(program, random_inputs(program, 1, 12))[1]
    (statement,) = group.program.statements
    shifts = [node for node in postorder(statement.value) if isinstance(node, Apply) and node.op == "shr"]
    assert [str(node.type) for node in shifts] == ["uint16"]
