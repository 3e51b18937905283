"""From a schedule to the netlist: operations covered by processing elements, buffers put into memory tiles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from compiler.bind.buffers.sequences import array_traffic
from compiler.bind.buffers.taps import TapGroup, group_taps
from compiler.bind.buffers.unified import ReadPort, UnifiedBuffer, extract_buffers
from compiler.bind.cgra.cover import Coverer
from compiler.bind.cgra.memories import MemoryAllocator, MemoryTile
from compiler.bind.cgra.netlist import Edge, Netlist, Node, Pin, StreamIn, StreamOut
from compiler.bind.cgra.signals import Signal
from compiler.ir.program import Program, Statement
from compiler.ir.types import Int
from compiler.sched.cycle_accurate import Schedule
from compiler.sched.dependences import topological_order
from hw.errors import SluiceError
from hw.memtile import MemTileSpec
from hw.ops import Kind

__all__ = ["Application", "ApplicationError", "build_application"]


class ApplicationError(SluiceError):
    """The program uses something that the array cannot hold."""


@dataclass
class Application:
    """The netlist of a scheduled program and where its parts came from.

    `results`: stream of each statement's values. `reads`: stream that each read (statement, number) sees.
    `streams_in` and `streams_out`: stream unit of each main-memory array. `roms`: table of each ROM tile.
    `registers`: words of shift registers that the taps need.
    """

    schedule: Schedule
    netlist: Netlist
    memories: list[MemoryTile]
    buffers: list[UnifiedBuffer]
    taps: dict[str, list[TapGroup]]
    results: dict[str, Signal]
    reads: dict[tuple[str, int], Signal]
    streams_in: dict[str, str]
    streams_out: dict[str, str]
    roms: dict[str, str]

    @property
    def registers(self) -> int:
        """Words of shift registers between taps (seed 001, table 7.8)."""
        return sum(group.registers for groups in self.taps.values() for group in groups)


@dataclass
class _Builder:
    schedule: Schedule
    mem: MemTileSpec
    allocator: MemoryAllocator
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    taps: dict[str, list[TapGroup]] = field(default_factory=dict)
    results: dict[str, Signal] = field(default_factory=dict)
    reads: dict[tuple[str, int], Signal] = field(default_factory=dict)
    streams_in: dict[str, str] = field(default_factory=dict)
    streams_out: dict[str, str] = field(default_factory=dict)
    roms: dict[str, str] = field(default_factory=dict)

    def add_load(self, array: str, statement: str) -> None:
        name = f"in_{array}"
        self.nodes[name] = StreamIn(name)
        self.streams_in[array] = name
        self.results[statement] = Signal(Pin(name, "out"), Kind.WORD)

    def heard_nodes(self, edges: Iterable[Edge]) -> dict[str, Node]:
        """The nodes without streams that nothing takes words from: loads that no value needs. They are forgotten."""
        silent = set(self.streams_in.values()) - {edge.source.node for edge in edges}
        self.streams_in = {array: name for array, name in self.streams_in.items() if name not in silent}
        self.reads = {read: signal for read, signal in self.reads.items() if signal.pin.node not in silent}
        return {name: node for name, node in self.nodes.items() if name not in silent}

    def add_statement(self, statement: Statement) -> None:
        operands = [self.reads[statement.name, k] for k in range(len(statement.reads))]
        coverer = Coverer(statement, operands, self.mem)
        self.results[statement.name] = coverer.result()
        self.nodes.update((pe.name, pe) for pe in coverer.pes)
        for name, (node, table) in coverer.roms.items():
            self.nodes[name], self.roms[name] = node, table
        self.edges += coverer.edges
        self.allocator.separations += coverer.separations

    def add_output(self, array: str, statement: str) -> None:
        name = f"out_{array}"
        signal = self.results[statement]
        self.nodes[name] = StreamOut(name)
        self.streams_out[array] = name
        self.edges.append(Edge(signal.pin, Pin(name, "in"), "word", signal.distance))

    def serve_readers(self, buffer: UnifiedBuffer) -> None:
        """Give every read of `buffer` its stream: a tap of a delay line where its distance is constant."""
        source = self.results[buffer.writer.statement]
        constant = [r for r in buffer.readers if r.distance is not None]
        groups = group_taps(constant) if constant else []
        self.taps[buffer.name] = groups
        heads = [g.head for g in groups if g.head]
        entry, staged = buffer.writer.schedule, self.schedule.staged
        length = (staged.tiles - 1) * self.schedule.period + entry.span
        delayed = dict(zip(heads, self.allocator.delays(buffer.name, source, entry.offset, length, heads),
                           strict=True))
        for group in groups:
            stream = delayed.get(group.head, source)
            for tap in group.taps:
                assert tap.distance is not None
                self.reads[tap.statement, tap.read] = stream.delayed(tap.distance - group.head)
        self._serve_varying(buffer, source, [r for r in buffer.readers if r.distance is None])

    def _serve_varying(self, buffer: UnifiedBuffer, source: Signal, readers: list[ReadPort]) -> None:
        if not readers:
            return
        traffic = array_traffic(self.schedule, buffer, readers, self.allocator.packing)
        for reader, signal in zip(readers, self.allocator.reads(traffic, source), strict=True):
            self.reads[reader.statement, reader.read] = signal


def build_application(schedule: Schedule, mem: MemTileSpec, sparse: bool = False) -> Application:
    """Map all statements and buffers of `schedule` to units; `sparse` as in `MemoryAllocator`.

    Raises `CoverError`, `CapacityError`, `VectorizationError`, `DependenceError` or `ApplicationError`, each naming
    what does not fit.
    """
    staged, program = schedule.staged, schedule.staged.program
    _check_arrays(program)
    _check_tables(program, mem)
    buffers = {b.writer.statement: b for b in extract_buffers(schedule)}
    builder = _Builder(schedule, mem, MemoryAllocator(mem, sparse))
    loads = {f.statement: f.array for f in staged.inputs}
    outputs = {f.statement: f.array for f in staged.outputs}
    for name in topological_order(program, schedule.dependences):
        if name in loads:
            builder.add_load(loads[name], name)
        else:
            builder.add_statement(program.statement(name))
        if name in buffers:
            builder.serve_readers(buffers[name])
        if name in outputs:
            builder.add_output(outputs[name], name)
    edges = (*builder.edges, *builder.allocator.edges)
    nodes = builder.heard_nodes(edges) | builder.allocator.nodes()
    netlist = Netlist(nodes, edges, tuple(builder.allocator.separations))
    netlist.verify()
    return Application(schedule, netlist, builder.allocator.tiles, list(buffers.values()), builder.taps,
                       builder.results, builder.reads, builder.streams_in, builder.streams_out, builder.roms)


def _check_arrays(program: Program) -> None:
    """Elements must fit the words of the array of tiles."""
    for array in program.arrays:
        if not isinstance(array.type, Int) or array.type.width > 16:
            raise ApplicationError(f"array {array.name} holds {array.type}; the array target has 16-bit words")


def _check_tables(program: Program, mem: MemTileSpec) -> None:
    """Tables must fit memory tiles."""
    for table in program.tables:
        if len(table.values) > mem.capacity_words:
            raise ApplicationError(f"table {table.name} has {len(table.values)} entries; a memory tile holds "
                                   f"{mem.capacity_words} words")
