"""Stimuli of the vector datapath: modes, and wavefronts of a mode."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
from vector_datapath_reference import WIDTHS, Wave

from hw.vector_lanes.isa import Mode, Op, check
from hw.vector_lanes.spec import VectorSpec

OPS = [op for op in Op if not op.indexed]


def shapes(rng: random.Random, accumulate: bool = False) -> Iterator[Mode]:
    """Every legal operation, signedness, in and out size; the other bits at random; each absolute form as well."""
    for op, signed, in_size, out_size in product(OPS, (False, True), range(3), range(3)):
        for absolute in (False, True):
            mode = Mode(op, signed, in_size, out_size, accumulate=accumulate, absolute=absolute)
            options = [
                candidate
                for scalar, enumerated, masked in product((False, True), repeat=3)
                if not check(candidate := replace(mode, scalar=scalar, enumerated=enumerated, masked=masked))
            ]
            if options:
                yield rng.choice(options)


def random_row(rng: random.Random, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Bytes, with many at the edges of the number ranges, and flags."""
    edges = (0, 0, 1, 2, 7, 8, 0x7F, 0x80, 0xFF, 0xFF)
    kind = rng.randrange(3)
    row = [rng.choice(edges) if kind == 0 or (kind == 1 and rng.random() < 0.5) else rng.randrange(256)
           for _ in range(width)]
    return np.array(row, np.uint8), np.array([rng.randrange(2) for _ in range(width)], np.uint8)


def random_scalar(rng: random.Random) -> int:
    return rng.choice([rng.randrange(40), rng.getrandbits(32), rng.choice([0, 1 << 31, (1 << 32) - 1, 0x80, 0x8000])])


def random_wave(spec: VectorSpec, rng: random.Random, mode: Mode) -> Wave:
    width, size = spec.row_bytes, mode.exec_size
    places = width >> size
    a_row, a_flags = random_row(rng, width)
    b_row, b_flags = random_row(rng, width)
    if mode.op in (Op.VSHL, Op.VSHR, Op.VROTL, Op.VROTR) and rng.random() < 0.8:
        a_row = a_row & rng.choice([0x03, 0x07, 0x0F, 0x1F])  # amounts in range and just above
        if mode.in_size and rng.random() < 0.8:
            a_row[np.arange(width) % (1 << mode.in_size) > 0] = 0
    elements = [rng.randrange(2) for _ in range(places)]
    return Wave(
        mode, a_row, a_flags, _offset(rng, width, mode.in_size), b_row, b_flags, rng.randrange(width),
        rng.randrange(width), random_scalar(rng), rng.randrange(1 << 16) * places,
        rng.choice([places, rng.randrange(places + 1)]),
        sum(((1 << (1 << size)) - 1) << (place << size) for place in range(places) if elements[place]),
    )  # fmt: skip


def _offset(rng: random.Random, width: int, in_size: int) -> int:
    return rng.choice([rng.randrange(width), rng.randrange(0, width, 1 << in_size)]) % width


def random_waves(spec: VectorSpec, rng: random.Random, mode: Mode, count: int) -> list[Wave]:
    return [random_wave(spec, rng, mode) for _ in range(count)]


def random_rows(spec: VectorSpec, rng: random.Random, mode: Mode, count: int) -> list[Wave]:
    """Rows of one to four wavefronts."""
    waves: list[Wave] = []
    while len(waves) < count:
        length = rng.randrange(1, 5)
        row = random_waves(spec, rng, mode, length)
        row[0].first = row[-1].last = True
        waves += row
    return waves


def byte_pairs(spec: VectorSpec, rng: random.Random) -> Iterator[list[Wave]]:
    """All pairs of bytes as operands of every operation on bytes, signed and unsigned, with and without absolute.

    VMAC has a scalar for one of its factors. Flags are random.
    """
    width = spec.row_bytes
    numbers = np.arange(1 << 16)
    a_bytes, b_bytes = (numbers >> 8).astype(np.uint8), (numbers & 255).astype(np.uint8)
    assert WIDTHS[0] == 8
    generator = np.random.default_rng(rng.getrandbits(32))
    for op, signed, absolute in product(OPS, (False, True), (False, True)):
        mode = Mode(op, signed, 0, 0, scalar=op is Op.VMAC, absolute=absolute)
        if check(mode):
            continue
        flags = generator.integers(0, 2, (2, 1 << 16), np.uint8)
        chunks = [slice(first, first + width) for first in range(0, 1 << 16, width)]
        yield [
            Wave(mode, a_bytes[chunk], flags[0][chunk], 0, b_bytes[chunk], flags[1][chunk], 0, 0,
                 scalar=int(b_bytes[chunk][0]) * 37 % 256, count=width)
            for chunk in chunks
        ]  # fmt: skip
