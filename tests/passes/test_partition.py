"""Arrays in parts: what is split, what is not, and that the parts are what they were made from."""

from __future__ import annotations

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
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.ir.types import INT16
from compiler.ir.verify import verify
from compiler.passes.arrays.partition import Partition, partition
from compiler.passes.directives import TransformError, parallelize, split, unroll
from compiler.sched.verify import ValidationError, check_parts


def same_result(original: Program, found: Partition) -> None:
    """The program on parts verifies and computes what the original computes."""
    inputs = random_inputs(original, 3)
    expected = interpret(original, inputs)
    verify(found.program)
    check_parts(found)
    outputs = found.join(interpret(found.program, found.split(inputs)), inputs)
    assert outputs.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(outputs[name], value)


@pytest.mark.parametrize("app", ["gaussian", "cascade", "harris", "gaussian_pyramid"])
def test_programs_without_parallel_statements_stay_whole(app: str) -> None:
    program = load(app)
    found = partition(program)
    assert found.program is program and found.parts == ()


def test_strips_become_parts_that_overlap_in_their_halo() -> None:
    program = load("gaussian", width=12, height=18, lanes=2)
    found = partition(program)
    assert {p.name: (p.low, p.shape) for p in found.parts} == {
        "input_0": ((0, 0), (10, 12)), "input_1": ((8, 0), (10, 12)),
        "output_0": ((0, 0), (8, 10)), "output_1": ((8, 0), (8, 10)),
    }
    assert [a.name for a in found.program.arrays] == ["input_0", "input_1", "output_0", "output_1"]
    same_result(program, found)


def test_interleaved_writes_are_parts_a_step_apart() -> None:
    """Lanes that take turns write every other column."""
    program = unroll(load("gaussian", width=12, height=8), "x", 2)
    found = partition(program)
    assert [(p.name, p.low, p.shape, p.step) for p in found.parts if p.parent == "output"] == [
        ("output_0", (0, 0), (6, 5), (1, 2)), ("output_1", (0, 1), (6, 5), (1, 2))]
    same_result(program, found)


def test_operands_of_parallel_accumulations_are_parts_a_step_apart() -> None:
    """Four products at a time read every fourth column of one factor and every fourth row of the other."""
    program = unroll(split(matrix_product(8), "r", 4), "r_i")
    found = partition(program)
    boxes = {(p.parent, p.low, p.shape, p.step) for p in found.parts}
    assert boxes == {*(("a", (0, k), (8, 2), (1, 4)) for k in range(4)),
                     *(("b", (k, 0), (2, 8), (4, 1)) for k in range(4))}
    same_result(program, found)


def test_operands_share_streams_if_there_are_few() -> None:
    program = unroll(split(matrix_product(8), "r", 4), "r_i")
    assert not partition(program, 3).parts


def test_small_halos_share_a_stream() -> None:
    """Two lanes of two columns each read 4 columns of 6: one stream is as good."""
    program = parallelize(load("gaussian", width=6, height=40), "x", 2)
    assert [part.parent for part in partition(program).parts].count("input") in (0, 2)
    same_result(program, partition(program))


def matrix_product(size: int) -> Program:
    """c[y][x] += a[y][r] * b[r][x], the sum outermost but for the unrolled part."""
    prg = prog("product", INT16)
    prg.add_input("a", (size, size))
    prg.add_input("b", (size, size))
    prg.add_output("c", (size, size))
    start = prg.add_loop("y", 0, size).add_loop("x", 0, size).add_op("Start")
    start.add_function(lambda: 0)
    start.add_store("c", "x", "y")
    op = prg.add_loop("y", 0, size).add_loop("x", 0, size).add_loop("r", 0, size).add_op("Add")
    op.add_function(lambda c, a, b: c + a * b)
    op.add_load("c", "x", "y")
    op.add_load("a", "r", "y")
    op.add_load("b", "x", "r")
    op.add_store("c", "x", "y")
    return prg.build()


def test_names_do_not_clash() -> None:
    prg = prog("clash")
    prg.add_input("a", (40,))
    prg.add_output("b")
    for name, low in (("b_0", 0), ("b_1", 20)):
        loop = prg.add_loop("i", low, 20)
        first = loop.add_op(f"first{low}")
        first.add_load("a", "i")
        first.add_store(name, f"i - {low}")
        second = loop.add_op(f"second{low}")
        second.add_load(name, f"i - {low}")
        second.add_store("b", "i")
    program = prg.build()
    found = partition(program)
    assert {part.name for part in found.parts} == {"a_0", "a_1", "b_0_", "b_1_"}
    same_result(program, found)


def broken(found: Partition, what: str) -> Partition:
    """`found` with one fault."""
    statement = found.program.statements[0]
    match what:
        case "access":
            write = statement.write
            moved = write.map.apply_range(isl.Map(f"{{ {write.array}[y, x] -> {write.array}[y, 9 - x] }}"))
            changed = replace(statement, write=replace(write, map=moved))
        case "value":
            changed = replace(statement, value=found.program.statements[0].value.args[0])
        case "outside":
            parts = tuple(replace(p, shape=(p.shape[0] - 1, p.shape[1])) for p in found.parts)
            return replace(found, parts=parts)
        case "overlap":
            *rest, last = found.parts
            return replace(found, parts=(*rest, replace(last, shape=(last.shape[0], last.shape[1])),
                                         replace(last, name="again")))
        case _:
            return replace(found, program=replace(found.program, statements=found.program.statements[::-1]))
    return replace(found, program=replace(found.program, statements=(changed, *found.program.statements[1:])))


@pytest.mark.parametrize(("what", "message"), [
    ("access", r"statement 'Gaussian_0' \(.*\): its access to 'output_0' is not that to 'output'"),
    ("value", r"statement 'Gaussian_0' \(.*\) computes something else on arrays in parts"),
    ("outside", r"statement 'Gaussian_0' \(.*\): its access to 'input_0' is not that to 'input'"),
    ("overlap", "parts 'output_1' and 'again' of output 'output' overlap"),
    ("order", "the parts of program 'gaussian' have other statements or another order"),
])  # fmt: skip
def test_wrong_parts_are_caught(what: str, message: str) -> None:
    found = partition(load("gaussian", width=12, height=18, lanes=2))
    with pytest.raises(ValidationError, match=f"^{message}$"):
        check_parts(broken(found, what))


BORDER = """
#define N 9
short image[N][N], work[N][N], result[N][N];
void smooth(void) {
#pragma scop
  for (int i = 0; i < N; i++)
    for (int j = 1; j < N - 1; j++)
      work[i][j] = (image[i][j - 1] + 2 * image[i][j] + image[i][j + 1]) / 4;
  for (int i = 1; i < N - 1; i++)
    for (int j = 1; j < N - 1; j++)
      result[i][j] = (work[i - 1][j] + 2 * work[i][j] + work[i + 1][j]) / 4;
#pragma endscop
}
"""


def test_a_border_that_nobody_writes_stays_with_the_host() -> None:
    program = parse_scop(BORDER)
    found = partition(program)
    assert {(part.name, part.low, part.shape) for part in found.parts if part.parent == "result"} == {
        ("result_0", (1, 1), (7, 7))}
    assert [(kept.output, kept.input) for kept in found.untouched if kept.output == "result"] == [
        ("result", "result_in")]
    assert "result_in" not in {array.name for array in found.program.arrays}
    same_result(program, found)
    kept = found.untouched[0]
    wrong = replace(kept, elements=kept.elements.union(isl.Set(f"{{ {kept.output}[4, 4] }}")))
    with pytest.raises(ValidationError, match="does not leave elements of output"):
        check_parts(replace(found, untouched=(wrong, *found.untouched[1:])))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_random_programs_in_lanes(data: st.DataObject) -> None:
    program = data.draw(programs(largest=9, stages=2, tiles=False))
    iterator = data.draw(st.sampled_from(program.statements[0].iterators))
    try:
        program = parallelize(program, iterator, data.draw(st.integers(1, 3)))
    except TransformError:
        return
    same_result(program, partition(program))
