"""Where units can be: the sites of an array by kind, and how many of each an application needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from compiler.bind.cgra.netlist import MemNode, Netlist, Node, PeNode, StreamOut
from hw.errors import SluiceError
from hw.fabric.spec import FabricSpec, TileKind

__all__ = ["IO_ROW", "RESULT_ROW", "ArrayTooSmall", "Grid", "Site", "check_capacity", "grid", "kind_of", "kinds"]

IO_ROW = -1
"""Row of the banks of the global buffer: north of row 0."""

RESULT_ROW = -2
"""Row of the second banks, which take results, where columns have two: north of the others, as far from row 0."""


class Site(NamedTuple):
    """A tile, or with row `IO_ROW` the bank of a column."""

    row: int
    column: int

    def __str__(self) -> str:
        if self.row == RESULT_ROW:
            return f"second bank {self.column}"
        return f"bank {self.column}" if self.row == IO_ROW else f"({self.row}, {self.column})"

    def bank(self, spec: FabricSpec) -> int:
        """Number of the bank that is here."""
        return spec.bank_number(self.column, "output" if self.row == RESULT_ROW else "input")


class ArrayTooSmall(SluiceError):
    """The array has fewer tiles or streams than the application needs. `needed` and `present` by `kinds`. `reasons`:
    what else the message says."""

    def __init__(self, needed: tuple[int, ...], present: tuple[int, ...], spec: FabricSpec, delays: int = 0,
                 reasons: tuple[str, ...] = ()):
        self.needed, self.present, self.reasons = needed, present, reasons
        self._spec, self._delays = spec, delays
        wanted = [f"{count} {kind}" for count, kind in zip(needed, kinds(spec), strict=True)]
        if delays:
            wanted[0] += f" ({delays} of them for delays)"
        has = ", ".join(map(str, present))
        needs = f"needs {', '.join(wanted)}; the {spec.rows}x{spec.columns} array has {has}"
        super().__init__("; ".join((needs, *reasons)))

    def because(self, reason: str) -> ArrayTooSmall:
        """The same error with a further reason."""
        return ArrayTooSmall(self.needed, self.present, self._spec, self._delays, (*self.reasons, reason))

    @property
    def lacks_units(self) -> bool:
        """Whether there are too few processing elements."""
        return self.needed[0] > self.present[0]


@dataclass(frozen=True)
class Grid:
    """Sites of one kind: every row in `rows` of every column in `columns`."""

    rows: range
    columns: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.rows) * len(self.columns)

    def site(self, index: int) -> Site:
        """Site number `index`, row by row."""
        row, column = divmod(index, len(self.columns))
        return Site(self.rows[row], self.columns[column])

    def index(self, site: Site) -> int:
        """Number of a site. Raises ValueError if the grid does not have it."""
        return self.rows.index(site.row) * len(self.columns) + self.columns.index(site.column)


_PE, _MEMORY, _STREAM = range(3)


def kinds(spec: FabricSpec) -> tuple[str, ...]:
    """Names of the kinds of sites: processing elements, memories, streams, memories that are smaller than others, from
    the smallest on, and streams to second banks."""
    small = [f"memory tiles of {depth * spec.mem.fetch_width} words" for depth in _small(spec)]
    largest = f"memory tiles of {spec.mem.capacity_words} words" if small else "memory tiles"
    streams = ("input streams", "output streams") if spec.glb.paired else ("streams",)
    return ("PE tiles", largest, streams[0], *small, *streams[1:])


def _small(spec: FabricSpec) -> list[int]:
    """Wide words of memories that are smaller than others."""
    return [depth for depth in spec.memories if depth != spec.mem.depth]


def kind_of(node: Node, spec: FabricSpec) -> int:
    """Index into `kinds`."""
    if isinstance(node, PeNode):
        return _PE
    if not isinstance(node, MemNode):
        return len(kinds(spec)) - 1 if spec.glb.paired and isinstance(node, StreamOut) else _STREAM
    return _MEMORY if node.depth in (None, spec.mem.depth) else 1 + _STREAM + _small(spec).index(node.depth)


def grid(spec: FabricSpec, kind: int, rows: int | None = None, columns: int | None = None) -> Grid:
    """Sites of one kind in the first `rows` rows and `columns` columns (all of them by default)."""
    width = spec.columns if columns is None else columns
    results = spec.glb.paired and kind == len(kinds(spec)) - 1
    if kind == _STREAM or results:
        row = RESULT_ROW if results else IO_ROW
        return Grid(range(row, row + 1), tuple(c for c in spec.bank_columns if c < width))
    wanted = TileKind.PE if kind == _PE else TileKind.MEM
    depth = _small(spec)[kind - _STREAM - 1] if kind > _STREAM else spec.mem.depth
    chosen = tuple(c for c in range(width) if spec.tile_kind(0, c) is wanted
                   and (kind == _PE or spec.mem_at(c).depth == depth))
    return Grid(range(spec.rows if rows is None else rows), chosen)


def check_capacity(netlist: Netlist, spec: FabricSpec, delays: int = 0) -> None:
    """Raise `ArrayTooSmall` if the array lacks sites; `delays` of the PEs are there only to delay."""
    needed = [0] * len(kinds(spec))
    for node in netlist.nodes.values():
        needed[kind_of(node, spec)] += 1
    present = tuple(len(grid(spec, kind)) for kind in range(len(needed)))
    if any(n > p for n, p in zip(needed, present, strict=True)):
        raise ArrayTooSmall(tuple(needed), present, spec, delays)
