"""Delays of operations: between and beyond the widths that were measured."""

from __future__ import annotations

from math import inf

import pytest

from hw.delays import MEASURED, WIDTHS, OperatorDelays, operator_delays
from hw.ops import DIVISIONS, EVERY_OPERATION

PERIODS = {op: {8: (2.0, 4.0), 16: (3.0, 7.0), 32: (4.0, 9.0)} for op in MEASURED} | {
    "select": {8: (1.5, 2.5), 16: (1.5, 2.5), 32: (1.5, 3.5)}}


def test_interpolation():
    delays = OperatorDelays(PERIODS)
    assert [delays.delay("add", width) for width in (4, 8, 12, 16, 24, 32, 48)] == [0.5, 1, 1.5, 2, 2.25, 2.5, 3]
    assert delays.register == 1.5


def test_operations_that_are_made_of_others():
    delays = OperatorDelays(PERIODS)
    assert delays.delay("lt", 16) == 1.5  # with the selection behind it, 2
    assert delays.delay("max", 16) == delays.delay("lt", 16) + delays.delay("select", 16)
    assert delays.delay("mad", 16) == delays.delay("mul", 16) + delays.delay("add", 16)
    assert delays.delay("xor", 4) == 0.5


def test_constant_operands():
    delays = OperatorDelays(PERIODS)
    assert delays.delay("shr", 16, constant=True) == delays.delay("and", 16, constant=True) == 0
    assert [delays.delay("eq", width, constant=True) for width in (1, 16)] == [0.5, 1]
    assert delays.delay("add", 16, constant=True) == delays.delay("add", 16)


def test_every_operation_but_divisions_has_a_delay_that_was_measured():
    delays = operator_delays()
    assert set(delays.periods) == set(MEASURED) and all(set(row) == set(WIDTHS) for row in delays.periods.values())
    for op in EVERY_OPERATION:
        assert delays.delay(op, 16) == inf if op in (*DIVISIONS, "sqrt") else 0 <= delays.delay(op, 16) < 30


@pytest.mark.parametrize("op", ["add", "lt", "eq", "mul"])
def test_wider_ones_take_longer(op):
    delays = operator_delays()
    assert delays.delay(op, 8) < delays.delay(op, 32)
