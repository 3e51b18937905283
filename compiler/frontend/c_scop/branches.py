"""What the branches of an ``if`` on data assign: selections in place of branches, and values that are overwritten.

    if (a < 10) x = 0; else if (a < 20) x = 1; else x = 2;

is one assignment of a selection, ``x = a < 10 ? 0 : a < 20 ? 1 : 2``, in which every value is converted to the type of
x, as an assignment does, and not to a common type, as ``?:`` does.
"""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from compiler.frontend.c_scop.normalize.trees import accessed, assigned_names, declared_names, used_names

__all__ = ["Selection", "as_assignment", "is_overwritten_by_else", "same_tree", "single_assignment"]


class Selection(c_ast.TernaryOp):
    """``cond ? iftrue : iffalse``, each converted as if assigned to `target`."""

    __slots__ = ("target",)

    def __init__(self, cond: Any, iftrue: Any, iffalse: Any, target: Any, coord: Any) -> None:
        super().__init__(cond, iftrue, iffalse, coord)
        self.target = target


def as_assignment(node: c_ast.If) -> c_ast.Assignment | None:
    """An ``if`` all of whose branches, over any number of ``else if``, assign one and the same variable or element, as
    one assignment; None if it is something else."""
    yes, no = _assigned(node.iftrue), _assigned(node.iffalse)
    if yes is None or no is None or not same_tree(yes.lvalue, no.lvalue):
        return None
    value = Selection(node.cond, yes.rvalue, no.rvalue, yes.lvalue, node.coord)
    return c_ast.Assignment("=", yes.lvalue, value, yes.coord)


def _assigned(node: Any) -> c_ast.Assignment | None:
    """The plain assignment that a branch is."""
    only = _only(node)
    if isinstance(only, c_ast.If):
        return as_assignment(only)
    plain = single_assignment(only)
    return plain if plain is not None and plain.op == "=" else None


def _only(node: Any) -> Any:
    while isinstance(node, c_ast.Compound) and node.block_items and len(node.block_items) == 1:
        node = node.block_items[0]
    return node


def single_assignment(node: Any) -> c_ast.Assignment | None:
    """The only statement of a branch if it is one assignment."""
    node = _only(node)
    return node if isinstance(node, c_ast.Assignment) and not isinstance(node.rvalue, c_ast.Assignment) else None


def is_overwritten_by_else(target: Any, node: c_ast.If) -> bool:
    """Whether the second branch of `node` assigns `target` in any case, and does not read it before; `target` is the
    same element in both branches."""
    changed = {*assigned_names(node), *declared_names(node)}
    subscripts = used_names(target) - used_names(_variable(target))
    return not subscripts & changed and _overwrites(target, node.iffalse)


def _overwrites(target: Any, node: Any) -> bool:
    match node:
        case c_ast.Compound():
            first = next((item for item in node.block_items or [] if _mentions(item, target)), None)
            return first is not None and _overwrites(target, first)
        case c_ast.Assignment(op="="):
            return same_tree(node.lvalue, target) and not _mentions(node.rvalue, target)
        case c_ast.If():
            branches = _overwrites(target, node.iftrue) and _overwrites(target, node.iffalse)
            return branches and not _mentions(node.cond, target)
    return False


def _variable(target: Any) -> Any:
    """The variable or the array of which `target` is, or is an element."""
    return accessed(target)[0]


def _mentions(node: Any, target: Any) -> bool:
    """Whether the variable or the array of `target` occurs in `node`."""
    return bool(used_names(_variable(target)) & (used_names(node) | declared_names(node)))


def same_tree(a: Any, b: Any) -> bool:
    """Whether two syntax trees are the same."""
    if type(a) is not type(b) or [getattr(a, n) for n in a.attr_names] != [getattr(b, n) for n in b.attr_names]:
        return False
    left, right = a.children(), b.children()
    return len(left) == len(right) and all(same_tree(x, y) for (_, x), (_, y) in zip(left, right, strict=True))
