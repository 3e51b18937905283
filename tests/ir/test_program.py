"""Questions that a program answers about itself."""

import islpy as isl
import pytest

from compiler.frontend.loop_nest import load, prog
from compiler.ir.expr import Const
from compiler.ir.program import Access, Program, ProgramError, Statement, shared_depth, shared_loops
from compiler.ir.types import UINT16


def statement(domain: str, *iterators: str) -> Statement:
    access = Access("a", isl.Map("{ S[] -> a[] }"))
    return Statement("S", iterators, isl.Set(domain), (), access, Const(0, UINT16))


@pytest.mark.parametrize(
    ("domain", "box"),
    [
        ("{ S[y, x] : 2 <= y < 6 and -3 <= x <= 9 }", {"y": (2, 5), "x": (-3, 9)}),
        ("{ S[y, x] : y = 4 and 0 <= x < 9 and 2x >= 3 }", {"y": (4, 4), "x": (2, 8)}),
        ("{ S[y, x] : 0 <= y <= x < 9 }", None),
        ("{ S[y, x] : 0 <= y < 4 and 0 <= x < 9 and x mod 2 = 0 }", None),
        ("{ S[y, x] : 0 <= y < 4 and (0 <= x < 3 or 5 <= x < 9) }", None),
        ("{ S[y, x] : 0 <= y < 4 and (0 <= x < 5 or 5 <= x < 9) }", {"y": (0, 3), "x": (0, 8)}),
        ("{ S[y, x] : 0 <= y < 4 and 0 <= x }", None),
        ("{ S[y, x] : 0 <= y < 4 and 4 <= x < 4 }", None),
    ],
)
def test_box_is_the_trip_counts_of_a_rectangular_domain(domain: str, box: dict[str, tuple[int, int]] | None) -> None:
    assert statement(domain, "y", "x").box() == box


def test_a_statement_without_loops_is_a_box_of_one_point() -> None:
    assert statement("{ S[] }").box() == {}


def test_shared_loops_are_the_outer_loops_of_all_statements() -> None:
    assert shared_loops(load("brighten_blur", tiles=2, size=4)) == ("t",)
    assert shared_loops(load("gaussian_tiled", width=6, tile=2)) == ("ty", "tx", "yi", "xi")
    assert shared_depth(load("cascade", width=8, height=8)) == 0
    assert shared_depth(load("gaussian", width=8, height=8)) == 2


def two_loops(shared: bool) -> Program:
    """Two statements in loops of the same names, once in the same loops and once in loops beside each other."""
    prg = prog("two")
    prg.add_input("a")
    prg.add_output("b")
    prg.add_output("c")
    first = prg.add_loop("y", 0, 4)
    second = first if shared else prg.add_loop("y", 0, 4)
    for parent, name, target in ((first, "B", "b"), (second, "C", "c")):
        op = parent.add_loop("x", 0, 4).add_op(name)
        op.add_load("a", "x", "y")
        op.add_store(target, "x", "y")
    return prg.build()


def test_loops_of_the_same_name_beside_each_other_are_not_shared() -> None:
    assert shared_loops(two_loops(shared=True)) == ("y",)
    assert shared_loops(two_loops(shared=False)) == ()


def test_an_order_of_another_form_shares_nothing() -> None:
    program = two_loops(shared=True)
    order = isl.UnionMap("{ B[y, x] -> [y, x, 0]; C[y, x] -> [y, x, 1] }")
    assert shared_loops(Program(program.name, program.arrays, program.tables, program.statements, order)) == ()


def test_the_image_is_the_only_input_of_two_or_three_dimensions() -> None:
    assert load("brighten_blur", tiles=2, size=4).image_input.name == "input"
    prg = prog("many")
    prg.add_input("a")
    prg.add_input("b")
    prg.add_output("c")
    op = prg.add_loop("x", 0, 4).add_op("S")
    op.add_load("a", "x", 0)
    op.add_load("b", 0, "x")
    op.add_function("add")
    op.add_store("c", "x")
    with pytest.raises(ProgramError) as error:
        prg.build().image_input  # noqa: B018
    assert str(error.value) == "program 'many' needs one image, an input of 2 or 3 dimensions; it has: a, b"


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("array", "program 'gaussian' has no array 'other'; there are: input, output"),
        ("table", "program 'gaussian' has no table 'other'; there are: none"),
        ("statement", "program 'gaussian' has no statement 'other'; there are: Gaussian"),
    ],
)
def test_unknown_names_are_errors_with_the_names_there_are(kind: str, message: str) -> None:
    with pytest.raises(ProgramError) as error:
        getattr(load("gaussian"), kind)("other")
    assert str(error.value) == message


def test_equality_is_by_meaning_of_the_sets() -> None:
    assert statement("{ S[y, x] : 0 <= y < 4 and 0 <= x < 2 }", "y", "x") == statement(
        "{ S[i, j] : 0 <= i <= 3 and 0 <= 2j <= 3 }", "y", "x"
    )
    assert statement("{ S[y] : 0 <= y < 4 }", "y") != statement("{ S[y] : 0 <= y < 5 }", "y")
