"""What is chosen of a phase's plan, as data: a search compares tilings, and equal ones are one plan."""

from __future__ import annotations

from dataclasses import dataclass, replace

from compiler.bind.vector.tile_boxes import NO_ENDS, Ends

__all__ = ["Tiling"]


@dataclass(frozen=True)
class Tiling:
    """A phase in tiles of the shape `tile`.

    `carry`: what a tile shares with the one before (rows around it, in a stencil) is copied inside the scratchpad, not
    loaded again. `ahead`: how many tiles are loaded before they are needed. `ends`: extents along the first dimension
    of the first tiles, and in reverse of the last ones: the lanes begin while little has been loaded, and little is
    left to be stored when they are done. `whole`: arrays stay in the scratchpad as a whole, tile beside tile, so that
    transfers wait for nobody and all tiles have the same code; what is shared is not loaded again then. `delay`: so
    many instructions of the next tile come before the transfers that follow a tile, and `gap` more before each further
    one: the lanes work on them while the core is busy with transfers. So do the first tile's with the loads of the
    tiles behind the second one. `early`: so many operations of the first tile, at most, are done in halves, as its
    arrays come. `late`: so many units of the last tile are finished and stored before the rest of it.
    """

    tile: tuple[int, ...]
    carry: bool = False
    ahead: int = 1
    ends: Ends = NO_ENDS
    whole: bool = False
    delay: int = 0
    gap: int = 0
    early: int = 0
    late: int = 0

    @property
    def carries(self) -> bool:
        """Whether rows that tiles share stay on chip."""
        return self.carry or self.whole

    @property
    def storage(self) -> Tiling:
        """The part of it that buffers depend on."""
        return replace(self, carry=False, delay=0, gap=0, early=0, late=0)
