"""Operations on fewer bits, and what moves: invariants out of loops, conversions of arrays to elements."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_sac import Writer
from test_sac_loop_passes import did, same
from test_sac_passes import check

from compiler.frontend.sac import SacRunError, parse_sac
from compiler.frontend.sac.passes import count_nodes, optimise
from compiler.frontend.sac.passes.bit_counts import count_bits

SQUARE_ROOT = """uint16[:] main (uint32 A[:]) return (for a in A return (array (root (a))));
uint16 root (uint32 vsqn) {
    bits32 vsq = vsqn;
    bits32 asq = 0;
    bits16 a = 0;
    bits32 tvsq = 0;
    uint16 v =
        for uint4 i in [16] {
            bits32 nasq = ((bits32)((uint32)asq + (uint16)a) << 2) | 0b1;
            bits16 sa = a << 1;
            next tvsq = (tvsq << 2) | ((bits2)(vsq >> 30));
            next vsq = vsq << 2;
            next a, next asq =
                if (nasq <= tvsq) return (sa | 0b1, nasq)
                else return (sa, asq << 2);
        } return (final (a));
} return (v);"""
"""Hammes 2000, appendix A.1."""
CYCLE_WITHOUT_IDENTITIES = ["unroll", "constants", "elements", "fold", "switches", "dead"]


def test_widths_of_the_square_root():
    """Hammes 2000, section 7.3.1. The thesis' count of logic includes the union with the first, known 0."""
    program = parse_sac(SQUARE_ROOT)
    done = same(program, ["inline", *CYCLE_WITHOUT_IDENTITIES * 3, "narrow"], 1)
    assert did(done, "narrow") == ["'main': logic 542 to 60 bits, compare 512 to 272 bits, arithmetic 480 to 240 bits, "
                                   "selectors 736 to 375 bits"]
    assert did(same(program, ["all", "narrow"], 1), "narrow")[0].startswith("'main': logic 510 to 60 bits, ")


def widths(text: str) -> dict[str, int]:
    program = parse_sac(text)
    done = same(program, ["fold", "dead", "narrow"], 3)
    return count_bits(done.module.function("f").graph, known=True)


@pytest.mark.parametrize("expression, bits", [
    ("(uint8)((uint8)(a & (uint8)3) + (uint8)(b & (uint8)4)) + (uint8)3", 3 + 4),  # figure 4.14: 7 + 3 needs 4 bits
    ("((uint32)(uint8)a << 2) + 3", 10),  # what is shifted in leaves room
    ("(uint32)(uint4)a * (uint3)b + (uint4)a", 7 + 7),  # 15 * 7 + 15 is 120
    ("(uint6)(a + b)", 6),  # no more bits are used
])
def test_widths_follow_from_values_and_from_uses(expression, bits):
    counts = widths(f"uint32 f (uint8 a, uint8 b) return ({expression});")
    assert counts["arithmetic"] == bits


@given(st.integers(0, 2**32))
@settings(max_examples=30)
def test_random_programs_are_narrowed(seed):
    check(parse_sac(Writer(seed).program()), ["inline", "fold", "narrow"], seed)


@given(st.integers(0, 2**32))
@settings(max_examples=20)
def test_random_programs_after_most_passes(seed):
    check(parse_sac(Writer(seed).program()), ["most"], seed)


def test_invariants_leave_loops():
    program = parse_sac("""uint8[:] main (uint8 A[:], uint8 n) return (
        for a in A { uint8 k = n * n + 1; } return (array (a + k)));""")
    done = same(program, ["hoist"], 1)
    kinds = [node.kind for node in done.module.function("main").graph.nodes]
    assert kinds == ["MUL", "ADD", "FORALL"]


def test_invariants_that_may_fail_stay():
    """The loop may have no iterations; then the quotient is never computed."""
    program = parse_sac("uint8[:] main (uint8 A[:], uint8 n) return (for a in A return (array (a + 100 / n)));")
    done = optimise(program.module, "main", ["hoist"])
    assert done.module == program.module
    assert program.run({"A": [], "n": 0})["result1"].tolist() == []


def test_conversions_of_arrays_go_to_elements():
    """Hammes 2000, section 4.1.6.1."""
    program = parse_sac("""uint12, uint12 main (uint8 A[:,:]) {
        uint12 B[:,:] = (uint12[:,:])A;
        uint12 s = for b in B return (sum (b));
        uint32 rows, uint32 columns = extents (B);
    } return (s, B[0,1] + (uint12)rows);""")
    done = same(program, ["casts", "dead"], 1)
    casts = [node for node in done.module.function("main").graph.walk() if node.kind == "CAST"]
    assert casts and not any(node.outputs[0].is_array for node in casts)
    assert count_nodes(done.module)["CAST"] == 3


@pytest.mark.parametrize("reference, pattern", [
    ("A[1:9:2][0:3][1]", 1), ("A[2:9][i]", 1), ("A[1:9:2,0:3][0:1,2][i1]", 1), ("A[2:8][i]", 2),
    ("A[1:9:2][i:3][0]", 2),
])
def test_references_to_sections(reference, pattern):
    """Hammes 2000, section 4.1.6.3. `i` has 3 bits, so that it may lie outside of 7 elements, and then is an error."""
    rank = 2 if "," in reference else 1
    dimensions = ",".join(["12"] * rank)
    program = parse_sac(f"uint8 main (uint8 A[{dimensions}], uint3 i, uint1 i1) return ({reference});")
    done = same(program, ["sizes", "elements", "dead", "elements", "dead"], 1)
    assert count_nodes(done.module)["AREF"] == pattern


def test_an_index_outside_of_a_section_stays_an_error():
    program = parse_sac("uint8 main (uint8 A[12], uint3 i) return (A[2:8][i]);")
    done, _ = program.optimised()
    for each in (program, done):
        with pytest.raises(SacRunError, match="index 7 in dimension 0 of an array whose extent there is 7"):
            each.run({"A": range(12), "i": 7})


def test_arrays_are_made_of_converted_elements():
    """The loop writes 8 bits for each element, and not 16."""
    program = parse_sac("""uint8[:] main (uint8 A[:]) {
        uint8 R[:] = for a in A return (array ((uint16)a * a));
        uint32 S[:] = for a in A return (array (a + 1));
    } return (for r in R dot s in S return (array (r + (uint8)s)));""")
    done = same(program, ["casts", "dead"], 1)
    first, second, _ = (n for n in done.module.function("main").graph.nodes if n.kind == "FORALL")
    assert [str(first.outputs[0]), str(second.outputs[0])] == ["uint8[:]", "uint8[:]"]
    casts = [node for node in done.module.function("main").graph.nodes if node.kind == "CAST"]
    assert not any(str(node.outputs[0]).startswith("uint8") for node in casts)


def test_reductions_of_nothing_have_no_bits():
    program = parse_sac("""uint8 main (uint8 a) return (
        (uint8)((uint16)a + 1) + (for uint8 i in [0] return (max ((uint8)(i + a)))));""")
    done = same(program, ["unroll", "narrow"], 1)
    assert "compare 0 to 0 bits" in did(done, "narrow")[0]
