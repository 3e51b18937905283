"""Whether a program on arrays in parts is the program that it was made from."""

from __future__ import annotations

from itertools import combinations

import islpy as isl
import numpy as np

from compiler.ir.evaluate import evaluate, integer
from compiler.ir.expr import Cast, Expr, Read, postorder
from compiler.ir.program import Access, Program, Statement
from compiler.ir.relations import united
from compiler.passes.arrays.partition import Part, Partition
from compiler.passes.normalize.identity_copies import Untouched
from compiler.sched.verify.constants import without_constants
from compiler.sched.verify.errors import ValidationError
from compiler.sched.verify.growth import check_growth
from compiler.sched.verify.held import check_held_values
from compiler.sched.verify.words import check_word_arrays

__all__ = ["check_parts"]


def check_parts(partition: Partition) -> None:
    """Raise `ValidationError` unless every access of the parts is the original one, element by element.

    Statements, their domains, values and order must be the same; output parts must not share elements.
    """
    if partition.words is not None:
        check_word_arrays(partition.words)
    if partition.growth is not None:
        check_growth(partition.growth)
    if partition.elements is not None and partition.elements is not partition.original:
        check_held_values(partition.elements, partition.original)
    before, after = partition.original, partition.program
    parents = {part.name: part for part in partition.parts}
    moved = _without_untouched(partition)
    domains = united(statement.domain for statement in moved)
    orders = [program.order.intersect_domain(domains) for program in (before, after)]
    if [s.name for s in moved] != [s.name for s in after.statements] or not orders[0].is_equal(orders[1]):
        raise ValidationError(f"the parts of program '{before.name}' have other statements or another order")
    for old, new in zip(moved, after.statements, strict=True):
        value, reads = without_constants(partition, old, new)
        if old.value != value or not old.domain.is_equal(new.domain):
            raise ValidationError(f"{new} computes something else on arrays in parts")
        for was, now in zip((*old.reads, old.write), (*reads, new.write), strict=True):
            _check_access(old, was, now, parents)
    _check_disjoint(before, partition.parts)


def _without_untouched(partition: Partition) -> list[Statement]:
    """The statements of the original that hardware must execute: all but exact copies of what is untouched."""
    kept = {item.statement: item for item in partition.untouched}
    found = []
    for statement in partition.original.statements:
        if statement.name in kept:
            _check_untouched(partition, kept[statement.name], statement)
        else:
            found.append(statement)
    return found


def _check_untouched(partition: Partition, item: Untouched, statement: Statement) -> None:
    """The statement copies `item.elements` one by one from the input, and no part of the output has any of them."""
    read = statement.reads[0] if len(statement.reads) == 1 else None
    write = statement.write.map.intersect_domain(statement.domain)
    copies = read is not None and read.array == item.input and _keeps(statement.value)
    if read is not None and copies:
        moved = write.reverse().apply_range(read.map).set_tuple_name(isl.dim_type.out, item.output)
        copies = moved.is_subset(isl.Map.identity(moved.get_space())) and write.range().is_equal(item.elements)
    parts = [part for part in partition.parts if part.parent == item.output]
    written = any(not _elements(p).apply(_embedding(p)).is_disjoint(item.elements) for p in parts)
    if not copies or written or not parts:
        raise ValidationError(f"{statement} does not leave elements of output '{item.output}' as they are in "
                              f"'{item.input}'")


def _keeps(value: Expr) -> bool:
    """Whether an expression of casts around one read passes on its smallest and its largest value unchanged."""
    nodes = list(postorder(value))
    read = nodes[0]
    if not isinstance(read, Read) or not all(isinstance(node, Cast) for node in nodes[1:]):
        return False
    ends = np.array([integer(read.type).minimum, integer(read.type).maximum])
    return bool((evaluate(value, lambda _: ends, {}, {}) == ends).all())


def _check_access(statement: Statement, was: Access, now: Access, parents: dict[str, Part]) -> None:
    part = parents.get(now.array)
    found = now.map if part is None else now.map.apply_range(_embedding(part))
    wanted = was.map.intersect_domain(statement.domain)
    inside = part is None or now.map.intersect_domain(statement.domain).range().is_subset(_elements(part))
    if not inside or not wanted.is_equal(found.intersect_domain(statement.domain)):
        raise ValidationError(f"{statement.label(was)}: its access to '{now.array}' is not that to '{was.array}'")


def _embedding(part: Part) -> isl.Map:
    names = [f"p{k}" for k in range(len(part.low))]
    outer = ", ".join(f"{first} + {step}*{name}" for name, first, step in zip(names, part.low, part.step, strict=True))
    return isl.Map(f"{{ {part.name}[{', '.join(names)}] -> {part.parent}[{outer}] }}")


def _elements(part: Part) -> isl.Set:
    names = [f"p{k}" for k in range(len(part.shape))]
    bounds = " and ".join(f"0 <= {name} < {size}" for name, size in zip(names, part.shape, strict=True))
    return isl.Set(f"{{ {part.name}[{', '.join(names)}] : {bounds or 'true'} }}")


def _check_disjoint(program: Program, parts: tuple[Part, ...]) -> None:
    outputs = {array.name for array in program.outputs}
    for first, second in combinations((part for part in parts if part.parent in outputs), 2):
        if first.parent != second.parent:
            continue
        shared = _elements(first).apply(_embedding(first)).intersect(_elements(second).apply(_embedding(second)))
        if not shared.is_empty():
            raise ValidationError(f"parts '{first.name}' and '{second.name}' of output '{first.parent}' overlap")
