"""How long an array takes: cycles from the first request to memory until the last result is in memory (seed 002,
section 7.2, where the model is the longest module; here loads, steps and results of neighbouring tiles overlap).

A model: FIFOs between modules are taken to be deep enough that a tile's stages only wait for whole tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from hw.systolic.spec import ArraySpec, OperandSpec

__all__ = ["DRAIN", "FILL", "Latency", "TileClass", "predict"]

FILL = 20
"""Cycles from the start bit until the first word from memory is in a feeder."""

DRAIN = 18
"""Cycles from operands at a PE to its result at the memory port, and to the done bit."""


@dataclass(frozen=True)
class TileClass:
    """`count` tiles that are alike: cycles of their `steps`, of the beats that they `load`, of the longest daisy chain
    (`fill`), and of the results that they `store` (0 where a later tile goes on with them)."""

    count: int
    steps: int
    load: int
    fill: int
    store: int

    @property
    def overlapped(self) -> int:
        """Cycles of a tile while its neighbours load and store."""
        return max(self.steps, self.load, self.fill, self.store)

    @property
    def alone(self) -> int:
        """Cycles of a tile if nothing overlaps."""
        return self.steps + max(self.load, self.fill) + self.store


@dataclass(frozen=True)
class Latency:
    """Tiles by class, and cycles of `fill` before the first step and of `drain` after the last one."""

    classes: tuple[TileClass, ...]
    fill: int
    drain: int
    overlapped: bool

    @cached_property
    def steady(self) -> int:
        """Cycles between the first tile's first step and the last tile's last one."""
        return sum(c.count * (c.overlapped if self.overlapped else c.alone) for c in self.classes)

    @property
    def total(self) -> int:
        """All cycles."""
        return self.fill + self.steady + self.drain


def predict(spec: ArraySpec, tiles: Sequence[int]) -> Latency:
    """The latency of an array whose tile loops have the extents `tiles`."""
    classes = tuple(c for c in (_tile_class(spec, tiles, k) for k in range(-1, len(tiles))) if c.count)
    first = _loads(spec, spec.operands)
    fill = FILL + max(first, *(_chain(spec, operand) for operand in spec.operands))
    drain = DRAIN + spec.rows + spec.columns + max(_result_beats(spec), _exit_cycles(spec))
    return Latency(classes, fill, drain, _overlaps(spec))


def _overlaps(spec: ArraySpec) -> bool:
    return spec.result.double_buffered and all(operand.double_buffered for operand in spec.operands)


def _tile_class(spec: ArraySpec, tiles: Sequence[int], loop: int) -> TileClass:
    """The tiles before which tile loop number `loop` steps and all inner ones begin again; -1: the first tile."""
    count = 1 if loop < 0 else prod(tiles[:loop]) * (tiles[loop] - 1)
    # While these tiles are computed, the operands of the tile after them are fetched: as many of this class follow.
    fetched = [operand for operand in spec.operands if loop >= 0 and spec.innermost(operand) >= loop]
    stores = loop < 0 or not spec.tile_loops[loop].reduction
    store = max(_result_beats(spec), _exit_cycles(spec)) if stores else 0
    fill = max((_chain(spec, operand) for operand in fetched), default=0)
    return TileClass(count, spec.steps, _loads(spec, fetched), fill, store)


def _loads(spec: ArraySpec, operands: Sequence[OperandSpec]) -> int:
    """Beats of main memory for one tile of each operand."""
    return sum(spec.operand_bytes(operand) for operand in operands) // spec.bus_bytes


def _chain(spec: ArraySpec, operand: OperandSpec) -> int:
    """Cycles in which an operand's tile goes through its daisy chain, one beat per cycle."""
    images = 1 if operand.copied else spec.feeders(operand)
    return images * spec.feeder_beats(operand)


def _result_beats(spec: ArraySpec) -> int:
    return spec.result_bytes // spec.bus_bytes


def _exit_cycles(spec: ArraySpec) -> int:
    """Cycles in which a tile's results go down the edge, one beat per cycle."""
    return spec.exits * spec.exit_beats
