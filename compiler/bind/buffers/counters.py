"""Loop nests that the counters of the hardware can count."""

from __future__ import annotations

from dataclasses import replace

from hw.memtile import Affine, AffineNest
from hw.memtile.spec import AffineSpec, ConfigurationError

__all__ = ["MAX_TRIPS", "counted"]

MAX_TRIPS = 1 << AffineSpec.counter_width
"""Most iterations that one counter of a memory tile or a bank counts: 65536."""


def counted(nest: AffineNest) -> AffineNest:
    """The same events without loops of one iteration, and every loop of more than `MAX_TRIPS` split into two.

    Raises `ConfigurationError` for a loop whose length is no product of two numbers up to `MAX_TRIPS`.
    """
    nest = nest.trimmed()
    for level in reversed(range(len(nest.ranges))):
        if nest.ranges[level] > MAX_TRIPS:
            nest = _split(nest, level, _inner_trips(nest.ranges[level]))
    return nest


def _inner_trips(trips: int) -> int:
    """The largest divisor of `trips` that a counter counts."""
    divisor = next(n for n in range(MAX_TRIPS, 0, -1) if trips % n == 0)
    if trips // divisor > MAX_TRIPS:
        raise ConfigurationError(f"a loop of {trips} iterations is too long for one counter, which counts to "
                                 f"{MAX_TRIPS}, and {trips} is no product of two numbers up to that")
    return divisor


def _split(nest: AffineNest, level: int, inner: int) -> AffineNest:
    """`nest` with loop `level` as two: `inner` iterations, and as many of those as it takes."""

    def strides(values: tuple[int, ...]) -> tuple[int, ...]:
        return (*values[: level + 1], values[level] * inner, *values[level + 1:])

    ranges = (*nest.ranges[:level], inner, nest.ranges[level] // inner, *nest.ranges[level + 1:])
    addresses = tuple(Affine(strides(a.strides), a.offset) for a in nest.addresses)
    return replace(nest, ranges=ranges, time=strides(nest.time), addresses=addresses)
