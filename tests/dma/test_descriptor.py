"""Descriptors: what they mean, and which ones there cannot be."""

import pytest

from hw.dma.descriptor import DescriptorError, DmaDescriptor, DmaLevel


def test_rows_and_tiles():
    descriptor = DmaDescriptor(0x100, 5, DmaLevel(2, 16), DmaLevel(2, -64), (DmaLevel(3, 5), DmaLevel(2, 0x1000)))
    assert descriptor.tile_bytes == 20
    assert list(descriptor.row_addresses(0)) == [0x100, 0x110, 0xC0, 0xD0]
    assert [descriptor.tile_base(tile) for tile in range(7)] == [0x100, 0x105, 0x10A, 0x1100, 0x1105, 0x110A, 0x100]
    assert descriptor.words() == (0x100, 5, 2, 16, 2, 0xFFFFFFC0, 3, 5, 2, 0x1000, 2, 0xFFFFFF80, 3)


@pytest.mark.parametrize("levels, bands, band_bytes, words", [
    ((40, DmaLevel(), DmaLevel()), 3, 16, (16, 16, 2)),
    ((12, DmaLevel(5, -20), DmaLevel()), 3, 24, (2, 0xFFFFFFD8, 3)),
    ((6, DmaLevel(4, 50), DmaLevel(3, 400)), 3, 24, (1, 400, 3)),
])
def test_bands_divide_the_slowest_level(levels, bands, band_bytes, words):
    steps = words[0]
    descriptor = DmaDescriptor(0, *levels, band=steps)
    assert (descriptor.bands, descriptor.band_bytes, descriptor.words()[-3:]) == (bands, band_bytes, words)


@pytest.mark.parametrize("band, message", [
    (41, "a band of 41 is outside 0..40"), (20, "a band of 20 bytes is no multiple of 8"),
])
def test_impossible_bands(band, message):
    with pytest.raises(DescriptorError) as caught:
        DmaDescriptor(0, 40, band=band)
    assert str(caught.value) == message


def test_addresses_wrap():
    assert list(DmaDescriptor(0xFFFFFFF0, 4, DmaLevel(2, 0x20)).row_addresses(0)) == [0xFFFFFFF0, 0x10]


@pytest.mark.parametrize("arguments, message", [
    ((1 << 32, 4), "base address 0x100000000 has more than 32 bits"),
    ((0, 0), "a row of 0 bytes is outside 1..16777215"),
    ((0, 1 << 24), "a row of 16777216 bytes is outside 1..16777215"),
    ((0, 4, DmaLevel(0)), "a count of 0 is outside 1..65535"),
    ((0, 4, DmaLevel(2, 1 << 31)), "a stride of 2147483648 bytes has more than 32 bits"),
])
def test_mistakes(arguments, message):
    with pytest.raises(DescriptorError) as caught:
        DmaDescriptor(*arguments)
    assert str(caught.value) == message
