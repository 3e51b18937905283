"""Random C functions that look up tables which inputs or loops fill."""

from __future__ import annotations

from random import Random

__all__ = ["table_function"]

_TYPES = ["unsigned char", "short", "unsigned short", "int"]


def table_function(draw: Random, name: str) -> str:
    """The text of function `name` over inputs `x`, `z` and tables `t0`, `t1` and so on, each an input or computed."""
    trips, sizes = draw.choice([6, 12, 20]), [draw.choice([2, 4, 8, 16, 32]) for _ in range(draw.randint(1, 3))]
    inputs, loops, locals_ = [], [], []
    for number, size in enumerate(sizes):
        type_, extra = draw.choice(_TYPES), draw.choice([0, 0, 3])
        if draw.random() < 0.6:
            inputs.append(f"const {type_} t{number}[{size + extra}]")
            continue
        locals_.append(f"    {type_} t{number}[{size}];")
        term = draw.choice(["z[i]", f"z[{size - 1} - i]", "z[i] * 3", "i * 5 - z[i]"])
        loops.append(f"    for (int i = 0; i < {size}; i++) t{number}[i] = {term};")
    outer = draw.random() < 0.4
    place = f"[2][{trips}]" if outer else f"[{trips}]"
    index = "[k][i]" if outer else "[i]"
    value = _value(draw, sizes, index, 2)
    body = f"for (int i = 0; i < {trips}; i++) y{index} = {value};"
    loops.append(f"    for (int k = 0; k < 2; k++) {body}" if outer else f"    {body}")
    x, y = draw.choice(_TYPES[:4]), draw.choice(_TYPES)
    head = [f"const {x} x{place}", "const short z[32]", *inputs, f"{y} y{place}"]
    lines = [f"void {name}({', '.join(head)}) {{", *locals_, "#pragma scop", *loops, "#pragma endscop", "}"]
    return "\n".join(lines) + "\n"


def _value(draw: Random, sizes: list[int], index: str, depth: int) -> str:
    kind = draw.random()
    if not depth or kind < 0.2:
        return draw.choice([f"x{index}", f"(x{index} >> 3)", "i"])
    if kind < 0.8:
        number = draw.randrange(len(sizes))
        return f"t{number}[({_value(draw, sizes, index, depth - 1)}) & {sizes[number] - 1}]"
    operands = [_value(draw, sizes, index, depth - 1) for _ in range(2)]
    return f"({operands[0]} {draw.choice(['+', '-', '^', '&'])} {operands[1]})"
