"""``continue``, ``break`` and ``do { ... } while (0)`` as ``if``: what follows a jump in the loop's body is done in the
other branch.

    if (a) { s; continue; }  t;   is   if (a) { s; } else { t; }

A ``break`` stays, as the last thing that its iteration does: the walk knows for which iterations it is reached. In
front of all others, ``if (c) break;`` is part of the loop's condition where the loop has none of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pycparser import c_ast

from compiler.frontend.c_scop.normalize.trees import block, block_items, contains, is_true, rebuild

__all__ = ["Body", "remove_jumps"]

_LOOPS = (c_ast.For, c_ast.While, c_ast.DoWhile)
_JUMPS = (c_ast.Continue, c_ast.Break)
_LARGEST = 10_000
"""Statements that a body may grow to."""

Refuse = Callable[[Any, str], Exception]


def remove_jumps(items: list[Any], refuse: Refuse) -> list[Any]:
    """`items` whose loops have no ``continue``, and no ``break`` with something behind it. Raises what `refuse` makes
    of a body that becomes too large."""
    return [_removed(item, refuse) for item in items]


def _removed(node: Any, refuse: Refuse) -> Any:
    node = rebuild(node, lambda child: _removed(child, refuse))
    if isinstance(node, c_ast.For):
        node = _with_leading_break(node)
    if not isinstance(node, _LOOPS) or not contains(node.stmt, _JUMPS, _LOOPS):
        return node
    if isinstance(node, c_ast.For):
        body = Body(node, refuse, _JUMPS)
        return c_ast.For(node.init, node.cond, node.next, block(body.rest(block_items(node.stmt)), node.coord),
                         node.coord)
    if contains(node.stmt, (c_ast.Continue,), _LOOPS):
        kind = "while" if isinstance(node, c_ast.While) else "do"
        raise refuse(node, f"'continue' in a '{kind}' loop is not supported: use 'for', or 'if' around what follows")
    return node


def _with_leading_break(node: c_ast.For) -> c_ast.For:
    """A loop that only ``if (c) break;`` ends, or whose step is no sum, ended by its condition."""
    items = block_items(node.stmt)
    first = items[0] if items else None
    bare = node.cond is None or is_true(node.cond)
    scaled = isinstance(node.next, c_ast.Assignment) and node.next.op not in ("=", "+=", "-=")
    if not isinstance(first, c_ast.If) or first.iffalse is not None or not (bare or scaled):
        return node
    if [type(item) for item in block_items(first.iftrue)] != [c_ast.Break]:
        return node
    stays: Any = c_ast.UnaryOp("!", first.cond, first.coord)
    cond = stays if node.cond is None else c_ast.BinaryOp("&&", node.cond, stays, first.coord)
    return _with_leading_break(c_ast.For(node.init, cond, node.next, block(items[1:], node.coord), node.coord))


class Body:
    """The body of `whole`, a loop or a ``switch``, in which a jump of one of `kinds` ends what is done."""

    def __init__(self, whole: Any, refuse: Refuse, kinds: tuple[type, ...], *, kept: bool = True) -> None:
        self._whole, self._refuse, self._kinds, self._kept, self._count = whole, refuse, kinds, kept, 0

    def rest(self, items: list[Any]) -> list[Any]:
        """What `items` do up to a jump; a ``break`` stays if it is to be `kept`."""
        for number, item in enumerate(items):
            self._count += 1
            if self._count > _LARGEST:
                raise self._refuse(self._whole, f"without jumps, this has over {_LARGEST} statements")
            if self._jumps(item):
                return [*items[:number], *self._ends(item, items[number + 1 :])]
        return items

    def _jumps(self, node: Any) -> bool:
        return contains(node, self._kinds, _LOOPS)

    def _ends(self, item: Any, later: list[Any]) -> list[Any]:
        match item:
            case c_ast.Continue():
                return []
            case c_ast.Break():
                return [item] if self._kept else []
            case c_ast.Compound():
                inside = item.block_items or []
                if any(isinstance(i, c_ast.Decl) for i in inside) and later and not self._leaves(inside):
                    raise self._refuse(item, f"'{self._jump(item)}' in a block with declarations of its own is not "
                                             "supported: declare them before the block")
                return [block(self.rest([*inside, *([] if self._leaves(inside) else later)]), item.coord)]
            case c_ast.If():
                yes = self._branch(item.iftrue, later)
                no = self._branch(item.iffalse, later)
                return _choice(item, yes, no)
        raise self._refuse(item, f"'{self._jump(item)}' is not supported here; use 'if'")

    def _jump(self, node: Any) -> str:
        return "continue" if contains(node, (c_ast.Continue,), _LOOPS) else "break"

    def _branch(self, node: Any, later: list[Any]) -> list[Any]:
        """A branch and what follows the ``if``; a block of its own is kept apart where that declares something."""
        items = block_items(node)
        if not self._jumps(node) and any(isinstance(i, c_ast.Decl) for i in items):
            return [node, *later]
        if isinstance(node, c_ast.Compound) and items and self._jumps(node):
            return self._ends(node, later)
        return self.rest([*items, *later])

    def _leaves(self, items: list[Any]) -> bool:
        """Whether statements end in a jump, so that nothing after them is done."""
        return bool(items) and isinstance(items[-1], self._kinds)


def _choice(node: c_ast.If, yes: list[Any], no: list[Any]) -> list[Any]:
    """An ``if``, without branches that do nothing."""
    if yes:
        return [c_ast.If(node.cond, block(yes, node.coord), block(no, node.coord) if no else None, node.coord)]
    if no:
        opposite: Any = c_ast.UnaryOp("!", node.cond, node.coord)
        return [c_ast.If(opposite, block(no, node.coord), None, node.coord)]
    return []
