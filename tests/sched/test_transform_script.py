"""Directives as text: each is the function that it names, and what cannot be read is said with its text."""

from __future__ import annotations

import pytest

from compiler.frontend.loop_nest import prog
from compiler.ir.program import Program
from compiler.passes import directives as transform
from compiler.passes.directives import TransformError, apply_script


def stages() -> Program:
    """Two element-wise stages of 6 x 10 points."""
    prg = prog("stages")
    prg.add_input("image", (6, 10))
    prg.add_output("result")
    for name, source, target in (("first", "image", "middle"), ("second", "middle", "result")):
        op = prg.add_loop("y", 0, 6).add_loop("x", 0, 10).add_op(name)
        op.add_load(source, "x", "y")
        op.add_load(source, "x", "y")
        op.add_function("mul")
        op.add_store(target, "x", "y")
    return prg.build()


@pytest.mark.parametrize(("text", "expected"), [
    ("tile(y=4, x=3)", lambda p: transform.tile(p, {"y": 4, "x": 3})),
    ("reorder(x, y)", lambda p: transform.reorder(p, ("x", "y"))),
    ("reverse(x, on=[second])", lambda p: transform.reverse(p, "x", ["second"])),
    ("split(x, 4); reverse(x_i)", lambda p: transform.reverse(transform.split(p, "x", 4), "x_i")),
    ("shift(y, -1, on=[first])", lambda p: transform.shift(p, "y", -1, ["first"])),
    ("fuse(first, second, 2); distribute(second, 2);", lambda p: transform.distribute(
        transform.fuse(p, "first", "second", 2), "second", 2)),
    ("unroll(x, 2)", lambda p: transform.unroll(p, "x", 2)),
    ("overlap(y=2, x=3)", lambda p: transform.overlap(p, {"y": 2, "x": 3})),
    ("batch(2)", lambda p: transform.batch(p, 2)),
    ("parallelize(y, 2)", lambda p: transform.parallelize(p, "y", 2)),
    ("", lambda p: p),
])
def test_directives(text: str, expected) -> None:
    assert apply_script(stages(), text) == expected(stages())


@pytest.mark.parametrize(("text", "message"), [
    ("tile", r"directive 'tile' is not of the form name\(argument, \.\.\.\)"),
    ("tile(", r"directive 'tile\(' is not of the form"),
    ("skew(x, 1)", "there is no directive 'skew'; there are: batch, distribute, fold, fuse, overlap, parallelize"),
    ("overlap(x, y)", r"overlap is used as overlap\(i=64, j=64\)"),
    ("tile(4)", r"directive 'tile\(4\)': tile is used as tile\(i=4, j=4\)"),
    ("split(x)", r"split is used as split\(i, 4\)"),
    ("split(x, y)", r"split is used as split\(i, 4\)"),
    ("fold(first)", r"fold is used as fold\(statement, 2\)"),
    ("reverse(x, on=second)", "'on' takes a list of statements"),
    ("fuse(first, second, on=[first])", "fuse names its statements itself, without 'on'"),
    ("reverse(x + 1)", "an argument is a name, a number or a list of names"),
    ("reverse(z)", "no statement of program 'stages' has the iterators z"),
])
def test_directives_that_cannot_be(text: str, message: str) -> None:
    with pytest.raises(TransformError, match=message):
        apply_script(stages(), text)
