"""Buffers and walks of loop nests, from the tables of their loops: the same as from all events, one by one."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_accumulations import accumulations
from random_programs import programs

import compiler
from compiler.analysis.port_nests import LoopSum, PortNest, linear_sum, loop_sum, table_sum
from compiler.bind.fpga import buffer_choice, build, delay_allocation, instance_trace, nest_fit, source_mux, validate
from compiler.bind.fpga.address_generator_fit import build_walk, cost, fit_levels
from compiler.bind.fpga.errors import FpgaError
from compiler.bind.fpga.nest_fit import fit_nest
from compiler.bind.fpga.traces import Trace
from compiler.frontend.apps import load
from compiler.frontend.c_scop import load_c
from compiler.sched.verify import ValidationError
from hw.pipeline.spec import BufferCell, Tap, Walk, Word

APPS = {"gaussian": {"width": 20, "height": 8}, "upsample": {"width": 9, "height": 6}, "gaussian_pyramid": {"size": 8},
        "unsharp": {"width": 12, "height": 10}, "harris": {"width": 14, "height": 11},
        "gemm": {"size": 8, "unroll": 2}, "laplacian_pyramid": {"size": 8}}

KERNELS = Path(__file__).parents[2] / "apps" / "polybench"

TABLES = [lambda i: i * 0, lambda i: i, lambda i: 3 * i, lambda i: i // 2, lambda i: i % 2, lambda i: i // 4,
          lambda i: i % 4, lambda i: np.minimum(i, 3), lambda i: -i]


@st.composite
def clocks(draw, most=16, loops=4, first=0):
    """Cycles of a nest whose iterations come one after the other."""
    trips = draw(st.lists(st.integers(1, most), min_size=1, max_size=loops))
    steps, span = [], 0
    for count in reversed(trips):
        steps.insert(0, span + draw(st.sampled_from([1, 1, 1, 2, 5])))
        span += steps[0] * (count - 1)
    return linear_sum(draw(st.integers(first, first + 40)), steps, trips)


@st.composite
def addresses(draw, trips):
    size = int(np.prod(trips))
    return loop_sum(draw(st.integers(0, 9)), [
        draw(st.sampled_from(TABLES))(np.arange(n)) * draw(st.sampled_from([1, 1, 2, 7, size])) for n in trips])


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_walk_of_tables_is_that_of_events(data):
    times = data.draw(clocks())
    wanted = data.draw(addresses(times.trips))
    listed = fit_levels(times.values(), wanted.values())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nest_fit, "LISTED", 0)
        found = fit_nest(times, wanted)
    assert (found is None) == (listed is None)
    if found is not None and listed is not None:
        assert cost(found) == cost(listed)
        cycles, places = build_walk(found, times.base, 1 << 20, wanted.base).events()
        np.testing.assert_array_equal(cycles, times.values())
        np.testing.assert_array_equal(places, wanted.values() % (1 << 20))


@st.composite
def feeds_and_goals(draw):
    """A statement's values, and reads of them by another one."""
    clock = draw(clocks(8, 3))
    shape = clock.trips
    feed = PortNest(clock, tuple(table_sum(k, np.arange(n), shape) for k, n in enumerate(shape)), shape)
    times = draw(clocks(8, 4, 2))
    owner = [draw(st.sampled_from([None, *range(len(shape))])) for _ in times.trips]
    digits = [draw(_digit(size, [k == mine for mine in owner], times.trips)) for k, size in enumerate(shape)]
    return feed, PortNest(times, tuple(digits), shape)


@st.composite
def _digit(draw, size, mine, trips) -> LoopSum:
    tables, room = [], size - 1
    for moved, count in zip(mine, trips, strict=True):
        table = draw(st.sampled_from(TABLES[:-1]))(np.arange(count)) if moved else np.zeros(count, np.int64)
        table = np.minimum(table, room)
        room -= int(table.max())
        tables.append(table[::-1].copy() if moved and draw(st.booleans()) else table)
    return loop_sum(draw(st.integers(0, room)), tables)


@settings(max_examples=300, deadline=None)
@given(feeds_and_goals())
def test_a_buffer_between_nests_is_that_between_events(pair):
    feed, goal = map(Trace, pair)
    events = [Trace((trace.times, trace.words)) for trace in (feed, goal)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(buffer_choice, "LISTED", 0)
        patch.setattr(nest_fit, "LISTED", 0)
        found = buffer_choice.smallest_buffer(Tap(0), feed, goal, Word(8, False))
    assert found == buffer_choice.smallest_buffer(Tap(0), *events, Word(8, False))


def cells(program, listed):
    """The pipeline of a program with nests of up to so many events listed, or why there is none."""
    return compiled(program, listed).system.pipeline.cells


def require_same_cells(program):
    """A walk may have other loops when it is listed, but no other events."""
    assert [*map(plain, cells(program, 0))] == [*map(plain, cells(program, 1 << 22))]


def plain(cell):
    """A cell with the events of its walks in place of their loops."""
    parts = [getattr(cell, field.name) for field in fields(cell)]
    return type(cell), *([column.tolist() for column in part.events()] if isinstance(part, Walk) else part
                         for part in parts)


def compiled(program, listed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(buffer_choice, "LISTED", listed)
        patch.setattr(delay_allocation, "LISTED", listed)
        patch.setattr(nest_fit, "LISTED", listed)
        patch.setattr(build, "MOST_LISTED", listed)
        return compiler.compile(program, target="fpga")


@pytest.mark.parametrize("app", APPS)
def test_applications_have_the_same_cells(app):
    program = load(app, **APPS[app])
    require_same_cells(program)


@pytest.mark.parametrize("kernel", ["trisolv", "jacobi_2d"])
def test_triangles_and_borders_have_the_same_cells(kernel):
    program = load_c(KERNELS / f"{kernel}.c", N=7)
    require_same_cells(program)


def test_simplices_and_diagonals_of_triangles_need_no_lists(monkeypatch):
    monkeypatch.setattr(instance_trace.Reads, "idle", lambda _: pytest.fail("reads are listed"))
    assert cells(load_c(KERNELS / "lu.c", N=5), 0)


def test_ranges_between_two_loops_need_no_lists(monkeypatch):
    """What is built of nests is proven without looking at instances; and of changed buffers none are that must not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source_mux, "_MOST_CELLS", 0)
        design = compiled(load_c(KERNELS / "nussinov.c", N=6), 0)
    buffers = [n for n, cell in enumerate(design.system.pipeline.cells) if isinstance(cell, BufferCell)]
    changed = [with_cell(design, n, (shallower, read_later)[k % 2]) for k, n in enumerate(buffers)]
    monkeypatch.setattr(instance_trace.Events, "times", refuse)
    assert is_proven(design, design.system)
    proven = [system for system in changed if is_proven(design, system)]
    monkeypatch.undo()
    assert len(proven) < len(changed) / 2 and all(is_proven(design, system) for system in proven)


def refuse(*_):
    """Nothing is listed."""
    raise FpgaError("instances are listed")


def shallower(cell: BufferCell) -> BufferCell:
    """A word less."""
    def fit(walk: Walk) -> Walk:
        levels = tuple(replace(lv, deltas=tuple(d % (cell.depth - 1) for d in lv.deltas)) for lv in walk.levels)
        return replace(walk, size=cell.depth - 1, origin=walk.origin % (cell.depth - 1), levels=levels)

    return replace(cell, depth=cell.depth - 1, write=fit(cell.write), read=fit(cell.read))


def read_later(cell: BufferCell) -> BufferCell:
    """Words come a cycle later."""
    return replace(cell, read=replace(cell.read, start=cell.read.start + 1))


def with_cell(design, number, change):
    """The system with one cell changed."""
    cells = list(design.system.pipeline.cells)
    cells[number] = change(cells[number])
    return replace(design.system, pipeline=replace(design.system.pipeline, cells=tuple(cells)))


def is_proven(design, system):
    """Whether a system is proven to compute the program."""
    try:
        validate.validate(design.parts.program, replace(design.built, spec=system.pipeline), system)
    except (ValidationError, FpgaError):
        return False
    return True


@pytest.mark.parametrize("kernel", ["trisolv", "jacobi_2d"])
def test_sizes_beyond_what_is_listed_are_taken(kernel):
    design = compiler.compile(load_c(KERNELS / f"{kernel}.c", N=2100), target="fpga")
    assert instance_trace.MOST_EVENTS < 2100 ** 2
    assert design.predicted_start_to_done <= 1.02 * design.lower_bound
    assert max(item.live_words for item in design.storage) > 2000


def test_sources_along_diagonals_are_told_apart_beyond_what_is_listed():
    design = compiler.compile(load_c(KERNELS / "floyd_warshall.c", N=180), target="fpga")
    assert instance_trace.MOST_EVENTS < 180 ** 3
    assert design.predicted_start_to_done <= 4.01 * design.lower_bound
    assert sum(item.allocated_words for item in design.storage) < 1.1 * 180 ** 2


def test_live_words_are_those_counted_one_by_one():
    events = compiler.compile(load_c(KERNELS / "jacobi_2d.c", N=9), target="fpga").built.events
    for statement in events.schedule.staged.program.statements:
        born = events.times(statement.name)
        gone = np.full(len(born), -1)
        for dependence in events.schedule.dependences:
            if dependence.source == statement.name:
                reads = events.reads(dependence)
                np.maximum.at(gone, reads.words, events.times(dependence.sink)[reads.instances])
        alive = [np.count_nonzero((born <= cycle) & (gone > cycle)) for cycle in born]
        assert events.live_words(statement.name) == max(alive)


@settings(max_examples=15, deadline=None)
@given(st.one_of(programs(largest=10), accumulations()))
def test_random_programs_have_the_same_cells(program):
    require_same_cells(program)
