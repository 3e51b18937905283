"""Loads whose rows keep step with those of their readers."""

from __future__ import annotations

import islpy as isl
import pytest

from compiler.analysis.dependences import Dependence
from compiler.sched.static.schedule import StatementSchedule
from compiler.sched.streams.load_stride_padding import in_step


def entry(name: str, **loops: tuple[int, int]) -> StatementSchedule:
    """A statement with loops, outermost first, each with its stride in cycles and its trips."""
    return StatementSchedule(name, {n: stride for n, (stride, _) in loops.items()}, dict.fromkeys(loops, 0),
                             {n: trips for n, (_, trips) in loops.items()}, 0)


def strides(load: StatementSchedule, reader: StatementSchedule) -> dict[str, int]:
    dependence = Dependence("reader", 0, "load", "a", isl.Map("{ reader[i] -> load[i] }"))
    found = in_step({"load": load, "reader": reader}, ["load"], [dependence], 4)
    assert found["reader"] == reader
    return dict(found["load"].strides)


def window(rows: int, taps: int = 9) -> StatementSchedule:
    """A reader that goes over a square of rows for each tap of a window."""
    return entry("reader", tap=(rows * rows, taps), y=(rows, rows), x=(1, rows))


@pytest.mark.parametrize(("rows", "stride"), [(28, 32), (14, 28), (7, 14), (56, 60)])
def test_rows_wait_for_the_reader(rows: int, stride: int) -> None:
    """For its fetches where its rows are whole numbers of them, else for its rows."""
    width = rows + 2
    assert strides(entry("load", i=(width, width), j=(1, width)), window(rows)) == {"i": stride, "j": 1}


def test_rows_that_are_in_step_stay_as_they_are() -> None:
    load = entry("load", i=(64, 64), j=(1, 64))
    assert strides(load, entry("reader", y=(64, 62), x=(1, 62))) == {"i": 64, "j": 1}


def test_a_load_without_time_stays_as_fast_as_it_is() -> None:
    """It would become longer than the longest statement; or one of its loops, which waits for blocks, has no room."""
    load = entry("load", i=(66, 66), j=(1, 66))
    assert strides(load, entry("reader", y=(66, 64), x=(1, 64))) == {"i": 66, "j": 1}
    blocks = entry("load", block=(260, 2), i=(16, 16), j=(1, 16))
    assert strides(blocks, window(14)) == {"block": 260, "i": 16, "j": 1}
    assert strides(entry("load", block=(448, 2), i=(16, 16), j=(1, 16)), window(14)) == {"block": 448, "i": 28, "j": 1}


def test_a_reader_with_one_loop_is_a_row() -> None:
    load = entry("load", i=(3, 3), j=(1, 3))
    assert strides(load, entry("reader", x=(2, 10))) == {"i": 3, "j": 1}
    assert strides(load, entry("reader", x=(1, 6))) == {"i": 3, "j": 1}
    assert strides(load, entry("reader", y=(5, 9), x=(1, 5))) == {"i": 5, "j": 1}


def test_loads_that_nothing_reads_are_left_alone() -> None:
    load = entry("load", i=(3, 2), j=(1, 3))
    assert in_step({"load": load}, ["load"], [], 4) == {"load": load}
