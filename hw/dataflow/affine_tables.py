"""Functions of few bits as tables: look-up tables of an FPGA take any such function at once, whatever its formula.

A table is a `case` in Verilog. As a constant that is shifted by the index, Verilator 5.48 gets it wrong: it gathers
``(C >> x) | (D >> x)`` of constants as ``(C | D) >> x`` with the width of one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from amaranth.hdl import Array, Cat, Value

from hw.dataflow.spec import Affine, Piece, Predicate

__all__ = ["TABLE_BITS", "involved", "involved_in", "involved_in_pieces", "is_small", "table"]

TABLE_BITS = 6
"""Bits of the operands up to which a function is a table: a few look-up tables for each bit of the result."""


def involved(function: Affine) -> set[int]:
    """Numbers of the counters that `function` depends on."""
    own = {k for k, coefficient in enumerate(function.coefficients) if coefficient}
    return own.union(*(involved(floor.inner) for floor in function.floors if floor.weight))


def involved_in(predicate: Predicate) -> set[int]:
    """Numbers of the counters that `predicate` depends on."""
    return set().union(*(involved(constraint.value) for case in predicate for constraint in case))


def involved_in_pieces(pieces: Sequence[Piece]) -> set[int]:
    """Numbers of the counters that the function described by `pieces` depends on; the last one holds where no other
    does."""
    *others, (_, last) = pieces
    return involved(last).union(*(involved_in(where) | involved(function) for where, function in others))


def is_small(counters: Sequence[Value], used: Iterable[int]) -> bool:
    """Whether a function of the counters number `used` is to be a table."""
    return sum(len(counters[k]) for k in used) <= TABLE_BITS


def table(counters: Sequence[Value], used: Iterable[int], function: Callable[[list[int]], int]) -> Value:
    """`function` of all counters, which depends on those number `used` only; for the others it is given zeros."""
    places = sorted(used)
    words = [function(vector) for vector in _vectors(counters, places)]
    return Value.cast(Array(words)[Cat(Value.cast(counters[k]) for k in places)] if places else words[0])


def _vectors(counters: Sequence[Value], places: Sequence[int]) -> list[list[int]]:
    """All vectors, by the bits of the counters at `places`, the first of which are the lowest."""
    vectors = [[0] * len(counters)]
    for place in places:
        width, signed = len(counters[place]), Value.cast(counters[place]).shape().signed
        values = [bits - (1 << width if signed and bits >> width - 1 else 0) for bits in range(1 << width)]
        vectors = [[*vector[:place], value, *vector[place + 1:]] for value in values for vector in vectors]
    return vectors
