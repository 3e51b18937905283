"""Iterations and memory accesses of loops, counted from their graphs."""

import pytest

from benchmarks.sac_loops import MISPRINTS, TABLES, cost
from compiler.frontend.apps import sac_applications
from compiler.frontend.sac import parse_sac
from compiler.frontend.sac.cost import loop_costs, packed_words
from compiler.frontend.sac.types import parse_scalar
from compiler.ir.types import ProgramError

ROWS = [(table, row) for table, rows in TABLES.items() for row in rows]


@pytest.mark.parametrize("table, row", ROWS, ids=[f"{table} {row.name}" for table, row in ROWS])
def test_counts_are_those_of_the_thesis(table, row):
    """Hammes 2000, tables 7.1 to 7.6."""
    found = cost(row)
    assert found.iterations == round(1000 * row.iterations)
    if len(row.accesses) == 2:
        assert [found.reads, found.writes] == [round(1000 * a) for a in row.accesses]
        assert found.two_memories == found.iterations
    else:
        printed = MISPRINTS.get((table, row.name), row.accesses[0])
        assert found.reads + found.writes == round(1000 * printed)
    assert row.sweeps in (None, found.sweeps)
    assert row.transfers is None or found.transfers == round(1000 * row.transfers)


def test_all_tables_have_all_rows():
    counts = {table: len(rows) for table, rows in TABLES.items()}
    assert counts == {"7.1": 14, "7.2": 14, "7.3": 14, "7.4": 10, "7.5": 11, "7.6": 9}


@pytest.mark.parametrize("scalar, extents, words", [
    ("uint2", (198, 300), 198 * 19), ("uint8", (300,), 75), ("uint3", (9,), 2), ("fix12.4", (2, 3), 4),
    ("double", (3,), 6), ("bool", (33,), 2), ("uint8", (), 1),
])
def test_arrays_are_packed_row_by_row(scalar, extents, words):
    assert packed_words(parse_scalar(scalar), extents) == words


@pytest.mark.parametrize("loop, reads, writes, iterations", [
    ("for a in A cross b in B return (sum (a * b))", 1 + 4 * 1, 1, 4 * 3),
    ("for window W[2,:] in C step (2) return (array (W[0,0]))", 3 * 2 * 2, 1, 3),
    ("for uint8 i in [6] return (array (i))", 0, 2, 6),
    ("for V(~,:) in C return (array (V))", 6 * 2, 6 * 2, 6),
])
def test_counts_of_other_generators(loop, reads, writes, iterations):
    rank = {"sum": "", "array (W": "[:]", "array (i": "[:]", "array (V": "[:,:]"}
    kind = next(dimensions for text, dimensions in rank.items() if text in loop)
    program = parse_sac(f"uint8{kind} main (uint8 A[4], uint8 B[3], uint8 C[6,7]) return ({loop});")
    optimised, _ = program.optimised(["sizes"])
    (found,) = loop_costs(optimised.module, "main")
    assert (found.reads, found.writes, found.iterations) == (reads, writes, iterations)


def test_loops_of_unknown_extents_are_left_out():
    program = parse_sac("uint8[:] main (uint8 A[:]) return (for a in A return (array (a + 1)));")
    assert loop_costs(program.module, "main") == []
    sized, _ = program.with_extents({"A": (70,)}).optimised(["sizes"])
    assert [found.iterations for found in loop_costs(sized.module, "main")] == [70]
    with pytest.raises(ProgramError, match=r"input A has type uint8\[:\] and not the shape \[7, 7\]"):
        program.with_extents({"A": (7, 7)})
    with pytest.raises(ProgramError, match="program program has no input 'B'; it has: A"):
        program.with_extents({"B": (7,)})


COMBINED = sac_applications()["sac/combined_pair"].read_text(encoding="utf-8")
STRIPPED = COMBINED.replace("ufix8.2 Res[:,:] =", "ufix8.2 Res[:,:] =\n// PRAGMA (stripmine (6,4))\n")
ALONE = ["inline", "casts", "dead", "sizes", "unroll", "sizes"]


@pytest.mark.parametrize("text, passes, bounds", [
    (COMBINED, ALONE, [59100, 58509]),
    (COMBINED, [*ALONE, "combine", "sizes", "unroll", "sizes"], [58903, 58509]),
    (COMBINED, ["inline", "cycle", "combine", "cycle"], [58509]),
    (STRIPPED, ["inline", "cycle", "combine", "all"], [32175]),
])
def test_bounds_of_combined_arrays(text, passes, bounds):
    """Hammes 2000, table 7.7, whose printed 59.10 of the second row leaves out that elements of 16 bits are packed."""
    program = parse_sac(text).with_extents({"A": (198, 300)})
    optimised, _ = program.optimised(passes)
    found = [cost.one_memory for cost in loop_costs(optimised.module, "main")]
    assert found[:len(bounds)] == bounds
