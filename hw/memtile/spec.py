"""Sizes of a memory tile, and the configuration map that follows from them.

Features of the configuration bus that a memory core answers to (a feature has 256 registers of 32 bits):

=============  =========================================================================================
feature        contents
=============  =========================================================================================
0x80           tile: register 0 = mode, 1 = chained outputs, 0x10 + i / 0x20 + o = circular regions
0x81 + k       affine controller k, in the order of `MemTileSpec.controllers`; see `hw.memtile.affine`
0xC0 + n       words of the SRAM, `MemTileSpec.contents_pack` to a register, register n * 256 + r first
=============  =========================================================================================

Features below 0x80 belong to the tile around the core. Liu 2023, section 6.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeVar, get_args

from hw.lib.configuration import ConfigurationError

__all__ = [
    "CONTENTS_FEATURE",
    "CONTROLLER_FEATURE",
    "TILE_FEATURE",
    "AffineSpec",
    "ConfigurationError",
    "MemKind",
    "MemTileSpec",
    "TileRegister",
    "for_kind",
]

T = TypeVar("T")

MemKind = Literal["pub", "dual-port", "dual-port-pe", "buffet"]
"""Implementations of a memory tile."""

TILE_FEATURE = 0x80
CONTROLLER_FEATURE = 0x81
CONTENTS_FEATURE = 0xC0
CONTENTS_FEATURES = 0x40
REGISTERS_PER_FEATURE = 0x100


class TileRegister:
    """Registers of the tile feature. Mode: bit 0 ROM, bit 1 chaining, bits 31:16 the tile's place in its chain.
    Chained: from bit 0 on which outputs are chained, from bit 16 on which outputs pass."""

    MODE = 0x00
    CHAINED = 0x01
    PASSING_BIT = 16
    INPUT_REGION = 0x10
    OUTPUT_REGION = 0x20


@dataclass(frozen=True)
class AffineSpec:
    """Sizes of one affine controller: nest depth and bit widths of trip counts, cycle numbers and addresses.

    The last of the 16 entries of a table holds the offset, so `dims` is at most 15.
    """

    address_widths: tuple[int, ...]
    dims: int = 6
    counter_width: int = 16
    time_width: int = 24

    OFFSET_ENTRY = 15
    """Table entry (and register number within a table) of an offset; entries below `dims` hold deltas."""

    def __post_init__(self) -> None:
        _require(1 <= self.dims < self.OFFSET_ENTRY + 1, f"dims {self.dims} is not in 1..15")
        _require(2 <= self.counter_width <= 32, f"counter_width {self.counter_width} is not in 2..32")
        _require(2 <= self.time_width <= 32, f"time_width {self.time_width} is not in 2..32")
        _require(len(self.address_widths) <= 13, f"{len(self.address_widths)} addresses are not in 0..13")
        for width in self.address_widths:
            _require(1 <= width <= 32, f"address width {width} is not in 1..32")


@dataclass(frozen=True)
class MemTileSpec:
    """Sizes of a memory tile; both implementations have the same capacity and the same ports.

    `word_width` bits per word, `fetch_width` words per SRAM access, `depth` wide words, `agg_words` words in each
    aggregator, `tb_words` words in each transpose buffer, `inputs` and `outputs` ports, `dims` loop levels per
    controller, `time_width` bits of cycle number. `kind` is "pub" (wide-fetch single-port SRAM, Liu 2023, section
    6.1.3), "dual-port" (one-word 1W1R SRAM, section 6.1.1; it has no aggregators and transpose buffers),
    "dual-port-pe" (that SRAM with addresses from processing elements, see `hw.memtile.addressed`) or "buffet" (that
    SRAM behind ready-valid streams, section 6.2; its times are numbers of tokens, see `hw.memtile.buffet`).
    `sram_ports`: write ports, and as many read ports, of the SRAM of kind "dual-port": 1 for all inputs and all outputs
    by turns, or `inputs` (= `outputs`) for one each; 2 of each is the quad-port memory of figures 7.8 and 7.9.
    """

    word_width: int = 16
    fetch_width: int = 4
    depth: int = 512
    agg_words: int = 8
    tb_words: int = 8
    inputs: int = 2
    outputs: int = 2
    dims: int = 6
    time_width: int = 24
    kind: MemKind = "pub"
    sram_ports: int = 1

    ADDRESS_WIDTH = 16
    """Bits of a logical SRAM address; those above the tile's own capacity select the tile of a chain."""
    ROM_LATENCY = 3
    """ROM mode: an address at `data_in[0]` in cycle c gives its word on `data_out[0]` in cycle c + 3."""

    START_CYCLES = 16
    """Kind "dual-port-pe": unstalled cycles from the flush in which `started` is 0."""

    def __post_init__(self) -> None:
        _require(self.kind in get_args(MemKind), f"kind '{self.kind}' is none of {', '.join(get_args(MemKind))}")
        _require(1 <= self.word_width <= 32, f"word_width {self.word_width} is not in 1..32")
        for name in ("fetch_width", "depth", "agg_words", "tb_words"):
            value = getattr(self, name)
            _require(value >= 2 and value & (value - 1) == 0, f"{name} {value} is not a power of two above 1")
        for name in ("agg_words", "tb_words"):
            value = getattr(self, name)
            _require(value >= 2 * self.fetch_width, f"{name} {value} is less than two fetches")
        for name in ("inputs", "outputs"):
            value = getattr(self, name)
            _require(1 <= value <= 15, f"{name} {value} is not in 1..15")
            single = self.kind != "dual-port-pe" or value == 1
            _require(single, f"kind 'dual-port-pe' has 1 of {name}, not {value}")
            several = self.sram_ports == 1 or (self.kind == "dual-port" and self.sram_ports == value)
            _require(several, f"sram_ports {self.sram_ports} is neither 1 nor, of kind 'dual-port', the {value} {name}")
        _require(len(self.controllers) <= CONTENTS_FEATURE - CONTROLLER_FEATURE, "too many controllers")
        _require(self.sram_bits < self.ADDRESS_WIDTH, f"{self.sram_words} SRAM addresses exceed 2^15")
        registers = CONTENTS_FEATURES * REGISTERS_PER_FEATURE
        _require(self.contents_registers <= registers, f"capacity exceeds {registers} configuration registers")

    @property
    def capacity_words(self) -> int:
        """Words that the tile stores."""
        return self.depth * self.fetch_width

    @property
    def sram_words(self) -> int:
        """Addresses of the SRAM: wide words ("pub") or words ("dual-port")."""
        return self.depth if self.kind == "pub" else self.capacity_words

    @property
    def sram_bits(self) -> int:
        """Bits of a physical SRAM address."""
        return self.sram_words.bit_length() - 1

    @property
    def chain_bits(self) -> int:
        """Bits of a logical SRAM address that name the tile of a chain."""
        return self.ADDRESS_WIDTH - self.sram_bits

    @property
    def agg_blocks(self) -> int:
        """Wide words in one aggregator."""
        return self.agg_words // self.fetch_width

    @property
    def tb_blocks(self) -> int:
        """Wide words in one transpose buffer."""
        return self.tb_words // self.fetch_width

    @property
    def contents_pack(self) -> int:
        """Words of SRAM contents in one configuration register, first word in the low bits."""
        if self.kind != "pub":
            return 1
        return min(self.fetch_width, 1 << ((32 // self.word_width).bit_length() - 1))

    @property
    def contents_registers(self) -> int:
        """Configuration registers that the whole SRAM takes."""
        return self.capacity_words // self.contents_pack

    @property
    def read_ahead(self) -> int:
        """Cycles by which a read controller's SRAM access precedes the cycle in which its configuration says it
        fires; also the first cycle in which it can fire. 1 for "dual-port": it makes room for a register after
        the SRAM, and a bypass hides it, so a read still sees every write of earlier cycles."""
        return 1 if self.kind == "dual-port" else 0

    @cached_property
    def controllers(self) -> dict[str, AffineSpec]:
        """The tile's affine controllers in configuration order: name and sizes.

        "pub": write (address: AGG word), store (AGG block, SRAM), fetch (SRAM, TB block), read (TB word).
        "dual-port": write (SRAM), read (SRAM).
        "buffet": fill (no address, words are appended), update (SRAM), read (SRAM), shrink (SRAM, the new head).
        """
        agg, tb, sram = _bits(self.agg_words), _bits(self.tb_words), self.ADDRESS_WIDTH
        if self.kind == "dual-port":
            roles = [("write", self.inputs, (sram,)), ("read", self.outputs, (sram,))]
        elif self.kind == "dual-port-pe":
            roles = []
        elif self.kind == "buffet":
            roles = [("fill", 1, ()), ("update", 1, (sram,)), ("read", 1, (sram,)), ("shrink", 1, (sram,))]
        elif self.kind == "pub":
            roles = [
                ("write", self.inputs, (agg,)),
                ("store", self.inputs, (_bits(self.agg_blocks), sram)),
                ("fetch", self.outputs, (sram, _bits(self.tb_blocks))),
                ("read", self.outputs, (tb,)),
            ]
        else:
            raise ConfigurationError(f"memories of kind '{self.kind}' have no controllers; add them to "
                                     "MemTileSpec.controllers")
        return {
            f"{role}{index}": AffineSpec(widths, self.dims, time_width=self.time_width)
            for role, count, widths in roles
            for index in range(count)
        }

    def feature(self, controller: str) -> int:
        """Configuration feature of a controller by its name, such as "store1"."""
        return CONTROLLER_FEATURE + list(self.controllers).index(controller)


def for_kind(entries: Mapping[str, T], kind: str, what: str) -> T:
    """The entry of a kind of memories. Raises `ConfigurationError` if there is none: the kind has no `what`."""
    if kind not in entries:
        raise ConfigurationError(f"memories of kind '{kind}' have no {what}; those of {', '.join(entries)} have")
    return entries[kind]


def _bits(count: int) -> int:
    """Bits of a number below `count`, a power of two."""
    return count.bit_length() - 1


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ConfigurationError(f"memory tile: {message}")
