"""Statements on triangles behind guards: which points a guard lets through, that nothing else changes, and damage."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import islpy as isl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pipeline_emulator import run_design
from random_triangles import random_triangle
from triangular_programs import TRIANGULAR, triangular

import compiler
from compiler.analysis.dependences import DependenceError
from compiler.analysis.domain_predicate import membership
from compiler.bind.cgra.design import CgraDesign
from compiler.bind.fpga.design import FpgaDesign
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import parse_scop
from compiler.ir.evaluate import evaluate
from compiler.ir.expr import Apply, Const, Read, postorder
from compiler.ir.interpret import interpret
from compiler.ir.points import contains, enumerate_points
from compiler.ir.program import Program
from compiler.ir.types import INT16
from compiler.passes.arrays.partition import Partition
from compiler.passes.normalize.boundary_padding import pad_domains
from compiler.passes.normalize.domain_padding import PaddedProgram
from compiler.passes.normalize.loop_normalization import normalize_loops
from compiler.sched.verify import ValidationError, check_parts
from hw.errors import SluiceError


def growth_of(program: Program) -> PaddedProgram:
    growth = pad_domains(normalize_loops(program))
    assert growth is not None
    return growth


def parts_of(growth: PaddedProgram) -> Partition:
    return Partition(growth.after, growth.after, (), growth=growth)


def check_growth(program: Program, seed: int) -> None:
    growth = pad_domains(normalize_loops(program))
    if growth is None:
        assert all(s.box() is not None for s in normalize_loops(program).statements)
        return
    assert all(s.box() is not None for s in growth.after.statements if s.name in growth.guarded)
    parts = parts_of(growth)
    check_parts(parts)
    inputs = random_inputs(program, seed)
    found = parts.join(interpret(growth.after, parts.split(inputs)), inputs)
    for name, expected in interpret(program, inputs).items():
        np.testing.assert_array_equal(found[name], expected)


CONSTRAINTS = st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.integers(-9, 9), st.integers(1, 4),
                                 st.sampled_from((">= 0", "= 0", "mod"))), min_size=1, max_size=3)


@settings(max_examples=60, deadline=None)
@given(st.lists(CONSTRAINTS, min_size=1, max_size=2))
def test_a_guard_lets_the_points_of_a_set_through(cases: list[list[tuple[int, int, int, int, str]]]) -> None:
    """Inequalities, equations and remainders, all of them or one of two groups."""
    def condition(i: int, j: int, c: int, divisor: int, kind: str) -> str:
        function = f"{i} * i + {j} * j + {c}"
        return f"({function}) mod {divisor} = 0" if kind == "mod" else f"floor(({function}) / {divisor}) {kind}"

    box = isl.Set("{ S[i, j] : -2 <= i <= 5 and 0 <= j <= 6 }")
    either = " or ".join("(" + " and ".join(condition(*part) for part in case) + ")" for case in cases)
    domain = box.intersect(isl.Set(f"{{ S[i, j] : {either} }}"))
    if domain.is_empty():
        return
    count, columns = enumerate_points(box)
    guard = membership(domain, box, ("i", "j"))
    found = evaluate(guard, lambda _: np.zeros(count), dict(zip("ij", columns, strict=True)), {})
    np.testing.assert_array_equal(np.broadcast_to(found, (count,)) != 0, contains(domain, columns, count))


@pytest.mark.parametrize("name", TRIANGULAR)
def test_the_same_results(name: str) -> None:
    """By the interpreter, on a pipeline, and proven for the array."""
    program = triangular(name, 6)
    check_growth(program, 1)
    inputs = random_inputs(program, 2)
    design = compiler.compile(program, target="fpga")
    assert isinstance(design, FpgaDesign)
    for output, expected in interpret(program, inputs).items():
        np.testing.assert_array_equal(run_design(design, inputs)[output], expected)
    compiler.compile(program, memory="dual-port", array="8x8")


@pytest.mark.parametrize("seed", range(12))
def test_random_parts_of_boxes(seed: int) -> None:
    program = parse_scop(random_triangle(Random(seed), 6), "f.c")
    check_growth(program, seed)
    try:
        design = compiler.compile(program, target="fpga")
    except SluiceError as error:
        assert str(error).startswith("statement '") and "f.c:" in str(error)
        return
    assert isinstance(design, FpgaDesign)
    inputs = random_inputs(program, seed)
    np.testing.assert_array_equal(run_design(design, inputs)["y"], interpret(program, inputs)["y"])


@pytest.mark.parametrize("seed", [2, 3, 6, 12, 21])
def test_a_transposed_element_comes_back_in_loops_as_they_are_written(seed: int) -> None:
    """Loops that were joined as the values are walked would be two nests, of which each waits for the other one."""
    program = parse_scop(random_triangle(Random(seed), 6), "f.c")
    inputs = random_inputs(program, seed)
    design = compiler.compile(program, target="fpga")
    assert isinstance(design, FpgaDesign)
    np.testing.assert_array_equal(run_design(design, inputs)["y"], interpret(program, inputs)["y"])


def test_a_sum_has_its_guard_before_the_term() -> None:
    """The way from one step of a sum to the next stays one addition."""
    growth = growth_of(triangular("trmv", 6))
    value = growth.after.statement("S1").value
    assert isinstance(value, Apply) and value.op == "add" and value.args[0] == Read(0, INT16)
    assert not growth.clearing and growth.guarded == {"S1"}


def test_bounds_count_what_was_asked_for() -> None:
    """A triangle has about half of the instances of its box; what only sets zeros does not count."""
    for target, options in (("fpga", {}), ("cgra", {"memory": "dual-port", "array": "8x8"})):
        design = compiler.compile(triangular("part of an output", 12), target=target, **options)
        assert design.lower_bound == 12 * 12  # its result is a whole array
        design = compiler.compile(triangular("trmv", 12), target=target, **options)
        assert design.lower_bound == 12 * 12  # a whole matrix is loaded
        design = compiler.compile(triangular("symmetric", 8), target=target, **options)
        assert design.lower_bound == 8 * 9 // 2 * 8


@pytest.mark.parametrize(("memory", "ratio"), [("pub", 1.05), ("dual-port", 1.05)])
def test_a_product_with_a_triangle_takes_as_long_as_one_with_a_square(memory: str, ratio: float) -> None:
    design = compiler.compile(triangular("symmetric", 16), memory=memory, array="8x8")
    assert isinstance(design, CgraDesign)
    assert design.predicted_cycles <= ratio * 16**3 + 60


def test_guards_of_large_boxes_compare_iterators() -> None:
    """A table of all points would be larger than what it guards; values of single iterators are not."""
    program = triangular("trmv", 80)
    design = compiler.compile(program, memory="dual-port", array="8x8")
    assert isinstance(design, CgraDesign)
    assert max(values.size for values in design.parts.constants.values()) == 80
    check_growth(program, 3)


def test_damage_is_found() -> None:
    growth = growth_of(triangular("part of an output", 6))
    (clear,) = growth.clearing
    after = growth.after
    statement = after.statement("S0")
    unguarded = replace(statement, value=next(node for node in postorder(statement.value)
                                              if isinstance(node, Apply) and node.op == "add"))
    ones = replace(after.statement(clear), value=Const(1, INT16))
    late = after.order.subtract_domain(isl.UnionSet.from_set(after.statement(clear).domain)).union(
        isl.UnionMap(f"{{ {clear}[i, j] -> [9, i, 0, j, 0] }}"))

    def changed(**parts: object) -> PaddedProgram:
        return replace(growth, after=replace(after, **parts))

    for damaged, message in [
        (changed(statements=tuple(unguarded if s is statement else s for s in after.statements)),
         "stores something else on its whole box"),
        (changed(statements=tuple(ones if s.name == clear else s for s in after.statements)),
         "does not set its array to zero before all else"),
        (changed(order=late), "does not set its array to zero before all else"),
        (replace(growth, guarded=frozenset()), "computes something else on its whole box"),
    ]:
        with pytest.raises(ValidationError, match=message):
            check_parts(parts_of(damaged))


def test_what_no_guard_can_help() -> None:
    """In a window that is no box, a read that is one function here and another there."""
    program = parse_scop("""void f(const short a[9], short y[8]) {
#pragma scop
    for (int i = 0; i < 8; i++)
        for (int j = 0; j <= i; j++)
            y[i] += a[i > 2 * j ? i : j + 1];
#pragma endscop
}
""", "f.c")
    with pytest.raises(DependenceError, match=r"statement 'S0' \(f.c:5\): its iteration domain is not a box of "):
        compiler.compile(program, target="fpga")
