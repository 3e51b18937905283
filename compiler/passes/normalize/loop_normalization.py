"""Statements whose iterators are their loops: outermost first, each counting upwards.

Schedule directives change the order of instances and leave statements alone. Schedulers of hardware take the iterators
of a statement for its loop nest, so a program goes through `normalize_loops` before: it gives every statement the
iterators in the order of its loops, and counts a loop that runs backwards from the other end.
"""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from compiler.ir import expr
from compiler.ir.expr import Apply, Const, Expr, with_children
from compiler.ir.program import Program, Statement
from compiler.ir.types import Int
from compiler.passes.directives.errors import TransformError
from compiler.passes.directives.instances import Renaming
from compiler.passes.directives.place import Place, places
from compiler.passes.directives.rewrite import rewritten, unchanged

__all__ = ["normalize_loops"]


def normalize_loops(program: Program) -> Program:
    """`program` with iterators as loops; itself if they are so already, or if its order is not made of loops over one
    iterator each. Raises `TransformError` if a loop backwards has an iterator that is no integer."""
    try:
        where = places(program)
    except TransformError:
        return program
    images, statements = unchanged(program), []
    for statement in program.statements:
        walk = _Walk.of(statement, where[statement.name])
        if walk is not None:
            images[statement.name] = [walk.renaming.image]
            where[statement.name] = walk.place(where[statement.name])
            statement = walk.statement()
        statements.append(statement)
    if all(new is old for new, old in zip(statements, program.statements, strict=True)):
        return program
    return rewritten(program, tuple(statements), where, images, "putting iterators in the order of loops")


@dataclass(frozen=True)
class _Walk:
    """The loops of a statement: numbers of their iterators, and the sum of the first and the last value of those that
    run backwards."""

    old: Statement
    numbers: tuple[int, ...]
    backwards: dict[str, int]

    @staticmethod
    def of(statement: Statement, place: Place) -> _Walk | None:
        """None if nothing is to be done, or nothing can."""
        numbers = [place.iterator(depth) for depth in range(len(place.loops))]
        found = tuple(k for k in numbers if k is not None)
        if sorted(found) != list(range(len(statement.iterators))) or len(found) != len(numbers):
            return None
        backwards = {}
        for loop, number in zip(place.loops, found, strict=True):
            slope = loop.get_coefficient_val(isl.dim_type.in_, number).to_python()
            if slope == -1 and not loop.dim(isl.dim_type.div):
                low, high = (bound(number).to_python() for bound in
                             (statement.domain.dim_min_val, statement.domain.dim_max_val))
                backwards[statement.iterators[number]] = low + high
            elif slope != 1:
                return None
        return _Walk(statement, found, backwards) if backwards or found != tuple(sorted(found)) else None

    @property
    def renaming(self) -> Renaming:
        """From the old instances to the new ones."""
        iterators = tuple(self.old.iterators[k] for k in self.numbers)
        values = [f"{self.backwards[name]} - n{iterators.index(name)}" if name in self.backwards else
                  f"n{iterators.index(name)}" for name in self.old.iterators]
        return Renaming(self.old, self.old.name, iterators, values)

    def statement(self) -> Statement:
        """The statement over the new iterators."""
        return self.renaming.statement(self._node)

    def _node(self, node: Expr, arguments: list[Expr]) -> Expr:
        if not isinstance(node, expr.Iterator) or node.name not in self.backwards:
            return with_children(node, arguments)
        type = node.type
        if not isinstance(type, Int):
            raise TransformError(f"{self.old}: iterator '{node.name}' runs backwards and has type {type}, not an "
                                 "integer")
        return Apply("sub", (Const(type.wrap(self.backwards[node.name]), type), node), type)

    def place(self, place: Place) -> Place:
        """The same place, its loops as functions of the new iterators. A loop backwards then counts upwards."""
        return Place(place.positions, tuple(self.renaming.time(loop) for loop in place.loops))
