"""Tiles as loops that are made from a handful of them, against making all: unrolled both are the same statements."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

import pytest

from compiler.bind.vector import tile_loops
from compiler.bind.vector.cost import LONG, Timeline, steady_times
from compiler.bind.vector.ir import Affine, Loop, Setting, Statement, Transfer, at, sampled, unrolled
from compiler.bind.vector.plan import PhasePlan, make_plan
from compiler.bind.vector.redundant_copies import Repeats
from compiler.bind.vector.row_streaming import SlidingPlan, make_sliding_plan
from compiler.bind.vector.select_loop_form import arranged
from compiler.bind.vector.shapes import Settings
from compiler.bind.vector.target import Options, compile_arrays
from compiler.bind.vector.tile_boxes import TileBoxes
from compiler.bind.vector.tile_loops import code_of, runs_of
from compiler.bind.vector.tiling import Tiling
from compiler.frontend import parallel_array as pa
from compiler.frontend.parallel_array.expression import Boundary
from compiler.frontend.parallel_array.program import ArrayProgram


def _product() -> ArrayProgram:
    a, b = pa.input("a", (24, 30), "int32"), pa.input("b", (30, 22), "int32")
    return pa.program("product", y=a @ b)


def _around(edges: Boundary) -> ArrayProgram:
    x = pa.input("x", (37, 41), "int16")
    return pa.program("around", y=pa.shift(x, (1, 0), edges) + pa.shift(x, (-1, 2), edges) * 3)


def _stretched() -> ArrayProgram:
    x, y = pa.input("x", (12, 10), "int16"), pa.input("y", (36, 20), "int16")
    return pa.program("stretched", z=pa.repeat(pa.repeat(x, 3, 0), 2, 1) + y)


def _smooth() -> ArrayProgram:
    x = pa.input("x", (40, 50), "int32")
    rows = x[:, :-1] * x[:, 1:]
    return pa.program("smooth", y=rows[:-2] - rows[1:-1] * 5 + rows[2:])


def _last_plan(program: ArrayProgram) -> PhasePlan | SlidingPlan:
    return compile_arrays(program, Options(lanes=1, search=False)).phases[-1].plan


def _code(plan: PhasePlan | SlidingPlan, few: int, monkeypatch: pytest.MonkeyPatch) -> list[Statement]:
    monkeypatch.setattr(tile_loops, "FEW", few)
    return list(chain.from_iterable(code_of(plan, Settings(), Repeats())))


def _check(plan: PhasePlan | SlidingPlan, monkeypatch: pytest.MonkeyPatch) -> list[Statement]:
    looped, whole = _code(plan, 0, monkeypatch), _code(plan, plan.steps, monkeypatch)
    assert list(unrolled(looped)) == list(unrolled(whole))
    return looped


@pytest.mark.parametrize("carry", [False, True])
@pytest.mark.parametrize("ahead", [1, 2])
@pytest.mark.parametrize(("program", "tile"), [
    (_product(), (1, 3)), (_product(), (2, 2)), (_product(), (3, 5)), (_product(), (1, 22)),
    (_around(pa.CLAMP), (3, 4)), (_around(pa.WRAP), (2, 41)), (_around(pa.WRAP), (4, 3)), (_stretched(), (2, 3)),
    (_stretched(), (1, 2)), (_smooth(), (3, 5)),
])
def test_tiles_in_two_dimensions(program: ArrayProgram, tile: tuple[int, int], ahead: int, carry: bool,
                                 monkeypatch: pytest.MonkeyPatch) -> None:
    plan = _last_plan(program)
    plan = make_plan(plan.phase, plan.sizes, plan.spec, Tiling(tile, carry, ahead))
    looped = _check(plan, monkeypatch)
    assert any(isinstance(statement, Loop) for statement in looped) or max(plan.boxes.counts) < 20


@pytest.mark.parametrize("columns", [5, 7, 48])
def test_rows_that_slide(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = _last_plan(_smooth())
    sliding = make_sliding_plan(plan.phase, plan.sizes, plan.spec, columns)
    assert sliding is not None
    assert any(isinstance(statement, Loop) for statement in _check(sliding, monkeypatch))


def test_few_tiles_are_made_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is made does not grow with the number of tiles."""
    plans = [_last_plan(pa.program("sums", y=pa.input("a", (n, 8), "int32") @ pa.input("b", (n, 8), "int32").T))
             for n in (60, 480)]
    codes = [_code(make_plan(p.phase, p.sizes, p.spec, Tiling((2, 4))), 0, monkeypatch) for p in plans]
    assert len(codes[0]) == len(codes[1])
    for code in codes:
        stored = sum(times * s.bytes * s.rows for s, times in sampled(code)
                     if isinstance(s, Transfer) and s.to_host and isinstance(s.bytes, int) and isinstance(s.rows, int))
        assert stored == 4 * (60 * 60 if code is codes[0] else 480 * 480)


def test_runs_end_where_signatures_change() -> None:
    assert runs_of(1, str) == (1,)
    assert runs_of(1000, lambda place: 3 <= place < 998) == (3, 998, 1000)
    assert runs_of(7, lambda place: 0) == (7,)
    assert runs_of(3, lambda place: place) == (1, 2, 3)


@pytest.mark.parametrize(("shape", "tile"), [((), ()), ((9,), (4,)), ((5, 7, 3), (2, 3, 3))])
def test_boxes_by_number(shape: tuple[int, ...], tile: tuple[int, ...]) -> None:
    boxes = TileBoxes(shape, tile)
    assert list(boxes) == boxes[:] and boxes[-1] == boxes[len(boxes) - 1]
    assert boxes.starts(3) == {tuple(low % 3 for low, _ in box) for box in boxes}
    with pytest.raises(IndexError, match=f"there is no tile {len(boxes)} of {len(boxes)}"):
        boxes[len(boxes)]


def test_sampled_statements_stand_for_all_and_have_their_limits() -> None:
    move = Transfer(False, 0, "x", Affine(8, (100, 4)), 4, 1)
    body = (Loop(50, (Setting("length", (4,)), Loop(30, (move,)))),)
    found = list(sampled(body))
    everything = [s.offset for s in unrolled(body) if isinstance(s, Transfer) and isinstance(s.offset, int)]
    offsets = [s.offset for s, _ in found if isinstance(s, Transfer) and isinstance(s.offset, int)]
    assert sum(times for s, times in found if isinstance(s, Transfer)) == len(everything) > 10 * len(offsets)
    assert min(offsets) == min(everything) and max(offsets) == max(everything)
    stepping = (Loop(50, (Setting("length", (Affine(4, (1,)),)),)),)
    assert len(list(sampled(stepping))) == 50


@pytest.mark.parametrize("tile", [(2, 2), (4, 11)])
def test_time_of_long_loops_is_that_of_all_turns(tile: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    plan = _last_plan(pa.program("sums", y=pa.input("a", (400, 8), "int32") @ pa.input("b", (8, 22), "int32")))
    plan = make_plan(plan.phase, plan.sizes, plan.spec, Tiling(tile))
    code = _code(plan, 0, monkeypatch)
    assert any(isinstance(s, Loop) and at(s.count, ()) > LONG for s in code) or tile == (4, 11)
    short, _ = arranged([code], plan.spec)
    monkeypatch.setattr("compiler.bind.vector.cost.LONG", 10**9)
    monkeypatch.setattr("compiler.bind.vector.cost.steady_times", lambda ends: [])
    assert short == pytest.approx(arranged([code], plan.spec)[0], rel=0.01)


def test_turns_that_take_the_same_time_again_and_again_go_on_like_that() -> None:
    ends = [0.0, 9.0, *(10.0 + 3 * k + k % 2 for k in range(8))]
    assert steady_times(ends[:7]) == [] and steady_times(ends) == [2.0, 4.0]
    assert steady_times([0.0, 1.0, 2.5, 4.0, 5.5]) == [1.5] and steady_times([]) == []


def test_search_and_code_do_not_grow_with_nested_loops() -> None:
    """Three levels of tiles: turns that are timed at each level do not multiply."""
    fed = []
    for rows in (512, 4096):
        a, b = pa.input("a", (rows, rows), "int16"), pa.input("b", (rows, rows), "int16")
        design = compile_arrays(pa.program("product", y=a @ b), Options(search=False))
        turns = Turns(design.spec)
        turns.feed_program(design.code.body)
        fed.append(turns.count)
    assert max(fed) < 2000


class Turns(Timeline):
    """Counts statements that are timed."""

    count = 0

    def feed(self, statements: Iterable[Statement]) -> None:
        listed = list(statements)
        self.count += len(listed)
        super().feed(listed)
