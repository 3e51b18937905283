"""Affine controllers as isl relations: which events there are, when they happen, and which addresses they have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import islpy as isl
import numpy as np

from hw.memtile import Affine, AffineNest

__all__ = ["Again", "Events", "Expression", "PrefixNest", "centered", "field", "increasing", "merged", "modulo",
           "quotient", "with_turns"]


@dataclass(frozen=True)
class Expression:
    """A quasi-affine function of iterators as isl text, with bounds of its value where they are known."""

    text: str
    low: int
    high: int


def modulo(value: Expression, modulus: int) -> Expression:
    """`value` mod `modulus`, without the operation where it changes nothing."""
    if value.low >= 0 and value.high < modulus:
        return value
    return Expression(f"(({value.text}) mod {modulus})", 0, modulus - 1)


def quotient(value: Expression, divisor: int) -> Expression:
    """`value` divided by `divisor`, rounded down."""
    if divisor == 1:
        return value
    return Expression(f"floor(({value.text})/{divisor})", value.low // divisor, value.high // divisor)


def field(value: Expression, low: int, high: int) -> Expression:
    """Bits `low` to `high` - 1 of `value`, in place."""
    part = quotient(modulo(value, 1 << high), 1 << low)
    scale = 1 << low
    return Expression(f"{scale}*({part.text})" if low else part.text, part.low * scale, part.high * scale)


def merged(nest: AffineNest, widths: Sequence[int]) -> AffineNest:
    """The same events with neighbouring loops made one where together they are one, addresses modulo 2^width.

    A delay line is one homogeneous loop in truth, however its trip count was split to fit the counters.
    """
    return _merged(nest, widths, rings=False)[0]


def with_turns(nest: AffineNest, widths: Sequence[int]) -> tuple[AffineNest, dict[int, int]]:
    """`merged`, also where an address starts anew with every iteration of the outer one of two innermost loops, as that
    of a circular buffer of any size does; the iterations of the inner one, by number of the address."""
    return _merged(nest, widths, rings=True)


def _merged(nest: AffineNest, widths: Sequence[int], rings: bool) -> tuple[AffineNest, dict[int, int]]:
    """`merged`. With `rings` also where an address starts anew with every iteration of the outer one of two innermost
    loops, as those of a circular buffer of any size do; the iterations of the inner one, by number of the address."""
    ranges, time = list(nest.ranges), list(nest.time)
    strides = [list(a.strides) for a in nest.addresses]
    turns: dict[int, int] = {}
    d = 0
    while d + 1 < len(ranges):
        new = dict(turns) if d == 0 else {}
        even = time[d + 1] == ranges[d] * time[d]
        for number, (s, width) in enumerate(zip(strides, widths, strict=True)):
            again = s[d + 1] % (1 << width) == 0
            if number in new:
                even &= again
            elif (s[d + 1] - ranges[d] * s[d]) % (1 << width):
                even &= rings and d == 0 and again
                new[number] = ranges[d]
        if even:
            turns = new if d == 0 else turns
            ranges[d] *= ranges.pop(d + 1)
            for values in (time, *strides):
                values.pop(d + 1)
        else:
            d += 1
    addresses = tuple(Affine(tuple(s), a.offset) for s, a in zip(strides, nest.addresses, strict=True))
    return AffineNest(tuple(ranges), tuple(time), nest.time_offset, addresses), turns


def centered(function: Affine, width: int) -> Affine:
    """The same function modulo 2^`width`, large strides taken as negative ones."""
    half, modulus = 1 << width >> 1, 1 << width
    strides = tuple((s + half) % modulus - half for s in function.strides)
    return Affine(strides, function.offset % modulus)


@dataclass(frozen=True)
class PrefixNest(AffineNest):
    """The first `kept` events of a nest."""

    kept: int = 0

    @property
    def count(self) -> int:
        """Number of events."""
        return self.kept

    @property
    def last_time(self) -> int:
        """Cycle of the last event."""
        rest, time = self.kept - 1, self.time_offset
        for trips, stride in zip(self.ranges, self.time, strict=True):
            rest, index = divmod(rest, trips)
            time += index * stride
        return time

    def evaluate(self, function: Affine) -> np.ndarray:
        """Values of an affine function at these events, in order, as int64."""
        return super().evaluate(function)[: self.kept]


@dataclass(frozen=True)
class Again:
    """A loop around a nest that the nest does not have itself: `count` times, every `period` cycles."""

    name: str
    count: int
    period: int


class Events:
    """The events of one controller as points ``name[outermost, ..., innermost]``.

    `widths`: bits of the controller's address generators. `outer`: loops around the nest, outermost first;
    `conditions` restrict them further. `rings`: circular buffers of any size are one loop.
    """

    def __init__(self, name: str, nest: AffineNest, widths: Sequence[int], outer: Sequence[Again] = (),
                 conditions: Sequence[str] = (), rings: bool = False) -> None:
        self.name = name
        end = nest.last_time if isinstance(nest, PrefixNest) else None
        nest, self._turns = _merged(nest, widths, rings)
        self.nest = nest
        self._widths = widths
        self._iterators = [f"i{d}" for d in range(len(nest.ranges))]
        self._bounds = [f"0 <= {i} < {n}" for i, n in zip(self._iterators, nest.ranges, strict=True)]
        self._bounds += [*(f"0 <= {loop.name} < {loop.count}" for loop in outer), *conditions]
        if end is not None:
            self._bounds.append(f"{self._affine(Affine(nest.time, nest.time_offset)).text} <= {end}")
        self._again = "".join(f" + {loop.period}*{loop.name}" for loop in outer)
        self.point = f"{name}[{', '.join([*(loop.name for loop in outer), *self._iterators[::-1]])}]"

    def relation(self, target: str, *conditions: str) -> isl.Map:
        """{event -> target}, `target` and `conditions` being texts over the iterators."""
        return isl.Map(f"{{ {self.point} -> {target} : {' and '.join([*self._bounds, *conditions])} }}")

    def _affine(self, function: Affine, turn: int | None = None) -> Expression:
        """`turn`: iterations after which the innermost iterator starts anew."""
        iterators, ranges = list(self._iterators), list(self.nest.ranges)
        if turn is not None:
            iterators[0], ranges[0] = f"({iterators[0]} mod {turn})", turn
        terms = [f"{s}*{i}" for s, i in zip(function.strides, iterators, strict=True) if s]
        ends = [s * (n - 1) for s, n in zip(function.strides, ranges, strict=True)]
        low = function.offset + sum(min(0, e) for e in ends)
        high = function.offset + sum(max(0, e) for e in ends)
        return Expression(" + ".join([*terms, str(function.offset)]), low, high)

    @property
    def cycle(self) -> str:
        """The cycle in which an event happens."""
        return self._affine(Affine(self.nest.time, self.nest.time_offset)).text + self._again

    @cached_property
    def times(self) -> isl.Map:
        """{event -> [cycle]}."""
        return self.relation(f"[{self.cycle}]")

    def address(self, number: int, width: int | None = None) -> Expression:
        """Address of generator `number`: its low `width` bits, all by default."""
        width = self._widths[number] if width is None else width
        return modulo(self.unwrapped(number, width), 1 << width)

    def unwrapped(self, number: int, width: int | None = None) -> Expression:
        """An affine function that is congruent to `address`; its bounds are attained."""
        width = self._widths[number] if width is None else width
        return self._affine(centered(self.nest.addresses[number], width), self._turns.get(number))

    def fills(self, number: int, size: int) -> bool:
        """Whether address `number` takes each of 0 .. `size` - 1 once.

        Sums of multiples do that exactly if the strides, sorted, are a mixed radix (de Bruijn).
        """
        if self.unwrapped(number).low != 0:
            return False
        strides = centered(self.nest.addresses[number], self._widths[number]).strides
        radix = 1
        for stride, trips in sorted((abs(s), n) for s, n in zip(strides, self.nest.ranges, strict=True) if n > 1):
            if stride != radix:
                return False
            radix *= trips
        return radix == size

    def __str__(self) -> str:
        return self.name


def increasing(nest: AffineNest) -> bool:
    """Whether every event is at least one cycle after the one before: each step of a loop outruns all inner ones."""
    span = 0
    for trips, stride in zip(nest.ranges, nest.time, strict=True):
        if trips > 1 and stride - span < 1:
            return False
        span += (trips - 1) * stride
    return True
