"""Extents that follow from others (Hammes 2000, section 4.1.1); None where one that is needed is unknown."""

from __future__ import annotations

__all__ = ["Extents", "span_extent", "tile_extents", "window_extent"]

Extents = tuple[int | None, ...]


def span_extent(low: int | None, high: int | None, step: int | None) -> int | None:
    """How many numbers there are from `low` to `high`, both inclusive, in steps of `step`."""
    return None if low is None or high is None or not step else max(0, 1 + (high - low) // step)


def window_extent(extent: int | None, size: int | None, step: int | None) -> int | None:
    """How many windows of `size` fit into `extent` in steps of `step`."""
    if extent is None or size is None or not step:
        return None
    return 0 if extent < size else 1 + (extent - size) // step


def tile_extents(loop: Extents, component: Extents) -> Extents:
    """Extents of an array of tiles: those of lesser rank are filled with ones at the left, then multiplied."""
    rank = max(len(loop), len(component))
    rows = zip(*((1,) * (rank - len(extents)) + extents for extents in (loop, component)), strict=True)
    return tuple(None if None in row else row[0] * row[1] for row in rows)
