"""Affine functions of counters and predicates on them, as combinational logic: tables where few bits are involved, else
sums. Neither multipliers nor dividers are built, which would be the slowest paths of a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_, or_
from typing import Any

import numpy as np
from amaranth.hdl import Const, Mux, Value

from hw.dataflow.affine_tables import involved, involved_in, involved_in_pieces, is_small, table
from hw.dataflow.spec import Affine, Constraint, Piece, Predicate

__all__ = ["affine_value", "evaluate_affine", "evaluate_pieces", "piecewise_column", "piecewise_value",
           "predicate_column", "predicate_value"]


def affine_value(function: Affine, counters: Sequence[Value]) -> Value:
    """`function` of `counters` (outermost first), exact."""
    used = involved(function)
    if is_small(counters, used):
        return table(counters, used, lambda vector: evaluate_affine(function, vector))
    total: Value = Const(function.constant)
    for coefficient, counter in zip(function.coefficients, counters, strict=True):
        total = _plus_product(total, counter, coefficient)
    for floor in function.floors:
        total = _plus_product(total, _divided(affine_value(floor.inner, counters), floor.divisor), floor.weight)
    return total


def _plus_product(total: Value, value: Value, factor: int) -> Value:
    """``total + value * factor`` by shifts: a term for each digit that is not zero of the factor's canonical signed
    form (Reitwiesner 1960)."""
    shift = 0
    while factor:
        digit = 2 - factor % 4 if factor % 2 else 0
        if digit:
            total = total + (value << shift) if digit > 0 else total - (value << shift)
        factor, shift = (factor - digit) // 2, shift + 1
    return total


def _divided(value: Value, divisor: int) -> Value:
    """``floor(value / divisor)``: a shift if that does it, else a product with the reciprocal (Granlund and Montgomery
    1994), which has as many more bits as the divisor: exact."""
    if divisor & (divisor - 1) == 0:
        return value >> divisor.bit_length() - 1
    least = 1 << len(value) - 1 if value.shape().signed else 0
    below = -(-least // divisor)
    raised = (value + below * divisor).as_unsigned()  # not negative
    bits = len(raised) + divisor.bit_length()
    return (_plus_product(Const(0), raised, -(-(1 << bits) // divisor)) >> bits) - below


def predicate_value(predicate: Predicate, counters: Sequence[Value]) -> Value:
    """One bit: whether `predicate` holds."""
    used = involved_in(predicate)
    if is_small(counters, used):
        return table(counters, used, lambda vector: int(_any(predicate, vector)))
    cases = [reduce(and_, (_holds(c, counters) for c in case), Const(1)) for case in predicate]
    return reduce(or_, cases, Const(0, 1))


def _holds(constraint: Constraint, counters: Sequence[Value]) -> Value:
    used = involved(constraint.value)
    if is_small(counters, used):
        return table(counters, used, lambda vector: int(_true(constraint, vector)))
    value = affine_value(constraint.value, counters)
    return value == 0 if constraint.equality else value >= 0


def piecewise_value(pieces: Sequence[Piece], counters: Sequence[Value]) -> Value:
    """The function that `pieces` describe."""
    used = involved_in_pieces(pieces)
    if is_small(counters, used):
        return table(counters, used, lambda vector: evaluate_pieces(pieces, vector))
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
        if _any(where, counters):
            return evaluate_affine(function, counters)
    return evaluate_affine(pieces[-1][1], counters)


def _any(predicate: Predicate, counters: Sequence[int]) -> bool:
    return any(all(_true(c, counters) for c in case) for case in predicate)


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
