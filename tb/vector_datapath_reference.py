"""What the vector datapath must do, in plain arithmetic: elements, wavefronts, rows. Shares no code with the hardware.

Elements are numpy arrays of shape (wavefronts, elements) that hold unsigned n-bit numbers: int64 up to 16 bits, Python
integers for 32 bits, so that every intermediate result is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hw.vector_lanes.isa import Mode, Op

WIDTHS = (8, 16, 32)
SUM_BITS = 40


def as_value(numbers: np.ndarray, width: int, is_signed: bool) -> np.ndarray:
    """Unsigned patterns as the numbers that they stand for."""
    return np.where(is_signed & (numbers >= 1 << (width - 1)), numbers - (1 << width), numbers)


def fits(values: np.ndarray, width: int, is_signed: bool) -> np.ndarray:
    low, high = (-(1 << (width - 1)), 1 << (width - 1)) if is_signed else (0, 1 << width)
    return (low <= values) & (values < high)


@dataclass
class Elements:
    """Operands of one instruction at execution width: patterns, and flags (0 or 1)."""

    a: np.ndarray
    fa: np.ndarray
    b: np.ndarray
    fb: np.ndarray
    d: np.ndarray


@dataclass
class Results:
    """`value` before it is cut to n bits, `flag`, whether the condition of a move holds, and the exact product."""

    value: np.ndarray
    flag: np.ndarray
    holds: np.ndarray
    product: np.ndarray


def compute(mode: Mode, width: int, fraction: int, e: Elements) -> Results:
    """All elements by the definition of the operation."""
    signed, op = mode.signed, mode.op
    a, b = as_value(e.a, width, signed), as_value(e.b, width, signed)
    none, always = e.fa * 0, e.fa * 0 == 0
    product = a * b
    if op.conditional:
        return Results(e.a, e.fa, conditional(op, signed, b, e.fb), product)
    if op <= Op.VSUBB:
        value, flag = arithmetic(mode, width, a, b, e)
    elif op in (Op.VMIN, Op.VMAX):
        value, flag = np.where((a < b) == (op is Op.VMIN), a, b), none
    elif op >= Op.VSEQ:
        value, flag = compare(op, a, b), none
    elif op in (Op.VSHL, Op.VSHR, Op.VROTL, Op.VROTR):
        value, flag = shift(op, width, signed, e, b)
    else:
        value, flag = multiply(op, width, signed, fraction, product, e)
    return Results(value, flag, always, product)


def arithmetic(mode: Mode, width: int, a: np.ndarray, b: np.ndarray, e: Elements) -> tuple[np.ndarray, np.ndarray]:
    table = {
        Op.VMOV: (a, e.fa), Op.VAND: (a & b, e.fa & e.fb), Op.VOR: (a | b, e.fa | e.fb), Op.VXOR: (a ^ b, e.fa ^ e.fb),
        Op.VADD: (a + b, None), Op.VSUB: (a - b, None), Op.VADDC: (a + b + e.fb, None), Op.VSUBB: (a - b - e.fb, None),
    }  # fmt: skip
    value, flag = table[mode.op]
    if mode.absolute:
        return np.abs(value), e.fa * 0
    return value, 1 - fits(value, width, mode.signed) if flag is None else flag


def compare(op: Op, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    table = {
        Op.VSEQ: a == b, Op.VSNE: a != b, Op.VSLT: a < b, Op.VSLE: a <= b, Op.VSGT: a > b, Op.VSGE: a >= b,
    }  # fmt: skip
    return np.where(table[op], a * 0 + 1, a * 0)


def conditional(op: Op, signed: bool, b: np.ndarray, flag: np.ndarray) -> np.ndarray:
    less = (flag == 1) ^ (b < 0) if signed else flag == 1
    zero = b == 0
    return {
        Op.VCMV_LEZ: less | zero, Op.VCMV_GTZ: ~(less | zero), Op.VCMV_LTZ: less, Op.VCMV_GEZ: ~less,
        Op.VCMV_Z: zero, Op.VCMV_NZ: ~zero,
    }[op]  # fmt: skip


def shift(op: Op, width: int, signed: bool, e: Elements, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    one = e.a * 0 + 1
    if op in (Op.VROTL, Op.VROTR):
        left = e.a % width if op is Op.VROTL else (width - e.a % width) % width
        power = one << left
        return e.b * power % (1 << width) + e.b * power // (1 << width), e.fb
    if op is Op.VSHL:
        value = np.where(e.a < width, b * (one << np.minimum(e.a, width - 1)), 0)
        return value, 1 - fits(value, width, signed)
    amount = np.minimum(e.a, width)
    below = b // (one << np.maximum(amount - 1, 0)) % 2
    return b // (one << amount), np.where(amount == 0, 0, below)


def multiply(
    op: Op, width: int, signed: bool, fraction: int, product: np.ndarray, e: Elements
) -> tuple[np.ndarray, np.ndarray]:
    if op is Op.VMAC:
        return product + e.d, e.fa * 0
    if op is Op.VMULHI:
        return product // (1 << width), product // (1 << (width - 1)) % 2
    value = product if op is Op.VMUL else product // (1 << fraction)
    return value, 1 - fits(value, width, signed)


def summands(mode: Mode, width: int, results: Results) -> np.ndarray:
    """What each element adds to the sum of its row."""
    if mode.op is Op.VMUL:
        return results.product
    signed = mode.signed and not mode.absolute
    values = as_value(results.value % (1 << width), width, signed)
    return np.where(results.holds, values, 0)


@dataclass
class Wave:
    """One wavefront: what stands at the inputs of the datapath. Rows and flags by bank."""

    mode: Mode
    a_row: np.ndarray
    a_flags: np.ndarray
    a_offset: int
    b_row: np.ndarray
    b_flags: np.ndarray
    b_offset: int
    d_offset: int
    scalar: int = 0
    index: int = 0
    count: int = 0
    mask: int = 0
    first: bool = False
    last: bool = False


@dataclass(frozen=True)
class Write:
    """A result: bytes, flags and strobes by bank, as numbers; zero where nothing is written."""

    data: int
    flags: int
    strobe: int


Outcome = Write | int | None
"""What comes of a wavefront: a write, the bits of a mask, or nothing."""


def pack_bytes(rows: np.ndarray) -> list[int]:
    """Rows of bytes as numbers, the first byte lowest."""
    return [int.from_bytes(row.tobytes(), "little") for row in rows.astype(np.uint8)]


def pack_bits(rows: np.ndarray) -> list[int]:
    """Rows of bits as numbers, the first bit lowest."""
    return pack_bytes(np.packbits(rows.astype(np.uint8), axis=-1, bitorder="little"))


def read(rows: np.ndarray, flags: np.ndarray, offsets: np.ndarray, mode: Mode, size: int) -> tuple[Any, Any]:
    """Elements of 2**size bytes at execution width, and their flags, out of rows by bank."""
    width, bytes_each = WIDTHS[mode.exec_size], 1 << size
    first = np.arange(rows.shape[1] * 8 // width) * bytes_each
    banks = [(offsets[:, None] + first + byte) % rows.shape[1] for byte in range(bytes_each)]
    parts = [np.take_along_axis(rows, bank, 1).astype(np.int64) << 8 * byte for byte, bank in enumerate(banks)]
    numbers = np.sum(parts, axis=0).astype(np.int64 if width <= 16 else object)
    extended = as_value(numbers, 8 * bytes_each, mode.signed) % (1 << width)
    return extended, np.take_along_axis(flags, banks[0], 1).astype(np.int64)


def column(waves: list[Wave], name: str) -> np.ndarray:
    """A property of all wavefronts."""
    return np.array([getattr(wave, name) for wave in waves])


def operands(waves: list[Wave]) -> Elements:
    """The operands at all places of wavefronts of one mode."""
    mode = waves[0].mode
    width, mac = WIDTHS[mode.exec_size], mode.op is Op.VMAC
    sizes = {
        "a": mode.out_size if mac and mode.scalar else mode.in_size,
        "b": mode.out_size if mac and not mode.scalar else mode.in_size,
    }
    (a, fa), (b, fb) = (
        read(
            column(waves, f"{port}_row"), column(waves, f"{port}_flags"), column(waves, f"{port}_offset"),
            mode, sizes[port],
        )
        for port in "ab"
    )  # fmt: skip
    d = a if mode.scalar else b
    if mode.scalar:
        a, fa = a * 0 + column(waves, "scalar")[:, None] % (1 << width), fa * 0
    if mode.enumerated:
        numbers = column(waves, "index")[:, None] + np.arange(a.shape[1])
        b, fb = (b * 0 + numbers) % (1 << width), fb * 0
    return Elements(a, fa, b, fb, d)


def active(waves: list[Wave]) -> np.ndarray:
    """Which places of wavefronts are executed, by count and mask."""
    mode, width = waves[0].mode, len(waves[0].a_row)
    places = np.arange(width >> mode.exec_size)
    counted = places < column(waves, "count")[:, None]
    if not mode.masked:
        return counted
    masks = np.array([[wave.mask >> int(place << mode.exec_size) & 1 for place in places] for wave in waves])
    return counted & (masks == 1)


def writes(values: Any, flags: Any, enabled: Any, size: int, offsets: np.ndarray, width: int) -> list[Write]:
    """Elements of 2**size bytes to banks of a row of `width`, one row for each row of the arrays."""
    bytes_each = 1 << size
    data, flag, strobe = np.zeros((3, len(values), width), np.uint8)
    for byte in range(bytes_each):
        banks = (offsets[:, None] + np.arange(values.shape[1]) * bytes_each + byte) % width
        rows, columns = np.nonzero(enabled)
        target = rows, banks[rows, columns]
        data[target] = (values[rows, columns] >> 8 * byte) & 255
        flag[target] = flags[rows, columns]
        strobe[target] = 1
    return list(map(Write, pack_bytes(data), pack_bits(flag), pack_bits(strobe)))


def outcomes(waves: list[Wave], fraction_bits: tuple[int, int, int]) -> list[Outcome]:
    """What comes of wavefronts that are one after the other in the pipeline, all of one mode."""
    mode = waves[0].mode
    width = WIDTHS[mode.exec_size]
    results = compute(mode, width, fraction_bits[mode.exec_size], operands(waves))
    enabled = active(waves)
    if mode.accumulate:
        added = np.where(enabled, summands(mode, width, results), 0).astype(object).sum(axis=1)
        return list(_totals(waves, added))
    enabled = enabled & results.holds
    if mode.sets_mask:
        return list(pack_bits(np.repeat(enabled, 1 << mode.exec_size, axis=1)))
    banks, offsets = len(waves[0].a_row), column(waves, "d_offset")
    return list(writes(results.value, results.flag, enabled, mode.out_size, offsets, banks))


def _totals(waves: list[Wave], added: np.ndarray) -> Iterator[Outcome]:
    total = 0
    for wave, number in zip(waves, added, strict=True):
        mode = wave.mode
        total = ((0 if wave.first else total) + int(number)) % (1 << SUM_BITS)
        value = as_value(np.array([[total]]), SUM_BITS, mode.signed)
        flag = 1 - fits(value, WIDTHS[mode.out_size], mode.signed)
        written = writes(value, flag, value == value, mode.out_size, np.array([wave.d_offset]), len(wave.a_row))
        yield written[0] if wave.last else None
