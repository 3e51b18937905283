"""Which write every read sees: value-based flow, exact for accesses with integer divisions, too.

isl's own analysis loses the sources of some instances where accesses have integer divisions: it gives neither a source
for them nor says that they have none. There, the last of all earlier writes is taken, one pair of accesses at a time.
"""

from __future__ import annotations

import islpy as isl

from compiler.ir.relations import maps

__all__ = ["last_writes"]


def last_writes(reads: isl.UnionMap, writes: isl.UnionMap, times: isl.UnionMap) -> isl.UnionMap:
    """{read -> the last write before it to what it reads}; reads without one have no image.

    `reads` and `writes` map instances to elements, `times` maps both to where they stand in lexicographic order. What
    stands at the same time comes not before.
    """
    if not any(map(_has_divisions, (reads, writes, times))):
        info = isl.UnionAccessInfo.from_sink(reads).set_must_source(writes).set_schedule_map(times)
        return info.compute_flow().get_must_dependence().reverse().coalesce()
    found = isl.UnionMap.empty(reads.get_space())
    sources = maps(writes)
    for read in maps(reads):
        for relation in _last_before(read, sources, times):
            found = found.union(isl.UnionMap.from_map(relation))
    return found.coalesce()


def _has_divisions(relation: isl.UnionMap) -> bool:
    return any(piece.dim(isl.dim_type.div) for one in maps(relation) for piece in one.get_basic_maps())


def _last_before(read: isl.Map, writes: list[isl.Map], times: isl.UnionMap) -> list[isl.Map]:
    """{read -> last write}, for every access that writes."""
    now = _time(read, times)
    earlier: list[tuple[isl.Map, isl.Map]] = []
    last: isl.Map | None = None
    for write in writes:
        if read.get_space().range() != write.get_space().range():
            continue
        time = _time(write, times)
        pairs = read.apply_range(write.reverse()).intersect(now.lex_gt_map(time))
        if not pairs.is_empty():
            earlier.append((pairs, time))
            then = pairs.apply_range(time)
            last = then if last is None else last.union(then)
    if last is None:
        return []
    last = _latest(last)
    return [pairs.intersect(last.apply_range(time.reverse())) for pairs, time in earlier]


def _time(access: isl.Map, times: isl.UnionMap) -> isl.Map:
    """When the instances of an access are."""
    mine = maps(times.intersect_domain(isl.UnionSet.from_set(isl.Set.universe(access.get_space().domain()))))
    assert len(mine) == 1
    return mine[0]


def _latest(times: isl.Map) -> isl.Map:
    """The last of the times that each instance is related to.

    isl's optimisation gives up on a few relations with integer divisions; there, what is earlier than another time of
    the same instance is taken away.
    """
    try:
        last = times.detect_equalities().lexmax()
    except isl.Error:
        last = None
    if last is None or not (last.is_subset(times) and last.domain().is_equal(times.domain())):
        return times.subtract(times.apply_range(isl.Map.lex_gt(times.range().get_space())))
    return last
