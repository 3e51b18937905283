"""Conditional inclusion: ``#if`` and its relatives."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pycparser import c_ast, c_parser

from compiler.frontend.c_scop.constants import NotConstant, evaluate
from compiler.frontend.c_scop.errors import Place, ScopError

__all__ = ["Conditionals"]

_NAME = re.compile(r"\b[A-Za-z_]\w*")
_DEFINED = re.compile(r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))")


@dataclass
class _Level:
    """One open ``#if``: whether its current branch is active, whether any was, and whether the outside is."""

    active: bool
    taken: bool
    outside: bool
    place: Place


class Conditionals:
    """The open conditionals of one file.

    `tested` collects the names that the conditions ask for; those in `parameters` become macros then.
    """

    def __init__(self, macros: dict[str, str], parameters: Mapping[str, str], tested: set[str]) -> None:
        self._macros = macros
        self._parameters = parameters
        self._tested = tested
        self._levels: list[_Level] = []

    @property
    def active(self) -> bool:
        """Whether the current line counts."""
        return not self._levels or self._levels[-1].active

    def handle(self, name: str, rest: str, place: Place) -> bool:
        """Follow directive ``#name rest``; False if it is none of the conditional ones. Raises `ScopError`."""
        if name in ("if", "ifdef", "ifndef"):
            outside = self.active
            holds = outside and self._holds(name, rest, place)
            self._levels.append(_Level(holds, holds, outside, place))
        elif name in ("elif", "else", "endif"):
            self._continue(name, rest, place)
        else:
            return False
        return True

    def finish(self, file: str) -> None:
        """Raise `ScopError` if a conditional is still open at the end of `file`."""
        if self._levels:
            raise ScopError(self._levels[-1].place, f"this conditional has no #endif in {file}")

    def _continue(self, name: str, rest: str, place: Place) -> None:
        if not self._levels:
            raise ScopError(place, f"#{name} without #if")
        level = self._levels[-1]
        if name == "endif":
            self._levels.pop()
            return
        free = level.outside and not level.taken
        level.active = free and (name == "else" or self._holds("if", rest, place))
        level.taken = level.taken or level.active

    def _holds(self, name: str, rest: str, place: Place) -> bool:
        if name != "if":
            return self._defined(rest) == (name == "ifdef")
        text = _DEFINED.sub(lambda match: str(int(self._defined(match[1] or match[2]))), rest)
        for _ in range(len(self._macros) + 1):
            text = _NAME.sub(lambda match: f"({self._macros.get(match[0], '0') or '0'})", text)
        try:
            tree = c_parser.CParser().parse(f"int x = ({text});")
            declaration = tree.ext[0]
            assert isinstance(declaration, c_ast.Decl)
            return evaluate(declaration.init) != 0
        except (NotConstant, c_parser.ParseError):
            raise ScopError(place, f"#if {rest}: not an integer constant expression") from None

    def _defined(self, name: str) -> bool:
        self._tested.add(name)
        if name in self._parameters:
            self._macros.setdefault(name, self._parameters[name])
        return name in self._macros
