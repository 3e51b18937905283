"""cocotb bench of the buffet; started by `test_buffet`, which says what to configure, send and expect.

A run is as in `buffet_patterns.run_of`, and `patience`: the probability that a token or the array waits in a cycle.
"""

from __future__ import annotations

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

from hw.memtile.buffet import BUFFET_LATENCY
from hw.sim.bench import bench_data


def silence(dut) -> None:
    """Reset, and nothing at the inputs."""
    for port in (dut.en, dut.flush, dut.cfg__valid, dut.fill__valid, dut.update__valid, dut.out__ready):
        port.value = 0
    dut.rst.value = 1


async def configure(dut, words: list[list[int]]) -> None:
    """Reset, which switches everything off, then write the configuration and restart."""
    silence(dut)
    await FallingEdge(dut.clk)
    dut.rst.value, dut.cfg__valid.value = 0, 1
    for feature, register, data in words:
        dut.cfg__feature.value, dut.cfg__register.value, dut.cfg__data.value = feature, register, data
        await FallingEdge(dut.clk)
    dut.cfg__valid.value, dut.flush.value = 0, 1
    await FallingEdge(dut.clk)
    dut.flush.value = 0


class Sender:
    """Drives one stream: a token stays until it is taken."""

    def __init__(self, stream: tuple, tokens: list[int], rng: random.Random, patience: float):
        (self.valid, self.ready, self.payload), self.tokens = stream, tokens
        self.rng, self.patience, self.offered, self.sent = rng, patience, False, 0

    def drive(self) -> None:
        """Offer the next token, or rubbish."""
        there = self.sent < len(self.tokens)
        self.offered = there and (self.offered or self.rng.random() >= self.patience)
        self.valid.value = int(self.offered)
        self.payload.value = self.tokens[self.sent] if self.offered else self.rng.getrandbits(16)

    def settle(self, en: int) -> None:
        """See whether it was taken."""
        if en and self.offered and int(self.ready.value):
            self.sent, self.offered = self.sent + 1, False


async def run(dut, data: dict, rng: random.Random) -> tuple[int, int]:
    """One run; the cycles with `en` in which the first and last tokens of the output passed."""
    patience, got = data["patience"], []
    updates: list[int] = []
    fill = Sender((dut.fill__valid, dut.fill__ready, dut.fill__payload), data["fill"], rng, patience)
    update = Sender((dut.update__valid, dut.update__ready, dut.update__payload), updates, rng, patience)
    cycle, when = 0, []
    for _ in range(20 * (len(data["out"]) + len(data["fill"])) + 200):
        en, ready = int(rng.random() >= patience / 2), int(rng.random() >= patience)
        dut.en.value, dut.out__ready.value = en, ready
        fill.drive()
        update.drive()
        await Timer(1, "ns")
        fill.settle(en)
        update.settle(en)
        if en and ready and int(dut.out__valid.value):
            token, word = len(got), int(dut.out__payload.value)
            got.append(word)
            when.append(cycle)
            wanted = data["out"][token]
            assert wanted in (None, word), f"{data['name']}: token {token} is {word:#x}, not {wanted:#x}"
            if token < len(data["deltas"]):
                updates.append((word + data["deltas"][token]) % 65536)
        cycle += en
        await FallingEdge(dut.clk)
        if len(got) == len(data["out"]):
            return when[0], when[-1]
    raise AssertionError(f"{data['name']}: stuck after {len(got)} of {len(data['out'])} tokens")


async def start(dut) -> random.Random:
    """The clock's first edge must find all inputs defined."""
    silence(dut)
    for port in (dut.cfg__feature, dut.cfg__register, dut.cfg__data, dut.fill__payload, dut.update__payload):
        port.value = 0
    await Timer(5, "ns")
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    await FallingEdge(dut.clk)
    return random.Random(cocotb.RANDOM_SEED)


@cocotb.test()
async def random_runs(dut) -> None:
    """Whatever the relative timing of the streams, every token of the output is the right one."""
    rng = await start(dut)
    for data in bench_data()["random"]:
        await configure(dut, data["words"])
        await run(dut, data, rng)


@cocotb.test()
async def a_token_in_every_cycle(dut) -> None:
    """Nothing waits that need not: a delay line passes a token per cycle from the first one on."""
    rng = await start(dut)
    for data in bench_data()["prompt"]:
        await configure(dut, data["words"])
        first, last = await run(dut, data, rng)
        begin = next(token for token, word in enumerate(data["out"]) if word is not None)
        late = BUFFET_LATENCY if begin == 0 else BUFFET_LATENCY - 1
        assert (first, last) == (late, late + len(data["out"]) - 1), data["name"]


@cocotb.test()
async def what_is_missing_stops_it(dut) -> None:
    """A read waits for its word, and a fill for room; each for ever if it never comes."""
    rng = await start(dut)
    data = bench_data()["starved"]
    await configure(dut, data["words"])
    begin = next(token for token, word in enumerate(data["out"]) if word is not None)
    missing = begin + len(data["fill"])
    try:
        await run(dut, data, rng)
    except AssertionError as error:
        assert f"stuck after {missing} of" in str(error), error
    else:
        raise AssertionError("it gave words that were never filled")
