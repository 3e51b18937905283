"""Questions that a program answers about itself."""

from dataclasses import replace

import islpy as isl
import pytest

from compiler.frontend.loop_nest import load, prog
from compiler.ir.expr import Apply, Cast, Const, Expr, Iterator, Load, Lookup, Read, Store, apply
from compiler.ir.program import Access, Program, ProgramError, Statement, shared_depth, shared_loops
from compiler.ir.types import BIT, UINT16, Int


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


def doubled(first: int, depth: int = 400) -> Expr:
    """A graph of `depth` nodes with 2 ** `depth` ways down."""
    value: Expr = Read(first, UINT16)
    for _ in range(depth):
        value = apply("add", value, value)
    return value


def test_graphs_with_shared_parts_are_compared_node_by_node() -> None:
    """Copies of one are equal and have one hash; a statement whose value differs far below is another one."""
    one = replace(statement("{ S[i] : 0 <= i < 4 }", "i"), value=doubled(0))
    assert one == replace(one, value=doubled(0)) and hash(one.value) == hash(doubled(0))
    assert one != replace(one, value=doubled(1)) and one != replace(one, value=doubled(0, 399))
    assert len({doubled(0), doubled(1), doubled(0)}) == 2


UINT8 = Int(8, signed=False)
A, B = Read(0, UINT16), Iterator("i", UINT16)


@pytest.mark.parametrize(("node", "others"), [
    (Apply("add", (A, B), UINT16), [Apply("sub", (A, B), UINT16), Apply("add", (B, A), UINT16), Cast(A, UINT16)]),
    (Cast(A, UINT8), [Cast(B, UINT8), Cast(A, BIT), A]),
    (Lookup("t", A, UINT8), [Lookup("u", A, UINT8), Lookup("t", B, UINT8), Lookup("t", A, UINT16)]),
    (Load("m", A, (B,), UINT8), [Load("n", A, (B,), UINT8), Load("m", A, (), UINT8), Load("m", A, (A,), UINT8)]),
    (Store("m", A, B, Const(1, BIT), ()), [Store("m", A, B, Const(0, BIT), ()), Store("m", A, A, Const(1, BIT), ()),
                                           Store("n", A, B, Const(1, BIT), ()), Store("m", A, B, Const(1, BIT), (A,))]),
], ids=lambda case: type(case).__name__)
def test_nodes_are_equal_if_all_of_them_is(node: Expr, others: list[Expr]) -> None:
    assert node == replace(node) and hash(node) == hash(replace(node))
    for other in others:
        assert node != other
