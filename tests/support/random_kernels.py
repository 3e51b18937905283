"""Random C functions of one kernel, for arrays of processing elements: products of matrices and vectors, convolutions,
distances, with operands as they are, transposed or strided, sums of every width, started and finished in every way; and
uniform recurrences."""

from __future__ import annotations

from random import Random

__all__ = ["kernel_function"]

_WORDS = ("int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t")
_RESULTS = ("int32_t", "int32_t", "int16_t", "uint32_t", "int64_t", "uint8_t", "uint64_t")
_NAMES = ("A", "B", "C", "S0", "S1", "in", "out", "a_in", "acc", "w")


def kernel_function(random: Random, name: str) -> str:
    """The text of one function."""
    return random.choice((_product, _product, _product, _vector, _convolution, _recurrence))(random, name)


def _text(name: str, parameters: list[str], body: list[str]) -> str:
    lines = "\n".join(f"  {line}" for line in body)
    return (f"#include <stdint.h>\nvoid {name}({', '.join(parameters)}) {{\n#pragma scop\n{lines}\n"
            "#pragma endscop\n}\n")


def _loops(random: Random, loops: dict[str, int], inner: list[str], *, shuffle: bool = False) -> list[str]:
    names = random.sample(list(loops), len(loops)) if shuffle else list(loops)
    heads = [f"for (int {i} = 0; {i} < {loops[i]}; {i}++)" for i in names]
    return [*heads[:-1], heads[-1] + " {", *(f"  {line}" for line in inner), "}"]


def _term(random: Random, a: str, b: str) -> str:
    return random.choice((f"{a} * {b}", f"{a} * {b}", f"{a} * {b}", f"({a} - {b}) * ({a} - {b})",
                          f"({a} > {b} ? {a} - {b} : {b} - {a})", f"(int16_t)({a} * {b})", f"({a} + 1) * {b}",
                          f"({a} * {b} >> 2)", f"({a} ^ {b})", f"(int64_t){a} * {b}", f"3 * {a}"))


def _step(random: Random, target: str, term: str) -> str:
    return random.choice((f"{target} += {term};", f"{target} += {term};", f"{target} += {term};",
                          f"{target} -= {term};", f"{target} ^= {term};",
                          f"{target} = {term} > {target} ? {term} : {target};",
                          f"{target} = {term} < {target} ? {term} : {target};", f"{target} |= {term};"))


def _start(random: Random, element: str, bias: str) -> str:
    return random.choice((f"{element} = 0;", f"{element} = 0;", f"{element} = {bias};", f"{element} = 7;",
                          f"{element} = {bias} * 2;", f"{element} = -128;"))


def _nest(random: Random, free: dict[str, int], reduced: dict[str, int], element: str, bias: str,
          term: str) -> list[str]:
    """Start, sum and perhaps something with the results; in one nest, or in one each."""
    step = _step(random, element, term)
    match random.choice(("one", "one", "apart", "kept", "scalar")):
        case "one":
            inner = [_start(random, element, bias), *_loops(random, reduced, [step])]
            lines = _loops(random, free, inner)
        case "apart":
            lines = [*_loops(random, free, [_start(random, element, bias)]),
                     *_loops(random, free | reduced, [step], shuffle=True)]
        case "kept":
            lines = _loops(random, free | reduced, [step], shuffle=random.random() < 0.5)
        case _:
            finish = random.choice(("s", "s", "s >> 3", f"s + {bias}", "s > 100 ? 100 : s", "(s < 0 ? 0 : s) >> 1"))
            inner = [_start(random, f"{random.choice(('int', 'int64_t', 'int16_t'))} s", bias),
                     *_loops(random, reduced, [_step(random, "s", term)]), f"{element} = {finish};"]
            lines = _loops(random, free, inner)
    return lines


def _product(random: Random, name: str) -> str:
    m, n, k = (random.randint(1, 6) for _ in range(3))
    a, b, c, d = random.sample(_NAMES, 4)
    types = [random.choice(_WORDS), random.choice(_WORDS), random.choice(_RESULTS)]
    shape_a, read_a = random.choice(((f"[{m}][{k}]", f"{a}[i][k]"), (f"[{k}][{m}]", f"{a}[k][i]"),
                                     (f"[{m}][{2 * k}]", f"{a}[i][2 * k + 1]")))
    shape_b, read_b = random.choice(((f"[{k}][{n}]", f"{b}[k][j]"), (f"[{n}][{k}]", f"{b}[j][k]")))
    shape_d, read_d = random.choice(((f"[{m}][{n}]", f"{d}[i][j]"), (f"[{n}]", f"{d}[j]")))
    body = _nest(random, {"i": m, "j": n}, {"k": k}, f"{c}[i][j]", read_d, _term(random, read_a, read_b))
    return _text(name, [f"const {types[0]} {a}{shape_a}", f"const {types[1]} {b}{shape_b}",
                        f"const {random.choice(_WORDS)} {d}{shape_d}", f"{types[2]} {c}[{m}][{n}]"], body)


def _vector(random: Random, name: str) -> str:
    m, k = (random.randint(1, 9) for _ in range(2))
    a, b, c = random.sample(_NAMES, 3)
    types = [random.choice(_WORDS), random.choice(_WORDS), random.choice(_RESULTS)]
    body = _nest(random, {"i": m}, {"k": k}, f"{c}[i]", f"{b}[0]", _term(random, f"{a}[i][k]", f"{b}[k]"))
    return _text(name, [f"const {types[0]} {a}[{m}][{k}]", f"const {types[1]} {b}[{k}]", f"{types[2]} {c}[{m}]"], body)


def _convolution(random: Random, name: str) -> str:
    rows, wide, stride = random.randint(1, 5), random.randint(1, 5), random.randint(1, 2)
    p, q, channels = random.randint(1, 3), random.randint(1, 3), random.randint(1, 3)
    a, b, c = random.sample(_NAMES, 3)
    types = [random.choice(_WORDS), random.choice(_WORDS), random.choice(_RESULTS)]
    high, long = (rows - 1) * stride + p, (wide - 1) * stride + q
    read = f"{a}[{stride} * i + u][{stride} * j + v][k]" if stride > 1 else f"{a}[i + u][j + v][k]"
    body = _nest(random, {"i": rows, "j": wide}, {"k": channels, "u": p, "v": q}, f"{c}[i][j]", f"{b}[0][0][0]",
                 _term(random, read, f"{b}[u][v][k]"))
    return _text(name, [f"const {types[0]} {a}[{high}][{long}][{channels}]",
                        f"const {types[1]} {b}[{p}][{q}][{channels}]", f"{types[2]} {c}[{rows}][{wide}]"], body)


def _recurrence(random: Random, name: str) -> str:
    n, kind, y = random.randint(3, 6), random.choice(_WORDS), random.choice(_NAMES)
    steps = random.randint(1, 3)
    left, above = f"{y}[i][j - 1]", f"{y}[i - 1][j]"
    value = random.choice((f"({left} + {above}) / 2", f"{left} > {above} ? {left} : {above} + 1",
                           f"{y}[i - 1][j - 1] + {left} - {above}", f"{y}[i][j] * 3 + {left}",
                           f"({left} ^ {above}) + {y}[i][j]"))
    inner = [f"{y}[i][j] = {value};"]
    heads = [f"for (int t = 0; t < {steps}; t++)"] if random.random() < 0.6 else []
    body = [*heads, f"for (int i = 1; i < {n}; i++)", f"for (int j = 1; j < {n}; j++) {{", *inner, "}"]
    return _text(name, [f"{kind} {y}[{n}][{n}]"], body)
