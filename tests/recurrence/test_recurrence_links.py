"""Recurrences: places of statements, links of values, results, and what is refused (Wang 2021, 3.2 and 4.1)."""

from __future__ import annotations

import islpy as isl
import pytest
from recurrence_programs import APPS, program_data, recurrence, scop

from compiler.bind.systolic.recurrence import Settings, compile_recurrence
from compiler.bind.systolic.recurrence.recurrence import Recurrence, analyse_recurrence
from compiler.bind.systolic.recurrence.target import MOST_CELLS
from compiler.frontend.c_scop import load_c
from compiler.ir.interpret import interpret
from compiler.passes.normalize.merge_equal import merge_equal
from compiler.sched.space_time.errors import SpaceTimeError
from hw.errors import SluiceError


def travel(found: Recurrence, maker: str | None, statement: str, read: int) -> set[tuple[tuple[int, ...], bool]]:
    """Distances of one read's values, and whether they come from another use."""
    return {(link.distance, link.passes) for group in found.of_use(statement, read) if group.maker == maker
            for link in group.links}


def test_lu_as_polybench_has_it_is_uniform() -> None:
    """Two equal statements become one; L travels along j, rows of U along i, the pivot with them; A enters at k = 0."""
    found = analyse_recurrence(load_c(APPS / "lu.c", N=6))
    assert found.loops == ("i", "j", "k")
    assert {s.name for s in found.program.statements} == {"A_copy", "S0", "S1"}
    assert found.places["S1"].is_equal(isl.Map("{ S1[i, j] -> [i, j, j] : 0 <= j < i <= 5 }"))
    assert travel(found, "S0", "S0", 0) == {((0, 0, 1), False)}
    assert travel(found, "S1", "S0", 1) == {((0, 1, 0), False), ((0, 1, 0), True)}
    assert travel(found, "S0", "S0", 2) == {((1, 0, 1), False), ((1, 0, 0), True)}
    assert found.of_use("S0", 2) == found.of_use("S1", 1)
    (entering,) = (group for group in found.groups if group.maker is None)
    assert entering.entries.is_equal(isl.Set("{ [i, j, 0] : 0 <= i, j <= 5 }"))
    written = {result.statement: result.elements.domain() for result in found.results}
    assert written["S1"].is_subset(isl.Set("{ [i, j, j] }"))
    assert written["S0"].is_subset(isl.Set("{ [i, j, i - 1] }"))


def test_a_value_turns_where_its_row_and_its_column_meet() -> None:
    found = analyse_recurrence(load_c(APPS / "cholesky.c", N=5))
    turns = [link for group in found.groups for link in group.links if link.via is not None]
    assert turns and all(link.distance == (0, 0, 0) for link in turns)
    assert all(link.users.is_subset(isl.Set("{ [k, i, i] }")) for link in turns)


def test_an_input_along_a_diagonal_goes_from_cell_to_cell() -> None:
    found = analyse_recurrence(load_c(APPS / "fir_recurrence.c", N=8, TAPS=3))
    (samples,) = (group for group in found.groups if group.array == "x")
    assert {link.distance for link in samples.links} == {(1, -1)}
    assert samples.entries.count_val().to_python() == 8 + 3 - 1


def test_merged_statements_compute_the_same() -> None:
    program = recurrence("lu")
    merged = merge_equal(program)
    assert len(merged.statements) == len(program.statements) - 1
    data = program_data(program, 3)
    assert (interpret(merged, data)["A"] == interpret(program, data)["A"]).all()


@pytest.mark.parametrize(("body", "message"), [
    ("for (int i = 0; i < 6; i++)\n for (int j = 1; j < 12; j++)\n  a[i][j] = a[i][j / 2] + x[j];",
     r"\(scop.c:7\): its values of 'a' from statement 'S\d' come from distances that vary \(not uniform\): in loops i, "
     r"j, \(.*\) of \(.*\) and \(.*\) of \(.*\); legal are constant distances"),
    ("for (int i = 1; i < 6; i++)\n for (int j = 0; j < 6; j++)\n  a[i][j] = a[i - 1][5 - j] + x[j];",
     r"\(scop.c:7\): its values of 'a' .* vary \(not uniform\)"),
])
def test_dependences_that_are_not_uniform_are_named_with_two_instances(body: str, message: str) -> None:
    with pytest.raises(SpaceTimeError, match=message):
        compile_recurrence(scop(body, "int32_t a[6][12], const int16_t x[12]"))


def test_loops_that_cannot_be_space_loops() -> None:
    jump = scop("for (int i = 0; i < 6; i++) for (int j = 2; j < 6; j++) a[i][j] = a[i][j - 2] + x[j];")
    assert compile_recurrence(jump).array.mapping.space == ("i",)
    with pytest.raises(SpaceTimeError, match=r"loop 'j' cannot be a space loop: a value of 'a' would travel 2 cells in "
                                             r"one step; legal: i$"):
        compile_recurrence(jump, ("j",))
    with pytest.raises(SpaceTimeError, match="there is no loop 'z'; loops: i, j"):
        compile_recurrence(jump, ("z",))
    with pytest.raises(SpaceTimeError, match="an array has one or two space loops, not 3"):
        compile_recurrence(recurrence("lu"), ("i", "j", "k"))
    both = scop("for (int i = 2; i < 6; i++) for (int j = 2; j < 6; j++) a[i][j] = a[i - 2][j - 2] + x[j];")
    with pytest.raises(SpaceTimeError, match="has no legal space loop: along each of i, j some value travels more than "
                                             "one iteration at once"):
        compile_recurrence(both)


def test_arrays_that_are_too_large() -> None:
    wide = load_c(APPS / "alignment.c", N=40, M=40)
    with pytest.raises(SpaceTimeError, match=f"would take 1600 cells .* take up to {MOST_CELLS}: make extents smaller "
                                             "or take one space loop"):
        compile_recurrence(wide, ("i", "j"))
    with pytest.raises(SpaceTimeError, match="has 1600000 statement instances; recurrences are not tiled"):
        compile_recurrence(load_c(APPS / "fir_recurrence.c", N=200_000, TAPS=7))


def test_settings_out_of_range() -> None:
    with pytest.raises(SluiceError, match=r"divider_bits is 9, not in 1\.\.8"):
        Settings(divider_bits=9)
