"""Values as text: numbers, and arrays in braces as the language has them: ``{{1, 2}, {3, 4}}``.

Complex numbers are ``(re, im)``. Between values stand blanks or lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from compiler.frontend.sac.ddcf.graph import Port
from compiler.ir.types import ProgramError

__all__ = ["parse_values", "print_values"]

_TOKEN = re.compile(r"\s*(?P<token>[{}(),]|[-+]?(?:inf|nan|0[xX][0-9a-fA-F]+|[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?|"
                    r"[0-9]+\.|true|false)|$)")
_WORDS = {"true": 1, "false": 0}


def parse_values(text: str, ports: Sequence[Port], where: str) -> list[np.ndarray]:
    """The values of `ports`, one after the other. Raises `ProgramError`, with `where` and the line, for text that is
    none, ragged arrays, and too few or too many values."""
    reader = _Reader(text, where)
    found = [reader.value(port) for port in ports]
    if reader.token:
        raise reader.error(f"'{reader.token}' is behind the last value")
    return found


class _Reader:
    """Tokens of a text, one after the other; `token` is the next, empty at the end."""

    def __init__(self, text: str, where: str) -> None:
        self.text, self.where, self.place, self.line = text, where, 0, 1
        self.token = ""
        self.advance()

    def error(self, reason: str) -> ProgramError:
        return ProgramError(f"{self.where}:{self.line}: {reason}")

    def advance(self) -> str:
        """The token that was next."""
        before = self.token
        match = _TOKEN.match(self.text, self.place)
        if match is None:
            rest = self.text[self.place:].split()
            self.line = self.text.count("\n", 0, len(self.text) - len(self.text[self.place:].lstrip())) + 1
            raise self.error(f"'{rest[0][:20]}' is no value")
        self.place, self.token = match.end(), match["token"]
        self.line = self.text.count("\n", 0, match.start("token")) + 1
        return before

    def take(self, wanted: str, what: str) -> None:
        if self.token != wanted:
            raise self.error(f"{what} needs '{wanted}', and here stands '{self.token or 'the end'}'")
        self.advance()

    def value(self, port: Port) -> np.ndarray:
        """The value of one port."""
        type_, is_complex = port.types[0], len(port.types) == 2
        nested = self._nested(port, type_.rank, is_complex)
        shape = _shape(nested, type_.rank)
        flat = list(_flat(nested, type_.rank))
        for extent, declared in zip(shape, type_.extents, strict=True):
            if declared not in (None, extent):
                raise self.error(f"input {port.name} has shape {list(shape)}, and its type is {type_}")
        if len(flat) != int(np.prod(shape)):
            raise self.error(f"input {port.name} is ragged: its rows have different extents")
        kind = complex if is_complex else float if any(isinstance(v, float) for v in flat) else np.int64
        return np.asarray(flat, dtype=kind).reshape(shape)

    def _nested(self, port: Port, rank: int, is_complex: bool) -> Any:
        if rank == 0:
            return self._complex(port) if is_complex else self._number(port)
        self.take("{", f"input {port.name} of type {port.types[0]}")
        found = []
        while self.token != "}":
            found.append(self._nested(port, rank - 1, is_complex))
            if self.token == ",":
                self.advance()
            elif self.token != "}":
                raise self.error(f"input {port.name}: ',' or '}}' is needed, and here stands "
                                 f"'{self.token or 'the end'}'")
        self.advance()
        return found

    def _complex(self, port: Port) -> complex:
        self.take("(", f"complex input {port.name}")
        real = self._number(port)
        self.take(",", f"complex input {port.name}")
        imaginary = self._number(port)
        self.take(")", f"complex input {port.name}")
        return complex(real, imaginary)

    def _number(self, port: Port) -> int | float:
        text = self.token
        if not text or text in "{}(),":
            raise self.error(f"input {port.name} needs a number, and here stands '{text or 'the end'}'")
        self.advance()
        if text in _WORDS:
            return _WORDS[text]
        try:
            return int(text, 16 if "x" in text.lower() else 10)
        except ValueError:
            return float(text)


def _shape(nested: Any, rank: int) -> tuple[int, ...]:
    """Extents by the first rows."""
    shape = []
    for _ in range(rank):
        shape.append(len(nested) if isinstance(nested, list) else 0)
        nested = nested[0] if isinstance(nested, list) and nested else []
    return tuple(shape)


def _flat(nested: Any, rank: int) -> Iterator[Any]:
    if rank == 0:
        yield nested
        return
    for part in nested:
        yield from _flat(part, rank - 1)


def print_values(values: Sequence[np.ndarray]) -> str:
    """The text of values, a line for each, which `parse_values` reads."""
    return "".join(f"{_text(np.asarray(value))}\n" for value in values)


def _text(value: np.ndarray) -> str:
    if value.ndim:
        return "{" + ", ".join(map(_text, value)) + "}"
    if value.dtype.kind == "c":
        return f"({value.real.item()!r}, {value.imag.item()!r})"
    return repr(int(value) if value.dtype.kind == "b" else value.item())
