"""Random Halide pipelines: stencils, resampling, casts, selects, reductions, Tuples and schedules."""

from __future__ import annotations

from random import Random
from typing import Any

__all__ = ["random_pipeline"]


class _Maker:
    def __init__(self, random: Random, hl: Any) -> None:
        self._random, self._hl = random, hl
        self._x, self._y = hl.Var("x"), hl.Var("y")
        self._types = [hl.UInt(8), hl.Int(8), hl.UInt(16), hl.Int(16), hl.Int(32)]
        self._sources: list[Any] = [hl.ImageParam(random.choice(self._types[:4]), 2, f"in{k}") for k in range(2)]

    def outputs(self) -> Any:
        """The last of some Funcs, each of which uses those before."""
        for number in range(self._random.randint(1, 4)):
            self._sources.append(self._func(f"f{number}"))
        return self._sources[-1]

    def _func(self, name: str) -> Any:
        func = self._hl.Func(name)
        type = self._random.choice(self._types)
        func[self._x, self._y] = self._hl.cast(type, self._value(3))
        kind = self._random.random()
        if kind < 0.3:
            self._update(func, type)
        elif kind < 0.6:
            func.compute_root()
        if kind < 0.6 and self._random.random() < 0.5:
            tiles = [self._hl.Var(n) for n in ("xo", "yo", "xi", "yi")]
            func.tile(self._x, self._y, *tiles, 4, 2, self._hl.TailStrategy.GuardWithIf)
        return func

    def _update(self, func: Any, type: Any) -> None:
        r = self._hl.RDom([(0, self._random.randint(1, 3)), (-1, 2)], "r")
        if self._random.random() < 0.5:
            r.where(r.x >= r.y)
        there = self._read(self._random.choice(self._sources), self._x + r.x, self._y + r.y)
        func[self._x, self._y] += self._hl.cast(type, there)

    def _read(self, source: Any, x: Any, y: Any) -> Any:
        return self._hl.cast(self._hl.Int(32), source[x, y])

    def _value(self, depth: int) -> Any:
        """An int32 in the range of 16 bits, so that nothing overflows."""
        hl, random = self._hl, self._random
        if depth == 0 or random.random() < 0.2:
            return self._small(self._leaf())
        a, b = self._value(depth - 1), self._value(depth - 1)
        return self._small(random.choice([
            lambda: a + b, lambda: a - b, lambda: a * b, lambda: a // random.choice([2, 3, -5, 8]), lambda: a % 7,
            lambda: a // b, lambda: a % b, lambda: hl.min(a, b), lambda: hl.max(a, b), lambda: a & b, lambda: a ^ b,
            lambda: hl.select((a < b) | (self._x % 2 == 0), a, b), lambda: a >> random.randint(0, 5),
            lambda: hl.cast(hl.Int(32), hl.absd(a, b)), lambda: hl.cast(hl.Int(32), hl.saturating_cast(hl.UInt(8), a)),
        ])())

    def _small(self, value: Any) -> Any:
        return self._hl.cast(self._hl.Int(32), self._hl.cast(self._hl.Int(16), value))

    def _leaf(self) -> Any:
        random, hl = self._random, self._hl
        if random.random() < 0.2:
            return hl.i32(random.randint(-50, 50)) + random.choice([self._x, self._y, 0])
        x, y = (self._coordinate(v) for v in (self._x, self._y))
        return self._read(random.choice(self._sources), x, y)

    def _coordinate(self, v: Any) -> Any:
        offset = self._random.randint(-2, 2)
        return self._random.choice([v + offset, v + offset, 2 * v + offset, (v + offset) // 2,
                                    self._hl.clamp(v + offset, 0, 5)])


def random_pipeline(random: Random, hl: Any) -> Any:
    """A Func of two dimensions; `hl`: the package."""
    return _Maker(random, hl).outputs()
