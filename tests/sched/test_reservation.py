"""Turns on shared units: reservation tables, and the schedules that follow."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
from shared_programs import chain, weighted

from compiler.frontend.loop_nest import load, prog
from compiler.ir.program import Program
from compiler.passes import directives as transform
from compiler.sched.static.reservation import ReservationConflict, ReservationTables
from compiler.sched.static.schedule import UNIT_II, InitiationIntervals, Schedule
from compiler.sched.static.static_schedule import schedule_program
from compiler.sched.streams.streams import stage_streams


def busy(schedule: Schedule, group: tuple[str, ...]) -> Counter[int]:
    """How many statements of a group execute in each cycle, modulo the period where there are several tiles."""
    found: Counter[int] = Counter()
    for name in group:
        entry = schedule.statements[name]
        for steps in product(*(range(0, entry.strides[n] * entry.trips[n], entry.strides[n]) for n in entry.strides)):
            cycle = entry.offset + sum(steps)
            found[cycle % schedule.period if schedule.staged.tiles > 1 else cycle] += 1
    return found


def scheduled(program: Program, depth: int = 0) -> Schedule:
    schedule = schedule_program(stage_streams(program, depth))
    for group in program.shared:
        assert max(busy(schedule, group).values()) == 1
    return schedule


def test_a_table_gives_the_first_free_turn() -> None:
    turns = ReservationTables((("a", "b", "c"),), period=16)
    assert turns.place("other", 5, {"x": 1}, {"x": 16}) == 5
    assert turns.place("a", 1, {"y": 8, "x": 2}, {"y": 2, "x": 4}) == 1
    assert turns.place("b", 3, {"x": 4}, {"x": 3}) == 4
    assert turns.place("c", 0, {"x": 4}, {"x": 2}) == 2
    with pytest.raises(ReservationConflict) as error:
        turns.place("c", 0, {"x": 1}, {"x": 4})
    assert str(error.value) == ("a, b, c cannot share one set of units: 'c' finds no free cycle in the modulo "
                                "reservation table of 16 cycles per tile, of which all of them take 17")
    turns.clear()
    assert turns.place("c", 0, {"x": 1}, {"x": 4}) == 0


def test_without_a_next_tile_there_is_always_a_turn() -> None:
    turns = ReservationTables((("a", "b"),), period=None)
    assert turns.place("a", 3, {"x": 1}, {"x": 5}) == 3
    assert turns.place("b", 1, {"x": 1}, {"x": 3}) == 8
    turns.clear()
    assert turns.place("a", 3, {"x": 2}, {"x": 5}) == 3
    assert turns.place("b", 1, {"x": 2}, {"x": 5}) == 2


def test_a_pyramid_fits_between_its_own_cycles() -> None:
    """1024 + 256 + 64 instances in 4096 cycles: figure 4.15 of Liu 2023, but interleaved."""
    program = load("gaussian_pyramid")
    apart = scheduled(program)
    shared = scheduled(transform.share(program, "Reduce_f1", "Reduce_f2", "Reduce_output"))
    assert (shared.period, shared.pace) == (apart.period, apart.pace) == (4096, UNIT_II)
    assert shared.statements["Reduce_f1"] == apart.statements["Reduce_f1"]
    assert apart.end < shared.end < 1.05 * apart.end


def test_dense_stages_slow_each_other_down() -> None:
    """Every second cycle each, rather than one after the other, which would keep a whole image."""
    program = chain(weighted, [[(0, 0), (1, 1)], [(0, 0), (1, 1)]], [1, 1], 20)
    schedule = scheduled(program)
    assert schedule.pace == InitiationIntervals(2)
    first, second = (schedule.statements[f"Stage{k}"] for k in (0, 1))
    assert second.offset < first.offset + first.span // 4


def tiles(rows: int) -> Program:
    """Two stages that are busy in every cycle of a tile."""
    prg = prog("tiles")
    prg.add_input("a", shape=(3, rows, 16))
    prg.add_output("c")
    tile = prg.add_loop("t", 0, 3)
    for name, source, target in (("First", "a", "b"), ("Second", "b", "c")):
        op = tile.add_loop("y", 0, rows).add_loop("x", 0, 16).add_op(name)
        op.add_function(lambda v: v * 3)
        op.add_load(source, "x", "y", "t")
        op.add_store(target, "x", "y", "t")
    return transform.share(prg.build(), "First", "Second")


def test_what_comes_with_every_tile_makes_the_period_grow() -> None:
    schedule = scheduled(tiles(4), 1)
    assert 128 <= schedule.period <= 136
