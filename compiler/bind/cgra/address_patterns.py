"""Which address a memory port needs in which cycle, as a nest of levels that processing elements can compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from compiler.bind.buffers.sequences import BufferTraffic, ReadTraffic
from compiler.bind.buffers.wide_fetch import NestError

__all__ = ["AddressPattern", "Level", "read_pattern", "write_pattern"]


@dataclass(frozen=True)
class Level:
    """A loop: `trips` events that are `time` cycles and `address` words apart; None goes on for ever."""

    time: int
    address: int
    trips: int | None


@dataclass(frozen=True)
class AddressPattern:
    """The addresses of a port, modulo `region`, from the cycle of its first event on, which is cycle `start` of the
    schedule. Innermost level first; the outermost, of tiles, never ends: what comes after the run does no harm."""

    levels: tuple[Level, ...]
    offset: int
    region: int
    start: int

    @staticmethod
    def of(levels: Sequence[Level], offset: int, region: int, start: int) -> AddressPattern:
        """The pattern with as few levels as its events need."""
        kept: list[Level] = []
        for level in levels:
            if level.trips == 1:
                continue
            inner = kept[-1] if kept else None
            if inner is not None and inner.trips is not None and level.time == inner.trips * inner.time and (
                    level.address - inner.trips * inner.address) % region == 0:
                trips = None if level.trips is None else level.trips * inner.trips
                kept[-1] = Level(inner.time, inner.address, trips)
            else:
                kept.append(level)
        return AddressPattern(tuple(kept), offset % region, region, start)

    @property
    def dense(self) -> bool:
        """Whether there is an event in every cycle."""
        times = [1, *(level.time * (level.trips or 1) for level in self.levels[:-1])]
        return [level.time for level in self.levels] == times

    @property
    def ascending(self) -> bool:
        """Whether the address grows by 1 in every cycle: only then is another start of the addresses one in time."""
        return [(level.time, level.address) for level in self.levels] == [(1, 1)]

    @property
    def modulus(self) -> int:
        """Cycles after which the pattern repeats."""
        outermost = self.levels[-1]
        return outermost.time * (self.region // gcd(outermost.address, self.region))


def write_pattern(traffic: BufferTraffic, region: int) -> AddressPattern:
    """Addresses of the writes of `traffic` in a region of so many words."""
    write = traffic.write
    if traffic.homogeneous:
        levels = [Level(write.time[0], write.address[0], None)]
    else:
        levels = [*map(Level, write.time, write.address, write.ranges), Level(traffic.period, traffic.tile_words, None)]
    return AddressPattern.of(levels, 0, region, write.time_offset)


def read_pattern(traffic: BufferTraffic, read: ReadTraffic, region: int, dims: int) -> AddressPattern:
    """Addresses of one reader. Raises `NestError` if they are no affine nest of at most `dims` loops."""
    start = int(read.time[0])
    if traffic.homogeneous:
        return AddressPattern.of([Level(traffic.write.time[0], traffic.write.address[0], None)], 0, region, start)
    fit = read.fit([read.time, read.address], dims)
    if fit is None:
        raise NestError(f"memory for {traffic.title}: the addresses of {read.name} are no affine loop nest")
    levels = [*map(Level, *fit.strides, fit.ranges), Level(traffic.period, traffic.tile_words, None)]
    return AddressPattern.of(levels, fit.offsets[1], region, start)
