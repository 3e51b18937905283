"""Text form of instruction-queue entries: one entry per line, prints and parses back.

::

    SET_VL 64                             # control operations by name, operands in order of the fields a, b, d, c
    DMA_TO_VECTOR 0x0, 0x1000, 256, 0
    VADD.2D.acc VVBHU 0x200, 0x0, 0x40    # operation and variants, mode as in C, then D, A, B
    raw 0x1ffff, 1, 2, 3, 4               # anything else: code and a, b, d, c; `rawc` for control entries

Text after ``#`` and empty lines are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable

from hw.errors import SluiceError
from hw.vector_lanes.isa import (
    CONTROLS,
    FUSED,
    OPERATION_NAMES,
    SIZE_LETTERS,
    Control,
    EncodingError,
    Entry,
    Mode,
    Op,
)

__all__ = ["AssemblyError", "assemble", "disassemble", "entry_text", "mode_text"]

_SHAPES = ("1D", "2D", "3D")


class AssemblyError(SluiceError):
    """A line that is no entry; the message has its number."""


def mode_text(mode: Mode) -> str:
    """Sources, sizes and sign as in C: VVW, SVBHU, VVF."""
    sources = ("S" if mode.scalar else "V") + ("E" if mode.enumerated else "V")
    sizes = SIZE_LETTERS[mode.in_size] + (SIZE_LETTERS[mode.out_size] if mode.out_size != mode.in_size else "")
    return sources + sizes + ("" if mode.signed else "U")


def _variants(mode: Mode) -> str:
    shape = [_SHAPES[mode.dimensions]] if mode.dimensions else []
    marks = [name for name, on in (("masked", mode.masked), ("acc", mode.accumulate),
                                   ("abs", mode.absolute and not mode.sets_mask), ("mask", mode.sets_mask)) if on]
    return "".join(f".{part}" for part in shape + marks)


def entry_text(entry: Entry) -> str:
    """One line, without a comment."""
    if entry.control:
        return _control_text(entry)
    mode = entry.mode
    if entry.c or mode.dimensions == 3:
        return f"raw {entry.code:#x}, {entry.a:#x}, {entry.b:#x}, {entry.d:#x}, {entry.c:#x}"
    return f"{mode.name}{_variants(mode)} {mode_text(mode)} {entry.d:#x}, {entry.a:#x}, {entry.b:#x}"


def _control_text(entry: Entry) -> str:
    values = [entry.a, entry.b, entry.d, entry.c]
    known = entry.code < Control.OPERANDS
    count = len(CONTROLS[Control(entry.code)].operands) if known else 0
    if not known or any(values[count:]):
        return f"rawc {entry.code:#x}, " + ", ".join(f"{value:#x}" for value in values)
    return f"{Control(entry.code).name} " + ", ".join(map(_number_text, values[:count]))


def _number_text(value: int) -> str:
    if value >= 0xFFFF0000:
        return str(value - (1 << 32))
    return str(value) if value < 1024 else f"{value:#x}"


def disassemble(entries: Iterable[Entry]) -> str:
    """The text of many entries, one line each."""
    return "".join(entry_text(entry) + "\n" for entry in entries)


def assemble(text: str) -> list[Entry]:
    """The entries of a text. Raises `AssemblyError`."""
    entries = []
    for number, line in enumerate(text.splitlines(), 1):
        code = line.split("#")[0].strip()
        if code:
            try:
                entries.append(_parse(code))
            except (EncodingError, _Problem) as error:
                raise AssemblyError(f"line {number}: {error}") from None
    return entries


class _Problem(Exception):
    """Why a line cannot be read."""


def _parse(line: str) -> Entry:
    head, _, rest = line.partition(" ")
    if head in ("raw", "rawc"):
        code, a, b, d, c = _numbers(rest, 5)
        return Entry(head == "rawc", code, a, b, d, c)
    if head in Control.__members__ and Control[head].queued:
        values = _numbers(rest, len(CONTROLS[Control[head]].operands))
        return Entry.of(Control[head], *values)
    name, *variants = head.split(".")
    if name not in OPERATION_NAMES:
        raise _Problem(f"there is no operation '{name}'")
    mode, _, operands = rest.strip().partition(" ")
    d, a, b = _numbers(operands, 3)
    found = _mode(OPERATION_NAMES[name], variants, mode)
    if name == FUSED and not found.fuses:
        raise _Problem(f"{FUSED} goes with floating-point numbers, not with '{mode}'")
    return Entry.vector(found, d, a, b)


def _numbers(text: str, count: int) -> list[int]:
    words = [word.strip() for word in text.split(",")]
    if len(words) != count or not all(words):
        raise _Problem(f"{count} numbers with commas are needed, not '{text.strip()}'")
    try:
        return [int(word, 0) for word in words]
    except ValueError:
        raise _Problem(f"'{text.strip()}' are not all numbers") from None


def _mode(op: Op, variants: list[str], text: str) -> Mode:
    signed = not text.endswith("U")
    sources, sizes = text[:2], text[2:] if signed else text[2:-1]
    if sources not in ("VV", "SV", "VE", "SE") or not 1 <= len(sizes) <= 2 or not set(sizes) <= set(SIZE_LETTERS):
        raise _Problem(f"'{text}' is no mode; one is VVW, SVBHU")
    shapes = [v for v in variants if v in _SHAPES]
    unknown = set(variants) - set(_SHAPES) - {"masked", "acc", "abs", "mask"}
    if unknown or len(shapes) > 1:
        raise _Problem(f"variants of an operation are 2D or 3D, masked, acc, abs, mask, not '{'.'.join(variants)}'")
    if ("mask" in variants and not op.conditional) or ("abs" in variants and op.conditional):
        raise _Problem(f"'mask' goes with conditional moves and 'abs' with others, not with {op.name}")
    return Mode(op, signed, SIZE_LETTERS.index(sizes[0]), SIZE_LETTERS.index(sizes[-1]), enumerated=sources[1] == "E",
                scalar=sources[0] == "S", masked="masked" in variants, accumulate="acc" in variants,
                dimensions=_SHAPES.index(shapes[0]) if shapes else 0, absolute=bool({"abs", "mask"} & set(variants)))
