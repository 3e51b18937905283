"""``sizeof``: the bytes of types, variables, elements and expressions, on the usual 64-bit machine."""

from __future__ import annotations

import copy
from math import prod
from typing import TYPE_CHECKING, Any

from pycparser import c_ast

from compiler.frontend.c_scop.errors import ScopError
from compiler.frontend.c_scop.types import named_type
from compiler.ir.types import Float, Int

if TYPE_CHECKING:
    from compiler.frontend.c_scop.variables import Scope

__all__ = ["pointer_size", "size_constant", "without_sizeof"]

_POINTER = 8


def pointer_size(coord: Any) -> c_ast.Constant:
    """``sizeof`` of a pointer."""
    return _bytes(_POINTER, coord)


def _bytes(size: int, coord: Any) -> c_ast.Constant:
    return c_ast.Constant("unsigned long int", f"{size}UL", coord)


def size_constant(node: c_ast.UnaryOp, scope: Scope) -> c_ast.Constant:
    """``sizeof`` of the operand of `node` as a constant of type unsigned long. Raises `ScopError`."""
    operand = node.expr
    size = _type_size(operand.type, scope) if isinstance(operand, c_ast.Typename) else _value_size(operand, scope)
    if size is None:
        raise ScopError(scope.source.place(node.coord), "the size of this is not known; write the number of bytes")
    return _bytes(size, node.coord)


def without_sizeof(node: Any, scope: Scope) -> Any:
    """`node` with every ``sizeof`` as a constant."""
    if isinstance(node, c_ast.UnaryOp) and node.op == "sizeof":
        return size_constant(node, scope)
    if not isinstance(node, c_ast.BinaryOp | c_ast.UnaryOp | c_ast.TernaryOp | c_ast.Cast):
        return node
    result = copy.copy(node)
    for name, child in node.children():
        setattr(result, name, without_sizeof(child, scope))
    return result


def _type_size(kind: Any, scope: Scope) -> int | None:
    kind = scope.spelt_out(kind)
    if isinstance(kind, c_ast.PtrDecl):
        return _POINTER
    if isinstance(kind, c_ast.ArrayDecl):
        inner = _type_size(kind.type, scope)
        return None if inner is None or kind.dim is None else inner * scope.evaluate(kind.dim)
    if isinstance(kind.type, c_ast.Enum):
        return 4
    type = named_type(tuple(getattr(kind.type, "names", ())), scope.typedefs)
    return type.width // 8 if isinstance(type, Int | Float) else None


def _value_size(node: Any, scope: Scope) -> int | None:
    """The bytes of the value of an expression, of an array as a whole."""
    depth, inner = 0, node
    while isinstance(inner, c_ast.ArrayRef) or (isinstance(inner, c_ast.UnaryOp) and inner.op == "*"):
        inner = inner.name if isinstance(inner, c_ast.ArrayRef) else inner.expr
        depth += 1
    found = scope.find(inner.name) if isinstance(inner, c_ast.ID) else None
    if found is None or isinstance(found, int):
        return _expression_size(node, scope)
    shape = found.shape[depth:]
    if shape and depth == 0 and found.storage == "parameter":
        return _POINTER
    return None if None in shape else found.type.width // 8 * prod(size or 1 for size in shape)


def _expression_size(node: Any, scope: Scope) -> int:
    from compiler.frontend.c_scop.typing_rules import type_of
    return type_of(node, scope, {}).width // 8
