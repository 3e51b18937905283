"""cocotb bench of two chained memory tiles; started by `test_memtile`.

Each test compares every cycle of both tiles' outputs with the software model, and where a pattern says so, with
what the pattern computes. Stalls (`en` = 0 with rubbish on the inputs) come at random.
"""

from __future__ import annotations

import random

import cocotb
import memtile_patterns as patterns
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from hw.memtile.model import DualPortModel, MemModel, WideFetchModel
from hw.memtile.spec import MemTileSpec
from hw.sim.bench import bench_data

SPEC = MemTileSpec(**bench_data())
MODELS: list[MemModel] = [(WideFetchModel if SPEC.kind == "pub" else DualPortModel)(SPEC) for _ in range(2)]
"""They live as long as the simulation, like the memories in it."""


def pack(values: list[int]) -> int:
    return sum(value << i * SPEC.word_width for i, value in enumerate(values))


def unpack(value: int, count: int) -> list[int]:
    return [value >> i * SPEC.word_width & (1 << SPEC.word_width) - 1 for i in range(count)]


class Bench:
    """Drives the pair after falling edges, so that a cycle is one wait."""

    def __init__(self, dut, stalls: float = 0.2) -> None:
        self.dut = dut
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.stalls = stalls
        cocotb.start_soon(Clock(dut.clk, 10, "ns").start())

    async def configure(self, *configs: patterns.Config) -> None:
        """Reset, then load one configuration per tile."""
        dut = self.dut
        for port in (dut.en, dut.flush, dut.cfg__valid, dut.data_in, dut.chain_in):
            port.value = 0
        dut.rst.value = 1
        await FallingEdge(dut.clk)
        await FallingEdge(dut.clk)
        dut.rst.value = 0
        dut.cfg__valid.value = 1
        for tile, config in enumerate(configs):
            dut.cfg_tile.value = tile
            MODELS[tile].configure(config)
            for (feature, register), data in config.words(SPEC).items():
                dut.cfg__feature.value, dut.cfg__register.value, dut.cfg__data.value = feature, register, data
                await FallingEdge(dut.clk)
        dut.cfg__valid.value = 0

    async def run(self, data_in: np.ndarray, chain_in: np.ndarray) -> tuple[np.ndarray, int]:
        """Flush and run: `data_out` of both tiles (4, cycles), and the two conflict flags at the end."""
        dut, rng, cycles = self.dut, self.rng, data_in.shape[1]
        dut.flush.value = 1
        await FallingEdge(dut.clk)
        dut.flush.value = 0
        out = np.zeros((2 * SPEC.outputs, cycles), dtype=np.int64)
        for cycle in range(cycles):
            while rng.random() < self.stalls:
                dut.en.value, dut.data_in.value, dut.chain_in.value = 0, rng.getrandbits(32), rng.getrandbits(32)
                await FallingEdge(dut.clk)
            dut.en.value = 1
            dut.data_in.value = pack(data_in[:, cycle].tolist())
            dut.chain_in.value = pack(chain_in[:, cycle].tolist())
            out[:, cycle] = unpack(int(dut.data_out.value), 2 * SPEC.outputs)
            await FallingEdge(dut.clk)
        dut.en.value = 0
        return out, int(dut.conflict.value)


def model(tiles: int, data_in: np.ndarray, chain_in: np.ndarray) -> tuple[np.ndarray, int]:
    """What `Bench.run` should give for the first `tiles` tiles."""
    traces = [MODELS[0].run(data_in, chain_in)]
    if tiles == 2:
        passed = np.zeros_like(traces[0].data_out)
        passed[:, 1:] = traces[0].data_out[:, :-1]
        traces.append(MODELS[1].run(data_in, passed))
    conflicts = sum((trace.conflict is not None) << tile for tile, trace in enumerate(traces))
    return np.concatenate([trace.data_out for trace in traces]), conflicts


def same(actual: np.ndarray, expected: np.ndarray, start: int = 0) -> None:
    wrong = np.argwhere(actual[:, start:] != expected[:, start:])
    if wrong.size:
        port, cycle = wrong[wrong[:, 1].argmin()]
        cycle += start
        raise AssertionError(
            f"output {port} in cycle {cycle} is {actual[port, cycle]:#x}, should be {expected[port, cycle]:#x}"
        )


def matches(pattern: patterns.Pattern, out: np.ndarray) -> None:
    for port, expected in pattern.expected.items():
        for cycle, word in expected.items():
            assert out[port, cycle] == word, f"output {port} in cycle {cycle}: {out[port, cycle]:#x}, not {word:#x}"


async def check(dut, *tiles: patterns.Pattern, start: int = 0, stalls: float = 0.2) -> None:
    """Run one pattern per tile, all on the same data, and compare with model and pattern."""
    bench = Bench(dut, stalls)
    await bench.configure(*(pattern.config for pattern in tiles))
    data_in = tiles[0].data_in
    chain_in = patterns.words(data_in.shape[1], 99, SPEC.outputs)
    out, conflicts = await bench.run(data_in, chain_in)
    expected, expected_conflicts = model(len(tiles), data_in, chain_in)
    same(out[: len(expected)], expected, start)
    assert conflicts == expected_conflicts == 0
    for tile, pattern in enumerate(tiles):
        matches(pattern, out[tile * SPEC.outputs :])


@cocotb.test()
async def delay_line(dut) -> None:
    """The buffer of figure 5.5 of Liu 2023: a row of 64 words, with a second output of two rows."""
    await check(dut, patterns.delay_line(SPEC.kind))


@cocotb.test()
async def tight_schedule(dut) -> None:
    await check(dut, patterns.tight(SPEC.kind), stalls=0.4)


@cocotb.test()
async def upsample(dut) -> None:
    await check(dut, patterns.upsample(SPEC.kind))


@cocotb.test()
async def two_buffers_share_a_tile(dut) -> None:
    await check(dut, patterns.shared(SPEC.kind))


@cocotb.test()
async def two_buffers_share_a_tile_without_stalls(dut) -> None:
    await check(dut, patterns.shared(SPEC.kind), stalls=0)


@cocotb.test()
async def chain_of_two_tiles(dut) -> None:
    await check(dut, *patterns.chained(SPEC))


@cocotb.test()
async def lookup_table(dut) -> None:
    await check(dut, patterns.rom(SPEC), start=SPEC.ROM_LATENCY)


@cocotb.test()
async def table_that_an_input_fills(dut) -> None:
    pattern = patterns.filled_rom(SPEC)
    await check(dut, pattern, start=min(pattern.expected[0]))


@cocotb.test()
async def preloaded_contents(dut) -> None:
    await check(dut, patterns.preloaded(SPEC))


@cocotb.test()
async def flush_restarts_a_run(dut) -> None:
    """Cut a run short, start again: the second is as if the first had never been."""
    bench, pattern = Bench(dut), patterns.delay_line(SPEC.kind, count=64)
    await bench.configure(pattern.config)
    silent = np.zeros((SPEC.outputs, pattern.data_in.shape[1]), dtype=np.int64)
    for cut in (101, 1, 0):
        data = pattern.data_in[:, : cut or None]
        out, _ = await bench.run(data, silent[:, : data.shape[1]])
        same(out[: SPEC.outputs], model(1, data, silent[:, : data.shape[1]])[0])
    matches(pattern, out)


@cocotb.test()
async def random_configurations(dut) -> None:
    """Any configuration, conflicts included, does what the model says."""
    bench, rng = Bench(dut), random.Random(2026)
    conflicts, seen = 0, set()
    for number in range(25):
        await bench.configure(*(patterns.random_config(rng, SPEC) for _ in range(2)))
        data_in = patterns.words(300, number, SPEC.inputs)
        chain_in = patterns.words(300, number + 500, SPEC.outputs)
        out, flags = await bench.run(data_in, chain_in)
        expected, expected_flags = model(2, data_in, chain_in)
        same(out, expected)
        assert flags == expected_flags, f"conflict flags {flags:02b}, should be {expected_flags:02b}"
        conflicts += flags.bit_count()
        seen |= set(expected.ravel().tolist())
    least, most = (0, 0) if SPEC.sram_ports > 1 else (10, 49)
    assert least <= conflicts <= most, f"{conflicts} of 50 runs had a conflict"
    assert len(seen) > 500, f"only {len(seen)} words were seen"
