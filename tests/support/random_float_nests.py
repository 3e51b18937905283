"""Random C functions of nests on floating-point numbers: sums inside or outside of other loops, triangles, recurrences
in place, and several nests that hand values on."""

from __future__ import annotations

from random import Random

__all__ = ["float_nest_function"]


def float_nest_function(random: Random, name: str) -> str:
    """The text of one function with elements of one type."""
    n, m = random.randint(3, 6), random.randint(3, 7)
    body = [line for _ in range(random.randint(1, 3))
            for line in random.choice((_sum, _sum, _triangle, _recurrence, _stencil, _extreme))(random, n, m)]
    lines = "\n".join(f"  {line}" for line in body)
    type_ = random.choice(("float", "float", "double", "_Float16"))
    text = (f"#include <math.h>\nvoid {name}(const T A[{n}][{m}], const T B[{m}][{n}], const T x[{m}], T C[{n}][{n}], "
            f"T y[{n}]) {{\n#pragma scop\n{lines}\n#pragma endscop\n}}\n")
    if type_ == "_Float16":
        text = text.replace("fmaxf", "fmax").replace("fminf", "fmin").replace("sqrtf", "sqrt").replace("fabsf", "fabs")
    return text.replace("T ", f"{type_} ").replace("(T)", f"({type_})")


def _term(random: Random, a: str, b: str) -> str:
    return random.choice((f"{a} * {b}", f"{a} * {b}", f"({a} - {b}) * {a}", f"{a} / {b}", f"fabsf({a}) + {b}",
                          f"({a} < {b} ? {a} : (T)1.5)", f"(T)0.5 * {a} * {b}", f"sqrtf({a} * {a}) * {b}"))


def _nested(loops: list[tuple[str, str]], inner: list[str]) -> list[str]:
    """Loops over names to bounds, from 0 unless the bound has a colon."""
    heads = []
    for name, bound in loops:
        low, _, high = bound.rpartition(":")
        heads.append(f"for (int {name} = {low or 0}; {name} < {high}; {name}++)")
    return [*heads[:-1], f"{heads[-1]} {{", *(f"  {line}" for line in inner), "}"]


def _sum(random: Random, n: int, m: int) -> list[str]:
    step = f"C[i][j] {random.choice(('+=', '+=', '-='))} {_term(random, 'A[i][k]', 'B[k][j]')};"
    if random.random() < 0.3:
        step = f"if (A[i][k] {random.choice(('<', '>', '!='))} x[k]) {step}"
    start = f"C[i][j] = {random.choice(('0', 'A[i][0]', '(T)-0.0'))};"
    loops = [("i", str(n)), ("j", str(n)), ("k", str(m))]
    if random.random() < 0.5:
        return _nested(loops[:2], [start, *_nested(loops[2:], [step])])
    random.shuffle(loops)
    return [*_nested([("i", str(n)), ("j", str(n))], [start]), *_nested(loops, [step])]


def _triangle(random: Random, n: int, m: int) -> list[str]:
    """A solve or a product of a triangular matrix."""
    term = _term(random, "C[i][j]", random.choice(("y[j]", "A[j][0]")))
    last = random.choice(("y[i] = y[i] / C[i][i];", "y[i] = y[i] * (T)0.5;", "y[i] -= x[0];"))
    return _nested([("i", str(n))], ["y[i] = A[i][1];", *_nested([("j", "i")], [f"y[i] -= {term};"]), last])


def _recurrence(random: Random, n: int, m: int) -> list[str]:
    step = f"y[i] = {_term(random, 'y[i - 1]', 'A[i][0]')} + B[0][i];"
    if random.random() < 0.5:
        return _nested([("t", "3")], _nested([("i", f"1:{n}")], [step]))
    return _nested([("i", f"1:{n}"), ("j", str(n))], [f"C[i][j] = {_term(random, 'C[i - 1][j]', 'B[0][j]')};"])


def _stencil(random: Random, n: int, m: int) -> list[str]:
    step = random.choice(("C[i][j] = (T)0.25 * (C[i][j - 1] + C[i - 1][j] + C[i][j + 1] + C[i + 1][j]);",
                          "C[i][j] = (C[i - 1][j - 1] + C[i][j]) / 3;", "C[i][j] += C[i][j - 1] * A[i][j];"))
    return _nested([("t", "2"), ("i", f"1:{n - 1}"), ("j", f"1:{min(n, m) - 1}")], [step])


def _extreme(random: Random, n: int, m: int) -> list[str]:
    step = random.choice(("y[i] = fmaxf(y[i], A[i][k]);", "y[i] = A[i][k] > y[i] ? A[i][k] : y[i];",
                          "y[i] = fminf(A[i][k] * x[k], y[i]);"))
    return _nested([("i", str(n))], ["y[i] = x[0];", *_nested([("k", str(m))], [step])])
