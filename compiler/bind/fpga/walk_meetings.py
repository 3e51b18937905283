"""Whether two walks are ever at one address in one cycle, without their events."""

from __future__ import annotations

import islpy as isl

from compiler.analysis.affine import affine_text
from hw.pipeline.spec import Walk

__all__ = ["may_meet"]


def may_meet(one: Walk, other: Walk) -> bool:
    """Whether two walks of one memory are at one address in one cycle; also if that is not known: where an address does
    not advance evenly."""
    if any(len(level.deltas) > 1 for walk in (one, other) for level in walk.levels):
        return True
    bounds, forms = [], []
    for side, walk in zip("ab", (one, other), strict=True):
        names = [f"{side}{k}" for k in range(len(walk.levels))]
        bounds += [f"0 <= {name} < {level.trips}" for name, level in zip(names, walk.levels, strict=True)]
        steps = _steps(walk)
        forms.append((affine_text(zip([cycles for cycles, _ in steps], names, strict=True), walk.start),
                      affine_text(zip([places for _, places in steps], names, strict=True), walk.origin)))
    (cycle, place), (its_cycle, its_place) = forms
    names = [bound.split()[2] for bound in bounds]
    met = " and ".join([*bounds, f"{cycle} = {its_cycle}", f"({place} - ({its_place})) mod {one.size} = 0"])
    return not isl.Set(f"{{ [{', '.join(names)}] : {met} }}").is_empty()


def _steps(walk: Walk) -> list[tuple[int, int]]:
    """Cycles of a step of each level, innermost first, and what it advances an address by, which is less than a
    memory."""
    found, span, reach = [], 0, 0
    for level in walk.levels:
        cycles, places = level.gap + span, (level.deltas[0] + reach) % walk.size
        found.append((cycles, places))
        span, reach = span + (level.trips - 1) * cycles, (reach + (level.trips - 1) * places) % walk.size
    return found
