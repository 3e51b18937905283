"""cocotb bench of the ready-valid array; started by `test_elastic_array`.

The data are runs: configuration words, tokens to send by column, tokens to come by column (null: any), and `patience`:
the probability that a sender or taker waits in a cycle, and half of that for the array.
"""

from __future__ import annotations

import random

import cocotb
from array_bench import configure
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

from hw.fabric.spec import EN_LATENCY
from hw.sim.bench import bench_data


def bits(flags: dict[int, bool]) -> int:
    return sum(1 << column for column, flag in flags.items() if flag)


async def run(dut, data: dict, rng: random.Random) -> int:
    """One run; the number of cycles that it took."""
    send = {int(column): tokens for column, tokens in data["send"].items()}
    expected = {int(column): tokens for column, tokens in data["expected"].items()}
    sent, got = dict.fromkeys(send, 0), dict.fromkeys(expected, 0)
    offered = dict.fromkeys(send, False)
    dut.flush.value = 1
    await FallingEdge(dut.clk)
    dut.flush.value = 0
    # What is decided about `en` reaches the tiles later; streams are aligned with the tiles.
    coming = [0] * EN_LATENCY
    cycles = 0
    for _ in range(data["limit"]):
        coming.append(int(rng.random() >= data["patience"] / 2))
        active, dut.en.value = coming.pop(0), coming[-1]
        for column, tokens in send.items():
            there = sent[column] < len(tokens)
            offered[column] = there and (offered[column] or rng.random() >= data["patience"])
            word = tokens[sent[column]] if offered[column] else rng.getrandbits(16)
            getattr(dut, f"i_stream__{column}").value = word
        ready = {column: rng.random() >= data["patience"] for column in expected}
        dut.i_stream_valid.value, dut.i_stream_ready.value = bits(offered), bits(ready)
        await Timer(1, "ns")
        takes, valid = int(dut.o_stream_ready.value), int(dut.o_stream_valid.value)
        for column in send:
            if active and offered[column] and takes >> column & 1:
                sent[column], offered[column] = sent[column] + 1, False
        for column, tokens in expected.items():
            if active and ready[column] and valid >> column & 1 and got[column] < len(tokens):
                word, wanted = getattr(dut, f"o_stream__{column}").value, tokens[got[column]]
                if wanted is not None:
                    assert int(word) == wanted, f"{data['name']}: column {column}, token {got[column]}: {int(word)}"
                got[column] += 1
        cycles += active
        await FallingEdge(dut.clk)
        if all(got[column] == len(tokens) for column, tokens in expected.items()):
            return cycles
    raise AssertionError(f"{data['name']}: after {cycles} cycles {sent} tokens are sent and {got} are there")


@cocotb.test()
async def runs(dut) -> None:
    """All runs one after the other, without a reset in between."""
    rng = random.Random(cocotb.RANDOM_SEED)
    for port in (dut.cfg__valid, dut.cfg__address, dut.cfg__data, dut.en, dut.flush):
        port.value = 0
    dut.i_stream_valid.value, dut.i_stream_ready.value = 0, 0
    dut.rst.value = 1
    # The clock's first edge must find all of this.
    await Timer(5, "ns")
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    for data in bench_data():
        await configure(dut, data["words"])
        cycles = await run(dut, data, rng)
        most = data["cycles"]
        assert data["patience"] or cycles <= most, f"{data['name']}: {cycles} cycles, at most {most} were predicted"
