"""From a schedule to the netlist: operations covered by processing elements, buffers put into memory tiles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from compiler.analysis.dependences import Dependence, recurrence_members, recurrences, topological_order
from compiler.bind.buffers.circular import UNLIMITED
from compiler.bind.buffers.sequences import TrafficGroup, array_traffic
from compiler.bind.buffers.taps import REGISTER_GAP, TapGroup, group_taps
from compiler.bind.buffers.unified import ReadPort, UnifiedBuffer, extract_buffers
from compiler.bind.buffers.wide_fetch import NestError
from compiler.bind.cgra.addresses import AddressUnits
from compiler.bind.cgra.filled_tables import (
    FILL_PORT,
    fill_delay,
    fill_of,
    require_fillable,
    token_reads,
    with_stored_word,
)
from compiler.bind.cgra.instruction_selection import ExpressionSelector
from compiler.bind.cgra.legalize_arrays import without_words
from compiler.bind.cgra.local_feedback import LocalFeedback, fold_feedback
from compiler.bind.cgra.memories import BufferKey, MemoryAllocator, MemoryTile
from compiler.bind.cgra.netlist import Edge, Netlist, Node, PeNode, Pin, SkewBound, StreamIn, StreamOut
from compiler.bind.cgra.operand_multiplexing import Group, SharedUnits
from compiler.bind.cgra.operands import Operand, Signal
from compiler.bind.cgra.predicate_tables import (
    ControlError,
    PredicateTable,
    control_factors,
    control_pattern,
    control_table,
)
from compiler.ir.expr import Apply, Const, postorder
from compiler.ir.program import Array, Program, Statement
from compiler.ir.types import BFLOAT16, Int
from compiler.sched.static.reservation import feedback
from compiler.sched.static.schedule import Schedule
from hw.errors import SluiceError
from hw.memtile import MemTileSpec
from hw.ops import Kind
from hw.pe.config import DEFAULT_PE, PeConfig, PeSpec

__all__ = ["Application", "ApplicationError", "map_program"]


class ApplicationError(SluiceError):
    """The program uses something that the array cannot hold."""


@dataclass(frozen=True)
class SharedUse:
    """Statements that take turns on `units` processing elements; `multiplexers` memory outputs bring the operands."""

    members: tuple[str, ...]
    units: int
    multiplexers: int

    @property
    def saved(self) -> int:
        """Processing elements that units for each statement would take beyond these."""
        return (len(self.members) - 1) * self.units

    def __str__(self) -> str:
        return (f"{', '.join(self.members)} share {self.units} PEs, {self.saved} fewer, through "
                f"{self.multiplexers} multiplexers in memory tiles")


@dataclass
class Application:
    """The netlist of a scheduled program and where its parts came from.

    `results`: stream of each statement's values. `reads`: stream that each read (statement, number) sees.
    `delivered`: stream in which a dependence, by its key, brings values to the statement that has units of its own.
    `streams_in` and `streams_out`: stream unit of each main-memory array. `roms`: table of each ROM tile. `controls`:
    what each control tile plays. `filled`: memory of each tile that a statement fills. `addresses`: the units that
    compute addresses.
    `shared`: what statements share. `units`: number of processing elements that compute each statement's values.
    `infeasible`: what no configuration of memories can do, as messages. `registers`: words of shift registers that the
    taps need.
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
    filled: dict[str, str]
    controls: dict[str, PredicateTable]
    addresses: AddressUnits
    shared: list[SharedUse] = field(default_factory=list)
    units: dict[str, int] = field(default_factory=dict)
    infeasible: list[str] = field(default_factory=list)
    delivered: dict[tuple[str, int, str], Signal] = field(default_factory=dict)

    def require_followed(self) -> None:
        """Raise `NestError` if a memory cannot follow a reader, whatever the way through the array."""
        if self.infeasible:
            raise NestError(self.infeasible[0])

    @property
    def registers(self) -> int:
        """Words of shift registers between taps (Liu 2023, table 7.8)."""
        return sum(group.registers for groups in self.taps.values() for group in groups)


_MASK = (1 << 16) - 1
_LATENCY = 4096
"""Cycles that the run may take beyond its tiles."""
_WAY_BACK, _WAY_THROUGH = 24, 4
"""Estimates of the cycles from a result through a memory and a merge to where it goes on, and through an operation."""
_NO_WORD = Signal(Pin("", ""), Kind.BIT)
"""Stands for what is only waited for."""
_LUT_BITS = 3
"""Operands of a truth table."""
_NEAR = 16
"""Cycles by which a control stream may be later than one that is there already."""


@dataclass
class _Builder:
    schedule: Schedule
    mem: MemTileSpec
    allocator: MemoryAllocator
    shared: SharedUnits
    cycles: int | None
    pe: PeSpec
    held: bool
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    taps: dict[str, list[TapGroup]] = field(default_factory=dict)
    results: dict[str, Signal] = field(default_factory=dict)
    reads: dict[tuple[str, int], Signal] = field(default_factory=dict)
    streams_in: dict[str, str] = field(default_factory=dict)
    streams_out: dict[str, str] = field(default_factory=dict)
    roms: dict[str, str] = field(default_factory=dict)
    filled: dict[str, str] = field(default_factory=dict)
    controls: dict[str, PredicateTable] = field(default_factory=dict)
    units: dict[str, int] = field(default_factory=dict)
    infeasible: list[str] = field(default_factory=list)
    delivered: dict[tuple[str, int, str], Signal] = field(default_factory=dict)
    _waiting: dict[tuple[str, int, str], Pin] = field(default_factory=dict)
    _awaited: dict[tuple[str, int, str], Pin] = field(default_factory=dict)
    _heads: dict[Pin, Signal] = field(default_factory=dict)

    def __post_init__(self) -> None:
        program, dependences = self.schedule.staged.program, self.schedule.dependences
        self._tables = {table.name: table.values for table in program.tables}
        self.carried = recurrences(program, dependences)
        self.together = recurrence_members(dependences)
        self.back = self.carried | feedback(program.shared, dependences, self.carried)
        self.sources: dict[tuple[str, int], list[Dependence]] = {}
        for dependence in self.schedule.dependences:
            self.sources.setdefault((dependence.sink, dependence.read), []).append(dependence)

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
        statement, tokens = with_stored_word(statement), token_reads(statement)
        group = self.shared.group(statement.name)
        if group is not None:
            if statement.name not in self.results:
                self._add_group(group)
            return
        for k in (k for k in range(len(statement.reads)) if k not in tokens):
            self._merge(statement, k)
            if (statement.name, k) not in self.reads:
                self.reads[statement.name, k] = self._later(statement, k)
        operands = [self.reads.get((statement.name, k), _NO_WORD) for k in range(len(statement.reads))]
        self._cover(statement, operands)

    def _add_group(self, group: Group) -> None:
        """The units of statements that share them."""
        self._cover(group.statement, group.signals)
        units = self.units[group.statement.name]
        if not units:
            raise ApplicationError(f"{', '.join(group.members)} only move values: they have no units to share")
        for name in group.members:
            self.results[name] = self.results[group.statement.name]
            self.units[name] = units
            self.reads |= {(name, read): signal for read, signal in zip(group.reads[name], group.signals, strict=True)}

    def connect_shared(self) -> list[SharedUse]:
        """Give the units that statements share their operands."""
        heads = self.shared.connect() | self._heads
        self.nodes |= self.shared.nodes
        self.reads = {key: _moved(signal, heads) for key, signal in self.reads.items()}
        self.delivered = {key: _moved(signal, heads) for key, signal in self.delivered.items()}
        self.edges = [replace(edge, source=heads[edge.source].pin, distance=edge.distance + heads[edge.source].distance)
                      if edge.source in heads else edge for edge in self.edges]
        own = self.shared.multiplexers
        return [SharedUse(group.members, self.units[group.members[0]],
                          sum(len(own.get(group.pin(k), ())) for k in range(group.operands)))
                for group in self.shared.groups]

    def _cover(self, statement: Statement, operands: list[Signal]) -> None:
        carried = {operand.pin for k, operand in enumerate(operands)
                   if any(d.key in self.carried for d in self.sources.get((statement.name, k), ()))}
        alone = self.shared.group(statement.name) is None
        coverer = ExpressionSelector(statement, operands, self.mem, carried, self.cycles if alone else None,
                                     self.pe)
        self.results[statement.name] = coverer.result()
        self.units[statement.name] = len(coverer.pes)
        self.nodes.update((pe.name, pe) for pe in coverer.pes)
        for name, (node, table) in coverer.roms.items():
            words = len(self._tables[table]) if table in self._tables else self._filled_words(name, table, statement)
            self.nodes[name] = self.allocator.node(node.name, self.allocator.stock.take_for(words))
            (self.roms if table in self._tables else self.filled)[name] = table
        self.edges += coverer.edges
        self.allocator.separations += coverer.separations

    def _filled_words(self, name: str, memory: str, statement: Statement) -> int:
        """Have the words of a memory fill the tile `name` before `statement` looks them up; how many there are."""
        program = self.schedule.staged.program
        fill, words = fill_of(program, memory), program.memory(memory).words
        entry = self.schedule.statements[fill.name]
        require_fillable(fill, entry, words, self.mem)
        source, pin = self.results[fill.name], Pin(name, f"in{FILL_PORT}")
        self.edges.append(Edge(source.pin, pin, "word", source.distance))
        apart = self.schedule.statements[statement.name].offset - entry.last
        late = fill_delay(entry, self.mem) - apart + self.mem.ROM_LATENCY
        self.allocator.separations.append(SkewBound(Pin(name, "out0"), pin, late, UNLIMITED))
        return words

    def add_output(self, array: str, statement: str) -> None:
        name = f"out_{array}"
        signal = self.results[statement]
        self.nodes[name] = StreamOut(name)
        self.streams_out[array] = name
        self.edges.append(Edge(signal.pin, Pin(name, "in"), "word", signal.distance))

    # Reads of values from several statements.

    def _merge(self, statement: Statement, read: int) -> None:
        """Select, for every instance of a read, the stream of the statement whose value it sees."""
        mine = self.sources[statement.name, read]
        if len(mine) == 1:
            return
        mine = sorted(mine, key=lambda d: (not self._is_constant(d), d.key in self.carried))
        rest: Operand | Dependence = mine[-1]
        for number, dependence in reversed(list(enumerate(mine[:-1]))):
            bit = self._control(statement, dependence)
            rest = self._select(f"{statement.name}.merge{read}_{number}", bit, dependence, rest)
        assert isinstance(rest, Signal)
        self.reads[statement.name, read] = self._in_turn(statement, rest, [d for d in mine if d.key in self.carried])

    def _in_turn(self, statement: Statement, signal: Signal, carried: list[Dependence]) -> Signal:
        """`signal`, which brings values back, marked if they come before they could go through a chain of all
        operations."""
        operations = sum(isinstance(node, Apply) for node in postorder(statement.value))
        soon = [distance for d in carried
                if (distance := self.schedule.distance(d)[0]) < _WAY_BACK + _WAY_THROUGH * operations]
        return replace(signal, rank=Signal.LAST - min(soon)) if soon else signal

    def _later(self, statement: Statement, read: int) -> Signal:
        """A stand-in for the stream of a read whose only source comes later: values that a recurrence brings back, and
        that nobody asks for before."""
        dependence = self.sources[statement.name, read][0]
        pin = Pin(f"{statement.name}.read{read}", "out")
        self._awaited[dependence.key] = pin
        return self._in_turn(statement, Signal(pin, Kind.WORD), [dependence])

    def _is_constant(self, dependence: Dependence) -> bool:
        return isinstance(self.schedule.staged.program.statement(dependence.source).value, Const)

    def _select(self, name: str, bit: Signal, chosen: Dependence, other: Operand | Dependence) -> Signal:
        self.edges.append(Edge(bit.pin, Pin(name, "bit0"), "bit", bit.distance))
        constants = [self._connect(source, Pin(name, f"word{k}")) for k, source in enumerate((chosen, other))]
        config = PeConfig("select", False, (constants[0], constants[1], None), (None, None, None), 0)
        self.nodes[name] = PeNode(name, config)
        return Signal(Pin(name, config.output), Kind.WORD)

    def _connect(self, source: Operand | Dependence, pin: Pin) -> int | None:
        """Bring an operand to a pin, now or when its stream is there; or return the constant that it is."""
        if isinstance(source, Dependence):
            value = self.schedule.staged.program.statement(source.source).value
            if isinstance(value, Const):
                return value.value & _MASK
            if source.key not in self.delivered:
                self._waiting[source.key] = pin
                return None
            source = self.delivered[source.key]
        assert isinstance(source, Signal)
        self.edges.append(Edge(source.pin, pin, "word", source.distance))
        return None

    def _control(self, statement: Statement, dependence: Dependence) -> Signal:
        """The bit that is 1 where a read sees the value of this dependence."""
        asked = statement.reads[dependence.read].map.domain()
        chosen = dependence.relation.domain().gist(asked)
        try:
            return self._tabled(control_table(self.schedule, statement, chosen, self.mem, self.held))
        except ControlError:
            factors = control_factors(statement, chosen)
            if factors is None:
                raise
        tables = [control_table(self.schedule, statement, part, self.mem, self.held) for part in factors[0]]
        return self._together([self._tabled(table) for table in tables], inverted=factors[1])

    def _together(self, bits: Sequence[Signal], inverted: bool) -> Signal:
        """The bit that is 1 where all are, or 0 there."""
        name = f"control_of{sum(node.startswith('control_of') for node in self.nodes)}"
        all_ones = 1 << (1 << len(bits)) - 1
        first, second, third = (None if k < len(bits) else 0 for k in range(_LUT_BITS))
        table = all_ones ^ (1 << (1 << _LUT_BITS)) - 1 if inverted else all_ones
        config = PeConfig("lut3", False, (None, None, None), (first, second, third), table)
        self.nodes[name] = PeNode(name, config)
        self.edges += [Edge(bit.pin, Pin(name, f"bit{k}"), "bit", bit.distance) for k, bit in enumerate(bits)]
        return Signal(Pin(name, config.output), Kind.BIT)

    def _tabled(self, table: PredicateTable) -> Signal:
        """The bit that a memory plays from a table."""
        for name, have in self.controls.items():
            delay = table.delay_from(have)
            if delay is not None and 0 <= delay < _NEAR:
                return Signal(Pin(f"{name}.bit", "bit0"), Kind.BIT, delay)
        name = f"control{len(self.controls)}"
        self.controls[name] = table
        entry = self.mem.fetch_width if self.mem.kind == "pub" else 1
        self.nodes[name] = self.allocator.node(name, self.allocator.stock.take_for(entry * len(table.contents)))
        if self.mem.kind == "dual-port-pe":
            self.allocator.addresses.read(name, control_pattern(table, self.schedule.period, self.mem))
        bit = PeConfig("ne", False, (None, 0, None), (None, None, None), 0)
        self.nodes[f"{name}.bit"] = PeNode(f"{name}.bit", bit)
        self.edges.append(Edge(Pin(name, "out0"), Pin(f"{name}.bit", "word0"), "word"))
        return Signal(Pin(f"{name}.bit", bit.output), Kind.BIT)

    def _deliver(self, reader: ReadPort, signal: Signal) -> None:
        """The stream in which a reader finds the values of one statement."""
        key = reader.dependence.key
        if self.shared.takes(reader):
            self.shared.deliver(reader, signal)
            return
        self.delivered[key] = signal
        if key in self._awaited:
            self._heads[self._awaited[key]] = signal
        elif key in self._waiting:
            self.edges.append(Edge(signal.pin, self._waiting.pop(key), "word", signal.distance))
        elif len(self.sources[reader.statement, reader.read]) == 1:
            self.reads[reader.statement, reader.read] = signal

    # Buffers.

    def serve_readers(self, buffer: UnifiedBuffer) -> None:
        """Give every read of `buffer` its stream: a tap of a delay line where its distance is constant."""
        source = self.results[buffer.writer.statement]
        for reader in filter(self.shared.multiplexed, buffer.readers):
            self.shared.multiplex(buffer, reader, source)
        readers = [reader for reader in buffer.readers
                   if not self.shared.multiplexed(reader) and not self.shared.repeats(reader)]
        back = any(reader.dependence.key in self.back for reader in readers)
        constant = [r for r in readers if r.distance is not None]
        gap = self._register_gap(buffer)
        # A value that comes back in the next step is under way all the time: units and registers hold it anyway.
        near = self.schedule.pace.interval if back and gap else 0
        groups = group_taps(constant, gap, near) if constant else []
        self.taps[buffer.name] = groups
        heads = [g.head for g in groups if g.head]
        entry, staged = buffer.writer.schedule, self.schedule.staged
        length = (staged.tiles - 1) * self.schedule.period + entry.span
        back = back or any(self._inside(reader) for reader in readers)
        delayed = dict(zip(heads, self.allocator.delays(buffer.name, source, entry.offset, length, heads, back,
                                                           buffer.origin),
                           strict=True))
        for group in groups:
            stream = delayed.get(group.head, source)
            for tap in group.taps:
                assert tap.distance is not None
                self._deliver(tap, stream.delayed(tap.distance - group.head))
        self._serve_varying(buffer, source, [r for r in readers if r.distance is None], back)

    def _inside(self, reader: ReadPort) -> bool:
        """Whether a value stays in a recurrence on this way: the writer waits for what becomes of it."""
        return any({reader.dependence.source, reader.statement} <= part for part in self.together)

    def _register_gap(self, buffer: UnifiedBuffer) -> int:
        """Cycles between two taps that registers give: what the array's level of storage allows."""
        level = self.schedule.staged.program.array(buffer.array).level
        varying = next((reader for reader in buffer.readers if reader.distance is None), None)
        if level == "registers" and varying is not None:
            raise ApplicationError(f"{varying.label} sees values after waits that vary, which registers do not give; "
                                   "store the array in memory")
        return {"registers": UNLIMITED, "memory": 0}.get(level, REGISTER_GAP)

    def _serve_varying(self, buffer: UnifiedBuffer, source: Signal, readers: list[ReadPort], back: bool) -> None:
        for mine, group in self._followed(buffer, readers, back):
            signals = self.allocator.reads(group.traffic, source, back)
            for signal, served in zip(signals, group.served, strict=True):
                for number, delay in served.items():
                    self._deliver(mine[number], signal.delayed(delay))

    def _followed(self, buffer: UnifiedBuffer, readers: list[ReadPort],
                  back: bool) -> Iterator[tuple[list[ReadPort], TrafficGroup]]:
        """What memories serve together, with the readers that it numbers. Words that no controller could fetch in wide
        words have one each, where that fits; and those that would wait in one for words that depend on them."""
        for group in array_traffic(self.schedule, buffer, readers, self.allocator.packing):
            followed, waits = self.allocator.can_follow(group.traffic), back and self.allocator.waits(group.traffic)
            if followed and not waits:
                yield readers, group
                continue
            mine = [readers[number] for served in group.served for number in served]
            alone = array_traffic(self.schedule, buffer, mine, 1)
            if all(self.allocator.can_follow(other.traffic, chained=waits) for other in alone):
                yield from ((mine, other) for other in alone)
                continue
            if followed:
                yield readers, group
                continue
            self.infeasible.append(self._unfollowed(buffer, group, readers))
            if self.mem.kind == "dual-port-pe":
                raise NestError(self.infeasible[0])
            yield readers, group

    def _unfollowed(self, buffer: UnifiedBuffer, group: TrafficGroup, readers: list[ReadPort]) -> str:
        """Which reader of a buffer no memory can follow, as a message."""
        traffic = group.traffic
        loads = {load.statement: load.array for load in self.schedule.staged.inputs}
        array = loads.get(buffer.writer.statement, buffer.array)
        for read, served in zip(traffic.reads, group.served, strict=True):
            if not self.allocator.can_follow(replace(traffic, reads=(read,))):
                label = readers[next(iter(served))].label
                return (f"{label} reads '{array}' in an order that is no loop nest with constant strides, as "
                        f"{self.mem.kind} memory tiles need; give each part of the order a loop of its own, or take "
                        "target fpga or dataflow")
        return f"memory for {traffic.title}: its readers' fetches are no affine loop nest"


def map_program(schedule: Schedule, mem: MemTileSpec, sparse: bool = False, shared: bool = False,
                      counter: bool = False, apart: frozenset[BufferKey] = frozenset(),
                      rings: bool = True, memories: Mapping[int, int] | None = None,
                      balance_sums: bool = False, pe: PeSpec = DEFAULT_PE, held: bool = True) -> Application:
    """Map all statements and buffers of `schedule` to units; `sparse`, `shared`, `counter`, `apart`, `rings` and
    `memories` as in `MemoryAllocator`. `balance_sums`: sums may take more units for fewer cycles. `pe`: the processing
    elements. `held`: memory outputs that hold a bit may do so for several steps.

    Raises `CoverError`, `CapacityError`, `AccessPatternError`, `DependenceError` or `ApplicationError`, each naming
    what does not fit.
    """
    staged, program = schedule.staged, schedule.staged.program
    _check_arrays(program, pe)
    _check_tables(program, mem)
    buffers = {b.writer.statement: b for b in _word_buffers(schedule)}
    cycles = staged.tiles * schedule.period + _LATENCY
    allocator = MemoryAllocator(mem, sparse, shared, counter, cycles, apart, rings, memories)
    shares = SharedUnits(schedule, list(buffers.values()), allocator)
    builder = _Builder(schedule, mem, allocator, shares, schedule.end if balance_sums else None, pe,
                       held and mem.kind != "dual-port-pe")
    loads = {f.statement: f.array for f in staged.inputs}
    outputs = {f.statement: f.array for f in staged.outputs}
    for name in topological_order(program, schedule.dependences):
        if isinstance(program.statement(name).value, Const) and name not in outputs:
            continue
        if name in loads:
            builder.add_load(loads[name], name)
        else:
            builder.add_statement(program.statement(name))
        if name in buffers:
            builder.serve_readers(buffers[name])
        if name in outputs:
            builder.add_output(outputs[name], name)
    uses = builder.connect_shared()
    edges = (*builder.edges, *builder.allocator.edges)
    nodes = builder.heard_nodes(edges) | builder.allocator.nodes()
    netlist = Netlist(nodes, edges, tuple(builder.allocator.separations), builder.allocator.starts)
    netlist.verify()
    local = fold_feedback(netlist, {signal.pin for signal in builder.results.values()})
    return Application(schedule, local.netlist, builder.allocator.tiles, list(buffers.values()), builder.taps,
                       builder.results, _local_reads(builder, local), builder.streams_in, builder.streams_out,
                       builder.roms, builder.filled, builder.controls, builder.allocator.addresses, uses, builder.units,
                       builder.infeasible, builder.delivered)


def _word_buffers(schedule: Schedule) -> Iterator[UnifiedBuffer]:
    """The buffers of values that are words; others are only waited for."""
    tokens = {s.name: token_reads(s) for s in schedule.staged.program.statements}
    for buffer in extract_buffers(schedule):
        readers = tuple(reader for reader in buffer.readers if reader.read not in tokens[reader.statement])
        if readers:
            yield replace(buffer, readers=readers)


def _local_reads(builder: _Builder, local: LocalFeedback) -> dict[tuple[str, int], Signal]:
    """The streams of all reads: of those that are inside an element now, the operand that they are."""
    found: dict[tuple[str, int], Signal] = {}
    for (statement, read), signal in builder.reads.items():
        taker = builder.results[statement].pin.node if statement in builder.results else ""
        pin = local.operand_of(signal.pin, taker)
        found[statement, read] = signal if pin is None else Signal(pin, signal.kind)
    return found


def _moved(signal: Signal, heads: Mapping[Pin, Signal]) -> Signal:
    """The signal that one on a pin that only stands for another stands for."""
    return heads[signal.pin].delayed(signal.distance) if signal.pin in heads else signal


def _check_arrays(program: Program, pe: PeSpec) -> None:
    """Elements of the arrays that statements use must fit the words of the array of tiles."""
    used = {access.array for s in program.statements for access in (*s.reads, s.write)}
    for array in (array for array in program.arrays if array.name in used):
        if pe.bfloat16 and array.type == BFLOAT16:
            continue
        if not isinstance(array.type, Int) or array.type.width > 16:
            statement, reason = without_words(program) or (_user(program, array), "")
            raise ApplicationError(f"{statement.label()}: array {array.name} holds {array.type}"
                                   f"{'; ' * bool(reason)}{reason}; the array target has 16-bit words, and pairs of "
                                   "them for 32-bit sums, differences, products, comparisons, and divisions and shifts "
                                   "by constants; take target fpga or dataflow")


def _user(program: Program, array: Array) -> Statement:
    """A statement that uses an array, through its load if no other."""
    users = [s for s in program.statements if array.name in {a.array for a in (*s.reads, s.write)}]
    written = {s.write.array for s in users}
    users += [s for s in program.statements if any(read.array in written for read in s.reads)]
    return min(users, key=lambda s: s.location is None)


def _check_tables(program: Program, mem: MemTileSpec) -> None:
    """Tables must fit memory tiles."""
    for table in program.tables:
        if len(table.values) > mem.capacity_words:
            raise ApplicationError(f"table {table.name} has {len(table.values)} entries; a memory tile holds "
                                   f"{mem.capacity_words} words")
