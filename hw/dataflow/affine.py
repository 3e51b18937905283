"""Affine functions of counters and predicates on them, as combinational logic."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_, or_
from typing import Any

import numpy as np
from amaranth.hdl import Const, Mux, Value

from hw.dataflow.spec import Affine, Constraint, Piece, Predicate

__all__ = ["affine_value", "evaluate_affine", "evaluate_pieces", "piecewise_column", "piecewise_value",
           "predicate_column", "predicate_value"]


def affine_value(function: Affine, counters: Sequence[Value]) -> Value:
    """`function` of `counters` (outermost first), exact."""
    total: Value = Const(function.constant)
    for coefficient, counter in zip(function.coefficients, counters, strict=True):
        if coefficient == 1:
            total = total + counter
        elif coefficient == -1:
            total = total - counter
        elif coefficient:
            total = total + counter * coefficient
    for floor in function.floors:
        total = total + _divided(affine_value(floor.inner, counters), floor.divisor) * floor.weight
    return total


def _divided(value: Value, divisor: int) -> Value:
    """``floor(value / divisor)``; a shift if that does it."""
    if divisor & (divisor - 1) == 0:
        return value >> divisor.bit_length() - 1
    return value // divisor


def predicate_value(predicate: Predicate, counters: Sequence[Value]) -> Value:
    """One bit: whether `predicate` holds."""
    cases = [reduce(and_, (_holds(c, counters) for c in case), Const(1)) for case in predicate]
    return reduce(or_, cases, Const(0, 1))


def _holds(constraint: Constraint, counters: Sequence[Value]) -> Value:
    value = affine_value(constraint.value, counters)
    return value == 0 if constraint.equality else value >= 0


def piecewise_value(pieces: Sequence[Piece], counters: Sequence[Value]) -> Value:
    """The function that `pieces` describe."""
    *others, (_, last) = pieces
    value = affine_value(last, counters)
    for where, function in reversed(others):
        value = Mux(predicate_value(where, counters), affine_value(function, counters), value)
    return value


def evaluate_affine(function: Affine, counters: Sequence[Any]) -> Any:
    """The same on numbers, or on columns of numbers (numpy): the model that the hardware is checked against."""
    terms = (c * v for c, v in zip(function.coefficients, counters, strict=True))
    floors = (f.weight * (evaluate_affine(f.inner, counters) // f.divisor) for f in function.floors)
    return function.constant + sum(terms) + sum(floors)


def evaluate_pieces(pieces: Sequence[Piece], counters: Sequence[int]) -> int:
    """`piecewise_value` on numbers."""
    for where, function in pieces[:-1]:
        if any(all(_true(c, counters) for c in case) for case in where):
            return evaluate_affine(function, counters)
    return evaluate_affine(pieces[-1][1], counters)


def _true(constraint: Constraint, counters: Sequence[int]) -> bool:
    value = evaluate_affine(constraint.value, counters)
    return value == 0 if constraint.equality else value >= 0


def piecewise_column(pieces: Sequence[Piece], columns: Sequence[np.ndarray], count: int) -> np.ndarray:
    """`piecewise_value` for `count` vectors, given as one column per counter."""
    *others, (_, last) = pieces
    value = np.broadcast_to(evaluate_affine(last, columns), count)
    for where, function in reversed(others):
        value = np.where(predicate_column(where, columns, count), evaluate_affine(function, columns), value)
    return value


def predicate_column(predicate: Predicate, columns: Sequence[np.ndarray], count: int) -> np.ndarray:
    """`predicate_value` for `count` vectors, given as one column per counter."""
    always, never = np.ones(count, bool), np.zeros(count, bool)
    cases = [reduce(and_, (_true_column(c, columns) for c in case), always) for case in predicate]
    return reduce(or_, cases, never)


def _true_column(constraint: Constraint, columns: Sequence[np.ndarray]) -> np.ndarray:
    value = np.asarray(evaluate_affine(constraint.value, columns))
    return value == 0 if constraint.equality else value >= 0
