"""From a C file to text that the C parser takes: comments, macros, conditionals and includes.

The project has its own small preprocessor so that the front end needs no C compiler and so that columns in messages
are those of the user's file, before macros are expanded. What it does:

* ``//`` and ``/* */`` comments become blanks; a backslash at the end of a line joins it with the next;
* ``#define NAME text``, ``#define NAME(a, b) text`` with ``##`` (without ``#`` and ``...``), and ``#undef``; the
  arguments of a use are on one line;
* ``#if``, ``#ifdef``, ``#ifndef``, ``#elif``, ``#else``, ``#endif`` with integer expressions and ``defined``;
* ``#include "file"`` reads the file beside the including one or in a given folder; ``#include <...>`` is read if it
  is in a given folder, else left out, and types and limits of the standard headers are always there;
* ``#pragma`` lines pass, macros are expanded in those that begin with ``sluice``; ``#error`` is an error.

Parameters given by the caller are the values of the object-like macros that the file defines or tests, whatever its
own ``#define`` says.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from compiler.frontend.c_scop.conditionals import Conditionals
from compiler.frontend.c_scop.errors import Place, ScopError
from compiler.frontend.c_scop.limits import limit, limit_note

__all__ = ["Source", "preprocess"]

_TOKEN = re.compile(
    r"""[A-Za-z_]\w* | \.?\d(?:[eEpP][+-]|[\w.])* | "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*' | \s+ | .""", re.VERBOSE
)
_COMMENT = re.compile(r"""//[^\n]* | /\*.*?\*/ | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'""", re.VERBOSE | re.DOTALL)
_DIRECTIVE = re.compile(r"\s*#\s*(\w*)\s*(.*)", re.DOTALL)
_DEFINE = re.compile(r"([A-Za-z_]\w*)(?:\(([^)]*)\))?(.*)", re.DOTALL)
_DEEPEST_INCLUDE = 20
_OUTSIDE_HEADERS = {f"{name}.h" for name in (
    "complex", "ctype", "errno", "fenv", "float", "inttypes", "iso646", "locale", "setjmp", "signal", "stdalign",
    "stdarg", "stdatomic", "stdio", "stdnoreturn", "strings", "tgmath", "threads", "time", "uchar", "wchar", "wctype",
    "unistd", "sys/time", "sys/types", "sys/stat", "immintrin", "omp")}
"""Headers of the system that code outside of scops uses; nothing of theirs is known in one."""

HEADERS = {f"{name}.h" for name in ("stdint", "stdbool", "stdlib", "math", "string", "limits", "stddef", "assert")}

LIMITS = {
    **{f"INT{w}_MAX": str(2 ** (w - 1) - 1) + ("L" if w == 64 else "") for w in (8, 16, 32, 64)},
    **{f"INT{w}_MIN": f"(-{2 ** (w - 1) - 1}{'L' if w == 64 else ''}-1)" for w in (8, 16, 32, 64)},
    **{f"UINT{w}_MAX": str(2 ** w - 1) + {32: "U", 64: "UL"}.get(w, "") for w in (8, 16, 32, 64)},
    "CHAR_BIT": "8", "SCHAR_MAX": "127", "SCHAR_MIN": "(-128)", "UCHAR_MAX": "255", "CHAR_MAX": "127",
    "CHAR_MIN": "(-128)", "SHRT_MAX": "32767", "SHRT_MIN": "(-32768)", "USHRT_MAX": "65535",
    "INT_MAX": "2147483647", "INT_MIN": "(-2147483647-1)", "UINT_MAX": "4294967295U",
    "LONG_MAX": "9223372036854775807L", "LONG_MIN": "(-9223372036854775807L-1)", "ULONG_MAX": "18446744073709551615UL",
    "true": "1", "false": "0",
}
"""Macros of <limits.h>, <stdint.h> and <stdbool.h>, which are always there."""


@dataclass(frozen=True)
class _Function:
    """A macro with parameters."""

    parameters: tuple[str, ...]
    body: str


@dataclass
class Source:
    """Preprocessed text. `macros` are the object-like macros at its end, `settable` all names that parameters set."""

    text: str = ""
    macros: dict[str, str] = field(default_factory=dict)
    settable: set[str] = field(default_factory=set)
    segments: dict[tuple[str, int], list[tuple[int, int, bool]]] = field(default_factory=dict)

    def place(self, coordinate: object) -> Place:
        """The place in the user's file of a parser coordinate (anything with `file`, `line` and `column`)."""
        file, line = str(getattr(coordinate, "file", "")), int(getattr(coordinate, "line", 0) or 0)
        column = int(getattr(coordinate, "column", 0) or 0)
        parts = self.segments.get((file, line), [])
        number = bisect_right(parts, (column, 1 << 30, True)) - 1
        if number < 0:
            return Place(file, line, column)
        start, original, verbatim = parts[number]
        return Place(file, line, original + (column - start if verbatim else 0))


def preprocess(text: str, file: str, folders: tuple[Path, ...], parameters: Mapping[str, str]) -> Source:
    """`text` of `file` without directives; includes are looked for in `folders`, of which the first is its own.

    Raises `ScopError`.
    """
    source = Source(macros=dict(LIMITS))
    worker = _Preprocessor(source, parameters, folders[1:])
    worker.run(text, file, folders[0], 0)
    return source


class _Preprocessor:
    def __init__(self, source: Source, parameters: Mapping[str, str], folders: tuple[Path, ...]) -> None:
        self._folders = folders
        self._most = limit("macro_characters")
        self._source = source
        self._parameters = parameters
        self._functions: dict[str, _Function] = {}
        self._output: list[str] = []

    def run(self, text: str, file: str, folder: Path, depth: int) -> None:
        conditionals = Conditionals(self._source.macros, self._parameters, self._source.settable)
        self._output.append(f'# 1 "{file}"')
        for number, line in _logical_lines(_without_comments(text)):
            place = Place(file, number)
            directive = _DIRECTIVE.fullmatch(line)
            if directive and directive[1] != "pragma":
                rest = directive[2].replace("\n", " ").strip()
                self._directive(directive[1], rest, place, folder, depth, conditionals)
                self._blank(line)
            elif not conditionals.active:
                self._blank(line)
            elif directive and directive[2].split()[:1] != ["sluice"]:
                self._output.extend(line.split("\n"))
            else:
                self._output.append(self._expanded(line, place))
        conditionals.finish(file)
        self._source.text = "\n".join(self._output) + "\n"

    def _blank(self, line: str) -> None:
        """As many empty lines as `line` had, so that later lines keep their numbers."""
        self._output.extend([""] * (line.count("\n") + 1))

    def _directive(self, name: str, rest: str, place: Place, folder: Path, depth: int,
                   conditionals: Conditionals) -> None:
        if conditionals.handle(name, rest, place) or not conditionals.active:
            return
        match name:
            case "define":
                self._define(rest, place)
            case "undef":
                self._source.macros.pop(rest, None)
                self._functions.pop(rest, None)
            case "include":
                self._include(rest, place, folder, depth)
            case "error":
                raise ScopError(place, f"#error {rest}")

    def _define(self, rest: str, place: Place) -> None:
        match = _DEFINE.fullmatch(rest)
        if match is None:
            raise ScopError(place, f"#define {rest}: a macro needs a name")
        name, parameters, body = match[1], match[2], match[3].strip()
        if match[3].startswith("("):
            raise ScopError(place, f"#define {rest}: its parameters do not end")
        if parameters is not None:
            names = tuple(word.strip() for word in parameters.split(",")) if parameters.strip() else ()
            self._functions[name] = _Function(names, body)
        else:
            self._source.settable.add(name)
            self._source.macros[name] = self._parameters.get(name, body)

    def _include(self, rest: str, place: Place, folder: Path, depth: int) -> None:
        angle = rest.startswith("<")
        name = rest.strip('"<>')
        candidates = [place / name for place in (*(() if angle else (folder,)), *self._folders)]
        path = next((path for path in candidates if path.is_file()), folder / name)
        if angle and name in HEADERS:
            return
        if angle and not (self._folders and path.is_file()):
            if name in _OUTSIDE_HEADERS:
                return
            known = ", ".join(sorted(HEADERS))
            raise ScopError(place, f"#include {rest}: it is no known header ({known}) and in no folder that -I gives; "
                                   "add -I DIR")
        if depth == _DEEPEST_INCLUDE:
            raise ScopError(place, f"#include {rest}: includes nest too deeply")
        if not path.is_file():
            raise ScopError(place, f"#include {rest}: there is no file {path}")
        self.run(path.read_text(encoding="utf-8-sig", errors="replace"), str(path), path.parent, depth + 1)
        self._output.append(f'# {place.line} "{place.file}"')

    def _expanded(self, line: str, place: Place) -> str:
        """`line` with macros expanded; remembers which column comes from where."""
        result, column, position = [], 1, 1
        segments = []
        for token, new in self._units(line, frozenset(), place, whole=True):
            segments.append((column, position, new == token))
            result.append(new)
            column += len(new)
            position += len(token)
        self._source.segments[place.file, place.line] = segments
        return "".join(result)

    def _units(self, text: str, hidden: frozenset[str], place: Place, *, whole: bool = False
               ) -> Iterator[tuple[str, str]]:
        """Tokens of `text`, uses of macros with their arguments, and what becomes of each. `whole`: it is a line of
        the file, else all that is at `place`; macros that are `hidden` stay."""
        tokens = [match[0] for match in _TOKEN.finditer(text)]
        column = 0
        while tokens:
            here = place._replace(column=column + 1) if whole else place
            token, *rest = tokens
            used = 1
            if token in self._functions and token not in hidden and "".join(rest).lstrip().startswith("("):
                used, arguments = _arguments(tokens, here)
                new = self._called(token, arguments, hidden, here)
            elif token in self._source.macros and token not in hidden:
                new = self._rescanned(self._source.macros[token], hidden | {token}, here)
            else:
                new = token
            given = "".join(tokens[:used])
            yield given, new
            column += len(given)
            tokens = tokens[used:]

    def _rescanned(self, text: str, hidden: frozenset[str], place: Place) -> str:
        """`text` with macros expanded. Raises `ScopError` as soon as the line expands beyond its budget."""
        parts: list[str] = []
        size = 0
        for _, new in self._units(text, hidden, place):
            parts.append(new)
            size += len(new)
            if size > self._most:
                raise ScopError(place, f"macros expand to more than {self._most} characters on this line; "
                                       f"assign parts of it to variables {limit_note('macro_characters')}")
        return "".join(parts)

    def _called(self, name: str, arguments: list[str], hidden: frozenset[str], place: Place) -> str:
        """A use of a macro with parameters."""
        function = self._functions[name]
        names = function.parameters
        if "..." in names or re.search(r"(?<!#)#(?!#)", function.body):
            raise ScopError(place, f"macro '{name}' uses '{'...' if '...' in names else '#'}', which is not supported")
        if not names and not "".join(arguments).strip():
            arguments = []
        if len(arguments) != len(names):
            raise ScopError(place, f"macro '{name}' has {len(names)} parameters, not {len(arguments)}")
        inside = hidden | {name}
        given = {key: value.strip() for key, value in zip(names, arguments, strict=True)}
        expanded = {key: self._rescanned(value, hidden, place) for key, value in given.items()}
        parts = re.split(r"\s*##\s*", function.body)
        # An operand of ## is taken as it was written.
        glued = [_substituted(part, given if len(parts) > 1 else expanded) for part in parts]
        return self._rescanned("".join(glued), inside, place)


def _substituted(body: str, values: Mapping[str, str]) -> str:
    return "".join(values.get(match[0], match[0]) for match in _TOKEN.finditer(body))


def _arguments(tokens: list[str], place: Place) -> tuple[int, list[str]]:
    """How many tokens the use of a macro at the beginning of `tokens` has, and its arguments."""
    found, depth = [""], 0
    for number, token in enumerate(tokens[1:], 2):
        if token == ")" and depth == 1:
            return number, found
        opening = token in "([{" and not token.isspace()
        if token == "," and depth == 1:
            found.append("")
        elif depth or not (opening or token.isspace()):
            found[-1] += token
        depth += opening - (token in ")]}" and not token.isspace())
    raise ScopError(place, f"the arguments of macro '{tokens[0]}' do not end on their line")


def _without_comments(text: str) -> str:
    """`text` with comments as blanks; line breaks stay."""

    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match[0]) if match[0].startswith("/") else match[0]

    return _COMMENT.sub(blank, text.replace("\r\n", "\n").expandtabs(1))


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Number of the first line and text of every logical line; directives keep the breaks they were joined at."""
    lines = text.split("\n")
    number = 0
    while number < len(lines):
        first, parts = number, [lines[number]]
        joined = lines[number].lstrip().startswith("#")
        while parts[-1].endswith("\\") and joined and number + 1 < len(lines):
            parts[-1] = parts[-1][:-1]
            number += 1
            parts.append(lines[number])
        if not joined and parts[-1].endswith("\\"):
            parts[-1] = parts[-1][:-1]
        yield first + 1, "\n".join(parts)
        number += 1
