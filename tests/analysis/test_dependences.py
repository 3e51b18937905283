"""Value-based flow: which instance produced each value that is read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import islpy as isl
import pytest

from compiler.analysis.dependences import (
    DependenceError,
    constant_bounds,
    flow,
    recurrences,
    recurring_around,
    topological_order,
)
from compiler.frontend.c_scop import parse_scop
from compiler.frontend.loop_nest import Prog, load, prog
from compiler.ir.program import Program
from compiler.passes.normalize.dead_statements import NoOutputError, remove_dead_statements

HERE = str(Path(__file__).relative_to(Path(__file__).resolve().parents[2]))


def line_of(text: str) -> int:
    """Number of the line of this file that has `text` in a comment."""
    lines = Path(__file__).read_text().splitlines()
    return next(n for n, line in enumerate(lines, 1) if f"# {text}" in line)


def relations(program: Program) -> dict[tuple[str, int, str], isl.Map]:
    return {(d.sink, d.read, d.source): d.relation for d in flow(program)}


def add_stage(prg: Prog, name: str, size: int, source: str, target: str, *addresses: str) -> None:
    """``target(x) = sum of source(address)`` for x in 0..size-1."""
    op = prg.add_loop("x", 0, size).add_op(name)
    op.add_function(lambda *args: sum(args[1:], args[0]))
    for address in addresses:
        op.add_load(source, address)
    op.add_store(target, "x")


def test_reads_of_inputs_depend_on_nothing() -> None:
    assert flow(load("gaussian", width=8, height=8)) == ()


def test_every_read_gets_the_instance_that_wrote_its_element() -> None:
    prg = prog("two")
    prg.add_input("a", shape=(8,))
    prg.add_output("c")
    add_stage(prg, "First", 8, "a", "b", "x")
    add_stage(prg, "Second", 6, "b", "c", "x", "x + 2")
    assert relations(prg.build()) == {
        ("Second", 0, "First"): isl.Map("{ Second[x] -> First[x] : 0 <= x < 6 }"),
        ("Second", 1, "First"): isl.Map("{ Second[x] -> First[x + 2] : 0 <= x < 6 }"),
    }


def test_an_array_that_every_tile_overwrites_couples_no_tiles() -> None:
    """`brighten` of figure 4.1 has no tile coordinate: by memory, tiles depend on each other; by value, they do not."""
    found = relations(load("brighten_blur", tiles=3, size=5))
    assert len(found) == 4
    for k, (dx, dy) in enumerate(((0, 0), (1, 0), (0, 1), (1, 1))):
        assert found["Blur", k, "Brighten"] == isl.Map(
            f"{{ Blur[t, y, x] -> Brighten[t, y + {dy}, x + {dx}] : 0 <= t < 3 and 0 <= x < 4 and 0 <= y < 4 }}")


def test_a_read_sees_the_last_of_several_writers() -> None:
    prg = prog("over")
    prg.add_input("a", shape=(8,))
    prg.add_output("c")
    add_stage(prg, "Everywhere", 8, "a", "b", "x")
    add_stage(prg, "Half", 4, "a", "b", "2*x")
    add_stage(prg, "Reader", 8, "b", "c", "x")
    assert relations(prg.build()) == {
        ("Reader", 0, "Everywhere"): isl.Map("{ Reader[x] -> Everywhere[x] : 4 <= x < 8 }"),
        ("Reader", 0, "Half"): isl.Map("{ Reader[x] -> Half[x] : 0 <= x < 4 }"),
    }


def test_reading_before_writing_is_an_error_with_the_first_iteration() -> None:
    prg = prog("late")
    prg.add_input("a", shape=(8,))
    prg.add_output("c")
    add_stage(prg, "Writer", 5, "a", "b", "x")
    add_stage(prg, "Reader", 5, "b", "c", "x")
    program = prg.build()
    writer = program.statement("Writer")
    shorter = replace(writer, domain=isl.Set("{ Writer[x] : 0 <= x < 3 }"))
    damaged = replace(program, statements=(shorter, program.statement("Reader")))
    with pytest.raises(DependenceError) as error:
        flow(damaged)
    place = program.statement("Reader").reads[0].location
    assert str(error.value) == f"statement 'Reader' ({place}) reads 'b' before it is written, first at Reader[3]"


def running_sum() -> Prog:
    prg = prog("running")
    prg.add_input("a", shape=(8,))
    prg.add_output("s")
    start = prg.add_loop("x", 0, 1).add_op("Start")
    start.add_load("a", 0)
    start.add_store("s", 0)
    op = prg.add_loop("x", 1, 7).add_op("Sum")  # the recurrence
    op.add_function("add")
    op.add_load("s", "x - 1")
    op.add_load("a", "x")
    op.add_store("s", "x")
    return prg


def test_a_recurrence_is_ordered_as_in_one_iteration() -> None:
    program = running_sum().build()
    dependences = flow(program)
    assert recurrences(program, dependences) == {("Sum", 0, "Sum")}
    assert topological_order(program, dependences) == ["Start", "Sum"]


def test_order_puts_producers_first_and_is_the_same_every_time() -> None:
    prg = prog("diamond")
    prg.add_input("a", shape=(8,))
    prg.add_output("e")
    for name in ("b", "c", "d"):
        add_stage(prg, f"To_{name}", 8, "a", name, "x")
    op = prg.add_loop("x", 0, 8).add_op("Join")
    op.add_function(lambda b, c, d: b + c + d)
    for name in ("d", "c", "b"):
        op.add_load(name, "x")
    op.add_store("e", "x")
    program = prg.build()
    assert topological_order(program, flow(program)) == ["To_b", "To_c", "To_d", "Join"]


def test_domains_must_be_boxes() -> None:
    copy = load("upsample", width=3, height=2).statement("Upsample")
    assert constant_bounds(copy) == {"y": (0, 3), "x": (0, 5)}
    triangle = replace(copy, domain=isl.Set("{ Upsample[y, x] : 0 <= x <= y < 4 }"))
    with pytest.raises(DependenceError) as error:
        constant_bounds(triangle)
    assert str(error.value) == (
        f"{triangle}: its iteration domain is not a box of constant bounds, which a static schedule needs")


def test_statements_that_reach_no_output_go() -> None:
    prg = prog("dead")
    prg.add_input("a", shape=(8,))
    prg.add_output("c")
    add_stage(prg, "Unused", 8, "a", "b", "x")
    add_stage(prg, "UnusedToo", 8, "b", "d", "x")
    add_stage(prg, "Used", 8, "a", "e", "x")
    add_stage(prg, "Last", 8, "e", "c", "x")
    program = remove_dead_statements(prg.build())
    assert [s.name for s in program.statements] == ["Used", "Last"]
    assert remove_dead_statements(program) is program


def test_a_program_without_live_statements_is_an_error() -> None:
    program = load("gaussian", width=8, height=8)
    hidden = tuple(replace(a, role="intermediate") if a.role == "output" else a for a in program.arrays)
    with pytest.raises(NoOutputError) as error:
        remove_dead_statements(replace(program, arrays=hidden))
    assert str(error.value) == "program 'gaussian' writes no output"


def test_the_recurrences_that_statements_belong_to():
    program = parse_scop("""void f(const short a[8], short y[8], short z[8], short w[8]) {
#pragma scop
    y[0] = 1;
    z[0] = 2;
    for (int i = 1; i < 8; i++) {
        y[i] = y[i - 1] + a[i];
        z[i] = z[i - 1] * 2;
        w[i] = y[i] - z[i];
    }
#pragma endscop
}""", "f.c")
    dependences = flow(program)
    assert recurring_around(dependences, ["S2"]) == {"S2"}
    assert recurring_around(dependences, ["S3", "S4"]) == {"S3"}
    assert recurring_around(dependences, ["S4", "mem0"]) == {"S2", "S3"}, "not known which, so all"
