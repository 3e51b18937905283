"""The order of a stage's loops as its schedule leaves them, with all splits undone.

A part of a split loop does not become a loop of the program: what is left is each variable's place, that of its
outermost part.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.frontend.halide.nodes import Stage

__all__ = ["loop_order"]

_OUTERMOST = "__outermost"


def loop_order(stage: Stage, variables: Sequence[str]) -> tuple[str, ...]:
    """`variables`, outermost first."""
    order = [loop.name for loop in stage.loops if loop.name != _OUTERMOST]
    for split in reversed(stage.splits):
        if split.kind == "split":
            order = [split.old if name == split.outer else name for name in order if name != split.inner]
        elif split.kind == "rename":
            order = [split.old if name == split.outer else name for name in order]
        else:
            order = [part for name in order
                     for part in ((split.inner, split.outer) if name == split.old else (name,))]
    known = list(dict.fromkeys(name for name in order if name in variables))
    return tuple(reversed([*(name for name in variables if name not in known), *known]))
