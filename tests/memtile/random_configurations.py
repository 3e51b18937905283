"""Random affine nests for the tests."""

from __future__ import annotations

from hypothesis import strategies as st

from hw.memtile import Affine, AffineNest, AffineSpec
from hw.memtile.affine import strides


@st.composite
def nests(draw: st.DrawFn, spec: AffineSpec, most: int = 64, wait: int = 6, start: int = 12) -> AffineNest:
    """A nest with at most `most` events, at most `wait` cycles apart and the first before cycle `start`."""
    ranges: list[int] = []
    left = most
    for _ in range(draw(st.integers(1, spec.dims))):
        ranges.append(draw(st.integers(1, min(left, 1 << spec.counter_width, 9))))
        left //= ranges[-1]
    depth = len(ranges)
    steps = draw(st.lists(st.integers(1, min(wait, 1 << spec.time_width)), min_size=depth, max_size=depth))
    offset = draw(st.integers(0, min(start, (1 << spec.time_width) - 1)))
    addresses = tuple(
        Affine(tuple(draw(st.lists(st.integers(-99, 99), min_size=depth, max_size=depth))), draw(st.integers(-9, 99)))
        for _ in spec.address_widths
    )
    return AffineNest(tuple(ranges), strides(ranges, steps), offset, addresses)
