"""``return`` anywhere in a function as assignments and conditions: what follows runs where nothing has returned yet."""

from __future__ import annotations

import copy
from typing import Any

from pycparser import c_ast

__all__ = ["structured"]


def structured(body: c_ast.Compound, result: c_ast.ID | None, done: c_ast.ID) -> tuple[list[Any], bool]:
    """The statements of a function without ``return``: it assigns `result` (None: no value), and inside loops also
    sets `done`, which is 0 before. Whether they use `done`."""
    worker = _Returns(result, done)
    return worker.items(body.block_items or [], looping=False), worker.flagged


class _Returns:
    def __init__(self, result: c_ast.ID | None, done: c_ast.ID) -> None:
        self._result = result
        self._done = done
        self.flagged = False

    def items(self, items: list[Any], *, looping: bool) -> list[Any]:
        """`items`, of which the later run only where the earlier do not return. `looping`: later iterations, too."""
        found: list[Any] = []
        for number, item in enumerate(items):
            rest = items[number + 1:]
            if not _returns(item):
                found.append(item)
            elif isinstance(item, c_ast.Return):
                return found + self._return(item, looping)
            elif isinstance(item, c_ast.Compound):
                return found + self.items([*(item.block_items or []), *rest], looping=looping)
            elif isinstance(item, c_ast.If):
                return [*found, self._branches(item, rest, looping)]
            else:
                return found + self._loop(item, rest, looping)
        return found

    def _return(self, node: c_ast.Return, looping: bool) -> list[Any]:
        found: list[Any] = []
        if self._result is not None and node.expr is not None:
            found.append(c_ast.Assignment("=", self._result, node.expr, node.coord))
        if looping:
            self.flagged = True
            found.append(c_ast.Assignment("=", self._done, c_ast.Constant("int", "1", node.coord), node.coord))
        return found

    def _branches(self, node: c_ast.If, rest: list[Any], looping: bool) -> c_ast.If:
        ways = []
        for branch in (node.iftrue, node.iffalse):
            own = [] if branch is None else [branch]
            inside = self.items([*own, *([] if _always(branch) else rest)], looping=looping)
            ways.append(c_ast.Compound(inside, node.coord) if inside else None)
        return c_ast.If(node.cond, ways[0] or c_ast.Compound([], node.coord), ways[1], node.coord)

    def _loop(self, node: Any, rest: list[Any], looping: bool) -> list[Any]:
        loop = copy.copy(node)
        inside = self.items([node.stmt], looping=True)
        loop.stmt = self._unless_done(inside, node)
        after = self.items(rest, looping=looping)
        return [loop, self._unless_done(after, node)] if after else [loop]

    def _unless_done(self, items: list[Any], node: Any) -> c_ast.If:
        self.flagged = True
        condition = c_ast.BinaryOp("==", self._done, c_ast.Constant("int", "0", node.coord), node.coord)
        return c_ast.If(condition, c_ast.Compound(items, node.coord), None, node.coord)


def _returns(node: Any) -> bool:
    return isinstance(node, c_ast.Return) or any(_returns(child) for _, child in node.children())


def _always(node: Any) -> bool:
    """Whether every way through `node` returns."""
    match node:
        case c_ast.Return():
            return True
        case c_ast.Compound():
            return any(_always(item) for item in node.block_items or [])
        case c_ast.If():
            return _always(node.iftrue) and _always(node.iffalse)
    return False
