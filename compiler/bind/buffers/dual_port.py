"""Configuration of a dual-port memory tile from word traffic: one write and one read per cycle, no vectorisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd

import numpy as np

from compiler.bind.buffers.block_times import BlockTimes
from compiler.bind.buffers.counters import counted
from compiler.bind.buffers.nest_fit import FittedNest
from compiler.bind.buffers.rings import ring
from compiler.bind.buffers.sequences import BufferTraffic, ReadTraffic
from compiler.bind.buffers.wide_fetch import AccessPatternError, PlacedBuffer
from hw.memtile import Affine, AffineNest, DualPortConfig, DualPortInput, DualPortOutput, MemTileSpec

__all__ = ["MIN_LATENCY", "can_follow", "plan_dual_port"]

MIN_LATENCY = 2
"""Cycles between the cycle in which a word is written and the visible cycle of its read."""


def plan_dual_port(buffers: Sequence[PlacedBuffer], spec: MemTileSpec, chain_id: int | None = None) -> DualPortConfig:
    """Configuration of the memory tile that holds `buffers`. `base` and `region` are in words.

    Raises `AccessPatternError` if two reads or two writes of the tile coincide, or a reader is no affine nest.
    """
    inputs: list[DualPortInput | None] = [None] * spec.inputs
    outputs: list[DualPortOutput | None] = [None] * spec.outputs
    for buffer in buffers:
        inputs[buffer.input] = DualPortInput(_write(buffer), **buffer.window)
        for k in range(len(buffer.reads)):
            chained = bool(buffer.chained) and buffer.chained[k]
            nest = _read(buffer, k, spec)
            outputs[buffer.outputs[k]] = DualPortOutput(nest, chained=chained, passing=buffer.passing, **buffer.window)
    if spec.sram_ports == 1:
        _require_free_ports(buffers)
    return DualPortConfig(tuple(inputs), tuple(outputs), chain_id)


def _write(buffer: PlacedBuffer) -> AffineNest:
    traffic, write = buffer.traffic, buffer.traffic.write
    address = Affine((*write.address, traffic.tile_words))
    return _counted(buffer, AffineNest((*write.ranges, traffic.tiles), (*write.time, traffic.period),
                                       write.time_offset + buffer.write_shift, (address,)))


def _counted(buffer: PlacedBuffer, nest: AffineNest) -> AffineNest:
    return ring(nest, 0, buffer.base, buffer.region) if buffer.ring else counted(nest)


def _read(buffer: PlacedBuffer, index: int, spec: MemTileSpec) -> AffineNest:
    traffic, read = buffer.traffic, buffer.reads[index]
    shift = buffer.read_shifts[index]
    if traffic.homogeneous:
        start = int(read.time[0]) + shift
        return _counted(buffer, AffineNest(traffic.write.ranges, traffic.write.time, start,
                                           (Affine(traffic.write.address),)))
    fit = _fitted(read, spec, 0 if buffer.ring else buffer.region)
    if fit is None:
        raise AccessPatternError(f"memory for {traffic.title}: the addresses of {read.name} are no affine loop nest")
    address = Affine((*fit.strides[1], traffic.tile_words), fit.offsets[1])
    return counted(AffineNest((*fit.ranges, traffic.tiles), (*fit.strides[0], traffic.period), fit.offsets[0] + shift,
                              (address,)))


def _fitted(read: ReadTraffic, spec: MemTileSpec, region: int) -> FittedNest | None:
    """The nest of a reader. A tile that wraps addresses in a region needs those in it only: of values that replace
    those of the step before in place, some of this step and some of that one are read."""
    fit = read.fit([read.time, read.address], spec.dims)
    if fit is None and region:
        fit = read.fit([read.time, read.address % region], spec.dims)
    return fit


def can_follow(traffic: BufferTraffic, spec: MemTileSpec, regions: Sequence[int] = ()) -> bool:
    """Whether controllers can follow every reader of `traffic`, maybe with addresses that wrap in one of `regions`."""
    return traffic.homogeneous or all(any(_fitted(read, spec, region) for region in (0, *regions))
                                      for read in traffic.reads)


def _require_free_ports(buffers: Sequence[PlacedBuffer]) -> None:
    cycles = [sampled for b in buffers for read in b.reads if (sampled := read.cyclic) is not None]
    cyclic = gcd(*cycles) if cycles else None
    writes: list[np.ndarray] = []
    reads: list[np.ndarray] = []
    for b in buffers:
        write, *read = _port_cycles(b, cyclic)
        writes.append(write)
        reads += read
    for kind, wanted in (("writes", writes), ("reads", reads)):
        together = np.concatenate(wanted)
        if len(np.unique(together)) != len(together):
            names = ", ".join(b.traffic.title for b in buffers)
            raise AccessPatternError(f"memory for {names}: two {kind} need the same port in one cycle")


def _port_cycles(buffer: PlacedBuffer, cyclic: int | None) -> list[np.ndarray]:
    """Cycles of the writes, and of each read; modulo `cyclic` each once."""
    traffic = buffer.traffic
    times = [read.time + shift for read, shift in zip(buffer.reads, buffer.read_shifts, strict=True)]
    if cyclic is None:
        return traffic.over_tiles(traffic.writes[0] + buffer.write_shift, *times)
    write = BlockTimes.of(traffic, 1)
    tiles = traffic.compared_tiles(np.array([write.first, write.last]) + buffer.write_shift, *times)
    started = replace(write, first=write.first + buffer.write_shift)
    periods = np.arange(tiles)[:, None] * traffic.period
    reads = [np.unique((periods + cycles) % cyclic) for cycles in times]
    return [started.cycles(write.count * tiles, tiles, cyclic), *reads]
