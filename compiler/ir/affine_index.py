"""Indices that are affine functions of iterators, though they are expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import islpy as isl

from compiler.ir.expr import Apply, Cast, Const, Expr, Iterator, fold
from compiler.ir.program import Statement
from compiler.ir.ranges import Range, value_range
from compiler.ir.types import Int

__all__ = ["ValueRanges", "affine_index", "iterator_ranges", "value_ranges"]


def iterator_ranges(statement: Statement) -> dict[str, Range]:
    """The least and the greatest value of every iterator."""
    return _ranges(statement.domain, statement.iterators)


def _ranges(domain: isl.Set, iterators: Sequence[str]) -> dict[str, Range]:
    return {
        name: (domain.dim_min_val(k).to_python(), domain.dim_max_val(k).to_python())
        for k, name in enumerate(iterators)
    }


class ValueRanges(NamedTuple):
    """What is known of the nodes of a value before its reads: ranges of iterators, of affine functions of several
    iterators by the nodes' `id`, and of tables."""

    iterators: Mapping[str, Range]
    functions: Mapping[int, Range]
    tables: Mapping[str, Range]

    def of_node(self, node: Expr, parts: list[Range], reads: list[Range]) -> Range:
        """The range of a node, whose children have the ranges `parts`."""
        return self.functions.get(id(node)) or value_range(node, parts, reads, self.iterators, self.tables)

    def of(self, node: Expr, reads: Sequence[Range]) -> Range:
        """The range of a node where what is read has the ranges `reads`."""
        return fold(node, lambda each, parts: self.of_node(each, parts, list(reads)))


def value_ranges(domain: isl.Set, iterators: Sequence[str], value: Expr, tables: Mapping[str, Range]) -> ValueRanges:
    """What is known of the nodes of a `value` of `iterators` in a domain. Functions of two and more iterators have the
    least and the greatest value in the domain, for which ranges of the iterators alone are too wide."""
    found: dict[int, Range] = {}

    def note(node: Expr, function: isl.Aff) -> None:
        used = sum(function.involves_dims(isl.dim_type.in_, k, 1) for k in range(len(iterators)))
        if isinstance(node, Apply) and used > 1:
            found[id(node)] = domain.min_val(function).to_python(), domain.max_val(function).to_python()

    _functions(domain, iterators, value, note)
    return ValueRanges(_ranges(domain, iterators), found, tables)


def affine_index(statement: Statement, index: Expr) -> isl.Aff | None:
    """`index` of an access of `statement` as a function on its domain's space; None if it is none, or may wrap."""
    return _functions(statement.domain, statement.iterators, index, lambda node, function: None)


def _functions(domain: isl.Set, iterators: Sequence[str], value: Expr,
               note: Callable[[Expr, isl.Aff], None]) -> isl.Aff | None:
    """The same of a `value` of `iterators` in a domain; `note` is called for every node that is such a function."""
    space = isl.LocalSpace.from_space(domain.get_space())
    known = _ranges(domain, iterators)

    def step(node: Expr, parts: list[tuple[isl.Aff | None, Range]]) -> tuple[isl.Aff | None, Range]:
        functions, ranges = [part[0] for part in parts], [part[1] for part in parts]
        function = _function(iterators, space, node, functions)
        if function is None:
            return None, (0, 0)
        range = value_range(node, ranges, [], known, {})
        if not _is_exact(node, ranges, range):
            return None, (0, 0)
        note(node, function)
        return function, range

    return fold(value, step)[0]


def _function(iterators: Sequence[str], space: isl.LocalSpace, node: Expr,
              parts: list[isl.Aff | None]) -> isl.Aff | None:
    """The function of a node of those of its operands, if none of them wraps."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or not isinstance(node.type, Int):
        return None
    match node:
        case Const(value, _):
            return isl.Aff.zero_on_domain(space).set_constant_val(isl.Val(str(value)))
        case Iterator(name, _):
            return isl.Aff.var_on_domain(space, isl.dim_type.set, list(iterators).index(name))
        case Cast():
            return known[0]
        case Apply("add", _, _):
            return known[0].add(known[1])
        case Apply("sub", _, _):
            return known[0].sub(known[1])
        case Apply("shl", (_, Const(bits, _)), _):
            return known[0].scale_val(isl.Val(1 << bits))
        case Apply("mul", _, _) if any(part.is_cst() for part in known):
            return known[0].mul(known[1])
    return None


def _is_exact(node: Expr, operands: list[Range], range: Range) -> bool:
    """Whether an affine node surely does not wrap: what it can give is what the exact operation can give."""
    match node:
        case Cast():
            return range == operands[0]
        case Apply("add", _, _):
            return range == (operands[0][0] + operands[1][0], operands[0][1] + operands[1][1])
        case Apply("sub", _, _):
            return range == (operands[0][0] - operands[1][1], operands[0][1] - operands[1][0])
        case Apply("shl", (_, Const(bits, _)), _):
            return range == (operands[0][0] << bits, operands[0][1] << bits)
        case Apply("mul", _, _):
            corners = [a * b for a in operands[0] for b in operands[1]]
            return range == (min(corners), max(corners))
    return True
