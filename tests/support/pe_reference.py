"""What a processing element must compute, from the operation table's integer meaning; cases made from the table."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import product

from hw.ops import OPERATIONS, Kind
from hw.pe.config import PeConfig

TABLES = (0x00, 0x96, 0xE8, 0x1B)
"""Truth tables that tell the three inputs of lut3 apart."""


@dataclass(frozen=True)
class Operands:
    """Bit patterns at the word and bit inputs of a processing element."""

    words: tuple[int, int, int]
    bits: tuple[int, int, int]


def expected(config: PeConfig, operands: Operands, width: int) -> tuple[int, int]:
    """Word and bit that the processing element must show a cycle later."""
    entry = config.operation
    chosen = {
        Kind.WORD: [i if c is None else c for i, c in zip(operands.words, config.constants, strict=True)],
        Kind.BIT: [i if c is None else c for i, c in zip(operands.bits, config.bit_constants, strict=True)],
    }
    taken = {Kind.WORD: 0, Kind.BIT: 0}
    arguments = [config.table] if entry.name == "lut3" else []
    for kind in entry.operands:
        value = chosen[kind][taken[kind]]
        taken[kind] += 1
        negative = kind is Kind.WORD and config.signed and value >> (width - 1)
        arguments.append(value - (1 << width) if negative else value)
    result = int(entry.evaluate(width, *arguments))
    return (result % (1 << width), 0) if entry.result is Kind.WORD else (0, result & 1)


def configurations() -> list[PeConfig]:
    """Every operation of the table, signed and unsigned; lut3 with each of `TABLES`."""
    return [
        PeConfig(name, signed=signed, table=table)
        for name in OPERATIONS
        for signed in (False, True)
        for table in (TABLES if name == "lut3" else (0,))
    ]


def all_operands(config: PeConfig, width: int) -> list[Operands]:
    """All values of the operands that the operation reads; the others are zero."""
    words = config.operation.operands.count(Kind.WORD)
    bits = config.operation.operands.count(Kind.BIT)
    return [
        Operands(_pad(row[:words]), _pad(row[words:]))
        for row in product(*[range(1 << width)] * words, *[range(2)] * bits)
    ]


def random_operands(rng: random.Random, width: int) -> Operands:
    """Operands with many values near the ends of the number range."""
    top = 1 << width
    corners = (0, 1, 2, width - 1, width, width + 1, top // 2 - 1, top // 2, top // 2 + 1, top - 2, top - 1)
    words = [rng.choice(corners) if rng.random() < 0.5 else rng.randrange(top) for _ in range(3)]
    return Operands(_pad(words), _pad([rng.randrange(2) for _ in range(3)]))


def _pad(values: list[int] | tuple[int, ...]) -> tuple[int, int, int]:
    first, second, third = (*values, 0, 0, 0)[:3]
    return first, second, third
