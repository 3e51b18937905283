"""Cases for the bench of the vector core: entries, main memory before and after, by the reference simulator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hw.vector_lanes.core import VectorCore, core_sources
from hw.vector_lanes.core_ports import chunk_width
from hw.vector_lanes.isa import Control, Entry, Mode, Op, Parameter, Status
from hw.vector_lanes.machine import VectorMachine
from hw.vector_lanes.spec import VectorSpec
from hw.vector_lanes.streams import StreamOptions, random_entries, random_memory
from hw.verilog import convert

MEMORY = 1 << 16
INPUT = 1 << 13
"""Bytes at the start of main memory that random transfers use; behind them the scratchpad is dumped twice."""


def sources(spec: VectorSpec) -> dict[str, str]:
    """Verilog of a vector core."""
    return {"vector_core.v": convert(VectorCore(spec), "vector_core"), **core_sources(spec)}


def parameters(spec: VectorSpec) -> dict[str, int | str]:
    """Parameters of `vector_core_bench` for a core."""
    return {
        "CHUNK_BYTES": spec.memory_bytes, "CHUNK_BITS": chunk_width(spec),
        "MASK_BITS": spec.mask_waves.bit_length(), "MEMORY": MEMORY, "ENTRIES": 4096,
    }


def dump(spec: VectorSpec) -> list[Entry]:
    """The scratchpad's bytes to memory, then its bytes plus their flags."""
    bytes_ = spec.capacity
    add_flags = Mode(Op.VADDC, signed=False, in_size=0, out_size=0, scalar=True)
    return [
        Entry.of(Control.DMA_TO_HOST, 0, INPUT, bytes_, 1), Entry.of(Control.SET_VL, bytes_),
        Entry.vector(add_flags, 0, 0, 0), Entry.of(Control.DMA_TO_HOST, 0, INPUT + bytes_, bytes_, 1),
    ]


class Cases:
    """Builds cases one after the other; the scratchpad keeps its contents from case to case, as in the hardware."""

    def __init__(self, spec: VectorSpec) -> None:
        self.spec, self.machine = spec, VectorMachine(spec, np.zeros(MEMORY, np.uint8))
        self.list: list[dict[str, Any]] = []

    def add(
        self, entries: Sequence[Entry], memory: np.ndarray, gap: int = 0, stall: int = 0, dumps: bool = True,
        **limits: tuple[int, int],
    ) -> None:
        """A case; `limits` (inclusive) of counters. Without `dumps` only what the entries move to memory is seen."""
        machine = self.machine
        everything = [*entries, *(dump(self.spec) if dumps else ())]
        before = np.zeros(MEMORY, np.uint8)
        before[: len(memory)] = memory
        machine.memory, machine.status = before.copy(), Status(0)
        machine.execute(everything)
        self.list.append({
            "entries": [f"{entry.bits():037x}" for entry in everything], "memory": [f"{byte:02x}" for byte in before],
            "wanted": machine.memory.tobytes().hex(), "status": int(machine.status),
            "mask_waves": machine.get(Parameter.MASK_WAVES), "gap": gap, "stall": stall, "cycles": 200_000,
            "limits": limits,
        })

    def add_random(self, seed: int, count: int, gap: int, stall: int, **options: Any) -> None:
        """A random stream."""
        rng = np.random.default_rng(seed)
        stream = StreamOptions(memory_bytes=INPUT, fill=INPUT, **options)
        entries = random_entries(self.spec, rng, count, stream)
        self.add(entries, random_memory(rng, INPUT), gap, stall)

    def add_indexed(self, seed: int, count: int, gap: int, stall: int) -> None:
        """Gathers and scatters whose indices, tables and destinations overlap in a small part of the scratchpad."""
        rng = np.random.default_rng(seed)
        window, entries = 256, [Entry.of(Control.DMA_TO_VECTOR, 0, 0, INPUT // 2)]
        memory = rng.integers(0, 48, INPUT // 4, dtype=np.uint32).view(np.uint8)
        for _ in range(count):
            dimensions, rows, length = int(rng.integers(0, 3)), int(rng.integers(1, 4)), int(rng.integers(1, 25))
            gather = bool(rng.random() < 0.5)
            mode = Mode(
                Op.VGATHER if gather else Op.VSCATTER, bool(rng.random() < 0.5), int(rng.integers(0, 3)),
                int(rng.integers(0, 3)), scalar=gather or bool(rng.random() < 0.3), dimensions=dimensions,
                accumulate=not gather and bool(rng.random() < 0.5),
            )
            places = [int(place) & -int(rng.choice([1, 4, 4])) for place in rng.integers(32, window, 3)]
            steps = [int(step) for step in rng.integers(-8, 8, 6) * 4]
            entries += [
                Entry.of(Control.SET_VL, length), Entry.of(Control.SET_2D_ROWS, rows, steps[0]),
                Entry.of(Control.SET_2D_SOURCES, steps[1], steps[2]), Entry.of(Control.SET_3D_MATS, 2, steps[3]),
                Entry.of(Control.SET_3D_SOURCES, steps[4], steps[5]), Entry.vector(mode, *places),
            ]
            if rng.random() < 0.3:
                entries.append(Entry.of(Control.DMA_TO_VECTOR, 0, 4 * int(rng.integers(0, 400)), window, 1))
        self.add(entries, memory, gap, stall)
