"""Accesses to arrays at places that data decide: loads and stores of a memory, each a statement of its own.

An array with such an access is a memory (`compiler.ir.program.Memory`), and all accesses to it go there, those with
affine subscripts, too. A load is a statement before the one that uses it, whose result is a scalar; a store is the
statement that assigns. Where C does not evaluate an operand (`?:`, `&&`, ``if``), the load takes place at index 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import islpy as isl
from pycparser.c_generator import CGenerator

from compiler.frontend.c_scop import building
from compiler.frontend.c_scop.errors import Place, ScopError
from compiler.frontend.c_scop.normalize.trees import Converted
from compiler.frontend.c_scop.types import INT, Number
from compiler.frontend.c_scop.variables import Scope, Variable
from compiler.ir.affine_index import value_ranges
from compiler.ir.expr import Const, Expr
from compiler.ir.ranges import Range, type_range

__all__ = ["ASSERTED", "Condition", "DataAddress", "DataArrays", "Hoisted", "fits", "guarded",
           "known_range", "row_major_index", "scalar", "tree_text", "words"]


class DataAddress(Exception):
    """An access whose place depends on data, to an array that was thought to have none: its name."""

    def __init__(self, array: str) -> None:
        super().__init__(array)
        self.array = array


@dataclass
class DataArrays:
    """The arrays that are memories, by name, and the memories' names; and by memory what it asserts."""

    names: frozenset[str] = frozenset()
    memories: dict[str, tuple[str, Variable]] = field(default_factory=dict)
    assertions: dict[str, str] = field(default_factory=dict)

    def memory(self, variable: Variable, scope: Scope, place: Place) -> str:
        """The memory of an array. Raises `ScopError` if the array has no size."""
        if variable.array not in self.memories:
            if any(size is None for size in variable.shape):
                raise ScopError(place, f"'{variable.name}' is accessed at places that depend on data, and has no size; "
                                       "declare it with one, as in int name[100]")
            self.memories[variable.array] = scope.free_name(f"{variable.array}_memory"), variable
        return self.memories[variable.array][0]

    def apart(self) -> DataArrays:
        """The same arrays; what is asked for there is not seen here."""
        return DataArrays(self.names, dict(self.memories), dict(self.assertions))

    def assertion(self, reason: str, scope: Scope) -> str:
        """A memory to which a store is an error for that reason."""
        number = len(self.assertions)
        name = scope.free_name(f"assertion_{number}")
        self.assertions[name] = reason
        return name


@dataclass(frozen=True)
class Condition:
    """Whether C evaluates an operand: where `node` is true, or false."""

    node: Any
    holds: bool


ASSERTED = Const(2, INT)
"""A place outside of the memories of assertions, which have two words: addresses have at least a bit."""


@dataclass
class Hoisted:
    """A load before the statement that uses its result. `reads`: elements that its value reads."""

    variable: Variable
    value: Expr
    reads: Sequence[Any]


def guarded(index: Expr, conditions: Sequence[Expr]) -> Expr:
    """`index`, 0 unless all `conditions` hold."""
    enable = building.conjunction(conditions)
    return index if isinstance(enable, Const) and enable.value else \
        building.select(enable, index, Const(0, index.type))


def row_major_index(subscripts: Sequence[Expr], variable: Variable) -> Expr:
    """The number of an element, by C's rules for arrays of arrays."""
    index: Expr = Const(0, INT)
    for size, subscript in zip(variable.shape, subscripts, strict=True):
        scaled = building.apply("mul", index, Const(size or 1, INT))
        index = subscript if scaled == Const(0, INT) else building.apply("add", scaled, subscript)
    return index


def fits(index: Expr, reads: Sequence[Number], names: Sequence[str], domain: isl.Set, scope: Scope, words: int) -> bool:
    """Whether an index is inside of so many words, whatever its `reads`, of these types, deliver."""
    low, high = known_range(index, reads, names, domain, scope)
    return low >= 0 and high < words


def known_range(value: Expr, reads: Sequence[Number], names: Sequence[str], domain: isl.Set, scope: Scope) -> Range:
    """Least and greatest value of an expression in a `domain`, whatever its `reads`, of these types, deliver."""
    tables = {v.array: (min(v.values), max(v.values)) for v in scope.everything() if v.fixed and v.values}
    return value_ranges(domain, names, value, tables).of(value, [type_range(type) for type in reads])


def words(variable: Variable) -> int:
    """Elements of an array with sizes."""
    return prod(size or 1 for size in variable.shape)


def scalar(scope: Scope, name: str, type: Number, place: Place) -> Variable:
    """A new scalar of the scop, 0 at first."""
    chosen = scope.free_name(name)
    return Variable(chosen, chosen, type, (), "inner", place, values=(0,))


class _Generator(CGenerator):
    """C text of the trees that normalising makes, too."""

    def visit_Converted(self, node: Converted) -> str:  # noqa: N802 (named by pycparser)
        """A conversion to the type of a variable."""
        return f"({node.target}) {self.visit(node.expr)}"

    def visit_Selection(self, node: Any) -> str:  # noqa: N802
        """A selection in place of branches."""
        return self.visit_TernaryOp(node)


def tree_text(node: Any) -> str:
    """Equal for equal trees."""
    text: str = _Generator().visit(node)
    return text
