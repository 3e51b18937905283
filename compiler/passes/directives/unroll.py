"""The directive that turns iterations into statements of their own: unroll, which asks for parallel hardware."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from compiler.ir import expr
from compiler.ir.expr import Const, Expr, with_children
from compiler.ir.program import Program, Statement
from compiler.ir.types import Int
from compiler.passes.directives.errors import TransformError
from compiler.passes.directives.instances import Renaming
from compiler.passes.directives.place import Place, places
from compiler.passes.directives.rewrite import chosen, depth_of, rewritten, unchanged
from compiler.passes.directives.split import split

__all__ = ["unroll"]

Rank = tuple[int, int, int]
"""Position of the loop that is gone, iteration (from 1; 0 for what is not unrolled), position inside that loop."""


def unroll(program: Program, iterator: str, factor: int | None = None,
           statements: Iterable[str] | None = None) -> Program:
    """`factor` consecutive iterations of a loop as statements ``name_0``, ``name_1``, …; all of them if not given.

    Partially unrolled, the iterator keeps its name and counts groups of `factor`. Where `factor` does not divide the
    extent, the last group is incomplete and the copies' domains differ. The order of instances stays as it was.
    Raises `TransformError`.
    """
    kept = [s.name for s in chosen(program, (iterator,), statements)]
    lane = iterator
    if factor is not None:
        lane = f"{iterator}_lane"
        program = split(program, iterator, factor, (iterator, lane), kept)
    where, images, result = places(program), unchanged(program), []
    ranks: dict[str, Rank] = {}
    for statement in program.statements:
        if statement.name in kept:
            copies = _copies(statement, lane, where.pop(statement.name))
            images[statement.name] = [copy.image for copy in copies]
            where |= {copy.name: copy.place for copy in copies}
            ranks |= {copy.name: copy.rank for copy in copies}
            result += [copy.statement for copy in copies]
        else:
            result.append(statement)
    return rewritten(program, tuple(result), _numbered(where, ranks), images, f"unrolling of '{iterator}'")


def _numbered(where: dict[str, Place], ranks: Mapping[str, Rank]) -> dict[str, Place]:
    """Final positions: copies stand where their loop stood, ordered by iteration and then as inside the loop."""
    result = dict(where)
    for name in ranks:
        level = len(where[name].loops)
        prefix = where[name].positions[:level]
        siblings = {other: ranks.get(other, (place.positions[level], 0, 0)) for other, place in where.items()
                    if place.positions[:level] == prefix}
        sorted_ranks = sorted(set(siblings.values()))
        for other, rank in siblings.items():
            result[other] = result[other].moved(level, sorted_ranks.index(rank))
    return result


def _copies(statement: Statement, iterator: str, place: Place) -> list[_Copy]:
    number = statement.iterators.index(iterator)
    low, high = (bound(number).to_python() for bound in (statement.domain.dim_min_val, statement.domain.dim_max_val))
    depth = depth_of(statement, place, iterator)
    if depth != len(place.loops) - 1:
        raise TransformError(f"{statement}: '{iterator}' is not its innermost loop; reorder before unrolling")
    copies = [_Copy(statement, iterator, value, value - low, place) for value in range(low, high + 1)]
    return [copy for copy in copies if not copy.image.is_empty()]


class _Copy:
    """The instances of `statement` with one value of `iterator`, as a statement without it."""

    def __init__(self, statement: Statement, iterator: str, value: int, number: int, place: Place) -> None:
        self._old, self._iterator, self._value = statement, iterator, value
        kept = [name for name in statement.iterators if name != iterator]
        values = [str(value) if name == iterator else f"n{kept.index(name)}" for name in statement.iterators]
        self.name = f"{statement.name}_{number}"
        self._renaming = Renaming(statement, self.name, tuple(kept), values)
        self.image = self._renaming.image
        self.rank: Rank = (place.positions[-2], 1 + number, place.positions[-1])
        # Its position among siblings is still that of the loop that is gone.
        self.place = Place(place.positions[:-1], tuple(self._renaming.time(loop) for loop in place.loops[:-1]))

    @property
    def statement(self) -> Statement:
        """The copy."""
        return self._renaming.statement(self._node)

    def _node(self, node: Expr, arguments: list[Expr]) -> Expr:
        if isinstance(node, expr.Iterator) and node.name == self._iterator:
            type = node.type
            if not isinstance(type, Int):
                raise TransformError(f"{self._old}: iterator '{node.name}' has type {type}, not an integer")
            return Const(type.wrap(self._value), type)
        return with_children(node, arguments)
