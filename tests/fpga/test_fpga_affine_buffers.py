"""Buffers of which triangles are read transposed, backwards or along diagonals: run event by event."""

from __future__ import annotations

import islpy as isl
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import compiler
from compiler.analysis.loop_regions import LoopRegion, loop_region
from compiler.analysis.port_nests import LoopSum, PortNest, linear_sum, table_sum
from compiler.analysis.word_lifetimes import born_at_most, born_until
from compiler.bind.fpga.affine_buffers import affine_buffers
from compiler.bind.fpga.traces import Part, Trace
from compiler.frontend.c_scop import parse_scop
from hw.pipeline.spec import BUFFER_LATENCY, BufferCell, Tap, Word

REGIONS = ["j <= i", "j < i", "j >= i", "i + j < {n}", "j = i", "2 <= j < i", "true"]
DIGITS = [(1, 0), (0, 1), (1, -1), (-1, 1), (1, 1), (-1, 0), (0, -1), (0, 0), (2, 0), (0, -2)]
"""Factors of the two loops of the reads."""


def rows(start: int, row: int, step: int, shape: tuple[int, int]) -> PortNest:
    """Words of `shape`, row by row."""
    digits = tuple(table_sum(k, np.arange(n), shape) for k, n in enumerate(shape))
    return PortNest(linear_sum(start, [row, step], shape), digits, shape)


def region_of(text: str, size: int) -> LoopRegion | None:
    points = isl.Set(f"{{ [i, j] : 0 <= i, j < {size} and {text.format(n=size)} }}")
    return None if points.is_empty() else loop_region(points, (0, 0), (size, size))


def inside(region: LoopRegion, size: int) -> np.ndarray:
    """Which iterations are in a region."""
    found = np.zeros((size, size), bool)
    for i, j in np.ndindex(size, size):
        ends = [(int(low[0 if parent is None else (i, j)[parent]]), int(high[0 if parent is None else (i, j)[parent]]))
                for parent, low, high in zip(region.parents, region.lows, region.highs, strict=True)]
        found[i, j] = all(low <= at < high for at, (low, high) in zip((i, j), ends, strict=True))
    return found.ravel()


def check_buffer(buffer: BufferCell, feed: PortNest, goal: PortNest, wanted: np.ndarray) -> None:
    """What is read where something is wanted is that; no address is read in the cycle of a write to it."""
    came = dict(zip(feed.times.values().tolist(), feed.numbers.values().tolist(), strict=True))
    stores = dict(zip(*(part.tolist() for part in buffer.write.events()), strict=True))
    reads = dict(zip(*(part.tolist() for part in buffer.read.events()), strict=True))
    meant = dict(zip(goal.times.values()[wanted].tolist(), goal.numbers.values()[wanted].tolist(), strict=True))
    assert {cycle - BUFFER_LATENCY for cycle in meant} <= set(reads)
    memory: dict[int, int] = {}
    for cycle in range(max(*stores, *reads) + 1):
        if cycle in reads:
            assert stores.get(cycle) != reads[cycle]
            if cycle + BUFFER_LATENCY in meant:
                assert memory[reads[cycle]] == meant[cycle + BUFFER_LATENCY]
        if cycle in stores:
            memory[stores[cycle]] = came[cycle]


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_wanted_words_are_read(data):
    draw, size = data.draw, data.draw(st.integers(2, 7))
    region = region_of(draw(st.sampled_from(REGIONS)), size)
    assume(region is not None)
    assert region is not None
    wanted, box = inside(region, size), (size, size)
    digits, shape = [], []
    for factors in draw(st.tuples(st.sampled_from(DIGITS), st.sampled_from(DIGITS))):
        values = linear_sum(0, factors, box).values()[wanted]
        digits.append(linear_sum(draw(st.integers(0, 2)) - int(values.min()), factors, box))
        shape.append(int(digits[-1].values()[wanted].max()) + 1 + draw(st.integers(0, 2)))
    step, every = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    row = shape[1] * step + draw(st.integers(0, 30))
    feed = rows(draw(st.integers(0, 9)), row, step, (shape[0], shape[1]))
    outer = row if draw(st.booleans()) and row >= size * every else size * every + draw(st.integers(0, 20))
    times = linear_sum(draw(st.integers(BUFFER_LATENCY, 150)), [outer, every], box)
    goal = PortNest(times, tuple(digits), tuple(shape))
    for buffer in affine_buffers(Tap(0), feed, Trace(goal, parts=(Part(goal, region),)), Word(8, False)):
        check_buffer(buffer, feed, goal, wanted)


@pytest.mark.parametrize(("size", "digits", "most"), [
    (40, [linear_sum(0, (0, 1), (40, 40)), linear_sum(0, (1, 0), (40, 40))], 40 * 40),  # transposed
    (40, [linear_sum(0, (1, 0), (40, 40)), linear_sum(0, (1, -1), (40, 40))], 3 * 40),  # backwards, a row behind
    (3000, [linear_sum(0, (1, 0), (3000, 3000)), linear_sum(0, (1, -1), (3000, 3000))], 3 * 3000)])
def test_triangles_take_buffers_at_any_size(size, digits, most):
    region = region_of("j <= i", size)
    feed = rows(0, 2 * size, 1, (size, size))
    goal = PortNest(linear_sum(size + 5, [2 * size, 1], (size, size)), tuple(digits), (size, size))
    found = list(affine_buffers(Tap(0), feed, Trace(goal, parts=(Part(goal, region),)), Word(8, False)))
    assert found and min(buffer.depth for buffer in found) <= most


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_words_born_are_bounded_and_mostly_counted(data):
    trips = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    births, span = [], 0
    for count in reversed(trips):
        step = span + data.draw(st.integers(1, 4))
        births.insert(0, np.arange(count, dtype=np.int64) * step)
        span += step * (count - 1)
    steps = [data.draw(st.sampled_from([1, 2, *(int(axis[1]) for axis in births if len(axis) > 1)])) for _ in range(2)]
    cycles = linear_sum(data.draw(st.integers(0, 20)), steps, (5, 6))
    bound = born_at_most(births, cycles)
    assert (bound.values() >= born_until(births, cycles.values())).all()
    if births[0][-1] and all(step % births[0][1] == 0 for step in steps):
        inner = LoopSum(cycles.base % int(births[0][1]), ())
        exact = cycles.values() // births[0][1] * int(np.prod(trips[1:])) + born_until(
            births[1:] or [np.zeros(1, np.int64)], inner.values())
        np.testing.assert_array_equal(bound.values(), exact)


TRIANGLE = """#ifndef M
#define M 9
#endif
#ifndef N
#define N 3
#endif
void mirrored(const short a[N], short sums[M][M]) {
#pragma scop
  for (int i = 0; i < M - 1; i++)
    for (int j = i + 1; j < M; j++) {
      sums[i][j] = 0;
      for (int k = 0; k < N; k++)
        sums[i][j] += a[k] * j;
      sums[j][i] = sums[i][j] - i;
    }
  for (int i = 0; i < M; i++)
    sums[i][i] = 1;
#pragma endscop
}
"""


@pytest.mark.parametrize(("rows", "terms"), [(9, 3), (30, 20), (140, 2)])
def test_every_size_of_a_mirrored_triangle_is_taken(rows, terms):
    program = parse_scop(TRIANGLE, "mirrored.c", M=rows, N=terms)
    design = compiler.compile(program, target="fpga", loops="asked")
    assert design.predicted_start_to_done < 4 * design.lower_bound + 150
    assert sum(item.allocated_words for item in design.storage) < 4 * rows * rows
