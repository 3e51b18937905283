"""Text to syntax trees. The grammar is ``grammar.lark``."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import lark
from lark import Token, Transformer, v_args

from compiler.frontend.sac import syntax
from compiler.frontend.sac.errors import SacError
from compiler.frontend.sac.syntax import Place

__all__ = ["parse_text"]

_DEEPEST = 200
"""Nesting of brackets that is still read: what is deeper was not written by hand, and would exhaust Python's stack."""


def parse_text(text: str, file: str = "program.sc") -> tuple[syntax.Function | syntax.Record, ...]:
    """The functions, prototypes and records in `text`. Raises `SacError` with file, line and column for what is no
    SA-C."""
    text = text.removeprefix("\ufeff")
    _check_depth(text, file)
    try:
        tree = _parser().parse(text)
    except lark.UnexpectedToken as error:
        raise SacError(Place(file, error.line, error.column), _unexpected(error)) from None
    except lark.UnexpectedCharacters as error:
        raise SacError(Place(file, error.line, error.column), f"{text[error.pos_in_stream]!r} is no part of SA-C"
                       ) from None
    except lark.UnexpectedInput:
        raise SacError(Place(file, text.count("\n") + 1, 1), "the text ends inside a function") from None
    try:
        return _Trees(file).transform(tree)
    except lark.exceptions.VisitError as error:
        raise error.orig_exc from None


@cache
def _parser() -> lark.Lark:
    grammar = files(__package__ or "").joinpath("grammar.lark").read_text(encoding="utf-8")
    return lark.Lark(grammar, parser="lalr", propagate_positions=True, maybe_placeholders=True)


def _check_depth(text: str, file: str) -> None:
    depth = 0
    for line, row in enumerate(text.split("\n"), 1):
        for column, character in enumerate(row, 1):
            depth += (character in "([{") - (character in ")]}")
            if depth > _DEEPEST:
                raise SacError(Place(file, line, column), f"brackets are nested more than {_DEEPEST} deep")


def _unexpected(error: lark.UnexpectedToken) -> str:
    if error.token.type == "$END":
        return "the text ends inside a function"
    if error.token.type == "PRAGMA":
        return "a pragma stands before a function, a definition or a loop"
    wanted = sorted({_TERMINALS.get(name) or repr(_literal(name)) for name in error.accepts or error.expected})
    return f"'{error.token}' was not expected here; expected: {' or '.join(wanted)}"


def _literal(name: str) -> str:
    """The text of a terminal that has only one."""
    pattern = _parser().get_terminal(name).pattern
    return pattern.value if pattern.type == "str" else name


_TERMINALS = {
    "NAME": "a name", "INTEGER": "a number", "REAL": "a number", "BITS": "a number", "TRUE": "a number",
    "FALSE": "a number", "SCALAR": "a type", "COMPLEX": "a type", "PRAGMA": "a pragma", "$END": "the end",
    "OR_ELSE": "an operator",
    "AND_THEN": "an operator", "OR": "an operator", "XOR": "an operator", "AND": "an operator",
    "EQUALITY": "an operator", "RELATION": "an operator", "SHIFT": "an operator", "PLUS": "an operator",
    "MINUS": "an operator", "PRODUCT": "an operator", "NOT": "an operator",
}

class _Next(NamedTuple):
    place: Place
    name: str
    subscripts: tuple[syntax.Index | syntax.Range, ...]


class _Span(NamedTuple):
    low: syntax.Expression
    high: syntax.Expression | None


class _Slot(NamedTuple):
    iterated: bool


class _Size(NamedTuple):
    value: syntax.Expression | None


class _Steps(NamedTuple):
    place: Place
    values: tuple[syntax.Expression, ...]
    word: str = "step"


class _Places(NamedTuple):
    place: Place
    values: tuple[syntax.Declared | syntax.Ignored, ...]
    word: str = "at"


_PRAGMA = re.compile(r"//[ \t]*PRAGMA[ \t]*\((?P<directives>.*)\)[ \t\r]*$")
_DIRECTIVE = re.compile(r"[ \t]*(?P<name>[A-Za-z_]\w*)[ \t]*(?:\((?P<numbers>[0-9, \t]*)\))?[ \t]*,?")


def _pragmas(token: Token, file: str) -> list[syntax.Pragma]:
    """What one line of directives says: several are separated by commas."""
    place = Place(file, token.line or 1, token.column or 1)
    match = _PRAGMA.match(token)
    if match is None:
        raise SacError(place, "a pragma is written // PRAGMA (name) or // PRAGMA (name (4, 5))")
    rest, found = match["directives"].strip(), []
    while rest:
        directive = _DIRECTIVE.match(rest)
        if directive is None:
            raise SacError(place, f"'{rest}' is no directive; one is written name or name (4, 5)")
        numbers = tuple(int(n) for n in re.findall(r"[0-9]+", directive["numbers"] or ""))
        found.append(syntax.Pragma(place, directive["name"], numbers))
        rest = rest[directive.end():]
    return found


@v_args(meta=True)
class _Trees(Transformer):
    """Trees of the grammar to those of `compiler.frontend.sac.syntax`, from the leaves up."""

    def __init__(self, file: str) -> None:
        super().__init__()
        self.file = file

    def _place(self, meta: Any) -> Place:
        return Place(self.file, getattr(meta, "line", 1), getattr(meta, "column", 1))

    def _at(self, token: Token) -> Place:
        return Place(self.file, token.line or 1, token.column or 1)

    def _split_pragmas(self, children: list[Any]) -> tuple[tuple[syntax.Pragma, ...], list[Any]]:
        """Pragmas at the front, and the rest."""
        tokens = [child for child in children if isinstance(child, Token) and child.type == "PRAGMA"]
        return tuple(p for token in tokens for p in _pragmas(token, self.file)), children[len(tokens):]

    def start(self, meta: Any, children: list[Any]) -> tuple[syntax.Function | syntax.Record, ...]:
        return tuple(children)

    def function(self, meta: Any, children: list[Any]) -> syntax.Function:
        pragmas, (results, name, parameters, body) = self._split_pragmas(children)
        for parameter in parameters or ():
            if parameter.name is None:
                raise SacError(parameter.place, f"a parameter of function '{name}' lacks a name")
        return syntax.Function(self._at(name), str(name), pragmas, results, parameters or (), body)

    def prototype(self, meta: Any, children: list[Any]) -> syntax.Function:
        pragmas, (results, name, parameters) = self._split_pragmas(children)
        return syntax.Function(self._at(name), str(name), pragmas, results, parameters or (), None)

    def parameters(self, meta: Any, children: list[Any]) -> tuple[syntax.Parameter, ...]:
        return tuple(children)

    def parameter(self, meta: Any, children: list[Any]) -> syntax.Parameter:
        component, name, extents = children
        place = self._at(name) if name else component.place
        return syntax.Parameter(place, syntax.WrittenType(component.place, component, extents or ()),
                                str(name) if name else None)

    def types(self, meta: Any, children: list[Any]) -> tuple[syntax.WrittenType, ...]:
        return tuple(children)

    def type(self, meta: Any, children: list[Any]) -> syntax.WrittenType:
        component, extents = children
        return syntax.WrittenType(component.place, component, extents or ())

    def record(self, meta: Any, children: list[Any]) -> syntax.Record:
        name, *members = children
        return syntax.Record(self._at(name), str(name), tuple(m for row in members for m in row))

    def renamed_record(self, meta: Any, children: list[Any]) -> syntax.Record:
        tag, *members, name = children
        if tag not in (None, name):
            raise SacError(self._at(tag), f"'struct {tag}' and its typedef '{name}' are one record: give both one name")
        return syntax.Record(self._at(name), str(name), tuple(m for row in members for m in row))

    def members(self, meta: Any, children: list[Any]) -> tuple[syntax.Member, ...]:
        component, *members = children
        return tuple(syntax.Member(place, syntax.WrittenType(component.place, component, extents), name)
                     for place, name, extents in members)

    def member(self, meta: Any, children: list[Any]) -> tuple[Place, str, syntax.Extents]:
        name, extents = children
        return self._at(name), str(name), extents or ()

    def record_type(self, meta: Any, children: list[Any]) -> syntax.Component:
        return syntax.Component(self._place(meta), str(children[0]), False)

    def field(self, meta: Any, children: list[Any]) -> syntax.Field:
        record, name = children
        return syntax.Field(self._at(name), record, str(name))

    def number_type(self, meta: Any, children: list[Any]) -> syntax.Component:
        word, name = children
        return syntax.Component(self._place(meta), str(name), word is not None)

    def extents(self, meta: Any, children: list[Any]) -> syntax.Extents:
        return tuple(children)

    def extent(self, meta: Any, children: list[Any]) -> int | None:
        (token,) = children
        return None if token.type == "COLON" else int(token, 0)

    def block(self, meta: Any, children: list[Any]) -> syntax.Body:
        *statements, returns = children
        return syntax.Body(self._place(meta), tuple(s for s in statements if s is not None), returns or ())

    def items(self, meta: Any, children: list[Any]) -> tuple[syntax.Expression, ...]:
        return tuple(children)

    def definition(self, meta: Any, children: list[Any]) -> syntax.Definition:
        pragmas, rest = self._split_pragmas(children)
        targets = tuple(c for c in rest if isinstance(c, syntax.Declared | syntax.Ignored | syntax.Updated))
        values = self._directed(pragmas, rest[len(targets):])
        return syntax.Definition(self._place(meta), targets, values)

    def next_definition(self, meta: Any, children: list[Any]) -> syntax.NextDefinition:
        pragmas, rest = self._split_pragmas(children)
        names = tuple(c for c in rest if isinstance(c, _Next))
        values = self._directed(pragmas, rest[len(names):])
        return syntax.NextDefinition(self._place(meta), tuple(syntax.Name(n.place, n.name) for n in names),
                                     tuple(n.subscripts for n in names), values)

    def _directed(self, pragmas: tuple[syntax.Pragma, ...], values: list[Any]) -> tuple[Any, ...]:
        """`values`, the loop among them with the pragmas that stand before its definition."""
        if not pragmas:
            return tuple(values)
        if len(values) != 1 or not isinstance(values[0], syntax.Loop | syntax.While):
            raise SacError(pragmas[0].place, f"pragma '{pragmas[0].name}' stands before a definition by something "
                           "that is no loop")
        loop = values[0]
        return (replace(loop, pragmas=pragmas + loop.pragmas),)

    def declared(self, meta: Any, children: list[Any]) -> syntax.Declared:
        component, name, extents = children
        return syntax.Declared(self._at(name), syntax.WrittenType(component.place, component, extents or ()), str(name))

    def ignored(self, meta: Any, children: list[Any]) -> syntax.Ignored:
        return syntax.Ignored(self._place(meta))

    def next_target(self, meta: Any, children: list[Any]) -> _Next:
        name, *subscripts = children
        return _Next(self._at(name), str(name), tuple(s for s in subscripts if s is not None))

    def updated(self, meta: Any, children: list[Any]) -> syntax.Updated:
        name, *subscripts = children
        return syntax.Updated(self._at(name), str(name), tuple(s for s in subscripts if s is not None))

    def initialiser(self, meta: Any, children: list[Any]) -> syntax.Initialiser:
        return syntax.Initialiser(self._place(meta), tuple(children))

    def conditional(self, meta: Any, children: list[Any]) -> syntax.If | Any:
        condition, yes, no = children
        if yes is None:
            return condition
        place = self._place(meta)
        return syntax.If(place, ((condition, syntax.Body(yes.place, (), (yes,))),), syntax.Body(no.place, (), (no,)))

    def binary(self, meta: Any, children: list[Any]) -> syntax.Binary:
        left, operator, right = children
        return syntax.Binary(self._at(operator), str(operator), left, right)

    def negated(self, meta: Any, children: list[Any]) -> syntax.Unary:
        operator, operand = children
        return syntax.Unary(self._at(operator), str(operator), operand)

    def cast(self, meta: Any, children: list[Any]) -> syntax.Cast:
        component, extents, operand = children
        place = self._place(meta)
        return syntax.Cast(place, syntax.WrittenType(component.place, component, extents or ()), operand)

    def section(self, meta: Any, children: list[Any]) -> syntax.Section:
        array, *subscripts = children
        return syntax.Section(self._place(meta), array, tuple(subscripts))

    def index(self, meta: Any, children: list[Any]) -> syntax.Index:
        return syntax.Index(children[0].place, children[0])

    def range(self, meta: Any, children: list[Any]) -> syntax.Range:
        low, high, step = children
        return syntax.Range(self._place(meta), low, high, step)

    def name(self, meta: Any, children: list[Any]) -> syntax.Name:
        return syntax.Name(self._at(children[0]), str(children[0]))

    def literal(self, meta: Any, children: list[Any]) -> syntax.Literal:
        return syntax.Literal(self._at(children[0]), str(children[0]))

    def call(self, meta: Any, children: list[Any]) -> syntax.Call:
        function, *arguments = children
        return syntax.Call(self._at(function), str(function), tuple(a for a in arguments if a is not None))

    def captures(self, meta: Any, children: list[Any]) -> syntax.Captures:
        return syntax.Captures(self._place(meta), tuple(children))

    def choice(self, meta: Any, children: list[Any]) -> syntax.If:
        *pairs, otherwise = children
        return syntax.If(self._place(meta), tuple(zip(pairs[::2], pairs[1::2], strict=True)), otherwise)

    def switch(self, meta: Any, children: list[Any]) -> syntax.Switch:
        key, *cases, default = children
        return syntax.Switch(self._place(meta), key, tuple(cases), default)

    def case(self, meta: Any, children: list[Any]) -> tuple[tuple[Any, ...], syntax.Body]:
        *keys, body = children
        return tuple(keys), body

    def default(self, meta: Any, children: list[Any]) -> syntax.Body:
        return children[0]

    def loop(self, meta: Any, children: list[Any]) -> syntax.Loop:
        pragmas, (generators, body) = self._split_pragmas(children)
        return syntax.Loop(self._place(meta), pragmas, generators, body)

    def while_loop(self, meta: Any, children: list[Any]) -> syntax.While:
        pragmas, (condition, body) = self._split_pragmas(children)
        return syntax.While(self._place(meta), pragmas, condition, body)

    def generators(self, meta: Any, children: list[Any]) -> Any:
        return children[0] if len(children) == 1 else syntax.Cross(self._place(meta), tuple(children))

    def dotted(self, meta: Any, children: list[Any]) -> Any:
        return children[0] if len(children) == 1 else syntax.Dot(self._place(meta), tuple(children))

    def scalars(self, meta: Any, children: list[Any]) -> syntax.Scalars:
        captures = tuple(c for c in children if isinstance(c, syntax.Declared))
        spans = tuple(c for c in children if isinstance(c, _Span))
        steps = children[-1].values if isinstance(children[-1], _Steps) else ()
        return syntax.Scalars(self._place(meta), captures, tuple((s.low, s.high) for s in spans), steps)

    def span(self, meta: Any, children: list[Any]) -> _Span:
        low, _, high = children
        return _Span(low, high)

    def elements(self, meta: Any, children: list[Any]) -> syntax.Elements:
        capture, source, *modifiers = children
        return syntax.Elements(self._place(meta), self._name(capture), source, *self._modifiers(modifiers))

    def slices(self, meta: Any, children: list[Any]) -> syntax.Slices:
        capture, *rest = children
        slots = tuple(c.iterated for c in rest if isinstance(c, _Slot))
        source, *modifiers = rest[len(slots):]
        return syntax.Slices(self._place(meta), self._name(capture), slots, source, *self._modifiers(modifiers))

    def windows(self, meta: Any, children: list[Any]) -> syntax.Windows:
        capture, *rest = children
        sizes = tuple(c.value for c in rest if isinstance(c, _Size))
        source, *modifiers = rest[len(sizes):]
        return syntax.Windows(self._place(meta), self._name(capture), sizes, source, *self._modifiers(modifiers))

    def _name(self, token: Token) -> syntax.Name:
        return syntax.Name(self._at(token), str(token))

    def _modifiers(self, given: list[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Steps and places, each at most once."""
        steps = [m for m in given if isinstance(m, _Steps)]
        places = [m for m in given if isinstance(m, _Places)]
        for twice in (steps, places):
            if len(twice) > 1:
                raise SacError(twice[1].place, f"'{twice[1].word}' is given twice")
        return steps[0].values if steps else (), places[0].values if places else ()

    def slot(self, meta: Any, children: list[Any]) -> _Slot:
        return _Slot(children[0].type == "TILDE")

    def size(self, meta: Any, children: list[Any]) -> _Size:
        return _Size(None if isinstance(children[0], Token) else children[0])

    def steps(self, meta: Any, children: list[Any]) -> _Steps:
        return _Steps(self._place(meta), tuple(children))

    def places(self, meta: Any, children: list[Any]) -> _Places:
        return _Places(self._place(meta), tuple(children))

    def typed_capture(self, meta: Any, children: list[Any]) -> syntax.Declared:
        component, name = children
        return syntax.Declared(self._at(name), syntax.WrittenType(component.place, component, ()), str(name))
