"""What the schedule of a stage asks for beside an order of loops, with all splits undone.

Parts of a split loop are counted: those that are unrolled or vectorized say how many neighbours are computed side by
side, parallel ones how many blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from compiler.frontend.halide.names import plain
from compiler.frontend.halide.nodes import Func, Split, Stage

__all__ = ["StageDirectives", "func_remarks", "stage_directives"]

_MOST_BLOCKS = 16
"""More blocks side by side are tasks for processors, not hardware."""

_OUTERMOST = "__outermost"


@dataclass
class StageDirectives:
    """Of one stage, by variable: neighbours and blocks side by side, and sizes of tiles, outermost first. `ignored`:
    directives, as the user wrote them."""

    neighbours: dict[str, int] = field(default_factory=dict)
    blocks: dict[str, int] = field(default_factory=dict)
    tiles: dict[str, int] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)


@dataclass
class _Parts:
    """The loops that splits make of variables: the variable that each is a part of (None for fused ones), and how many
    iterations it has."""

    variable: dict[str, str | None]
    extent: dict[str, int]

    def add(self, split: Split) -> None:
        """The loops of one split."""
        if split.kind == "fuse":
            self.variable[split.old] = None
            self.extent[split.old] = self.extent.get(split.inner, 1) * self.extent.get(split.outer, 1)
            return
        whole, of = self.extent.get(split.old, 1), self.variable.get(split.old)
        self.variable[split.outer] = of
        self.extent[split.outer] = whole
        if split.kind == "split":
            factor = _factor(split)
            self.variable[split.inner] = of
            self.extent[split.inner], self.extent[split.outer] = factor, -(-whole // factor)


def _factor(split: Split) -> int:
    value = None if split.factor is None else split.factor.value
    return max(1, value) if isinstance(value, int) else 1


def stage_directives(stage: Stage, extents: Mapping[str, int], computed_at: frozenset[str]) -> StageDirectives:
    """What the schedule of a stage asks for. `extents`: iterations of its variables; `computed_at`: the variables of
    its loops at which other Funcs are computed."""
    parts = _Parts({name: name for name in extents}, dict(extents))
    for split in stage.splits:
        parts.add(split)
    found = StageDirectives(tiles=_tiles(stage, parts, computed_at))
    for loop in stage.loops:
        if loop.name != _OUTERMOST and loop.kind != "serial":
            _add(found, loop.name, loop.kind, stage, parts)
    if any(split.kind == "fuse" for split in stage.splits):
        found.ignored.append("fuse")
    if stage.specialized:
        found.ignored.append("specialize")
    if stage.prefetched:
        found.ignored.append("prefetch")
    return found


def _add(found: StageDirectives, name: str, kind: str, stage: Stage, parts: _Parts) -> None:
    variable, count = parts.variable.get(name), parts.extent.get(name, 1)
    if kind.startswith("gpu"):
        found.ignored.append("gpu loops")
    elif variable is None:
        found.ignored.append(f"{_DIRECTIVES[kind]} of a fused loop")
    elif kind in ("unrolled", "vectorized"):
        found.neighbours[variable] = found.neighbours.get(variable, 1) * count
    elif kind == "parallel":
        split = any(s.kind == "split" and s.outer == name for s in stage.splits)
        if split and count <= _MOST_BLOCKS:
            found.blocks[variable] = found.blocks.get(variable, 1) * count
        else:
            found.ignored.append(f"parallel({_short(name)}) of {count}, at most {_MOST_BLOCKS} of a split are hardware")
    else:
        found.ignored.append(kind)


_DIRECTIVES = {"unrolled": "unroll", "vectorized": "vectorize", "parallel": "parallel", "extern": "extern"}


def _short(name: str) -> str:
    """A loop's name as the user wrote it."""
    return plain(name.rsplit(".", 1)[-1])


def _tiles(stage: Stage, parts: _Parts, computed_at: frozenset[str]) -> dict[str, int]:
    """Sizes of tiles: of variables whose outer part has loops of others between it and its inner ones, or other Funcs
    computed at it."""
    order = [loop.name for loop in reversed(stage.loops)]
    found: dict[str, int] = {}
    for split in stage.splits:
        variable = parts.variable.get(split.outer)
        if split.kind != "split" or variable != split.old or split.outer not in order or variable is None:
            continue
        place = order.index(split.outer)
        inner = [k for k, name in enumerate(order) if parts.variable.get(name) == variable and k > place]
        between = order[place + 1:min(inner, default=place)]
        if between or _short(split.outer) in computed_at:
            found[variable] = _factor(split)
    return dict(sorted(found.items(), key=lambda item: min(
        k for k, name in enumerate(order) if parts.variable.get(name) == item[0])))


def func_remarks(func: Func) -> list[str]:
    """What of a Func's schedule, not of a stage, has no meaning in hardware."""
    schedule = func.schedule
    found = {"memoize": schedule.memoized, "async": schedule.asynchronous, **schedule.others}
    return [name for name, given in found.items() if given]
