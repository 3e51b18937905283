"""Random programs of parallel arrays: types, shapes, transforms and reductions mixed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from compiler.frontend import parallel_array as pa

TYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32")
BINARY: tuple[Callable[[pa.Array, pa.Array], pa.Array], ...] = (
    lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a & b, lambda a, b: a | b,
    lambda a, b: a ^ b, pa.minimum, pa.maximum, pa.abs_difference, lambda a, b: a < b, lambda a, b: a <= b,
    lambda a, b: a == b, lambda a, b: a != b, lambda a, b: a > b, lambda a, b: a >= b,
    lambda a, b: pa.where(a > b, a, b), lambda a, b: pa.where(a & 1, a, b), lambda a, b: abs(a - b),
)


class RandomProgram:
    """Grows expressions over a few inputs; `rng` decides everything. `functions`: with numpy's functions along axes,
    products, and assignments to sections."""

    def __init__(self, rng: np.random.Generator, functions: bool = False) -> None:
        self.rng = rng
        self.functions = functions
        self.shape = self._shape()
        self.pool = [self._input(i) for i in range(int(rng.integers(1, 4)))]

    def _shape(self) -> tuple[int, ...]:
        """Of one to three dimensions; now and then a long one, of which programs make several tiles."""
        rank = int(self.rng.choice([1, 1, 2, 2, 3]))
        shape = [int(n) for n in self.rng.integers(3, (14, 14, 7)[rank - 1], rank)]
        if self.rng.random() < 0.2:
            shape[int(self.rng.integers(rank))] *= (50, 7, 5)[rank - 1]
        return tuple(shape)

    def _input(self, number: int) -> pa.Array:
        kind = self.pick(TYPES)
        limits = np.iinfo(kind)
        if self.rng.random() < 0.3:
            return pa.input(f"x{number}", self.shape, kind, low=0, high=min(limits.max, 9))
        return pa.input(f"x{number}", self.shape, kind)

    def pick(self, choices):
        """One of `choices`."""
        return choices[int(self.rng.integers(len(choices)))]

    def grow(self, steps: int) -> pa.ArrayProgram:
        """A program after so many random steps; its outputs are the last value and perhaps others."""
        for _ in range(steps):
            value = self._step()
            if value is not None:
                self.pool.append(value)
        outputs = {f"out{i}": value for i, value in enumerate(self.pool[-1 - int(self.rng.integers(0, 2)):])}
        return pa.program("random", **outputs)

    def _step(self) -> pa.Array | None:
        steps = [self._binary, self._binary, self._binary, self._scalar, self._unary, self._transform,
                 self._transform, self._reduce, self._stencil, self._take]
        more = [self._function, self._product, self._assignment] * 2
        return self.pick([*steps, *more] if self.functions else steps)()

    def _function(self) -> pa.Array:
        """A function along an axis, a triangle, or another shape."""
        a = self._any()
        if a.ndim == 0 or a.dtype == np.bool_:
            return a
        axis = int(self.rng.integers(a.ndim))
        choices = [lambda: np.cumsum(a, axis=axis), lambda: np.maximum.accumulate(a, axis=axis),
                   lambda: np.argmax(a, axis=axis), lambda: np.argmin(a), lambda: np.count_nonzero(a, axis=axis),
                   lambda: np.prod(a, axis=axis), lambda: np.ravel(a), lambda: np.roll(a, 3)]
        if a.ndim > 1:
            choices += [lambda: np.tril(a, 1), lambda: np.triu(a), lambda: np.diagonal(a) if a.ndim == 2 else a]
        if a.shape[axis] <= 8:
            choices.append(lambda: np.sort(a, axis=axis))
        return self.pick(choices)()

    def _product(self) -> pa.Array:
        a, b = self._any().astype("int32"), self._any().astype("int32")
        if a.ndim == 0 or b.ndim != 2 or a.size * b.shape[-1] > 2000:
            return a * 3
        common = min(a.shape[-1], b.shape[0])
        return a[..., :common] @ b[:common]

    def _assignment(self) -> pa.Array:
        a, b = self._fit(self._any(), self._any())
        if a.ndim == 0:
            return a
        changed = a[...]
        first = int(self.rng.integers(a.shape[0]))
        changed[self.pick([first, slice(first, None), slice(None, None, -1)])] = self.pick([7, b[first]]) \
            if b.ndim == a.ndim else 1
        return changed

    def _any(self) -> pa.Array:
        return self.pick(self.pool)

    def _binary(self) -> pa.Array | None:
        a, b = self._fit(self._any(), self._any())
        try:
            return self.pick(BINARY)(a, b)
        except pa.ArrayError as error:
            assert "no common type" in str(error)
            return self.pick(BINARY)(a.astype("int32"), b.astype("int32"))

    def _fit(self, a: pa.Array, b: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Both cut to what they have in common, or one spread over the other."""
        if a.shape == b.shape:
            return a, b
        if a.ndim != b.ndim:
            a, b = (a, b) if a.ndim > b.ndim else (b, a)
            if b.ndim == 0:
                return a, b
            if (a.ndim, b.ndim) == (2, 1) and self.rng.random() < 0.5:
                rows = min(a.shape[0], b.shape[0])
                return a[:rows], b[:rows, None]
            common = tuple(slice(0, min(m, n)) for m, n in zip(a.shape[-b.ndim:], b.shape, strict=True))
            return a[(..., *common)], b[common]
        cut = tuple(slice(0, min(m, n)) for m, n in zip(a.shape, b.shape, strict=True))
        return a[cut], b[cut]

    def _scalar(self) -> pa.Array:
        a = self._any()
        low, high = (0, 1) if a.dtype == np.bool_ else (np.iinfo(a.dtype).min, np.iinfo(a.dtype).max)
        number = int(self.rng.integers(max(low, -9), min(high, 300) + 1))
        a = a.astype("uint8") if a.dtype == np.bool_ else a
        kind = int(self.rng.integers(6))
        if kind == 0:
            return a >> abs(number) % 9
        if kind == 1:
            return a << abs(number) % 9
        if kind == 2:
            return a // (abs(number) % 100 + 1)
        if kind == 3:
            return a % (abs(number) % 100 + 1)
        return self.pick(BINARY)(a, number)

    def _unary(self) -> pa.Array:
        a = self._any()
        return self.pick((lambda: a.astype(self.pick(TYPES)), lambda: abs(a), lambda: ~a,
                          lambda: a.astype(self.pick(TYPES)), lambda: -a.astype("int16")))()

    def _transform(self) -> pa.Array:
        a = self._any()
        if a.ndim == 0:
            return a
        amounts = tuple(int(n) for n in self.rng.integers(-3, 4, a.ndim))
        boundary = self.pick((pa.WRAP, pa.CLAMP, pa.default(int(self.rng.integers(0, 2)))))
        choices = [lambda: pa.shift(a, amounts, boundary), lambda: pa.rotate(a, amounts), lambda: a.T,
                   lambda: a[::-1], lambda: a[1:] if a.shape[0] > 1 else a, lambda: a[::2],
                   lambda: a[..., :-1] if a.shape[-1] > 1 else a]
        if a.dtype != np.bool_:
            choices.append(lambda: pa.interleave([a, a + 1]))
        if a.size < 200:
            choices.append(lambda: pa.stretch(a, tuple(int(n) for n in self.rng.integers(1, 3, a.ndim))))
        return self.pick(choices)()

    def _reduce(self) -> pa.Array:
        a = self._any()
        if a.ndim == 0:
            return a
        if self.rng.random() < 0.15:
            return a[tuple(int(self.rng.integers(n)) for n in a.shape)]
        axis = self.pick((None, 0, a.ndim - 1))
        return self.pick((a.sum, a.min, a.max, a.any, a.all))(axis=axis, keepdims=bool(self.rng.random() < 0.3))

    def _stencil(self) -> pa.Array:
        a = self._any()
        if a.ndim == 0 or a.shape[-1] < 3:
            return a
        windows = pa.sliding_window_view(a, 3, axis=-1)
        return self.pick((lambda: windows.sum(axis=-1), lambda: windows.max(axis=-1),
                          lambda: (windows * np.array([1, 2, 3], np.int8)).sum(axis=-1) if a.dtype != np.uint32
                          else windows.min(axis=-1)))()

    def _take(self) -> pa.Array:
        """Entries of a table that is an array of the program's or part of the program."""
        index = self._any()
        index = index.astype("uint8") if index.dtype == np.bool_ else index
        tables = [a for a in self.pool if a.ndim == 1]
        if tables and self.rng.random() < 0.6:
            return pa.take(self.pick(tables), index, mode=self.pick(("clip", "wrap")))
        limits = np.iinfo(self.pick(TYPES))
        table = self.rng.integers(limits.min, limits.max, int(self.rng.integers(2, 40)), endpoint=True)
        if self.rng.random() < 0.3 and index.dtype == np.uint8:
            return pa.array(np.resize(table, 256), f"table{len(self.pool)}", limits.dtype)[index]
        return pa.take(table.astype(limits.dtype), index, mode=self.pick(("clip", "wrap")))


def random_inputs(program: pa.ArrayProgram, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Data over the whole range of every input, its ends included."""
    found = {}
    for name, node in program.inputs.items():
        data = rng.integers(node.low, node.high, node.shape, endpoint=True)
        edges = rng.random(node.shape)
        data = np.where(edges < 0.1, node.low, np.where(edges > 0.9, node.high, data))
        found[name] = data.astype(node.dtype)
    return found
