"""What one stream of tiles looks like in memory: the descriptor that the burst engines walk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hw.dma.spec import ROW_BYTES_BITS
from hw.errors import SluiceError

__all__ = ["DescriptorError", "DmaDescriptor", "DmaLevel"]

ADDRESS_BITS = 32
COUNT_BITS = 16
LINE_BYTES = 8


class DescriptorError(SluiceError):
    """A descriptor that the engines cannot walk."""


@dataclass(frozen=True)
class DmaLevel:
    """`count` steps (1 to 65535) of `stride` bytes (signed, modulo 2^32)."""

    count: int = 1
    stride: int = 0


@dataclass(frozen=True)
class DmaDescriptor:
    """A stream of tiles. Tile t is `planes` x `rows` rows of `row_bytes` consecutive bytes.

    Row (p, r) of the tile with tile indices (i1, i0) starts at byte address
    ``base + i1*tiles[1].stride + i0*tiles[0].stride + p*planes.stride + r*rows.stride`` (modulo 2^32).
    The packed stream has the rows one after the other without gaps. Tile levels advance once per tile, level
    0 fastest, and start over after the last tile, so a descriptor without tile levels repeats one tile.
    `base` and `row_bytes` need no alignment.

    `band`: a tile is transferred in bands of so many planes; of so many rows if it has one plane, of so many bytes if
    it has one row; 0 for all at once. But for the last one of a tile, a band has a multiple of 8 bytes.
    """

    base: int
    row_bytes: int
    rows: DmaLevel = DmaLevel()
    planes: DmaLevel = DmaLevel()
    tiles: tuple[DmaLevel, DmaLevel] = (DmaLevel(), DmaLevel())
    band: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.base < 1 << ADDRESS_BITS:
            raise DescriptorError(f"base address {self.base:#x} has more than {ADDRESS_BITS} bits")
        if not 0 < self.row_bytes < 1 << ROW_BYTES_BITS:
            raise DescriptorError(f"a row of {self.row_bytes} bytes is outside 1..{(1 << ROW_BYTES_BITS) - 1}")
        for level in self.levels:
            if not 0 < level.count < 1 << COUNT_BITS:
                raise DescriptorError(f"a count of {level.count} is outside 1..{(1 << COUNT_BITS) - 1}")
            if not -(1 << 31) <= level.stride < 1 << 31:
                raise DescriptorError(f"a stride of {level.stride} bytes has more than {ADDRESS_BITS} bits")
        if not 0 <= self.band <= self.slowest.count:
            raise DescriptorError(f"a band of {self.band} is outside 0..{self.slowest.count}")
        if self.bands > 1 and self.band_bytes % LINE_BYTES:
            raise DescriptorError(f"a band of {self.band_bytes} bytes is no multiple of {LINE_BYTES}")

    @property
    def levels(self) -> tuple[DmaLevel, DmaLevel, DmaLevel, DmaLevel]:
        """Rows, planes, tile level 0, tile level 1."""
        return (self.rows, self.planes, *self.tiles)

    @property
    def slowest(self) -> DmaLevel:
        """What bands divide: planes, rows, or the bytes of a row."""
        return next((level for level in (self.planes, self.rows) if level.count > 1), DmaLevel(self.row_bytes, 1))

    @property
    def bands(self) -> int:
        """Bands of a tile."""
        return -(-self.slowest.count // self.band) if self.band else 1

    @property
    def band_bytes(self) -> int:
        """Length of a band, but for the last one, in the packed stream."""
        return self.tile_bytes // self.slowest.count * (self.band or self.slowest.count)

    @property
    def tile_bytes(self) -> int:
        """Length of one tile in the packed stream."""
        return self.row_bytes * self.rows.count * self.planes.count

    def tile_base(self, tile: int) -> int:
        """Byte address of the first row of tile number `tile`."""
        inner, outer = self.tiles
        offset = tile % inner.count * inner.stride + tile // inner.count % outer.count * outer.stride
        return (self.base + offset) % (1 << ADDRESS_BITS)

    def row_addresses(self, tile: int) -> Iterator[int]:
        """Byte addresses of the rows of tile number `tile`, in the order of the packed stream."""
        base = self.tile_base(tile)
        for plane in range(self.planes.count):
            for row in range(self.rows.count):
                yield (base + plane * self.planes.stride + row * self.rows.stride) % (1 << ADDRESS_BITS)

    def words(self) -> tuple[int, ...]:
        """The 13 32-bit words of a descriptor window, in the order of its registers."""
        mask = (1 << ADDRESS_BITS) - 1
        levels = (word & mask for level in self.levels for word in (level.count, level.stride))
        steps = self.band or self.slowest.count
        lines = -(-self.band_bytes // LINE_BYTES)
        return (self.base, self.row_bytes, *levels, steps, steps * self.slowest.stride & mask, lines)
