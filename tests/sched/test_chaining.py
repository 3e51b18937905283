"""Paths through operators without registers that are longer than a period: what they ask for is what all such paths
ask for, followed one by one."""

from __future__ import annotations

import numpy as np

from compiler.sched.static.chaining import Path, Stage, long_paths


def walked(stages, edges, period, most=8):
    """All paths that are too long, by following every one of them: of those alike the one over the fewest cycles."""
    found: dict[tuple[int, int], int] = {}

    def follow(source, stage, distance, arrival, left):
        for sink, cycles in edges[stage] if left else ():
            later = arrival + min(stages[sink].delay, period)
            if later > period:
                key = source, sink
                found[key] = min(found.get(key, distance + cycles), distance + cycles)
            elif stages[sink].through:
                follow(source, sink, distance + cycles, later, left - 1)

    for source, stage in enumerate(stages):
        follow(source, source, 0, min(stage.launch, period), most)
    return {Path(*key, distance) for key, distance in found.items()}


def earliest(edges, paths):
    """The least times with a register on each of `paths` and no value before it is there; None if there are none."""
    needs = [(n, sink, -cycles) for n, row in enumerate(edges) for sink, cycles in row]
    needs += [(source, sink, 1 - distance) for source, sink, distance in paths]
    times = [0] * len(edges)
    for _ in range(len(edges) + 1):
        before = list(times)
        for source, sink, need in needs:
            times[sink] = max(times[sink], times[source] + need)
        if times == before:
            return times
    return None


def test_a_loop_that_fits_needs_no_register_but_that_of_its_distance():
    add = Stage(2.0, 2.0, through=True)
    assert long_paths([add, add], [[(1, 0)], [(0, 1)]], 5.0) == {Path(0, 0, 1), Path(1, 1, 1)}


def test_paths_end_at_registers():
    stages = [Stage(), Stage(3.0, 3.0, through=True), Stage(4.0), Stage(9.0)]
    assert long_paths(stages, [[(1, 0)], [(2, 2)], [(3, 0)], []], 5.0) == {Path(0, 2, 2), Path(1, 2, 2)}


def test_what_is_longer_than_a_period_counts_as_one():
    stages = [Stage(), Stage(9.0, 9.0, through=True), Stage(1.0)]
    assert long_paths(stages, [[(1, 0)], [(2, 0)], []], 5.0) == {Path(0, 2, 0), Path(1, 2, 0)}


def test_random_graphs():
    generator = np.random.default_rng(0)
    for _ in range(100):
        count = int(generator.integers(2, 7))
        delays = generator.integers(1, 5, count).tolist()
        through = generator.random(count) < 0.8
        stages = [Stage(d, d if t else 0, bool(t)) for d, t in zip(delays, through, strict=True)]
        edges = [[(k, int(generator.integers(0, 3)) if k > n else int(generator.integers(1, 3)))
                  for k in range(count) if generator.random() < 0.4] for n in range(count)]
        assert earliest(edges, long_paths(stages, edges, 6)) == earliest(edges, walked(stages, edges, 6))


def test_ways_that_join_again_are_not_walked_one_by_one():
    """Two ways of different delays at each of 60 places: 2 ** 60 paths, and as many orders of arrivals."""
    places = 60
    stages = [Stage(), *(Stage(delay, delay, through=True) for _ in range(places) for delay in (1.0, 0.9 / 2, 0.0))]
    edges: list[list[tuple[int, int]]] = [[(1, 0), (2, 0)]]
    for place in range(places):
        last = 3 * place + 3
        edges += [[(last, 0)], [(last, 0)], [(last + 1, 0), (last + 2, 0)] if place < places - 1 else []]
    paths = long_paths(stages, edges, places - 0.5)
    assert Path(0, 3 * places - 2, 0) in paths and Path(0, 3 * places - 1, 0) not in paths
