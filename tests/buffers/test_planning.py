"""Memory tiles as allocated and configured, run by the software model: every word must be there in its cycle.

The allocator says how far reads may lag writes (`SkewBound`); any lag in these bounds must give a configuration with
which `hw.memtile.model` delivers exactly the words of the traffic, or a `AccessPatternError`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from buffer_traffic import traffics
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from compiler.bind.buffers.sequences import BufferTraffic, ReadTraffic, WriteTraffic
from compiler.bind.buffers.wide_fetch import AccessPatternError
from compiler.bind.cgra.memories import CapacityError, MemoryAllocator, MemoryTile, configure_memory
from compiler.bind.cgra.netlist import Edge, Pin
from compiler.bind.cgra.operands import Signal
from hw.memtile import DualPortConfig, MemTileSpec, PubConfig
from hw.memtile.model import simulate
from hw.ops import Kind

PUB = MemTileSpec(kind="pub")
DUAL = MemTileSpec(kind="dual-port")
QUAD = MemTileSpec(kind="dual-port", sram_ports=2)
SMALL_PUB = MemTileSpec(kind="pub", depth=16)
SMALL_DUAL = MemTileSpec(kind="dual-port", depth=16)
SOURCE = Signal(Pin("source", "out"), Kind.WORD)
CHAIN_HOP = 4


@dataclass
class Bench:
    """Tiles that an allocator has made, their pins' times, and what passes each pin in every cycle."""

    spec: MemTileSpec
    tiles: list[MemoryTile]
    times: dict[Pin, int]
    cycles: int
    words: dict[Pin, np.ndarray] = field(default_factory=dict)

    def run(self, edges: list[Edge]) -> None:
        """Simulate all tiles; edges between tiles carry words, late as the times of their pins say.

        Two lines in one tile may be part of one path, so tiles are simulated until nothing changes.
        """
        drivers = {edge.sink: edge for edge in edges}
        configs = {tile.name: configure_memory(tile, self.times, self.spec) for tile in self.tiles}
        for _ in range(2 * len(self.tiles)):
            before = dict(self.words)
            for name, config in configs.items():
                self._run_tile(name, config, drivers)
            if all(pin in before and np.array_equal(before[pin], words) for pin, words in self.words.items()):
                return
        raise AssertionError("words still change")

    def _run_tile(self, name: str, config: PubConfig | DualPortConfig, drivers: dict[Pin, Edge]) -> None:
        config.words(self.spec)
        data = np.stack([self._arriving(drivers.get(Pin(name, f"in{k}"))) for k in range(2)])
        chain = np.stack([self._arriving(drivers.get(Pin(name, f"chain{k}"))) for k in range(2)])
        trace = simulate(config, self.spec, data, chain)
        assert trace.conflict is None
        for k in range(2):
            self.words[Pin(name, f"out{k}")] = trace.data_out[k]

    def _arriving(self, edge: Edge | None) -> np.ndarray:
        """The words at an input, in physical cycles."""
        if edge is None or edge.source not in self.words:
            return np.zeros(self.cycles, np.int64)
        late = self.times[edge.sink] + edge.distance - self.times[edge.source]
        assert late > 0
        return np.concatenate([np.full(late, 0xBAD), self.words[edge.source]])[: self.cycles]


def events(traffic: BufferTraffic, values: np.ndarray, step: int) -> np.ndarray:
    return (np.arange(traffic.tiles)[:, None] * step + values).ravel()


def written(traffic: BufferTraffic, cycles: int) -> tuple[np.ndarray, dict[int, int]]:
    """Random words on the source in every logical cycle, and the word at every address of the whole stream."""
    words = np.random.default_rng(1).integers(0, 1 << 16, cycles)
    time, address = (events(traffic, values, step) for values, step in
                     zip(traffic.writes, (traffic.period, traffic.tile_words), strict=True))
    return words, dict(zip(address.tolist(), words[time].tolist(), strict=True))


def chosen_times(allocator: MemoryAllocator, lags: list[int], written_at: int) -> dict[Pin, int]:
    """Times of all pins: inputs at `written_at`, output k `lags[k]` later than it must be, if that is allowed.

    In a chain, words take `CHAIN_HOP` cycles from one tile's output to the next tile's.
    """
    times = {SOURCE.pin: 0}
    for tile in allocator.tiles:
        place, count = tile.chain or (0, 1)
        for buffer in tile.buffers:
            pin_in = Pin(tile.name, f"in{buffer.input}")
            times[pin_in] = written_at
            for output in buffer.outputs:
                pin = Pin(tile.name, f"out{output}")
                bounds = [s for s in allocator.separations if s.output == pin and s.input in (pin_in, SOURCE.pin)]
                low = max(times[s.input] + s.minimum for s in bounds)
                high = min(times[s.input] + s.maximum for s in bounds)
                hops = CHAIN_HOP * (count - 1)
                assert high - low >= hops
                times[pin] = min(high - hops, low + lags[output]) + CHAIN_HOP * place
                times[Pin(tile.name, f"chain{output}")] = times[pin] - 1
    return times


def check_reads(traffic: BufferTraffic, spec: MemTileSpec, lags: list[int], written_at: int, sparse: bool) -> int:
    """Allocate, configure and simulate; compare every word. Returns the number of tiles."""
    allocator = MemoryAllocator(spec, sparse)
    signals = allocator.reads(traffic, SOURCE)
    times = chosen_times(allocator, lags, written_at)
    last = max(int(time[-1]) for time in (traffic.writes[0], *(read.time for read in traffic.reads)))
    cycles = last + (traffic.tiles - 1) * traffic.period + max(times.values()) + 2
    source, words = written(traffic, cycles)
    bench = Bench(spec, allocator.tiles, times, cycles, {SOURCE.pin: source})
    bench.run(allocator.edges)
    for read, signal in zip(traffic.reads, signals, strict=True):
        address = events(traffic, read.address, traffic.tile_words)
        visible = events(traffic, read.time, traffic.period) + times[signal.pin]
        wanted = [words[a] for a in address[np.tile(read.real, traffic.tiles)].tolist()]
        got = bench.words[signal.pin][visible[np.tile(read.real, traffic.tiles)]]
        np.testing.assert_array_equal(got, wanted)
    return len(allocator.tiles)


LAGS = st.lists(st.integers(0, 90), min_size=2, max_size=2)


@settings(max_examples=120, deadline=None)
@given(traffics(4), LAGS, st.integers(1, 20))
def test_wide_fetch_delivers_every_word(traffic: BufferTraffic, lags: list[int], written_at: int) -> None:
    try:
        check_reads(traffic, PUB, lags, written_at, sparse=False)
    except AccessPatternError as error:
        event(str(error).split(": ", 1)[1][:40])
        assume(False)


@settings(max_examples=80, deadline=None)
@given(traffics(1), LAGS, st.integers(1, 20))
def test_the_sparse_layout_delivers_every_word(traffic: BufferTraffic, lags: list[int], written_at: int) -> None:
    try:
        check_reads(traffic, PUB, lags, written_at, sparse=True)
    except AccessPatternError as error:
        event(str(error).split(": ", 1)[1][:40])
        assume(False)


@settings(max_examples=80, deadline=None)
@given(traffics(1), LAGS, st.integers(1, 20))
def test_dual_port_delivers_every_word(traffic: BufferTraffic, lags: list[int], written_at: int) -> None:
    """Nothing but a reader that is no loop nest can fail here."""
    check_reads(traffic, DUAL, lags, written_at, sparse=False)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_chains_deliver_every_word(data: st.DataObject) -> None:
    spec = data.draw(st.sampled_from((SMALL_PUB, SMALL_DUAL)))
    traffic = data.draw(traffics(4 if spec.kind == "pub" else 1, tiles=3))
    try:
        count = check_reads(traffic, spec, data.draw(LAGS), data.draw(st.integers(1, 20)), sparse=False)
    except (AccessPatternError, CapacityError):
        assume(False)
    else:
        event(f"{count} tiles")


def transposition(rows: int, columns: int, packing: int, step: int = 1, tiles: int = 1) -> BufferTraffic:
    """A matrix that is written row by row and read column by column, one word every `step` cycles."""
    pitch = -(-columns // packing) * packing
    write = WriteTraffic((columns, rows), (step, step * columns), 0, (1, pitch))
    address = (np.arange(columns)[:, None] + np.arange(rows) * pitch).ravel()
    time = np.arange(rows * columns) * step
    read = ReadTraffic("turn", time, address, np.ones(len(time), dtype=bool))
    return BufferTraffic("matrix", write, (read,), step * rows * columns, tiles, pitch * rows, packing)


@pytest.mark.parametrize(("spec", "side", "step", "sparse", "tiles"), [
    (DUAL, 8, 1, False, 3), (DUAL, 64, 1, False, 1), (SMALL_DUAL, 8, 1, False, 3),
    (PUB, 8, 2, False, 3), (PUB, 8, 2, True, 3), (PUB, 64, 2, False, 1),
    (SMALL_PUB, 8, 2, False, 3), (SMALL_PUB, 4, 2, True, 3),
])
def test_transpositions_are_always_possible(spec: MemTileSpec, side: int, step: int, sparse: bool, tiles: int) -> None:
    packing = 4 if spec.kind == "pub" and not sparse else 1
    check_reads(transposition(side, side, packing, step, tiles), spec, [3, 0], 2, sparse)


def test_transposing_at_full_rate_needs_two_ports() -> None:
    """Every word needs a fetch of its own, and every fourth cycle a store: more than one port gives."""
    with pytest.raises(AccessPatternError) as error:
        check_reads(transposition(8, 8, 4), PUB, [0, 0], 1, sparse=False)
    assert str(error.value) == ("memory for matrix: the wide SRAM port has no free cycle for every store and fetch")


def window(size: int, stride: int, row: int, held: int = 1, rows: int = 4) -> BufferTraffic:
    """A window of 3 columns over rows of `size` words, the same rows for each column, and every word `held` times; rows
    come in `row` cycles."""
    width = stride * (size - 1) + 3
    pitch = -(-width // 4) * 4
    write = WriteTraffic((width, rows), (1, row), 0, (1, pitch))
    x = np.repeat(stride * np.arange(size), held)
    address = (np.arange(3)[:, None, None] + np.arange(rows)[None, :, None] * pitch + x).ravel()
    time = np.arange(len(address))
    read = ReadTraffic("window", time, address, np.ones(len(time), dtype=bool))
    return BufferTraffic("rows", write, (read,), max(len(time), row * rows), 3, pitch * rows, 4)


@pytest.mark.parametrize(("size", "stride", "row", "held"), [
    (28, 1, 32, 1), (28, 2, 60, 1), (14, 1, 28, 1), (6, 1, 12, 1), (14, 1, 32, 4), (7, 1, 12, 4), (28, 2, 60, 4),
])
def test_windows_over_rows_at_full_rate(size: int, stride: int, row: int, held: int) -> None:
    """Rows that are no multiple of a fetch, windows that begin inside one: no row is padded."""
    for lags in ([0, 0], [5, 0], [30, 0]):
        check_reads(window(size, stride, row, held), PUB, lags, 3, sparse=False)


def test_words_in_the_middle_of_wide_words() -> None:
    """Two words of every wide word in one row of the reader, the other two in the next one: fetches are in step with
    the reader, not with wide words that it would use from their first word on."""
    write = WriteTraffic((64,), (2,), 0, (1,))
    step = [np.arange(n) for n in (8, 2, 4, 2)]
    row, side, column, word = (part.ravel() for part in np.meshgrid(*step, indexing="ij"))
    address = 4 * (4 * (row // 2) + column) + 2 * side + word
    read = ReadTraffic("turns", np.arange(len(address)) + 4, address, np.ones(len(address), dtype=bool))
    traffic = BufferTraffic("planes", write, (read,), 128, 2, 64, 4)
    for lags in ([0, 0], [5, 0], [30, 0]):
        check_reads(traffic, PUB, lags, 3, sparse=False)


def test_rows_out_of_step_find_no_turns() -> None:
    """A row comes in 30 cycles, the window's in 28: their stores and fetches meet sooner or later."""
    with pytest.raises(AccessPatternError, match="no free cycle for every store"):
        check_reads(window(28, 2, 57), PUB, [0, 0], 1, sparse=False)


def test_two_buffers_with_a_port_each_share_a_tile() -> None:
    """Both are read and written in every cycle, which one port of each kind would not allow."""
    allocator = MemoryAllocator(QUAD, shared=True)
    distances = {"first": 300, "second": 70}
    lines = {name: allocator.delays(name, SOURCE, 0, 500, [d])[0] for name, d in distances.items()}
    assert len(allocator.tiles) == 1
    times = line_times(allocator, 2)
    source = np.random.default_rng(2).integers(0, 1 << 16, 900)
    bench = Bench(QUAD, allocator.tiles, times, 900, {SOURCE.pin: source})
    bench.run(allocator.edges)
    for name, distance in distances.items():
        pin = lines[name].pin
        np.testing.assert_array_equal(bench.words[pin][np.arange(500) + distance + times[pin]], source[:500])


def test_rows_right_after_each_other() -> None:
    """They start in the middle of blocks: fetches in step with whole blocks would have to coincide."""
    write = WriteTraffic((5, 2), (1, 5), 0, (1, 8))
    time, address = np.array([0, 2, 4, 7, 9, 11]), np.array([10, 11, 12, 2, 3, 4])
    read = ReadTraffic("r0", time, address, np.ones(6, dtype=bool))
    assert check_reads(BufferTraffic("rows", write, (read,), 12, 1, 16, 4), PUB, [0, 0], 1, sparse=False) == 1


def test_a_reader_without_a_nest_is_named() -> None:
    write = WriteTraffic((16,), (1,), 0, (1,))
    address = np.array([0, 5, 1, 9, 2])
    read = ReadTraffic("odd", 20 + 8 * np.arange(5), address, np.ones(5, dtype=bool))
    for spec, message in (
        (PUB, "memory for list: a reader's fetches are no affine loop nest"),
        (DUAL, "memory for list: the addresses of odd are no affine loop nest"),
    ):
        traffic = BufferTraffic("list", write, (read,), 99, 1, 16, 4 if spec.kind == "pub" else 1)
        with pytest.raises(AccessPatternError) as error:
            check_reads(traffic, spec, [0, 0], 1, sparse=False)
        assert str(error.value) == message


def line_times(allocator: MemoryAllocator, slack: int) -> dict[Pin, int]:
    """Times of the pins of delay lines: three cycles from pin to pin, outputs `slack` cycles later than possible."""
    times: dict[Pin, int] = {SOURCE.pin: 0}
    for _ in allocator.edges:
        for edge in allocator.edges:
            if edge.source in times:
                times[edge.sink] = times[edge.source] + 3 - edge.distance
        for s in allocator.separations:
            if s.input in times and s.input.node == s.output.node:
                times[s.output] = times[s.input] + min(s.maximum, s.minimum + slack)
    return times


@pytest.mark.parametrize("spec", [PUB, DUAL, QUAD])
@pytest.mark.parametrize(("distances", "tiles"), [
    ([64], (1, 2)), ([64, 128], (2, 3)), ([21, 300], (2, 3)), ([1000, 1900], (2, 3)), ([2500], (2, 3)),
    ([100, 4100, 4200], (4, 6)),
])
def test_delay_lines(spec: MemTileSpec, distances: list[int], tiles: tuple[int, int]) -> None:
    """Also longer than one tile, and two lines that share a wide-fetch tile although they start far apart."""
    allocator = MemoryAllocator(spec)
    length, start = 3000, 9001
    lines = [(0, distances, allocator.delays("near", SOURCE, 0, length, distances)),
             (start, [70], allocator.delays("far", SOURCE, start, length, [70]))]
    assert len(allocator.tiles) == tiles[spec == DUAL]
    times = line_times(allocator, 7)
    cycles = start + length + 70 + max(times.values()) + 2
    source = np.random.default_rng(2).integers(0, 1 << 16, cycles)
    bench = Bench(spec, allocator.tiles, times, cycles, {SOURCE.pin: source})
    bench.run(allocator.edges)
    for first, some, signals in lines:
        cycle = np.arange(first, first + length)
        for distance, signal in zip(some, signals, strict=True):
            got = bench.words[signal.pin][cycle + distance + times[signal.pin]]
            np.testing.assert_array_equal(got, source[cycle])
