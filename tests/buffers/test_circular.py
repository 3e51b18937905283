"""Circular regions against brute force: every shift, every tile, every block."""

from __future__ import annotations

import numpy as np
from buffer_traffic import traffics
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.bind.buffers.circular import UNLIMITED, block_lifetimes, live_words
from compiler.bind.buffers.sequences import BufferTraffic, ReadTraffic, delay_traffic


def all_tiles(values: np.ndarray, traffic: BufferTraffic, step: int) -> np.ndarray:
    return (np.arange(traffic.tiles)[:, None] * step + values).ravel()


def stream(traffic: BufferTraffic, read: ReadTraffic) -> tuple[dict[int, int], list[tuple[int, int]]]:
    """Of the whole run: the nominal cycle in which each block is complete, and all uses as (block, cycle)."""
    time, address = traffic.writes
    times = all_tiles(time, traffic, traffic.period)
    blocks, places = np.divmod(all_tiles(address, traffic, traffic.tile_words), traffic.packing)
    step = traffic.write.time[0]
    complete = {int(b): int(t - p * step + (traffic.packing - 1) * step)
                for b, p, t in zip(blocks, places, times, strict=True)}
    used = all_tiles(read.address, traffic, traffic.tile_words) // traffic.packing
    uses = all_tiles(read.time, traffic, traffic.period)
    return complete, list(zip(used.tolist(), uses.tolist(), strict=True))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from((1, 4)).flatmap(traffics), st.integers(0, 6))
def test_shifts_are_exactly_those_that_brute_force_allows(traffic: BufferTraffic, log_region: int) -> None:
    region = 1 << log_region
    for read in traffic.reads:
        complete, uses = stream(traffic, read)
        life = block_lifetimes(traffic, read)
        assert life.minimum_shift() == max(complete[block] - cycle for block, cycle in uses)
        lost = [complete[block + region] - cycle for block, cycle in uses if block + region in complete]
        assert life.maximum_shift(region) == min(lost, default=UNLIMITED)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from((1, 4)).flatmap(lambda packing: traffics(packing, unused=5)), st.integers(0, 6))
def test_no_word_is_lost_where_some_between_them_are_never_written(traffic: BufferTraffic, log_region: int) -> None:
    region = 1 << log_region
    for read in traffic.reads:
        complete, uses = stream(traffic, read)
        life = block_lifetimes(traffic, read)
        assert life.minimum_shift() == max(complete[block] - cycle for block, cycle in uses)
        lost = [complete[other] - cycle for block, cycle in uses
                for other in range(block + region, max(complete) + 1, region) if other in complete]
        assert life.maximum_shift(region) <= min(lost, default=UNLIMITED)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from((1, 4)).flatmap(traffics))
def test_live_words_are_those_that_brute_force_counts(traffic: BufferTraffic) -> None:
    """Taking reads as late as they must be: a word that is read before it is written would never be live."""
    late = max(0, *(block_lifetimes(traffic, read).minimum_shift() for read in traffic.reads))
    reads = tuple(ReadTraffic(r.name, r.time + late, r.address, r.real) for r in traffic.reads)
    traffic = BufferTraffic(traffic.name, traffic.write, reads, traffic.period, traffic.tiles, traffic.tile_words,
                            traffic.packing)
    time, address = traffic.writes
    born = dict(zip(all_tiles(address, traffic, traffic.tile_words).tolist(),
                    all_tiles(time, traffic, traffic.period).tolist(), strict=True))
    gone: dict[int, int] = {}
    for read in reads:
        words = all_tiles(read.address, traffic, traffic.tile_words).tolist()
        for word, cycle in zip(words, all_tiles(read.time, traffic, traffic.period).tolist(), strict=True):
            gone[word] = max(gone.get(word, cycle), cycle)
    last = max(gone.values())
    counts = np.zeros(last + 2, int)
    for word, cycle in gone.items():
        counts[born[word]] += 1
        counts[cycle] -= 1
    assert live_words(traffic) == max(counts.cumsum())


def test_a_delay_line_keeps_its_distance() -> None:
    traffic = delay_traffic("line", 5, 100_000, {"near": 64, "far": 128}, 4)
    assert live_words(traffic) == 128
    near, far = (block_lifetimes(traffic, read) for read in traffic.reads)
    assert near.minimum_shift() == 3 - 64
    assert far.minimum_shift() == 3 - 128
    for life, distance in ((near, 64), (far, 128)):
        for region in (32, 64, 512, 4096):
            assert life.maximum_shift(region) == 4 * region - distance
