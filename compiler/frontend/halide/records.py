"""Tables of a serialised pipeline as records: one attribute per field of `schema.TABLES`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from compiler.frontend.halide.errors import PipelineError
from compiler.frontend.halide.flatbuffer import Buffer, Place, Table
from compiler.frontend.halide.nodes import HalideType, Node
from compiler.frontend.halide.schema import REQUIREMENT, TABLES, TYPE_CODES, Field

__all__ = ["Record", "Records", "check_slots", "choice", "scalar_type"]

_NUMBERS = {"b": "?", "i8": "b", "u8": "B", "i32": "i", "u64": "Q", "i64": "q", "f64": "d"}
_WIDTHS = {"?": 1, "b": 1, "B": 1, "i": 4, "Q": 8, "q": 8, "d": 8}


class Record:
    """The fields of one table."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.__dict__.update(fields)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


class Records:
    """Reads tables. `node` reads an expression: (which one, place of its table) -> the expression, None if it is not
    there."""

    def __init__(self, buffer: Buffer, node: Callable[[int, Place], Node | None]) -> None:
        self._buffer, self._node = buffer, node

    def read(self, table: Table, name: str, only: Sequence[str] = ()) -> Record:
        """The record of a table, or some fields of it. Raises `PipelineError` for fields that are not known."""
        fields = TABLES[name]
        if not only:
            check_slots(table, name)
        return Record({field.name: self._field(table, field) for field in fields if not only or field.name in only})

    def _field(self, table: Table, field: Field) -> Any:
        place = table.place(field.slot + field.slots - 1)
        if field.kind.startswith("*"):
            return place if not field.vector else [] if place is None else list(self._buffer.vector(place, 1))
        if field.kind in ("E", "S"):
            return self._union(table.place(field.slot), place, field)
        if place is None:
            return [] if field.vector else _absent(field.kind)
        if field.vector:
            return [self._value(at, field.kind) for at in self._buffer.vector(place, _size(field.kind))]
        return self._value(place, field.kind)

    def _value(self, place: Place, kind: str) -> Any:
        if kind in _NUMBERS:
            return self._buffer.number(place, _NUMBERS[kind])
        if kind == "s":
            return self._buffer.text(place)
        if kind == "bytes":
            return self._buffer.bytes(place)
        table = self._buffer.table(self._buffer.reference(place))
        return scalar_type(table) if kind == "Type" else self.read(table, kind)

    def _union(self, tags: Place | None, place: Place | None, field: Field) -> Any:
        if tags is None or place is None:
            return [] if field.vector else None
        if not field.vector:
            return self._tagged(int(self._buffer.number(tags, "B")), self._buffer.reference(place), field.kind)
        pairs = zip(self._buffer.vector(tags, 1), self._buffer.vector(place, 4), strict=False)
        found = [self._tagged(int(self._buffer.number(tag, "B")), self._buffer.reference(at), field.kind)
                 for tag, at in pairs]
        if None in found:
            raise PipelineError("the serialised pipeline is damaged: an expression is missing")
        return found

    def _tagged(self, tag: int, place: Place, kind: str) -> Any:
        if kind == "E":
            return self._node(tag, place)
        if tag != REQUIREMENT:
            raise PipelineError(f"the serialised pipeline has a requirement of an unknown kind, {tag}")
        return self.read(self._buffer.table(place), "Assert")


def _size(kind: str) -> int:
    return _WIDTHS[_NUMBERS[kind]] if kind in _NUMBERS else 4


def _absent(kind: str) -> Any:
    return 0 if kind in _NUMBERS else "" if kind == "s" else b"" if kind == "bytes" else None


def check_slots(table: Table, name: str) -> None:
    """Raise `PipelineError` if a table has a field behind those that are known."""
    fields = TABLES[name]
    known = fields[-1].slot + fields[-1].slots
    if table.last() >= known:
        raise PipelineError(f"the serialised pipeline has an unknown field, number {table.last()} of a {name}")


def choice(names: Sequence[str], number: int, what: str) -> str:
    """The name of a number. Raises `PipelineError` if it has none."""
    if not 0 <= number < len(names):
        raise PipelineError(f"the serialised pipeline has an unknown {what}, {number}")
    return names[number]


def scalar_type(table: Table) -> HalideType:
    """The type that a table says. Raises `PipelineError` for vectors."""
    check_slots(table, "Type")
    numbers = []
    for slot, layout in enumerate("bBi"):
        place = table.place(slot)
        numbers.append(0 if place is None else int(table.buffer.number(place, layout)))
    if numbers[2] != 1:
        raise PipelineError(f"the serialised pipeline has values of {numbers[2]} lanes")
    return HalideType(choice(TYPE_CODES, numbers[0], "type"), numbers[1])
