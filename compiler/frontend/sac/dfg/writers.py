"""Nodes that end a dataflow graph: they write results to memory (Hammes 2000, section 5.4.3)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import product
from math import prod

from compiler.frontend.sac.dfg.graph import DfgNode
from compiler.frontend.sac.dfg.kinds import reduce_values, signed
from compiler.frontend.sac.dfg.memory import Memory

__all__ = ["Writer", "open_writer"]


class Writer(ABC):
    """Takes the tokens of `count` iterations; then `finish` writes what is left to write."""

    count: int

    @abstractmethod
    def take(self, tokens: Sequence[int]) -> None:
        """The tokens of one iteration, one of each operand."""

    def finish(self) -> None:
        """Write the result, if that waits for the last iteration."""
        return


def open_writer(node: DfgNode, fixed: Sequence[int | None], widths: Sequence[int], memory: Memory) -> Writer:
    """The writer of a node; `fixed` are the tokens that are the same in all iterations, addresses and extents among
    them."""
    if node.kind == "WRITE_TILE":
        return _Tiles(node, [token or 0 for token in fixed], memory)
    if node.kind == "WRITE_SCALAR":
        return _Scalar(fixed[1] or 0, widths[0], memory)
    known = [token or 0 for token in fixed]
    return _Reduction(node, known, widths, memory)


class _Tiles(Writer):
    """WRITE_TILE: values of a tile, address, extents of the loop, extents of the tile. Where ranks differ, ones stand
    at the left of the lesser."""

    def __init__(self, node: DfgNode, tokens: Sequence[int], memory: Memory) -> None:
        self.memory, self.bits = memory, node.number("bits")
        ranks = node.number("loop"), node.number("tile")
        first = len(tokens) - sum(ranks)
        loop, tile = tokens[first:first + ranks[0]], tokens[first + ranks[0]:]
        rank = max(ranks)
        loop, tile = ([1] * (rank - len(part)) + list(part) for part in (loop, tile))
        self.address, self.tile = tokens[first - 1], tile
        self.extents = [a * b for a, b in zip(loop, tile, strict=True)]
        self.count = prod(loop)
        self.places = product(*map(range, loop))
        self.offsets = list(product(*map(range, tile)))

    def take(self, tokens: Sequence[int]) -> None:
        place = next(self.places)
        for offset, value in zip(self.offsets, tokens, strict=False):
            index = [p * t + o for p, t, o in zip(place, self.tile, offset, strict=True)]
            self.memory.write(self.address, self.extents, index, self.bits, value)


class _Scalar(Writer):
    """WRITE_SCALAR: one value, address."""

    def __init__(self, address: int, bits: int, memory: Memory) -> None:
        self.address, self.bits, self.memory, self.count = address, bits, memory, 1

    def take(self, tokens: Sequence[int]) -> None:
        self.memory.write(self.address, (), (), self.bits, tokens[0])


class _Reduction(Writer):
    """Value, label where there is one, mask, address, count, extents of labels and of a histogram.

    One sum, least, greatest or count is kept for each place of the result; labels beyond its extent are dropped.
    """

    def __init__(self, node: DfgNode, tokens: Sequence[int], widths: Sequence[int], memory: Memory) -> None:
        self.labelled = node.kind.startswith("ACCUM_")
        self.kind = node.kind.removeprefix("ACCUM_").removesuffix("_VALUES")
        self.counts = self.kind == "HISTOGRAM"
        self.width, self.bits, self.memory = widths[0], node.number("bits"), memory
        self.address, self.count = tokens[2 + self.labelled:4 + self.labelled]
        self.extents = list(tokens[4 + self.labelled:])
        kept = 0 if self.counts else reduce_values(self.kind, [], self.width)
        self.kept = [kept] * prod(self.extents)

    def take(self, tokens: Sequence[int]) -> None:
        if not tokens[1 + self.labelled]:
            return
        labels = ([tokens[1]] if self.labelled else []) + ([tokens[0]] if self.counts else [])
        place = 0
        for label, extent in zip(labels, self.extents, strict=True):
            if label >= extent:
                return
            place = place * extent + label
        self.kept[place] = self._joined(self.kept[place], tokens[0])

    def _joined(self, kept: int, value: int) -> int:
        if self.counts:
            return kept + 1
        number = signed(value, self.width) if self.kind[0] == "I" else value
        return reduce_values(self.kind, [kept, number], self.width)

    def finish(self) -> None:
        for index, value in zip(product(*map(range, self.extents)), self.kept, strict=True):
            self.memory.write(self.address, self.extents, index, self.bits, value)
