"""How large sums can become: of arrays that statements add to, as often as their loops do.

Propagating ranges from statement to statement never ends for `sum += x`: every round adds another x. But an element
that is written by a statement n times can be no more than its first value and n times the largest increment.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import NamedTuple

import islpy as isl

from compiler.ir.expr import Apply, Cast, Expr, Read, fold
from compiler.ir.program import Program, Statement
from compiler.ir.ranges import Range, difference_range, hull, sum_range
from compiler.ir.types import Int, Type

__all__ = ["Rule", "accumulated_range"]

Rule = Callable[[Expr, list[Range]], Range]
"""The range of a node of a statement's value whose children have these ranges."""


def accumulated_range(program: Program, array: str, unknown: Collection[str],
                      rule_of: Callable[[Statement], Rule | None]) -> Range | None:
    """The range of the elements of `array`; None unless every statement that writes it adds to the element that it
    writes, or does not read `array`. Nothing is known of the arrays `unknown`, which may include this one; `rule_of` a
    statement is None if it reads something that nothing has written."""
    starts: list[Range] = []
    sums: list[_Part] = []
    low, high = 0, 0
    for statement in (s for s in program.statements if s.write.array == array):
        part = _written(statement, set(unknown) - {array}, rule_of(statement))
        if part is None or part.range is None:
            return None
        if part.holds:
            sums.append(part)
            count = _times(statement)
            low, high = low + count * min(part.range[0], 0), high + count * max(part.range[1], 0)
        else:
            starts.append(part.range)
    if not starts:
        return None
    bound = sum_range(hull(*starts), (low, high))
    return bound if _never_wraps(program.array(array).type, sums, bound) else None


class _Part(NamedTuple):
    """What is known of a part of a value. `range` is its own; or, where it `holds` what the statement adds to, by how
    much it is more than that, None if it is no such sum. `types`: those that the sum passes; `added`: of these, those
    in which terms are added."""

    holds: bool
    range: Range | None
    types: frozenset[Type] = frozenset()
    added: frozenset[Type] = frozenset()


def _written(statement: Statement, unknown: Collection[str], rule: Rule | None) -> _Part | None:
    """What is known of a statement's value; None if it is neither known nor a sum with the element that is written."""
    own = [k for k, read in enumerate(statement.reads) if read.array == statement.write.array]
    if rule is None or any(read.array in unknown for read in statement.reads) or len(own) > 1:
        return None
    if own and not _same_element(statement, own[0]):
        return None
    return fold(statement.value, partial(_part, own[0] if own else None, rule))


def _same_element(statement: Statement, read: int) -> bool:
    where = [access.map.intersect_domain(statement.domain) for access in (statement.reads[read], statement.write)]
    return where[0].is_equal(where[1])


def _part(own: int | None, rule: Rule, node: Expr, parts: list[_Part]) -> _Part:
    """A node with these children, where `own` is the number of the read of what the statement adds to."""
    if isinstance(node, Read) and node.index == own:
        return _Part(True, (0, 0), frozenset({node.type}))
    if not any(part.holds for part in parts):
        return _Part(False, rule(node, [_known(part) for part in parts]))
    way = [part for part in (parts[1:] if isinstance(node, Apply) and node.op == "select" else parts) if part.holds]
    types = frozenset({node.type}).union(*(part.types for part in way))
    added = frozenset({node.type} if isinstance(node, Apply) else ()).union(*(part.added for part in way))
    return _Part(True, _increment(node, parts, rule), types, added)


def _known(part: _Part) -> Range:
    assert part.range is not None
    return part.range


def _increment(node: Expr, parts: list[_Part], rule: Rule) -> Range | None:
    """The range of what a node is more than the value read, which some of its children hold; None if it is no sum."""
    match node, [part.holds for part in parts]:
        case Cast(), _:
            return parts[0].range
        case Apply("select"), [_, True, True]:
            return _combined(hull, parts[1], parts[2])
        case Apply("add"), [True, False] | [False, True]:
            return _combined(sum_range, *parts)
        case Apply("sub"), [True, False]:
            return _combined(difference_range, *parts)
        case Apply("mad", (a, b, _)), [False, False, True]:
            product = rule(Apply("mul", (a, b), node.type), [_known(part) for part in parts[:2]])
            return _combined(sum_range, parts[2], _Part(False, product))
    return None


def _combined(how: Callable[[Range, Range], Range], a: _Part, b: _Part) -> Range | None:
    return None if a.range is None or b.range is None else how(a.range, b.range)


def _times(statement: Statement) -> int:
    """How often a statement writes one element, or more: the product of how far each loop can go meanwhile."""
    instances = statement.write.map.intersect_domain(statement.domain).reverse()
    count = 1
    for k in range(instances.dim(isl.dim_type.out)):
        count *= instances.dim_max(k).sub(instances.dim_min(k)).max_val().to_python() + 1
    return count


def _never_wraps(stored: Type, sums: Collection[_Part], bound: Range) -> bool:
    """Whether every type that a sum passes on its way from and to an array of type `stored` holds `bound`, and terms
    are added in one type, in which it does no harm if a part of them wraps."""
    types = frozenset({stored}).union(*(part.types for part in sums))
    holding = all(isinstance(t, Int) and t.contains(bound[0]) and t.contains(bound[1]) for t in types)
    return holding and all(len(part.added) <= 1 for part in sums)
