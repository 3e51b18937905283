"""The last write before every read, compared with a search over all points."""

from __future__ import annotations

from random import Random

import islpy as isl
import pytest

from compiler.ir.last_writes import last_writes
from compiler.sched.verify import relations

LOST = (
    "{ R[i] -> A[7 - i] : 0 <= i <= 7 }",
    "{ P[i] -> A[i] : 0 <= i <= 7;"
    "  Q[i] -> A[o] : o mod 2 = 0 and (4 + 2i - o) mod 8 = 0 and 2 <= i <= 3 and 0 <= o <= 6;"
    "  T[i] -> A[7 - i] : 0 < i <= 3; T[i] -> A[i] : 4 <= i <= 6;"
    "  S[i] -> A[o] : o mod 2 = 0 and (4 + 2i - o) mod 8 = 0 and 0 <= i <= 3 and 0 <= o <= 6 }",
    "{ Q[i] -> [11, i, 11]; T[i] -> [13, i, 2]; R[i] -> [14, i, 0]; P[i] -> [8, i, 1]; S[i] -> [11, i, 10] }",
)
"""Accesses of which isl's analysis loses two reads."""


def random_accesses(seed: int) -> tuple[str, str, str]:
    random = Random(seed)
    forms = ("i", "7 - i", "floor(i / 2)", "(3i + 1) mod 8", "(i + 3) mod 5", "2 * floor(i / 3) + 1", "i mod 4")
    reads = f"{{ R[i] -> A[{random.choice(forms)}] : 0 <= i <= 7 }}"
    writes = "; ".join(f"W{k}[i] -> A[{random.choice(forms)}] : {random.randint(0, 3)} <= i <= 7" for k in range(3))
    times = "; ".join(f"W{k}[i] -> [{random.randint(0, 1)}, i, {k}]" for k in range(3))
    return reads, f"{{ {writes} }}", f"{{ R[i] -> [{random.randint(0, 1)}, i, 2]; {times} }}"


def searched(reads: isl.UnionMap, writes: isl.UnionMap, times: isl.UnionMap) -> dict[str, str]:
    """{read: write}, as texts."""
    at = dict(pairs(times.intersect_domain(reads.domain().union(writes.domain()))))
    found = {}
    for read, element in pairs(reads):
        earlier = [(number(at[write]), write) for write, other in pairs(writes)
                   if other == element and number(at[write]) < number(at[read])]
        if earlier:
            found[read] = max(earlier)[1]
    return found


def number(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split("[")[1].strip("]").split(",")))


def pairs(union: isl.UnionMap) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    union.wrap().foreach_point(lambda p: found.append(tuple(str(p).strip("{ }")[1:-1].split(" -> "))))
    return found


@pytest.mark.parametrize("analysis", [last_writes, relations.last_writes])
@pytest.mark.parametrize("accesses", [LOST, *map(random_accesses, range(12))])
def test_sources_are_those_found_by_search(accesses, analysis):
    reads, writes, times = map(isl.UnionMap, accesses)
    assert dict(pairs(analysis(reads, writes, times))) == searched(reads, writes, times)
