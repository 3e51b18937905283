"""Expressions of a serialised pipeline, decoded without recursion: sums of thousands of terms nest that deep.

A table that several expressions refer to is decoded once.
"""

from __future__ import annotations

from typing import Any

from compiler.frontend.halide.errors import PipelineError
from compiler.frontend.halide.flatbuffer import Buffer, Place
from compiler.frontend.halide.nodes import BOOL, HalideType, Node
from compiler.frontend.halide.records import Record, Records, choice
from compiler.frontend.halide.schema import CALLS, EXPRESSIONS, UNDEFINED

__all__ = ["Expressions"]

_COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not"})
_STRING = HalideType("handle", 64)

_Reference = tuple[int, Place]
"""Which expression, and where its table is."""


class Expressions:
    """The expressions of one buffer, by place."""

    def __init__(self, buffer: Buffer) -> None:
        self._buffer = buffer
        self._known: dict[_Reference, Node] = {}
        self._records = Records(buffer, lambda tag, place: (tag, place))  # type: ignore[arg-type]

    def node(self, tag: int, place: Place) -> Node | None:
        """The expression in the table at `place`, None if it is one that is not there. Raises `PipelineError`."""
        if tag == UNDEFINED:
            return None
        stack: list[tuple[_Reference, Record | None]] = [((tag, place), None)]
        open_: set[_Reference] = set()
        while stack:
            reference, record = stack.pop()
            if reference in self._known:
                continue
            if record is not None:
                open_.discard(reference)
                self._known[reference] = _made(reference[0], record, [self._known[r] for r in _arguments(record)])
                continue
            if reference in open_:
                raise PipelineError("the serialised pipeline is damaged: an expression contains itself")
            open_.add(reference)
            record = self._read(reference)
            stack.append((reference, record))
            stack.extend((argument, None) for argument in _arguments(record))
        return self._known[tag, place]

    def _read(self, reference: _Reference) -> Record:
        tag, place = reference
        op, table = EXPRESSIONS[tag] if 0 < tag < UNDEFINED else ("", "")
        if not table:
            raise PipelineError(f"the serialised pipeline has an expression of an unknown kind, {op or tag}")
        record = self._records.read(self._buffer.table(place), table)
        if any(getattr(record, letter, "") is None for letter in "abc"):
            raise PipelineError(f"the serialised pipeline is damaged: an operand of '{op}' is missing")
        if getattr(record, "type", "") is None:
            raise PipelineError(f"the serialised pipeline is damaged: '{op}' has no type")
        return record


def _arguments(record: Record) -> list[_Reference]:
    fields: dict[str, Any] = vars(record)
    return fields["args"] if "args" in fields else [fields[letter] for letter in "abc" if letter in fields]


def _made(tag: int, record: Record, args: list[Node]) -> Node:
    op = EXPRESSIONS[tag][0]
    fields = vars(record)
    if op == "call":
        kind = choice(CALLS, record.call_type, "kind of call")
        return Node(kind, record.type, tuple(args), name=record.name, index=record.value_index,
                    param=record.param_name, image=record.image_name)
    if op == "variable":
        return Node(op, record.type, name=record.name, param=record.param_name, image=record.image_name)
    return Node(op, _type(op, fields, args), tuple(args), fields.get("value", 0), fields.get("name", ""))


def _type(op: str, fields: dict[str, Any], args: list[Node]) -> HalideType:
    if "type" in fields:
        return fields["type"]
    if op in _COMPARISONS:
        return BOOL
    return args[-1].type if args else _STRING
