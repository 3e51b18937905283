"""Tiles: they cover the results once, are small at the ends, and stay in the scratchpad if there is room."""

from __future__ import annotations

import itertools
from dataclasses import replace
from math import prod

import numpy as np
import pytest
from compiled import check, compile_and_check
from hypothesis import given, settings
from hypothesis import strategies as st
from random_arrays import random_inputs

import compiler
from compiler.bind.vector.apps import load
from compiler.bind.vector.ir import Instruction, Setting, Transfer, at, unrolled
from compiler.bind.vector.loop_reroll import roll
from compiler.bind.vector.plan import PhasePlan, make_plan
from compiler.bind.vector.shapes import Settings
from compiler.bind.vector.target import Options, compile_arrays
from compiler.bind.vector.tile_boxes import Ends, TileBoxes
from compiler.bind.vector.tiling import Tiling
from compiler.frontend import parallel_array as pa
from compiler.frontend.c_scop import parse_scop
from compiler.ir.interpret import interpret
from hw.vector_lanes.isa import Op

sizes = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), max_size=3)


@settings(max_examples=200, deadline=None)
@given(sizes=sizes, ends=st.tuples(*[st.lists(st.integers(1, 4), max_size=2)] * 2), unit=st.integers(1, 3))
def test_tiles_cover_every_element_once(sizes: list[tuple[int, int]], ends: tuple[list[int], list[int]],
                                         unit: int) -> None:
    shape, tile = tuple(n for n, _ in sizes), tuple(min(n, t) for n, t in sizes)
    fitting = Ends(*(tuple(end for end in part if tile and end <= tile[0]) for part in ends))
    count = np.zeros(shape, int)
    for box in TileBoxes(shape, tile, fitting, unit):
        assert all(0 < high - low <= t for (low, high), t in zip(box, tile, strict=True))
        count[tuple(slice(low, high) for low, high in box)] += 1
    assert (count == 1).all()


def test_ends_are_in_both_directions() -> None:
    rows = TileBoxes((20,), (8,), Ends((2, 4), (3,)))
    assert list(rows) == [((0, 2),), ((2, 6),), ((6, 12),), ((12, 17),), ((17, 20),)]
    assert list(TileBoxes((6, 4), (6, 2), Ends((1,), (2,)))) == [((0, 1), (0, 2)), ((1, 6), (0, 2)), ((0, 4), (2, 4)),
                                                                  ((4, 6), (2, 4))]


def test_arrays_that_fit_are_loaded_once_and_never_copied() -> None:
    """A filter with little to load before the lanes begin and little to store after they have ended."""
    program = load("fir", n=4096)
    design = compile_and_check(program, random_inputs(program, np.random.default_rng(0)), lanes=64, search=True)
    plan = design.phases[0].plan
    assert plan.tiling.whole and plan.boxes[0][0][1] == plan.tiling.ends.first[0] < plan.layout.tile[0]
    statements = list(unrolled(design.code.body))
    assert sum(at(s.bytes, ()) * at(s.rows, ()) for s in statements if isinstance(s, Transfer)) == 4 * (2 * 4096 + 15)
    assert not any(s.mode.op is Op.VMOV for s in statements if isinstance(s, Instruction))


def test_a_segment_of_the_user_is_kept() -> None:
    design = compile_arrays(load("fir", n=2048), Options(lanes=64, segment=(512,)))
    assert [low for ((low, _),) in design.phases[0].plan.boxes] == [0, 512, 1024, 1536]


def test_elementwise_programs_have_one_dimension() -> None:
    shape = (7, 5, 11)
    x, y = pa.input("x", shape, "int16"), pa.input("y", shape, "uint8")
    program = pa.program("flat", least=pa.minimum(x, y) * 3, larger=(x > y).astype("uint8"))
    design = compile_arrays(program, Options(lanes=1, scratchpad=512))
    assert [phase.plan.phase.shape for phase in design.phases] == [(prod(shape),)]
    check(design, random_inputs(program, np.random.default_rng(1)))
    apart = compile_arrays(pa.program("rows", out=x[:, :, 1:] + x[:, :, :-1]), Options(lanes=1))
    assert len(apart.phases[0].plan.phase.shape) == 3


@pytest.mark.parametrize(("ahead", "delay", "gap", "carry"), [
    (1, 1, 0, False), (1, 4, 3, True), (3, 2, 2, True), (3, 3, 1, False), (2, 99, 1, False),
])
def test_transfers_behind_the_first_instructions_of_the_next_tile(ahead: int, delay: int, gap: int,
                                                                  carry: bool) -> None:
    program = load("fir2d", rows=30, columns=36)
    design = compile_arrays(program, Options(lanes=4, scratchpad=8192, segment=(5, 33)))
    plan = design.phases[0].plan
    assert isinstance(plan, PhasePlan)
    plan = make_plan(plan.phase, plan.sizes, plan.spec, Tiling(
        plan.layout.tile, carry, ahead, Ends((2, 3), (4,)), delay=delay, gap=gap))
    groups = list(plan.segments(Settings()))
    check(replace(design, code=replace(design.code, body=roll(groups))),
          random_inputs(program, np.random.default_rng(2)))
    assert sum(isinstance(s, Transfer) for s in groups[0]) == min(ahead, 2)
    for group in groups[2:]:
        kinds = [type(s) for s in group if not isinstance(s, Setting)]
        moved = [i for i, s in enumerate(kinds) if s is Transfer and i]
        assert kinds[:moved[0]].count(Instruction) >= min(delay, 10)
        if delay < 10 and group is not groups[-1]:
            assert all(kinds[low:high].count(Instruction) == gap for low, high in itertools.pairwise(moved))


@pytest.mark.parametrize("ends", [Ends((4,), ()), Ends((), (2, 2)), Ends((2, 2), (3,))])
def test_an_array_that_moves_with_the_rows_of_some_tiles_is_no_resident(ends: Ends) -> None:
    """Tiles have all rows but where the first column is cut, or the last one."""
    x, a, b = pa.input("x", (6, 8), "int16"), pa.input("a", (6,), "int16"), pa.input("b", (1,), "int16")
    program = pa.program("scaled", y=x * a[:, None] + b)
    design = compile_arrays(program, Options(lanes=1, segment=(6, 2)))
    plan = design.phases[0].plan
    assert isinstance(plan, PhasePlan)
    assert {leaf.name for leaf in plan.resident} == {"a", "b"}
    plan = make_plan(plan.phase, plan.sizes, plan.spec, Tiling((6, 2), ends=ends))
    assert {leaf.name for leaf in plan.resident} == {"b"}
    groups = list(plan.segments(Settings()))
    check(replace(design, code=replace(design.code, body=roll(groups))),
          random_inputs(program, np.random.default_rng(5)))


def test_what_is_needed_first_is_loaded_first() -> None:
    a, b, c = (pa.input(name, (64, 64), "int32") for name in "abc")
    plan = compile_arrays(pa.program("late", y=(a + 1) * 5 - b * (c + (a & b))), Options(lanes=4)).phases[0].plan
    uses = [plan.order.first_use[leaf] for leaf in plan.moving]
    assert uses == sorted(uses) and len(uses) == 3


@pytest.mark.parametrize(("name", "sizes", "early"), [
    ("fir", {"n": 300}, 5), ("fir2d", {"rows": 30, "columns": 36}, 20),
    ("median", {"rows": 12, "columns": 9, "size": 3}, 8),
])
def test_the_first_tile_begins_with_half_of_its_arrays(name: str, sizes: dict[str, int], early: int) -> None:
    program = load(name, **sizes)
    design = compile_arrays(program, Options(lanes=4))
    plan = design.phases[0].plan
    assert isinstance(plan, PhasePlan)
    first, *others = plan.with_tiling(replace(plan.tiling, early=early)).segments(Settings())
    ahead = plan.tiling.ahead if plan.steps > 1 else 1
    assert len([s for s in first if isinstance(s, Transfer)]) > len(plan.moving) * ahead
    check(replace(design, code=replace(design.code, body=roll([first, *others]))),
          random_inputs(program, np.random.default_rng(2)))


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("shape", [(512,), (16, 64)])
def test_numbers_computed_before_have_no_halves(shape: tuple[int, ...], lanes: int) -> None:
    a = pa.input("a", shape, "int32")
    program = pa.program("scaled", y=a * 3 - a.sum(), z=(a - a.min()) * a.max())
    compile_and_check(program, random_inputs(program, np.random.default_rng(3)), lanes=lanes)


@pytest.mark.parametrize(("name", "sizes", "delay"), [
    ("fir", {"n": 300}, 3), ("fir2d", {"rows": 30, "columns": 36}, 0),
    ("median", {"rows": 12, "columns": 9, "size": 3}, 2), ("life", {"rows": 20, "columns": 30}, 1),
])
def test_the_last_tile_is_stored_in_two_parts(name: str, sizes: dict[str, int], delay: int) -> None:
    program = load(name, **sizes)
    design = compile_arrays(program, Options(lanes=4))
    plan = design.phases[0].plan
    assert isinstance(plan, PhasePlan)
    tile = tuple(max(4 * plan.unit, -(-n // 2)) if k == 0 else n for k, n in enumerate(plan.phase.shape))
    plan = make_plan(plan.phase, plan.sizes, plan.spec, Tiling(tile, ahead=2, delay=delay, late=2))
    groups = list(plan.segments(Settings()))
    last = max(i for i, s in enumerate(groups[-1]) if isinstance(s, Instruction))
    stores = [i for i, s in enumerate(groups[-1]) if isinstance(s, Transfer) and s.to_host]
    assert plan.steps > 1 and stores[-1] > last
    assert sum(i < last for i in stores) == 1 + (delay > 0)
    check(replace(design, code=replace(design.code, body=roll(groups))),
          random_inputs(program, np.random.default_rng(2)))


def test_plans_without_search_are_right_too():
    """The first plan that fits, here in several phases and tiles, and no faster than what a search finds."""
    x = pa.input("x", (40, 50), "int16")
    program = pa.program("test", sums=(x.T * 3 + x.max(axis=0)[:, None]).sum(axis=1), differences=x[1:] - x[:-1])
    inputs = random_inputs(program, np.random.default_rng(2))
    quick = compile_and_check(program, inputs, lanes=2, scratchpad=2048, search=False)
    assert any(choice.plan.steps > 1 for choice in quick.phases)
    assert quick.predicted_cycles > compile_arrays(program, Options(lanes=2, scratchpad=2048)).predicted_cycles


def test_tiles_of_which_the_first_has_no_element_of_a_reduction() -> None:
    text = """void f(const int img[9][16], int out[9][16]) {
      static const int k[3][3] = {{-1, 0, 1}, {-2, 0, 2}, {-1, 0, 1}};
      for (int y = 2; y < 7; y++)
        for (int x = 1; x < 15; x++) {
          int sum = 0;
          for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
              sum += k[i][j] * img[y + i - 1][x + j - 1];
          out[y][x] = sum;
        }
    }"""
    program = parse_scop(text)
    image = np.random.default_rng(3).integers(-99, 99, (9, 16)).astype(np.int32)
    inputs = {array.name: image for array in program.inputs}
    found = compiler.compile(program, target="vector").execute(inputs)  # tries tiles of all sizes
    np.testing.assert_array_equal(found["out"], interpret(program, inputs)["out"])
