"""Arrays in parts: what is split, what is not, and that the parts are what they were made from."""

from __future__ import annotations

from dataclasses import replace

import islpy as isl
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_programs import programs, random_inputs

from compiler.frontend.loop_nest import load, prog
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.ir.verify import verify
from compiler.sched.partition import Partition, partition
from compiler.sched.transform import TransformError, parallelize, unroll
from compiler.sched.verify import ValidationError, check_parts


def same_result(original: Program, found: Partition) -> None:
    """The program on parts verifies and computes what the original computes."""
    inputs = random_inputs(original, 3)
    expected = interpret(original, inputs)
    verify(found.program)
    check_parts(found)
    outputs = found.join(interpret(found.program, found.split(inputs)))
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


def test_interleaved_writes_are_no_boxes() -> None:
    """Lanes that take turns write every other column; that stays one output of two writers."""
    program = unroll(load("gaussian", width=12, height=8), "x", 2)
    found = partition(program)
    assert all(part.parent == "input" for part in found.parts)


def test_small_halos_share_a_stream() -> None:
    """Two lanes of two columns each read 4 columns of 6: one stream is as good."""
    program = parallelize(load("gaussian", width=6, height=40), "x", 2)
    assert [part.parent for part in partition(program).parts].count("input") in (0, 2)
    same_result(program, partition(program))


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


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_random_programs_in_lanes(data: st.DataObject) -> None:
    program = data.draw(programs(largest=9, stages=2, tiles=False))
    iterator = data.draw(st.sampled_from(program.statements[0].iterators))
    try:
        program = parallelize(program, iterator, data.draw(st.integers(1, 3)))
    except TransformError:
        return
    same_result(program, partition(program))
