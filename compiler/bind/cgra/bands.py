"""Bands of a tile: how much of an array memory and the array of tiles hand to each other at once.

The array takes band e in cycle ``e * cycles`` of a tile, counted from the first access, at the latest when it uses a
word of it or of a later band, and gives band ``e - lag`` back in that cycle, at the earliest when it has no use for it
and those before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from hw.dma.descriptor import LINE_BYTES
from hw.fabric.bank_config import CREDIT_BITS
from hw.fabric.spec import GlobalBufferSpec
from hw.memtile import Affine, AffineNest

__all__ = ["LEAST_LINES", "WHOLE", "Bands", "Box", "bands_of_blocks", "choose_bands", "in_blocks",
           "needs_bands"]

WORD_BYTES = 2
_LINE_WORDS = LINE_BYTES // WORD_BYTES
_BURST_WORDS = 16 * _LINE_WORDS
_MOST = (1 << CREDIT_BITS) - 1
"""Bands that a bank can have room for."""

_MOST_OF_TILE = 1024
"""Bands of a tile that are tried: more do not end a run sooner, and each is looked at."""

_LEAST_ROOM = 8
"""But a half of a bank has room for so many bands of a tile that passes it, however large the tile is."""

_NEVER = 1 << 60

LEAST_LINES = (16, 32, 64, 128, 256, 512, 1 << 30)
"""Lengths of bands that are tried, in lines of the memory bus; the last one stands for whole tiles."""


@dataclass(frozen=True)
class Bands:
    """`steps` of the slowest level of a tile's box make a band, 0: all of them; the other fields are those of
    `BankConfig`: `count` bands of a tile, `cycles` from one to the next, `lag`, `room`. `block`: a matrix that is
    walked by columns is moved in blocks of so many of them, the slowest level then; 0: in the order of memory."""

    steps: int
    count: int
    cycles: int
    lag: int
    room: int
    block: int = 0


WHOLE = Bands(0, 1, 0, 1, 2)
"""A tile that is one band."""


@dataclass(frozen=True)
class Box:
    """A tile in memory: `steps` of its slowest level, of `step_bytes` bytes each."""

    steps: int
    step_bytes: int

    @property
    def words(self) -> int:
        """Words of the tile."""
        return self.steps * self.step_bytes // WORD_BYTES


def needs_bands(box: Box, glb: GlobalBufferSpec) -> bool:
    """Whether the tile is larger than half a bank."""
    return box.words > glb.half_words


def choose_bands(nest: AffineNest, box: Box, glb: GlobalBufferSpec, tiles: int, least: int) -> Bands | None:
    """Bands for the accesses `nest` of a tile that lies in memory as `box`, of `least` lines if there are such: among
    those of up to twice as many, the ones of which the array keeps the fewest words.

    The whole tile if it fits half a bank and has no such bands. None if it needs bands, and there are none or several
    tiles.
    """
    found = {size: bands for size in sorted(set(_sizes(box, nest, glb)))
             if (bands := _bands(nest, box, size, glb)) is not None}
    lines = {size: size * box.step_bytes // LINE_BYTES for size in found}
    wanted = [size for size in found if least <= lines[size] <= 2 * least]
    if needs_bands(box, glb):
        if tiles > 1 or not found:
            return None
        wanted = wanted or [min(found, key=lambda size: abs(lines[size] - least))]
    return found[min(wanted, key=lambda size: size * found[size].lag)] if wanted else WHOLE


def in_blocks(nest: AffineNest, block: int) -> AffineNest | None:
    """The accesses to a matrix that is walked by columns, when blocks of so many columns lie one behind the other; None
    for other walks, and for blocks that are no whole lines, do not divide a row, or are all of it."""
    access = nest.addresses[0]
    loops = [k for k, count in enumerate(nest.ranges) if count > 1]
    if len(loops) != 2 or access.offset or len(nest.addresses) > 1:
        return None
    rows, columns = (nest.ranges[k] for k in loops)
    by_columns = tuple(access.strides[k] for k in loops) == (columns, 1)
    if not by_columns or block % _LINE_WORDS or columns % block or columns == block:
        return None
    inner, outer = (nest.time[k] for k in loops)
    return replace(nest, ranges=(rows, block, columns // block), time=(inner, outer, block * outer),
                   addresses=(Affine((block, 1, rows * block), 0),))


def bands_of_blocks(blocks: AffineNest, glb: GlobalBufferSpec) -> Bands | None:
    """Bands of one block each for the accesses that `in_blocks` gives; None if there are none, or no room for them."""
    rows, block, count = blocks.ranges
    box = Box(count, rows * block * WORD_BYTES)
    bands = None if needs_bands(box, glb) else _bands(blocks, box, 1, glb)
    return None if bands is None else replace(bands, block=block)


def _sizes(box: Box, nest: AffineNest, glb: GlobalBufferSpec) -> Iterator[int]:
    """Steps that a band may have: whole lines; of bytes whole bursts or iterations of a loop."""
    unit = next(n for n in (1, 2, 4, 8) if n * box.step_bytes % LINE_BYTES == 0)
    burst = max(LINE_BYTES, min(_BURST_WORDS, glb.half_words // 4) * WORD_BYTES)
    units = {unit}
    if box.step_bytes == 1:
        iterations = {abs(stride) * WORD_BYTES for stride in nest.addresses[0].strides if abs(stride) > 1}
        units = {burst} | {size * n for size in iterations for n in (1, 2, 4) if size * n % unit == 0}
    few = -(-box.words * WORD_BYTES // _MOST_OF_TILE)
    least = max(burst, min(few, glb.half_words * WORD_BYTES // _LEAST_ROOM) if needs_bands(box, glb) else few)
    most = min(box.words, glb.half_words) * WORD_BYTES // 2
    for size in units:
        steps = size * -(-least // (size * box.step_bytes))
        while steps * box.step_bytes <= most:
            yield steps
            steps *= 2


def _bands(nest: AffineNest, box: Box, steps: int, glb: GlobalBufferSpec) -> Bands | None:
    """Bands of so many steps, if there are any that keep their promises."""
    count, words = -(-box.steps // steps), steps * box.step_bytes // WORD_BYTES
    ring = needs_bands(box, glb)
    if ring and max(abs(s) for s in nest.addresses[0].strides) >= glb.half_words:
        return None
    room = min(_MOST, 2 * glb.half_words // words) if ring else 2 * count
    bands = np.arange(1, count, dtype=np.int64)
    cycles = int((_earliest(nest, bands * words) // bands).min(initial=_NEVER)) if count > 1 else 0
    if cycles < 1 or room > _MOST:
        return None
    lag = int((_latest(nest, bands * words) // cycles + 2 - bands).max())
    if ring and lag + 2 > room:
        return None
    return Bands(steps, count, cycles, min(max(lag, 1), count), room)


def _earliest(nest: AffineNest, addresses: np.ndarray) -> np.ndarray:
    """Cycles, from the first access on, of the first access to each of the addresses or a later one, which there is.

    Time advances from iteration to iteration of each loop, so that the first access is lexicographically the first. If
    there is none: the cycle of the last access.
    """
    strides, trips = nest.addresses[0].strides, nest.ranges
    time, rest = np.zeros_like(addresses), np.full_like(addresses, nest.addresses[0].offset)
    reach = sum(max(0, s * (n - 1)) for s, n in zip(strides, trips, strict=True))
    for stride, count, cycles in reversed(list(zip(strides, trips, nest.time, strict=True))):
        reach -= max(0, stride * (count - 1))
        if stride > 0:
            index = np.maximum(0, -(-(addresses - rest - reach) // stride))
            time, rest = time + index * cycles, rest + index * stride
    return np.where(rest >= addresses, time, nest.last_time - nest.time_offset)


def _latest(nest: AffineNest, addresses: np.ndarray) -> np.ndarray:
    """Cycles, from the first access on, of the last access to one before each of the addresses, which there is."""
    strides, trips = nest.addresses[0].strides, nest.ranges
    time, rest = np.zeros_like(addresses), np.full_like(addresses, nest.addresses[0].offset)
    reach = sum(min(0, s * (n - 1)) for s, n in zip(strides, trips, strict=True))
    for stride, count, cycles in reversed(list(zip(strides, trips, nest.time, strict=True))):
        reach -= min(0, stride * (count - 1))
        index = np.full_like(addresses, count - 1)
        if stride > 0:
            index = np.minimum(index, (addresses - 1 - rest - reach) // stride)
        time, rest = time + index * cycles, rest + index * stride
    return time
