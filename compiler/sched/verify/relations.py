"""Relations between points and what is seen there: comparison with a witness, and the last write before a read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import islpy as isl

from compiler.analysis.isl_effort import EffortError, bounded_operations
from compiler.ir.last_writes import last_writes as exact_last_writes
from compiler.ir.relations import coordinates, maps
from compiler.sched.verify.errors import ValidationError

__all__ = ["Difference", "Writes", "bounded_effort", "corner_points", "difference", "first_point", "last_writes",
           "latest", "maps", "simplified"]

_EFFORT = 3_000_000
"""Steps that isl may take for one validation of up to `_FEW` statements, and for as many more as there are more
statements; most applications take less than a tenth of it."""
_FEW = 4


@contextmanager
def bounded_effort(statements: int = 1) -> Iterator[None]:
    """Turn a proof that takes too long into a `ValidationError`: what cannot be proven is not let through."""
    effort = _EFFORT * -(-statements // _FEW)
    try:
        with bounded_operations(effort):
            yield
    except EffortError as error:
        raise ValidationError(f"the mapping could not be proven right within {effort} steps: {error}") from error


@dataclass(frozen=True)
class Difference:
    """A `point` at which two relations differ; what they relate it to, None where that is nothing."""

    point: tuple[int, ...]
    actual: tuple[int, ...] | None
    expected: tuple[int, ...] | None


def difference(actual: isl.Map, expected: isl.Map) -> Difference | None:
    """The first point of the domain of the function `expected` at which `actual` relates to anything else or nothing.

    None proves that `actual`, restricted to the points of `expected`, equals it.
    """
    missing = expected.domain().subtract(actual.domain())
    if not missing.is_empty():
        return _at(missing.lexmin(), None, expected)
    wrong = actual.intersect_domain(expected.domain()).subtract(expected)
    if wrong.is_empty():
        return None
    return _at(wrong.domain().lexmin(), wrong, expected)


def _at(point: isl.Set, actual: isl.Map | None, expected: isl.Map) -> Difference:
    seen = None if actual is None else first_point(actual.intersect_domain(point).range())
    return Difference(first_point(point), seen, first_point(expected.intersect_domain(point).range()))


def first_point(points: isl.Set) -> tuple[int, ...]:
    """The coordinates of the first point of a set that is not empty."""
    return coordinates(points.lexmin().sample_point())


def corner_points(points: isl.Set) -> isl.Set:
    """A few points of a set that is not empty: its ends by every order of two dimensions first and last."""
    count = points.dim(isl.dim_type.set)
    chosen = points.lexmin().union(points.lexmax())
    for k in range(1, count):
        for end in (points.dim_min_val(k), points.dim_max_val(k)):
            slice_ = points.fix_val(isl.dim_type.set, k, end)
            chosen = chosen.union(slice_.lexmin()).union(slice_.lexmax())
    return chosen.coalesce()


@dataclass(frozen=True)
class Writes:
    """Write events of one source, in time in their lexicographic order: where they write, and in which cycle."""

    places: isl.Map
    cycles: isl.Map


def last_writes(reads: isl.UnionMap, writes: isl.UnionMap, times: isl.UnionMap) -> isl.UnionMap:
    """The write, if any, whose value each read sees: {read -> write}.

    `reads` and `writes` map events to locations, `times` both to one-dimensional time. A read sees the last write to
    its location with a smaller time; any write overwrites, whoever does it. Reads without a write have no image.
    """
    info = isl.UnionAccessInfo.from_sink(reads).set_must_source(writes).set_schedule_map(times)
    flow = info.compute_flow()
    found = flow.get_must_dependence().reverse()
    if found.domain().union(flow.get_must_no_source().domain()).is_equal(reads.domain()):
        return found.coalesce()
    return exact_last_writes(reads, writes, times)  # integer divisions lose reads


def latest(reads: isl.Map, writes: Sequence[Writes], cycles: isl.Map, delay: int) -> list[isl.Map]:
    """For every source of writes: {read -> the write event whose word it gets}.

    `reads` maps read events to locations, `cycles` to the cycle in which they happen. A read in cycle c sees, of all
    writes to its location in cycles up to c - `delay`, the last one. Reads without a write have no image.
    """
    last: list[isl.Map] = []
    for source in writes:
        seen = cycles.apply_range(isl.Map(f"{{ [c] -> [w] : w <= c - {delay} }}"))
        earlier = seen.apply_range(source.cycles.reverse())
        # Time advances along the lexicographic order of a source's events, so the last one is the largest.
        last.append(reads.apply_range(source.places.reverse()).intersect(earlier).lexmax())
    return [_unless_overtaken(k, last, writes).coalesce() for k in range(len(last))]


def _unless_overtaken(number: int, last: Sequence[isl.Map], writes: Sequence[Writes]) -> isl.Map:
    """The last writes of one source, without those after which another source wrote."""
    mine = last[number]
    for k, other in enumerate(last):
        if k != number and not mine.domain().is_disjoint(other.domain()):
            both = mine.apply_range(writes[number].cycles).range_product(other.apply_range(writes[k].cycles))
            overtaken = both.intersect_range(isl.Set("{ [[a] -> [b]] : b > a }")).domain()
            mine = mine.subtract_domain(overtaken)
    return mine


def simplified(relation: isl.Map) -> isl.Map:
    """The same relation between cycles in a short form, if it delays all cycles of an interval alike."""
    relation = relation.coalesce()
    shifts = relation.deltas()
    if shifts.is_empty() or not shifts.is_singleton():
        return relation
    shift = first_point(shifts)[0]
    domain = relation.domain().coalesce()
    hull = isl.Set.from_basic_set(domain.simple_hull())
    domain = hull if hull.is_equal(domain) else domain
    return isl.Map(f"{{ [c] -> [c + {shift}] }}").intersect_domain(domain)
