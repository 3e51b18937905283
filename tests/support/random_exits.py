"""Random C functions around a loop that ends when the data say so, alone or inside others, which works on arrays at
places that depend on data."""

from __future__ import annotations

from random import Random

import numpy as np

__all__ = ["exit_data", "exit_function", "inner_exit_function"]

SIZE = 8
"""Elements of every array; a power of two, so that masks keep indices inside."""


def exit_function(draw: Random, name: str) -> str:
    """The text of function `name` over bytes `x` and integers `h`, which it reads, and `y` and `r`, which it writes."""
    return _Writer(draw).function(name)


def inner_exit_function(draw: Random, name: str) -> str:
    """The text of such a function whose loop is inside one or two others."""
    return _Writer(draw, ("i", "j")[:draw.choice([1, 1, 1, 2])]).function(name)


def exit_data(seed: int) -> dict[str, np.ndarray]:
    """Its arrays, in the order of its parameters."""
    generator = np.random.default_rng(seed)
    return {"x": generator.choice(np.array([0, 1, 2, 77, 255], np.uint8), SIZE),
            "h": generator.integers(-9, 9, SIZE).astype(np.int32),
            "y": generator.integers(-99, 99, SIZE).astype(np.int32), "r": np.zeros(3, np.int32)}


class _Writer:
    def __init__(self, draw: Random, around: tuple[str, ...] = ()) -> None:
        self._draw, self._around = draw, around

    def function(self, name: str) -> str:
        before = "" if self._draw.random() < 0.5 else f"for (int k = 0; k < {SIZE}; k++) y[k] = h[k];\n"
        after = "" if self._draw.random() < 0.5 else f"for (int k = 0; k < {SIZE}; k++) r[2] += y[k];\n"
        start = [f"{variable} = {self._draw.randint(-3, 20)}" for variable in "abn"]
        return (f"void {name}(const unsigned char x[{SIZE}], const int h[{SIZE}], int y[{SIZE}], int r[3])\n{{\n"
                f"    int {', '.join(start)};\n#pragma scop\nr[2] = 0;\n{before}{self._nest()}\n"
                f"r[0] = a; r[1] = {_Writer(self._draw)._value(2)};\n{after}#pragma endscop\n}}\n")

    def _nest(self) -> str:
        """The loop inside those around it, with what each of their iterations does before and after it."""
        if not self._around:
            return self._loop()
        parts = [f"a = {self._value(2)};"] if self._draw.random() < 0.8 else []
        parts += [f"b = {self._value(1)};"] if self._draw.random() < 0.5 else []
        after = ["y[i] = a;", "y[i] = a - b;", "r[2] += a;", "b ^= a;", "y[i] += n;"]
        parts += [self._loop(), self._draw.choice(after)]
        heads = [f"for (int {k} = 0; {k} < {self._draw.randint(2, 6)}; {k}++) {{" for k in self._around]
        return "\n".join([*heads, *parts, "}" * len(heads)])

    def _loop(self) -> str:
        most = self._draw.choice([12, 24, 40, 64])
        body = "\n".join(self._statement() for _ in range(self._draw.randint(1, 4)))
        if self._draw.random() < 0.4:
            body = f"if ({self._condition()}) break;\n{body}"
        pragma = f"#pragma sluice max_trips({most})\n"
        if self._draw.random() < 0.5:
            return f"n = 0;\n{pragma}while (n < {most} && {self._condition()}) {{\n{body}\nn++;\n}}"
        return f"{pragma}for (int k = 0; k < {most} && {self._condition()}; k++) {{\n{body}\nn += k;\n}}"

    def _statement(self) -> str:
        target = self._draw.choice(["a", "b", "a", f"y[({self._value(1)}) & {SIZE - 1}]"])
        text = f"{target} {self._draw.choice(['=', '+=', '-=', '^='])} {self._value(2)};"
        return f"if ({self._condition()}) {text}" if self._draw.random() < 0.4 else text

    def _condition(self) -> str:
        return f"{self._value(1)} {self._draw.choice(['>', '<', '!=', '>='])} {self._draw.randint(-4, 60)}"

    def _value(self, deep: int) -> str:
        kind = self._draw.random()
        if not deep or kind < 0.35:
            return self._draw.choice(["a", "b", "n", *self._around, str(self._draw.randint(1, 9))])
        if kind < 0.65:
            return f"{self._draw.choice('xxhhy')}[({self._value(deep - 1)}) & {SIZE - 1}]"
        return f"({self._value(deep - 1)} {self._draw.choice('+-^&')} {self._value(deep - 1)})"
