"""What the value of an iterator becomes in expressions when its loop becomes two."""

from __future__ import annotations

from collections.abc import Callable

from compiler.ir import expr
from compiler.ir.expr import Apply, Const, Expr, with_children
from compiler.ir.program import Statement
from compiler.ir.types import Int
from compiler.passes.directives.errors import TransformError

__all__ = ["split_iterator"]


def split_iterator(old: Statement, iterator: str, names: tuple[str, str], factor: int, first: int
                   ) -> Callable[[Expr, list[Expr]], Expr]:
    """A step of `compiler.ir.expr.fold` over a value of `old`: ``first + factor * outer + inner`` for `iterator`, where
    `names` are (outer, inner). Raises `TransformError` for an iterator that is no integer."""
    def step(node: Expr, arguments: list[Expr]) -> Expr:
        if not isinstance(node, expr.Iterator) or node.name != iterator:
            return with_children(node, arguments)
        type_ = node.type
        if not isinstance(type_, Int):
            raise TransformError(f"{old}: iterator '{iterator}' has type {type_}; only integers can be split")
        outer, inner = (expr.Iterator(name, type_) for name in names)
        strip = Apply("mul", (outer, Const(type_.wrap(factor), type_)), type_)
        return Apply("add", (strip, Apply("add", (inner, Const(type_.wrap(first), type_)), type_)), type_)

    return step
