"""Products of which only some points of a box count: a factor that is 0 makes the product 0.

What says that a point counts often depends on one iterator, as a factor does: a row of bits then masks a row of words,
where it would otherwise mask all products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import and_

from compiler.analysis.accesses import iterators_of
from compiler.bind.vector.element_values import cut
from compiler.bind.vector.moving_boxes import MaskTable
from compiler.frontend.parallel_array.array import Array
from compiler.frontend.parallel_array.functions import where
from compiler.ir.expr import Apply, Expr, Iterator, Load, Read, postorder
from compiler.ir.program import Statement
from compiler.ir.types import Int

__all__ = ["masked_product"]


def masked_product(
    statement: Statement, product: Apply, value_of: Callable[[Expr], Array], tables: Sequence[MaskTable]
) -> Array:
    """A product of integers, with 0 where a bit of `tables` is 0. `value_of` gives values of all dimensions of the
    index space."""
    assert isinstance(product.type, Int)
    rest, factors = list(tables), []
    for factor in product.args:
        axes = _axes(statement, factor)
        own = [table for table in rest if table.axes <= axes]
        rest = [table for table in rest if table not in own]
        value = value_of(factor)
        factors.append(_masked(value[tuple(slice(None if k in axes else 1) for k in range(value.ndim))], own))
    return _masked(cut(factors[0] * factors[1], product.type), rest)


def _masked(value: Array, tables: Sequence[MaskTable]) -> Array:
    return where(reduce(and_, [table.bits() for table in tables]), value, 0) if tables else value


def _axes(statement: Statement, value: Expr) -> frozenset[int]:
    """The iterators, by number, that a value may change with."""
    found = set[int]()
    for node in postorder(value):
        match node:
            case Read(number, _):
                found.update(iterators_of(statement.reads[number]))
            case Iterator(name, _):
                found.add(statement.iterators.index(name))
            case Load():
                found.update(range(len(statement.iterators)))
            case _:
                pass
    return frozenset(found)
