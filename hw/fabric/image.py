"""The configuration image: how the words of an array configuration lie in memory.

An image is little-endian 32-bit words: magic, count, count pairs (address, data), checksum. The checksum
covers everything before it and depends on the order: starting at 0, each word is added to the checksum
rotated left by one bit, modulo 2^32.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from hw.errors import SluiceError

__all__ = ["MAGIC", "ImageError", "checksum", "configuration_image", "image_length", "parse_image"]

MAGIC = 0x534C4331
"""ASCII "SLC1"."""

FRAME_WORDS = 3
"""Words of an image besides its pairs: magic, count, checksum."""

_MASK = (1 << 32) - 1


class ImageError(SluiceError):
    """A damaged configuration image."""


def checksum(words: Iterable[int]) -> int:
    """The checksum of 32-bit words in the order of the image."""
    total = 0
    for word in words:
        total = ((total << 1 | total >> 31) + word) & _MASK
    return total


def image_length(pairs: int) -> int:
    """Length in 32-bit words (register CONFIG_WORDS) of an image with that many (address, data) pairs."""
    return FRAME_WORDS + 2 * pairs


def configuration_image(pairs: Sequence[tuple[int, int]]) -> bytes:
    """The image of (address, data) pairs, in their order, as bytes for memory."""
    words = [MAGIC, len(pairs), *(word for pair in pairs for word in pair)]
    return struct.pack(f"<{len(words) + 1}I", *words, checksum(words))


def parse_image(image: bytes) -> list[tuple[int, int]]:
    """The (address, data) pairs of an image. Raises `ImageError` where the hardware loader reports an error."""
    if len(image) % 4 or len(image) < 4 * FRAME_WORDS:
        raise ImageError(f"a configuration image of {len(image)} bytes is cut off")
    words = struct.unpack(f"<{len(image) // 4}I", image)
    if words[0] != MAGIC:
        raise ImageError(f"configuration image starts with {words[0]:#010x} instead of {MAGIC:#010x}")
    if image_length(words[1]) != len(words):
        raise ImageError(f"configuration image has {len(words)} words, but its count says {image_length(words[1])}")
    if checksum(words[:-1]) != words[-1]:
        raise ImageError(f"checksum of the configuration image is {checksum(words[:-1]):#010x}, "
                         f"it says {words[-1]:#010x}")
    return list(zip(words[2:-1:2], words[3:-1:2], strict=True))
