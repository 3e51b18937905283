"""Syntax trees as values: copies with changes, and questions about them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from pycparser import c_ast

from compiler.frontend.c_scop.constants import NotConstant, evaluate

__all__ = ["Converted", "Unreachable", "accessed", "assigned_names", "block", "block_items", "clears_lowest_bit",
           "contains", "counting_loop", "declared", "declared_names", "evaluated", "following", "head_parts", "is_step",
           "is_true", "nodes", "number", "rebuild", "stepped", "substitute", "used_names", "variable_name",
           "written_names"]

_BRANCHING = ("&&", "||")


class Converted(c_ast.Node):
    """`expr` converted to the type of variable `target`, as an assignment does."""

    __slots__ = ("__weakref__", "coord", "expr", "target")
    attr_names = ()

    def __init__(self, expr: Any, target: str, coord: Any) -> None:
        self.expr, self.target, self.coord = expr, target, coord

    def children(self) -> tuple[tuple[str, Any], ...]:
        """The expression."""
        return (("expr", self.expr),)


class Unreachable(c_ast.Node):
    """A statement that is never executed; where it is, `reason` says what is wrong with the statement."""

    __slots__ = ("__weakref__", "coord", "reason")
    attr_names = ("reason",)

    def __init__(self, reason: str, coord: Any) -> None:
        self.reason, self.coord = reason, coord

    def children(self) -> tuple[tuple[str, Any], ...]:
        """None."""
        return ()


def rebuild(node: Any, change: Callable[[Any], Any]) -> Any:
    """`node` with every child replaced by what `change` makes of it; itself if none is another one."""
    found: dict[str, Any] = {}
    for name in node.__slots__:
        if name in ("coord", "__weakref__"):
            continue
        value = getattr(node, name)
        if isinstance(value, c_ast.Node):
            found[name] = change(value)
        elif isinstance(value, list) and any(isinstance(item, c_ast.Node) for item in value):
            found[name] = [change(item) for item in value]
    if all(_same(getattr(node, name), value) for name, value in found.items()):
        return node
    result = copy.copy(node)
    for name, value in found.items():
        setattr(result, name, value)
    return result


def _same(old: Any, new: Any) -> bool:
    return old is new or (isinstance(old, list) and all(a is b for a, b in zip(old, new, strict=True)))


def substitute(node: Any, name: str, value: Any) -> Any:
    """`node` with expression `value` for every use of the variable `name`, as far as no block declares another."""
    match node:
        case c_ast.ID():
            return value if node.name == name else node
        case c_ast.StructRef():
            return node
        case c_ast.Compound():
            items = node.block_items or []
            first = next((k for k, item in enumerate(items) if isinstance(item, c_ast.Decl) and item.name == name),
                         len(items))
            changed = [substitute(item, name, value) for item in items[:first]]
            return c_ast.Compound([*changed, *items[first:]], node.coord)
        case c_ast.For() if _declares(node.init, name):
            return node
    return rebuild(node, lambda child: substitute(child, name, value))


def _declares(init: Any, name: str) -> bool:
    return isinstance(init, c_ast.DeclList) and any(d.name == name for d in init.decls)


def contains(node: Any, kinds: tuple[type, ...], inside: tuple[type, ...] = ()) -> bool:
    """Whether a node of one of `kinds` is in `node`, not looking into nodes of the kinds `inside`."""
    if node is None or isinstance(node, kinds):
        return node is not None
    return not isinstance(node, inside) and any(contains(child, kinds, inside) for _, child in node.children())


def assigned_names(node: Any) -> list[str]:
    """Scalar variables that `node` assigns or steps, once for every place."""
    own: list[str] = []
    if isinstance(node, c_ast.Assignment) and isinstance(node.lvalue, c_ast.ID):
        own = [node.lvalue.name]
    elif is_step(node) and isinstance(node.expr, c_ast.ID):
        own = [node.expr.name]
    return own + [name for _, child in node.children() for name in assigned_names(child)]


def is_step(node: Any) -> bool:
    """Whether `node` is ``++`` or ``--`` of something."""
    return isinstance(node, c_ast.UnaryOp) and node.op in ("++", "--", "p++", "p--")


def clears_lowest_bit(value: Any, name: str) -> bool:
    """Whether an expression is ``name & (name - 1)``, in this order or the other."""
    def less_one(node: Any) -> bool:
        return isinstance(node, c_ast.BinaryOp) and node.op == "-" and isinstance(node.left, c_ast.ID) \
            and node.left.name == name and isinstance(node.right, c_ast.Constant) and node.right.value == "1"

    if not isinstance(value, c_ast.BinaryOp) or value.op != "&":
        return False
    pairs = ((value.left, value.right), (value.right, value.left))
    return any(isinstance(one, c_ast.ID) and one.name == name and less_one(other) for one, other in pairs)


def following(step: Any) -> c_ast.BinaryOp | None:
    """The value after a step as a function of the counter, which is on the left; None if it is no ``++``, ``--`` or
    assignment with an operation of a variable."""
    if is_step(step) and isinstance(step.expr, c_ast.ID):
        return c_ast.BinaryOp(step.op[-1], step.expr, c_ast.Constant("int", "1", step.coord), step.coord)
    if isinstance(step, c_ast.Assignment) and step.op != "=" and isinstance(step.lvalue, c_ast.ID):
        return c_ast.BinaryOp(step.op[:-1], step.lvalue, step.rvalue, step.coord)
    return None


def stepped(step: Any) -> Any:
    """The value of a variable after a step, or an assignment, of it; None for other statements."""
    plain = isinstance(step, c_ast.Assignment) and step.op == "="
    return step.rvalue if plain else following(step)


def head_parts(node: Any) -> list[Any]:
    """The declarations or expressions of which a part of a loop's head consists."""
    if isinstance(node, c_ast.DeclList):
        return list(node.decls)
    return list(node.exprs) if isinstance(node, c_ast.ExprList) else [] if node is None else [node]


def evaluated(node: Any) -> list[Any]:
    """The children of an expression or of an ``if`` that C evaluates whenever it evaluates the node."""
    match node:
        case c_ast.If() | c_ast.TernaryOp():
            return [node.cond]
        case c_ast.BinaryOp() if node.op in _BRANCHING:
            return [node.left]
    return [child for _, child in node.children()]


def accessed(node: Any) -> tuple[Any, list[Any]]:
    """What is subscripted in an access, and its subscripts, the outermost first."""
    subscripts: list[Any] = []
    while isinstance(node, c_ast.ArrayRef):
        subscripts.insert(0, node.subscript)
        node = node.name
    return node, subscripts


def variable_name(node: Any) -> str:
    """The variable that an lvalue is or is an element of; "" for other expressions."""
    whole, _ = accessed(node)
    return whole.name if isinstance(whole, c_ast.ID) else ""


def nodes(node: Any) -> Iterator[Any]:
    """`node` and all nodes inside of it, however deep, in the order of the text."""
    stack = [node]
    while stack:
        inner = stack.pop()
        yield inner
        stack.extend(child for _, child in reversed(inner.children()))


def written_names(node: Any) -> set[str]:
    """Variables and arrays that statements may write: what they assign or step, and all that is in their calls."""
    found: set[str] = set()
    for inner in nodes(node):
        target = inner.lvalue if isinstance(inner, c_ast.Assignment) else inner.expr if is_step(inner) else None
        found |= {variable_name(target)} if target is not None else set()
        found |= used_names(inner) if isinstance(inner, c_ast.FuncCall) else set()
    return found - {""}


def used_names(node: Any) -> set[str]:
    """Variables and functions that occur in `node`."""
    own = {node.name} if isinstance(node, c_ast.ID) else set()
    return own.union(*(used_names(child) for _, child in node.children()))


def declared_names(node: Any) -> set[str]:
    """Variables that `node` declares."""
    own = {node.name} if isinstance(node, c_ast.Decl) else set()
    return own.union(*(declared_names(child) for _, child in node.children()))


def block_items(node: Any) -> list[Any]:
    """The statements of a branch or of a loop's body."""
    if node is None:
        return []
    return list(node.block_items or []) if isinstance(node, c_ast.Compound) else [node]


def number(value: int, coord: Any) -> c_ast.Constant:
    """An integer constant."""
    return c_ast.Constant("int", str(value), coord)


def declared(name: str, type: list[str], value: Any, coord: Any) -> c_ast.Decl:
    """The declaration of variable `name`, of the type that these words say, with a first value."""
    kind = c_ast.TypeDecl(name, [], None, c_ast.IdentifierType(type, coord), coord)
    return c_ast.Decl(name, [], [], [], [], kind, value, None, coord)


def counting_loop(name: str, ends: tuple[Any, str, Any], body: list[Any], coord: Any) -> c_ast.For:
    """The loop ``for (int name = first; name operator end; name++)``, where `ends` are these three."""
    first, operator, end = ends
    start, counter = c_ast.DeclList([declared(name, ["int"], first, coord)], coord), c_ast.ID(name, coord)
    return c_ast.For(start, c_ast.BinaryOp(operator, counter, end, coord), c_ast.UnaryOp("p++", counter, coord),
                     block(body, coord), coord)


def block(items: list[Any], coord: Any) -> c_ast.Compound:
    """A block of statements."""
    return c_ast.Compound(items, coord)


def is_true(node: Any) -> bool:
    """Whether `node` is a constant that is not zero."""
    try:
        return evaluate(node) != 0
    except NotConstant:
        return False
