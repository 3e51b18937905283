"""An array of a uniform recurrence as plain data: cells, the queues between them, and what comes in and goes out.

A cell sits at a place (one or two space loops) and runs through the steps of its place: counters of the time loops, one
step at a time. A step takes one word from every queue it wants, gives one word to every queue it feeds, and fires when
all words are there and all queues have room; nothing else makes it wait. What it computes moves on by itself.
Widths in bits, depths in words, delays in cycles (Wang 2021, sections 3.2 and 6).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hw.dataflow.spec import Counter, KernelPorts, Operator, Piece, Predicate, SizeSpec, StreamSpec, Word
from hw.errors import SluiceError

__all__ = ["CellSpec", "ChainSpec", "NodeSpec", "OperandSpec", "Place", "PlacedCell", "QueueSpec", "RecurrenceSpec",
           "RecurrenceSpecError", "SourceSpec", "Wire"]

Place = tuple[int, ...]
"""Coordinates of a cell: the values of the space loops, one or two."""


class RecurrenceSpecError(SluiceError):
    """An array that cannot be built."""


@dataclass(frozen=True)
class SourceSpec:
    """Where an operand comes from if `select` holds: port `number` of the cell, its own queue `number`, or, in the same
    step, node `number` or the earlier operand `number`."""

    kind: Literal["port", "queue", "node", "operand"]
    number: int
    select: Predicate


@dataclass(frozen=True)
class OperandSpec:
    """A word that steps take in which `wanted` holds, from the one source whose `select` holds. It is there `offset`
    cycles after the step fires."""

    word: Word
    offset: int
    wanted: Predicate
    sources: tuple[SourceSpec, ...]


@dataclass(frozen=True)
class NodeSpec:
    """A statement. It computes in steps in which `fires` holds, `delay` cycles after the step; its result is there
    `latency` cycles later. `reads`: for each read, the (operand, predicate) pairs that it may come from; of the last
    one the predicate is not looked at. `interval`: cycles from one firing to the next, more than 1 for serial
    dividers. `source`: its place in the user's program (`hw.labels.Label`)."""

    name: str
    fires: Predicate
    delay: int
    reads: tuple[tuple[tuple[int, Predicate], ...], ...]
    operators: tuple[Operator, ...]
    indices: tuple[tuple[Piece, ...], ...] = ()
    interval: int = 1
    source: str = ""

    @property
    def latency(self) -> int:
        """Cycles from the operands to the result."""
        return self.operators[-1].done

    @property
    def word(self) -> Word:
        """The result."""
        return self.operators[-1].word


@dataclass(frozen=True)
class QueueSpec:
    """`depth` words of node `number`, or of operand `number` (passed on), written `delay` cycles after steps in which
    `push` holds. `outside`: it ends at a port of another cell or in an output, else in this cell."""

    name: str
    kind: Literal["node", "operand"]
    number: int
    word: Word
    depth: int
    delay: int
    push: Predicate
    outside: bool

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise RecurrenceSpecError(f"queue {self.name} of depth {self.depth} holds nothing")


@dataclass(frozen=True)
class CellSpec:
    """A kind of cell. `counters`: the first `space` are the coordinates, the others the time loops, outermost first.
    `ports`: names and words of what comes in."""

    name: str
    space: int
    counters: tuple[Counter, ...]
    ports: tuple[tuple[str, Word], ...]
    operands: tuple[OperandSpec, ...]
    nodes: tuple[NodeSpec, ...]
    queues: tuple[QueueSpec, ...]
    tables: tuple[tuple[int, ...], ...] = ()

    def port(self, name: str) -> int:
        """The number of the port called `name`."""
        return next(k for k, (known, _) in enumerate(self.ports) if known == name)

    def queue(self, name: str) -> int:
        """The number of the queue called `name`."""
        return next(k for k, queue in enumerate(self.queues) if queue.name == name)


@dataclass(frozen=True)
class PlacedCell:
    """The cell of kind number `kind` at `place`."""

    kind: int
    place: Place


@dataclass(frozen=True)
class Wire:
    """Queue `queue` of cell `source` ends at port `port` of cell `sink` (numbers of placed cells)."""

    source: int
    queue: int
    sink: int
    port: int


@dataclass(frozen=True)
class ChainSpec:
    """How the words of one stream reach their cells, or are collected from them: from the edge along loop `major`, and
    from there along the other one.

    `counters` (of which none is held) walk the points at which words come in, or are made, in the order of the stream;
    `at` says which vectors are such points, `position` which counters are the coordinates. `leaves`: placed cells and
    the number of their port, or queue. For results of several rows of which some have several cells: `row_counters`,
    the first of which is the coordinate along the major loop, walk the points of one row where `row_at` holds, and
    number `row_position` of them is the other coordinate. `leaf_words`: words that wait at a cell; inputs only.
    """

    stream: int
    counters: tuple[Counter, ...]
    at: Predicate
    position: tuple[int, ...]
    major: int
    leaves: tuple[tuple[int, int], ...]
    row_counters: tuple[Counter, ...] = ()
    row_at: Predicate = ()
    row_position: int = 0
    leaf_words: int = 2


@dataclass(frozen=True)
class RecurrenceSpec:
    """A whole array: kinds of cells, the cells, wires between neighbours, and one chain for each stream."""

    name: str
    kinds: tuple[CellSpec, ...]
    cells: tuple[PlacedCell, ...]
    wires: tuple[Wire, ...]
    inputs: tuple[StreamSpec, ...]
    outputs: tuple[StreamSpec, ...]
    loads: tuple[ChainSpec, ...]
    drains: tuple[ChainSpec, ...]
    divider_bits: int = 4
    sizes: tuple[SizeSpec, ...] = ()

    def __hash__(self) -> int:
        return hash((self.name, self.cells))

    @property
    def ports(self) -> KernelPorts:
        """What a host has to know."""
        return KernelPorts(self.sizes, self.inputs, self.outputs)
