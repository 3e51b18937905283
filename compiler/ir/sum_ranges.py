"""How large sums can become: of arrays that statements add to, as often as their loops do.

Propagating ranges from statement to statement never ends for `sum += x`: every round adds another x. But an element
that is written by a statement n times can be no more than its first value and n times the largest increment.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import islpy as isl

from compiler.ir.expr import Apply, Cast, Expr, Read, children, postorder
from compiler.ir.program import Program, Statement
from compiler.ir.ranges import Range, hull
from compiler.ir.types import Int

__all__ = ["RangeOf", "sum_range"]

RangeOf = Callable[[Statement, Expr], Range | None]
"""The range of a part of a statement's value; None if it reads something that nothing is known of."""


def sum_range(program: Program, array: str, unknown: Collection[str], range_of: RangeOf) -> Range | None:
    """The range of the elements of `array`; None unless every statement that writes it adds to the element that it
    writes, or does not read `array`. Nothing is known of the arrays `unknown`, which may include this one."""
    starts: list[Range] = []
    low, high = 0, 0
    for statement in (s for s in program.statements if s.write.array == array):
        if {read.array for read in statement.reads} & (set(unknown) - {array}):
            return None
        own = [k for k, read in enumerate(statement.reads) if read.array == array]
        found = range_of(statement, statement.value) if not own else _growth(statement, own, range_of)
        if found is None:
            return None
        if own:
            low, high = low + found[0], high + found[1]
        else:
            starts.append(found)
    if not starts:
        return None
    first, last = hull(*starts)
    bound = first + low, last + high
    return bound if _never_wraps(program, array, bound) else None


def _growth(statement: Statement, own: list[int], range_of: RangeOf) -> Range | None:
    """By what all instances of a statement together change an element, at the most."""
    if len(own) != 1 or not _same_element(statement, own[0]):
        return None
    step = _increment(statement, statement.value, own[0], range_of)
    if step is None:
        return None
    count = _times(statement)
    return count * min(step[0], 0), count * max(step[1], 0)


def _same_element(statement: Statement, read: int) -> bool:
    where = [access.map.intersect_domain(statement.domain) for access in (statement.reads[read], statement.write)]
    return where[0].is_equal(where[1])


def _increment(statement: Statement, node: Expr, read: int, range_of: RangeOf) -> Range | None:
    """The range of what `node` is more than the value read; None if it is no sum with that as a term."""
    def more(inner: Expr) -> Range | None:
        return _increment(statement, inner, read, range_of)

    match node:
        case Read(index):
            return (0, 0) if index == read else None
        case Cast(arg):
            return more(arg)
        case Apply("select", (_, yes, no)):
            return _combined(more(yes), more(no), hull)
        case Apply("add", (a, b)):
            first, second = (a, b) if _contains(a, read) else (b, a)
            return None if _contains(second, read) else _combined(more(first), range_of(statement, second), _sum)
        case Apply("sub", (a, b)) if not _contains(b, read):
            return _combined(more(a), range_of(statement, b), _difference)
        case Apply("mad", (a, b, c)) if not _contains(a, read) and not _contains(b, read):
            product = range_of(statement, Apply("mul", (a, b), node.type))
            return _combined(more(c), product, _sum)
    return None


def _contains(node: Expr, read: int) -> bool:
    return any(isinstance(inner, Read) and inner.index == read for inner in postorder(node))


def _combined(a: Range | None, b: Range | None, how: Callable[[Range, Range], Range]) -> Range | None:
    return None if a is None or b is None else how(a, b)


def _sum(a: Range, b: Range) -> Range:
    return a[0] + b[0], a[1] + b[1]


def _difference(a: Range, b: Range) -> Range:
    return a[0] - b[1], a[1] - b[0]


def _times(statement: Statement) -> int:
    """How often a statement writes one element, or more: the product of how far each loop can go meanwhile."""
    instances = statement.write.map.intersect_domain(statement.domain).reverse()
    count = 1
    for k in range(instances.dim(isl.dim_type.out)):
        count *= instances.dim_max(k).sub(instances.dim_min(k)).max_val().to_python() + 1
    return count


def _never_wraps(program: Program, array: str, bound: Range) -> bool:
    """Whether every type that a sum passes on its way from and to the array holds `bound`, and terms are added in one
    type, in which it does no harm if a part of them wraps."""
    types = [program.array(array).type]
    for statement in (s for s in program.statements if s.write.array == array):
        own = [k for k, read in enumerate(statement.reads) if read.array == array]
        way = [node for read in own for node in _way(statement.value, read)]
        if len({node.type for node in way if isinstance(node, Apply)}) > 1:
            return False
        types += [node.type for node in way]
    return all(isinstance(t, Int) and t.contains(bound[0]) and t.contains(bound[1]) for t in types)


def _way(node: Expr, read: int) -> list[Expr]:
    """The nodes of an expression that contain a read, but for conditions."""
    if not _contains(node, read):
        return []
    inner = children(node)[1:] if isinstance(node, Apply) and node.op == "select" else children(node)
    return [node, *(found for child in inner for found in _way(child, read))]
