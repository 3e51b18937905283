"""Side effects inside of expressions as statements of their own.

    y[k++] = e;                  is   y[k] = e; k++;
    if ((c = s[i]) > 4) t;       is   c = s[i]; if (c > 4) t;
    if (n[c]++ < 4) t;           is   int u = n[c] < 4; n[c]++; if (u) t;

Only what C evaluates in any case is moved, and only where nothing else in the expression depends on the order in which
C leaves open when it takes place; the walk refuses the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pycparser import c_ast

from compiler.frontend.c_scop.normalize.trees import (
    block,
    declared,
    evaluated,
    is_step,
    rebuild,
    variable_name,
)

__all__ = ["separate_effects"]

_STATEMENTS = {c_ast.For: ("stmt",), c_ast.While: ("stmt",), c_ast.DoWhile: ("stmt",), c_ast.Switch: ("stmt",),
               c_ast.Label: ("stmt",), c_ast.If: ("iftrue", "iffalse")}
"""Where statements have others, each in place of a block."""

Namer = Callable[[str], str]


def separate_effects(items: Sequence[Any], name: Namer) -> list[Any]:
    """`items` without side effects inside of assignments, initialisers and conditions of ``if`` and ``switch``, as far
    as they are unconditional and nothing else there depends on them. `name` makes a name that is not used."""
    return [part for item in items for part in _parts(item, name)]


def _parts(item: Any, name: Namer) -> list[Any]:
    """The statements that take the place of `item` in a block."""
    match item:
        case c_ast.Assignment() | c_ast.Decl():
            return _separated(item, name)
        case c_ast.UnaryOp() if is_step(item) and _effects(item.expr):
            one = c_ast.Constant("int", "1", item.coord)
            return _separated(c_ast.Assignment(f"{item.op[-1]}=", item.expr, one, item.coord), name)
        case c_ast.ExprList():
            return separate_effects(item.exprs, name)
        case c_ast.If(cond=c_ast.BinaryOp(op="&&") as both, iffalse=None) if _effects(both.right):
            inner = c_ast.If(both.right, item.iftrue, None, item.coord)
            return _parts(c_ast.If(both.left, inner, None, item.coord), name)
        case c_ast.If() | c_ast.Switch():
            return _tested(_inside(item, name), name)
    return [_inside(item, name)]


def _inside(node: Any, name: Namer) -> Any:
    """A statement with those in it changed."""
    match node:
        case c_ast.Compound():
            return block(separate_effects(node.block_items or [], name), node.coord)
        case c_ast.Case():
            return c_ast.Case(node.expr, separate_effects(node.stmts or [], name), node.coord)
        case c_ast.Default():
            return c_ast.Default(separate_effects(node.stmts or [], name), node.coord)
    inner = [getattr(node, part) for part in _STATEMENTS.get(type(node), ())]
    return rebuild(node, lambda child: _body(child, name) if any(child is part for part in inner) else child)


def _body(node: Any, name: Namer) -> Any:
    """A statement that is a branch or the body of a loop."""
    found = _parts(node, name)
    return found[0] if len(found) == 1 else block(found, node.coord)


def _separated(item: Any, name: Namer) -> list[Any]:
    """An assignment or initialiser between the statements that are its effects."""
    target = item.name if isinstance(item, c_ast.Decl) else variable_name(item.lvalue)
    kept, whole = _with_kept_places(item, target, name)
    effects = _effects_of(whole)
    if not effects or not _independent(whole, effects, target):
        return [item]
    before, after = _in_order(effects, name)
    return [*kept, *before, _without(whole, effects), *after]


def _effects_of(item: Any) -> list[Any]:
    return _effects(item.init) if isinstance(item, c_ast.Decl) else _inner_effects(item)


def _with_kept_places(item: Any, target: str, name: Namer) -> tuple[list[Any], Any]:
    """`item` where an element is stepped whose place depends on what the item assigns, as in ``p = n[p]++``: the place
    is kept before."""
    kept: list[Any] = []

    def place(node: Any) -> Any:
        if not isinstance(node, c_ast.ArrayRef):
            return node
        subscript = node.subscript
        if target in _names(subscript):
            kept.append(declared(name("place"), ["int"], subscript, node.coord))
            subscript = c_ast.ID(kept[-1].name, node.coord)
        return c_ast.ArrayRef(place(node.name), subscript, node.coord)

    def change(node: Any) -> Any:
        if any(node is effect for effect in stepped):
            return c_ast.UnaryOp(node.op, place(node.expr), node.coord)
        return rebuild(node, change)

    stepped = [effect for effect in _effects_of(item) if _is_postfix(effect) and target in _names(effect)]
    return kept, change(item) if stepped else item


def _tested(item: Any, name: Namer) -> list[Any]:
    """An ``if`` or ``switch`` behind the effects of its condition; one that has some after it keeps its value."""
    effects = _effects(item.cond)
    if not effects or not _independent(item.cond, effects, ""):
        return [item]
    before, after = _in_order(effects, name)
    cond, tested = _without(item.cond, effects), isinstance(item, c_ast.If)
    if after:
        zero = c_ast.Constant("int", "0", item.coord)
        value = c_ast.BinaryOp("!=", cond, zero, item.coord) if tested else cond
        kept = declared(name("condition"), ["int" if tested else "long"], value, item.coord)
        cond, after = c_ast.ID(kept.name, item.coord), [kept, *after]
    rest = (item.iftrue, item.iffalse) if tested else (item.stmt,)
    return [*before, *after, type(item)(cond, *rest, item.coord)]


def _in_order(effects: Sequence[Any], name: Namer) -> tuple[list[Any], list[Any]]:
    """Effects as statements: those before the expression that has them, and those after it."""
    before = [part for effect in effects if not _is_postfix(effect) for part in _parts(_alone(effect), name)]
    return before, [_alone(effect) for effect in effects if _is_postfix(effect)]


def _alone(effect: Any) -> Any:
    """An effect as a statement."""
    if isinstance(effect, c_ast.Assignment):
        return effect
    return c_ast.UnaryOp(f"p{effect.op.removeprefix('p')}", effect.expr, effect.coord)


def _is_postfix(effect: Any) -> bool:
    return isinstance(effect, c_ast.UnaryOp) and effect.op.startswith("p")


def _inner_effects(item: c_ast.Assignment) -> list[Any]:
    """The effects in an assignment beside its own; ``a = b = c`` is one statement."""
    value = item.rvalue
    inner = _inner_effects(value) if isinstance(value, c_ast.Assignment) else _effects(value)
    return [*_effects(item.lvalue), *inner]


def _effects(node: Any) -> list[Any]:
    """The assignments and steps that an expression makes whatever the values are."""
    match node:
        case None:
            return []
        case c_ast.Assignment():
            return [node]
        case c_ast.UnaryOp() if is_step(node):
            return [] if _effects(node.expr) or not variable_name(node.expr) else [node]
        case c_ast.FuncCall() | c_ast.ExprList() | c_ast.UnaryOp(op="sizeof"):
            return []
    return [effect for child in evaluated(node) for effect in _effects(child)]


def _independent(whole: Any, effects: Sequence[Any], target: str) -> bool:
    """Whether what `whole`, which assigns variable `target`, computes does not depend on when its `effects` take
    place."""
    targets = [_changed(effect) for effect in effects]
    all_names, first_names = _names(whole), _names(whole, conditional=False)
    for effect, changed in zip(effects, targets, strict=True):
        names = _names(effect)
        others = all_names if _is_postfix(effect) else first_names
        if others.count(changed) > names.count(changed) or not changed:
            return False
        if _is_postfix(effect) and (target in names or names.count(changed) > 1):
            return False
        if any(other in names for other in targets if other != changed):
            return False
    return True


def _changed(effect: Any) -> str:
    """The variable that an effect changes, by name."""
    return variable_name(effect.lvalue if isinstance(effect, c_ast.Assignment) else effect.expr)


def _without(node: Any, effects: Sequence[Any]) -> Any:
    """`node` with the variable alone where an effect changes it."""
    if any(node is effect for effect in effects):
        return node.lvalue if isinstance(node, c_ast.Assignment) else node.expr
    return rebuild(node, lambda child: _without(child, effects))


def _names(node: Any, *, conditional: bool = True) -> list[str]:
    """Variables, once for each place; also those of operands that C evaluates only under a condition, after the
    others."""
    own = [node.name] if isinstance(node, c_ast.ID | c_ast.Decl) else []
    children = [child for _, child in node.children()] if conditional else evaluated(node)
    return own + [name for child in children for name in _names(child, conditional=conditional)]
