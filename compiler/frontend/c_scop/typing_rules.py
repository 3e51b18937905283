"""The type of a C expression without its value: for branches that are never evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pycparser import c_ast

from compiler.frontend.c_scop.affine import IteratorValue
from compiler.frontend.c_scop.constants import NotConstant, literal_constant
from compiler.frontend.c_scop.library import LIBRARY
from compiler.frontend.c_scop.normalize.trees import Converted
from compiler.frontend.c_scop.types import INT, Number, number_type, promote, usual
from compiler.frontend.c_scop.variables import Scope, Variable
from compiler.ir.types import Int

__all__ = ["type_of"]

_TRUTH = {"<", "<=", ">", ">=", "==", "!=", "&&", "||"}


def type_of(node: Any, scope: Scope, iterators: Mapping[str, IteratorValue]) -> Number:
    """The type of `node`; int for what cannot be compiled, since only evaluated code is held to the rules."""
    match node:
        case c_ast.Constant():
            return _literal_type(node)
        case c_ast.ID() if node.name in iterators:
            return iterators[node.name].type
        case c_ast.ID():
            found = scope.find(node.name)
            return found.type if isinstance(found, Variable) else INT
        case Converted():
            found = scope.find(node.target)
            return found.type if isinstance(found, Variable) else INT
        case c_ast.ArrayRef():
            return type_of(node.name, scope, iterators)
        case c_ast.UnaryOp(op="sizeof"):
            return Int(64, signed=False)
        case c_ast.UnaryOp(op="-" | "+" | "~"):
            return promote(type_of(node.expr, scope, iterators))
        case c_ast.Cast() if isinstance(node.to_type.type, c_ast.TypeDecl):
            return number_type(node.to_type.type, scope.typedefs, scope.source)
        case c_ast.FuncCall() if isinstance(node.name, c_ast.ID) and node.name.name in LIBRARY:
            return LIBRARY[node.name.name][0]
        case c_ast.TernaryOp():
            return usual(type_of(node.iftrue, scope, iterators), type_of(node.iffalse, scope, iterators))
        case c_ast.BinaryOp() if node.op not in _TRUTH:
            left = type_of(node.left, scope, iterators)
            return promote(left) if node.op in ("<<", ">>") else usual(left, type_of(node.right, scope, iterators))
    return INT


def _literal_type(node: c_ast.Constant) -> Number:
    try:
        return literal_constant(node)[1]
    except NotConstant:
        return INT
