"""Physical unified buffers: memory tiles with affine controllers. Liu 2023, section 6.1.

Hardware: `WideFetchBuffer` (one SRAM port, several words an access), `DualPortBuffer`, `MultiPortBuffer`,
`AddressedBuffer` (addresses from outside) and `Buffet` (ready-valid streams), each with the ports of
`MemCoreSignature` or its own. `MemTileSpec` has their sizes; `PubConfig`, `DualPortConfig`, `AddressedConfig` and
`BuffetConfig` encode what they do as configuration words; `simulate` is the software model of the first two.
"""

from hw.memtile.addressed import AddressedBuffer
from hw.memtile.addressed_config import AddressedConfig, AddressedInput, AddressedOutput
from hw.memtile.affine import Affine, AffineNest, decode_nest, encode_nest
from hw.memtile.buffet import BUFFET_LATENCY, Buffet
from hw.memtile.buffet_config import BuffetConfig
from hw.memtile.config import (
    DualPortConfig,
    DualPortInput,
    DualPortOutput,
    PubConfig,
    PubInput,
    PubOutput,
    decode_config,
)
from hw.memtile.controller import AffineController
from hw.memtile.core import MemCore, MemCoreSignature
from hw.memtile.dual_port import DualPortBuffer
from hw.memtile.model import Trace, simulate
from hw.memtile.multi_port import MultiPortBuffer
from hw.memtile.spec import AffineSpec, ConfigurationError, MemKind, MemTileSpec
from hw.memtile.wide_fetch import WideFetchBuffer

__all__ = [
    "BUFFET_LATENCY",
    "AddressedBuffer",
    "AddressedConfig",
    "AddressedInput",
    "AddressedOutput",
    "Affine",
    "AffineController",
    "AffineNest",
    "AffineSpec",
    "Buffet",
    "BuffetConfig",
    "ConfigurationError",
    "DualPortBuffer",
    "DualPortConfig",
    "DualPortInput",
    "DualPortOutput",
    "MemCore",
    "MemCoreSignature",
    "MemKind",
    "MemTileSpec",
    "MultiPortBuffer",
    "PubConfig",
    "PubInput",
    "PubOutput",
    "Trace",
    "WideFetchBuffer",
    "decode_config",
    "decode_nest",
    "encode_nest",
    "simulate",
]
