"""The operation table: its integer meaning against independent definitions, and against its own hardware meaning."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.sim import Simulator
from hypothesis import given
from hypothesis import strategies as st

from hw.ops import EVERY_OPERATION, Datapath, Kind, Operation, operation


def clip_shift(width: int, amount: int) -> int:
    return amount % 2**width


# Plain definitions by the books: floor division and remainder, no bit tricks shared with the table.
DEFINITIONS: dict[str, Callable[..., int]] = {
    "pass": lambda w, a: a,
    "add": lambda w, a, b: a + b,
    "sub": lambda w, a, b: a - b,
    "mul": lambda w, a, b: a * b,
    "mul_mid": lambda w, a, b: a * b // 2 ** (w // 2),
    "mul_high": lambda w, a, b: a * b // 2**w,
    "mad": lambda w, a, b, c: a * b + c,
    "shl": lambda w, a, b: a * 2 ** clip_shift(w, b),
    "shr": lambda w, a, b: a // 2 ** clip_shift(w, b),
    "and": lambda w, a, b: bitwise(w, a, b, lambda p, q: p * q),
    "or": lambda w, a, b: bitwise(w, a, b, lambda p, q: min(p + q, 1)),
    "xor": lambda w, a, b: bitwise(w, a, b, lambda p, q: (p + q) % 2),
    "min": lambda w, a, b: sorted([a, b])[0],
    "max": lambda w, a, b: sorted([a, b])[1],
    "abs": lambda w, a: max(a, -a),
    "absd": lambda w, a, b: max(a - b, b - a),
    "select": lambda w, p, a, b: [b, a][p],
    "eq": lambda w, a, b: int(a == b),
    "ne": lambda w, a, b: int(a != b),
    "lt": lambda w, a, b: int(a < b),
    "ge": lambda w, a, b: int(a >= b),
    "gt": lambda w, a, b: int(a > b),
    "le": lambda w, a, b: int(a <= b),
    "div": lambda w, a, b: math.trunc(Fraction(a, b)) if b else -1,
    "rem": lambda w, a, b: a - b * math.trunc(Fraction(a, b)) if b else a,
    "neg": lambda w, a: -a,
    "sqrt": lambda w, a: max(0, next(r for r in range(2**w) if (r + 1) ** 2 > a)),
    "carry": lambda w, a, b: (a + b) // 2**w % 2,
    "adc": lambda w, a, b, p: a + b + p,
    "sbb": lambda w, a, b, p: a - b - p,
}


def bitwise(width: int, a: int, b: int, function: Callable[[int, int], int]) -> int:
    return sum(function(a // 2**i % 2, b // 2**i % 2) * 2**i for i in range(width))


def values(kind: Kind, width: int, is_signed: bool) -> range:
    if kind is Kind.BIT:
        return range(2)
    return range(-(2 ** (width - 1)), 2 ** (width - 1)) if is_signed else range(2**width)


WORD_ENTRIES = [entry for entry in EVERY_OPERATION.values() if entry.name != "lut3"]


def test_every_operation_has_a_definition_and_a_number_of_its_own() -> None:
    assert {entry.name for entry in WORD_ENTRIES} == set(DEFINITIONS)
    codes = [entry.code for entry in EVERY_OPERATION.values()]
    assert len(set(codes)) == len(codes)
    assert all(0 <= code < 64 for code in codes)


@pytest.mark.parametrize("entry", WORD_ENTRIES, ids=lambda entry: entry.name)
@pytest.mark.parametrize("is_signed", [False, True])
def test_integer_meaning_is_the_definition(entry: Operation, is_signed: bool) -> None:
    width = 4
    operands = list(product(*(values(kind, width, is_signed) for kind in entry.operands)))
    expected = [DEFINITIONS[entry.name](width, *row) % 2**width for row in operands]
    columns = [np.array(column) for column in zip(*operands, strict=True)]
    assert (entry.evaluate(width, *columns) % 2**width).tolist() == expected
    assert [int(entry.evaluate(width, *row)) % 2**width for row in operands[:64]] == expected[:64]


@pytest.mark.parametrize("entry", WORD_ENTRIES, ids=lambda entry: entry.name)
@given(data=st.data())
def test_integer_meaning_at_16_bits(entry: Operation, data: st.DataObject) -> None:
    is_signed = data.draw(st.booleans())
    row = [data.draw(st.sampled_from(values(kind, 16, is_signed))) for kind in entry.operands]
    result = int(entry.evaluate(16, *[np.int64(value) for value in row])) % 2**16
    assert result == DEFINITIONS[entry.name](16, *row) % 2**16


@pytest.mark.parametrize("entry", [e for e in WORD_ENTRIES if e.commutative], ids=lambda entry: entry.name)
def test_operations_that_are_called_commutative_are(entry: Operation) -> None:
    for a, b in product(range(-4, 4), repeat=2):
        assert entry.evaluate(3, a, b) == entry.evaluate(3, b, a)


@pytest.mark.parametrize("table", range(256))
def test_lut3_is_its_truth_table(table: int) -> None:
    for p, q, r in product(range(2), repeat=3):
        assert operation("lut3").evaluate(16, table, p, q, r) == int(f"{table:08b}"[7 - (p + 2 * q + 4 * r)])


def test_an_unknown_operation_is_an_error_with_the_names() -> None:
    with pytest.raises(KeyError, match="unknown operation 'divide'; there are: abs, absd, adc, add, and, carry"):
        operation("divide")


def hardware_results(entry: Operation, width: int, is_signed: bool, rows: list[tuple[int, ...]]) -> list[int]:
    """What `entry.build` computes for every row of operands, by Amaranth's simulator."""
    words = [Signal(width, name=name) for name in "abc"]
    bits = [Signal(name=name) for name in "pqr"]
    table = Signal(8)
    a, b, c = (Mux(is_signed, word.as_signed(), word) for word in words)
    extended = [Signal(signed(width + 1), name=f"x{i}") for i in range(3)]
    datapath = Datapath(width, *extended, *bits, table, extended[0] * extended[1], extended[0] - extended[1])
    output = Signal(width if entry.result is Kind.WORD else 1)
    m = Module()
    m.d.comb += [target.eq(source) for target, source in zip(extended, (a, b, c), strict=True)]
    m.d.comb += output.eq(entry.build(datapath))
    results: list[int] = []

    async def bench(ctx) -> None:
        for row in rows:
            word, bit = iter(words), iter(bits)
            arguments = row
            if entry.name == "lut3":
                ctx.set(table, row[0])
                arguments = row[1:]
            for kind, value in zip(entry.operands, arguments, strict=True):
                ctx.set(next(word if kind is Kind.WORD else bit), value % 2**width)
            results.append(ctx.get(output))

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()
    return results


@pytest.mark.parametrize("entry", EVERY_OPERATION.values(), ids=lambda entry: entry.name)
@pytest.mark.parametrize("is_signed", [False, True])
def test_hardware_meaning_is_the_integer_meaning(entry: Operation, is_signed: bool) -> None:
    width = 3
    domains = [values(kind, width, is_signed) for kind in entry.operands]
    tables = [range(0, 256, 5)] if entry.name == "lut3" else []
    rows = list(product(*tables, *domains))
    mask = 2**width - 1 if entry.result is Kind.WORD else 1
    expected = [int(entry.evaluate(width, *row)) & mask for row in rows]
    assert hardware_results(entry, width, is_signed, rows) == expected
