"""Program: the one intermediate representation, in the polyhedral model.

Arrays, statements with exact iteration domains and access maps, and an original order that gives every statement
instance its place in time. Array dimensions are in numpy order: the last one varies fastest in memory.
Programs are immutable; transforms return new ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from typing import Literal, TypeVar, get_args

import islpy as isl

from compiler.ir.expr import Expr
from compiler.ir.relations import coordinates, maps
from compiler.ir.types import ProgramError, Type

__all__ = [
    "LEVELS",
    "Access",
    "Array",
    "Level",
    "Location",
    "Memory",
    "Program",
    "ProgramError",
    "Role",
    "Statement",
    "Table",
    "shared_depth",
    "shared_loops",
]

Role = Literal["input", "output", "intermediate"]
ROLES: tuple[str, ...] = get_args(Role)

Level = Literal["", "registers", "memory"]
LEVELS: tuple[str, ...] = get_args(Level)
"""Where the values of an array wait for their readers; "" for what the target chooses."""


@dataclass(frozen=True)
class Location:
    """A line of the user's source. Prints as ``file:line``."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def short(self) -> str:
        """The same without the file's folder, for what must not depend on where the file is."""
        return f"{PurePath(self.file).name}:{self.line}"


@dataclass(frozen=True)
class Array:
    """A dense array of elements of one type; `shape` in numpy order. `level`: where its values are stored, one of
    `LEVELS`, for targets that have such a choice."""

    name: str
    shape: tuple[int, ...]
    type: Type
    role: Role
    level: Level = ""


@dataclass(frozen=True)
class Table:
    """Constants that expressions look up by index."""

    name: str
    values: tuple[int, ...]
    type: Type


@dataclass(frozen=True)
class Memory:
    """Words with addresses that data decide, accessed by the nodes `Load` and `Store` of expressions. It holds what was
    stored last; what it holds before is `initial` in every word, or not defined. `array`: what it is called in the
    program that was asked for. `trap`: accesses outside end the run with an error; without, it is known that there are
    none. `assertion`: what it says that there is an access, which is always outside; the memory has no other use."""

    name: str
    words: int
    type: Type
    array: str = ""
    trap: bool = False
    initial: int | None = None
    assertion: str = ""

    @property
    def label(self) -> str:
        """What messages call it."""
        return self.array or self.name

    def outside(self, verb: str, index: int) -> str:
        """What messages say behind the statement that reads or writes (`verb`) word `index`, which there is not."""
        if self.assertion:
            return f": {self.assertion}"
        return f" {verb} '{self.label}' at {index}, outside its {self.words} elements"


@dataclass(frozen=True)
class Access:
    """One read or write of `array`: a map from statement instances to elements, with the line that asked for it."""

    array: str
    map: isl.Map
    location: Location | None = None


@dataclass(frozen=True)
class Statement:
    """For every point of `domain`: read `reads`, compute `value`, store it through `write`.

    `iterators` names the dimensions of `domain`, outermost loop first. `Read(i)` in `value` is what ``reads[i]``
    delivers. Inside the compiler a read may have no element behind a guard that is closed: it then delivers anything.
    """

    name: str
    iterators: tuple[str, ...]
    domain: isl.Set
    reads: tuple[Access, ...]
    write: Access
    value: Expr
    location: Location | None = None

    def __str__(self) -> str:
        return self.label()

    def __hash__(self) -> int:
        return hash((self.name, self.iterators))

    def label(self, access: Access | None = None) -> str:
        """How messages name the statement: with the source line of `access`, or else its own."""
        location = (access and access.location) or self.location
        return f"statement '{self.name}'{f' ({location})' if location else ''}"

    @property
    def source(self) -> str:
        """Its place in the user's source, without the file's folder; "" if there is none."""
        return self.location.short if self.location else ""

    @cached_property
    def _box(self) -> dict[str, tuple[int, int]] | None:
        domain = self.domain.coalesce()
        if domain.is_empty() or not domain.is_bounded() or not domain.is_box():
            return None
        ends = (coordinates(end.sample_point()) for end in (domain.lexmin(), domain.lexmax()))
        return dict(zip(self.iterators, zip(*ends, strict=True), strict=True))

    def box(self) -> dict[str, tuple[int, int]] | None:
        """First and last value of every iterator if the domain is a box of consecutive integers, else None."""
        return None if self._box is None else dict(self._box)


@dataclass(frozen=True)
class Program:
    """Arrays, tables, statements, memories, and `order`, which maps every statement instance to its time vector.

    `shared`: groups of isomorphic statements that are to take turns on one set of units, where a target has units.
    """

    name: str
    arrays: tuple[Array, ...]
    tables: tuple[Table, ...]
    statements: tuple[Statement, ...]
    order: isl.UnionMap
    shared: tuple[tuple[str, ...], ...] = ()
    memories: tuple[Memory, ...] = ()

    def __hash__(self) -> int:
        return hash((self.name, self.arrays, self.tables, self.statements))

    @property
    def names(self) -> set[str]:
        """Names of all arrays, tables, memories and statements."""
        return {item.name for item in (*self.arrays, *self.tables, *self.memories, *self.statements)}

    def array(self, name: str) -> Array:
        """The array called `name`; `ProgramError` with the names there are if there is none."""
        return _named(self.arrays, name, "array", self.name)

    def table(self, name: str) -> Table:
        """The table called `name`; `ProgramError` with the names there are if there is none."""
        return _named(self.tables, name, "table", self.name)

    def memory(self, name: str) -> Memory:
        """The memory called `name`; `ProgramError` with the names there are if there is none."""
        return _named(self.memories, name, "memory", self.name)

    def statement(self, name: str) -> Statement:
        """The statement called `name`; `ProgramError` with the names there are if there is none."""
        return _named(self.statements, name, "statement", self.name)

    @property
    def inputs(self) -> tuple[Array, ...]:
        """Arrays that come from memory."""
        return tuple(array for array in self.arrays if array.role == "input")

    @property
    def outputs(self) -> tuple[Array, ...]:
        """Arrays that go to memory."""
        return tuple(array for array in self.arrays if array.role == "output")

    @property
    def image_input(self) -> Array:
        """The input that takes the picture: the only one with two or three dimensions.

        Raises `ProgramError` if no input, or more than one, has that many.
        """
        images = [array for array in self.inputs if len(array.shape) in (2, 3)]
        if len(images) != 1:
            names = ", ".join(array.name for array in images) or "none"
            message = f"program '{self.name}' needs one image, an input of 2 or 3 dimensions; it has: {names}"
            raise ProgramError(message)
        return images[0]

    def order_of(self, statement: str) -> isl.Map:
        """The part of `order` that belongs to one statement: {statement[iterators] -> [time]}."""
        space = self.statement(statement).domain.get_space()
        pieces = [piece for piece in self._orders.get(statement, ()) if piece.domain().get_space() == space]
        if len(pieces) != 1:
            raise ProgramError(f"{self.statement(statement)} has no place in the order")
        return pieces[0]

    def first_time(self, statement: str) -> tuple[int, ...]:
        """Time vector of a statement's first instance."""
        if statement not in self._first_times:
            first = self.order_of(statement).intersect_domain(self.statement(statement).domain).range().lexmin()
            self._first_times[statement] = coordinates(first.sample_point())
        return self._first_times[statement]

    @cached_property
    def _first_times(self) -> dict[str, tuple[int, ...]]:
        return {}

    @cached_property
    def _orders(self) -> dict[str, list[isl.Map]]:
        """The pieces of `order` by the name of the statement."""
        found: dict[str, list[isl.Map]] = {}
        for piece in maps(self.order):
            found.setdefault(piece.get_tuple_name(isl.dim_type.in_) or "", []).append(piece)
        return found


def shared_depth(program: Program) -> int:
    """Number of leading loops that surround all statements together, read off the 2d+1 order.

    A program with one statement shares all of its loops. Loops are shared when the constant dimensions before them
    and the iterators in them agree in every statement: time dimension 2k is the position among siblings,
    2k+1 the iterator of loop k. An order of another form shares nothing from the first dimension that differs on.
    """
    return len(shared_loops(program))


def shared_loops(program: Program) -> tuple[str, ...]:
    """Names of the loops that `shared_depth` counts, outermost first."""
    if not program.statements:
        return ()
    prefixes = [_loop_prefix(program, statement) for statement in program.statements]
    shared: list[str] = []
    for level in zip(*prefixes, strict=False):
        if len(set(level)) != 1:
            break
        shared.append(level[0][1])
    return tuple(shared)


def _loop_prefix(program: Program, statement: Statement) -> list[tuple[int, str]]:
    """(position among siblings, iterator) of every loop around `statement` while the order has the 2d+1 form."""
    order = program.order_of(statement.name)
    prefix = []
    for depth, name in enumerate(statement.iterators):
        if order.dim(isl.dim_type.out) < 2 * depth + 2:
            break
        position = order.plain_get_val_if_fixed(isl.dim_type.out, 2 * depth)
        equal = order.equate(isl.dim_type.in_, depth, isl.dim_type.out, 2 * depth + 1)
        if position.is_nan() or not order.is_equal(equal):
            break
        prefix.append((position.to_python(), name))
    return prefix


_Item = TypeVar("_Item", Array, Table, Memory, Statement)


def _named(items: Iterable[_Item], name: str, kind: str, program: str) -> _Item:
    items = tuple(items)
    for item in items:
        if item.name == name:
            return item
    known = ", ".join(item.name for item in items) or "none"
    raise ProgramError(f"program '{program}' has no {kind} '{name}'; there are: {known}")
