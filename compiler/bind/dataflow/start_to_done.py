"""Clock cycles of a kernel from start to done, before any simulation (`compiler.bind.stream_timeline`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.bind.dataflow.plan import Plan
from compiler.bind.dataflow.reorder import firing_ticks
from compiler.bind.dataflow.running import StreamPlace
from compiler.bind.jumps import Jumps
from compiler.bind.stream_timeline import MOST_CHUNKS, EngineTiming, Rows, StreamTimeline, follow_streams
from hw.dataflow.kernel import STREAM_WORDS
from hw.main_memory import MainMemory

__all__ = ["firing_steps", "start_to_done"]

_TIMING = EngineTiming(first_step=3, first_job=3, asked=3, arrival=7, departure=6, end=2)

_NEXT_CHUNK = 16
"""Clock cycles from one chunk to the next, that of its beats, where there are too many to look at each."""


def start_to_done(plan: Plan, places: tuple[Sequence[StreamPlace], Sequence[StreamPlace]], memory: MainMemory,
                  sizes: tuple[int, ...], jumps: Jumps | None = None) -> int:
    """Clock cycles from the start bit to done; with `jumps`, of a run in which a loop ends early. `places`: input and
    output streams, as they lie in memory; `sizes`: the values of the run-time sizes."""
    saved, bus = jumps.saved if jumps else 0, memory.port_bits // 8
    sides = [[place for place in side if place.words] for side in places]
    chunks = [sum(_rows(place).chunks(bus) for place in side) for side in sides]
    if sum(chunks) > MOST_CHUNKS:
        return max(plan.total_ticks(sizes) - saved, _NEXT_CHUNK * max(chunks))
    inputs, outputs = ([StreamTimeline(_rows(place), firing_steps(plan, place.node, sizes, jumps), bus, STREAM_WORDS)
                        for place in side] for side in sides)
    return follow_streams(inputs, outputs, memory, _TIMING)


def _rows(place: StreamPlace) -> Rows:
    return Rows(place.words, place.dtype.itemsize, (place.address,))


def firing_steps(plan: Plan, name: str, sizes: tuple[int, ...], jumps: Jumps | None = None) -> np.ndarray:
    """Steps of the kernel in which a stream's node fires."""
    delay = next(node.delay for node in plan.kernel.nodes if node.name == name)
    ticks = firing_ticks(plan.network, plan.network.node(name), plan.clock, sizes)
    return (jumps.times(ticks) if jumps else ticks) + delay
