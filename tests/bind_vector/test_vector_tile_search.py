"""The search for plans: what it times, what it may time, and what it does for phases that are alike."""

from __future__ import annotations

import numpy as np
import pytest
from compiled import check, compile_and_check
from random_arrays import random_inputs

import compiler
from benchmarks.polybench_reference import program_of
from compiler.bind.vector import spill, tile_search
from compiler.bind.vector.build import GraphBuilder
from compiler.bind.vector.code_generation import lowered
from compiler.bind.vector.design import VectorDesign
from compiler.bind.vector.flatten import flattened
from compiler.bind.vector.graph import nodes_of
from compiler.bind.vector.phases import Phase, split
from compiler.bind.vector.plan import PhasePlan
from compiler.bind.vector.plan_timing import Timing, time_plan
from compiler.bind.vector.row_streaming import SlidingPlan
from compiler.bind.vector.sizes import Sizes
from compiler.bind.vector.spill import PhasePlanner
from compiler.bind.vector.target import Options, compile_arrays
from compiler.bind.vector.tile_search import Budget, choose, first_choice
from compiler.frontend import parallel_array as pa
from hw.vector_lanes.spec import VectorSpec

SPEC = VectorSpec(4)


def _product(rows: int, terms: int, columns: int) -> pa.ArrayProgram:
    """Its tiles have long code: a broadcast and a product for each term."""
    a, b = pa.input("a", (rows, terms), "int16"), pa.input("b", (terms, columns), "int16")
    return pa.program("product", y=a @ b)


def _phases(program: pa.ArrayProgram, builder: GraphBuilder) -> list[Phase]:
    return [flattened(phase, builder) for phase in split(lowered(program, SPEC), builder)]


def _only_phase(program: pa.ArrayProgram) -> tuple[Phase, Sizes]:
    (phase,) = _phases(program, GraphBuilder())
    return spill.sized(phase)


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, float, int]]:
    """Tilings, how slow memory is, and statements of all plans that are timed."""
    found: list[tuple[object, float, int]] = []

    def noted(plan: PhasePlan | SlidingPlan, sharing: float = 1.0) -> Timing:
        timing = time_plan(plan, sharing)
        tiling = plan.tiling if isinstance(plan, PhasePlan) else plan.layout.tile
        found.append((tiling, sharing, timing.statements))
        return timing

    monkeypatch.setattr(tile_search, "time_plan", noted)
    return found


@pytest.mark.parametrize("statements", [0, 5_000, 30_000])
def test_search_ends_with_its_budget(statements: int, timed: list[tuple[object, float, int]]) -> None:
    """Of tiles with long code few plans are timed, the last one of them beyond the budget."""
    phase, sizes = _only_phase(_product(24, 60, 40))
    first = first_choice(phase, sizes, SPEC)
    timed.clear()
    budget = Budget(statements)
    found = choose(phase, sizes, SPEC, budget)
    *before, last = (n for *_, n in timed)
    assert sum(before) <= statements and budget.left <= 0
    assert last < 10_000
    assert found.cycles <= first.cycles


def test_search_without_limit_is_no_worse(timed: list[tuple[object, float, int]]) -> None:
    phase, sizes = _only_phase(_product(8, 12, 16))
    some = choose(phase, sizes, SPEC, Budget(2_000))
    few = len(timed)
    best = choose(phase, sizes, SPEC, Budget(1 << 30))
    assert few < len(timed) - few and best.cycles <= some.cycles


def test_no_plan_is_timed_twice(timed: list[tuple[object, float, int]]) -> None:
    x = pa.input("x", (30, 40), "int16")
    phase, sizes = _only_phase(pa.program("blur", y=x[:-2] + 2 * x[1:-1] + x[2:]))
    choose(phase, sizes, SPEC, Budget(1 << 30))
    keys = [key[:2] for key in timed]
    assert len(keys) > 40 and len(set(keys)) == len(keys)


def test_phases_that_are_alike_are_planned_once(timed: list[tuple[object, float, int]]) -> None:
    """Also those of graphs that another builder has made."""
    planner, program = PhasePlanner(SPEC), _product(6, 5, 8)
    first, second = (planner.plans(_phases(program, builder), builder) for builder in (GraphBuilder(), GraphBuilder()))
    assert [choice for _, choice in first] == [choice for _, choice in second]
    once = len(timed)
    planner.plans(_phases(_product(6, 5, 9), builder := GraphBuilder()), builder)
    assert len(timed) > once


def test_small_phases_leave_their_part_to_large_ones(timed: list[tuple[object, float, int]]) -> None:
    """Of a budget that is enough for all of them."""
    x, y = pa.input("x", (40,), "int16"), pa.input("y", (20, 20), "int16")
    builder = GraphBuilder()
    phases = _phases(pa.program("two", small=x + 1, large=y[:18] * y[1:19] + y[2:] * 5 - y[2:] * y[:18]), builder)
    unlimited = PhasePlanner(SPEC, statements=1 << 30).plans(phases, builder)
    needed = sum(n for *_, n in timed)
    limited = PhasePlanner(SPEC, statements=needed + needed // 4).plans(phases, builder)
    assert [choice.cycles for _, choice in limited] == [choice.cycles for _, choice in unlimited]


def test_sums_of_sums_are_no_sums_of_all_terms() -> None:
    """What the inner sums give is stored once, where it is an output in its own array."""
    a, b, c, d = (pa.input(name, shape, "int16") for name, shape in
                  (("a", (9, 12)), ("b", (12, 10)), ("c", (10, 14)), ("d", (14, 11))))
    e, f = a @ b, c @ d
    program = pa.program("products", e=e, f=f, g=e @ f)
    design = compile_and_check(program, random_inputs(program, np.random.default_rng(3)), lanes=4)
    values = [len(list(nodes_of([r.node for r in choice.plan.phase.graph.results]))) for choice in design.phases]
    assert len(values) == 3 and max(values) <= 3 * 14 + 2
    assert {array.role for array in design.code.arrays} == {"input", "output"}
    searched = compile_arrays(program, Options(lanes=4))
    check(searched, random_inputs(program, np.random.default_rng(4)))
    assert searched.cycles <= design.cycles


def test_product_of_products_in_c_compiles() -> None:
    """PolyBench's 3mm at the size MINI, whose last product was one expression of all terms of the three."""
    sizes = (("NI", 16), ("NJ", 18), ("NK", 20), ("NL", 22), ("NM", 24))
    design = compiler.compile(program_of("3mm", "int16", sizes), target="vector")
    assert isinstance(design, VectorDesign)
    assert len(design.phases) == 3 and design.cycles < 20_000
