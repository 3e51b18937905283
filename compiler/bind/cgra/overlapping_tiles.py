"""Tiles of outputs, which the compiler cuts itself where arrays do not fit the global buffer: how large they may be.

What a tile needs of earlier statements is computed again for each (directive `overlap`), so that tiles as square as
possible compute the least twice: as many columns as there are rows, in a power of two, or all there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isqrt

from compiler.analysis.boxes import extents
from compiler.ir.program import Program

__all__ = ["Tiles", "first_tiles"]


@dataclass(frozen=True)
class Tiles:
    """`rows` of `columns` elements of the outputs; the two innermost `iterators` of the statements that write these,
    with their extents. Without columns: `rows` elements of outputs of one dimension."""

    iterators: tuple[str, ...]
    extents: tuple[int, ...]
    rows: int
    columns: int

    @property
    def script(self) -> str:
        """The directive."""
        sizes = zip(self.iterators, (self.rows, self.columns), self.extents, strict=False)
        return f"overlap({', '.join(f'{name}={size}' for name, size, extent in sizes if size < extent)})"

    @property
    def depth(self) -> int:
        """Loops over tiles."""
        return self.script.count("=")

    def smaller(self, words: int, most: int) -> Tiles | None:
        """Tiles of fewer rows, as `words` of the largest array in one are more than the `most` that fit; None if none
        are left. Rows are shared out evenly."""
        rows = self.rows - -(-(words - most) // max(1, self.columns))
        if rows < 1:
            return None
        return Tiles(self.iterators, self.extents, -(-self.extents[0] // -(-self.extents[0] // rows)), self.columns)


def first_tiles(program: Program, most: int) -> Iterator[Tiles]:
    """Tiles of up to `most` elements, those first that have the least around them; none for programs whose outputs are
    written by statements of different loops."""
    loops = [tuple(zip(s.iterators, extents(s.domain), strict=True))[-2:] for s in program.statements
             if program.array(s.write.array).role == "output"]
    if not loops or any(loop != loops[0] for loop in loops) or not loops[0]:
        return
    iterators, sizes = zip(*loops[0], strict=True)
    square = 1 << (isqrt(most) - 1).bit_length()
    for columns in dict.fromkeys(min(width, sizes[-1]) for width in (square, square // 2)):
        if len(sizes) == 1:
            yield Tiles(iterators, sizes, min(sizes[0], most), 1)
            return
        rows = min(sizes[0], most // columns)
        yield Tiles(iterators, sizes, -(-sizes[0] // -(-sizes[0] // rows)), columns)
