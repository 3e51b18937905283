"""Random C functions of one floating-point kernel, for arrays of processing elements: sums of products, of differences
and under conditions over one to three loops, in every format, started and finished in every way; and uniform
recurrences."""

from __future__ import annotations

from random import Random

__all__ = ["float_kernel_function"]

_KINDS = ("float", "float", "float", "double", "_Float16")
_NAMES = ("A", "B", "C", "S0", "S1", "in", "out", "acc", "w")


def float_kernel_function(random: Random, name: str) -> str:
    """The text of one function."""
    return random.choice((_product, _product, _vector, _contraction, _convolution, _recurrence))(random, name)


def _text(name: str, parameters: list[str], body: list[str]) -> str:
    lines = "\n".join(f"  {line}" for line in body)
    return f"#include <stdint.h>\nvoid {name}({', '.join(parameters)}) {{\n#pragma scop\n{lines}\n#pragma endscop\n}}\n"


def _loops(random: Random, loops: dict[str, int], inner: list[str], *, shuffle: bool = False) -> list[str]:
    names = random.sample(list(loops), len(loops)) if shuffle else list(loops)
    heads = [f"for (int {i} = 0; {i} < {loops[i]}; {i}++)" for i in names]
    return [*heads[:-1], heads[-1] + " {", *(f"  {line}" for line in inner), "}"]


def _step(random: Random, target: str, a: str, b: str) -> str:
    term = random.choice((f"{a} * {b}", f"{a} * {b}", f"{a} * {b}", f"({a} - {b}) * ({a} - {b})", f"(0.3f * {a}) * {b}",
                          f"({a} + {b})", f"({a} > {b} ? {a} : {b})"))
    return random.choice((f"{target} += {term};", f"{target} += {term};", f"{target} += {term};",
                          f"{target} -= {term};", f"if ({a} > 0) {target} += {term};"))


def _nest(random: Random, kind: str, free: dict[str, int], reduced: dict[str, int], element: str, bias: str,
          operands: tuple[str, str]) -> list[str]:
    """Start, sum and perhaps something with the results; in one nest, or in one each."""
    start = random.choice(("0", "0", bias, "0.7f", "-0.0f", f"{bias} * 1.5f"))
    match random.choice(("one", "one", "apart", "kept", "scalar")):
        case "one":
            inner = [f"{element} = {start};", *_loops(random, reduced, [_step(random, element, *operands)])]
        case "apart":
            step = _step(random, element, *operands)
            return [*_loops(random, free, [f"{element} = {start};"]),
                    *_loops(random, free | reduced, [step], shuffle=True)]
        case "kept":
            return _loops(random, free | reduced, [_step(random, element, *operands)], shuffle=random.random() < 0.5)
        case _:
            finish = random.choice(("s", "s", "s * 0.5f", f"s + {bias}", "s > 0 ? s : 0"))
            inner = [f"{kind} s = {start};", *_loops(random, reduced, [_step(random, "s", *operands)]),
                     f"{element} = {finish};"]
    return _loops(random, free, inner)


def _product(random: Random, name: str) -> str:
    m, n, k = (random.randint(1, 6) for _ in range(3))
    a, b, c, d = random.sample(_NAMES, 4)
    kind = random.choice(_KINDS)
    shape_a, read_a = random.choice(((f"[{m}][{k}]", f"{a}[i][k]"), (f"[{k}][{m}]", f"{a}[k][i]")))
    shape_b, read_b = random.choice(((f"[{k}][{n}]", f"{b}[k][j]"), (f"[{n}][{k}]", f"{b}[j][k]")))
    body = _nest(random, kind, {"i": m, "j": n}, {"k": k}, f"{c}[i][j]", f"{d}[j]", (read_a, read_b))
    return _text(name, [f"const {kind} {a}{shape_a}", f"const {kind} {b}{shape_b}", f"const {kind} {d}[{n}]",
                        f"{kind} {c}[{m}][{n}]"], body)


def _vector(random: Random, name: str) -> str:
    m, k = random.randint(1, 9), random.randint(1, 12)
    a, b, c = random.sample(_NAMES, 3)
    kind = random.choice(_KINDS)
    body = _nest(random, kind, {"i": m}, {"k": k}, f"{c}[i]", f"{b}[0]", (f"{a}[i][k]", f"{b}[k]"))
    return _text(name, [f"const {kind} {a}[{m}][{k}]", f"const {kind} {b}[{k}]", f"{kind} {c}[{m}]"], body)


def _contraction(random: Random, name: str) -> str:
    m, k, p = (random.randint(1, 6) for _ in range(3))
    a, b, c, d = random.sample(_NAMES, 4)
    kind = random.choice(_KINDS)
    body = _nest(random, kind, {"i": m}, {"k": k, "p": p}, f"{c}[i]", f"{d}[i]", (f"{a}[i][k][p]", f"{b}[k][p]"))
    return _text(name, [f"const {kind} {a}[{m}][{k}][{p}]", f"const {kind} {b}[{k}][{p}]", f"const {kind} {d}[{m}]",
                        f"{kind} {c}[{m}]"], body)


def _convolution(random: Random, name: str) -> str:
    rows, wide = random.randint(1, 5), random.randint(1, 5)
    p, q, channels = (random.randint(1, 3) for _ in range(3))
    a, b, c = random.sample(_NAMES, 3)
    kind = random.choice(_KINDS)
    body = _nest(random, kind, {"i": rows, "j": wide}, {"k": channels, "u": p, "v": q}, f"{c}[i][j]", f"{b}[0][0][0]",
                 (f"{a}[i + u][j + v][k]", f"{b}[u][v][k]"))
    return _text(name, [f"const {kind} {a}[{rows + p - 1}][{wide + q - 1}][{channels}]",
                        f"const {kind} {b}[{p}][{q}][{channels}]", f"{kind} {c}[{rows}][{wide}]"], body)


def _recurrence(random: Random, name: str) -> str:
    n, kind, y = random.randint(3, 5), random.choice(_KINDS), random.choice(_NAMES)
    left, above = f"{y}[i][j - 1]", f"{y}[i - 1][j]"
    value = random.choice((f"({left} + {above}) / 2", f"{left} > {above} ? {left} : {above} + 1",
                           f"{y}[i - 1][j - 1] / ({left} - {above})", f"{y}[i][j] * 3 + {left}",
                           f"{left} * {above} + {y}[i][j]"))
    body = [f"for (int i = 1; i < {n}; i++)", f"for (int j = 1; j < {n}; j++) {{", f"{y}[i][j] = {value};", "}"]
    return _text(name, [f"{kind} {y}[{n}][{n}]"], body)
