"""How long an array takes: cycles from the first request to memory until the last result is in memory (Wang 2021,
section 7.2, where the model is the longest module; here loads, steps and results of neighbouring tiles overlap).

Formulas, quick enough for all tilings of a shape at once, for the main memory that is assumed where nothing is said;
`compiler.bind.systolic.timeline` follows the events of the few that are fast by them. A tile's stages wait for whole
tiles. Where tiles are so small that the queues behind the memory port hold them, those that load much are evened out
with those that load little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from hw.main_memory import DEFAULT_MEMORY
from hw.systolic.compute import Compute
from hw.systolic.elementwise import conversion_latency
from hw.systolic.spec import ArraySpec, OperandSpec

__all__ = ["DRAIN", "FILL", "QUEUE", "Latency", "TileClass", "predict"]

FILL = 15 + DEFAULT_MEMORY.latency
"""Cycles from the start bit until the first step, without those in which words come from memory."""

DRAIN = 12 + DEFAULT_MEMORY.latency
"""Cycles from a result that is complete until memory has acknowledged it, and to the done bit."""

QUEUE = 64
"""Beats of memory that the array holds for an operand (`hw.systolic.loader`)."""


@dataclass(frozen=True)
class TileClass:
    """`count` tiles that are alike: cycles of their `steps`, of the beats that they `load`, of those beats that do not
    wait in queues already (`late`), of the longest daisy chain (`fill`), and until its feeders are full again after
    they have been given up (`refill`). `ends`: the results of a tile before them leave while they and those after them
    are computed."""

    count: int
    steps: int
    load: int
    late: int
    fill: int
    refill: int
    ends: bool

    @property
    def overlapped(self) -> int:
        """Cycles of a tile while its neighbours load."""
        return max(self.steps, self.load, self.fill)

    def alone(self, wait: int) -> int:
        """Cycles of a tile if it is filled in between the steps of two tiles, and the results of the one before take
        `wait` cycles to leave the PEs."""
        return max(self.load, self.fill, self.steps + max(self.late, self.refill, wait if self.ends else 0))


@dataclass(frozen=True)
class Latency:
    """Tiles by class, cycles in which the results of a tile `leave`, how many of them are `left` after its last step,
    and until they have left the PEs (`wait`), and cycles of `fill` before the first step and of `drain` after the last
    one. `overlapped`: loads, steps and results of different tiles; `even`: tiles fit the queues."""

    classes: tuple[TileClass, ...]
    leave: int
    left: int
    wait: int
    fill: int
    drain: int
    overlapped: bool
    even: bool

    @cached_property
    def steady(self) -> int:
        """Cycles between the first tile's first step and the last tile's last one."""
        results = sum(c.count for c in self.classes if c.ends)
        if not self.overlapped:
            first, *others = self.classes
            return first.steps + sum(c.count * c.alone(self.wait) for c in others)
        if self.even:
            stages = ("steps", "load", "fill")
            return max(results * self.leave, *(sum(c.count * getattr(c, s) for c in self.classes) for s in stages))
        between = sum(c.count * c.overlapped for c in self.classes if not c.ends) // results
        return sum(c.count * max(c.overlapped + between, self.leave) for c in self.classes if c.ends)

    @property
    def total(self) -> int:
        """All cycles."""
        return self.fill + self.steady + self.drain


def predict(spec: ArraySpec, tiles: Sequence[int]) -> Latency:
    """The latency of an array whose tile loops have the extents `tiles`."""
    classes = tuple(c for c in (_tile_class(spec, tiles, k) for k in range(-1, len(tiles))) if c.count)
    first = max(_before(spec), _loads(spec, spec.operands) - spec.step_cycles)
    fill = FILL + max([first, *(_filled(spec, o) + conversion_latency(spec, o) for o in spec.operands)])
    leave, left, latency = result_cycles(spec), _left(spec), Compute(spec).completion
    drain = DRAIN + latency + spec.rows + spec.columns + spec.skew + left + conversion_latency(spec, spec.result)
    wait = latency + 1 + max(_behind(spec), left - leave // spec.result.words)
    even = all(spec.operand_bytes(operand) <= QUEUE * spec.bus_bytes for operand in spec.operands)
    return Latency(classes, leave, left, wait, fill, drain, _overlaps(spec), even)


def _overlaps(spec: ArraySpec) -> bool:
    return spec.result.double_buffered and all(operand.double_buffered for operand in spec.operands)


def _tile_class(spec: ArraySpec, tiles: Sequence[int], loop: int) -> TileClass:
    """The tiles before which tile loop number `loop` steps and all inner ones begin again; -1: the first tile."""
    count = 1 if loop < 0 else prod(tiles[:loop]) * (tiles[loop] - 1)
    # While these tiles are computed, the operands of the tile after them are fetched: as many of this class follow.
    begun = [stream for stream in spec.streams if loop >= 0 and spec.innermost(stream, tiles) >= loop]
    fetched = [operand for operand in begun if operand in spec.operands]
    fill = max((_chain(spec, operand) for operand in fetched), default=0)
    refill = max((_refill(spec, operand) for operand in fetched), default=0)
    late = sum(max(0, spec.operand_bytes(operand) // spec.bus_bytes - QUEUE) for operand in fetched
               if not spec.is_streamed(operand))
    ends = loop < 0 or not spec.tile_loops[loop].reduction
    return TileClass(count, spec.step_cycles, _loads(spec, begun), late, fill, refill, ends)


def _loads(spec: ArraySpec, operands: Sequence[OperandSpec]) -> int:
    """Beats of main memory for one tile of each operand."""
    return sum(spec.operand_bytes(operand) for operand in operands) // spec.bus_bytes


def _chain(spec: ArraySpec, operand: OperandSpec) -> int:
    """Cycles in which an operand's tile goes through its daisy chain, one beat per cycle."""
    images = 1 if operand.copied else spec.feeders(operand)
    return images * spec.feeder_beats(operand)


def _before(spec: ArraySpec) -> int:
    """Beats of main memory until the first step: those of the first beats of the feeders where steps take words in
    their order, else of all."""
    streamed = [operand for operand in spec.operands if spec.is_streamed(operand)]
    rest = _loads(spec, [operand for operand in spec.operands if operand not in streamed])
    return rest + sum(_loads(spec, [operand]) // spec.feeder_beats(operand) for operand in streamed)


def _filled(spec: ArraySpec, operand: OperandSpec) -> int:
    """Cycles of an operand's daisy chain before the first step of the first tile."""
    chain = _chain(spec, operand)
    if not spec.is_streamed(operand):
        return chain
    return max(chain // spec.feeder_beats(operand), chain - spec.step_cycles)


def _refill(spec: ArraySpec, operand: OperandSpec) -> int:
    """Cycles from the last read of an operand's feeders until the next step can take from them: a beat waits in front
    of each of them."""
    return 1 if spec.feeder_beats(operand) == 1 or spec.is_streamed(operand) else _chain(spec, operand)


def result_cycles(spec: ArraySpec) -> int:
    """Cycles in which a tile's results pass the narrowest place on their way: the chain along a row or the one down
    the edge, one beat per cycle, or the memory port."""
    return max(spec.exit_words // spec.result.row_pack, spec.exits * spec.exit_beats,
               spec.result_bytes // spec.bus_bytes)


def _behind(spec: ArraySpec) -> int:
    """Cycles that PEs fall behind in a tile whose results have no room but in the PEs.

    A row's results leave one after the other, so PEs begin the next tile each two cycles after the one before instead
    of one. Queues between them hold the steps in between, and the lead stays from tile to tile. Where a beat of an exit
    holds less than a row's round, exits stop each other for a cycle. Rows catch up then and wait again: measured, a
    cycle in eight steps, up to the length of a row.
    """
    words = spec.exit_words // spec.result.words
    return min(words, spec.step_cycles // 8) if spec.exits > 1 and spec.result.pack < words else 0


def _left(spec: ArraySpec) -> int:
    """Cycles in which results still leave after a tile's last step. They leave in rounds, one result of each PE, as
    they are completed: while a loop that is no reduction goes on, whatever goes on inside it completes its results."""
    rounds, inside, ahead = 1, 1, 0
    leave = result_cycles(spec)
    for loop in reversed(spec.time_loops):
        if not loop.reduction:
            ahead += (loop.extent - 1) * min(inside * spec.interval, leave // spec.result.words * rounds)
            rounds *= loop.extent
        inside *= loop.extent
    return leave - ahead
