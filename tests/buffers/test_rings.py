"""Circular regions of any size: addresses as brute force has them, and no place more than the lag needs."""

from __future__ import annotations

import islpy as isl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.bind.buffers.circular import block_lifetimes
from compiler.bind.buffers.counters import MAX_TRIPS
from compiler.bind.buffers.rings import ring, smallest_region
from compiler.bind.buffers.sequences import delay_traffic
from compiler.bind.cgra.validate.nests import Events
from hw.memtile import Affine, AffineNest


@settings(max_examples=60, deadline=None)
@given(inner=st.integers(1, 40), outer=st.integers(1, 9), step=st.integers(1, 4), start=st.integers(0, 9),
       region=st.integers(1, 50), base=st.integers(0, 30))
def test_an_address_goes_round(inner: int, outer: int, step: int, start: int, region: int, base: int) -> None:
    line = AffineNest((inner, outer), (step, step * inner), start, (Affine((1, inner)), Affine((1, inner))))
    turned = ring(line, 1, base, region)
    count = turned.count
    assert line.count <= count < line.count + region
    assert np.array_equal(turned.times(), start + step * np.arange(count))
    assert np.array_equal(turned.evaluate(turned.addresses[0]), np.arange(count))
    assert np.array_equal(turned.evaluate(turned.addresses[1]), base + np.arange(count) % region)


@settings(max_examples=30, deadline=None)
@given(distance=st.integers(2, 900), packing=st.sampled_from((1, 4)), late=st.integers(0, 60))
def test_no_region_is_larger_than_it_must_be(distance: int, packing: int, late: int) -> None:
    traffic = delay_traffic("line", 0, 10_000, {"tap": distance}, packing)
    life = block_lifetimes(traffic, traffic.reads[0])
    region = smallest_region([(life, late)], 1024)
    assert life.maximum_shift(region) >= late
    assert region == 1 or life.maximum_shift(region - 1) < late
    assert region * packing < distance + late + 2 * packing


def test_long_lines_have_turns_that_counters_count() -> None:
    line = AffineNest((4096, 4096), (1, 4096), 0, (Affine((1, 4096)),))
    turned = ring(line, 0, 0, 70)
    assert max(turned.ranges) <= MAX_TRIPS
    assert turned.count >= line.count


@pytest.mark.parametrize("address", [Affine((1, 0)), Affine((2, 0), 5)])
def test_validation_sees_one_loop_in_a_ring(address: Affine) -> None:
    """Two loops of a circular buffer are one homogeneous loop with a quotient; anything else stays two."""
    nest = AffineNest((7, 11), (3, 21), 2, (address,))
    assert Events("e", nest, (16,), rings=True).nest.ranges == (77,)
    assert Events("e", nest, (16,)).nest.ranges == (7, 11)
    sparse = AffineNest((7, 11), (3, 22), 2, (address,))
    assert Events("e", sparse, (16,), rings=True).nest.ranges == (7, 11)
    shown = Events("e", nest, (16,), rings=True)
    found = shown.relation(f"[{shown.address(0).text}]")
    for k in (0, 6, 7, 13, 76):
        place = address.offset + address.strides[0] * (k % 7)
        assert found.intersect_domain(isl.Set(f"{{ e[{k}] }}")).range().is_equal(isl.Set(f"{{ [{place}] }}"))
