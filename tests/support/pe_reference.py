"""What a processing element must compute, from the operation table's integer meaning; cases made from the table."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from hw.ops import OPERATIONS, Kind
from hw.pe.config import FACTORS, PRODUCTS, PeConfig

TABLES = (0x00, 0x96, 0xE8, 0x1B)
"""Truth tables that tell the three inputs of lut3 apart."""


@dataclass(frozen=True)
class Operands:
    """Bit patterns at the word and bit inputs of a processing element."""

    words: tuple[int, int, int]
    bits: tuple[int, int, int]


def expected(config: PeConfig, operands: Operands, width: int) -> tuple[int, int]:
    """Word and bit that the processing element must show for these operands."""
    return result(config, operand_values(config, operands, width), width)


def operand_values(config: PeConfig, operands: Operands, width: int) -> dict[Kind, list[int]]:
    """What the configuration makes of the operands: constants in their place, words as signed or unsigned numbers."""
    words = [i if c is None else c for i, c in zip(operands.words, config.constants, strict=True)]
    bits = [i if c is None else c for i, c in zip(operands.bits, config.bit_constants, strict=True)]
    return {Kind.WORD: [_number(config, word, width) for word in words], Kind.BIT: bits}


def _number(config: PeConfig, word: int, width: int) -> int:
    return word - (1 << width) if config.signed and word >> (width - 1) else word


def result(config: PeConfig, values: dict[Kind, list[int]], width: int) -> tuple[int, int]:
    """Word and bit that the operation gives for operand values; the output of the other kind is zero."""
    entry = config.operation
    remaining = {kind: iter(numbers) for kind, numbers in values.items()}
    table = [config.table] if entry.name == "lut3" else []
    number = int(entry.evaluate(width, *table, *(next(remaining[kind]) for kind in entry.operands)))
    return (number % (1 << width), 0) if entry.result is Kind.WORD else (0, number & 1)


def feedback_results(config: PeConfig, rows: Sequence[Operands], width: int, held: int) -> list[tuple[int, int]]:
    """What the element shows for rows of operands, one per cycle, when its result before the first is `held`."""
    assert config.feedback is not None
    shown = []
    for row in rows:
        values = operand_values(config, row, width)
        if not (config.restart and row.bits[2]):
            values[Kind.WORD][config.feedback] = _number(config, held, width)
        shown.append(result(config, values, width))
        held = shown[-1][0]
    return shown


def feedback_configurations() -> list[PeConfig]:
    """Every operation and operand that the own result can be, always and with a bit that restarts, from an input or
    from a constant."""
    found = []
    for plain in configurations():
        words = plain.operation.operands.count(Kind.WORD) if plain.operation.result is Kind.WORD else 0
        for number in range(FACTORS if plain.op in PRODUCTS else 0, words):
            start = tuple(5 if k == number else None for k in range(3))
            found += [replace(plain, feedback=number), replace(plain, feedback=number, restart=True),
                      replace(plain, feedback=number, restart=True, constants=start)]
    return found


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
