"""``continue`` as ``if``: what follows it in the loop's body is done in the other branch.

    if (a) { s; continue; }  t;   is   if (a) { s; } else { t; }
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pycparser import c_ast

from compiler.frontend.c_scop.normalize.trees import block, block_items, contains, rebuild

__all__ = ["remove_continue"]

_LOOPS = (c_ast.For, c_ast.While, c_ast.DoWhile)
_LARGEST = 10_000
"""Statements that a body may grow to."""

Refuse = Callable[[Any, str], Exception]


def remove_continue(items: list[Any], refuse: Refuse) -> list[Any]:
    """`items` whose loops have no ``continue``. Raises what `refuse` makes of a body that becomes too large."""
    return [_removed(item, refuse) for item in items]


def _removed(node: Any, refuse: Refuse) -> Any:
    node = rebuild(node, lambda child: _removed(child, refuse))
    if not isinstance(node, _LOOPS) or not contains(node.stmt, (c_ast.Continue,), _LOOPS):
        return node
    if not isinstance(node, c_ast.For):
        raise refuse(node, "'continue' in a 'while' loop is not supported: use 'for', or 'if' around what follows")
    body = _Body(node, refuse)
    return c_ast.For(node.init, node.cond, node.next, block(body.rest(block_items(node.stmt)), node.coord), node.coord)


class _Body:
    def __init__(self, loop: Any, refuse: Refuse) -> None:
        self._loop, self._refuse, self._count = loop, refuse, 0

    def rest(self, items: list[Any]) -> list[Any]:
        """What `items` do up to a ``continue``."""
        for number, item in enumerate(items):
            self._count += 1
            if self._count > _LARGEST:
                raise self._refuse(self._loop, f"without 'continue', the loop has over {_LARGEST} statements")
            if contains(item, (c_ast.Continue,), _LOOPS):
                return [*items[:number], *self._ends(item, items[number + 1 :])]
        return items

    def _ends(self, item: Any, later: list[Any]) -> list[Any]:
        match item:
            case c_ast.Continue():
                return []
            case c_ast.Compound():
                inside = item.block_items or []
                if any(isinstance(i, c_ast.Decl) for i in inside) and later and not _leaves(inside):
                    raise self._refuse(item, "'continue' in a block with declarations of its own is not supported: "
                                             "declare them before the block")
                return [block(self.rest([*inside, *later]), item.coord)]
            case c_ast.If():
                yes = self._branch(item.iftrue, later)
                no = self._branch(item.iffalse, later)
                return _choice(item, yes, no)
        raise self._refuse(item, "'continue' is not supported here; use 'if'")

    def _branch(self, node: Any, later: list[Any]) -> list[Any]:
        """A branch and what follows the ``if``; a block of its own is kept apart where that declares something."""
        items = block_items(node)
        if not contains(node, (c_ast.Continue,), _LOOPS) and any(isinstance(i, c_ast.Decl) for i in items):
            return [node, *later]
        return self._ends(node, later) if isinstance(node, c_ast.Compound) and items and \
            contains(node, (c_ast.Continue,), _LOOPS) else self.rest([*items, *later])


def _leaves(items: list[Any]) -> bool:
    """Whether statements end in ``continue``, so that nothing after them is done."""
    return bool(items) and isinstance(items[-1], c_ast.Continue)


def _choice(node: c_ast.If, yes: list[Any], no: list[Any]) -> list[Any]:
    """An ``if``, without branches that do nothing."""
    if yes:
        return [c_ast.If(node.cond, block(yes, node.coord), block(no, node.coord) if no else None, node.coord)]
    if no:
        opposite: Any = c_ast.UnaryOp("!", node.cond, node.coord)
        return [c_ast.If(opposite, block(no, node.coord), None, node.coord)]
    return []
