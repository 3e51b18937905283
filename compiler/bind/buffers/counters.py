"""Loop nests that the counters of the hardware can count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hw.memtile import Affine, AffineNest
from hw.memtile.spec import AffineSpec, ConfigurationError

__all__ = ["MAX_TRIPS", "counted"]

MAX_TRIPS = 1 << AffineSpec.counter_width
"""Most iterations that one counter of a memory tile or a bank counts: 65536."""


def counted(nest: AffineNest) -> AffineNest:
    """The same events without loops of one iteration, two loops that go on evenly as one, and every loop of more than
    `MAX_TRIPS` split into two.

    Raises `ConfigurationError` for a loop whose length is no product of two numbers up to `MAX_TRIPS`.
    """
    nest = _merged(nest.trimmed())
    for level in reversed(range(len(nest.ranges))):
        if nest.ranges[level] > MAX_TRIPS:
            nest = _split(nest, level, _inner_trips(nest.ranges[level]))
    return nest


def _merged(nest: AffineNest) -> AffineNest:
    """`nest` with one loop for every two of which the outer one goes on where the inner one ends."""
    functions = (nest.time, *(a.strides for a in nest.addresses))
    kept = list(range(len(nest.ranges)))
    ranges = list(nest.ranges)
    for outer in reversed(range(1, len(nest.ranges))):
        inner, trips = outer - 1, nest.ranges[outer - 1]
        if ranges[outer] * trips <= MAX_TRIPS and all(f[outer] == f[inner] * trips for f in functions):
            ranges[inner] = ranges[outer] * trips
            kept.remove(outer)

    def pick(values: Sequence[int]) -> tuple[int, ...]:
        return tuple(values[level] for level in kept)

    addresses = tuple(Affine(pick(a.strides), a.offset) for a in nest.addresses)
    return replace(nest, ranges=pick(ranges), time=pick(nest.time), addresses=addresses)


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
