"""Dataflow graphs: equal to the interpreter of the program's graphs on every loop, token by token."""

from math import isqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_dfg import LoopWriter

from compiler.frontend.apps import sac_applications
from compiler.frontend.sac import SacProgram, SacRunError, load_sac, parse_sac, random_inputs
from compiler.frontend.sac.ddcf import interpret
from compiler.frontend.sac.dfg import Dfg, convert_loops, parse_dfgs, print_dfgs, run_on_dfgs, simulate, verify_dfg
from compiler.frontend.sac.dfg.interface import pack, unpack, words_of
from compiler.frontend.sac.types import parse_scalar
from compiler.ir.types import ProgramError


def graphs(program: SacProgram) -> list[Dfg]:
    return [fate.dfg for fate in convert_loops(program.module) if fate.dfg is not None]


def agree(program: SacProgram, inputs: dict) -> None:
    held = program.held(inputs)
    wanted = interpret(program.module, program.main.name, held)
    found = run_on_dfgs(program.module, program.main.name, held)
    for one, other in zip(wanted, found, strict=True):
        assert one.shape == other.shape and np.array_equal(one, other)


def optimised(text: str) -> SacProgram:
    return parse_sac(text, "p.sc").optimised()[0]


@given(st.integers(0, 2**32))
@settings(max_examples=25)
def test_random_loops(seed):
    """The generator writes only loops that fit, so each of them has to become a graph."""
    program = optimised(LoopWriter(seed).program())
    fates = convert_loops(program.module)
    assert fates and all(fate.dfg for fate in fates)
    written = graphs(program)
    assert parse_dfgs(print_dfgs(written)) == written
    inputs = random_inputs(program, seed, 5) | {"table": np.arange(200, 205)}
    try:
        agree(program, inputs)
    except SacRunError as error:
        assert "index" in str(error)


@pytest.mark.parametrize("passes", [False, True])
@pytest.mark.parametrize("name", sac_applications())
def test_applications(name, passes):
    program = load_sac(sac_applications()[name])
    if passes:
        program = program.optimised()[0]
    agree(program, random_inputs(program, 1, 12))
    written = graphs(program)
    assert parse_dfgs(print_dfgs(written)) == written


@pytest.mark.parametrize("name", ["combined_pair", "fused_pair", "max_window", "median", "prewitt", "square_root"])
def test_whole_programs_become_graphs(name):
    program = load_sac(sac_applications()[f"sac/{name}"]).optimised()[0]
    assert all(fate.dfg for fate in convert_loops(program.module))


def kinds(dfg: Dfg) -> list[tuple[str, tuple[int, ...]]]:
    """Kinds and bits of the nodes between generators and results."""
    return [(node.kind, node.widths) for node in dfg.nodes if "GEN" not in node.kind and "WRITE" not in node.kind]


MULTIPLICATIONS = {
    "both casts lose nothing": ("uint7", "uint5", "uint12", "(uint12)a * b", [("UMUL", (12,))]),
    "one sign": ("int7", "uint5", "int12", "a * (int12)b",
                 [("CHANGE_WIDTH", (6,)), ("IMUL", (13,)), ("CHANGE_WIDTH_SE", (12,))]),
    "narrowed": ("uint7", "uint5", "uint7", "a * b", [("UMUL", (12,)), ("CHANGE_WIDTH", (7,))]),
    "a cast that loses bits": ("ufix8.5", "ufix8.3", "ufix16.1", "a * (ufix16.1)b",
                               [("URIGHT_SHIFT", (6,)), ("CHANGE_WIDTH", (16,)), ("UMUL", (24,)),
                                ("URIGHT_SHIFT", (23,)), ("CHANGE_WIDTH", (20,)), ("URIGHT_SHIFT", (16,))]),
}


@pytest.mark.parametrize("name", MULTIPLICATIONS)
def test_multiplications_as_in_figure_5_5(name):
    left, right, result, expression, wanted = MULTIPLICATIONS[name]
    program = parse_sac(f"{result}[:] f ({left} A[:], {right} B[:]) return (for a in A dot b in B {{ {result} c = "
                        f"{expression}; }} return (array (c)));")
    (dfg,) = graphs(program)
    assert kinds(dfg) == wanted
    agree(program, random_inputs(program, 1, 200))


def test_an_addition_of_fixed_point_numbers_as_in_figure_5_4():
    program = parse_sac("fix16.4[:] f (fix8.2 A[:], ufix9.1 B[:]) return (for a in A dot b in B { fix16.4 c = a + b; } "
                        "return (array (c)));")
    (dfg,) = graphs(program)
    assert kinds(dfg) == [("CHANGE_WIDTH_SE", (10,)), ("LEFT_SHIFT", (10,)), ("IADD", (10,)), ("LEFT_SHIFT", (12,)),
                          ("CHANGE_WIDTH_SE", (16,))]
    agree(program, random_inputs(program, 1, 200))


def test_a_root_of_fixed_point_numbers_as_in_figure_5_6():
    program = parse_sac("ufix8.4[:] f (ufix8.1 A[:]) return (for a in A { ufix8.4 v = sqrt (a); } return (array (v)));")
    (dfg,) = graphs(program)
    assert kinds(dfg) == [("LEFT_SHIFT", (15,)), ("CHANGE_WIDTH", (16,)), ("SQRT", (8,))]
    held = np.arange(256)
    (found,) = run_on_dfgs(program.module, "f", [held])
    assert found.tolist() == [isqrt(n << 7) for n in range(256)]
    agree(program, {"A": held / 2})


def test_roots_of_negative_numbers_are_0_as_casts_of_nan_are():
    program = parse_sac("int8[:] f (int8 A[:]) return (for a in A return (array ((int8)sqrt (a))));")
    assert "SELECTOR" in print_dfgs(graphs(program))
    agree(program, {"A": np.arange(-128, 128)})


def test_tiles_that_are_the_same_in_all_iterations_are_read_from_memory():
    program = parse_sac("uint8[:,:] f (uint8 A[:,:], uint8 s) { uint8 T[2,1] = {{s},{9}}; "
                        "uint8 R[:,:] = for a in A return (tile (T)); } return (R);")
    (dfg,) = graphs(program)
    assert [node.kind for node in dfg.nodes] == ["AREF", "AREF", "WRITE_TILE"]
    agree(program, {"A": np.arange(6).reshape(2, 3), "s": 7})


def test_elements_of_an_array_in_braces_are_used_in_cases():
    program = parse_sac("uint8[:] f (uint8 A[:]) return (for a in A { uint8 T[2] = {a, 9}; uint8 b = switch "
                        "((uint1)a) { "
                        "case 0: return (T[0] + 1) default: return (T[1]) }; } return (array (b)));")
    assert len(graphs(program)) == 1
    agree(program, {"A": np.arange(6)})


def test_the_root_of_a_known_negative_number():
    program = optimised("uint8[:] f (uint8 A[:]) return (for a in A return (array (a + (uint8)sqrt (-48))));")
    assert len(graphs(program)) == 1
    agree(program, {"A": np.arange(6)})


def test_a_selector_for_each_result_of_a_switch():
    program = parse_sac("uint8[:], int8[:] f (int4 K[:]) return (for key in K { uint8 a, int8 b = switch (key) { "
                        "case -1: return (10, key) case 3, -7: return (11, -key) case 2: return (12, key) "
                        "default: return (13, 5) }; } return (array (a), array (b)));")
    (dfg,) = graphs(program)
    selectors = [node for node in dfg.nodes if node.kind == "SELECTOR"]
    assert [len(node.operands) for node in selectors] == [10, 10]
    agree(program, {"K": np.arange(-8, 8)})


def test_the_example_of_section_5_4_4():
    program = optimised("""ufix10.4[:,:], ufix20.2 main (ufix8.2 A[:,:]) {
        ufix10.4 R0[:,:], ufix20.2 R1 = for window WA[3,2] in A { ufix11.2 S = array_sum ((ufix11.2[:,:])WA); }
            return (array ((ufix10.4)(sqrt (S))), sum (((ufix20.2)WA[1,0] + WA[1,1]) / 2));
    } return (R0, R1);""")
    (dfg,) = graphs(program)
    present = {node.kind for node in dfg.nodes}
    assert {"WINDOWGEN", "USUM_MANY", "SQRT", "URIGHT_SHIFT", "WRITE_TILE", "USUM_VALUES", "AND_MANY"} <= present
    assert [each.name for each in dfg.inputs] == ["in0.address", "in0.extent0", "in0.extent1", "out0.address",
                                                  "out1.address", "loop.extent0", "loop.extent1", "iterations"]
    agree(program, random_inputs(program, 1, 12))


def test_seven_arguments_in_the_order_of_section_6_2_1():
    program = optimised("uint8[:,:] f (uint8 A[:,:]) return (for window W[2,3] in A return (array (array_max (W))));")
    (dfg,) = graphs(program)
    assert [each.name for each in dfg.inputs] == ["in0.address", "in0.extent0", "in0.extent1", "out0.address",
                                                  "loop.extent0", "loop.extent1", "iterations"]


def test_circulate_has_the_only_edge_that_goes_back():
    program = parse_sac("uint16, uint16[:] f (uint8 A[:], uint16 s) { uint16 n = s; uint16 r, uint16 P[:] = for a in "
                        "A { "
                        "next n = n * 3 + a; } return (final (n), array (n)); } return (r, P);")
    (dfg,) = graphs(program)
    back = [node.kind for number, node in enumerate(dfg.nodes) for o in node.operands
            if getattr(o, "number", -1) >= number and type(o).__name__ == "Edge"]
    assert back == ["CIRCULATE"]
    agree(program, {"A": [1, 2, 250], "s": 7})
    agree(program, {"A": np.zeros(0, int), "s": 7})


@pytest.mark.parametrize("kind", ["bool", "bits2", "int3", "uint8", "int12", "ufix32.16"])
def test_elements_are_packed_and_rows_begin_with_a_word(kind):
    scalar = parse_scalar(kind)
    random = np.random.default_rng(1)
    for shape in ((7,), (3, 5), (2, 3, 17), (4, 0), (0, 4), ()):
        values = random.integers(scalar.minimum, scalar.maximum, shape, endpoint=True)
        words = pack(values, scalar.width) if shape else [int(values) % (1 << scalar.width)]
        assert len(words) == words_of(shape, scalar.width)
        assert np.array_equal(unpack(words, shape, scalar), values)


def test_words_of_the_thesis():
    """300 pixels of 2 bits take 19 words, of 8 bits 75 (section 7.4.1)."""
    assert words_of((198, 300), 2) == 198 * 19 and words_of((198, 300), 8) == 198 * 75


SMALL = """dfg f {
  inputs in: 32, address: 32, count: 32
  %0: 8 = SCALARGEN(0:32, 3:32, 1:32)
  %1: 8 = UADD(%0, 200:8)
  %2: 1 = USUM_VALUES<bits=8>(%1, 1:1, ^1, ^2)
  return %2
}
"""


def test_a_graph_from_text_runs():
    (dfg,) = parse_dfgs(SMALL)
    verify_dfg(dfg)
    memory = [0, 3, 4, 0]
    statistics = simulate(dfg, memory)
    assert memory[3] == sum(200 + n for n in range(4)) % 256
    assert (statistics.reads, statistics.writes) == (0, 1)


def test_a_graph_whose_tokens_do_not_suffice_says_where_it_stops():
    (dfg,) = parse_dfgs(SMALL)
    with pytest.raises(ProgramError, match=r"^graph f stops before its results are complete: tokens wait at no node$"):
        simulate(dfg, [0, 3, 5, 0])


@pytest.mark.parametrize("old, new, message", [
    ("UADD(%0, 200:8)", "UADD(%2, 200:8)", "graph f, node %1 UADD: there is no output %2.0 before it; only CIRCULATE "
                                           "takes one from behind"),
    ("UADD(%0, 200:8)", "UADD(%0, 200:9)", "graph f, node %1 UADD: its operands and its output have equally many bits, "
                                           "not 8 and 9 and 8"),
    ("UADD(%0, 200:8)", "UADD(%0)", "graph f, node %1 UADD: it has 2 operands"),
    ("UADD(%0, 200:8)", "UMUL(%0, 200:8)", "graph f, node %1 UMUL: it gives 16 bits, not 8"),
    ("UADD(%0, 200:8)", "SQRT(%0)", "graph f, node %1 SQRT: it takes twice the bits it gives, not 8"),
    ("UADD(%0, 200:8)", "ULT(%0, 2:8)", "graph f, node %1 ULT: it compares equally many bits, not 8 and 8, and gives "
                                        "one"),
    ("UADD(%0, 200:8)", "SELECTOR(%0, 2:7, 2:8, 2:8)",
     "graph f, node %1 SELECTOR: it takes a key, pairs of a case and its value, and a value for all others"),
    ("UADD(%0, 200:8)", "SELECTOR(%0, 2:8, 2:7, 2:8)", "graph f, node %1 SELECTOR: its values have 8 bits"),
    ("UADD(%0, 200:8)", "CIRCULATE(%0, 2:7, ^2)", "graph f, node %1 CIRCULATE: it carries equally many bits, not 8 "
                                                  "and 7"),
    ("UADD(%0, 200:8)", "USUM_MANY(%0, 2:8)", "graph f, node %1 USUM_MANY: it takes pairs of a value and a mask of one "
                                              "bit"),
    ("UADD(%0, 200:8)", "UADD(%0, 256:8)", "graph f, node %1 UADD: 256 has more than 8 bits"),
    ("UADD(%0, 200:8)", "UADD(%0, ^9)", "graph f, node %1 UADD: there is no input ^9"),
    ("UADD", "UDIV", "graph f, node %1 UDIV: there is no such kind"),
    ("%1: 8 = UADD(%0, 200:8)", "%1: 0 = BIT_NOT(%0)", "graph f, node %1 BIT_NOT: an output has no bits"),
])
def test_graphs_that_are_not_well_formed(old, new, message):
    (dfg,) = parse_dfgs(SMALL.replace(old, new))
    with pytest.raises(ProgramError) as error:
        verify_dfg(dfg)
    assert str(error.value) == message


def test_text_that_is_no_graph():
    with pytest.raises(ProgramError, match=r"^line 2, column 3: this is no text of a dataflow graph$"):
        parse_dfgs("dfg f {\n  nothing\n}")
