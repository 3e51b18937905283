"""Main memory on one side, the array on the other: DMA descriptors and bank schedules for every stream.

Arrays lie in main memory in C order with 16-bit elements, little-endian. A tile's box is packed row by row into
one half of a bank; the bank then walks it in the order in which its statement executes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import Literal

import numpy as np

from compiler.bind.buffers.counters import counted
from compiler.bind.cgra.bands import WHOLE, WORD_BYTES, Bands, Box, bands_of_blocks, choose_bands, in_blocks
from compiler.ir.floating import decode, encode
from compiler.ir.program import Array
from compiler.ir.types import BFLOAT16, Float, Int
from compiler.sched.static.schedule import StatementSchedule
from compiler.sched.streams.streams import Footprint, StagedProgram, StreamError, row_major
from hw.dma.descriptor import LINE_BYTES, DescriptorError, DmaDescriptor, DmaLevel
from hw.dma.spec import ROW_BYTES_BITS
from hw.fabric.bank_config import BankConfig, bank_controller
from hw.fabric.spec import GlobalBufferSpec
from hw.memtile import Affine, AffineNest
from hw.memtile.spec import ConfigurationError

__all__ = [
    "ELEMENT_BYTES",
    "MemoryLayout",
    "array_bytes",
    "array_from_bytes",
    "bands_of",
    "bank_config",
    "blocks_of",
    "descriptor",
    "element_bytes",
    "lay_out",
]

ELEMENT_BYTES = WORD_BYTES
_ALIGNMENT = 64


@dataclass(frozen=True)
class MemoryLayout:
    """Byte address of every array in main memory, and the end of the last one."""

    addresses: dict[str, int]
    end: int


def array_bytes(array: Array) -> int:
    """Size of an array in main memory, in bytes."""
    return prod(array.shape) * ELEMENT_BYTES


def element_bytes(data: np.ndarray) -> bytes:
    """An array as it lies in main memory: 16-bit little-endian elements in C order, bits of bfloat16 numbers."""
    words = np.asarray(data)
    words = encode(BFLOAT16, words) if words.dtype.kind == "f" else words
    return (words.astype(np.int64) & 0xFFFF).astype("<u2").tobytes()


def array_from_bytes(array: Array, data: bytes) -> np.ndarray:
    """Inverse of `element_bytes`: the array's values, as int64 or float32. Words hold narrower integers extended."""
    if isinstance(array.type, Float):
        return decode(array.type, np.frombuffer(data, dtype="<u2")).reshape(array.shape)
    assert isinstance(array.type, Int)
    words = np.frombuffer(data, dtype="<i2" if array.type.signed else "<u2")
    return words.astype(np.int64).reshape(array.shape)


def lay_out(arrays: Iterable[Array], start: int) -> MemoryLayout:
    """Place arrays one after the other from `start` on."""
    addresses: dict[str, int] = {}
    for array in arrays:
        addresses[array.name] = start
        start = -(-(start + array_bytes(array)) // _ALIGNMENT) * _ALIGNMENT
    return MemoryLayout(addresses, start)


def bank_config(footprint: Footprint, entry: StatementSchedule, shift: int,
                direction: Literal["input", "output"], bands: Bands = WHOLE) -> BankConfig:
    """The bank's accesses in one tile, in `bands`. `shift`: cycles from the logical cycle of an element to its access.

    Raises `ConfigurationError`, naming the array, for a loop that no counters count.
    """
    first = entry.offset + shift
    nest = _nest(footprint, entry, first)
    if bands.block:
        nest = in_blocks(nest, bands.block) or nest
    try:
        return BankConfig(direction, counted(nest), nest.count, first, 0, bands.count, bands.cycles, bands.lag,
                          bands.room)
    except ConfigurationError as error:
        raise ConfigurationError(f"array {footprint.array}: {error}") from None


def bands_of(staged: StagedProgram, footprint: Footprint, entry: StatementSchedule, glb: GlobalBufferSpec,
             least: int) -> Bands:
    """Bands of the tiles of an array, of `least` lines or more.

    Raises `StreamError` for a tile that does not fit half a bank and is not accessed in the order of memory, and for
    one with more words than a bank counts.
    """
    most = (1 << bank_controller(glb).time_width) - 1
    if footprint.words > most:
        raise StreamError(f"{staged.label(footprint)}: a tile of {footprint.words} words passes the global buffer, of "
                          f"which a bank counts up to {most}; compute it in runs of fewer iterations of the outermost "
                          "loop, or have a larger time_width in the global buffer and the memories (--hardware)")
    row_bytes, levels = _box(footprint, staged.program.array(footprint.array))
    steps = levels[0][0] if levels else row_bytes
    box = Box(steps, footprint.words * ELEMENT_BYTES // steps)
    found = choose_bands(_nest(footprint, entry), box, glb, staged.tiles, least)
    if found is None:
        raise StreamError(f"{staged.label(footprint)}: a tile of {footprint.words} words does not fit the global "
                          f"buffer's {glb.half_words} words per half, and is not accessed in the order of memory; add "
                          "tile loops around all statements")
    return found


def blocks_of(footprint: Footprint, array: Array, entry: StatementSchedule, glb: GlobalBufferSpec, block: int
              ) -> Bands | None:
    """Bands of blocks of so many columns of a whole matrix that is walked by columns; None for other tiles."""
    levels = _levels(footprint, array)
    if len(levels) != 2 or levels[0][1] != levels[1][0] * ELEMENT_BYTES or levels[0][1] % LINE_BYTES:
        return None
    blocks = in_blocks(_nest(footprint, entry), block)
    return None if blocks is None else bands_of_blocks(blocks, glb)


def _nest(footprint: Footprint, entry: StatementSchedule, first: int = 0) -> AffineNest:
    """The accesses of a tile, the first one in cycle `first`."""
    trips, strides = tuple(entry.trips.values())[::-1], tuple(entry.strides.values())[::-1]
    return AffineNest(trips or (1,), strides or (0,), first, (Affine(footprint.steps[::-1] or (0,), footprint.first),))


def _levels(footprint: Footprint, array: Array) -> list[tuple[int, int]]:
    """Counts and bytes of the dimensions of a tile's box, outermost first, without those of one element."""
    steps = [s * ELEMENT_BYTES for s in row_major(array.shape)]
    return [(n, s) for n, s in zip(footprint.extents, steps, strict=True) if n > 1]


def descriptor(footprint: Footprint, array: Array, address: int, tile_starts: tuple[int, ...],
               tile_counts: tuple[int, ...], bands: Bands = WHOLE) -> DmaDescriptor:
    """How the DMA engine walks the boxes of all tiles of `array`, which starts at byte `address`, in `bands`.

    Raises `StreamError` for boxes of more than three dimensions, more than two tile loops, and sizes that the engine
    cannot count.
    """
    steps = [s * ELEMENT_BYTES for s in row_major(array.shape)]
    row_bytes, levels = _box(footprint, array)
    if bands.block:
        (rows, row_stride), _ = _levels(footprint, array)
        row_bytes = bands.block * ELEMENT_BYTES
        levels = [(row_stride // row_bytes, row_bytes), (rows, row_stride)]
    tiles = [(count, sum(low[0][k] * step for low, step in zip(footprint.low, steps, strict=True)))
             for k, count in enumerate(tile_counts)]
    tiles = _merged([level for level in tiles if level[0] > 1])
    if len(levels) > 2 or len(tiles) > 2:
        raise StreamError(f"array {array.name}: a tile is a box of {len(levels) + 1} dimensions in {len(tiles)} tile "
                          "loops; the DMA engine walks up to 3 and 2")
    base = address + sum(low * step for low, step in zip(footprint.low_at(tile_starts), steps, strict=True))
    inner, planes = _two(levels)
    try:
        return DmaDescriptor(base, row_bytes, inner, planes, _two(tiles), bands.steps)
    except DescriptorError as error:
        raise StreamError(f"array {array.name}: {error}") from None


def _box(footprint: Footprint, array: Array) -> tuple[int, list[tuple[int, int]]]:
    """Bytes of a row, and the levels around it, outermost first: as few as they can be, of rows that the engine
    counts."""
    levels = _levels(footprint, array)
    found = _innermost(_merged(levels))
    return found if found[0] < 1 << ROW_BYTES_BITS else _innermost([levels[0], *_merged(levels[1:])])


def _innermost(levels: list[tuple[int, int]]) -> tuple[int, list[tuple[int, int]]]:
    """Bytes of a contiguous row, and the levels around it."""
    if levels and levels[-1][1] == ELEMENT_BYTES:
        return levels[-1][0] * ELEMENT_BYTES, levels[:-1]
    return ELEMENT_BYTES, levels


def _merged(levels: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge neighbouring levels (outermost first) that together are one arithmetic progression."""
    result: list[tuple[int, int]] = []
    for count, stride in levels:
        if result and result[-1][1] == count * stride:
            result[-1] = (result[-1][0] * count, stride)
        else:
            result.append((count, stride))
    return result


def _two(levels: list[tuple[int, int]]) -> tuple[DmaLevel, DmaLevel]:
    """Innermost and outermost of at most two levels."""
    inner_first = [DmaLevel(*level) for level in reversed(levels)]
    return (*inner_first, DmaLevel(), DmaLevel())[:2]  # type: ignore[return-value]
