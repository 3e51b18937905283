"""How many trips a loop makes at most whose head depends on data.

Ranges of values say so: of types, masks, minima and iterators, in the first value of the counter, in what it is
compared with and in its step. Or an array does, of which every trip takes the element of the counter's number: with
more trips than it has elements, one of them would take an element that does not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from compiler.frontend.c_scop.normalize.trees import (
    accessed,
    assigned_names,
    block_items,
    clears_lowest_bit,
    declared_names,
    evaluated,
    number,
    stepped,
    used_names,
)
from compiler.frontend.c_scop.types import promote, usual
from compiler.ir.types import Int

__all__ = ["Finder", "Span", "Trips", "most_trips"]

_REVERSED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!="}


@dataclass(frozen=True)
class Span:
    """The least and the greatest value of an expression, and its type."""

    low: int
    high: int
    type: Int


@dataclass(frozen=True)
class Trips:
    """The `most` trips that a loop makes; `proven` if not only because elements that do not exist are not taken."""

    most: int
    proven: bool


Finder = Callable[[Any], Span | None]
"""The values of an expression before a loop, None if nothing is known of them."""


@dataclass(frozen=True)
class _Counter:
    """A loop's counter: its `name` and `type`, its values before the first trip, and how each trip changes it."""

    name: str
    type: Int
    first: Span
    operator: str
    by: Span

    def trips(self, operator: str, end: Span) -> int | None:
        """Trips while it stands in the relation `operator` to a value in `end`."""
        if not usual(promote(self.type), promote(end.type)).signed and (
                min(end.low, self.first.low) < 0 or (self.operator == "-" and self.type.signed)):
            return None
        match self.operator:
            case "+" | "-":
                return self._counted(operator, end)
            case ">>" | "/":
                return self._divided(operator, end)
            case "<<" | "*":
                return self._multiplied(operator, end)
            case "&":
                to_zero = operator in ("!=", ">") and end.low == end.high == 0 <= self.first.low
                return self.first.high.bit_length() if to_zero else None
        return None

    def _counted(self, operator: str, end: Span) -> int | None:
        """With steps that are sums: as if upwards."""
        up = (self.by.low > 0) == (self.operator == "+")
        if self.by.low <= 0 <= self.by.high:
            return None
        least, most = sorted((abs(self.by.low), abs(self.by.high)))
        sign = 1 if up else -1
        start, stop = (self.first.low, end.high) if up else (-self.first.high, -end.low)
        if operator == "!=":
            meets = self.first.high <= end.low if up else self.first.low >= end.high
            inside = self.type.contains(end.low) and self.type.contains(end.high)
            return stop - start if least == most == 1 and meets and inside else None
        if operator not in (("<", "<=") if up else (">", ">=")):
            return None
        stop += len(operator) - 1
        return self._if_inside(sign * (max(stop - 1, start) + most), max(0, -(-(stop - start) // least)))

    def _divided(self, operator: str, end: Span) -> int | None:
        """With steps that divide, down to 0; a division comes there from below, too."""
        factor = self.by.low if self.operator == "/" else 1 << min(self.by.low, 64) if self.by.low > 0 else 0
        lowest = end.low + (operator == ">")
        positive = lowest > 0 if operator in (">", ">=") else operator == "!=" and end.low == end.high == 0
        if factor < 2 or not positive or (self.first.low < 0 and (self.operator != "/" or operator != "!=")):
            return None
        return _steps(max(self.first.high, -self.first.low), lambda value: value > 0, lambda value: value // factor)

    def _multiplied(self, operator: str, end: Span) -> int | None:
        """With steps that multiply."""
        low, high = ((self.by.low, self.by.high) if self.operator == "*" else
                     (1 << self.by.low, 1 << self.by.high) if 0 < self.by.low <= self.by.high < 64 else (0, 0))
        if low < 2 or self.first.low < 1 or operator not in ("<", "<="):
            return None
        stop = end.high + len(operator) - 1
        made = _steps(self.first.low, lambda value: value < stop, lambda value: value * low)
        return self._if_inside(max(stop - 1, self.first.high) * high, made)

    def _if_inside(self, reached: int, trips: int) -> int | None:
        """`trips`, if the counter does not wrap before it has `reached` a value behind the last one."""
        return trips if self.type.contains(reached) else None


def _steps(value: int, goes_on: Callable[[int], bool], step: Callable[[int], int]) -> int:
    count = 0
    while goes_on(value):
        value, count = step(value), count + 1
    return count


def most_trips(loop: c_ast.For, name: str, type: Int, values: Finder,
               shape: Callable[[str], Sequence[int | None]]) -> Trips | None:
    """How many trips `loop` makes at most over counter `name` of `type`; None if that is not known. `values` finds what
    expressions may be, whatever the counter is; `shape` the sizes of an array."""
    changed = {name, *assigned_names(loop.stmt)}
    if name in assigned_names(loop.stmt) or loop.cond is None:
        return None
    counter = _counter(loop, name, type, changed, values)
    if counter is None:
        return None
    found = [trips for operator, end in _tests(loop.cond, name) if not used_names(end) & changed - {name}
             if (span := values(end)) is not None and (trips := counter.trips(operator, span)) is not None]
    bounds = [Trips(most, proven=True) for most in found]
    if counter.operator in ("+", "-") and not counter.by.low <= 0 <= counter.by.high:
        least = min(abs(counter.by.low), abs(counter.by.high))
        bounds += [Trips(-(-size // least), proven=False) for size in _indexed_sizes(loop.stmt, name, shape)]
    return min(bounds, key=lambda trips: (trips.most, not trips.proven), default=None)


def _counter(loop: c_ast.For, name: str, type: Int, changed: Collection[str], values: Finder) -> _Counter | None:
    first = values(loop.init.rvalue if isinstance(loop.init, c_ast.Assignment) else loop.init.decls[0].init)
    update = _update(loop.next, name)
    if first is None or update is None or used_names(update[1]) & set(changed) - {name}:
        return None
    if not (type.contains(first.low) and type.contains(first.high)):
        first = Span(type.minimum, type.maximum, type)
    by = values(update[1])
    return by and _Counter(name, type, first, update[0], by)


def _update(step: Any, name: str) -> tuple[str, Any] | None:
    """Operator and operand of a step."""
    value = stepped(step)
    if assigned_names(step) != [name] or not isinstance(value, c_ast.BinaryOp):
        return None
    if clears_lowest_bit(value, name):
        return "&", number(1, value.coord)
    if isinstance(value.left, c_ast.ID) and value.left.name == name:
        return None if value.op == "&" else (value.op, value.right)
    swapped = isinstance(value.right, c_ast.ID) and value.right.name == name and value.op in ("+", "*")
    return (value.op, value.left) if swapped else None


def _tests(cond: Any, name: str) -> Iterator[tuple[str, Any]]:
    """What `cond` compares variable `name` with, wherever it holds: the relations and the other operands."""
    match cond:
        case c_ast.BinaryOp(op="&&"):
            yield from _tests(cond.left, name)
            yield from _tests(cond.right, name)
        case c_ast.BinaryOp() if cond.op in _REVERSED:
            if isinstance(cond.left, c_ast.ID) and cond.left.name == name:
                yield cond.op, cond.right
            if isinstance(cond.right, c_ast.ID) and cond.right.name == name:
                yield _REVERSED[cond.op], cond.left
        case c_ast.ID() if cond.name == name:
            yield "!=", number(0, cond.coord)


def _indexed_sizes(body: Any, name: str, shape: Callable[[str], Sequence[int | None]]) -> Iterator[int]:
    """Sizes of the arrays of which `body` takes the element of number `name`, or one beside, in every trip."""
    own = declared_names(body)
    for item in block_items(body):
        for array, position, subscript in _subscripts(item):
            sizes = shape(array) if array not in own and _is_beside(subscript, name) else ()
            yield from (size for size in sizes[position : position + 1] if size is not None)


def _subscripts(node: Any) -> Iterator[tuple[str, int, Any]]:
    """Array, position and subscript of every access that `node` makes in any case."""
    array, subscripts = accessed(node)
    if isinstance(array, c_ast.ID):
        yield from ((array.name, position, subscript) for position, subscript in enumerate(subscripts))
    for child in _evaluated(node):
        yield from _subscripts(child)


def _evaluated(node: Any) -> list[Any]:
    """The parts of a statement or an expression that are evaluated whatever the values are."""
    loops = (c_ast.For, c_ast.While, c_ast.DoWhile)
    unused = isinstance(node, loops) or (isinstance(node, c_ast.UnaryOp) and node.op == "sizeof")
    return [] if unused else evaluated(node)


def _is_beside(subscript: Any, name: str) -> bool:
    """Whether a subscript is a variable, or this and a constant."""
    if isinstance(subscript, c_ast.BinaryOp) and subscript.op in ("+", "-"):
        return isinstance(subscript.right, c_ast.Constant) and _is_beside(subscript.left, name)
    return isinstance(subscript, c_ast.ID) and subscript.name == name
