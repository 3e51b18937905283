"""Sums in rounds: what becomes of a statement, that it computes the same, and what cannot be folded."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from compiler.cli.input_files import random_inputs
from compiler.frontend.kernel import Typed, maximum, weighted_sum
from compiler.frontend.loop_nest import load, prog
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.ir.text import parse_program, print_program
from compiler.passes import directives as transform
from compiler.passes.directives import TransformError
from compiler.passes.normalize.loop_normalization import normalize_loops


def same(before: Program, after: Program) -> None:
    assert parse_program(print_program(after)) == after
    inputs = random_inputs(before, 1)
    expected, found = interpret(before, inputs), interpret(after, inputs)
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values)


def window(weights: list[int], places: list[tuple[int, int]], function=None) -> Program:
    prg = prog("window")
    prg.add_input("a", shape=(12, 12))
    prg.add_output("b")
    op = prg.add_loop("y", 0, 6).add_loop("x", 0, 6).add_op("Sum")
    op.add_function(function or (lambda *words: weighted_sum(weights, words) >> 2))
    for dx, dy in places:
        op.add_load("a", f"x + {dx}", f"y + {dy}")
    op.add_store("b", "x", "y")
    return prg.build()


def test_a_window_row_by_row() -> None:
    program = load("gaussian", width=16, height=8)
    folded = transform.fold(program, "Gaussian", 3)
    same(program, folded)
    assert [(s.name, s.iterators) for s in folded.statements] == [
        ("Gaussian_start", ("y", "x")), ("Gaussian_rounds", ("y", "x", "round")), ("Gaussian", ("y", "x"))]
    rounds = folded.statement("Gaussian_rounds")
    assert [str(access.map).split("->")[1] for access in rounds.reads[1:]] == [
        f" input[y + round, {column}] }}" for column in ("x", "1 + x", "2 + x")]
    assert [table.values for table in folded.tables] == [(24, 30, 24), (30, 37, 30), (24, 30, 24)]


def test_what_adds_to_itself_stays_one_statement() -> None:
    program = load("resnet_layer", size=4, inputs=4, outputs=2, unroll_in=4, unroll_out=2)
    once = transform.fold(program, "Accumulate_1", 2)
    twice = transform.fold(once, "Accumulate_1", 2)
    same(program, twice)
    assert [s.name for s in twice.statements] == [s.name for s in program.statements]
    assert len(once.statement("Accumulate_1").reads) == 5
    assert normalize_loops(twice).statement("Accumulate_1").iterators[-3:-1] == ("round", "round_")
    with pytest.raises(TransformError, match="folding of 'Accumulate_1' in 2 rounds would change the result"):
        transform.fold(once, "Accumulate_1", 2, 2)


def test_neighbours_on_one_unit_if_not_in_one_round() -> None:
    """A row in the first half of the terms, a diagonal in the second: only neighbours advance evenly."""
    program = window([2, 3, 4, 5, 6, 7], [(0, 0), (2, 0), (4, 0), (4, 1), (5, 2), (6, 3)])
    folded = transform.fold(program, "Sum", 3)
    same(program, folded)
    assert [str(a.map).split("-> ")[1] for a in folded.statement("Sum_rounds").reads[1:]] == [
        "a[y, x + 2round] }", "a[1 + y + round, 4 + x + round] }"]


def test_a_bare_operand_is_a_product_with_one() -> None:
    program = window([1, 2, 2, 1], [(0, 0), (1, 0), (0, 1), (1, 1)])
    folded = transform.fold(program, "Sum", 2)
    same(program, folded)
    assert [table.values for table in folded.tables] == [(1, 2), (2, 1)]


def test_a_maximum_in_rounds() -> None:
    def largest(a: Typed, b: Typed, c: Typed, d: Typed) -> Typed:
        return maximum(maximum(a, b), maximum(c, d)) - a

    program = window([], [(0, 0), (1, 0), (0, 1), (1, 1)], largest)
    same(program, transform.fold(program, "Sum", 2))


@pytest.mark.parametrize(("arguments", "message"), [
    (("Sum", 3), "statement 'Sum' .*: its chain of 'add' has 4 terms that are alike, which is no multiple of 3 rounds"),
    (("Sum", 1), "statement 'Sum' .* cannot be computed in 1 rounds; there are at least 2"),
    (("Sum", 2, 3), "statement 'Sum' .* has 2 loops; its rounds cannot lie around 3"),
    (("Sum", 2, 1, "x"), "statement 'Sum' .* has an iterator 'x' already"),
    (("Sum", 4), r"statement 'Sum' .*: an operand is a\[y, x\], a\[y, 1 \+ x\], a\[1 \+ y, 3 \+ x\], "
                 r"a\[1 \+ y, 4 \+ x\] in the rounds, which are no equal steps in one array"),
])
def test_what_cannot_be_folded(arguments, message: str) -> None:
    program = window([3, 2, 2, 5], [(0, 0), (1, 0), (3, 1), (4, 1)])
    with pytest.raises(TransformError, match=message):
        transform.fold(program, *arguments)


def test_no_chain_and_shared_units() -> None:
    with pytest.raises(TransformError, match="has no sum, minimum or other chain of one operation on integers to fold"):
        transform.fold(load("harris", width=16, height=16), "Compute_lxx", 2)
    shared = transform.share(load("gaussian_pyramid", size=16), "Reduce_f1", "Reduce_f2")
    with pytest.raises(TransformError, match=r"statement 'Reduce_f1' .* shares its units with Reduce_f2; fold before"):
        transform.fold(shared, "Reduce_f1", 2)


def test_random_windows() -> None:
    """Any window of even rows, any weights, in as many rounds as divide it."""

    @settings(max_examples=25, deadline=None, database=None, phases=[Phase.explicit, Phase.generate],
              suppress_health_check=list(HealthCheck))
    @given(st.data())
    def run(data: st.DataObject) -> None:
        rounds, count = data.draw(st.integers(2, 4)), data.draw(st.integers(1, 3))
        first = data.draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=count, max_size=count,
                                   unique=True))
        step = data.draw(st.sampled_from([(0, 1), (1, 0), (1, 1), (0, 0)]))
        places = [(x + k * step[0], y + k * step[1]) for k in range(rounds) for x, y in first]
        weights = data.draw(st.lists(st.integers(1, 9), min_size=len(places), max_size=len(places)))
        program = window(weights, places)
        if weights.count(1) in (0, len(weights)):
            same(program, transform.fold(program, "Sum", rounds, data.draw(st.integers(0, 2))))

    run()
