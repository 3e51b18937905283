"""Random Halide pipelines: stencils, resampling, casts, selects, reductions, updates, Tuples, boundary conditions,
tables, and schedules."""

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
        """A Func of one component; Tuples are read by one."""
        kind = self._random.random()
        if kind < 0.1:
            return self._of_tuple(name)
        if kind < 0.2:
            return self._bounded()
        return self._plain(name)

    def _plain(self, name: str) -> Any:
        func = self._hl.Func(name)
        type = self._random.choice(self._types)
        func[self._x, self._y] = self._hl.cast(type, self._value(3))
        kind = self._random.random()
        if kind < 0.3:
            self._update(func, type)
        elif kind < 0.6:
            func.compute_root()
        self._schedule(func)
        return func

    def _of_tuple(self, name: str) -> Any:
        hl = self._hl
        pair, func = hl.Func(f"{name}_pair"), hl.Func(name)
        pair[self._x, self._y] = (self._value(2), self._value(2))
        if self._random.random() < 0.5:
            r = hl.RDom([(0, self._random.randint(1, 3))], "k")
            one, other = (pair[self._x, self._y][k] for k in range(2))
            pair[self._x, self._y] = (self._small(other + r.x), self._small(one - other))
        first, second = (pair[self._x, self._y][k] for k in range(2))
        func[self._x, self._y] = hl.select(first < second, first, second)
        return func

    def _bounded(self) -> Any:
        """A source with a boundary condition."""
        conditions = self._hl.BoundaryConditions
        bounds = [(0, 6), (0, 5)]
        source = self._random.choice(self._sources)
        if self._random.random() < 0.3:
            return conditions.constant_exterior(source, self._hl.cast(source.type(), 3), bounds)
        return getattr(conditions, self._random.choice(
            ["repeat_edge", "mirror_image", "mirror_interior", "repeat_image"]))(source, bounds)

    def _update(self, func: Any, type: Any) -> None:
        hl, random = self._hl, self._random
        r = hl.RDom([(0, random.randint(1, 3)), (-1, 2)], "r")
        if random.random() < 0.5:
            r.where(r.x >= r.y)
        there = hl.cast(type, self._read(random.choice(self._sources), self._x + r.x, self._y + r.y))
        kind = random.random()
        if kind < 0.6:
            func[self._x, self._y] += there
        elif kind < 0.8:
            func[self._x, self._y] = hl.max(func[self._x, self._y], there)
        else:
            func[self._x, 0] = func[self._x, 1] + hl.cast(type, self._read(self._sources[0], self._x, 0))
            return
        if random.random() < 0.3:
            func.update().unroll(r.x)
        if random.random() < 0.2:
            func.update().vectorize(self._x, 2, hl.TailStrategy.GuardWithIf)

    def _schedule(self, func: Any) -> None:
        hl, random = self._hl, self._random
        guard = hl.TailStrategy.GuardWithIf
        kind = random.random()
        if kind < 0.6:
            func.compute_root()
        if kind < 0.25:
            tiles = [hl.Var(n) for n in ("xo", "yo", "xi", "yi")]
            func.tile(self._x, self._y, *tiles, 4, 2, guard)
            if random.random() < 0.5:
                func.unroll(tiles[3])
        elif kind < 0.4:
            func.vectorize(self._x, random.choice([2, 4]), guard)
        elif kind < 0.5:
            func.reorder(self._y, self._x)
        elif kind < 0.6:
            outer, inner = hl.Var("yo"), hl.Var("yi")
            func.split(self._y, outer, inner, 2, guard).parallel(outer)

    def _read(self, source: Any, x: Any, y: Any) -> Any:
        return self._hl.cast(self._hl.Int(32), source[x, y])

    def _value(self, depth: int) -> Any:
        """An int32 in the range of 16 bits, so that nothing overflows."""
        random = self._random
        if depth == 0 or random.random() < 0.2:
            return self._small(self._leaf())
        if depth > 1 and random.random() < 0.1:
            return self._small(self._reduction())
        a, b = self._value(depth - 1), self._value(depth - 1)
        return self._small(random.choice([*self._arithmetic(a, b), *self._functions(a, b)])())

    def _arithmetic(self, a: Any, b: Any) -> list[Any]:
        hl, random = self._hl, self._random
        return [
            lambda: a + b, lambda: a - b, lambda: a * b, lambda: a // random.choice([2, 3, -5, 8]), lambda: a % 7,
            lambda: a // b, lambda: a % b, lambda: hl.min(a, b), lambda: hl.max(a, b), lambda: a & b, lambda: a ^ b,
            lambda: hl.select((a < b) | (self._x % 2 == 0), a, b), lambda: a >> random.randint(0, 5),
            lambda: a << random.randint(0, 5), lambda: a >> (b & 7),
        ]

    def _functions(self, a: Any, b: Any) -> list[Any]:
        hl, random = self._hl, self._random
        narrow = random.choice(self._types[:4])
        c, d = hl.cast(narrow, a), hl.cast(narrow, b)
        whole = [
            lambda: hl.absd(a, b), lambda: hl.absd(c, d), lambda: hl.saturating_cast(narrow, a), lambda: hl.abs(a),
            lambda: hl.popcount(hl.cast(hl.UInt(16), c)), lambda: hl.saturating_add(c, d),
            lambda: hl.saturating_sub(c, d),
            lambda: hl.halving_add(c, d), lambda: hl.rounding_halving_add(c, d), lambda: hl.widening_mul(c, d),
            lambda: hl.rounding_shift_right(c, hl.cast(hl.UInt(c.type().bits()), random.randint(0, 6))),
            lambda: hl.lerp(c, d, hl.cast(hl.UInt(8), b)), lambda: hl.mux(a & 3, [a, b, a + 1, b - 1]),
            lambda: hl.clamp(a, -20, 20), lambda: hl.select(a < b, c, d),
            # Halide joins conversions of a floating-point number, and means nothing where it leaves the last type.
            lambda: hl.cast(hl.Int(32), hl.floor(hl.cast(hl.Float(32), a) / 4)) & 0xffff,
        ]
        return [lambda make=make: hl.cast(hl.Int(32), make()) for make in whole]

    def _reduction(self) -> Any:
        """One of Halide's own reductions, inline."""
        hl, random = self._hl, self._random
        r = hl.RDom([(0, random.randint(1, 3)), (0, 2)], "q")
        there = self._read(random.choice(self._sources), self._x + r.x, self._y + r.y)
        return random.choice([hl.sum, hl.maximum, hl.minimum])(there)

    def _small(self, value: Any) -> Any:
        return self._hl.cast(self._hl.Int(32), self._hl.cast(self._hl.Int(16), value))

    def _leaf(self) -> Any:
        random, hl = self._random, self._hl
        if random.random() < 0.2:
            return hl.i32(random.randint(-50, 50)) + random.choice([self._x, self._y, 0])
        source = random.choice(self._sources)
        if random.random() < 0.05:
            return self._read(source, hl.clamp(self._read(self._sources[0], self._x, self._y), 0, 4), self._y)
        return self._read(source, *(self._coordinate(v) for v in (self._x, self._y)))

    def _coordinate(self, v: Any) -> Any:
        offset = self._random.randint(-2, 2)
        return self._random.choice([v + offset, v + offset, 2 * v + offset, (v + offset) // 2,
                                    self._hl.clamp(v + offset, 0, 5)])


def random_pipeline(random: Random, hl: Any) -> Any:
    """A Func of two dimensions; `hl`: the package."""
    return _Maker(random, hl).outputs()
