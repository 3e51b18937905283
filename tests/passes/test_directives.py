"""Schedule directives: legal ones keep the result, illegal ones are refused with a witness."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import islpy as isl
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_programs import programs

from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import parse_scop
from compiler.frontend.loop_nest import load, prog
from compiler.ir.expr import Iterator, apply
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.ir.text import parse_program, print_program
from compiler.ir.types import UINT16
from compiler.passes import directives as transform
from compiler.passes.directives import TransformError, legality


def stencil(width: int = 10, height: int = 7) -> Program:
    """Two stages in nests of their own: a horizontal difference, then a vertical sum."""
    prg = prog("stencil")
    prg.add_input("image", (height, width))
    prg.add_output("result")
    first = prg.add_loop("y", 0, height).add_loop("x", 0, width - 1).add_op("difference")
    first.add_load("image", "x", "y")
    first.add_load("image", "x + 1", "y")
    first.add_function("sub")
    first.add_store("middle", "x", "y")
    second = prg.add_loop("y", 0, height - 1).add_loop("x", 0, width - 1).add_op("sum")
    second.add_load("middle", "x", "y")
    second.add_load("middle", "x", "y + 1")
    second.add_function("add")
    second.add_store("result", "x", "y")
    return prg.build()


def recurrence(height: int = 5, width: int = 6) -> Program:
    """``value(y, x) = value(y - 1, x + 1) + seed(y, x)``: distance (1, -1), so x and y cannot change places."""
    prg = prog("recurrence")
    prg.add_input("seed", (height, width + 1))
    prg.add_output("value", (height, width + 1))
    border = prg.add_loop("x", 0, width + 1).add_op("border")
    border.add_load("seed", "x", "0")
    border.add_store("value", "x", "0")
    loop = prg.add_loop("y", 1, height - 1)
    edge = loop.add_op("edge")
    edge.add_load("seed", str(width), "y")
    edge.add_store("value", str(width), "y")
    step = loop.add_loop("x", 0, width).add_op("step")
    step.add_load("value", "x + 1", "y - 1")
    step.add_load("seed", "x", "y")
    step.add_function("add")
    step.add_store("value", "x", "y")
    return prg.build()


def same_result(before: Program, after: Program, seed: int = 0) -> None:
    """Both compute the same, and the text form of the new one parses back."""
    inputs = random_inputs(before, seed)
    expected = interpret(before, inputs)
    found = interpret(after, inputs)
    for name, value in expected.items():
        assert np.array_equal(found[name], value), name
    again = parse_program(print_program(after))
    assert again.order.is_equal(after.order)
    for old, new in zip(after.statements, again.statements, strict=True):
        assert new.domain.is_equal(old.domain) and new.value == old.value
        for was, now in zip((*old.reads, old.write), (*new.reads, new.write), strict=True):
            assert now.map.is_equal(was.map)


def execution_order(program: Program, statement: str) -> list[tuple[int, ...]]:
    """Instances of `statement` in execution order, as iterator values."""
    points: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    order = program.order_of(statement).intersect_domain(program.statement(statement).domain)
    count, total = order.dim(isl.dim_type.in_), order.dim(isl.dim_type.in_) + order.dim(isl.dim_type.out)

    def visit(point: isl.Point) -> None:
        values = [point.get_coordinate_val(isl.dim_type.set, k).to_python() for k in range(total)]
        points.append((tuple(values[count:]), tuple(values[:count])))

    order.wrap().foreach_point(visit)
    return [instance for _, instance in sorted(points)]


def aligned() -> Program:
    """The stencil with the sum one row behind the difference that it needs."""
    return transform.shift(stencil(), "y", 1, ["sum"])


def test_split_keeps_the_order_and_names_the_new_iterators() -> None:
    before = stencil()
    after = transform.split(before, "x", 4)
    same_result(before, after)
    assert after.statement("sum").iterators == ("y", "x_o", "x_i")
    old = [(y, x // 4, x % 4) for y, x in execution_order(before, "sum")]
    assert execution_order(after, "sum") == old


@pytest.mark.parametrize("factor", [1, 3, 4, 9, 100])
def test_split_by_factors_that_need_not_divide(factor: int) -> None:
    before = stencil()
    same_result(before, transform.split(before, "x", factor, ("strip", "lane")))


def test_split_starts_at_the_first_iteration() -> None:
    after = transform.split(recurrence(), "y", 2, statements=["step", "edge"])
    same_result(recurrence(), after)
    assert after.statement("step").domain.dim_min_val(0).to_python() == 0


def test_tile_walks_tile_by_tile() -> None:
    before = stencil()
    after = transform.tile(before, {"y": 3, "x": 4})
    same_result(before, after)
    walk = [(3 * y + y_i, 4 * x + x_i) for y, y_i, x, x_i in execution_order(after, "difference")]
    assert walk == sorted(walk, key=lambda p: (p[0] // 3, p[1] // 4, p[0] % 3, p[1] % 4))
    assert walk != execution_order(before, "difference")


def test_reorder_interchanges_loops() -> None:
    before = stencil()
    after = transform.reorder(before, ("x", "y"))
    same_result(before, after)
    assert execution_order(after, "sum") == sorted(execution_order(before, "sum"), key=lambda p: p[::-1])


def test_reverse_runs_backwards() -> None:
    before = stencil()
    after = transform.reverse(before, "x")
    same_result(before, after)
    assert execution_order(after, "sum")[:9] == [(0, x) for x in range(8, -1, -1)]


def test_fusion_after_a_shift_shares_the_loops() -> None:
    fused = transform.fuse(aligned(), "difference", "sum", 2)
    same_result(stencil(), fused)
    times = {s.name: fused.order_of(s.name).range() for s in fused.statements}
    assert times["sum"].dim_max_val(0).eq(times["difference"].dim_max_val(0))


def test_distribution_undoes_fusion() -> None:
    fused = transform.fuse(aligned(), "difference", "sum", 2)
    apart = transform.distribute(fused, "sum", 1)
    same_result(stencil(), apart)
    assert apart.order_of("sum").range().dim_min_val(0).to_python() == 1


def test_unroll_makes_statements() -> None:
    before = stencil()
    after = transform.unroll(before, "x", 3, ["sum"])
    same_result(before, after)
    assert [s.name for s in after.statements] == ["difference", "sum_0", "sum_1", "sum_2"]
    assert after.statement("sum_1").iterators == ("y", "x")


def test_whole_unroll_removes_the_loop() -> None:
    before = stencil(5, 4)
    after = transform.unroll(before, "x")
    same_result(before, after)
    assert [s.iterators for s in after.statements] == [("y",)] * 8


def test_unroll_keeps_the_order_of_statements_that_share_the_loop() -> None:
    fused = transform.fuse(aligned(), "difference", "sum", 2)
    after = transform.unroll(fused, "x", 3)
    same_result(stencil(), after)
    first = [after.order_of(name).range().dim_max_val(4).to_python() for name in
             ("difference_0", "sum_0", "difference_1", "sum_1")]
    assert first == sorted(first) and len(set(first)) == 4


@pytest.mark.parametrize("lanes", [1, 2, 3, 4])
def test_parallelize_runs_blocks_side_by_side(lanes: int) -> None:
    before = stencil()
    after = transform.parallelize(before, "x", lanes)
    same_result(before, after)
    block = -(-9 // lanes)
    blocks = -(-9 // block)
    assert [s.name for s in after.statements] == [f"{s}_{k}" for s in ("difference", "sum") for k in range(blocks)]
    assert [s.domain.count_val().to_python() for s in after.statements[:blocks]] == [
        7 * min(block, 9 - k * block) for k in range(blocks)]


def test_parallelize_brings_outer_loops_inside() -> None:
    before = stencil()
    after = transform.parallelize(before, "y", 2, ["sum"])
    same_result(before, after)
    assert after.statement("sum_1").iterators == ("y", "x")


def test_iterators_in_values_are_rewritten() -> None:
    prg = prog("ramp")
    prg.add_input("image", (6, 10))
    prg.add_output("result")
    op = prg.add_loop("y", 0, 6).add_loop("x", 0, 10).add_op("ramp")
    op.add_load("image", "x", "y")
    op.add_store("result", "x", "y")
    before = prg.build()
    [statement] = before.statements
    value = apply("add", statement.value, Iterator("x", UINT16))
    before = replace(before, statements=(replace(statement, value=value),))
    same_result(before, transform.split(before, "x", 4))
    same_result(before, transform.unroll(before, "x", 4))


@pytest.mark.parametrize(("directive", "message"), [
    (lambda: transform.fuse(stencil(), "difference", "sum", 1),
     r"fusion of 'difference' and 'sum' at depth 1 would change the result: statement 'difference' \(.*\) at y=1, x=0 "
     r"must come before statement 'sum' \(.*\) at y=0, x=0"),
    (lambda: transform.reorder(recurrence(), ("x", "y"), ["step"]),
     r"reorder to x, y would change the result: statement 'step' .* must come before statement 'step' .*"),
    (lambda: transform.reverse(recurrence(), "y"), r"reversal of 'y' would change the result: .*"),
    (lambda: transform.fuse(stencil(), "difference", "sum", 3),
     "statement 'difference' has 2 loops; fusion at depth 3 needs them"),
    (lambda: transform.fuse(transform.fuse(aligned(), "difference", "sum", 1), "difference", "sum", 1),
     "statements 'difference' and 'sum' share 1 loops already"),
    (lambda: transform.distribute(stencil(), "sum", 1), "nothing stands before statement 'sum' in its loop number 1"),
    (lambda: transform.distribute(stencil(), "sum", 3), "statement 'sum' has 2 loops, not 3"),
    (lambda: transform.split(stencil(), "x", 0), "'x' cannot be split by 0; a factor is at least 1"),
    (lambda: transform.split(stencil(), "x", 4, ("y", "i")),
     r"statement 'difference' \(.*\) would have two iterators 'y'"),
    (lambda: transform.split(aligned(), "y", 2),
     r"statement 'sum' \(.*\): its loop over 'y' is shifted or reversed already"),
    (lambda: transform.split(stencil(), "z", 4), "no statement of program 'stencil' has the iterators z"),
    (lambda: transform.split(stencil(), "z", 4, statements=["sum"]),
     r"statement 'sum' \(.*\) has no iterator 'z'; it has: y, x"),
    (lambda: transform.reorder(stencil(), ("x", "x")), "reorder names an iterator twice: x, x"),
    (lambda: transform.parallelize(stencil(), "y", 0), "'y' cannot run in 0 lanes; there is at least 1"),
    (lambda: transform.unroll(stencil(), "y"),
     r"statement 'difference' \(.*\): 'y' is not its innermost loop; reorder before unrolling"),
])  # fmt: skip
def test_refusals(directive: Callable[[], Program], message: str) -> None:
    with pytest.raises(TransformError, match=f"^{message}$"):
        directive()


def random_directive(draw: st.DrawFn, program: Program) -> Program:
    """One directive on a random statement."""
    statement = draw(st.sampled_from(program.statements))
    iterator = draw(st.sampled_from(statement.iterators))
    only = draw(st.sampled_from([None, [statement.name]]))
    kind = draw(st.sampled_from(["split", "reorder", "reverse", "shift", "unroll", "fuse", "distribute"]))
    match kind:
        case "split":
            return transform.split(program, iterator, draw(st.integers(1, 5)), statements=only)
        case "reorder":
            return transform.reorder(program, draw(st.permutations(statement.iterators)), only)
        case "reverse":
            return transform.reverse(program, iterator, only)
        case "shift":
            return transform.shift(program, iterator, draw(st.integers(-3, 5)), only)
        case "unroll":
            return transform.unroll(program, iterator, draw(st.sampled_from([2, 3])), only)
        case "fuse":
            other = draw(st.sampled_from(program.statements))
            return transform.fuse(program, statement.name, other.name, draw(st.integers(1, 2)))
    return transform.distribute(program, statement.name, draw(st.integers(1, 2)))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_random_sequences_of_directives_keep_the_result(data: st.DataObject) -> None:
    before = data.draw(programs(largest=7, stages=2))
    after = before
    for _ in range(4):
        try:
            after = random_directive(data.draw, after)
        except TransformError:
            continue
    same_result(before, after, seed=1)


def test_a_batch_computes_every_input_on_its_own() -> None:
    program = load("harris", width=9, height=8)
    several = transform.batch(program, 3)
    inputs = {"input": np.random.default_rng(4).integers(0, 256, (3, 8, 9))}
    found = interpret(several, inputs)["output"]
    for number in range(3):
        np.testing.assert_array_equal(found[number], interpret(program, {"input": inputs["input"][number]})["output"])
    assert len(several.statements) == 3 * len(program.statements)
    with pytest.raises(transform.TransformError) as error:
        transform.batch(program, 0)
    assert str(error.value) == "a batch has at least one input, not 0"


def test_a_conflict_of_which_isl_finds_no_point_is_named_by_its_statements() -> None:
    loop = "for (int i = 0; i < 4; i++)\n  y[i] = i;"
    program = parse_scop(f"void f(int y[4]) {{\n#pragma scop\n{loop}\n#pragma endscop\n}}\n")
    (statement,) = program.statements
    pointless = isl.Map("{ S0[i] -> S0[j] : 1 = 0 }")
    assert legality._witness(pointless, statement, statement) == (
        "some instance of statement 'S0' (scop.c:4) must come before one of statement 'S0' (scop.c:4)")
