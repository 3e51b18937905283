"""Operators of loop bodies: bits in, bits out, no registers. Their names are those of dataflow graphs (Hammes 2000,
section 5.1): those that begin with ``I`` take operands as two's complement.

What a sum, a comparison, … means comes from `hw.ops`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from amaranth.hdl import Cat, Const, Mux, Value

from hw.ops import Datapath, operation

__all__ = ["OPERATORS", "build_operator", "reduce_pair", "start_of_reduction"]

Wire = Callable[[Value], Value]
"""Gives an expression a wire: what is used more than once would be there more than once without."""

Build = Callable[[Sequence[Value], int, Wire], Value]
"""Operands and bits of the output: an expression whose low bits count."""

_TABLE = {"ADD": "add", "SUB": "sub", "MUL": "mul", "LT": "lt", "LE": "le", "GT": "gt", "GE": "ge"}
_BITWISE = {"EQ": "eq", "NEQ": "ne", "BIT_AND": "and", "BIT_OR": "or", "BIT_XOR": "xor"}
_PAIRS = {"SUM": "add", "MIN": "min", "MAX": "max"}


def build_operator(kind: str, operands: Sequence[Value], width: int, wire: Wire) -> Value:
    """The output of an operator in `width` bits, sign or zeros above it where it has fewer; operands are wires.

    Raises `KeyError` for kinds that are not in `OPERATORS`.
    """
    found = OPERATORS[kind](operands, width, wire)
    return _extended(found, width, found.shape().signed)[:width]


def _extended(value: Value, width: int, signed: bool) -> Value:
    missing = width - len(value)
    if missing <= 0:
        return value
    return Cat(value, value[-1].replicate(missing) if signed else Const(0, missing))


def _apply(name: str, a: Value, b: Value, signed: bool) -> Value:
    """An entry of the table for two operands."""
    width = max(len(a), len(b))
    a, b = (_extended(value, width + 1, signed).as_signed() for value in (a, b))
    none = Const(0)
    datapath = Datapath(width=width, a=a, b=b, c=none, p=none, q=none, r=none, table=none, product=a * b,
                        difference=a - b)
    return operation(name).build(datapath)


def _tabled(name: str, signed: bool) -> Build:
    return lambda operands, width, wire: _apply(name, operands[0], operands[1], signed)


def _shift(left: bool, signed: bool) -> Build:
    def build(operands: Sequence[Value], width: int, wire: Wire) -> Value:
        value, amount = operands
        value = value.as_signed() if signed else value
        span = width if left else len(value)
        if isinstance(amount, Const):
            return value << min(amount.value, span) if left else value >> min(amount.value, span)
        low = amount[:span.bit_length()]
        moved = value << low if left else value >> low
        beyond = value[-1].replicate(len(value)).as_signed() if signed else Const(0)
        return Mux(amount >= span, beyond, moved)
    return build


def _select(operands: Sequence[Value], width: int, wire: Wire) -> Value:
    """SELECTOR: key, pairs of a case and its value, the value of all others."""
    key, *pairs, found = operands
    for case, value in reversed(list(zip(pairs[::2], pairs[1::2], strict=True))):
        found = Mux(key == case, value, found)
    return found


def _root(operands: Sequence[Value], width: int, wire: Wire) -> Value:
    """SQRT: the integer root, bit by bit from the highest."""
    value, root, rest = operands[0], Const(0, 1), Const(0, 1)
    bits: list[Value] = []
    for pair in reversed(range((len(value) + 1) // 2)):
        rest = Cat(value.bit_select(2 * pair, 2), rest)
        trial = Cat(Const(1, 2), root)
        fits = wire(rest >= trial)
        rest = wire(Mux(fits, rest - trial, rest)[:len(bits) + 2])
        bits.insert(0, fits)
        root = Cat(*bits)
    return root


def reduce_pair(kind: str, a: Value, b: Value) -> Value:
    """Two wires of a reduction as one value of as many bits: kind ``USUM``, ``ISUM``, ``UMIN``, …, ``AND``, ``OR``."""
    if kind in ("AND", "OR"):
        return a & b if kind == "AND" else a | b
    return _apply(_PAIRS[kind[1:]], a, b, kind[0] == "I")[:len(a)]


def start_of_reduction(kind: str, width: int) -> int:
    """The bits that a reduction of no values gives."""
    if kind == "AND" or kind == "UMIN":
        return (1 << width) - 1
    if kind == "IMIN":
        return (1 << (width - 1)) - 1
    return 1 << (width - 1) if kind == "IMAX" else 0


def _many(kind: str) -> Build:
    """Values, each with a mask, as a balanced tree."""
    def build(operands: Sequence[Value], width: int, wire: Wire) -> Value:
        neutral = Const(start_of_reduction(kind, len(operands[0])), len(operands[0]))
        level = [_masked(value, mask, neutral, wire)
                 for value, mask in zip(operands[::2], operands[1::2], strict=True)]
        while len(level) > 1:
            level = [wire(reduce_pair(kind, *level[i:i + 2])) if i + 1 < len(level) else level[i]
                     for i in range(0, len(level), 2)]
        return level[0]
    return build


def _masked(value: Value, mask: Value, neutral: Value, wire: Wire) -> Value:
    if isinstance(mask, Const):
        return value if mask.value else neutral
    return wire(Mux(mask, value, neutral))


OPERATORS: dict[str, Build] = {
    **{f"U{kind}": _tabled(name, False) for kind, name in _TABLE.items()},
    **{f"I{kind}": _tabled(name, True) for kind, name in _TABLE.items()},
    **{kind: _tabled(name, False) for kind, name in _BITWISE.items()},
    "BIT_NOT": lambda operands, width, wire: ~operands[0],
    "LEFT_SHIFT": _shift(True, False), "URIGHT_SHIFT": _shift(False, False), "IRIGHT_SHIFT": _shift(False, True),
    "CHANGE_WIDTH": lambda operands, width, wire: operands[0],
    "CHANGE_WIDTH_SE": lambda operands, width, wire: operands[0].as_signed(),
    "SELECTOR": _select, "SQRT": _root,
    **{f"{kind}_MANY": _many(kind) for kind in ("AND", "OR", *(f"{sign}{kind}" for sign in "UI" for kind in _PAIRS))},
}
"""All operators."""
