"""``y[k++] = e`` as ``y[k] = e; k++``: steps inside of assignments become statements of their own."""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from compiler.frontend.c_scop.normalize.trees import block, rebuild

__all__ = ["separate_steps"]

_BEFORE, _AFTER = ("++", "--"), ("p++", "p--")
_BRANCHING = ("&&", "||")


def separate_steps(items: list[Any]) -> list[Any]:
    """`items` without steps inside of assignments and initialisers, as far as the stepped variable occurs there once
    and is stepped whatever the values are."""
    return [part for item in items for part in _parts(item)]


def _parts(item: Any) -> list[Any]:
    """The statements that take the place of `item` in a block."""
    if isinstance(item, c_ast.Assignment | c_ast.Decl):
        return _separated(item)
    return [_inside(item)]


def _inside(node: Any) -> Any:
    """A statement with those in it changed."""
    if isinstance(node, c_ast.Compound):
        return block(separate_steps(node.block_items or []), node.coord)
    if isinstance(node, c_ast.For):
        return c_ast.For(node.init, node.cond, node.next, _body(node.stmt), node.coord)
    if isinstance(node, c_ast.Case):
        return c_ast.Case(node.expr, separate_steps(node.stmts or []), node.coord)
    if isinstance(node, c_ast.Default):
        return c_ast.Default(separate_steps(node.stmts or []), node.coord)
    return rebuild(node, _body)


def _body(node: Any) -> Any:
    """A statement that is a branch or the body of a loop; expressions as they are."""
    if isinstance(node, c_ast.Assignment):
        found = _separated(node)
        return node if len(found) == 1 else block(found, node.coord)
    statements = (c_ast.Compound, c_ast.For, c_ast.While, c_ast.DoWhile, c_ast.If, c_ast.Switch, c_ast.Case,
                  c_ast.Default, c_ast.Label)
    return _inside(node) if isinstance(node, statements) else node


def _separated(item: Any) -> list[Any]:
    steps = _steps(item.init if isinstance(item, c_ast.Decl) else item)
    if not steps:
        return [item]
    names = _names(item)
    if any(names.count(step.expr.name) > 1 for step in steps):
        return [item]
    whole = _without(item, steps)
    alone = [c_ast.UnaryOp(f"p{step.op.removeprefix('p')}", step.expr, step.coord) for step in steps]
    before = [new for step, new in zip(steps, alone, strict=True) if step.op in _BEFORE]
    return [*before, whole, *(new for step, new in zip(steps, alone, strict=True) if step.op in _AFTER)]


def _steps(node: Any) -> list[Any]:
    """The steps of variables that an expression makes whatever the values are."""
    if node is None:
        return []
    if isinstance(node, c_ast.UnaryOp) and node.op in _BEFORE + _AFTER and isinstance(node.expr, c_ast.ID):
        return [node]
    if isinstance(node, c_ast.TernaryOp | c_ast.FuncCall) or (
            isinstance(node, c_ast.BinaryOp) and node.op in _BRANCHING) or (
            isinstance(node, c_ast.UnaryOp) and node.op == "sizeof"):
        return []
    return [step for _, child in node.children() for step in _steps(child)]


def _without(node: Any, steps: list[Any]) -> Any:
    """`node` with the variable alone where it is stepped."""
    if any(node is step for step in steps):
        return node.expr
    return rebuild(node, lambda child: _without(child, steps))


def _names(node: Any) -> list[str]:
    own = [node.name] if isinstance(node, c_ast.ID | c_ast.Decl) else []
    return own + [name for _, child in node.children() for name in _names(child)]
