"""What depends on a late condition is computed for both of its values: the same results, in fewer cycles."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from pipeline_emulator import run_design

import compiler
from compiler.cli.input_files import random_inputs
from compiler.frontend.c_scop import load_c, parse_scop
from compiler.ir.expr import Load, Store, postorder
from compiler.ir.interpret import interpret
from compiler.ir.program import Program
from compiler.ir.text import parse_program, print_program
from compiler.ir.verify import verify
from compiler.passes.recurrence.shannon_expansion import expand_conditions, late_conditions
from compiler.passes.recurrence.shorten_recurrences import shorten_recurrences
from hw.errors import SluiceError

IRREGULAR = Path(__file__).parents[2] / "apps" / "irregular"


def scop(body: str, head: str = "const int a[16], int y[1]") -> Program:
    return parse_scop(f"static const int t[8] = {{3, 1, 4, 1, 5, 9, 2, 6}};\nvoid f({head}) {{\n#pragma scop\n"
                      f"{body}\n#pragma endscop\n}}", "late.c")


def require_same(program: Program, changed: Program) -> None:
    verify(changed, guarded=True)
    assert parse_program(print_program(changed)).order.is_equal(changed.order)
    for seed in range(3):
        inputs = random_inputs(program, seed)
        for name, values in interpret(program, inputs).items():
            np.testing.assert_array_equal(interpret(changed, inputs)[name], values)


@pytest.mark.parametrize(("name", "conditions"), [
    ("kmp_steps", ["S9"]), ("merge_sort", ["S13"]), ("components", ["S14", "S17"]), ("mandelbrot", ["S9"])])
def test_programs_keep_their_values(name: str, conditions: list[str]) -> None:
    program = shorten_recurrences(load_c(IRREGULAR / f"{name}.c"))
    assert late_conditions(program) == conditions
    for condition in conditions:
        require_same(program, expand_conditions(program, [condition]))
    require_same(program, expand_conditions(program, conditions))


def random_body(seed: int) -> str:
    """A loop whose two numbers go on by what tables and arrays say of them, in branches of branches."""
    draw = random.Random(seed)

    def number(depth: int = 0) -> str:
        leaf = draw.choice(["q", "r", "a[i]", "i", str(draw.randrange(-9, 9))])
        if depth > 1 or draw.random() < 0.3:
            return leaf
        return draw.choice([f"({number(depth + 1)} {draw.choice('+-&^')} {leaf})", f"t[{leaf} & 7]",
                            f"({leaf} > {number(depth + 1)} ? {number(depth + 1)} : {number(depth + 1)})"])

    def step(depth: int) -> str:
        if depth == 2 or draw.random() < 0.4:
            return f"{draw.choice('qr')} = {number()};"
        condition = f"{number()} {draw.choice(['<', '==', '!='])} {number()}"
        other = f" else {{ {step(depth + 1)} }}" if draw.random() < 0.6 else ""
        return f"if ({condition}) {{ {step(depth + 1)} {step(depth + 1)} }}{other}"

    steps = " ".join(step(0) for _ in range(3))
    return f"int q = 2, r = 5; for (int i = {draw.choice([0, -3])}; i < 9; i++) {{ {steps} }} y[0] = q ^ r;".replace(
        "a[i]", "a[i + 3]")


@pytest.mark.parametrize("seed", range(24))
def test_random_branches_keep_their_values(seed: int) -> None:
    program = shorten_recurrences(scop(random_body(seed)))
    late = late_conditions(program)
    for condition in late:
        require_same(program, expand_conditions(program, [condition]))
    if len(late) > 1:
        require_same(program, expand_conditions(program, late))


def test_random_branches_have_late_conditions() -> None:
    assert sum(bool(late_conditions(shorten_recurrences(scop(random_body(seed))))) for seed in range(24)) > 12


@pytest.mark.parametrize("seed", [0, 3, 5, 8, 13, 21])
def test_pipelines_of_random_branches_are_exact(seed: int) -> None:
    program = scop(random_body(seed))
    design = compiler.compile(program, target="fpga")
    for number in range(3):
        inputs = random_inputs(program, number)
        for name, values in run_design(design, inputs).items():
            np.testing.assert_array_equal(values, interpret(program, inputs)[name])


def test_a_condition_only_selects() -> None:
    """A step of Knuth, Morris and Pratt's search: the next state, and whether it is the last one, are there for both
    cases while the characters are compared. With what follows from the comparison one after the other it takes 6."""
    program = load_c(IRREGULAR / "kmp_steps.c")
    design = compiler.compile(program, target="fpga")
    assert design.expanded == ("S9",) and design.choices["conditions expanded"] == "S9"
    assert design.predicted_cycles <= 3 * 64 + 50
    for seed in range(3):
        inputs = random_inputs(program, seed) | {"failure": np.array([0, 1, 0, 1])}
        np.testing.assert_array_equal(run_design(design, inputs)["matches"], interpret(program, inputs)["matches"])


def test_nothing_depends_on_a_condition_outside_of_recurrences() -> None:
    program = scop("int q = 0; for (int i = 0; i < 16; i++) { int big = a[i] > 3; int c = t[q & 7] > a[i]; "
                   "if (c) q = q + 3; else q = q - 1; if (big) y[0] = q; }")
    outside = next(s.name for s in program.statements if s.write.array == "big")
    changed = expand_conditions(program, [outside])
    assert not any(s.name.endswith(("_yes", "_no")) for s in changed.statements)
    require_same(program, changed)


def test_what_is_fast_enough_is_not_expanded() -> None:
    program = scop("int q = 0; for (int i = 0; i < 16; i++) if (a[i] > 3) q = q + 3; y[0] = q;")
    assert compiler.compile(program, target="fpga").choices["conditions expanded"] == "none"


def test_floating_point_numbers_keep_their_bits() -> None:
    """A condition that is taken as a number is no constant of that type: these are bit patterns."""
    program = shorten_recurrences(scop(
        "int q = 0; float z = 0; for (int i = 0; i < 16; i++) { int c = t[q & 7] > a[i]; z = z + (float)c; "
        "if (c) { q = q + 3; z = z * 0.5f; } else q = (int)z + i; } y[0] = z * 1000 + q;"))
    late = late_conditions(program)
    assert late
    require_same(program, expand_conditions(program, late))


def test_nothing_is_stored_and_no_index_checked_twice() -> None:
    """What is done has to be wanted: stores stay as they are, and loads that may be outside of their array."""
    program = shorten_recurrences(scop(
        "int q = 0; int h[16]; for (int i = 0; i < 16; i++) h[i] = a[i]; for (int i = 0; i < 16; i++) { "
        "if (h[q & 15] > 3) { q = h[q + 1]; h[q & 15] = i; } else q = 3; } y[0] = q;"))
    [condition] = late_conditions(program)
    changed = expand_conditions(program, [condition])
    for kind in (Load, Store):
        counts = [sum(isinstance(node, kind) and node.memory == memory.name for s in one.statements
                      for node in postorder(s.value)) for one in (program, changed) for memory in program.memories
                  if memory.trap]
        assert counts[:len(counts) // 2] == counts[len(counts) // 2:] and sum(counts)
    inputs = {"a": np.arange(16) % 7}
    np.testing.assert_array_equal(interpret(changed, inputs)["y"], interpret(program, inputs)["y"])


@pytest.mark.parametrize(("name", "message"), [
    ("S1", r"statement 'S1' \(late\.c:4\): what depends on a condition is computed for both of its values, 0 and 1, "
           r"and this one computes others, too; name a statement that compares"),
    ("S7", "has no statement 'S7'; there are: S0"),
])
def test_other_statements_are_refused(name: str, message: str) -> None:
    program = scop("int q = 0; for (int i = 0; i < 16; i++) q = t[q & 7] + a[i]; y[0] = q;")
    with pytest.raises(SluiceError, match=message):
        compiler.compile(program, target="fpga",
                         passes=f'shorten-recurrences,expand-conditions{{statements="{name}"}},static-form')
