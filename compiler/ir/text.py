"""Text form of programs: `print_program` and its inverse `parse_program`.

The grammar is ``program.lark``. In expressions ``24:uint16`` is a constant, ``#2:uint16`` the word of read 2,
``$x:uint16`` an iterator, ``cast(e):int16`` a conversion, ``add(a, b):uint16`` an operation and
``curve[e]:uint16`` a table lookup, ``load bins[e] after (t):int32`` and ``store bins[e] = v if c after (t):bit``
accesses to a memory. A subexpression that is used more than once is bound to a label first:
``%0 = mul(#0:uint16, #1:uint16):uint16``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar, cast

import islpy as isl
import lark

from compiler.ir.expr import Apply, Cast, Const, Expr, Iterator, Load, Lookup, Read, Store, fold
from compiler.ir.program import Access, Array, Level, Location, Memory, Program, Role, Statement, Table
from compiler.ir.types import ProgramError, parse_type

__all__ = ["parse_program", "print_program"]


def print_program(program: Program) -> str:
    """The text of `program`; `parse_program` gives an equal program back."""
    lines = [f"program {json.dumps(program.name)} {{"]
    lines += [f"  {array.role} {array.name} : {array.type}{list(array.shape)}{array.level and f' in {array.level}'}"
              for array in program.arrays]
    lines += [f"  table {table.name} : {table.type} = {list(table.values)}" for table in program.tables]
    lines += [f"  memory {memory.name} : {memory.type}[{memory.words}]"
              f"{memory.array and f' of {memory.array}'}{' trap' if memory.trap else ''}"
              f"{'' if memory.initial is None else f' initial {memory.initial}'}"
              f"{memory.assertion and f' asserts {json.dumps(memory.assertion)}'}"
              for memory in program.memories]
    for statement in program.statements:
        lines += [f"  {line}" for line in _statement_lines(statement)]
    lines += [f"  share {', '.join(group)}" for group in program.shared]
    return "\n".join([*lines, f'  order "{program.order}"', "}", ""])


def _statement_lines(statement: Statement) -> list[str]:
    *bindings, value = _expression_lines(statement.value)
    body = [
        f'domain "{statement.domain}"',
        *[f"read {_access_text(access)}" for access in statement.reads],
        f"write {_access_text(statement.write)}",
        *bindings,
        f"value {value}",
    ]
    head = f"statement {statement.name}({', '.join(statement.iterators)}){_location_text(statement.location)} {{"
    return [head, *[f"  {line}" for line in body], "}"]


def _access_text(access: Access) -> str:
    return f'{access.array} "{access.map}"{_location_text(access.location)}'


def _location_text(location: Location | None) -> str:
    return f" at {json.dumps(location.file)}:{location.line}" if location else ""


def _expression_lines(value: Expr) -> list[str]:
    """Bindings of the subexpressions that occur more than once, then the expression itself."""
    nodes = _distinct(value)
    uses = Counter(child for _, arguments in nodes for child in arguments)
    lines: list[str] = []
    texts: list[str] = []
    for number, (node, arguments) in enumerate(nodes):
        text = _node_text(node, [texts[child] for child in arguments])
        if arguments and uses[number] > 1:
            lines.append(f"%{len(lines)} = {text}")
            text = f"%{len(lines) - 1}"
        texts.append(text)
    return [*lines, texts[-1]]


def _distinct(value: Expr) -> list[tuple[Expr, tuple[int, ...]]]:
    """Structurally different nodes, operands first, with the numbers of their operands."""
    numbers: dict[tuple[Any, ...], int] = {}
    nodes: list[tuple[Expr, tuple[int, ...]]] = []

    def number(node: Expr, arguments: list[int]) -> int:
        key = (_node_text(node, [f"%{argument}" for argument in arguments]),)
        if key not in numbers:
            numbers[key] = len(nodes)
            nodes.append((node, tuple(arguments)))
        return numbers[key]

    fold(value, number)
    return nodes


def _node_text(node: Expr, arguments: list[str]) -> str:
    match node:
        case Const(value, _):
            head = str(value)
        case Read(index, _):
            head = f"#{index}"
        case Iterator(name, _):
            head = f"${name}"
        case Apply(op, _, _):
            head = f"{op}({', '.join(arguments)})"
        case Cast():
            head = f"cast({arguments[0]})"
        case Lookup(table, _, _):
            head = f"{table}[{arguments[0]}]"
        case Load(memory, _, _, _):
            head = f"load {memory}[{arguments[0]}]{_after_text(arguments[1:])}"
        case Store(memory, _, _, _, _):
            index, value, enable, *after = arguments
            head = f"store {memory}[{index}] = {value} if {enable}{_after_text(after)}"
    return f"{head}:{node.type}"


def _after_text(tokens: list[str]) -> str:
    return f" after ({', '.join(tokens)})" if tokens else ""


@cache
def _parser() -> lark.Lark:
    grammar = files("compiler.ir").joinpath("program.lark").read_text()
    return lark.Lark(grammar, parser="lalr", maybe_placeholders=True, propagate_positions=True)


def parse_program(text: str) -> Program:
    """The program whose text form is `text`; it is not verified.

    Raises `ProgramError` with line and column if the text has another form.
    """
    try:
        tree = _parser().parse(text)
    except lark.UnexpectedInput as error:
        raise ProgramError(f"program text, line {error.line}, column {error.column}: {_complaint(error)}") from None
    return _Reader().program(tree)


def _complaint(error: lark.UnexpectedInput) -> str:
    if isinstance(error, lark.UnexpectedToken):
        return "it ends too early" if error.token.type == "$END" else f"'{error.token}' does not belong here"
    return "this character does not belong here"


_Made = TypeVar("_Made")
_Tree = Any
"""A `lark.Tree`; its children are trees and tokens in the order that the grammar gives."""


def _made(token: lark.Token, make: Callable[[str], _Made], what: str) -> _Made:
    """`make` on the contents of a quoted token; an error names the line."""
    try:
        return make(json.loads(token))
    except (isl.Error, json.JSONDecodeError):
        raise ProgramError(f"program text, line {token.line}: {token} is not {what}") from None


class _Reader:
    """Turns the parse tree into a program, one method per rule of the grammar."""

    def __init__(self) -> None:
        self._labels: dict[str, Expr] = {}

    def program(self, tree: _Tree) -> Program:
        name, *parts = tree.children
        made: dict[str, list[Any]] = {"array": [], "table": [], "memory": [], "statement": [], "share": [], "order": []}
        for part in parts:
            made[part.data].append(getattr(self, part.data)(*part.children))
        title = _made(name, str, "a name")
        return Program(title, tuple(made["array"]), tuple(made["table"]), tuple(made["statement"]), made["order"][0],
                       tuple(made["share"]), tuple(made["memory"]))

    def array(self, role: lark.Token, name: lark.Token, type_: lark.Token, shape: _Tree,
              level: lark.Token | None) -> Array:
        sizes = tuple(int(size) for size in shape.children if size is not None)
        # The grammar has no other roles and levels.
        return Array(str(name), sizes, parse_type(type_), cast(Role, str(role)), cast(Level, str(level or "")))

    def table(self, name: lark.Token, type_: lark.Token, *values: lark.Token | None) -> Table:
        return Table(str(name), tuple(int(value) for value in values if value is not None), parse_type(type_))

    def memory(self, name: lark.Token, type_: lark.Token, words: lark.Token, array: lark.Token | None,
               trap: lark.Token | None, initial: lark.Token | None,
               assertion: lark.Token | None) -> Memory:
        return Memory(str(name), int(words), parse_type(type_), str(array or ""), trap is not None,
                      None if initial is None else int(initial), json.loads(assertion) if assertion else "")

    def share(self, *names: lark.Token) -> tuple[str, ...]:
        return tuple(map(str, names))

    def order(self, text: lark.Token) -> isl.UnionMap:
        return _made(text, isl.UnionMap, "an order")

    def statement(self, name: lark.Token, iterators: _Tree, location: _Tree | None, *body: _Tree) -> Statement:
        self._labels = {}
        domain, *accesses = body
        reads = tuple(self.access(*part.children) for part in accesses if part.data == "read")
        (write,) = (self.access(*part.children) for part in accesses if part.data == "write")
        for part in accesses:
            if part.data == "binding":
                self._labels[part.children[0]] = self.expression(part.children[1])
        names = tuple(str(iterator) for iterator in iterators.children if iterator is not None)
        space = _made(domain.children[0], isl.Set, "a set")
        value = self.expression(body[-1].children[0])
        return Statement(str(name), names, space, reads, write, value, self.location(location))

    def access(self, array: lark.Token, text: lark.Token, location: _Tree | None) -> Access:
        return Access(str(array), _made(text, isl.Map, "a map"), self.location(location))

    def location(self, tree: _Tree | None) -> Location | None:
        if tree is None:
            return None
        return Location(_made(tree.children[0], str, "a file name"), int(tree.children[1]))

    def expression(self, root: _Tree) -> Expr:
        """Expressions may nest deeply, so the walk keeps its own stack."""
        done: dict[int, Expr] = {}
        for tree in root.iter_subtrees():
            if tree.data == "after":
                continue
            done[id(tree)] = self._node(tree, [done[id(child)] for child in _operands(tree)])
        return done[id(root)]

    def _node(self, tree: _Tree, arguments: list[Expr]) -> Expr:
        head, last = tree.children[0], tree.children[-1]
        match tree.data:
            case "label":
                return self._label(head)
            case "constant":
                return Const(int(head), parse_type(last))
            case "read_word":
                return Read(int(head), parse_type(last))
            case "iterator":
                return Iterator(str(head), parse_type(last))
            case "cast":
                return Cast(arguments[0], parse_type(last))
            case "lookup":
                return Lookup(str(head), arguments[0], parse_type(last))
            case "load":
                return Load(str(head), arguments[0], tuple(arguments[1:]), parse_type(last))
            case "store":
                return Store(str(head), arguments[0], arguments[1], arguments[2], tuple(arguments[3:]))
        return Apply(str(head), tuple(arguments), parse_type(last))

    def _label(self, label: lark.Token) -> Expr:
        if label not in self._labels:
            raise ProgramError(f"program text, line {label.line}: '{label}' is used before it is bound")
        return self._labels[label]


def _operands(tree: _Tree) -> list[_Tree]:
    """The trees of the operands; those behind ``after`` come last."""
    found: list[_Tree] = []
    for child in tree.children:
        if isinstance(child, lark.Tree):
            found += _operands(child) if child.data == "after" else [child]
    return found
