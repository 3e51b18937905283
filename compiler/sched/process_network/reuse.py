"""Reuse as edges of its own: a value that is read several times comes from its producer once.

Bok 2018, section 2.5.2: what isa's ``pn`` calls multiplicity is transferred to a dependence of the node on itself. Of
all firings that read one value through one access, the first takes it from the producer, and each other takes it from
the firing before it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import islpy as isl

from compiler.analysis.dependences import Dependence
from compiler.sched.process_network.schedule import Times

__all__ = ["Link", "Origin", "links"]

Origin = Literal["flow", "reuse"]


@dataclass(frozen=True)
class Link:
    """Values of `array` for read number `read` of `sink`.

    `relation`: {instance of `source` -> the one instance of `sink` that takes its word}. A word of origin ``flow`` is
    what `source` computed; of origin ``reuse``, what it (the same node) read there itself. `part` numbers the links
    that would be one but for the distance between write and read, from 1; 0 if there is only one.
    """

    source: str
    sink: str
    read: int
    array: str
    origin: Origin
    relation: isl.Map
    part: int = 0


def links(dependences: tuple[Dependence, ...], times: Times) -> list[Link]:
    """The edges of the network: every dependence, with reuse split off. One reuse edge serves one read."""
    found: list[Link] = []
    reused: dict[tuple[str, int], Link] = {}
    for dependence in dependences:
        uses = dependence.relation.reverse()
        if uses.is_single_valued():
            found.append(_link(dependence, "flow", uses))
            continue
        timed = uses.apply_range(times[dependence.sink])
        back = times[dependence.sink].reverse()
        found.append(_link(dependence, "flow", timed.lexmin().apply_range(back)))
        repeated = _link(dependence, "reuse", _next_use(timed).apply_domain(back).apply_range(back))
        key = dependence.sink, dependence.read
        if key in reused:
            repeated = replace(repeated, relation=repeated.relation.union(reused[key].relation).coalesce())
        reused[key] = repeated
    return sorted((*found, *reused.values()), key=lambda link: _position(dependences, link))


def _position(dependences: tuple[Dependence, ...], link: Link) -> tuple[int, bool]:
    """Edges go by sink and read, in the order of `dependences`, reuse last."""
    reads = [(d.sink, d.read) for d in dependences]
    return reads.index((link.sink, link.read)), link.origin == "reuse"


def _link(dependence: Dependence, origin: Origin, relation: isl.Map) -> Link:
    source = dependence.source if origin == "flow" else dependence.sink
    return Link(source, dependence.sink, dependence.read, dependence.array, origin, relation.coalesce())


def _next_use(uses: isl.Map) -> isl.Map:
    """{time of a use -> time of the next use of the same value}, given {value -> times of its uses}."""
    pairs = uses.reverse().apply_range(uses)
    return pairs.intersect(isl.Map.lex_lt(uses.range().get_space())).lexmin()
