"""Where the multipliers of a systolic array go on an ECP5-85: in the order of its PEs.

The device has three long rows of multipliers. A placer that may put each of them anywhere tears PEs apart between
theirs, and neighbours from each other; once multipliers are fixed in the order of the array, the rest follows, and the
clock no longer falls with the size of the array.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["place_multipliers"]

_MULTIPLIER = "MULT18X18D"
_PE = re.compile(r"(?:^|[.\\])pe_(\d+)_(\d+)(?:\.|$)")
"""The row and the column of a PE in a cell's name (`hw.systolic.array`)."""

_ROWS = (10, 34, 58)
"""Rows of the device that multipliers are in."""

_BLOCKS = (4, 13, 22, 31, 40, 49, 58, 69, 78, 87, 96, 105, 114)
"""Columns of the device at which a block of multipliers begins."""

_SITES = (0, 1, 4, 5)
"""The multipliers of a block: columns from its beginning on, which are also their numbers."""


def place_multipliers(module: Mapping[str, Any]) -> int:
    """Give the multipliers of PEs their sites in a netlist of yosys for an LFE5U-85, as the attribute ``BEL`` of the
    cells. Rows of PEs are dealt out to the rows of the device, columns of PEs to neighbouring blocks in the middle.
    Returns how many multipliers have got one: none if there are no PEs with multipliers, or they do not fit."""
    cells: dict[tuple[int, int], list[str]] = defaultdict(list)
    for name, cell in module["cells"].items():
        if cell["type"] == _MULTIPLIER and (found := _PE.search(name)):
            cells[int(found[1]), int(found[2])].append(name)
    if not cells:
        return 0
    rows, columns = (1 + max(numbers) for numbers in zip(*cells, strict=True))
    sites = _sites(rows, columns, max(map(len, cells.values())))
    for place, names in cells.items():
        for name, site in zip(sorted(names), sites.get(place, ()), strict=False):
            module["cells"][name].setdefault("attributes", {})["BEL"] = site
    return sum(map(len, cells.values())) if sites else 0


def _sites(rows: int, columns: int, multipliers: int) -> dict[tuple[int, int], list[str]]:
    """Sites for every PE of an array, nothing if they do not fit."""
    for used in range(min(len(_ROWS), -(-rows // len(_ROWS))), len(_ROWS) + 1):  # rows of the device
        together = -(-rows // used)  # rows of PEs at each
        blocks = -(-together * multipliers // len(_SITES))  # for a column of PEs
        if blocks * columns <= len(_BLOCKS):
            first = (len(_BLOCKS) - blocks * columns + 1) // 2
            return {(row, column): list(_of_pe(row, together, first + column * blocks, multipliers))
                    for row in range(rows) for column in range(columns)}
    return {}


def _of_pe(row: int, together: int, block: int, multipliers: int) -> Iterator[str]:
    """Sites of one PE, whose column begins at number `block` of the blocks."""
    for number in range(row % together * multipliers, (row % together + 1) * multipliers):
        site = _SITES[number % len(_SITES)]
        yield f"X{_BLOCKS[block + number // len(_SITES)] + site}/Y{_ROWS[row // together]}/MULT18_{site}"
