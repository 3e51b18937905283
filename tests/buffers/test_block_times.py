"""When blocks are complete, as a function, against the writes one by one."""

from __future__ import annotations

import numpy as np
from buffer_traffic import traffics
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.bind.buffers import block_times
from compiler.bind.buffers.block_times import BlockTimes, residues
from compiler.bind.buffers.sequences import BufferTraffic


def listed(traffic: BufferTraffic) -> tuple[list[int], list[int], list[int]]:
    """Of the blocks of one tile in order: number, and cycles of the first word and of the last."""
    time, address = traffic.writes
    first = address % traffic.packing == 0
    gathered = (traffic.packing - 1) * traffic.write.time[0]
    return ((address[first] // traffic.packing).tolist(), time[first].tolist(), (time[first] + gathered).tolist())


@settings(max_examples=100, deadline=None)
@given(st.sampled_from((1, 4)).flatmap(lambda packing: traffics(packing, unused=3)), st.integers(1, 3),
       st.integers(1, 40))
def test_blocks_are_complete_when_their_last_words_are_written(traffic: BufferTraffic, ahead: int, cyclic: int) -> None:
    times = BlockTimes.of(traffic, traffic.packing)
    blocks, starts, ends = listed(traffic)
    numbers = np.array(blocks)
    for tile in (0, traffic.tiles - 1):
        found = times.at(numbers + tile * times.blocks) - tile * traffic.period
        assert found.tolist() == times.in_order(np.arange(len(blocks))).tolist() == ends
    gaps = [start - end for start, end in zip(starts[ahead:], ends[:-ahead], strict=True)]
    assert times.least_gap(ahead, 1) == min(gaps, default=None)
    assert times.cycles(len(blocks), 1, cyclic).tolist() == sorted({end % cyclic for end in ends})


def test_the_least_gap_of_many_blocks_is_at_the_ends_of_loops(monkeypatch) -> None:
    times = BlockTimes((40, 30, 20), (4, 170, 6000), (1, 40, 1200), 3, 3, 0, 1, 24000)
    everywhere = times.least_gap(2, 1)
    monkeypatch.setattr(block_times, "MOST_LISTED", 100)
    assert times.least_gap(2, 1) == everywhere == 5


def test_residues_of_endless_loops_are_few() -> None:
    assert residues(7, (1 << 40, 3), (6, 4), 12).tolist() == [1, 3, 5, 7, 9, 11]
