"""The end of a program: the first rows of the last tile are finished and stored while the lanes finish the others.

Only the last operation is cut, along the first dimension and between wavefronts, so it does what it does in one piece.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.bind.vector.emit import TileCode
from compiler.bind.vector.graph import Op
from compiler.bind.vector.ir import Statement
from compiler.bind.vector.order import Order
from compiler.bind.vector.transfers import store

__all__ = ["LateFinish", "late_finish"]


@dataclass(frozen=True)
class LateFinish:
    """`order` of all operations but the `last` one, which is the result; of that, `rows` are done first."""

    order: Order
    last: Op
    rows: int

    def finish(self, code: TileCode) -> list[Statement]:
        """The last operation and the stores."""
        (low, high), *others = box = code.box
        (result,), whole = code.graph.results, code.regions
        start = whole[self.last][0][0] - low
        found: list[Statement] = []
        for first, end in ((low, low + self.rows), (low + self.rows, high)):
            code.box = ((first, end), *others)
            code.regions = whole | {self.last: ((first + start, end + start), *whole[self.last][1:])}
            found += [*code.node(self.last), *store(code, result)]
        code.regions, code.box = whole, box
        return found


def late_finish(code: TileCode, order: Order, rows: int) -> LateFinish | None:
    """How to finish a tile; None if there are several results, the last operation is no result, or there is nothing
    left behind `rows`."""
    nodes = [n for n in order.nodes if n in code.regions]
    if len(code.graph.results) != 1 or not code.box or not nodes:
        return None
    last, (result,), (low, high) = nodes[-1], code.graph.results, code.box[0]
    if not isinstance(last, Op) or last is not result.node or not 0 < rows < high - low:
        return None
    if code.regions[last][0][1] - code.regions[last][0][0] != high - low:
        return None
    return LateFinish(Order(tuple(nodes[:-1]), order.first_use, order.last_use), last, rows)
