"""Sizes of the scratchpad DMA engine: what can be built, and that it fits the vector core's ports."""

from __future__ import annotations

import re

import pytest

from hw.dma.scratchpad_spec import ScratchpadDmaSpec, ScratchpadDmaSpecError
from hw.vector_lanes.core_ports import chunk_width, dma_write_layout
from hw.vector_lanes.spec import VectorSpec


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"memory_bytes": 24}, "a beat has 2 to 128 bytes, a power of two, not 24"),
        ({"memory_bytes": 256}, "a beat has 2 to 128 bytes, a power of two, not 256"),
        ({"capacity": 3000}, "a scratchpad has 32 bytes or more, a power of two, not 3000"),
        ({"capacity": 16}, "a scratchpad has 32 bytes or more, a power of two, not 16"),
        ({"max_beats": 1}, "the longest burst of 16-byte beats has 2 to 256 beats, a power of two, not 1"),
        ({"max_beats": 256, "memory_bytes": 32},
         "the longest burst of 32-byte beats has 2 to 128 beats, a power of two, not 256"),
        ({"max_beats": 12}, "the longest burst of 16-byte beats has 2 to 256 beats, a power of two, not 12"),
        ({"outstanding": 0}, "outstanding is 0, not in 1 to 64"),
        ({"ahead": 5000}, "ahead is 5000, not in 1 to 4096"),
        ({"jobs": 6}, "2 to 64 jobs can be unfinished, a power of two, not 6"),
    ],
)
def test_engines_that_cannot_be_built(changes, message):
    with pytest.raises(ScratchpadDmaSpecError, match=f"^{re.escape(message)}$"):
        ScratchpadDmaSpec(**changes)


@pytest.mark.parametrize(("unit", "beats"), [(4, 256), (16, 256), (32, 128)])
def test_the_longest_bursts_are_those_of_the_bus(unit, beats):
    assert ScratchpadDmaSpec(unit).burst_beats == beats


@pytest.mark.parametrize("lanes", [1, 4, 16, 64])
def test_ports_fit_those_of_the_vector_core(lanes):
    vector = VectorSpec(lanes=lanes)
    spec = ScratchpadDmaSpec.of(vector, max_beats=32)
    assert spec.chunk_write == dma_write_layout(vector)
    assert spec.chunk_bits == chunk_width(vector)
    assert (spec.data_width, spec.burst_beats) == (8 * vector.memory_bytes, 32)
