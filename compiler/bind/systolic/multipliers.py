"""Multipliers that operators take."""

from __future__ import annotations

from hw.dataflow.spec import Operator
from hw.float.product import multiplier_count
from hw.ops import MULTIPLICATIONS

__all__ = ["multipliers"]


def multipliers(operator: Operator) -> int:
    """How many `operator` takes: a product of floating-point numbers those of its significands, others one."""
    if operator.op not in MULTIPLICATIONS:
        return 0
    word = operator.word
    return multiplier_count(word.width - word.exponent) if word.exponent else 1
