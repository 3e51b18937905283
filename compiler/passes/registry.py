"""The passes by name: where the class of each is, which is imported when it is used. Adding one means a line here, or
`register_passes` from outside."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["PASSES", "register_passes"]

_ROOT = "compiler.passes"

PASSES: dict[str, str] = {
    "directives": f"{_ROOT}.directives.passes:ApplyDirectives",
    "coalesce-tile-loops": f"{_ROOT}.normalize.passes:CoalesceTileLoops",
    "rename-clashing-statements": f"{_ROOT}.normalize.passes:RenameClashingStatements",
    "fold-constant-fills": f"{_ROOT}.normalize.passes:FoldConstantFills",
    "pack-streams": f"{_ROOT}.arrays.passes:PackStreams",
    "pack-drains": f"{_ROOT}.arrays.passes:PackDrains",
    "distribute-recurrences": f"{_ROOT}.recurrence.passes:DistributeRecurrences",
    "fold-extremes": f"{_ROOT}.recurrence.passes:FoldExtremes",
    "shorten-recurrences": f"{_ROOT}.recurrence.passes:ShortenRecurrences",
    "expand-conditions": f"{_ROOT}.recurrence.passes:ExpandConditions",
    "normalize-loops": f"{_ROOT}.normalize.passes:NormalizeLoops",
    "reassociate": f"{_ROOT}.recurrence.passes:Reassociate",
    "pad-domains": f"{_ROOT}.normalize.passes:PadDomains",
    "copy-borders": f"{_ROOT}.arrays.passes:CopyBorders",
    "split-by-access": f"{_ROOT}.normalize.passes:SplitByAccess",
    "narrow-iterator-values": f"{_ROOT}.arrays.passes:NarrowIteratorValues",
    "static-form": f"{_ROOT}.normalize.passes:StaticForm",
    "select-sources": f"{_ROOT}.normalize.passes:SelectSources",
    "insert-window-copies": f"{_ROOT}.arrays.passes:InsertWindowCopies",
    "split-by-dependence": f"{_ROOT}.normalize.passes:SplitByDependence",
    "expand-arrays": f"{_ROOT}.recurrence.passes:ExpandArrays",
    "materialize-iterator-values": f"{_ROOT}.arrays.passes:MaterializeIteratorValues",
    "partition-arrays": f"{_ROOT}.arrays.passes:PartitionArrays",
    "remove-dead-statements": f"{_ROOT}.normalize.passes:RemoveDeadStatements",
}
"""Name of a pass -> ``module:Class``, in the order in which pipelines mostly have them."""


def register_passes(places: Mapping[str, str]) -> None:
    """Add passes, such as those of one target. Raises `ValueError` for a name that another pass has."""
    for name, place in places.items():
        if PASSES.setdefault(name, place) != place:
            raise ValueError(f"there is a pass '{name}' already: {PASSES[name]}")
