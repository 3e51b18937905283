"""What a buffet can be told to do, at random, and the words that it must show: data for `buffet_bench`."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from hw.memtile import Affine, AffineNest, MemTileSpec
from hw.memtile.buffet_config import BuffetConfig

__all__ = ["accumulation", "delay", "early", "lookup", "run_of", "table", "windows"]

Run = dict[str, Any]


def run_of(name: str, config: BuffetConfig, spec: MemTileSpec, fill: Sequence[int], out: Sequence[int | None],
           **extra: Any) -> Run:
    """A run: tokens of the fill stream, and those of the output (None: no word). The last of them ends it.

    `deltas`: token t of the update stream is token t of the output and this much more.
    """
    words = [[feature, register, data] for (feature, register), data in config.words(spec).items()]
    return {"name": name, "words": words, "fill": list(fill), "out": list(out), "deltas": [], **extra}


def _tokens(nest: AffineNest, words: Sequence[int]) -> list[int | None]:
    """A stream that carries `words` in the tokens of `nest`."""
    tokens: list[int | None] = [None] * (nest.last_time + 1)
    for time, word in zip(nest.times().tolist(), words, strict=True):
        tokens[time] = word
    return tokens


def _filled(rng: random.Random, nest: AffineNest) -> tuple[list[int], list[int]]:
    """Words of the fill stream, all of them, and those that are kept."""
    stream = [rng.getrandbits(16) for _ in range(nest.last_time + 1)]
    return stream, [stream[time] for time in nest.times().tolist()]


def _slow(rng: random.Random, ranges: tuple[int, ...]) -> AffineNest:
    """A nest without addresses that has gaps at random."""
    time, span = [], 1
    for count in ranges:
        time.append(span + rng.choice([0, 0, 1, 3]))
        span = time[-1] * count
    return AffineNest(ranges, tuple(time), rng.randrange(5), ())


def _placed(nest: AffineNest, *strides: int, offset: int = 0) -> AffineNest:
    return AffineNest(nest.ranges, nest.time, nest.time_offset, (Affine(strides, offset),))


def windows(rng: random.Random, spec: MemTileSpec) -> Run:
    """Rows of words, windows of several rows read from them with any step, rows given up one by one.

    Many more words pass than there is room for, so addresses wrap around and fills wait.
    """
    width, taps, rows = rng.randint(1, 9), rng.randint(1, 4), rng.randint(8, 30)
    step = rng.randint(1, width)
    fill = _slow(rng, (width, rows))
    stream, kept = _filled(rng, fill)
    ranges = (-(-width // step), taps, rows - taps + 1)
    slow = _slow(rng, ranges)
    read = _placed(slow, step, width, width)
    end = slow.time_offset + sum((n - 1) * t for n, t in zip(ranges[:2], slow.time[:2], strict=True))
    shrink = AffineNest(ranges[2:], slow.time[2:], end, (Affine((width,), width),))
    words = [kept[a] for _, (a,) in read.events()]
    name = f"windows of {taps} in {rows} rows of {width}"
    return run_of(name, BuffetConfig(fill, None, read, shrink), spec, stream, _tokens(read, words))


def accumulation(rng: random.Random, spec: MemTileSpec) -> Run:
    """Words that are read, increased and updated in several rounds; the last round reads the sums and gives them up."""
    size, rounds = rng.randint(1, min(40, spec.capacity_words)), rng.randint(1, 4)
    fill = _slow(rng, (size,))
    stream, sums = _filled(rng, fill)
    ranges = (size, rounds + 1)
    slow = _slow(rng, ranges)
    read = _placed(slow, 1, 0)
    update = AffineNest((size, rounds), slow.time, slow.time_offset, (Affine((1, 0)),))
    last = slow.time_offset + rounds * slow.time[1]
    shrink = AffineNest((size,), slow.time[:1], last, (Affine((1,), 1),))
    deltas = [rng.getrandbits(16) for _ in range(slow.last_time + 1)]
    words = []
    for count, time in enumerate(slow.times().tolist()):
        words.append(sums[count % size])
        sums[count % size] = (sums[count % size] + deltas[time]) % 65536
    config = BuffetConfig(fill, update, read, shrink, ahead=size)
    return run_of(f"{rounds} rounds of {size} sums", config, spec, stream, _tokens(read, words), deltas=deltas)


def delay(rng: random.Random, spec: MemTileSpec) -> Run:
    """A delay line: the output is the input, some tokens later."""
    count, distance = 150, rng.randint(0, spec.capacity_words - 8)
    fill = AffineNest((count,), (1,), 0, ())
    stream, kept = _filled(rng, fill)
    read = AffineNest((count,), (1,), distance, (Affine((1,)),))
    shrink = AffineNest((count,), (1,), distance, (Affine((1,), 1),))
    return run_of(f"delay of {distance}", BuffetConfig(fill, None, read, shrink), spec, stream, _tokens(read, kept))


def early(rng: random.Random, spec: MemTileSpec) -> Run:
    """Reads that begin before the first word: they find words that are there from the start and mean nothing."""
    count, present = 120, rng.randint(1, spec.capacity_words // 2)
    fill = _slow(rng, (count,))
    stream, kept = _filled(rng, fill)
    read = AffineNest((count,), (1,), rng.randrange(4), (Affine((1,)),))
    shrink = AffineNest((count,), (1,), read.time_offset, (Affine((1,), 1),))
    words = [*[None] * present, *kept]
    out = [None] * read.time_offset + words[:count]
    config = BuffetConfig(fill, None, read, shrink, present=present)
    return run_of(f"{present} words at the start", config, spec, stream, out)


def table(rng: random.Random, spec: MemTileSpec) -> Run:
    """A table that is played again and again."""
    contents = tuple(rng.getrandbits(16) for _ in range(rng.randint(1, 20)))
    read = _placed(_slow(rng, (len(contents), 5)), 1, 0)
    config = BuffetConfig(read=read, contents=contents)
    return run_of(f"table of {len(contents)}", config, spec, [], _tokens(read, contents * 5))


def lookup(rng: random.Random, spec: MemTileSpec) -> Run:
    """Addresses in, words out."""
    contents = tuple(rng.getrandbits(16) for _ in range(spec.capacity_words))
    addresses = [rng.randrange(len(contents)) for _ in range(100)]
    config = BuffetConfig(contents=contents, lookup=True)
    return run_of("lookup", config, spec, addresses, [contents[a] for a in addresses])
