"""Vectorisation: from word traffic to the four kinds of controllers of a wide-fetch buffer (Liu 2023, section 5.5).

The single SRAM port is scheduled exactly, without padding: candidate cycles for every store and fetch controller
are enumerated and the first combination is taken in which no two ever coincide, no aggregator or transpose-buffer
block is overwritten too early, and every fetch finds its block stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from math import gcd, prod

import numpy as np

from compiler.bind.buffers.block_times import BlockTimes
from compiler.bind.buffers.counters import counted
from compiler.bind.buffers.nest_fit import FittedNest, fit_nest
from compiler.bind.buffers.port_turns import PortTurns
from compiler.bind.buffers.rings import ring
from compiler.bind.buffers.sequences import BufferTraffic, ReadTraffic
from hw.errors import SluiceError
from hw.memtile import Affine, AffineNest, MemTileSpec, PubConfig, PubInput, PubOutput
from hw.memtile.spec import ConfigurationError

__all__ = [
    "MIN_LATENCY",
    "AccessPatternError",
    "NestError",
    "PlacedBuffer",
    "can_follow",
    "chunked_plans",
    "fetch_plan",
    "plan_wide_fetch",
]

MIN_LATENCY = 11
"""Cycles that always suffice between the cycle in which a block is complete and the visible cycle of its first word:
up to 4 until the store finds a free port cycle, up to 5 for the fetch, 1 for the SRAM and 1 for the output."""

STORE_DELAYS = range(1, 9)
FETCH_LEADS = range(2, 10)
NEVER = -(1 << 60)
_MOST_PLANS = 16
"""Combinations of fetch plans that are tried for one tile."""
_MOST_GAPS = 16
"""Distances between two fetches of a chunk that are tried, the smallest first."""


class AccessPatternError(SluiceError):
    """An access pattern that a memory cannot follow at full rate."""


class NestError(AccessPatternError):
    """An access pattern that no controller can follow, however slow it is: no affine loop nest."""


@dataclass(frozen=True)
class FetchPlan:
    """Which blocks a reader fetches, in order, and where its words then are in the transpose buffer.

    `block`, `first_use`, `last_use`, `needed` and `read`, the number of the read that it is made for, are per fetch;
    `word` is the transpose-buffer address of every read, counted without wrapping (fetch number * fetch width + place
    in the block). Where a row starts inside a block, `first_use` is when a row that started with the block would have
    used it, so that it stays regular.
    """

    block: np.ndarray
    first_use: np.ndarray
    last_use: np.ndarray
    needed: np.ndarray
    word: np.ndarray
    read: np.ndarray

    def fetches(self, reads: np.ndarray) -> list[np.ndarray]:
        """Cycle, block and number of the fetches for the reads that a mask selects, as if there were no others."""
        mine = reads[self.read]
        return [self.first_use[mine], self.block[mine], np.arange(np.count_nonzero(mine))]

    def words(self, reads: np.ndarray, width: int) -> np.ndarray:
        """`word` of the reads that a mask selects, as if there were no others; fetches are of `width` words."""
        number = np.cumsum(reads[self.read]) - 1
        holder, place = np.divmod(self.word[reads], width)
        return number[holder] * width + place


@dataclass(frozen=True)
class PlacedBuffer:
    """A buffer in one memory tile: its input port, the output port of each read, and all shifts.

    `write_shift` is added to logical cycles of writes to get firing cycles, `read_shifts` likewise per read.
    `base` and `region` are in blocks; `region` is a power of two and `base` a multiple of it, unless addresses go
    round a `ring`. `passing`: between its reads the outputs pass the chain input.
    """

    traffic: BufferTraffic
    input: int
    outputs: tuple[int, ...]
    reads: tuple[ReadTraffic, ...]
    write_shift: int
    read_shifts: tuple[int, ...]
    base: int
    region: int
    chained: tuple[bool, ...] = ()
    passing: bool = False
    ring: bool = False

    @property
    def window(self) -> dict[str, int]:
        """Base and mask of the ports: all addresses where their nests go round."""
        return {} if self.ring else {"base": self.base, "mask": self.region - 1}


def fetch_plan(read: ReadTraffic, packing: int, spec: MemTileSpec, in_rows: bool = True) -> FetchPlan:
    """Fetch a block when a word is needed that is in none of the blocks the transpose buffer still holds. `in_rows`:
    fetches are for whole blocks, of which the reader may want only the last words at the start of a row."""
    block = read.address // packing
    starts = _fetch_starts(block, spec.tb_words // spec.fetch_width - 1)
    number = np.cumsum(starts) - 1
    holder = _holding_fetch(block, starts, number)
    fetches = np.flatnonzero(starts)
    wanted, last = _uses_of_fetches(holder, read, len(fetches))
    # All fetches wait for the least time that any block lies there before somebody wants a word of it.
    wait = int(np.min((wanted - read.time[fetches])[last > NEVER]))
    place = read.address % packing
    ahead = np.floor(place[fetches] * _cycles_per_word(read, packing)) if in_rows else np.zeros(len(fetches))
    first = read.time[fetches] + wait - ahead.astype(np.int64)
    return FetchPlan(block[fetches], first, last, last > NEVER, holder * spec.fetch_width + place, fetches)


def chunked_plans(read: ReadTraffic, packing: int, spec: MemTileSpec) -> Iterator[FetchPlan]:
    """The same number of blocks for every chunk of reads, however these lie in the blocks.

    A window that moves over rows (``x + rx``) needs one block more for some starts than for others. Here every chunk
    of a row fetches as many blocks as the worst one, in a rhythm that suits all: more fetches, but an affine nest, and
    no row has to be padded. A chunk is `packing` words, each read as often as all others, or a whole row if its length
    is no multiple of that. One plan for every rhythm that the transpose buffer allows.
    """
    held = _held(read.address)
    words, times = read.address[::held], read.time[::held]
    size = _chunk(words, times, packing)
    if packing < 2 or size < 2 or len(words) % size:
        return
    address, time = (values.reshape(-1, size) for values in (words, times))
    for values in (address, time):
        if (np.diff(values, axis=1) != values[0, 1] - values[0, 0]).any() or values[0, 1] <= values[0, 0]:
            return
    base = address[:, :1] // packing
    blocks = address // packing - base
    count = int(blocks.max()) + 1
    if count > size:
        return  # blocks of which nobody wants a word
    fetch = np.arange(len(address))[:, None] * count + blocks
    word = np.repeat((fetch * spec.fetch_width + address % packing).ravel(), held)
    start = time[:, :1]
    first, last = _uses_of_fetches(np.repeat(fetch.ravel(), held), read, len(address) * count)
    free = np.append(np.full(spec.tb_blocks, NEVER), last[: -spec.tb_blocks])
    earliest = np.max((free - 1).reshape(-1, count) - start, axis=0)
    latest = np.min((first - 2).reshape(-1, count) - start, axis=0)
    made_for = np.repeat(np.arange(len(address)) * size * held, count)
    for cycles in _rhythms(earliest, latest, size * int(time[0, 1] - time[0, 0])):
        yield FetchPlan((base + np.arange(count)).ravel(), (start + cycles + 2).ravel(), last, last > NEVER, word,
                        made_for)


def _held(address: np.ndarray) -> int:
    """How many times every word is read in a row, 1 if that is not the same for all."""
    changes = np.flatnonzero(np.diff(address)) + 1
    times = int(changes[0]) if len(changes) else 1
    even = len(address) % times == 0 and (address.reshape(-1, times) == address[::times, None]).all()
    return times if even else 1


def _chunk(address: np.ndarray, time: np.ndarray, packing: int) -> int:
    """Words in a chunk: `packing`, if rows are whole numbers of these, else a row."""
    step = np.stack([np.diff(address), np.diff(time)])
    uneven = np.flatnonzero((step != step[:, :1]).any(axis=0))
    row = int(uneven[0]) + 1 if len(uneven) else len(address)
    return row if row % packing else packing


def _rhythms(earliest: np.ndarray, latest: np.ndarray, room: int) -> Iterator[np.ndarray]:
    """Cycles, each from `earliest` to `latest`, of the fetches of one chunk, which has `room` cycles: even ones, and
    groups of even ones an even step apart, as late as they can be."""
    count = len(earliest)
    seen: set[tuple[int, ...]] = set()

    def gaps(later: int, least: int) -> range:
        """Cycles from the first fetch to another one that both allow, a few of them."""
        low = max(least, int(earliest[later] - latest[0]))
        return range(low, min(room, int(latest[later] - earliest[0]) + 1, low + _MOST_GAPS))

    for group in (n for n in range(count, 0, -1) if count % n == 0):
        outer, inner = np.divmod(np.arange(count), group)
        for step in gaps(1, 1) if group > 1 else (1,):
            for distance in gaps(group, (group - 1) * step + 1) if group < count else (room,):
                cycles = outer * distance + inner * step
                offset = int(np.min(latest - cycles))
                fits = cycles[-1] < room and (cycles + offset >= earliest).all()
                if fits and tuple(cycles.tolist()) not in seen:
                    seen.add(tuple(cycles.tolist()))
                    yield cycles + offset


def _uses_of_fetches(fetch: np.ndarray, read: ReadTraffic, count: int) -> tuple[np.ndarray, np.ndarray]:
    """First and last cycle in which the block of each fetch is used; `-NEVER` and `NEVER` for one that is not."""
    first, last = np.full(count, -NEVER), np.full(count, NEVER)
    np.minimum.at(first, fetch[read.real], read.time[read.real])
    np.maximum.at(last, fetch[read.real], read.time[read.real])
    return first, last


def _cycles_per_word(read: ReadTraffic, packing: int) -> float:
    """Cycles in which the reader's innermost moving loop passes one word; 0 if it does not move forward, or not to
    another word of the same block."""
    moved = np.flatnonzero(read.address != read.address[0])
    step = int(read.address[moved[0]] - read.address[0]) if len(moved) else 0
    if not 0 < step < packing:
        return 0.0
    return float(read.time[moved[0]] - read.time[0]) / step


def _fetch_starts(block: np.ndarray, keep: int) -> np.ndarray:
    """Mark reads whose block is not among the current one and the `keep - 1` fetched before it."""
    starts = np.empty(len(block), dtype=bool)
    starts[0] = True
    starts[1:] = block[1:] != block[:-1]
    if keep <= 1:
        return starts
    held: list[int] = []
    for place in np.flatnonzero(starts):
        value = int(block[place])
        if value in held:
            starts[place] = False
        else:
            held = [*held[-(keep - 1):], value]
    return starts


def _holding_fetch(block: np.ndarray, starts: np.ndarray, number: np.ndarray) -> np.ndarray:
    """For every read the number of the fetch whose block holds its word."""
    fetched = block[np.flatnonzero(starts)]
    holder = number.copy()
    stale = fetched[holder] != block
    while stale.any():
        holder[stale] -= 1
        stale = fetched[holder] != block
    return holder


@dataclass(frozen=True)
class _Store:
    """Store events of one buffer over the compared tiles: when blocks are complete, how many blocks there are, and the
    least time until the aggregator's place of one is written again."""

    complete: BlockTimes
    count: int
    cycles: np.ndarray
    room: int


@dataclass(frozen=True)
class _Fetch:
    """Fetch events of one read over the compared tiles, without their lead."""

    block: np.ndarray
    needed: np.ndarray
    first_use: np.ndarray
    previous_use: np.ndarray


def plan_wide_fetch(buffers: Sequence[PlacedBuffer], spec: MemTileSpec, chain_id: int | None = None) -> PubConfig:
    """Configuration of the memory tile that holds `buffers`.

    Raises `AccessPatternError` if a reader's fetches are no affine nest or the SRAM port has no free cycle for them.
    """
    reads = [(buffer, read) for buffer in buffers for read in buffer.reads]
    failure: AccessPatternError | None = None
    for plans in islice(product(*(_plans(buffer.traffic, read, spec) for buffer, read in reads)), _MOST_PLANS):
        remaining = iter(plans)
        try:
            return _planned(buffers, [list(islice(remaining, len(b.reads))) for b in buffers], spec, chain_id)
        except AccessPatternError as error:
            failure = failure or error
    assert failure is not None
    raise failure


def _plans(traffic: BufferTraffic, read: ReadTraffic, spec: MemTileSpec) -> Iterator[FetchPlan]:
    """Ways to fetch what a reader needs, the one with the fewest fetches first."""
    yield fetch_plan(read, traffic.packing, spec)
    if not traffic.homogeneous:
        yield fetch_plan(read, traffic.packing, spec, in_rows=False)
        yield from islice(chunked_plans(read, traffic.packing, spec), _MOST_PLANS)


def _planned(buffers: Sequence[PlacedBuffer], plans: list[list[FetchPlan]], spec: MemTileSpec,
             chain_id: int | None) -> PubConfig:
    """Configuration with one fetch plan for each read of each buffer."""
    stores: list[_Store] = []
    fetches: list[_Fetch] = []
    cyclic = _cyclic(buffers)
    for buffer, row in zip(buffers, plans, strict=True):
        tiles = _compared_tiles(buffer, row)
        stores.append(_stores(buffer, tiles, spec, cyclic))
        fetches += [_fetches(buffer, k, plan, tiles, spec) for k, plan in enumerate(row)]
    owners = [n for n, b in enumerate(buffers) for _ in b.reads]
    delays, leads = _schedule_port(buffers, stores, fetches, owners, cyclic)
    inputs: list[PubInput | None] = [None] * spec.inputs
    outputs: list[PubOutput | None] = [None] * spec.outputs
    position = 0
    for number, buffer in enumerate(buffers):
        inputs[buffer.input] = _input(buffer, delays[number], spec)
        for k, plan in enumerate(plans[number]):
            outputs[buffer.outputs[k]] = _output(buffer, k, plan, leads[position], spec)
            position += 1
    return PubConfig(tuple(inputs), tuple(outputs), chain_id)


def _cyclic(buffers: Sequence[PlacedBuffer]) -> int | None:
    """Cycles after which all controllers do the same again, or are taken to. Delay lines do the same every
    `fetch_width` cycles, wherever they start and end; iterations that are sampled stand for all."""
    if all(buffer.traffic.homogeneous for buffer in buffers):
        return buffers[0].traffic.packing
    sampled = [cycles for buffer in buffers for read in buffer.reads if (cycles := read.cyclic) is not None]
    return gcd(*sampled) if sampled else None


def _compared_tiles(buffer: PlacedBuffer, plans: Sequence[FetchPlan]) -> int:
    """Tiles after which nothing new happens, whatever delays and leads are chosen."""
    margin = max(STORE_DELAYS[-1], FETCH_LEADS[-1])
    if buffer.traffic.tiles == 1:
        return 1
    complete = BlockTimes.of(buffer.traffic, 1)
    events = [np.array([complete.first, complete.last]) + buffer.write_shift]
    for plan, shift in zip(plans, buffer.read_shifts, strict=True):
        events += [plan.first_use + shift - margin, plan.first_use + shift + margin]
    return buffer.traffic.compared_tiles(*events)


def _over_tiles(values: np.ndarray, period: int, tiles: int) -> np.ndarray:
    return (np.arange(tiles)[:, None] * period + values[None, :]).ravel()


def _stores(buffer: PlacedBuffer, tiles: int, spec: MemTileSpec, cyclic: int | None) -> _Store:
    packing = buffer.traffic.packing
    complete = BlockTimes.of(buffer.traffic, packing)
    complete = replace(complete, first=complete.first + buffer.write_shift)
    count = len(buffer.reads[0].time) // packing if buffer.traffic.homogeneous else complete.count * tiles
    room = complete.least_gap(spec.agg_words // spec.fetch_width, tiles)
    return _Store(complete, count, complete.cycles(count, tiles, cyclic), -NEVER if room is None else room)


def _fetches(buffer: PlacedBuffer, read: int, plan: FetchPlan, tiles: int, spec: MemTileSpec) -> _Fetch:
    traffic, shift = buffer.traffic, buffer.read_shifts[read]
    first = _over_tiles(plan.first_use + shift, traffic.period, tiles)
    last = _over_tiles(plan.last_use + shift, traffic.period, tiles)
    behind = spec.tb_words // spec.fetch_width
    previous = np.full(len(first), NEVER)
    previous[behind:] = last[:-behind]
    block = _over_tiles(plan.block, traffic.tile_words // traffic.packing, tiles)
    return _Fetch(block, np.tile(plan.needed, tiles), first, previous)


def _schedule_port(buffers: Sequence[PlacedBuffer], stores: list[_Store], fetches: list[_Fetch],
                   owners: list[int], cyclic: int | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Delay of every store controller and lead of every fetch controller, such that nothing collides. `cyclic` as in
    `PortTurns`."""
    turns = PortTurns([*(s.cycles for s in stores), *(f.first_use for f in fetches)], cyclic)
    delays = [[d for d in STORE_DELAYS if d <= s.room] for s in stores]
    bounds = [_lead_bounds(f, stores[o], buffers[o].region) for f, o in zip(fetches, owners, strict=True)]
    for choice in product(*delays):
        leads = [[-lead for lead in FETCH_LEADS if low - choice[o] < lead < high - choice[o] and lead <= most]
                 for (low, high, most), o in zip(bounds, owners, strict=True)]
        found = turns.choose([*([delay] for delay in choice), *leads])
        if found is not None:
            return choice, tuple(-shift for shift in found[len(choice):])
    names = ", ".join(b.traffic.title for b in buffers)
    raise AccessPatternError(f"memory for {names}: the wide SRAM port has no free cycle for every store and fetch")


def _lead_bounds(fetch: _Fetch, store: _Store, region: int) -> tuple[int, int, int]:
    """Legal leads are more than the first number and less than the second, each less the delay of the stores: every
    block is stored before its fetch, and not yet overwritten. And at most the third: no slot is reused early, and no
    fetch comes before the start."""
    block, first_use = fetch.block[fetch.needed], fetch.first_use[fetch.needed]
    known, over = block < store.count, block + region < store.count
    high = int(np.min(first_use[known] - store.complete.at(block[known]), initial=-NEVER))
    low = int(np.max(first_use[over] - store.complete.at(block[over] + region), initial=NEVER))
    free = int(np.min(fetch.first_use + 1 - fetch.previous_use, initial=-NEVER))
    return low, high, min(free, int(fetch.first_use[0]))


def _with_tiles(ranges: Sequence[int], traffic: BufferTraffic) -> tuple[int, ...]:
    return (*ranges, traffic.tiles)


def _input(buffer: PlacedBuffer, delay: int, spec: MemTileSpec) -> PubInput:
    """A word goes to its lane of the aggregator; with one word per wide word, always to the first lane."""
    traffic, packing = buffer.traffic, buffer.traffic.packing
    write, tiles = traffic.write, traffic.tiles
    words = (*write.address, traffic.tile_words)
    lanes = Affine(tuple(w * (spec.fetch_width // packing) for w in words))
    nest = AffineNest((*write.ranges, tiles), (*write.time, traffic.period), write.time_offset + buffer.write_shift,
                      (lanes,))
    blocks = Affine(tuple(w // packing if level else 1 for level, w in enumerate(words)))
    ranges = (-(-write.ranges[0] // packing), *write.ranges[1:], tiles)
    time = (write.time[0] * packing, *write.time[1:], traffic.period)
    start = nest.time_offset + (packing - 1) * write.time[0] + delay
    store = AffineNest(ranges, time, start, (blocks, blocks))
    store = ring(store, 1, buffer.base, buffer.region) if buffer.ring else counted(store)
    return PubInput(counted(nest), store, **buffer.window)


def can_follow(traffic: BufferTraffic, spec: MemTileSpec) -> bool:
    """Whether controllers can follow every reader of `traffic` for itself; not whether the SRAM port has the time."""
    def followed(read: ReadTraffic, plan: FetchPlan) -> bool:
        try:
            _nests(traffic, read, plan, 0, 0, spec)
        except AccessPatternError:
            return False
        return True

    return all(any(followed(read, plan) for plan in _plans(traffic, read, spec)) for read in traffic.reads)


def _nests(traffic: BufferTraffic, read: ReadTraffic, plan: FetchPlan, shift: int, lead: int,
           spec: MemTileSpec) -> tuple[AffineNest, AffineNest]:
    """When to fetch which blocks, and when to show which word of the transpose buffer. Raises `AccessPatternError`."""
    fetch = _fitted(traffic, _fetch_nest(read, plan, spec))
    word = _fitted(traffic, _word_nest(read, plan, spec))
    tile_blocks, tile_fetches = traffic.tile_words // traffic.packing, prod(fetch.ranges)
    return (_nest(fetch, traffic, shift - lead, (tile_blocks, tile_fetches), spec),
            _nest(word, traffic, shift, (tile_fetches * spec.fetch_width,), spec))


def _fetch_nest(read: ReadTraffic, plan: FetchPlan, spec: MemTileSpec) -> FittedNest | None:
    """Cycle, block and number of all fetches."""
    if read.samples is None:
        return fit_nest([plan.first_use, plan.block, np.arange(len(plan.block))], spec.dims)
    return read.samples.fit(plan.fetches, spec.dims)


def _word_nest(read: ReadTraffic, plan: FetchPlan, spec: MemTileSpec) -> FittedNest | None:
    """Cycle and transpose-buffer address of all reads."""
    if read.samples is None:
        return fit_nest([read.time, plan.word], spec.dims)
    return read.samples.fit(lambda chosen: [read.time[chosen], plan.words(chosen, spec.fetch_width)], spec.dims)


def _output(buffer: PlacedBuffer, read: int, plan: FetchPlan, lead: int, spec: MemTileSpec) -> PubOutput:
    if buffer.traffic.homogeneous:
        return _delay_output(buffer, read, lead, spec)
    fetch, words = _nests(buffer.traffic, buffer.reads[read], plan, buffer.read_shifts[read], lead, spec)
    chained = bool(buffer.chained) and buffer.chained[read]
    return PubOutput(fetch, words, chained=chained, passing=buffer.passing, **buffer.window)


def _delay_output(buffer: PlacedBuffer, read: int, lead: int, spec: MemTileSpec) -> PubOutput:
    write, width = buffer.traffic.write, spec.fetch_width
    start = int(buffer.reads[read].time[0]) + buffer.read_shifts[read]
    words = AffineNest(write.ranges, write.time, start, (Affine(write.address),))
    blocks = Affine((1, *(a // width for a in write.address[1:])))
    ranges = (write.ranges[0] // width, *write.ranges[1:])
    fetch = AffineNest(ranges, (width * write.time[0], *write.time[1:]), start - lead, (blocks, blocks))
    chained = bool(buffer.chained) and buffer.chained[read]
    fetch = ring(fetch, 0, buffer.base, buffer.region) if buffer.ring else counted(fetch)
    return PubOutput(fetch, counted(words), chained=chained, passing=buffer.passing, **buffer.window)


def _fitted(traffic: BufferTraffic, nest: FittedNest | None) -> FittedNest:
    if nest is None:
        raise AccessPatternError(f"memory for {traffic.title}: a reader's fetches are no affine loop nest")
    return nest


def _nest(fit: FittedNest, traffic: BufferTraffic, shift: int, tile_steps: tuple[int, ...],
          spec: MemTileSpec) -> AffineNest:
    """The fitted nest (first column: cycles) with one more loop over the tiles."""
    addresses = tuple(Affine((*strides, step), offset) for strides, step, offset in
                      zip(fit.strides[1:], tile_steps, fit.offsets[1:], strict=True))
    try:
        nest = counted(AffineNest(_with_tiles(fit.ranges, traffic), (*fit.strides[0], traffic.period),
                                  fit.offsets[0] + shift, addresses))
    except ConfigurationError as error:
        raise AccessPatternError(f"memory for {traffic.title}: {error}") from None
    if len(nest.ranges) > spec.dims:
        raise AccessPatternError(f"memory for {traffic.title}: a reader's fetches are a nest of {len(nest.ranges)} "
                                 f"loops, controllers have {spec.dims}")
    return nest
