"""Statements of layers: accesses that are affine, constants as tables or inputs, and values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import islpy as isl
import numpy as np

from compiler.frontend.kernel import Typed, cast, constant, iterator, lookup
from compiler.frontend.onnx.layers import Index, Loop
from compiler.ir.expr import Read
from compiler.ir.program import Access, Array, Program, Statement, Table
from compiler.ir.types import Int

__all__ = ["Builder", "StatementBuilder", "integer_type"]

_WIDTHS = (8, 16, 32, 64)
_INDEX = Int(32)


def integer_type(low: int, high: int, signed: bool | None = None) -> Int | None:
    """The first of the integer types of 8 to 64 bits that holds `low` to `high`, None if none does."""
    for width in _WIDTHS:
        for sign in (False, True) if signed is None else (signed,):
            if Int(width, sign).contains(low) and Int(width, sign).contains(high):
                return Int(width, sign)
    return None


def affine_text(index: Index) -> str:
    """As isl writes it."""
    terms = [f"{factor}*{name}" if name else str(factor) for name, factor in index.items() if factor]
    return " + ".join(terms) or "0"


@dataclass
class Builder:
    """A program under construction. `tables`: constants with more than one value are tables; else they are inputs,
    whose values are in `constants`."""

    name: str
    tables: bool
    arrays: dict[str, Array] = field(default_factory=dict)
    kept: dict[str, Table] = field(default_factory=dict)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)
    times: list[list[str]] = field(default_factory=list)

    def program(self) -> Program:
        """All of it, not verified."""
        length = max((len(time) for time in self.times), default=1)
        order = isl.UnionMap("{}")
        for statement, time in zip(self.statements, self.times, strict=True):
            head = f"{statement.name}[{', '.join(statement.iterators)}]"
            order = order.union(isl.UnionMap(f"{{ {head} -> [{', '.join([*time, *['0'] * (length - len(time))])}] }}"))
        return Program(self.name, tuple(self.arrays.values()), tuple(self.kept.values()), tuple(self.statements), order)

    def statement(self, name: str, loops: Sequence[Loop], place: Sequence[int],
                  conditions: Iterable[str] = ()) -> StatementBuilder:
        """A statement in `loops`; `place`: its position around and in each of them, outermost first."""
        return StatementBuilder(self, name, tuple(loops), tuple(place), tuple(conditions))


@dataclass
class StatementBuilder:
    """One statement: `read`, `constant` and what Python computes with them, then `store`."""

    builder: Builder
    name: str
    loops: tuple[Loop, ...]
    place: tuple[int, ...]
    conditions: tuple[str, ...]
    reads: list[Access] = field(default_factory=list)

    def read(self, array: str, index: Sequence[Index]) -> Typed:
        """The element of an array."""
        self.reads.append(Access(array, self._map(array, index)))
        return Typed(Read(len(self.reads) - 1, self.builder.arrays[array].type))

    def constant(self, name: str, values: np.ndarray, index: Sequence[Index], signed: bool | None = None) -> Typed:
        """The element of a constant array; `name` is what its table or input is called."""
        type = integer_type(int(values.min()), int(values.max()), signed)
        assert type is not None
        if (values == values.flat[0]).all():
            return constant(type, int(values.flat[0]))
        if self.builder.tables:
            table = Table(name, tuple(int(value) for value in values.flat), type)
            self.builder.kept[name] = table
            return lookup(table, self._position(index, values.shape))
        self.builder.arrays[name] = Array(name, values.shape, type, "input")
        self.builder.constants[name] = values.astype(type.dtype)
        return self.read(name, index)

    def table(self, name: str, values: Sequence[int], entry: Typed) -> Typed:
        """Entry `entry`, which data decide, of a constant table."""
        type = integer_type(min(values), max(values), True)
        assert type is not None
        self.builder.kept[name] = Table(name, tuple(values), type)
        return lookup(self.builder.kept[name], entry)

    def store(self, array: str, index: Sequence[Index], value: Typed) -> None:
        """Write `value`, converted to the array's type, and end the statement."""
        type = self.builder.arrays[array].type
        assert isinstance(type, Int)
        names = tuple(loop.name for loop in self.loops)
        bounds = [f"0 <= {loop.name} < {loop.extent}" for loop in self.loops]
        domain = isl.Set(f"{{ {self.name}[{', '.join(names)}] : {' and '.join([*bounds, *self.conditions])} }}")
        write = Access(array, self._map(array, index))
        self.builder.statements.append(Statement(self.name, names, domain, tuple(self.reads), write,
                                                 cast(type, value).expr))
        time = [str(self.place[0])]
        for loop, position in zip(self.loops, self.place[1:], strict=True):
            time += [loop.name, str(position)]
        self.builder.times.append(time)

    def _map(self, array: str, index: Sequence[Index]) -> isl.Map:
        names = ", ".join(loop.name for loop in self.loops)
        return isl.Map(f"{{ {self.name}[{names}] -> {array}[{', '.join(map(affine_text, index))}] }}")

    def _position(self, index: Sequence[Index], shape: Sequence[int]) -> Typed:
        """Where an element is in a flat table."""
        flat: dict[str, int] = {}
        stride = 1
        for part, extent in zip(reversed(index), reversed(shape), strict=True):
            for name, factor in part.items():
                flat[name] = flat.get(name, 0) + factor * stride
            stride *= extent
        return self._value(flat)

    def _value(self, index: Mapping[str, int]) -> Typed:
        total = constant(_INDEX, index.get("", 0))
        for name, factor in index.items():
            if name and factor:
                term = iterator(name, _INDEX)
                total = total + (term if factor == 1 else term * factor)
        return total
