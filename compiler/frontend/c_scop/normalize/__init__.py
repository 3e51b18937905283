"""Statements of C in fewer forms, before the scop is walked: ``switch`` and jumps become ``if``, counted loops of
every form become ``for`` loops with one iterator, and side effects inside of expressions become statements.

Every pass goes from syntax tree to syntax tree, with the coordinates of the source, and leaves alone what it does not
know, which the walk then refuses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.frontend.c_scop.errors import ScopError
from compiler.frontend.c_scop.normalize.counters import counted_loops, normalize_loops
from compiler.frontend.c_scop.normalize.effects import separate_effects
from compiler.frontend.c_scop.normalize.exits import bounded_loops
from compiler.frontend.c_scop.normalize.jumps import remove_jumps
from compiler.frontend.c_scop.normalize.switches import remove_switches
from compiler.frontend.c_scop.source import Source

__all__ = ["normalize"]


def normalize(items: list[Any], source: Source, name: Callable[[str], str]) -> list[Any]:
    """The statements `items` in the forms that the walk knows; `name` makes a name that is not used. Raises `ScopError`
    for jumps that have none."""

    def refuse(node: Any, reason: str) -> ScopError:
        return ScopError(source.place(node.coord), reason)

    counted = counted_loops(remove_switches(separate_effects(items, name), refuse))
    bounded = separate_effects(bounded_loops(counted, refuse, name), name)
    return normalize_loops(remove_jumps(bounded, refuse))
