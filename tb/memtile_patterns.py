"""Memory access patterns in the form of memory tile configurations, for both kinds of tile, and what they compute.

Each pattern is a configuration, and for each output the words it must show: a dict from cycle to word.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import numpy as np

from hw.memtile import (
    Affine,
    AffineNest,
    AffineSpec,
    DualPortConfig,
    DualPortInput,
    DualPortOutput,
    MemTileSpec,
    PubConfig,
    PubInput,
    PubOutput,
)
from hw.memtile.affine import strides

Config = PubConfig | DualPortConfig


@dataclass
class Pattern:
    """`data_in` (inputs, cycles) goes through a tile with `config`; `expected[o][cycle]` is the word on output o."""

    config: Config
    data_in: np.ndarray
    expected: dict[int, dict[int, int]]


def stream(count: int, time: int, offset: int, *addresses: tuple[int, int]) -> AffineNest:
    """A nest of one dimension; addresses as (stride, offset)."""
    return AffineNest((count,), (time,), offset, tuple(Affine((s,), o) for s, o in addresses))


def words(count: int, seed: int, inputs: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 1 << 16, (inputs, count), dtype=np.int64)


def delayed(data: np.ndarray, count: int, time: int, first: int, delay: int) -> dict[int, int]:
    """Word k comes in cycle ``first + k * time``; its copy is on the output `delay` + 1 cycles later."""
    return {first + k * time + delay + 1: int(data[first + k * time]) for k in range(count)}


def pub_delay_input(count: int, first: int = 0, slot: int = 0, start: int = 0) -> PubInput:
    """A word per cycle from cycle `first` on; blocks are stored in cycles that are `slot` modulo 4."""
    store = first + 4 + (slot - first) % 4
    return PubInput(stream(count, 1, first, (1, 0)), stream(count // 4, 4, store, (1, 0), (1, start)))


def pub_delay_output(count: int, delay: int, first: int = 0, slot: int = 2, start: int = 0) -> PubOutput:
    """The word of cycle c is read in cycle c + `delay`; blocks are fetched in cycles that are `slot` modulo 4."""
    fetch = first + delay - 2 - (first + delay - 2 - slot) % 4
    return PubOutput(
        stream(count // 4, 4, fetch, (1, start), (1, 0)), stream(count, 1, first + delay, (1, 0))
    )


def delay_line(kind: str, delay: int = 64, count: int = 256) -> Pattern:
    """One input, two outputs: `delay` and twice as much. The dual-port tile does it at half the rate."""
    time = 1 if kind == "pub" else 2
    delays = (delay, 2 * delay) if kind == "pub" else (delay + 1, 2 * delay)
    data = words(count * time + 2 * delay + 8, 1)
    if kind == "pub":
        outputs = tuple(pub_delay_output(count, d, slot=s) for d, s in zip(delays, (2, 1), strict=True))
        mask = 2 * delay // 4 * 2 - 1
        config: Config = PubConfig(
            (replace(pub_delay_input(count), mask=mask),), tuple(replace(o, mask=mask) for o in outputs)
        )
    else:
        mask = 2 * delay - 1
        reads = [DualPortOutput(stream(count, 2, d, (1, 0)), mask=mask) for d in delays]
        config = DualPortConfig((DualPortInput(stream(count, 2, 0, (1, 0)), mask=mask),), tuple(reads))
    return Pattern(config, data, {o: delayed(data[0], count, time, 0, d) for o, d in enumerate(delays)})


def tight(kind: str, count: int = 64) -> Pattern:
    """A delay line in which everything happens in the last or first possible cycle.

    Wide fetch: blocks leave the aggregator in the cycle in which their first word is overwritten, and come to the
    transpose buffer in the one in which the last word of the old block is read. Dual port: a word is read in the cycle
    after it was written. The region's base is beyond the tile, which means nothing without chaining.
    """
    region = {"base": 0x4000, "mask": 0x0F}
    delay = 15 if kind == "pub" else 1
    if kind == "pub":
        sink = PubInput(stream(count, 1, 0, (1, 0)), stream(count // 4, 4, 8, (1, 0), (1, 0)), **region)
        source = PubOutput(stream(count // 4, 4, 9, (1, 0), (1, 0)), stream(count, 1, delay, (1, 0)), **region)  # pyright: ignore[reportArgumentType]
        config: Config = PubConfig((sink,), (None, source))
    else:
        sink = DualPortInput(stream(count, 1, 0, (1, 0)), **region)
        config = DualPortConfig((sink,), (None, DualPortOutput(stream(count, 1, delay, (1, 0)), **region)))  # pyright: ignore[reportArgumentType]
    data = words(count + 24, 9)
    return Pattern(config, data, {1: delayed(data[0], count, 1, 0, delay)})


def upsample(kind: str, width: int = 16, height: int = 4) -> Pattern:
    """Every pixel twice in its row and every row twice; a pixel comes every four cycles."""
    start = 4 * width + 20
    data = words(start + 4 * width * height + 4, 2)
    out_time = (1, 2, 2 * width, 4 * width)
    if kind == "pub":
        blocks = width // 4
        write = stream(width * height, 4, 0, (1, 0))
        store = stream(blocks * height, 16, 13, (1, 0), (1, 0))
        fetch = AffineNest((blocks, 2, height), (8, *out_time[2:]), start - 4,
                           (Affine((1, 0, blocks)), Affine((1, blocks, 2 * blocks))))
        read = AffineNest((2, width, 2, height), out_time, start, (Affine((0, 1, width, 2 * width)),))
        config: Config = PubConfig((None, PubInput(write, store)), (PubOutput(fetch, read),))
    else:
        write = stream(width * height, 4, 0, (1, 0))
        read = AffineNest((2, width, 2, height), out_time, start, (Affine((0, 1, 0, width)),))
        config = DualPortConfig((None, DualPortInput(write)), (DualPortOutput(read),))
    image = data[1, : 4 * width * height : 4].reshape(height, width)
    result = image.repeat(2, axis=0).repeat(2, axis=1).ravel()
    return Pattern(config, data, {0: {start + 1 + k: int(word) for k, word in enumerate(result)}})


def shared(kind: str, count: int = 96) -> Pattern:
    """Two delay lines in two regions of one tile, which keep the SRAM's port (or ports) busy in every cycle."""
    delays = (40, 24)
    if kind == "pub":
        inputs = [pub_delay_input(count, slot=slot) for slot in (0, 1)]
        outputs = [pub_delay_output(count, d, slot=slot) for d, slot in zip(delays, (2, 3), strict=True)]
        regions, time, first = ((0x00, 0x0F), (0x10, 0x07)), 1, (0, 0)
    else:
        first, time = (0, 1), 2
        inputs = [DualPortInput(stream(count, 2, f, (1, 0))) for f in first]
        outputs = [DualPortOutput(stream(count, 2, f + d, (1, 0))) for f, d in zip(first, delays, strict=True)]
        regions = ((0x00, 0x1F), (0x20, 0x0F))
    inputs = [replace(port, base=base, mask=mask) for port, (base, mask) in zip(inputs, regions, strict=True)]
    outputs = [replace(port, base=base, mask=mask) for port, (base, mask) in zip(outputs, regions, strict=True)]
    config = (PubConfig if kind == "pub" else DualPortConfig)(tuple(inputs), tuple(outputs))  # pyright: ignore[reportArgumentType]
    data = words(time * count + 48, 3)
    expected = {n: delayed(data[n], count, time, first[n], delays[n]) for n in (0, 1)}
    return Pattern(config, data, expected)


CHAIN_LATENCY = 2
"""Cycles from a read in tile 0 of the bench to the one in tile 1 that passes its word on."""


def chained(spec: MemTileSpec, delay: int = 64, count: int = 128) -> tuple[Pattern, Pattern]:
    """A delay line whose circular buffer goes over both tiles and wraps; the result is on tile 1's outputs."""
    per_address = spec.capacity_words // spec.sram_words
    start = 2 * spec.sram_words - 32 // per_address  # 32 words before the end of tile 1
    mask = 2 * spec.sram_words - 1
    data = words(count + delay + 16, 4)
    patterns = []
    for tile in (0, 1):
        late = delay + tile * CHAIN_LATENCY
        if spec.kind == "pub":
            fed, read = pub_delay_input(count, start=start), pub_delay_output(count, late, start=start)
            config: Config = PubConfig((replace(fed, mask=mask),), (replace(read, mask=mask, chained=tile == 1),), tile)
        else:
            sink = DualPortInput(stream(count, 1, 0, (1, start)), mask=mask)
            source = DualPortOutput(stream(count, 1, late, (1, start)), mask=mask, chained=tile == 1)
            config = DualPortConfig((sink,), (source,), tile)
        patterns.append(Pattern(config, data, {0: delayed(data[0], count, 1, 0, late)} if tile else {}))
    return patterns[0], patterns[1]


def rom(spec: MemTileSpec, cycles: int = 200) -> Pattern:
    """A table of all addresses of the tile, read at random."""
    contents = tuple(int(w) for w in words(spec.capacity_words, 5, 1)[0])
    data = words(cycles, 6) % (4 * spec.capacity_words)
    looked_up = {c + spec.ROM_LATENCY: contents[int(data[0, c]) % spec.capacity_words] for c in range(cycles - 3)}
    config = (PubConfig if spec.kind == "pub" else DualPortConfig)(contents=contents, rom=True)
    return Pattern(config, data, {0: looked_up})


def filled_rom(spec: MemTileSpec, cycles: int = 200) -> Pattern:
    """A table that input 1 fills, a word in two cycles, read at random from the last word on; its last block has only
    two of its words."""
    first, count, data = 3, 38, words(cycles, 9)
    if spec.kind == "pub":
        store = stream(-(-count // 4), 8, first + 7, (1, 0), (1, 0))
        config: Config = PubConfig((None, PubInput(stream(count, 2, first, (1, 0)), store)), rom=True)
    else:
        config = DualPortConfig((None, DualPortInput(stream(count, 2, first, (1, 0)))), rom=True)
    table, begin = data[1, first : first + 2 * count : 2], first + 2 * (count + 2)
    data[0] = data[0] % count
    looked_up = {c + spec.ROM_LATENCY: int(table[data[0, c]]) for c in range(begin, cycles - 3)}
    return Pattern(config, data, {0: looked_up})


def preloaded(spec: MemTileSpec, count: int = 40) -> Pattern:
    """Contents of the SRAM streamed out, backwards in blocks of four."""
    contents = tuple(int(w) for w in words(count, 7, 1)[0])
    if spec.kind == "pub":
        fetch = stream(count // 4, 4, 0, (-1, count // 4 - 1), (1, 0))
        read = stream(count, 1, 2, (1, 0))
        config: Config = PubConfig(outputs=(None, PubOutput(fetch, read)), contents=contents)
    else:
        read = AffineNest((4, count // 4), (1, 4), 2, (Affine((1, -4), count - 4),))
        config = DualPortConfig(outputs=(None, DualPortOutput(read)), contents=contents)
    order = np.array(contents).reshape(-1, 4)[::-1].ravel()
    return Pattern(config, words(count + 8, 8), {1: {3 + k: int(word) for k, word in enumerate(order)}})


def random_nest(rng: random.Random, spec: AffineSpec, first: int = 0) -> AffineNest:
    """Any nest: up to six dimensions, events 1 to 9 cycles apart."""
    depth = rng.randint(1, spec.dims)
    ranges = tuple(rng.choice((1, 2, 2, 3, 4)) for _ in range(depth))
    time = strides(ranges, [rng.choice((1, 2, 3, 4, 9)) for _ in range(depth)])
    addresses = tuple(
        Affine(tuple(rng.randint(-5, 5) for _ in range(depth)), rng.randint(-9, 99)) for _ in spec.address_widths
    )
    return AffineNest(ranges, time, first + rng.randint(0, 20), addresses)


def random_config(rng: random.Random, spec: MemTileSpec) -> Config:
    """Any configuration: controllers fire without regard for each other, so that SRAM ports are fought over."""

    def nests(number: int, *roles: str) -> list[AffineNest]:
        first = {role: spec.read_ahead if role == "read" else 0 for role in roles}
        return [random_nest(rng, spec.controllers[f"{role}{number}"], first[role]) for role in roles]

    def region() -> dict[str, int]:
        mask = rng.choice((0x07, 0x0F, 0x2F1, spec.sram_words + 0x0F))
        return {"base": rng.randrange(2 * spec.sram_words) & ~mask, "mask": mask}

    pub = spec.kind == "pub"
    chain_id = rng.choice((None, 0, 1))
    inputs = [
        PubInput(*nests(i, "write", "store"), **region()) if pub else DualPortInput(*nests(i, "write"), **region())  # pyright: ignore[reportArgumentType]
        for i in range(spec.inputs)
        if rng.random() < 0.8
    ]
    outputs = []
    for o in range(spec.outputs):
        rest = {**region(), "chained": chain_id is not None and rng.random() < 0.7, "passing": rng.random() < 0.4}
        fetch_read = nests(o, "fetch", "read") if pub else nests(o, "read")
        outputs.append(PubOutput(*fetch_read, **rest) if pub else DualPortOutput(*fetch_read, **rest))  # pyright: ignore[reportArgumentType]
    contents = tuple(int(word) for word in words(1024, rng.randrange(999), 1)[0])
    return (PubConfig if pub else DualPortConfig)(tuple(inputs), tuple(outputs), chain_id, contents)  # pyright: ignore[reportArgumentType]
