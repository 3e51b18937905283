"""Accesses through pointers as subscripts: ``*(p + e)`` is ``p[e]``, ``(&a[k])[e]`` is ``a[k + e]``, ``p->f`` is
``p[0].f``."""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from compiler.frontend.c_scop.branches import same_tree

__all__ = ["COMPARISONS", "between", "compared", "element_of", "without_pointers"]

COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


def without_pointers(tree: c_ast.FileAST) -> c_ast.FileAST:
    """`tree`, changed in place, with dereferences as subscripts wherever the pointer has a name."""
    outside = _pointer_names([node for node in tree.ext if not isinstance(node, c_ast.FuncDef)])
    for node in tree.ext:
        if isinstance(node, c_ast.FuncDef):
            _rewrite(node, (outside - _declared([node])) | _pointer_names([node]))
    return tree


def element_of(pointer: Any, index: Any, coord: Any) -> Any:
    """``pointer[index]``, where `pointer` may be an address."""
    if not (isinstance(pointer, c_ast.UnaryOp) and pointer.op == "&"):
        return c_ast.ArrayRef(pointer, index, coord)
    zero = isinstance(index, c_ast.Constant) and index.value == "0"
    target = pointer.expr
    if zero:
        return target
    if isinstance(target, c_ast.ArrayRef):
        return c_ast.ArrayRef(target.name, c_ast.BinaryOp("+", target.subscript, index, coord), coord)
    return c_ast.ArrayRef(pointer, index, coord)


def compared(node: Any) -> Any:
    """A comparison or difference of addresses in one array as one of subscripts; others as they are."""
    if not isinstance(node, c_ast.BinaryOp) or node.op not in (*COMPARISONS, "-"):
        return node
    (left, first), (right, second) = _address(node.left), _address(node.right)
    if first is second is None or not same_tree(left, right):
        return node
    zero = c_ast.Constant("int", "0", node.coord)
    return between(node, first or zero, second or zero)


def _address(node: Any) -> tuple[Any, Any]:
    """Array and subscript of an address; None if it is that of the array."""
    if isinstance(node, c_ast.UnaryOp) and node.op == "&" and isinstance(node.expr, c_ast.ArrayRef):
        return node.expr.name, node.expr.subscript
    return node, None


def between(node: c_ast.BinaryOp, left: Any, right: Any) -> Any:
    """A comparison or difference of pointers, of their places in one array."""
    found = c_ast.BinaryOp(node.op, left, right, node.coord)
    if node.op != "-":
        return found
    kind = c_ast.TypeDecl(None, [], None, c_ast.IdentifierType(["long"], node.coord), coord=node.coord)
    return c_ast.Cast(c_ast.Typename(None, [], None, kind, node.coord), found, node.coord)


def _pointer_names(nodes: list[Any]) -> set[str]:
    """Names that `nodes` declare as pointers or arrays, and nowhere as something else."""
    return _declared(nodes, pointers=True) - _declared(nodes, pointers=False)


def _declared(nodes: list[Any], *, pointers: bool | None = None) -> set[str]:
    found: set[str] = set()
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if isinstance(node, c_ast.Decl) and node.name:
            pointer = isinstance(node.type, c_ast.PtrDecl | c_ast.ArrayDecl)
            found |= {node.name} if pointers is None or pointer == pointers else set()
        stack.extend(child for _, child in node.children())
    return found


def _rewrite(node: Any, names: set[str]) -> Any:
    """`node` with its parts rewritten, or what replaces it."""
    for name, child in node.children():
        new = _rewrite(child, names)
        if new is not child:
            _put(node, name, new)
    if isinstance(node, c_ast.UnaryOp) and node.op == "*":
        found = _parted(node.expr, names)
        if found is not None:
            zero = c_ast.Constant("int", "0", node.coord)
            return element_of(found[0], found[1] or zero, node.coord)
    if isinstance(node, c_ast.StructRef) and node.type == "->":
        base, offset = _parted(node.name, names) or (node.name, None)
        pointed = element_of(base, offset or c_ast.Constant("int", "0", node.coord), node.coord)
        return c_ast.StructRef(pointed, ".", node.field, node.coord)
    if isinstance(node, c_ast.ArrayRef):
        found = _parted(node.name, names)
        if found is not None and (found[1] is not None or isinstance(found[0], c_ast.UnaryOp)):
            index = node.subscript if found[1] is None else c_ast.BinaryOp("+", found[1], node.subscript, node.coord)
            return element_of(found[0], index, node.coord)
    if isinstance(node, c_ast.BinaryOp) and node.op in ("+", "-"):
        found = _parted(node, names)
        if found is not None and found[1] is not None and not isinstance(found[0], c_ast.UnaryOp):
            return c_ast.UnaryOp("&", c_ast.ArrayRef(found[0], found[1], node.coord), node.coord)
    return node


def _put(node: Any, name: str, new: Any) -> None:
    if name.endswith("]"):
        attribute, _, number = name[:-1].partition("[")
        getattr(node, attribute)[int(number)] = new
    else:
        setattr(node, name, new)


def _parted(node: Any, names: set[str]) -> tuple[Any, Any] | None:
    """The pointer and the offset (None for no offset) that `node` adds up, None if `node` is no such sum."""
    if isinstance(node, c_ast.BinaryOp) and node.op in ("+", "-"):
        found = _parted(node.left, names)
        if found is not None:
            if found[1] is None and node.op == "+":
                return found[0], node.right
            offset = found[1] or c_ast.Constant("int", "0", node.coord)
            return found[0], c_ast.BinaryOp(node.op, offset, node.right, node.coord)
        found = _parted(node.right, names) if node.op == "+" else None
        if found is not None:
            offset = node.left if found[1] is None else c_ast.BinaryOp("+", node.left, found[1], node.coord)
            return found[0], offset
        return None
    if isinstance(node, c_ast.UnaryOp) and node.op == "&":
        return node, None
    return (node, None) if isinstance(node, c_ast.ID) and node.name in names else None
