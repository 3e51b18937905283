"""Memory tiles: which buffers they hold, on which ports, and their configuration once all times are known.

Output ports of a tile are shared out first, then tiles of a chain where one is too small (Liu 2023, sections 5.2
to 5.4). Before placement a tile only states by how many cycles its reads may lag its writes (`SkewBound`); after
retiming the smallest circular region that this lag needs is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from compiler.bind.buffers import dual_port, wide_fetch
from compiler.bind.buffers.circular import UNLIMITED, Lifetimes, block_lifetimes
from compiler.bind.buffers.rings import smallest_region
from compiler.bind.buffers.sequences import GATHERED, BufferTraffic, ReadTraffic, delay_traffic
from compiler.bind.buffers.wide_fetch import AccessPatternError, PlacedBuffer
from compiler.bind.cgra.address_patterns import read_pattern, write_pattern
from compiler.bind.cgra.addresses import AddressUnits
from compiler.bind.cgra.memory_stock import MemoryStock
from compiler.bind.cgra.netlist import Edge, MemNode, Node, Pin, SkewBound
from compiler.bind.cgra.operands import Signal
from compiler.bind.cgra.timing import MEMORY_START
from hw.errors import SluiceError
from hw.memtile import AddressedConfig, AddressedInput, AddressedOutput, DualPortConfig, MemTileSpec, PubConfig
from hw.memtile.spec import ConfigurationError
from hw.ops import Kind

__all__ = [
    "BufferKey",
    "CapacityError",
    "MemoryAllocator",
    "MemoryTile",
    "PortContention",
    "TileBuffer",
    "configure_memory",
]

BufferKey = tuple[str, ...]
"""What tells buffers apart: name, and names of the reads; and before them, where reads are to have one tile each,
`_EACH`."""

_EACH = "each read of"

SLACK = 64
"""Cycles by which reads may at least be later than scheduled, so that routing has room."""

MAX_CHAIN = 16
_MOST_SPARSE = 2
"""Longest chain for words that have a wide word each although others do not."""

HELD = 16
"""Reads in a row of one word from which on the word is read once, and the output holds it."""


def _changes(read: ReadTraffic) -> int:
    """How often a read goes on to another word."""
    return int(np.count_nonzero(np.diff(read.address)))


class CapacityError(SluiceError):
    """A buffer that no chain of memory tiles can hold."""


class PortContention(AccessPatternError):
    """Buffers, or reads of a buffer, that have one tile together, but too little time in it. `buffers`: all such."""

    def __init__(self, message: str, buffers: frozenset[BufferKey]):
        self.buffers = buffers
        super().__init__(message)


def _key(traffic: BufferTraffic) -> BufferKey:
    return traffic.name, *(read.name for read in traffic.reads)


@dataclass(frozen=True)
class TileBuffer:
    """One buffer in a tile: input port, and for each of its reads the output port. `limit`: largest region.
    `passing`: its outputs pass the chain input on while it is not read. `ring`: its region may have any size."""

    traffic: BufferTraffic
    input: int
    reads: tuple[ReadTraffic, ...]
    outputs: tuple[int, ...]
    limit: int
    passing: bool = False
    ring: bool = False


@dataclass
class MemoryTile:
    """One memory tile of the application. `chain` is its place and the length of its chain, None if alone. `depth`: its
    wide words."""

    name: str
    depth: int
    buffers: list[TileBuffer] = field(default_factory=list)
    chain: tuple[int, int] | None = None

    @property
    def used_outputs(self) -> int:
        """Output ports in use."""
        return sum(len(b.outputs) for b in self.buffers)


class MemoryAllocator:
    """Puts buffers into memory tiles and collects the units, connections and separations that this takes."""

    def __init__(self, spec: MemTileSpec, sparse: bool = False, shared: bool = False, counter: bool = False,
                 cycles: int = 0, apart: frozenset[BufferKey] = frozenset(), rings: bool = True,
                 memories: Mapping[int, int] | None = None) -> None:
        """`sparse`: reads that are no delay lines get a wide word for every word, so that any order will do. `shared`:
        two of them may share a tile, except those of `apart`, some of which have a tile for each read. `counter` and
        `cycles` as in `AddressUnits`. `rings`: delay lines may have regions of any size. `memories`: how many memories
        of each depth there are (`FabricSpec.memories`), None for any number like `spec`, which is the largest."""
        self.spec = spec
        self.stock = MemoryStock.of(spec, memories)
        self.shared = shared
        self.apart = apart
        self.rings = rings and spec.kind != "dual-port-pe"
        self.fetch = spec.fetch_width if spec.kind == "pub" else 1
        self.packing = 1 if sparse else self.fetch
        self.outputs = spec.outputs if self._several else 1
        self.tiles: list[MemoryTile] = []
        self.edges: list[Edge] = []
        self.separations: list[SkewBound] = []
        self.starts: dict[Pin, int] = {}
        self.addresses = AddressUnits(counter, cycles, self.edges, self.separations)

    @property
    def _several(self) -> bool:
        """Whether a tile serves several inputs and outputs at once."""
        return self.spec.kind == "pub" or self.spec.sram_ports > 1

    @property
    def capacity(self) -> int:
        """Blocks (of `fetch` words) in one tile, the largest."""
        return self._blocks(self.spec.depth)

    def _blocks(self, depth: int) -> int:
        """Blocks in a tile of `depth` wide words."""
        return self.stock.words(depth) // self.fetch

    def delays(self, name: str, source: Signal, start: int, length: int, distances: Sequence[int],
               back: bool = False, origin: str = "") -> list[Signal]:
        """Streams that repeat `source` each of the ascending `distances` cycles later. `back`: `source` depends on
        them, so that they must come as early as the memory can. `origin` as in `BufferTraffic`."""
        found: list[Signal] = []
        base, tap = 0, source
        pending = list(distances)
        longest = self._longest_delay(max(pending, default=0))
        while pending:
            step = pending[0] - base
            if step > longest:
                tap = self._delay_tile(name, tap, start + base, length, [longest], back, origin)[0]
                base += longest
                continue
            group = [d for d in pending[: self.outputs] if d - base <= longest]
            heads = [d - base for d in group]
            signals = self._delay_tile(name, tap, start + base, length, heads, back, origin)
            found += signals
            pending = pending[len(group):]
            base, tap = group[-1], signals[-1]
        return found

    def _longest_delay(self, cycles: int) -> int:
        """The longest delay of one of the memories that give `cycles` of delay in the fewest words."""

        def reach(depth: int) -> int:
            return self.stock.words(depth) - 2 * self._slack(depth)

        enough = [d for d in self.stock.depths if self.stock.has(d, -(-cycles // reach(d)))] or self.stock.depths[-1:]
        return reach(min(enough, key=lambda depth: (-(-cycles // reach(depth)) * depth, -depth)))

    def _slack(self, depth: int) -> int:
        """`SLACK`, but no more than a sixteenth of a memory that is small."""
        return min(SLACK, self.stock.words(depth) // 16)

    def _delay_tile(self, name: str, source: Signal, start: int, length: int, heads: Sequence[int], back: bool,
                    origin: str) -> list[Signal]:
        traffic = delay_traffic(name, start, length, {f"{name}+{d}": d for d in heads}, self.fetch, origin)
        return self._place(traffic, source, share=True, back=back)

    def reads(self, traffic: BufferTraffic, source: Signal, back: bool = False) -> list[Signal]:
        """Streams that deliver the reads of `traffic`, whatever their order; `back` as in `delays`."""
        found: list[Signal] = []
        for part in self._together(traffic):
            held = self._held(part) if self.shared and not self._several and self.spec.kind == "dual-port" else None
            if held is not None:
                found += self._place_held(held, source, back)
                continue
            found += self._place(part, source, share=self.shared and len(part.reads) == 1, back=back)
        return found

    def _together(self, traffic: BufferTraffic) -> Iterator[BufferTraffic]:
        """`traffic` with the reads that one tile serves, for each tile."""
        for first in range(0, len(traffic.reads), self.outputs):
            part = replace(traffic, reads=traffic.reads[first: first + self.outputs])
            if (_EACH, *_key(part)) in self.apart:
                yield from (replace(traffic, reads=(read,)) for read in part.reads)
            else:
                yield part

    def multiplexed(self, traffic: BufferTraffic, source: Signal) -> Pin:
        """An output that delivers the only read of `traffic`, and its chain input in all other cycles."""
        if self.spec.kind not in ("pub", "dual-port"):
            raise CapacityError(f"buffer {traffic.title}: memories of kind '{self.spec.kind}' are no multiplexers, as "
                                "shared units need; use pub or dual-port")
        (read,) = traffic.reads
        life = block_lifetimes(traffic, read)
        depth, region = self._fitting([life], traffic)
        if region > self.capacity:
            raise CapacityError(f"buffer {traffic.title}: {region * self.fetch} words; a multiplexer for shared units "
                                f"is one memory tile of {self.spec.capacity_words}")
        half = (self.shared or _changes(read) * HELD <= len(read.address)) and self._is_half(traffic, region, depth)
        tile = self._shared_tile(traffic, depth) if half else self._new_tile(depth)
        limit = self._blocks(depth) // (2 if half else 1)
        return self._attach(tile, traffic, source, [life], limit, back=True, passing=True)[0].pin

    # Words that stay for long, as weights do, on an SRAM with one read and one write port.

    @staticmethod
    def _held(traffic: BufferTraffic) -> BufferTraffic | None:
        """The same traffic with one read for as long as a word stays, if words stay for `HELD` reads and more."""
        (read,) = traffic.reads
        new = np.append(True, np.diff(read.address) != 0)
        if read.samples is not None or not read.real.all() or HELD * new.sum() > len(new):
            return None
        return replace(traffic, reads=(replace(read, time=read.time[new], address=read.address[new],
                                               real=read.real[new]),))

    def _place_held(self, traffic: BufferTraffic, source: Signal, back: bool) -> list[Signal]:
        """Two such buffers of one writer share a tile if neither their writes nor their reads ever coincide."""
        life = block_lifetimes(traffic, traffic.reads[0])
        depth = next((depth for depth in self.stock.depths
                      if self._leaving(self._slack(depth), life, traffic) <= self._blocks(depth) // 2), None)
        if depth is None:
            return self._place(traffic, source, share=False, back=back)
        half = self._blocks(depth) // 2
        for tile in (tile for tile in self.tiles if tile.depth == depth):
            apart = self._apart(tile, traffic, half)
            if apart is not None:
                for kind, (low, high) in zip(("in", "out"), apart, strict=True):
                    first, second = (Pin(tile.name, f"{kind}{k}") for k in (0, 1))
                    self.separations.append(SkewBound(second, first, low, high))
                return self._attach(tile, traffic, source, [life], half, back)
        return self._attach(self._new_tile(depth), traffic, source, [life], half, back)

    def _apart(self, tile: MemoryTile, traffic: BufferTraffic, limit: int) -> list[tuple[int, int]] | None:
        """Bounds of the shifts of writes and reads against those of the only buffer in `tile`, which then happen in
        turns; None if they cannot."""
        if tile.chain is not None or len(tile.buffers) != 1 or tile.buffers[0].limit != limit:
            return None
        other = tile.buffers[0].traffic
        if other.name != traffic.name or other.homogeneous or len(other.reads[0].time) != len(traffic.reads[0].time):
            return None
        bounds = []
        for mine, theirs in ((traffic.writes[0], other.writes[0]), (traffic.reads[0].time, other.reads[0].time)):
            gap = mine - theirs
            room = int(np.min(np.diff(np.append(theirs, theirs[0] + traffic.period)))) - 1
            if (gap != gap[0]).any() or room - gap[0] < 1:
                return None
            bounds.append((int(1 - gap[0]), int(room - gap[0])))
        return bounds

    def _place(self, traffic: BufferTraffic, source: Signal, share: bool, back: bool) -> list[Signal]:
        lifetimes = [_lifetimes(traffic, read, self.spec) for read in traffic.reads]
        depth, region = self._fitting(lifetimes, traffic)
        if region > self.capacity:
            return self._chain(traffic, source, lifetimes, region // self.capacity, back)
        half = share and self._is_half(traffic, region, depth)
        tile = self._shared_tile(traffic, depth) if half else self._new_tile(depth)
        limit = self._blocks(depth) // (2 if half else 1)
        if self.spec.kind == "dual-port-pe":
            limit = region  # what addresses wrap at, so the smaller the simpler
        return self._attach(tile, traffic, source, lifetimes, limit, back)

    def _is_half(self, traffic: BufferTraffic, region: int, depth: int) -> bool:
        """Whether a delay line leaves room for another one in its tile."""
        small = self._several and region <= self._blocks(depth) // 2 and len(traffic.reads) < self.outputs
        return small and _key(traffic) not in self.apart

    def _fitting(self, lifetimes: Sequence[Lifetimes], traffic: BufferTraffic) -> tuple[int, int]:
        """Depth of the smallest memory in which a buffer fits, and its region: the smallest power of two of blocks that
        leaves `_slack` cycles to routing, when reads come as scheduled; `SLACK` where words pass several tiles."""
        for depth in self.stock.depths:
            region = max(self._leaving(self._slack(depth), life, traffic) for life in lifetimes)
            if region <= self._blocks(depth):
                return depth, region
        return self.spec.depth, max(self._leaving(SLACK, life, traffic) for life in lifetimes)

    def _leaving(self, slack: int, life: Lifetimes, traffic: BufferTraffic) -> int:
        region = 2
        needed = max(0, life.minimum_shift() + self._latency) + slack
        while life.maximum_shift(region) < needed:
            region *= 2
            if region > self.capacity * MAX_CHAIN:
                raise CapacityError(f"buffer {traffic.title} needs more than {MAX_CHAIN} chained memory tiles of "
                                   f"{self.spec.capacity_words} words")
        return region

    def can_follow(self, traffic: BufferTraffic, chained: bool = False) -> bool:
        """Whether the controllers of these memories can follow the readers of `traffic` at all, and, if every word has
        a wide word of its own, a few memories can hold it, or `chained` ones."""
        if self.spec.kind != "pub":
            return dual_port.can_follow(traffic, self.spec, self._wrapping_regions())
        if not wide_fetch.can_follow(traffic, self.spec):
            return False
        return traffic.packing > 1 or self._is_small(traffic, MAX_CHAIN if chained else _MOST_SPARSE)

    @staticmethod
    def waits(traffic: BufferTraffic) -> bool:
        """Whether words come so slowly that some, in a wide word with later ones, would be read more than an iteration
        of the writer late."""
        if traffic.packing == 1 or traffic.homogeneous or traffic.write.ranges[0] == 1:
            return False
        step = traffic.write.time[0]
        late = (block_lifetimes(traffic, read).minimum_shift() for read in traffic.reads)
        return step * (traffic.packing - 1) > GATHERED and max(late) > step

    def _wrapping_regions(self) -> list[int]:
        """Regions in which addresses of a buffer can wrap, in words; how small they can be the schedule decides."""
        most = self.capacity * MAX_CHAIN if self.spec.kind == "dual-port" else 0
        return [1 << k for k in range(most.bit_length() - 1, 0, -1)]

    def _is_small(self, traffic: BufferTraffic, most: int) -> bool:
        lifetimes = [block_lifetimes(traffic, read) for read in traffic.reads]
        with suppress(CapacityError):
            return self._fitting(lifetimes, traffic)[1] <= self.capacity * most
        return False

    @property
    def _start(self) -> int:
        """Least time of an output that is read in cycle 0: its first fetch comes in cycle 0, too, or later."""
        return MEMORY_START if self.spec.kind == "pub" else 1

    @property
    def _latency(self) -> int:
        return wide_fetch.MIN_LATENCY if self.spec.kind == "pub" else dual_port.MIN_LATENCY

    def _shared_tile(self, traffic: BufferTraffic, depth: int) -> MemoryTile:
        """A tile with a free input and enough free outputs: bank merging (Liu 2023, section 5.2.3)."""
        for tile in (tile for tile in self.tiles if tile.depth == depth):
            room = len(tile.buffers) < self.spec.inputs and self._can_share(tile)
            if room and tile.used_outputs + len(traffic.reads) <= self.outputs:
                return tile
        return self._new_tile(depth)

    def _can_share(self, tile: MemoryTile) -> bool:
        return tile.chain is None and all(b.limit < self._blocks(tile.depth) for b in tile.buffers)

    def _new_tile(self, depth: int, chain: tuple[int, int] | None = None) -> MemoryTile:
        tile = MemoryTile(f"mem{len(self.tiles)}", self.stock.take(depth), chain=chain)
        self.tiles.append(tile)
        return tile

    def _attach(self, tile: MemoryTile, traffic: BufferTraffic, source: Signal, lifetimes: Sequence[Lifetimes],
                limit: int, back: bool, passing: bool = False) -> list[Signal]:
        """Connect a buffer to the next ports of `tile`.

        Its reads lag its writes as far as regions of `limit` blocks and the memory's latency allow. They never come
        earlier after what the writer produces than they are scheduled, or retiming would undo the schedule; unless
        the writer itself waits for them (`back`).
        """
        port, first = len(tile.buffers), tile.used_outputs
        outputs = tuple(range(first, first + len(traffic.reads)))
        ring = self.rings and traffic.homogeneous and tile.chain is None
        tile.buffers.append(TileBuffer(traffic, port, traffic.reads, outputs, limit, passing, ring))
        pin = Pin(tile.name, f"in{port}")
        self.edges.append(Edge(source.pin, pin, "word", source.distance))
        chained = limit * (tile.chain[1] if tile.chain else 1)
        if self.spec.kind == "dual-port-pe":
            self._address(tile, traffic, chained)
        signals = []
        for life, read, output in zip(lifetimes, traffic.reads, outputs, strict=True):
            out = Pin(tile.name, f"out{output}")
            self.starts[out] = self._start - int(read.time[0])
            self.separations.append(SkewBound(out, pin, life.minimum_shift() + self._latency,
                                               life.maximum_shift(chained)))
            if not back:
                self.separations.append(SkewBound(out, source.pin, 0, UNLIMITED))
            signals.append(Signal(out, Kind.WORD, 0, Signal.FLEXIBLE))
        return signals

    def _address(self, tile: MemoryTile, traffic: BufferTraffic, region: int) -> None:
        """Have processing elements compute the addresses of the only buffer of `tile`."""
        (read,) = traffic.reads
        dims = self.spec.dims - (traffic.tiles > 1)
        reads = read_pattern(traffic, read, region, dims)
        try:
            shared = tile.chain is None and reads.ascending
            origin = self.addresses.write(tile.name, write_pattern(traffic, region), shared)
            self.addresses.read(tile.name, reads, origin)
        except AccessPatternError as error:
            raise AccessPatternError(f"memory for {traffic.title}: {error}") from None

    def _chain(self, traffic: BufferTraffic, source: Signal, lifetimes: Sequence[Lifetimes], count: int,
               back: bool) -> list[Signal]:
        """Several tiles that each hold a part of the address range; words pass from tile to tile to the last."""
        signals: list[Signal] = []
        for place in range(count):
            tile = self._new_tile(self.spec.depth, (place, count))
            previous, signals = signals, self._attach(tile, traffic, source, lifetimes, self.capacity, back)
            for output, signal in enumerate(previous):
                pin = Pin(tile.name, f"chain{output}")
                self.edges.append(Edge(signal.pin, pin, "word"))
                self.separations.append(SkewBound(signals[output].pin, pin, 1, 1))
        return signals

    def nodes(self) -> dict[str, Node]:
        """Units by name."""
        return {**{tile.name: self.node(tile.name, tile.depth) for tile in self.tiles}, **self.addresses.nodes}

    def node(self, name: str, depth: int) -> MemNode:
        """The unit of a memory that has been taken."""
        return MemNode(name, None if depth == self.spec.depth else depth)


def configure_memory(tile: MemoryTile, times: Mapping[Pin, int],
                     spec: MemTileSpec) -> PubConfig | DualPortConfig | AddressedConfig:
    """Configuration of one tile for the times that retiming has found.

    Raises `AccessPatternError`, naming its buffers, if its controllers or ports cannot serve everything in time;
    `PortContention` if there are several, or several reads.
    """
    try:
        return _configured(tile, times, spec)
    except AccessPatternError as error:
        keys = frozenset(_key(buffer.traffic) for buffer in tile.buffers)
        if len(tile.buffers) < 2 and len(tile.buffers[0].reads) < 2:
            raise
        raise PortContention(str(error), keys if len(keys) > 1 else frozenset((_EACH, *key) for key in keys)) from None


def _configured(tile: MemoryTile, times: Mapping[Pin, int],
                spec: MemTileSpec) -> PubConfig | DualPortConfig | AddressedConfig:
    sized = [(_needed_region(tile, b, times, spec), b) for b in tile.buffers]
    sized.sort(key=lambda pair: (pair[1].ring, -pair[0]))  # masks need aligned bases
    placed, base = [], 0
    for region, buffer in sized:
        placed.append(_placed(tile, buffer, times, base, region))
        base += region
    chain_id = tile.chain[0] if tile.chain else None
    if spec.kind == "dual-port-pe":
        return _addressed(tile, placed[0], chain_id)
    plan = wide_fetch.plan_wide_fetch if spec.kind == "pub" else dual_port.plan_dual_port
    try:
        config = plan(placed, spec, chain_id)
        config.words(spec)
    except ConfigurationError as error:
        names = ", ".join(b.traffic.title for b in tile.buffers)
        raise AccessPatternError(f"memory for {names}: {error}") from None
    return config


def _addressed(tile: MemoryTile, buffer: PlacedBuffer, chain_id: int | None) -> AddressedConfig:
    mask = buffer.region - 1
    gated = not write_pattern(buffer.traffic, tile.buffers[0].limit).dense
    return AddressedConfig((AddressedInput(buffer.base, mask, gated),),
                           (AddressedOutput(buffer.base, mask, buffer.chained[0]),), chain_id)


def _lifetimes(traffic: BufferTraffic, read: ReadTraffic, spec: MemTileSpec) -> Lifetimes:
    """Lifetimes of blocks; where processing elements compute addresses, tiles come one after the other for ever."""
    life = block_lifetimes(traffic, read)
    return replace(life, total_blocks=1 << 60) if spec.kind == "dual-port-pe" else life


def _needed_region(tile: MemoryTile, buffer: TileBuffer, times: Mapping[Pin, int], spec: MemTileSpec) -> int:
    """Smallest region for the lag that retiming has chosen, for a ring of any size; a chain keeps its whole range."""
    if tile.chain:
        return buffer.limit * tile.chain[1]
    written = times[Pin(tile.name, f"in{buffer.input}")]
    reads = [(_lifetimes(buffer.traffic, read, spec), times[Pin(tile.name, f"out{output}")] - written)
             for read, output in zip(buffer.reads, buffer.outputs, strict=True)]
    region = 2
    for life, late in reads:
        while life.maximum_shift(region) < late:
            region *= 2
    return smallest_region(reads, region) if buffer.ring else region


def _placed(tile: MemoryTile, buffer: TileBuffer, times: Mapping[Pin, int], base: int, region: int) -> PlacedBuffer:
    shifts = tuple(times[Pin(tile.name, f"out{o}")] - 1 for o in buffer.outputs)
    chained = tuple(bool(tile.chain and tile.chain[0]) for _ in buffer.outputs)
    written = times[Pin(tile.name, f"in{buffer.input}")]
    return PlacedBuffer(buffer.traffic, buffer.input, buffer.outputs, buffer.reads, written, shifts, base, region,
                        chained, buffer.passing, buffer.ring)
