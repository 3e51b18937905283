"""Later starts that keep fewer words, at the same end."""

from __future__ import annotations

from itertools import product

import pytest

from compiler.frontend.loop_nest import load, prog
from compiler.ir.program import Program
from compiler.sched.static.lifetime_cpsat import Wait, settle, words_kept
from compiler.sched.static.static_schedule import schedule_program
from compiler.sched.streams.streams import stage_streams

WAITS = [Wait("a", "b", 3, 3), Wait("b", "d", 4, 6), Wait("c", "d", 0, 2), Wait("a", "c", 0, 0), Wait("d", "out", 1, 1)]
RATES = {"a": (20, 20), "b": (20, 20), "c": (10, 20), "d": (20, 20), "out": (20, 20)}


@pytest.mark.parametrize("waits", [WAITS, WAITS[:3] + WAITS[4:], [*WAITS, Wait("c", "out", 2, 9)]])
def test_no_starts_keep_fewer(waits: list[Wait]) -> None:
    """Against all starts, one by one."""
    offsets = {"a": 0, "b": 3, "c": 0, "d": 7, "out": 8}
    found = settle(offsets, waits, RATES, frozenset({"out"}))
    assert found is not None
    assert found.proven
    legal = (dict(zip(offsets, starts, strict=True)) for starts in product(range(9), repeat=len(offsets)))
    best = min(words_kept(o, waits, RATES) for o in legal if o["out"] == 8 and all(
        o[w.sink] - o[w.source] >= w.least for w in waits) and all(o[n] >= offsets[n] for n in offsets))
    assert found.words == words_kept(found.offsets, waits, RATES) <= best + 1


def late_input() -> Program:
    """A chain of windows over one input, and another input added at its end."""
    prg = prog("late")
    prg.add_input("a", shape=(24, 24))
    prg.add_input("b", shape=(18, 18))
    prg.add_output("c")
    for k, (source, target) in enumerate((("a", "s"), ("s", "t"))):
        side = 21 - 3 * k
        op = prg.add_loop("y", 0, side).add_loop("x", 0, side).add_op(f"Stage{k}")
        op.add_function(lambda u, v: u + v)
        op.add_load(source, "x", "y")
        op.add_load(source, "x + 3", "y + 3")
        op.add_store(target, "x", "y")
    op = prg.add_loop("y", 0, 18).add_loop("x", 0, 18).add_op("Sum")
    op.add_function(lambda u, v: u + v)
    op.add_load("t", "x", "y")
    op.add_load("b", "x", "y")
    op.add_store("c", "x", "y")
    return prg.build()


def test_an_input_is_loaded_when_it_is_needed() -> None:
    schedule = schedule_program(stage_streams(late_input(), 0))
    starts = {name: entry.offset for name, entry in schedule.statements.items()}
    assert starts["load_b"] == starts["Sum"] == 2 * (3 * 24 + 3)
    assert starts["load_a"] == 0
    assert schedule.method.startswith("as early as values allow (longest paths), which is optimal for its loops; later "
                                      "starts store 1")
    assert schedule.method.endswith("words fewer (CP-SAT, proven)")


def test_what_waits_for_nothing_starts_at_once() -> None:
    schedule = schedule_program(stage_streams(load("harris", width=16, height=16), 0))
    assert schedule.method == "as early as values allow (longest paths), which is optimal for its loops"
