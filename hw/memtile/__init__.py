"""Physical unified buffers: memory tiles with affine controllers. Seed 001, section 6.1."""

from hw.memtile.addressed_config import AddressedConfig, AddressedInput, AddressedOutput
from hw.memtile.affine import Affine, AffineNest, decode_nest, encode_nest
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
from hw.memtile.spec import AffineSpec, ConfigurationError, MemTileSpec

__all__ = [
    "AddressedConfig",
    "AddressedInput",
    "AddressedOutput",
    "Affine",
    "AffineNest",
    "AffineSpec",
    "BuffetConfig",
    "ConfigurationError",
    "DualPortConfig",
    "DualPortInput",
    "DualPortOutput",
    "MemTileSpec",
    "PubConfig",
    "PubInput",
    "PubOutput",
    "decode_config",
    "decode_nest",
    "encode_nest",
]
