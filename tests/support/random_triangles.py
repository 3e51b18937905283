"""Random C functions whose statements run on triangles, bands, checkerboards and other parts of a box of iterations.

Arrays are square and of one integer type; every subscript that is drawn stays inside. Some outputs are also inputs,
others are written in parts only. Sums and assignments follow each other in one nest or in several.
"""

from __future__ import annotations

from random import Random

__all__ = ["random_triangle"]

_ROWS = (("0", "j <= i"), ("0", "j < i"), ("i", "j < {n}"), ("i + 1", "j < {n}"), ("0", "j < {n} - i"),
         ("{n} - 1 - i", "j < {n}"), ("0", "j < {n}"), ("1", "j < {n}"), ("i / 2", "j < {n}"))
_CONDITIONS = ("i != j", "i == j", "i + j < {n}", "(i + j) % 2 == 0", "j == i || j == 0", "i > 1 && j <= i",
               "i + 2 * j > {n}", "i % 3 == 1", "!(i < j)", "2 * i < 3 * j", "i - j < 2 && j - i < 2",
               "(i + j) / 3 == 1")
_SUMS = (("0", "k < {n}"), ("0", "k <= j"), ("0", "k < i"), ("j", "k < {n}"), ("i", "k < {n}"))


def random_triangle(random: Random, size: int) -> str:
    """One function ``f`` of arrays of `size` x `size` and `size` elements."""
    element = random.choice(("int16_t", "int16_t", "uint8_t", "int32_t"))
    body: list[str] = []
    for _ in range(random.randint(1, 2)):
        body += _nest(random)
    text = "\n".join(body).replace("{n}", str(size))
    start = "" if random.random() < 0.5 else (
        f"  for (int i = 0; i < {size}; i++)\n    for (int j = 0; j < {size}; j++)\n      y[i][j] = "
        f"{random.choice(['0', '7', 'a[i][j]'])};\n")
    return (f"#include <stdint.h>\nvoid f(const {element} a[{size}][{size}], const {element} b[{size}], "
            f"{element} y[{size}][{size}])\n{{\n#pragma scop\n{start}{text}\n#pragma endscop\n}}\n")


def _nest(random: Random) -> list[str]:
    low, end = random.choice(_ROWS)
    head = ["  for (int i = 0; i < {n}; i++)", f"    for (int j = {low}; {end}; j++) {{"]
    body = [line for _ in range(random.randint(1, 2)) for line in _statement(random)]
    return [*head, *body, "    }"]


def _statement(random: Random) -> list[str]:
    target = random.choice(("y[i][j]", "y[i][j]", "y[j][i]"))
    guard = f"if ({random.choice(_CONDITIONS)}) " if random.random() < 0.6 else ""
    match random.choice(("assign", "assign", "add", "sum", "choose")):
        case "assign":
            return [f"      {guard}{target} = {_value(random)};"]
        case "add":
            return [f"      {guard}{target} {random.choice(('+=', '-=', '*='))} {_value(random)};"]
        case "choose":
            return [f"      {target} = {random.choice(_CONDITIONS)} ? {_value(random)} : {_value(random)};"]
    low, end = random.choice(_SUMS)
    term = random.choice(("a[i][k] * b[k]", "a[i][k] * a[k][j]", "b[k] - k", "a[k][i] * b[j]"))
    return [f"      {guard}{{", f"        {target} = {random.choice(('0', 'b[i]', target))};",
            f"        for (int k = {low}; {end}; k++)", f"          {target} += {term};", "      }"]


def _value(random: Random) -> str:
    leaf = random.choice(("a[i][j]", "a[j][i]", "b[i]", "b[j]", "y[i][j]", "3", "i", "j - i"))
    other = random.choice(("a[i][j]", "b[j]", "2", "i + j", "a[j][i]"))
    return random.choice((leaf, f"{leaf} + {other}", f"{leaf} * {other}", f"({leaf} - {other}) >> 1",
                          f"{leaf} > {other} ? {leaf} : {other}"))
