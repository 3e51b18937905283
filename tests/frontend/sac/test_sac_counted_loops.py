"""Loops whose results have no extents before the run, in the form that circuits have: the same results."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.frontend.sac import SacProgram, parse_sac
from compiler.frontend.sac.ddcf import interpret, parse_module, print_module
from compiler.frontend.sac.ddcf.graph import Node
from compiler.frontend.sac.errors import SacError
from compiler.frontend.sac.passes import count_nodes, optimise
from compiler.frontend.sac.passes.trip_counts import most_trips


def rewritten(text: str, passes: list[str], **extents: tuple[int, ...]) -> tuple[SacProgram, SacProgram, list[str]]:
    """The program, what passes make of it, and what the last of these says."""
    program = parse_sac(text, "p.sc").with_extents(extents)
    changed, done = program.optimised(passes)
    assert parse_module(print_module(changed.module)) == changed.module
    return program, changed, [str(note) for note in done.notes if note.name == passes[-1]]


def same(one: SacProgram, other: SacProgram, inputs: dict) -> None:
    for a, b in zip(interpret(one.module, one.main.name, one.held(inputs)),
                    interpret(other.module, other.main.name, other.held(inputs)), strict=True):
        assert a.shape == b.shape and (a == b).all()


EUCLID = """
uint8, uint8[:], uint16, uint8, bool main (uint8 a, uint8 b) {
    uint8 x = a; uint8 y = b;
    // PRAGMA (max_trips (20))
    uint8 r, uint8 T[:], uint16 s, uint8 m, bool o = while (x != y && x != 0 && y != 0) {
        uint8 rest = x % y;
        uint8 less = y > x ? y - x : y;
        next x = x > y ? x - y : x;
        next y = less;
    } return (final (x), array (rest), sum ((uint16)y, x > 9), min (x), or (rest == 3));
} return (r, T, s, m, o);
"""


@given(a=st.integers(0, 60), b=st.integers(0, 60))
@settings(max_examples=30)
def test_as_many_iterations_as_the_pragma_says_and_a_rest(a, b):
    """No iteration after the last one divides by zero; what runs longer than the pragma says does so in the rest."""
    program, changed, _ = rewritten(EUCLID, ["predicate"])
    same(program, changed, {"a": a, "b": b})


def test_the_rest_runs_only_behind_a_pragma_that_is_too_small():
    program, changed, notes = rewritten(EUCLID, ["predicate"])
    assert notes == ["p.sc:5:54: predicate: 20 iterations, as long as the condition holds"]
    assert count_nodes(changed.module)["FORNXT"] == count_nodes(changed.module)["WHILE"] == 1
    assert len(program.run({"a": 60, "b": 1})["T"]) == len(changed.run({"a": 60, "b": 1})["T"]) == 59
    assert optimise(changed.module, "main", ["predicate"]).module == changed.module


BOUNDED = """
uint8, uint8[:] main (uint8 a) {{
    {type} k = {first}; uint8 x = a;
    uint8 r, uint8 T[:] = while ({test} && x != 7) {{
        next k = k {step};
        next x = (x * 5 + 3) & 31;
    }} return (final (x), array (x));
}} return (r, T);
"""


@pytest.mark.parametrize(("type_", "first", "test", "step", "trips"), [
    ("uint8", 0, "k < 12", "+ 1", 12), ("uint8", 3, "k <= 12", "+ 2", 5), ("int8", 12, "k > -3", "- 4", 4),
    ("int8", 12, "k >= 0", "- 4", 4), ("uint8", 0, "9 > k", "+ 1", 9), ("uint8", 9, "k < 9", "+ 1", 0),
    ("uint8", 0, "k < 255", "+ 1", 255), ("uint8", 0, "k <= 255", "+ 1", None), ("uint8", 0, "k < 254", "+ 3", None),
    ("uint8", 0, "k != 12", "+ 1", None), ("uint8", 0, "k < 12", "+ x", None), ("uint8", 12, "k > 0", "+ 1", None)])
def test_counters_that_conditions_bound(type_, first, test, step, trips):
    """Not those that may wrap, whose step is not known, or that go the other way."""
    program, changed, _ = rewritten(BOUNDED.format(type=type_, first=first, test=test, step=step), ["predicate"])
    (loop,) = [node for node in _nodes(program) if node.kind == "WHILE"]
    assert most_trips(loop) == trips
    kinds = count_nodes(changed.module)
    assert (kinds.get("FORNXT", 0), kinds.get("WHILE", 0)) == ((1, 0) if trips else (0, 1))
    for a in (7, 1, 2, 30):
        same(program, changed, {"a": a})


def _nodes(program: SacProgram) -> list[Node]:
    return [node for function in program.module.functions for node in function.graph.walk()]


LEFT = {
    "no bound": ("while (n > 1) { next n = n >> 1; } return (final (n))",
                 "p.sc:2:1: predicate: not done: its condition bounds no counter by up to 65536, and no pragma says "
                 "how many iterations it has: // PRAGMA (max_trips (64))"),
    "arrays": ("// PRAGMA (max_trips (9))\nwhile (n > 8) { next n = n - 8; uint8 P[2] = {n, n}; } return (array (P))",
               "p.sc:2:1: predicate: not done: it returns arrays of its iterations: return their elements"),
    "means": ("// PRAGMA (max_trips (9))\nwhile (n > 8) { next n = n - 8; } return (mean (n))",
              "p.sc:2:1: predicate: not done: two loops cannot share MEAN: return array(...), or carry the value by "
              "next"),
    "inside": ("for a in A return (sum (// PRAGMA (max_trips (9))\n"
               "while (n > 1) { next n = n >> 1; } return (final (n))))",
               "p.sc:2:25: predicate: not done: it is inside a loop, so nothing can follow its pragma's iterations: "
               "let its condition bound a counter, as in while (k < 9 && ...) { next k = k + 1; ... }"),
}


@pytest.mark.parametrize("name", LEFT)
def test_loops_that_stay(name):
    loop, message = LEFT[name]
    result = "uint8[:,:]" if name == "arrays" else "uint8"
    _, _, notes = rewritten(f"{result} main (uint8 n, uint8 A[9]) return (\n{loop});", ["predicate"])
    assert notes == [message]


COMPACTED = """
uint8[:], uint16, uint8[:] main (uint8 A[:], uint8 b) {
    uint8 k = 0;
    uint8 T[:], uint16 s, uint8 P[:] = for window W[2] in A at (uint8 i) {
        uint8 K[1] = {k};
        uint8 I[1] = {i};
        uint8 V[:] = if (W[0] > b) return (W) else return (W[1] == 3 ? K : W[1:0]);
        uint8 Z[:] = W[0] == W[1] ? I : W[1:0];
        next k = k + 1;
    } return (concat (V), sum ((uint16)W[0]), concat (Z));
} return (T, s, P);
"""


@given(values=st.lists(st.integers(0, 7), min_size=3, max_size=20), b=st.integers(0, 8))
@settings(max_examples=30)
def test_elements_behind_each_other(values, b):
    """Of no, one or two elements of an iteration, also if there are none at all."""
    program, changed, notes = rewritten(COMPACTED, ["sizes", "compact"], A=(len(values),))
    assert notes == ["p.sc:4:40: compact: elements are written behind each other"]
    assert "CONSTRUCT_CONCAT" not in count_nodes(changed.module)
    same(program, changed, {"A": np.array(values), "b": b})


@pytest.mark.parametrize(("text", "reason"), [
    ("uint8[:] main (uint8 A[9], uint8 n) return (for a in A { uint8 P[:] = A[0:n]; } return (concat (P)));",
     "how many elements an iteration gives is not known, or more than 8: let each case of a switch give so many, such "
     "as A[0:0] and A[1:0]"),
    ("uint8[:] main (uint8 A[:]) return (for window W[2] in A return (concat (W)));",
     "how many iterations it has is not known"),
    ("float[:] main (float A[9]) return (for window W[2] in A return (concat (W)));",
     "it joins float[2], and elements of circuits are integers in one row")])
def test_arrays_that_stay(text, reason):
    _, _, (note,) = rewritten(text, ["sizes", "compact"])
    assert note.endswith(f"compact: not done: {reason}")


@pytest.mark.parametrize(("pragma", "reason"), [
    ("block (8,8)", "there is no pragma 'block' of while loops; there are: max_trips"),
    ("max_trips", "pragma 'max_trips' has 0 numbers; it is written // PRAGMA (max_trips (4))")])
def test_pragmas_of_while_loops(pragma, reason):

    with pytest.raises(SacError) as caught:
        parse_sac(f"uint8 main (uint8 n) {{\n// PRAGMA ({pragma})\nuint8 r = while (n > 1) {{ next n = n >> 1; }} "
                  "return (final (n)); } return (r);", "p.sc")
    assert str(caught.value) == f"p.sc:2:1: {reason}"
