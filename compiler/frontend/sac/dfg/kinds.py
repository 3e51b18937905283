"""The kinds of nodes of dataflow graphs and what those without state compute (Hammes 2000, sections 5.1 and 5.4).

Tokens are non-negative integers below ``2**width``. Nodes that begin with ``I`` take them as two's complement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isqrt

__all__ = ["COMPUTE", "GENERATORS", "MANY", "RETURNS", "signed", "takes_pairs"]

GENERATORS = ("SCALARGEN", "ELEGEN", "SLICEGEN", "WINDOWGEN")

_REDUCED = ("USUM", "ISUM", "UMIN", "IMIN", "UMAX", "IMAX", "AND", "OR")
RETURNS = ("WRITE_TILE", "WRITE_SCALAR", "HISTOGRAM_VALUES", "ACCUM_HISTOGRAM_VALUES",
           *(f"{kind}_VALUES" for kind in _REDUCED), *(f"ACCUM_{kind}_VALUES" for kind in _REDUCED))
"""Nodes that write results to memory and give a token when that is done."""

MANY = (*(f"{kind}_MANY" for kind in _REDUCED), "UMEDIAN_MANY", "IMEDIAN_MANY")

Compute = Callable[[Sequence[int], Sequence[int], int], int]
"""Tokens, their widths, and the width of the output: the output, of which only the low bits count."""


def signed(value: int, width: int) -> int:
    """The number in two's complement that the bits mean."""
    return value - (1 << width) if value >> (width - 1) else value


def takes_pairs(kind: str) -> bool:
    """Whether operands are values, each with a mask."""
    return kind in MANY


def _unsigned(operation: Callable[[int, int], int]) -> Compute:
    return lambda tokens, widths, width: int(operation(tokens[0], tokens[1]))


def _signed(operation: Callable[[int, int], int]) -> Compute:
    return lambda tokens, widths, width: int(operation(signed(tokens[0], widths[0]), signed(tokens[1], widths[1])))


_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "ADD": lambda a, b: a + b, "SUB": lambda a, b: a - b, "MUL": lambda a, b: a * b, "LT": lambda a, b: a < b,
    "LE": lambda a, b: a <= b, "GT": lambda a, b: a > b, "GE": lambda a, b: a >= b}


def _select(tokens: Sequence[int], widths: Sequence[int], width: int) -> int:
    """SELECTOR: key, then pairs of a case and its value, then the value of all others."""
    for case, value in zip(tokens[1:-1:2], tokens[2::2], strict=False):
        if case == tokens[0]:
            return value
    return tokens[-1]


def _left_shift(tokens: Sequence[int], widths: Sequence[int], width: int) -> int:
    return tokens[0] << min(tokens[1], width)


def _taken(tokens: Sequence[int], widths: Sequence[int], has_sign: bool) -> list[int]:
    values = zip(tokens[::2], widths[::2], tokens[1::2], strict=True)
    return [signed(value, width) if has_sign else value for value, width, mask in values if mask]


def _median(values: list[int]) -> int:
    """The middle one; of an even count the mean of both, rounded towards 0; 0 of none."""
    if not values:
        return 0
    ordered, middle = sorted(values), len(values) // 2
    if len(ordered) % 2:
        return ordered[middle]
    total = ordered[middle - 1] + ordered[middle]
    return total // 2 if total >= 0 else -(-total // 2)


def reduce_values(kind: str, values: list[int], width: int) -> int:
    """A reduction of `values`, which are numbers with sign where `kind` begins with ``I``."""
    if kind.endswith("SUM"):
        return sum(values)
    if kind.endswith("MEDIAN"):
        return _median(values)
    if kind in ("AND", "OR"):
        total = (1 << width) - 1 if kind == "AND" else 0
        for value in values:
            total = total & value if kind == "AND" else total | value
        return total
    has_sign = kind[0] == "I"
    if kind.endswith("MIN"):
        return min(values, default=(1 << (width - has_sign)) - 1)
    return max(values, default=-(1 << (width - 1)) if has_sign else 0)


def _many(kind: str) -> Compute:
    name = kind.removesuffix("_MANY")
    return lambda tokens, widths, width: reduce_values(name, _taken(tokens, widths, name[0] == "I"), width)


COMPUTE: dict[str, Compute] = {
    **{f"U{name}": _unsigned(operation) for name, operation in _ARITHMETIC.items()},
    **{f"I{name}": _signed(operation) for name, operation in _ARITHMETIC.items()},
    "EQ": _unsigned(lambda a, b: a == b), "NEQ": _unsigned(lambda a, b: a != b),
    "BIT_AND": _unsigned(lambda a, b: a & b), "BIT_OR": _unsigned(lambda a, b: a | b),
    "BIT_XOR": _unsigned(lambda a, b: a ^ b),
    "BIT_NOT": lambda tokens, widths, width: ~tokens[0],
    "LEFT_SHIFT": _left_shift,
    "URIGHT_SHIFT": _unsigned(lambda a, b: a >> b),
    "IRIGHT_SHIFT": lambda tokens, widths, width: signed(tokens[0], widths[0]) >> tokens[1],
    "CHANGE_WIDTH": lambda tokens, widths, width: tokens[0],
    "CHANGE_WIDTH_SE": lambda tokens, widths, width: signed(tokens[0], widths[0]),
    "SELECTOR": _select,
    "SQRT": lambda tokens, widths, width: isqrt(tokens[0]),
    **{kind: _many(kind) for kind in MANY},
}
"""What nodes without state compute, by kind."""
