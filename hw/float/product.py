"""Products of significands, wider than one multiplier of an FPGA takes, with places for registers inside."""

from __future__ import annotations

from math import ceil

from amaranth.hdl import C, Cat, Value

from hw.lib.steps import Steps

__all__ = ["multiplied", "multiplier_count"]

_LIMB = 18
"""Bits of a multiplier's inputs: those of most FPGAs' blocks."""


def multiplied(steps: Steps, a: Value, b: Value, *others: Value) -> list[Value]:
    """``a * b`` of two unsigned values of one width, behind a place for registers at least; `others` are as late.

    Wider values are cut in limbs of one width. Products of limbs that lie beside each other make a row; rows are added
    by pairs, with a place for registers behind every sum.
    """
    width = len(a)
    count = ceil(width / _LIMB)
    limb = ceil(width / count)
    rows = [_row(steps, a, b, limb, count, shift) for shift in range(1 - count, count)]
    steps.takes("mul", limb)
    steps.multipliers += count * count
    rows, others = _cut(steps, rows, others)
    while len(rows) > 1:
        pairs = [steps.wire((rows[k] + rows[k + 1])[: 2 * width]) for k in range(0, len(rows) - 1, 2)]
        steps.takes("add", 2 * width - limb)
        rows, others = _cut(steps, pairs + rows[len(rows) - len(rows) % 2 :], others)
    return [rows[0], *others]


def multiplier_count(width: int) -> int:
    """Multipliers of one product of significands of `width` bits."""
    return ceil(width / _LIMB) ** 2


def _row(steps: Steps, a: Value, b: Value, limb: int, count: int, shift: int) -> Value:
    """The products of limbs k of `a` and ``k + shift`` of `b`, in their places below ``2 * len(a)`` bits."""
    first = abs(shift) * limb
    row: Value = C(0, first)
    for k in range(max(0, -shift), min(count, count - shift)):
        one, two = (value[limb * n : limb * (n + 1)] for value, n in ((a, k), (b, k + shift)))
        row = Cat(row, steps.wire((one * two)[: 2 * limb]))
    return row[: 2 * len(a)]


def _cut(steps: Steps, rows: list[Value], others: tuple[Value, ...]) -> tuple[list[Value], tuple[Value, ...]]:
    late = steps.cut(*rows, *others)
    return late[: len(rows)], tuple(late[len(rows) :])
