"""Whether a rewritten order keeps what the program computes.

Two instances that touch the same element, one of them writing, must keep their order: memory-based dependences of all
three kinds, Bok 2018, appendix A. Nothing is enumerated; the pairs that would change places are one isl relation per
pair of accesses, and any point of it is the witness.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import islpy as isl

from compiler.ir.program import Access, Program, Statement
from compiler.ir.relations import coordinates
from compiler.passes.directives.errors import TransformError

__all__ = ["check_legal", "dependent_instances"]

Images = Mapping[str, Sequence[isl.Map]]
"""Where the instances of every old statement went: maps from its instances to those of new statements."""


def check_legal(before: Program, after: Program, images: Images, directive: str,
                commuting: Collection[str] = ()) -> None:
    """Raise `TransformError` if two dependent instances of `before` change places in `after`; instances of one of the
    statements `commuting` may, which accumulate what can be accumulated in any order."""
    times = {s.name: _new_times(s, after, images[s.name]) for s in before.statements}
    for first in before.statements:
        for second in before.statements:
            touching = [pair for pair in _access_pairs(first, second) if pair[0].array == pair[1].array]
            if not touching or (first is second and first.name in commuting):
                continue
            earlier = before.order_of(first.name).lex_lt_map(before.order_of(second.name))
            swapped = earlier.intersect(times[first.name].lex_ge_map(times[second.name]))
            for one, other in touching if not swapped.is_empty() else ():
                wrong = _same_element(first, one, second, other).intersect(swapped)
                if not wrong.is_empty():
                    raise TransformError(f"{directive} would change the result: {_witness(wrong, first, second)}")


def dependent_instances(program: Program, first: Statement, second: Statement) -> isl.Map:
    """{instance of `first` -> later instance of `second` that touches the same element}, one of which writes it."""
    earlier = program.order_of(first.name).lex_lt_map(program.order_of(second.name))
    found = isl.Map.empty(earlier.get_space())
    for one, other in _access_pairs(first, second):
        if one.array == other.array:
            found = found.union(_same_element(first, one, second, other).intersect(earlier))
    return found.coalesce()


def _new_times(statement: Statement, after: Program, images: Sequence[isl.Map]) -> isl.Map:
    times = [image.apply_range(after.order_of(image.get_tuple_name(isl.dim_type.out))) for image in images]
    total = times[0]
    for part in times[1:]:
        total = total.union(part)
    return total.intersect_domain(statement.domain)


def _access_pairs(first: Statement, second: Statement) -> Iterator[tuple[Access, Access]]:
    yield first.write, second.write
    for read in second.reads:
        yield first.write, read
    for read in first.reads:
        yield read, second.write


def _same_element(first: Statement, one: Access, second: Statement, other: Access) -> isl.Map:
    touched = other.map.intersect_domain(second.domain)
    return one.map.intersect_domain(first.domain).apply_range(touched.reverse())


def _witness(wrong: isl.Map, first: Statement, second: Statement) -> str:
    pair = wrong.wrap().lexmin().sample_point()
    if pair.is_void():  # of some sets with integer divisions isl's least point is none
        pair = wrong.wrap().sample_point()
    if pair.is_void():
        return f"some instance of {first} must come before one of {second}"
    values, count = list(coordinates(pair)), len(first.iterators)
    return f"{_instance(first, values[:count])} must come before {_instance(second, values[count:])}"


def _instance(statement: Statement, values: list[int]) -> str:
    at = ", ".join(f"{name}={value}" for name, value in zip(statement.iterators, values, strict=True))
    return f"{statement} at {at}" if at else str(statement)
