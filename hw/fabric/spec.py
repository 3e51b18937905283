"""Parameters of the array of tiles and of the global buffer beside it, and the constants of their timing."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property, lru_cache
from typing import Literal

from hw.errors import SluiceError
from hw.memtile import MemTileSpec
from hw.pe.config import PeSpec

__all__ = [
    "EN_LATENCY",
    "GLB_INPUT_LATENCY",
    "IO_INPUT_LATENCY",
    "IO_OUTPUT_LATENCY",
    "FabricError",
    "FabricSpec",
    "GlobalBufferSpec",
    "TileKind",
]

EN_LATENCY = 5
"""Cycles from `en` and `flush` at the array's ports until the registers of every tile obey them."""

IO_INPUT_LATENCY = 1
"""Cycles from a word at the array's north port until it is on the tracks that enter row 0."""

IO_OUTPUT_LATENCY = 1
"""Cycles from a word on a track that leaves row 0 to the north until it is at the array's north port."""

GLB_INPUT_LATENCY = 1 + IO_INPUT_LATENCY
"""Cycles from the read in a bank (its block RAM takes one) until the word is on the tracks that enter row 0."""


class FabricError(SluiceError):
    """An array that cannot be built, or a place on it that does not exist."""


class TileKind(Enum):
    """What a tile holds: a processing element or a memory."""

    PE = "pe"
    MEM = "mem"


@dataclass(frozen=True)
class GlobalBufferSpec:
    """Parameters of the global buffer.

    `banks`: number of banks, spread evenly over the columns; None for one bank in each column. `half_words`: 16-bit
    words in each of the two halves of a bank. `bus_width`: bits of the memory bus. `paired`: a column that has a bank
    has a second one; the first one only sends words to the array, the second one only takes them from it, where a
    single one does either. `time_width`: bits of the cycles, and of the words of a tile, that a bank counts, 2 to 32.
    Raises `FabricError` for others.
    """

    banks: int | None = None
    half_words: int = 16384
    bus_width: int = 64
    paired: bool = False
    time_width: int = 24

    def __post_init__(self) -> None:
        if not 2 <= self.time_width <= 32:
            raise FabricError(f"a bank counts with 2 to 32 bits, not {self.time_width}")


@dataclass(frozen=True)
class FabricSpec:
    """Parameters of an array of `rows` by `columns` tiles; row 0 is the north edge, where the global buffer is.

    `tracks`: tracks per side, direction and network. `delay_depth`: how many cycles, from 0, the delay of a tile's
    input can be. Column c holds memories if ``c % mem_period == mem_period - 1``. `mem_depths`: wide words of the
    memories, a number for each column of them from the west on, over and over; none for `mem.depth` everywhere, else
    that is the largest of them. Kinds "pub" and "dual-port" only. `protocol`: "static", where
    everything has its cycle, or "ready-valid", where words wait for each other and memories are buffets.
    Raises `FabricError` for an array that cannot be built.
    """

    rows: int
    columns: int
    tracks: int = 5
    delay_depth: int = 16
    pe: PeSpec = field(default_factory=PeSpec)
    mem: MemTileSpec = field(default_factory=MemTileSpec)
    mem_period: int = 4
    glb: GlobalBufferSpec = field(default_factory=GlobalBufferSpec)
    protocol: Literal["static", "ready-valid"] = "static"
    mem_depths: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not (1 <= self.rows <= 128 and 1 <= self.columns <= 256):
            raise FabricError(f"an array has 1x1 to 128x256 tiles, not {self.rows}x{self.columns}")
        if not 2 <= self.tracks <= 16:
            raise FabricError(f"an array has 2 to 16 tracks per side, not {self.tracks}")
        if self.delay_depth not in (2, 4, 8, 16, 32):
            raise FabricError(f"the delay depth is 2, 4, 8, 16 or 32, not {self.delay_depth}")
        if self.mem_period < 1:
            raise FabricError(f"one column in {self.mem_period} cannot hold memories")
        if self.pe.width != self.mem.word_width:
            raise FabricError(
                f"processing elements have {self.pe.width}-bit words, memories {self.mem.word_width}-bit words"
            )
        if (self.protocol == "ready-valid") != (self.mem.kind == "buffet"):
            raise FabricError(f"an array with {self.protocol} tracks cannot have memories of kind '{self.mem.kind}'")
        if self.pe.bfloat16 and self.protocol != "static":
            raise FabricError(f"an array with {self.protocol} tracks has processing elements without bfloat16")
        if self.glb.banks is not None and not 1 <= self.glb.banks <= self.columns:
            raise FabricError(f"{self.columns} columns cannot have {self.glb.banks} banks")
        if self.glb.paired and self.protocol != "static":
            raise FabricError(f"an array with {self.protocol} tracks has one bank in a column; leave out paired")
        self._check_depths()

    def _check_depths(self) -> None:
        if not self.mem_depths:
            return
        if self.mem.kind not in ("pub", "dual-port"):
            raise FabricError(f"memories of kind '{self.mem.kind}' have one depth; leave out mem_depths")
        if max(self.mem_depths) != self.mem.depth:
            raise FabricError(f"the largest of mem_depths is {max(self.mem_depths)}, the depth of memories "
                              f"{self.mem.depth}; they have to be the same")
        for depth in self.mem_depths:
            replace(self.mem, depth=depth)

    @classmethod
    def parse(cls, text: str) -> FabricSpec:
        """The array of default parameters of size "ROWSxCOLUMNS". Raises `FabricError` if that is not a size."""
        match = re.fullmatch(r"([1-9]\d{0,3})x([1-9]\d{0,3})", text)
        if match is None:
            raise FabricError(f"'{text}' is not the size of an array; write ROWSxCOLUMNS, as in 4x4 or 16x32")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.rows}x{self.columns}"

    @property
    def width(self) -> int:
        """Bits of a data word."""
        return self.pe.width

    @property
    def config_latency(self) -> int:
        """Cycles after a word on the configuration port in which it is in effect in every tile, at most.

        `en` and `flush` can overtake it: wait this long after the last word before a run.
        """
        return self.rows + 3

    @cached_property
    def bank_columns(self) -> tuple[int, ...]:
        """Columns that have a bank of the global buffer."""
        banks = self.columns if self.glb.banks is None else self.glb.banks
        return tuple(index * self.columns // banks for index in range(banks))

    @property
    def bank_slots(self) -> int:
        """Numbers of banks. Bank n < `columns` is the first one of column n, bank ``columns + c`` the second one of
        column c."""
        return self.columns * (2 if self.glb.paired else 1)

    @cached_property
    def bank_numbers(self) -> tuple[int, ...]:
        """Numbers of the banks that there are."""
        return tuple(n for n in range(self.bank_slots) if n % self.columns in self.bank_columns)

    def bank_number(self, column: int, direction: Literal["input", "output"]) -> int:
        """Number of the bank of a column for one direction."""
        return column + (self.columns if self.glb.paired and direction == "output" else 0)

    def tile_kind(self, row: int, column: int) -> TileKind:
        """Kind of the tile at a place. Raises `FabricError` if there is no such place."""
        if not (0 <= row < self.rows and 0 <= column < self.columns):
            raise FabricError(f"the {self} array has no tile at row {row}, column {column}")
        return TileKind.MEM if column % self.mem_period == self.mem_period - 1 else TileKind.PE

    def mem_at(self, column: int) -> MemTileSpec:
        """The memories of a column of memories."""
        if not self.mem_depths:
            return self.mem
        return replace(self.mem, depth=self.mem_depths[column // self.mem_period % len(self.mem_depths)])

    def local(self, column: int) -> FabricSpec:
        """The array as a tile of a column knows it: all memories are like those of its own column."""
        return _with_depth(self, self.mem_at(column).depth) if self.mem_depths else self

    @cached_property
    def memories(self) -> dict[int, int]:
        """How many memories of each depth there are, the smallest first."""
        counts = Counter(self.mem_at(column).depth for _, column in self.tiles(TileKind.MEM))
        return dict(sorted(counts.items()))

    def tiles(self, kind: TileKind | None = None) -> tuple[tuple[int, int], ...]:
        """Places (row, column) of all tiles, or of those of one kind, row by row."""
        return tuple(
            (row, column)
            for row in range(self.rows)
            for column in range(self.columns)
            if kind is None or self.tile_kind(row, column) is kind
        )


@lru_cache
def _with_depth(spec: FabricSpec, depth: int) -> FabricSpec:
    return replace(spec, mem=replace(spec.mem, depth=depth), mem_depths=())
