"""cocotb bench of the vector datapath; started by `test_vector_datapath`, which says what to run."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from vector_datapath_reference import Outcome, Wave, Write, outcomes, pack_bits, pack_bytes
from vector_datapath_waves import byte_pairs, random_rows, random_waves, shapes

from hw.sim.bench import bench_data
from hw.vector_lanes.datapath import accumulate_latency, datapath_latency
from hw.vector_lanes.isa import Mode
from hw.vector_lanes.spec import VectorSpec

DEFINED = str.maketrans("XZxz", "0000")
UNDEFINED = str.maketrans("01XZxz", "001111")


def expand(strobe: int) -> int:
    """Eight bits for each bit of a strobe."""
    return int(f"{strobe:b}".replace("1", "ff").replace("0", "00"), 16)


encode = cache(Mode.encode)


def inputs(wave: Wave) -> dict[str, int]:
    """Values of the ports."""
    ports = {name: getattr(wave, name) for name in ("scalar", "index", "count", "mask", "d_offset")}
    for port in "ab":
        row, flags = getattr(wave, f"{port}_row"), getattr(wave, f"{port}_flags")
        ports |= {
            f"{port}_data": pack_bytes(row[None])[0], f"{port}_flags": pack_bits(flags[None])[0],
            f"{port}_offset": getattr(wave, f"{port}_offset"),
        }  # fmt: skip
    return ports | {"valid": 1, "mode": encode(wave.mode), "first": int(wave.first), "last": int(wave.last)}


class Bench:
    """Applies wavefronts, keeps what must come out when, and looks at the outputs of every cycle."""

    def __init__(self, dut, spec: VectorSpec, rng: random.Random):
        self.dut, self.spec, self.rng = dut, spec, rng
        self.cycle = 0
        self.applied: dict[str, int] = {}
        self.due: dict[int, tuple[Wave, Write]] = {}
        self.tests: dict[int, tuple[Wave, int]] = {}
        self.written = 0

    async def start(self) -> None:
        cocotb.start_soon(Clock(self.dut.clk, 10, "ns").start())
        self.dut.rst.value = 1
        self._apply({"valid": 0})
        await FallingEdge(self.dut.clk)
        self.dut.rst.value = 0

    async def run(self, waves: list[Wave], expected: list[Outcome], bubbles: float) -> None:
        for wave, outcome in zip(waves, expected, strict=True):
            while self._collides(outcome, wave) or (bubbles and self.rng.random() < bubbles):
                await self._step({"valid": 0})
            if isinstance(outcome, Write):
                self.due[self.cycle + self._latency(wave)] = wave, outcome
            elif outcome is not None:
                self.tests[self.cycle + datapath_latency(self.spec)] = wave, outcome
            await self._step(inputs(wave))

    async def finish(self) -> None:
        while self.due or self.tests:
            await self._step({"valid": 0})

    def _latency(self, wave: Wave) -> int:
        return (accumulate_latency if wave.mode.accumulate else datapath_latency)(self.spec)

    def _collides(self, outcome: Outcome, wave: Wave) -> bool:
        return isinstance(outcome, Write) and self.cycle + self._latency(wave) in self.due

    def _apply(self, ports: dict[str, int]) -> None:
        for name, value in ports.items():
            if self.applied.get(name) != value:
                self.applied[name] = value
                getattr(self.dut, name).value = value

    async def _step(self, ports: dict[str, int]) -> None:
        # From one falling edge to the next there is one clock edge, which takes the inputs; what is seen then are the
        # outputs of the cycle after it.
        self._apply(ports)
        await FallingEdge(self.dut.clk)
        self.cycle += 1
        self._look()

    def _look(self) -> None:
        dut = self.dut
        wave, write = self.due.pop(self.cycle, (None, None))
        assert int(dut.write_valid.value) == (write is not None), f"write_valid in cycle {self.cycle}, {wave}"
        if write is not None:
            self.written += 1
            strobe = int(dut.write_strobe.value)
            assert strobe == write.strobe, f"strobe {strobe:#x} of {wave}: {write}"
            data, flags = defined(dut.write_data, expand(strobe)), defined(dut.write_flags, strobe)
            assert (data, flags) == (write.data, write.flags), f"{data:#x} {flags:#x}, not {write} of {wave}"
        wave, test = self.tests.pop(self.cycle, (None, None))
        assert int(dut.test_valid.value) == (test is not None), f"test_valid in cycle {self.cycle}, {wave}"
        if test is not None:
            assert int(dut.test.value) == test, f"mask {int(dut.test.value):#x}, not {test:#x}: {wave}"


def defined(port, relevant: int) -> int:
    """Value of a port, 0 in the bits that are not relevant, which may be undefined."""
    text = str(port.value)
    assert set(text) <= set("01") or int(text.translate(UNDEFINED), 2) & relevant == 0, f"{text} & {relevant:#x}"
    return int(text.translate(DEFINED), 2) & relevant


async def batches(dut, spec: VectorSpec, source: Iterator[list[Wave]], bubbles: float) -> None:
    bench = Bench(dut, spec, random.Random(1))
    await bench.start()
    for waves in source:
        await bench.run(waves, outcomes(waves, spec.fraction_bits), bubbles)
    await bench.finish()
    assert bench.written


def settings() -> tuple[VectorSpec, random.Random, int]:
    data = bench_data()
    return VectorSpec(**data["spec"]), random.Random(data["seed"]), data["count"]


@cocotb.test()
async def modes(dut) -> None:
    """Every operation, signedness and conversion, with random operands, offsets, counts, masks and bubbles."""
    spec, rng, count = settings()
    await batches(dut, spec, (random_waves(spec, rng, mode, count) for mode in shapes(rng)), 0.1)


@cocotb.test()
async def rows(dut) -> None:
    """Sums along rows: every operation that can be accumulated."""
    spec, rng, count = settings()
    source = (random_rows(spec, rng, mode, count) for mode in shapes(rng, accumulate=True))
    await batches(dut, spec, source, 0.1)


@cocotb.test()
async def pairs(dut) -> None:
    """Every pair of byte operands of every operation."""
    spec, rng, _ = settings()
    await batches(dut, spec, byte_pairs(spec, rng), 0.0)
