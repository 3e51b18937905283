"""CRC-32 of IEEE 802.3."""

from __future__ import annotations

from amaranth.hdl import Const, Mux, Value

__all__ = ["CRC32_INITIAL", "crc32_step"]

_POLYNOMIAL = 0xEDB88320
CRC32_INITIAL = 0xFFFFFFFF
"""The register before the first byte. The checksum is its complement after the last one."""


def crc32_step(crc: Value, byte: Value) -> Value:
    """The 32-bit register `crc` after one more byte, least significant bit first."""
    for bit in range(8):
        feedback = crc[0] ^ byte[bit]
        crc = (crc >> 1) ^ Mux(feedback, Const(_POLYNOMIAL, 32), 0)
        crc = crc[:32]
    return crc
