"""Algorithm 1 of Wang 2021: every legal choice of one or two space loops."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from compiler.sched.space_time.dependences import Analysis, UniformDependence
from compiler.sched.space_time.errors import SpaceTimeError

__all__ = ["SpaceLoops", "check_space", "enumerate_arrays", "space_loops"]


@dataclass(frozen=True)
class SpaceLoops:
    """`band`: the outermost permutable band; `pool`: those of its loops that may be space loops, all of them along
    which flow and read dependences reach neighbours only; `reasons`: why each other loop may not, by name."""

    band: tuple[str, ...]
    pool: tuple[str, ...]
    reasons: dict[str, str]


def space_loops(analysis: Analysis) -> SpaceLoops:
    """The loops that space loops are chosen from, in the order of the program.

    A loop joins the band if no dependence runs backwards along it that the others of the band leave to it. A read
    dependence has two ends but no order of its own; it counts from the use that comes first in the program.
    """
    band: list[str] = []
    pool: list[str] = []
    reasons: dict[str, str] = {}
    for position, name in enumerate(analysis.loops):
        back = next((d for d in analysis.dependences if d.distance[position] < 0), None)
        if back is not None:
            reasons[name] = f"a {_told(back, analysis)} runs backwards along it (distance {back.distance[position]})"
            continue
        band.append(name)
        far = next((d for d in analysis.dependences if _moves(d) and abs(d.distance[position]) > 1), None)
        if far is None:
            pool.append(name)
        else:
            reasons[name] = f"a {_told(far, analysis)} has distance {far.distance[position]} along it"
    return SpaceLoops(tuple(band), tuple(pool), reasons)


def enumerate_arrays(analysis: Analysis) -> tuple[tuple[str, ...], ...]:
    """Every choice of space loops, one-dimensional ones first: ("i",), ("j",), ("i", "j") and so on.

    Raises `SpaceTimeError` if there is none, with the reason for every loop.
    """
    found = space_loops(analysis)
    if not found.pool:
        raise SpaceTimeError(f"program '{analysis.program.name}' has no legal space loop: {_reasons(found)}; legal is "
                             "a loop along which every flow and read dependence has distance 0 or 1")
    return tuple((name,) for name in found.pool) + tuple(combinations(found.pool, 2))


def check_space(analysis: Analysis, space: tuple[str, ...]) -> None:
    """Raise `SpaceTimeError` unless `space` names one of `enumerate_arrays`, with the reason and those there are."""
    legal = enumerate_arrays(analysis)
    if space in legal or space[::-1] in legal:
        return
    offers = ", ".join("".join(names) if all(len(n) == 1 for n in names) else "+".join(names) for names in legal)
    found = space_loops(analysis)
    for name in space:
        if name not in analysis.loops:
            raise SpaceTimeError(f"space loops {list(space)}: program '{analysis.program.name}' has no loop '{name}'; "
                                 f"legal are: {offers}")
        if name in found.reasons:
            raise SpaceTimeError(f"space loops {list(space)}: loop '{name}' cannot be one: {found.reasons[name]}; "
                                 f"legal are: {offers}")
    raise SpaceTimeError(f"space loops {list(space)}: choose one loop or two different ones; legal are: {offers}")


def _moves(dependence: UniformDependence) -> bool:
    """Whether data goes along the dependence; anti and output dependences stay in a processing element's memory."""
    return dependence.kind in ("flow", "read")


def _told(dependence: UniformDependence, analysis: Analysis) -> str:
    statement = analysis.program.statement(dependence.sink)
    access = None if dependence.access is None else statement.reads[dependence.access]
    return f"{dependence.kind} dependence of '{dependence.array}' in {statement.label(access)}"


def _reasons(found: SpaceLoops) -> str:
    return "; ".join(f"along '{name}' {reason.removesuffix(' along it')}" for name, reason in found.reasons.items())
