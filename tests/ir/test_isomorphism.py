"""When two statements compute the same from other operands, and what is said when they do not."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.frontend.kernel import Typed
from compiler.frontend.loop_nest import prog
from compiler.ir.isomorphism import canonical_value, first_difference
from compiler.ir.program import Program
from compiler.ir.text import parse_program, print_program
from compiler.passes import directives as transform
from compiler.passes.directives import TransformError
from compiler.passes.normalize.dead_statements import remove_dead_statements


def two(first: Any, second: Any) -> Program:
    """Statements First and Second on neighbours in one row."""
    prg = prog("two")
    prg.add_input("a", shape=(4, 12))
    for name, function in (("First", first), ("Second", second)):
        prg.add_output(name.lower())
        op = prg.add_loop("y", 0, 4).add_loop("x", 0, 8).add_op(name)
        op.add_function(function)
        for k in range(2):
            op.add_load("a", f"x + {k}", "y")
        op.add_store(name.lower(), "x", "y")
    return prg.build()


def scaled(a: Typed, b: Typed) -> Typed:
    return a * 3 + (b >> 1)


def turned(a: Typed, b: Typed) -> Typed:
    """The same of the operands in the other order."""
    return b * 3 + (a >> 1)


def test_operands_are_numbered_in_the_order_of_their_use() -> None:
    program = two(scaled, turned)
    first, second = program.statements
    assert first.value != second.value
    assert canonical_value(first)[0] == canonical_value(second)[0]
    assert (canonical_value(first)[1], canonical_value(second)[1]) == ((0, 1), (1, 0))
    assert first_difference(first, second) is None


@pytest.mark.parametrize(("other", "here", "there"), [
    (lambda a, b: a * 5 + (b >> 1), "the constant 3 (uint16)", "the constant 5 (uint16)"),
    (lambda a, b: a * 3 - (b >> 1), "the operation add (uint16)", "the operation sub (uint16)"),
    (lambda a, b: a * 3 + (a >> 1), "operand 2 (uint16)", "operand 1 (uint16)"),
])
def test_a_difference_is_named(other: Any, here: str, there: str) -> None:
    program = two(scaled, other)
    first, second = program.statements
    with pytest.raises(TransformError) as error:
        transform.share(program, "First", "Second")
    assert str(error.value) == (f"{first} and {second} cannot share units, for they compute different things: "
                                f"{here} in {first}, {there} in {second}")


def test_groups_that_cannot_be() -> None:
    program = two(scaled, turned)
    with pytest.raises(TransformError, match=r"units are shared by two statements or more, not by First alone"):
        transform.share(program, "First")
    shared = transform.share(program, "First", "Second")
    with pytest.raises(TransformError, match=r"statement 'Second' .*is to share its units twice"):
        transform.share(shared, "Second", "First")


def test_groups_are_kept() -> None:
    """In the text form, by directives that make several statements of one, without statements that nobody needs."""
    program = transform.apply_script(two(scaled, turned), "share(First, Second)")
    assert parse_program(print_program(program)) == program
    assert transform.unroll(program, "x", 2).shared == (("First_0", "Second_0"), ("First_1", "Second_1"))
    with pytest.raises(TransformError, match=r"makes 1 of statement 'Second' .*and 2 of statement 'First'"):
        transform.unroll(program, "x", 2, ["First"])
    one_output = parse_program(print_program(program).replace("output second", "intermediate second"))
    assert remove_dead_statements(one_output).shared == ()
