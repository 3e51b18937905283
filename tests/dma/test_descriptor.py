"""Descriptors: what they mean, and which ones there cannot be."""

import pytest

from hw.dma.descriptor import DescriptorError, DmaDescriptor, DmaLevel


def test_rows_and_tiles():
    descriptor = DmaDescriptor(0x100, 5, DmaLevel(2, 16), DmaLevel(2, -64), (DmaLevel(3, 5), DmaLevel(2, 0x1000)))
    assert descriptor.tile_bytes == 20
    assert list(descriptor.row_addresses(0)) == [0x100, 0x110, 0xC0, 0xD0]
    assert [descriptor.tile_base(tile) for tile in range(7)] == [0x100, 0x105, 0x10A, 0x1100, 0x1105, 0x110A, 0x100]
    assert descriptor.words() == (0x100, 5, 2, 16, 2, 0xFFFFFFC0, 3, 5, 2, 0x1000)


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
