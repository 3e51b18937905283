"""Cycle-accurate schedules: the numbers of Liu 2023, 4.4, rates, and legality of random programs' schedules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_programs import programs

import compiler
from benchmarks.polybench_reference import program_of
from compiler.frontend.apps import applications
from compiler.frontend.c_scop import parse_scop
from compiler.frontend.loop_nest import load, prog
from compiler.ir.points import enumerate_points, evaluate_map
from compiler.ir.program import Program, Statement
from compiler.passes.arrays.partition import partition
from compiler.passes.normalize.static_form import drain_accumulators, propagate_constants
from compiler.sched.static.aligned_loops import AlignedLoops
from compiler.sched.static.schedule import UNIT_II, InitiationIntervals, Schedule
from compiler.sched.static.static_schedule import FusionError, schedule_program, sequential_schedule
from compiler.sched.streams.streams import choose_tile_depth, stage_streams


def schedule(program: Program, tile_depth: int | None = None, **options: Any) -> Schedule:
    depth = choose_tile_depth(program, 1 << 16) if tile_depth is None else tile_depth
    return schedule_program(stage_streams(program, depth), **options)


def offsets(have: Schedule) -> dict[str, int]:
    return {name: entry.offset for name, entry in have.statements.items()}


def strides(have: Schedule) -> dict[str, tuple[int, ...]]:
    return {name: tuple(entry.strides.values()) for name, entry in have.statements.items()}


@pytest.mark.parametrize(("level", "start"), [(None, 65), (2, 65), (1, 128), (0, 4096)])
def test_blur_starts_when_the_seed_says(level: int | None, start: int) -> None:
    """Section 4.4, figure 4.17: 65 cycles fused at x, 128 at y, 4096 without fusion."""
    have = schedule(load("brighten_blur"), 1, fusion_level=level)
    assert offsets(have) == {"load_input": 0, "Brighten": 0, "Blur": start}
    assert strides(have) == dict.fromkeys(offsets(have), (64, 1))
    assert (have.period, have.staged.tiles, have.lower_bound) == (4096, 16, 65536)


def test_nobody_waits_for_constants() -> None:
    """A sum starts with the first word, not when the loops of the statement that sets it to zero come to its element;
    and these loops, which are longer, do not slow it down."""
    prg = prog("carried")
    prg.add_input("a", shape=(6, 8))
    prg.add_output("b")
    clear = prg.add_loop("y", 0, 8).add_loop("x", 0, 9).add_op("Clear")
    clear.add_function(lambda: 0)
    clear.add_store("s", "x", "y")
    add = prg.add_loop("y", 0, 6).add_loop("x", 0, 8).add_op("Add")
    add.add_function(lambda word, total: word + total)
    add.add_load("a", "x", "y")
    add.add_load("s", "x + 1", "y + 1")
    add.add_store("s", "x + 1", "y + 2")
    copy = prg.add_loop("y", 0, 6).add_loop("x", 0, 8).add_op("Copy")
    copy.add_load("s", "x + 1", "y + 2")
    copy.add_store("b", "x", "y")
    have = schedule(prg.build(), 0)
    assert (offsets(have)["Add"], strides(have)["Add"]) == (0, (8, 1))
    assert {d.source for d in have.dependences} - {d.source for d in have.timed} == {"Clear"}


def pointwise() -> Program:
    prg = prog("twice")
    prg.add_input("a", shape=(4, 8))
    prg.add_output("c")
    for name, source, target in (("First", "a", "b"), ("Second", "b", "c")):
        op = prg.add_loop("y", 0, 4).add_loop("x", 0, 8).add_op(name)
        op.add_load(source, "x", "y")
        op.add_store(target, "x", "y")
    return prg.build()


@pytest.mark.parametrize(("level", "start"), [(None, 0), (2, 0), (1, 8), (0, 32)])
def test_unfused_consumers_wait_for_whole_iterations(level: int | None, start: int) -> None:
    """Even where a value is used in the cycle of its production; words that are loaded are never waited for."""
    assert offsets(schedule(pointwise(), fusion_level=level)) == {"load_a": 0, "First": 0, "Second": start}


def test_gaussian_reads_at_constant_distances() -> None:
    have = schedule(load("gaussian"))
    assert offsets(have) == {"load_input": 0, "Gaussian": 130}
    assert [have.distance(d) for d in have.dependences] == [
        (distance, distance) for distance in (130, 129, 128, 66, 65, 64, 2, 1, 0)]
    assert have.statements["Gaussian"].last == 130 + 61 * 64 + 61 == 4095
    assert (have.period, have.lower_bound, have.pace, have.alignment) == (4096, 4096, UNIT_II, 1)


def test_cascaded_stencils_add_their_distances() -> None:
    have = schedule(load("cascade"))
    assert offsets(have) == {"load_input": 0, "Conv1": 130, "Conv2": 260}
    assert have.statements["Conv2"].last == 4095


def test_upsampling_slows_the_producer_down() -> None:
    """Four outputs per input: the load steps every second cycle, every second row."""
    have = schedule(load("upsample"))
    assert strides(have) == {"load_input": (256, 2), "Upsample": (128, 1)}
    assert offsets(have) == {"load_input": 0, "Upsample": 0}
    assert (have.period, have.lower_bound) == (16384, 16384)


def test_the_lower_bound_counts_only_what_reaches_an_output() -> None:
    """6 x 6 words are computed, 3 x 4 of them are used."""
    prg = prog("cut")
    prg.add_input("a", shape=(2, 6, 6))
    prg.add_output("c")
    tile = prg.add_loop("t", 0, 2)
    for name, source, target, trips in (("All", ("a", "x", "y", "t"), ("b", "x", "y"), (6, 6)),
                                        ("Some", ("b", "x + 1", "y"), ("c", "x", "y", "t"), (3, 4))):
        op = tile.add_loop("y", 0, trips[0]).add_loop("x", 0, trips[1]).add_op(name)
        op.add_load(*source)
        op.add_store(*target)
    have = schedule(prg.build(), 1)
    assert have.lower_bound == 2 * 12
    assert have.period == 36


def downsampled() -> Program:
    prg = prog("down")
    prg.add_input("a", shape=(16, 16))
    prg.add_output("b")
    op = prg.add_loop("y", 0, 8).add_loop("x", 0, 8).add_op("Pool")
    op.add_function(lambda p, q: p + q)
    op.add_load("a", "2*x", "2*y")
    op.add_load("a", "2*x + 1", "2*y + 1")
    op.add_store("b", "x", "y")
    return prg.build()


def test_downsampling_slows_the_consumer_down() -> None:
    have = schedule(downsampled())
    assert strides(have) == {"load_a": (16, 1), "Pool": (32, 2)}
    assert offsets(have) == {"load_a": 0, "Pool": 17}
    assert [have.distance(d) for d in have.dependences] == [(17, 17), (0, 0)]


def transposed(height: int = 4, width: int = 6, copied: bool = True) -> Program:
    prg = prog("transpose")
    prg.add_input("a", shape=(height, width))
    prg.add_output("b")
    if copied:
        op = prg.add_loop("y", 0, height).add_loop("x", 0, width).add_op("Copy")
        op.add_load("a", "x", "y")
        op.add_store("m", "x", "y")
    op = prg.add_loop("y", 0, width).add_loop("x", 0, height).add_op("Turn")
    op.add_load("m" if copied else "a", "y", "x")
    op.add_store("b", "x", "y")
    return prg.build()


def test_loops_in_another_order_are_not_fused() -> None:
    """Figure 4.19b: both run at full rate, and the consumer waits for the elements that it needs early."""
    have = schedule(transposed())
    assert strides(have) == {"load_a": (6, 1), "Copy": (6, 1), "Turn": (4, 1)}
    assert offsets(have) == {"load_a": 0, "Copy": 0, "Turn": 15}
    assert [have.distance(d) for d in have.dependences if d.sink == "Turn"] == [(0, 30)]
    assert have.period == have.lower_bound == 24


def test_loads_follow_the_order_of_their_reader() -> None:
    """A bank walks its tile in any affine order, so transposing an input takes no memory."""
    have = schedule(transposed(copied=False))
    assert strides(have) == {"load_a": (4, 1), "Turn": (4, 1)}
    assert offsets(have) == {"load_a": 0, "Turn": 0}
    assert have.staged.inputs[0].steps == (1, 6)


def test_blocks_of_channels_are_loaded_one_after_the_other() -> None:
    """Weights of two of four channels at a time, the loop over blocks outside the one over the window: the load is
    split like it and shares it; the window of the next block comes while the present one is in use."""
    prg = prog("blocks")
    prg.add_input("w", shape=(3, 4))
    prg.add_output("b", shape=(2, 3, 5))
    op = prg.add_loop("zo", 0, 2).add_loop("r", 0, 3).add_loop("x", 0, 5).add_op("Scale")
    op.add_function(lambda p, q: p + q)
    op.add_load("w", "2*zo", "r")
    op.add_load("w", "2*zo + 1", "r")
    op.add_store("b", "x", "r", "zo")
    have = schedule(prg.build())
    assert strides(have) == {"load_w": (15, 5, 1), "Scale": (15, 5, 1)}
    assert offsets(have) == {"load_w": 0, "Scale": 1}
    assert have.staged.inputs[0].steps == (2, 4, 1)
    assert have.period == have.lower_bound == 30


def test_loops_around_others_in_another_order_are_fused() -> None:
    """Each plane is transposed for itself: the planes follow each other closely."""
    prg = prog("planes")
    prg.add_input("a", shape=(3, 4, 6))
    prg.add_output("b")
    op = prg.add_loop("z", 0, 3).add_loop("y", 0, 4).add_loop("x", 0, 6).add_op("Copy")
    op.add_load("a", "x", "y", "z")
    op.add_store("m", "x", "y", "z")
    op = prg.add_loop("z", 0, 3).add_loop("y", 0, 6).add_loop("x", 0, 4).add_op("Turn")
    op.add_load("m", "y", "x", "z")
    op.add_store("b", "x", "y", "z")
    have = schedule(prg.build(), 0)
    assert strides(have) == {"load_a": (24, 6, 1), "Copy": (24, 6, 1), "Turn": (24, 4, 1)}
    assert offsets(have) == {"load_a": 0, "Copy": 0, "Turn": 15}


def test_a_diagonal_is_not_fused() -> None:
    """Both loops of the producer match one of the consumer."""
    prg = prog("diagonal")
    prg.add_input("a", shape=(6, 6))
    prg.add_output("b")
    op = prg.add_loop("y", 0, 4).add_loop("x", 0, 6).add_op("Pick")
    op.add_load("a", "x", "x")
    op.add_store("b", "x", "y")
    have = schedule(prg.build(), 0)
    assert strides(have) == {"load_a": (6, 1), "Pick": (6, 1)}


@pytest.mark.parametrize(("alignment", "interval"), [(4, 1), (4, 2), (4, 8)])
def test_alignment_and_interval(alignment: int, interval: int) -> None:
    """Loop lengths are rounded up to whole fetches, and the busiest loop steps every `interval` cycles."""
    have = schedule(load("gaussian", width=10, height=7), alignment=alignment, pace=InitiationIntervals(interval))
    assert strides(have) == dict.fromkeys(("load_input", "Gaussian"), (12 * interval, interval))
    assert have.period == 8 * 12 * interval
    assert (have.alignment, have.pace) == (alignment, InitiationIntervals(interval))
    assert have.lower_bound == 70


@pytest.mark.parametrize("level", [-1, 3])
def test_fusion_levels_must_exist(level: int) -> None:
    with pytest.raises(FusionError) as error:
        schedule(load("brighten_blur"), 1, fusion_level=level)
    assert str(error.value) == f"fusion level {level} does not exist: the deepest loop nest has 2 levels"


def test_a_schedule_prints() -> None:
    have = schedule(load("brighten_blur", tiles=2, size=4), 1)
    assert str(have) == """tiles: 2, period: 16 cycles
starts: as early as values allow (longest paths), which is optimal for its loops
load_input: cycle = 0 + 4*i1 + 1*i2
Brighten: cycle = 0 + 4*y_br + 1*x_br
Blur: cycle = 5 + 4*y_bl + 1*x_bl"""


def cycles(have: Schedule, name: str) -> np.ndarray:
    """Cycle of every instance of a statement in the whole run, in the order of its nest."""
    statement, entry, staged = have.staged.program.statement(name), have.statements[name], have.staged
    count, columns = enumerate_points(statement.domain)
    number = np.zeros(count, dtype=np.int64)
    for column, first, size in zip(columns, staged.tile_starts, staged.tile_counts, strict=False):
        number = number * size + column - first
    inner = zip(columns[staged.tile_depth:], entry.strides.values(), entry.low.values(), strict=True)
    return number * have.period + entry.offset + sum((c - low) * stride for c, stride, low in inner)


def require_legal(have: Schedule) -> None:
    """By enumeration: no value is used before its cycle, and no statement has two instances in one cycle."""
    program = have.staged.program
    for name in have.statements:
        times = cycles(have, name)
        assert (np.diff(times) > 0).all(), name
        assert times[0] >= 0
    for dependence in have.dependences:
        sink, source = program.statement(dependence.sink), program.statement(dependence.source)
        domain = dependence.relation.domain()
        count, columns = enumerate_points(domain)
        produced = _at(have, source, evaluate_map(dependence.relation, domain, columns, count), count)
        gap = _at(have, sink, columns, count) - produced
        assert (gap >= 0).all(), str(dependence)
        assert have.distance(dependence) == (gap.min(), gap.max())


def _at(have: Schedule, statement: Statement, columns: list[np.ndarray], count: int) -> np.ndarray:
    """Cycles inside the tile of the instances with these coordinates; dependences stay inside a tile."""
    entry = have.statements[statement.name]
    inner = columns[have.staged.tile_depth:]
    total = np.full(count, entry.offset)
    for column, stride, low in zip(inner, entry.strides.values(), entry.low.values(), strict=True):
        total = total + (column - low) * stride
    return total


SMALL: dict[str, dict[str, int]] = {
    "brighten_blur": {"size": 9},
    "gemm": {"size": 8, "unroll": 4},
    "resnet_layer": {"size": 10, "inputs": 8, "outputs": 4, "unroll_in": 4, "unroll_out": 2},
    "sr_cnn": {"size": 6, "channels": 8, "features": 4, "unroll": 4},
}


@pytest.mark.parametrize("level", [None, 1, 0])
@pytest.mark.parametrize("name", applications())
def test_every_application_has_a_legal_schedule(name: str, level: int | None) -> None:
    program = drain_accumulators(propagate_constants(load(name, **SMALL.get(name, {}))))
    require_legal(schedule(partition(program).program, fusion_level=level))


@settings(max_examples=40, deadline=None)
@given(programs(largest=9, stages=4), st.sampled_from([None, None, 0, 1]), st.sampled_from([(1, 1), (4, 1), (4, 4)]))
def test_random_programs_have_legal_schedules(program: Program, level: int | None, loose: tuple[int, int]) -> None:
    require_legal(schedule(program, fusion_level=level, alignment=loose[0], pace=InitiationIntervals(loose[1])))


def test_the_sequential_schedule_of_the_published_layer() -> None:
    """Table 7.4 on the dual-port memory: 30*30 loads, 9*28*28 steps and 28*28 drains one after the other, last in 8739;
    with everything overlapped little more than the steps is left."""
    layer = load("resnet_layer", inputs=1, outputs=1, unroll_in=1, unroll_out=1)
    staged = stage_streams(drain_accumulators(propagate_constants(layer)), 0)
    sequential = sequential_schedule(staged)
    assert sequential.end - 1 == 8739
    assert sequential.period == 8740
    assert offsets(sequential) == {"load_input": 0, "load_kernel": 0, "Start_0": 0, "Accumulate_0": 900,
                                   "Accumulate_0_drain": 7956}
    assert 7056 <= schedule_program(staged).end <= 7056 + 60


def test_blocks_of_a_layer_overlap() -> None:
    """Two blocks of input channels and two tiles: the load shares the loop over blocks and is never waited for."""
    layer = load("resnet_layer", size=8, inputs=2, outputs=2, unroll_in=1, unroll_out=1)
    staged = stage_streams(drain_accumulators(propagate_constants(layer)), 1)
    have = schedule_program(staged)
    assert have.period == 2 * 9 * 64
    assert strides(have)["load_input"] == (576, 10, 1)
    assert have.end - have.lower_bound < 100
    assert sequential_schedule(staged).end > 1.2 * have.end


@pytest.mark.parametrize(("index", "tried"), [("15 - i", 0), ("11 * i % 16", 12)])
def test_few_of_many_producers_are_tried_apart(monkeypatch: pytest.MonkeyPatch, index: str, tried: int) -> None:
    """Each of 30 waits for the last value of the one before, and reads the second one before in step with them: none
    is tried where every first instance waits for a last one, since nothing ends sooner then, else not all."""
    values = ["a[i] + 1", "a[i] * 3", *(f"t{k - 1}[{index}] + t{k - 2}[i]" for k in range(2, 30))]
    loops = [f"for (int i = 0; i < 16; i++) t{k}[i] = {value};" for k, value in enumerate(values)]
    arrays = ", ".join(f"t{k}[16]" for k in range(30))
    body = "\n".join([f"short {arrays};", *loops, "for (int i = 0; i < 16; i++) y[i] = t29[i];"])
    program = parse_scop(f"void f(const short a[16], short y[16]) {{\n#pragma scop\n{body}\n#pragma endscop\n}}")
    apart: list[str] = []
    setting_apart = AlignedLoops.setting_apart

    def count(self: AlignedLoops, name: str) -> AlignedLoops:
        apart.append(name)
        return setting_apart(self, name)

    monkeypatch.setattr(AlignedLoops, "setting_apart", count)
    schedule = schedule_program(stage_streams(program, 0))
    assert len(apart) == tried
    if not tried:
        assert schedule.end == 28 * 15 + 16


def test_an_outer_loop_idles_for_what_its_next_iteration_reads() -> None:
    """The last row of a decomposition is there when the next one begins; innermost loops keep their interval."""
    design = compiler.compile(program_of("cholesky"), target="fpga")
    require_legal(design.schedule)
    assert design.schedule.pace.interval == 1
    idle = [loop for loop, _ in design.schedule.pace.idle]
    assert {iterator for _, iterator in idle} == {"i", "j"} and not any(map(design.schedule.is_innermost, idle))
    assert design.predicted_cycles <= 766
