"""Units that several statements use in turn: what brings them the operands of whoever's turn it is.

One set of processing elements computes the values of a group of isomorphic statements, each in its own cycles (seed
001, section 4.3.3). An operand then comes from several places. All of these but one are words that memory tiles keep;
such a tile reads them in exactly the cycles of their reader, and in all other cycles it passes on what comes from the
others: the memory tiles are the multiplexers, and their read controllers know whose turn it is. The last place needs no
memory: a stream, or the constant from which an accumulation starts. Results leave on one stream, from which the memory
of each owner takes the words of its own cycles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import islpy as isl

from compiler.analysis.dependences import Dependence
from compiler.bind.buffers.sequences import exact_traffic
from compiler.bind.buffers.unified import ReadPort, UnifiedBuffer
from compiler.bind.cgra.memories import MemoryAllocator
from compiler.bind.cgra.netlist import Edge, PeNode, Pin, SkewBound
from compiler.bind.cgra.operands import Signal
from compiler.bind.sums import MASK
from compiler.ir.expr import Const
from compiler.ir.isomorphism import canonical_value
from compiler.ir.program import Program, Statement
from compiler.sched.static.schedule import Schedule
from hw.errors import SluiceError
from hw.ops import Kind
from hw.pe.config import PeConfig

__all__ = ["Group", "SharedUnits", "SharingError"]


class SharingError(SluiceError):
    """Statements whose operands cannot be brought to one set of units."""


@dataclass(frozen=True)
class Group:
    """Statements on one set of units. `statement`: the first of them with the operands numbered in order of use;
    `reads`: by member the read that each operand is."""

    members: tuple[str, ...]
    statement: Statement
    reads: dict[str, tuple[int, ...]]

    @staticmethod
    def of(program: Program, members: tuple[str, ...]) -> Group:
        """The group of these statements of `program`."""
        found = {name: canonical_value(program.statement(name)) for name in members}
        first = replace(program.statement(members[0]), value=found[members[0]][0])
        return Group(members, first, {name: reads for name, (_, reads) in found.items()})

    @property
    def operands(self) -> int:
        """How many there are."""
        return len(self.reads[self.members[0]])

    def pin(self, operand: int) -> Pin:
        """Stands for the output that will carry an operand."""
        return Pin(f"{self.members[0]}.operand{operand}", "word0")

    @property
    def signals(self) -> list[Signal]:
        """The operands, for the units to be connected to."""
        return [Signal(self.pin(k), Kind.WORD, 0, Signal.FLEXIBLE) for k in range(self.operands)]


@dataclass
class SharedUnits:
    """The operands of all groups of a scheduled program."""

    schedule: Schedule
    buffers: Sequence[UnifiedBuffer]
    allocator: MemoryAllocator
    multiplexers: dict[Pin, list[Pin]] = field(default_factory=dict)
    nodes: dict[str, PeNode] = field(default_factory=dict)
    _pins: dict[tuple[str, int, str], Pin] = field(default_factory=dict)
    _direct: set[tuple[str, int, str]] = field(default_factory=set)
    _last: dict[Pin, Signal] = field(default_factory=dict)
    _same: dict[Pin, tuple[Pin, int]] = field(default_factory=dict)
    _known: dict[tuple[tuple[str, ...], ...], tuple[Pin, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        program = self.schedule.staged.program
        self.groups = [Group.of(program, names) for names in program.shared]
        self._ports = {r.dependence.key: r for buffer in self.buffers for r in buffer.readers}
        for group in self.groups:
            for operand in range(group.operands):
                reads = [(name, group.reads[name][operand]) for name in group.members]
                mine = [d for d in self.schedule.dependences if (d.sink, d.read) in reads]
                self._plan(group, operand, mine)

    def group(self, statement: str) -> Group | None:
        """The group that a statement belongs to."""
        return next((group for group in self.groups if statement in group.members), None)

    def _plan(self, group: Group, operand: int, dependences: list[Dependence]) -> None:
        """Choose what comes without a multiplexer: a constant, else a stream that needs no memory if there is one."""
        pin = group.pin(operand)
        self._pins |= {d.key: pin for d in dependences}
        start = min(self.schedule.statements[d.sink].offset for d in dependences)
        words = tuple(sorted(self._identity(d, start) for d in dependences))
        first, earlier = self._known.setdefault(words, (pin, start))
        self._same[pin] = (first, start - earlier) if start >= earlier else (pin, 0)
        if self._same[pin][0] != pin:
            return
        self.multiplexers[pin] = []
        constants = {value for d in dependences if (value := self._constant(d)) is not None}
        if len(constants) > 1:
            values = ", ".join(map(str, sorted(constants)))
            raise SharingError(f"{', '.join(group.members)} cannot share units: operand {operand + 1} takes the "
                               f"constants {values}; only one can be brought to it")
        if constants:
            node = PeNode(pin.node, PeConfig("pass", False, (constants.pop(), None, None)))
            self.nodes[f"{pin.node}.constant"] = replace(node, name=f"{pin.node}.constant")
            self._last[pin] = Signal(Pin(f"{pin.node}.constant", node.config.output), Kind.WORD)
        else:
            self._direct |= _cheapest(group, [self._ports[d.key] for d in dependences])

    def _identity(self, dependence: Dependence, start: int) -> tuple[str, ...]:
        """What operands of different groups have in common that are the same words at a constant distance in time."""
        entry = self.schedule.statements[dependence.sink]
        relation = dependence.relation.set_tuple_name(isl.dim_type.in_, "sink")
        timing = (list(entry.strides.values()), list(entry.low.values()), list(entry.trips.values()),
                  entry.offset - start)
        return dependence.source, str(relation), str(timing)

    def _constant(self, dependence: Dependence) -> int | None:
        value = self.schedule.staged.program.statement(dependence.source).value
        return value.value & MASK if isinstance(value, Const) else None

    def takes(self, reader: ReadPort) -> bool:
        """Whether a read belongs to shared units."""
        return reader.dependence.key in self._pins

    def repeats(self, reader: ReadPort) -> bool:
        """Whether a read of shared units sees what one of others does, in the same cycles or later."""
        pin = self._pins.get(reader.dependence.key)
        return pin is not None and self._same[pin][0] != pin

    def multiplexed(self, reader: ReadPort) -> bool:
        """Whether what a read sees comes through a multiplexer of its own."""
        key = reader.dependence.key
        mine = key in self._pins and not self.repeats(reader)
        return mine and key not in self._direct and self._constant(reader.dependence) is None

    def multiplex(self, buffer: UnifiedBuffer, reader: ReadPort, source: Signal) -> None:
        """Keep the words of a read in a memory that delivers them when it is the reader's turn."""
        traffic = exact_traffic(self.schedule, buffer, reader, self.allocator.packing)
        self.multiplexers[self._pins[reader.dependence.key]].append(self.allocator.multiplexed(traffic, source))

    def deliver(self, reader: ReadPort, signal: Signal) -> None:
        """The stream with the words of a read that come without a multiplexer."""
        if reader.dependence.key in self._direct:
            self._last[self._pins[reader.dependence.key]] = signal

    def connect(self) -> dict[Pin, Signal]:
        """Chain the multiplexers of every operand. Returns what the pins of `Group.pin` stand for."""
        heads = {}
        for pin, outputs in self.multiplexers.items():
            ahead = self._last.get(pin)
            for output in outputs:
                chain = Pin(output.node, output.port.replace("out", "chain"))
                if ahead is not None:
                    self.allocator.edges.append(Edge(ahead.pin, chain, "word", ahead.distance))
                    self.allocator.separations.append(SkewBound(output, chain, 1, 1))
                ahead = Signal(output, Kind.WORD)
            assert ahead is not None
            heads[pin] = ahead
        return {pin: heads[first].delayed(later) for pin, (first, later) in self._same.items()}


def _cheapest(group: Group, ports: list[ReadPort]) -> set[tuple[str, int, str]]:
    """The reads of one stream, at one distance, that need the least memory: rather of others' values than of the
    group's own, which its members read at different distances."""
    taps = [port for port in ports if port.distance is not None]
    if not taps:
        return {ports[0].dependence.key}
    best = min(taps, key=lambda port: (port.dependence.source in group.members, port.distance))
    return {port.dependence.key for port in taps
            if (port.dependence.source, port.distance) == (best.dependence.source, best.distance)}
