"""Random C functions on floats and integers: expressions, conditions, reductions and conversions."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

SIZE = 12
_LITERALS = ("0.0f", "1.5f", "-0.1f", "3", "1e30f", "0x1.8p-130f", "7.0f / 3", "-2")


@dataclass(frozen=True)
class FloatFunction:
    """Function `name` (float a[], float b[], int n[], float y[], float z[], int m[]), `text` in C; all have `SIZE`
    elements."""

    name: str
    text: str


def random_float_function(random: Random, name: str) -> FloatFunction:
    """Every statement writes elements of its own; sums run over the elements in order."""
    body = "\n".join([
        f"    y[i] = {_value(random, 3)};",
        f"    float t = {_value(random, 2)};",
        f"    if ({_condition(random)}) t = {_value(random, 2)};",
        f"    t {random.choice(('+=', '-=', '*='))} {_value(random, 1)};",
        f"    z[i] = {random.choice(('t', '-t', 't * y[i]', 'y[i] / t'))};",
        f"    m[i] = {_condition(random)} + {random.choice(('n[i]', '3', '(t != t)'))};",
        "    s = s + " + _value(random, 1) + ";",
    ])
    lines = [
        f"void {name}(const float a[{SIZE}], const float b[{SIZE}], const int n[{SIZE}], float y[{SIZE}], "
        f"float z[{SIZE}], int m[{SIZE}]) {{",
        "#pragma scop", "  float s = 0.0;", f"  for (int i = 0; i < {SIZE}; i++) {{", body, "  }",
        "  z[0] = s;", "#pragma endscop", "}",
    ]
    return FloatFunction(name, "\n".join(lines) + "\n")


def _value(random: Random, depth: int) -> str:
    if depth == 0:
        return random.choice(("a[i]", "b[i]", "a[i]", "n[i]", "i", random.choice(_LITERALS)))
    left, right = _value(random, depth - 1), _value(random, random.randrange(depth))
    kind = random.randrange(10)
    if kind < 7:
        return f"({left} {random.choice('+-*+-*/')} {random.choice(('', '1.0f * '))}{right} + 0.0f)"
    if kind == 7:
        return f"({_condition(random)} ? {left} : {right} + 0.0f)"
    return f"(-(0.5f + {left}))" if kind == 8 else f"(float)({left})"


def _condition(random: Random) -> str:
    operator = random.choice(("<", "<=", ">", ">=", "==", "!="))
    other = random.choice(("b[i]", "0.0", "1.5f", "n[i]", "a[SIZE - 1 - i]".replace("SIZE", str(SIZE))))
    simple = f"(a[i] {operator} {other})"
    return random.choice((simple, f"!{simple}", f"({simple} && b[i])"))
