"""Layouts of what passes between the vector core, the scalar core and the DMA engine."""

from __future__ import annotations

from amaranth import signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from hw.vector_lanes.spec import VectorSpec

__all__ = ["COMMAND", "JOB", "chunk_width", "core_counters", "dma_write_layout"]

COMMAND = data.StructLayout({"function": 10, "a": 32, "b": 32})
"""A custom-function command of the scalar core: function id, first and second register (74 bits)."""

JOB = data.StructLayout({
    "sp": 32, "memory": 32, "bytes": 32, "rows": 16, "sp_inc": signed(32), "memory_inc": signed(32), "to_host": 1,
})
"""A transfer for the DMA engine: `rows` >= 1 rows of `bytes` >= 1 bytes, from row start to row start `sp_inc` bytes in
the scratchpad and `memory_inc` bytes in main memory (both 0 if there is one row). All of it is in the scratchpad."""


def core_counters() -> wiring.Signature:
    """Counters, 32 bits, that wrap: `cycles`; `busy` ones, in which a wavefront was issued; `instructions` dispatched;
    `bubbles`, in which a wavefront waited; `dma_cycles`, in which a transfer was queued or in progress."""
    names = ("cycles", "busy", "instructions", "bubbles", "dma_cycles")
    return wiring.Signature({name: Out(32) for name in names})


def chunk_width(spec: VectorSpec) -> int:
    """Bits of the number of a chunk: the M-byte aligned pieces in which the DMA engine sees the scratchpad."""
    return (spec.capacity // spec.memory_bytes - 1).bit_length()


def dma_write_layout(spec: VectorSpec) -> data.StructLayout:
    """One write of the DMA engine: bytes of a chunk whose `strobe` is set (8*M data bits, byte 0 lowest)."""
    return data.StructLayout({
        "chunk": chunk_width(spec), "data": 8 * spec.memory_bytes, "strobe": spec.memory_bytes,
    })
