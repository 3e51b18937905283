"""Random C functions of loops whose heads depend on data and say themselves how many trips there are at most, with side
effects inside of expressions. All loops end, whatever the data are."""

from __future__ import annotations

from random import Random

__all__ = ["loop_head_function"]

SIZE = 8
"""Elements of every array; a power of two, so that masks keep indices inside."""

_UP = ("k++", "k += 2", "k += (x[i] & 3) + 1", "k += i + 1", "k = k + 3")
_MULTIPLIED = ("k <<= 1", "k *= 3", "k = k * 2")
_DOWN = ("k--", "k -= 3", "k -= (x[i] & 1) + 1", "k = k - 2")
_DIVIDED = ("k >>= 1", "k /= 2", "k = k / 3")


def loop_head_function(draw: Random, name: str) -> str:
    """The text of function `name` over bytes `x` and integers `h`, which it reads, and `y` and `r`, which it writes."""
    return _Writer(draw).function(name)


class _Writer:
    def __init__(self, draw: Random) -> None:
        self._draw = draw

    def function(self, name: str) -> str:
        around = self._draw.randint(2, 6)
        body = "\n".join(self._statement() for _ in range(self._draw.randint(1, 3)))
        return (f"static const unsigned char {name}_table[4] = {{3, 9, 12, 1}};\n"
                f"void {name}(const unsigned char x[{SIZE}], const int h[{SIZE}], int y[{SIZE}], int r[2])\n{{\n"
                f"#pragma scop\nint s = 0, t = 0, n = 0;\nint b[{SIZE}] = {{0}};\n"
                f"for (int i = 0; i < {around}; i++) {{\nint k = 1;\n{self._loop(name)}\n{body}\n}}\n"
                f"{self._last()}\n"
                f"r[0] = s; r[1] = t + n;\n#pragma endscop\n}}\n")

    def _last(self) -> str:
        return f"for (int j = 0; j < {SIZE}; j++) y[j] = b[j] + h[j];"

    def _loop(self, name: str) -> str:
        declared = self._draw.choice(["int k", "k"])
        first, end = self._number(name), self._number(name)
        kind = self._draw.choice("udmq")
        if kind == "u":
            cond, step = self._compared("k", "<", end), self._draw.choice(_UP)
        elif kind == "m":
            first, cond, step = f"({first}) + 1", self._compared("k", "<", end), self._draw.choice(_MULTIPLIED)
        elif kind == "d":
            end = self._draw.choice(["0", "1", "-2", "(x[i] & 1)"])
            cond, step = self._compared("k", ">", end), self._draw.choice(_DOWN)
        else:
            cond, step = self._draw.choice(["k", "k > 0", "k != 0", "2 < k"]), self._draw.choice(_DIVIDED)
        if self._draw.random() < 0.3:
            cond = f"{cond} && {self._condition()}"
        body = "\n".join(self._statement() for _ in range(self._draw.randint(1, 3)))
        if self._draw.random() < 0.3:
            body = f"if ({self._condition()}) {self._draw.choice(['break', 'continue'])};\n{body}"
        return f"for ({declared} = {first}; {cond}; {step}) {{\n{body}\n}}"

    def _number(self, name: str) -> str:
        """A small number that is not negative."""
        return self._draw.choice(["x[i] & 7", "x[i] % 5", "(h[i] & 3) + 2", "x[i] >> 5", "i", "i * i", "6",
                                  "x[i] < 9 ? x[i] : 9", f"{name}_table[x[i] & 3]", "0"])

    def _compared(self, left: str, operator: str, right: str) -> str:
        equal = "=" if self._draw.random() < 0.3 and right not in ("0", "(x[i] & 1)", "-2") else ""
        if self._draw.random() < 0.3:
            return f"({right}) {'>' if operator == '<' else '<'}{equal} {left}"
        return f"{left} {operator}{equal} ({right})"

    def _statement(self) -> str:
        value, mask = self._value(), SIZE - 1
        return self._draw.choice([
            f"s += {value};", f"s ^= {value};", f"b[{value} & {mask}]++;", f"b[n++ & {mask}] = {value};",
            f"if ((t = {value}) > {self._small()}) s -= t;",
            f"if (n++ < {self._small()}) s += {value}; else b[n & {mask}]--;",
            f"if (b[{value} & {mask}]-- > {self._small()}) t ^= s;", f"s = (n += {value}) + {self._small()};",
            f"t = b[{value} & {mask}]++;", f"s = t = {value}, n -= 2;",
            f"if (--n > {self._small()} && n < 9) t += {value};",
        ])

    def _small(self) -> str:
        return str(self._draw.randint(-3, 20))

    def _condition(self) -> str:
        return f"{self._value()} {self._draw.choice(['>', '<', '!=', '>='])} {self._small()}"

    def _value(self, deep: int = 2) -> str:
        kind = self._draw.random()
        if not deep or kind < 0.4:
            return self._draw.choice(["s", "t", "k", "i", str(self._draw.randint(1, 9))])
        if kind < 0.6:
            return f"{self._draw.choice('xh')}[{self._value(deep - 1)} & {SIZE - 1}]"
        return f"({self._value(deep - 1)} {self._draw.choice('+-^&')} {self._value(deep - 1)})"
