"""Parameters of a vector processor."""

import re

import pytest

from hw.vector_lanes.spec import VectorSpec, VectorSpecError


@pytest.mark.parametrize("lanes, capacity, row, beat", [
    (1, 8192, 4, 4), (4, 32768, 16, 16), (16, 131072, 64, 32), (64, 262144, 256, 32)])
def test_sizes(lanes, capacity, row, beat):
    spec = VectorSpec(lanes)
    assert (spec.capacity, spec.row_bytes, spec.memory_bytes) == (capacity, row, beat)
    assert spec.rows * row == capacity == 1 << spec.address_bits
    assert [spec.wave_elements(size) for size in range(3)] == [row, row // 2, lanes]
    assert spec.mask_elements(1) == 256 * row // 2


@pytest.mark.parametrize("options, message", [
    ({"lanes": 3}, "a vector processor has 1, 2, 4, … 64 lanes, not 3"),
    ({"lanes": 128}, "a vector processor has 1, 2, 4, … 64 lanes, not 128"),
    ({"lanes": 4, "scratchpad_bytes": 16},
     "the scratchpad of 4 lanes must be a power of two from 32 to 1048576 bytes, not 16"),
    ({"scratchpad_bytes": 5000}, "the scratchpad of 4 lanes must be a power of two from 32 to 1048576 bytes, not 5000"),
    ({"queue_depth": 0}, "queue_depth must be a power of two, not 0"),
    ({"fraction_bits": (8, 15, 16)}, "fraction_bits must be three numbers, 1 to 7 for bytes, 1 to 15 for halfwords and "
                                     "1 to 31 for words, not (8, 15, 16)"),
])
def test_errors(options, message):
    with pytest.raises(VectorSpecError, match=f"^{re.escape(message)}$"):
        VectorSpec(**options)
