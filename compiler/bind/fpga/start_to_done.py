"""Clock cycles of a pipeline from start to done, before any simulation (`compiler.bind.stream_timeline`)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from compiler.bind.jumps import Jumps
from compiler.bind.stream_timeline import MOST_CHUNKS, EngineTiming, Rows, StreamTimeline, follow_streams
from hw.lib.trap import TRAP_CYCLES
from hw.main_memory import MainMemory
from hw.pipeline.spec import InputCell, OutputCell
from hw.pipeline.streams import ArrayStream
from hw.pipeline.system import SystemSpec

__all__ = ["chunk_count", "start_to_done"]

_TIMING = EngineTiming(first_step=0, first_job=2, asked=2, arrival=6, departure=3, end=2)
"""The first job is in the cycle after that in which the engines are reset; steps wait for the first words anyway."""

_NEXT_JOB = 4
"""Clock cycles from one chunk to the next where there are too many to look at each."""


def chunk_count(system: SystemSpec) -> int:
    """Chunks of all streams."""
    return sum(_counts(system))


@lru_cache(maxsize=64)
def start_to_done(system: SystemSpec, memory: MainMemory, jumps: Jumps | None = None) -> int:
    """Clock cycles from the start bit to done; with `jumps`, of a run in which a loop ends early."""
    last = system.pipeline.cycles - 1 - (jumps.saved if jumps else 0)
    if system.pipeline.traps:
        last += TRAP_CYCLES - 1
    if chunk_count(system) > MOST_CHUNKS:
        return max(last + 1, _NEXT_JOB * max(_counts(system)))
    inputs = _timelines(system.inputs, system.pipeline.inputs, system.bus_bits, jumps)
    outputs = _timelines(system.outputs, system.pipeline.outputs, system.bus_bits, jumps)
    return follow_streams(inputs, outputs, memory, _TIMING, last)


def _counts(system: SystemSpec) -> tuple[int, int]:
    """Chunks of the input and of the output streams."""
    bus = system.bus_bits // 8
    chunks = [sum(_rows(stream).chunks(bus) for stream in side) for side in (system.inputs, system.outputs)]
    return chunks[0], chunks[1]


def _rows(stream: ArrayStream) -> Rows:
    return Rows(stream.row, stream.element_bytes, stream.addresses)


def _timelines(streams: Iterable[ArrayStream], cells: Iterable[InputCell | OutputCell],
               bus_bits: int, jumps: Jumps | None) -> list[StreamTimeline]:
    times = jumps.times if jumps else lambda cycles: cycles
    return [StreamTimeline(_rows(stream), times(cell.walk.events()[0]), bus_bits // 8, early=True)
            for stream, cell in zip(streams, cells, strict=True)]
