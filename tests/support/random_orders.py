"""Random C functions whose loops run in all directions and whose outputs are written in all orders: reversed, strided,
offset, quasi-affine, by copies alone, partly, twice, in rows that take turns; words of up to 64 bits, constants at the
limits of types, arrays with names that a compiler might use."""

from __future__ import annotations

from random import Random

__all__ = ["order_function"]

_TYPES = ("int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t")
_NAMES = ("y", "S0", "S1", "S2", "load_in", "S0_drain", "y_sums", "tile")
_LIMITS = ("0", "1", "-1", "127", "-128", "255", "32767", "-32768", "65535", "2147483647", "-2147483648LL",
           "4294967295u", "0x7fffffffffffffffLL", "0x8000000000000000ull")
_SIZE = 8
_HALF = _SIZE // 2


def order_function(random: Random, name: str) -> str:
    """A function of arrays ``in`` (`_SIZE` elements) and two outputs: one of `_SIZE` elements, one of two rows."""
    first, second = random.sample(_NAMES, 2)
    types = [random.choice(_TYPES) for _ in range(3)]
    body = [random.choice(_PLAIN)(random, first), random.choice(_ROWS)(random, second)]
    random.shuffle(body)
    return "\n".join(["#include <stdint.h>",
                      f"void {name}(const {types[0]} in[{_SIZE}], {types[1]} {first}[{_SIZE}], "
                      f"{types[2]} {second}[2][{_HALF}]) {{", "#pragma scop", *body, "#pragma endscop", "}"])


def _value(random: Random, leaves: list[str], depth: int = 2) -> str:
    if depth == 0 or random.random() < 0.2:
        return random.choice([*leaves, *leaves, f"({random.choice(_LIMITS)})"])
    a, b = (_value(random, leaves, depth - 1) for _ in range(2))
    match random.randrange(4):
        case 0:
            return f"(({a}) >> {random.randrange(8)})"
        case 1:
            return f"({a} {random.choice(['<', '<=', '==', '!='])} {b} ? {b} : {a})"
    return f"({a} {random.choice(['+', '-', '*', '&', '|', '^', '<'])} {b})"


def _forward(random: Random, y: str) -> str:
    low, step = random.randrange(3), random.choice((1, 1, 2, 3))
    value = _value(random, ["in[i]", f"in[{_SIZE - 1} - i]", "i"])
    return f"for (int i = {low}; i < {_SIZE}; i += {step}) {y}[i] = {value};"


def _backward(random: Random, y: str) -> str:
    return f"for (int i = {_SIZE - 1}; i >= 0; i--) {y}[{_SIZE - 1} - i] = {_value(random, ['in[i]', 'i'])};"


def _copied(random: Random, y: str) -> str:
    return f"for (int i = 0; i < {random.randrange(2, _SIZE)}; i++) {y}[i] = in[i];"


def _chosen(random: Random, y: str) -> str:
    return f"for (int i = 0; i < {_SIZE}; i++) {y}[i] = i < {random.randrange(1, _SIZE)} ? in[i] : {y}[i];"


def _twice(random: Random, y: str) -> str:
    again = _value(random, [f"{y}[i]", "in[i]"])
    return f"{_backward(random, y)}\nfor (int i = 0; i < {_SIZE}; i++) {y}[i] = {again};"


def _interleaved(random: Random, y: str) -> str:
    return f"for (int i = 0; i < {_SIZE}; i++) {y}[i % 2][i / 2] = {_value(random, ['in[i]', 'i'])};"


def _turns(random: Random, y: str) -> str:
    value = _value(random, [f"{y}[k % 2][i]", f"{y}[k % 2][i - 1]", "in[i]"])
    return f"for (int k = 0; k < 3; k++) for (int i = 1; i < {_HALF}; i++) {y}[(k + 1) % 2][i] = {value};"


def _by_rows(random: Random, y: str) -> str:
    value = _value(random, ["in[4 * r + i]", "in[i + 1]", "r"])
    return f"for (int i = 0; i < {_HALF}; i++) for (int r = 1; r >= 0; r--) {y}[r][i] = {value};"


_PLAIN = (_forward, _backward, _copied, _chosen, _twice)
_ROWS = (_interleaved, _turns, _by_rows)
