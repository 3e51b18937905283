"""Circular regions of any size: where an address starts anew is a loop of its controller's nest.

Memory tiles wrap addresses with a mask, which makes regions powers of two. A delay line has one event every so many
cycles, so its nest may have any loops: an inner one around the region, an outer one that repeats it. This is the
smallest legal modulus of Liu 2023, section 5.6, without any hardware for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.bind.buffers.circular import Lifetimes
from compiler.bind.buffers.counters import MAX_TRIPS, counted
from hw.memtile import Affine, AffineNest

__all__ = ["ring", "smallest_region"]


def smallest_region(reads: Sequence[tuple[Lifetimes, int]], enough: int) -> int:
    """The fewest blocks with which every read may be as late as it is, given with its lifetimes; `enough` do."""
    low, high = 1, enough
    while low < high:
        middle = (low + high) // 2
        if all(life.maximum_shift(middle) >= late for life, late in reads):
            high = middle
        else:
            low = middle + 1
    return high


def ring(nest: AffineNest, number: int, base: int, region: int) -> AffineNest:
    """The events of `nest`, which are evenly spaced, with address `number` going round the `region` places from `base`
    on. The last turn is a whole one."""
    turns = -(-nest.count // region)
    if turns > MAX_TRIPS:
        turns = -(-turns // MAX_TRIPS) * MAX_TRIPS
    step = nest.time[0]

    def around(address: Affine, turn: int) -> Affine:
        return Affine((address.strides[0], turn), address.offset)

    addresses = [around(address, address.strides[0] * region) for address in nest.addresses]
    addresses[number] = Affine((1, 0), base)
    return counted(AffineNest((region, turns), (step, step * region), nest.time_offset, tuple(addresses)))
