"""Random C functions whose addresses, conditions and ends of loops depend on data."""

from __future__ import annotations

from random import Random

import numpy as np

__all__ = ["address_data", "address_function"]

SIZE = 8
"""Elements of every array; a power of two, so that masks keep indices inside."""


def address_function(draw: Random, name: str) -> str:
    """The text of function `name` over bytes `x` and integers `h` and `t`, which it changes."""
    return _Writer(draw).function(name)


def address_data(seed: int) -> dict[str, np.ndarray]:
    """Its arrays, in the order of its parameters; few values, so that equal addresses are frequent."""
    generator = np.random.default_rng(seed)
    return {"x": generator.choice(np.array([0, 3, 5, 77, 130, 255], np.uint8), SIZE),
            "h": generator.integers(-20, 20, SIZE).astype(np.int32),
            "t": generator.integers(-2000, 2000, SIZE).astype(np.int32)}


class _Writer:
    def __init__(self, draw: Random) -> None:
        self._draw = draw

    def function(self, name: str) -> str:
        nests = "\n".join(self._nest() for _ in range(self._draw.randint(1, 2)))
        head = f"void {name}(const unsigned char x[{SIZE}], int h[{SIZE}], int t[{SIZE}])"
        return f"{head}\n{{\n    int s = 1;\n#pragma scop\n{nests}\n    t[0] += s;\n#pragma endscop\n}}\n"

    def _nest(self) -> str:
        trips = self._draw.randint(2, SIZE)
        inner = self._draw.random() < 0.4
        names = ["i", "j"] if inner else ["i"]
        body = "\n".join(self._statement(names) for _ in range(self._draw.randint(1, 3)))
        if self._draw.random() < 0.25:
            body += f"\nif ({self._value(names)} > 150) break;"
        if inner:
            body = f"for (int j = {self._draw.choice(['0', 'i'])}; j < {self._draw.randint(2, 4)}; j++) {{\n{body}\n}}"
        return f"for (int i = 0; i < {trips}; i++) {{\n{body}\n}}"

    def _statement(self, names: list[str]) -> str:
        target = self._draw.choice(["h", "h", "t", "s"])
        place = target if target == "s" else f"{target}[{self._index(names)}]"
        text = f"{place} {self._draw.choice(['=', '+=', '-=', '^='])} {self._value(names)};"
        if self._draw.random() < 0.3:
            return f"if ({self._value(names)} > {self._draw.randint(-5, 60)}) {text}"
        return text

    def _index(self, names: list[str]) -> str:
        kind, name = self._draw.random(), self._draw.choice(names)
        if kind < 0.3:
            return name if name == "i" else f"({name} + i) & {SIZE - 1}"
        if kind < 0.7:
            return f"x[{name}] & {SIZE - 1}"
        return f"({self._value(names)}) & {SIZE - 1}"

    def _value(self, names: list[str]) -> str:
        kind = self._draw.random()
        if kind < 0.25:
            return f"x[{self._draw.choice(names)}]"
        if kind < 0.4:
            return self._draw.choice([*names, "s", str(self._draw.randint(-9, 9))])
        if kind < 0.6:
            return f"{self._draw.choice('ht')}[x[{self._draw.choice(names)}] & {SIZE - 1}]"
        return f"({self._value(names)} {self._draw.choice('+-^&')} {self._value(names)})"
