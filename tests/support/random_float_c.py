"""Random C functions on floats and integers: expressions, conditions, reductions and conversions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

SIZE = 12
_LITERALS = ("0.0f", "1.5f", "-0.1f", "3", "1e30f", "0x1.8p-130f", "7.0f / 3", "-2")


@dataclass(frozen=True)
class FloatFunction:
    """Function `name` (T a[], T b[], int n[], T y[], T z[], int m[]), `text` in C, with `type` T, float or double; all
    have `SIZE` elements."""

    name: str
    text: str
    type: str = "float"


def random_float_function(random: Random, name: str, type_: str = "float", *, functions: bool = False) -> FloatFunction:
    """Every statement writes elements of its own; sums run over the elements in order. `functions`: those of math.h are
    called, too."""
    found = _random_function(random, name, functions)
    if type_ == "float":
        return found
    text = re.sub(r"(?<=[\d.])f\b", "", found.text).replace("float ", "double ").replace("(float)", "(double)")
    return FloatFunction(name, re.sub(r"\b(fabs|fmin|fmax|sqrt|fma)f\(", r"\1(", text), type_)


def float_function(random: Random, name: str) -> str:
    """A text in either type, with functions or without."""
    functions = random.random() < 0.5
    found = random_float_function(random, name, random.choice(("float", "double")), functions=functions)
    return "#include <math.h>\n" * functions + found.text


def single_function(random: Random, name: str) -> str:
    """A text in float alone, with sums, differences, products, comparisons, extrema and conversions, and perhaps with
    products and sums that are rounded once."""
    text = random_float_function(random, name).text
    if random.random() < 0.5:
        fused = ", ".join(_value(random, 1) for _ in range(3))
        text = "#include <math.h>\n" + text.replace("    s = s + ", f"    y[i] = y[i] + fmaf({fused});\n    s = s + ")
    return re.sub(r"(?<![\w.])0\.0(?!f)", "0.0f", text.replace("y[i] / t", "y[i] - t").replace(" / ", " * "))


def _random_function(random: Random, name: str, functions: bool) -> FloatFunction:
    body = "\n".join([
        f"    y[i] = {_value(random, 3)};",
        f"    float t = {_value(random, 2)};",
        f"    if ({_condition(random)}) t = {_value(random, 2)};",
        f"    t {random.choice(('+=', '-=', '*='))} {_value(random, 1)};",
        f"    z[i] = {random.choice(('t', '-t', 't * y[i]', 'y[i] / t'))};",
        f"    m[i] = {_condition(random)} + {random.choice(('n[i]', '3', '(t != t)'))};",
        "    s = s + " + _value(random, 1) + ";",
        *([f"    y[i] = y[i] + {_call(random)};"] if functions else []),
    ])
    lines = [
        f"void {name}(const float a[{SIZE}], const float b[{SIZE}], const int n[{SIZE}], float y[{SIZE}], "
        f"float z[{SIZE}], int m[{SIZE}]) {{",
        "#pragma scop", "  float s = 0.0;", f"  for (int i = 0; i < {SIZE}; i++) {{", body, "  }",
        "  z[0] = s;", "#pragma endscop", "}",
    ]
    return FloatFunction(name, "\n".join(lines) + "\n")


def _call(random: Random) -> str:
    name = random.choice(("fabsf", "fminf", "fmaxf", "sqrtf", "fmaf"))
    count = {"fabsf": 1, "sqrtf": 1, "fmaf": 3}.get(name, 2)
    return f"{name}({', '.join(_value(random, 1) for _ in range(count))})"


def _value(random: Random, depth: int) -> str:
    if depth == 0:
        return random.choice(("a[i]", "b[i]", "a[i]", "n[i]", "i", random.choice(_LITERALS)))
    left, right = _value(random, depth - 1), _value(random, random.randrange(depth))
    kind = random.randrange(10)
    if kind < 7:
        operator, factor = random.choice("+-*+-*/"), random.choice(("", "1.0f * "))
        return f"({left} {operator} {'1.0f * ' if operator == '/' else factor}{right} + 0.0f)"  # no integer by 0
    if kind == 7:
        return f"({_condition(random)} ? {left} : {right} + 0.0f)"
    return f"(-(0.5f + {left}))" if kind == 8 else f"(float)({left})"


def _condition(random: Random) -> str:
    operator = random.choice(("<", "<=", ">", ">=", "==", "!="))
    other = random.choice(("b[i]", "0.0", "1.5f", "n[i]", "a[SIZE - 1 - i]".replace("SIZE", str(SIZE))))
    simple = f"(a[i] {operator} {other})"
    return random.choice((simple, f"!{simple}", f"({simple} && b[i])"))
