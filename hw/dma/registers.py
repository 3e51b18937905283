"""Control registers from one description: documentation, C header, Python access and the layout hardware uses.

A `RegisterMap` lists 32-bit registers with their fields, and windows: groups of registers that repeat for
every unit of some kind and that hardware keeps in a memory. `hw.dma.register_file` builds the AXI4-Lite
subordinate from the same description.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Literal

from hw.errors import SluiceError

__all__ = ["RUN_CONTROL", "RUN_STATUS", "Field", "Register", "RegisterError", "RegisterMap", "Window"]

WORD_BITS = 32
WORD_BYTES = 4

Access = Literal["constant", "read", "write", "pulse"]
"""constant: fixed at build time. read: hardware drives it. write: the host writes it and reads it back.
pulse: a written 1 is a pulse of one cycle; reads as 0."""


class RegisterError(SluiceError):
    """A register, field or value that the map does not have."""


@dataclass(frozen=True)
class Field:
    """Bits ``low .. low + width - 1`` of a register. `values` names the codes of an enumerated field."""

    name: str
    low: int
    width: int
    description: str
    values: type[IntEnum] | None = None

    @property
    def mask(self) -> int:
        """The field's bits inside the register."""
        return ((1 << self.width) - 1) << self.low

    def extract(self, word: int) -> int:
        """This field's value in a register's `word`."""
        return (word & self.mask) >> self.low


RUN_CONTROL = (
    Field("start", 0, 1, "1 starts a run; ignored and flagged while busy"),
    Field("clear", 1, 1, "1 clears done, error and start_ignored; aborts a run"),
)
"""Fields of register CONTROL of a system that a host starts and that ends its runs with an interrupt."""

RUN_STATUS = (
    Field("busy", 0, 1, "a run is going on"),
    Field("done", 1, 1, "a run has ended, well or not; also the interrupt"),
    Field("start_ignored", 2, 1, "start was written while busy"),
)
"""The first fields of its register STATUS."""


@dataclass(frozen=True)
class Register:
    """One 32-bit register. Without `fields` the whole word is one value. `reset` is a constant's value too.
    `is_address`: it holds a byte address of main memory."""

    name: str
    offset: int
    access: Access
    description: str
    fields: tuple[Field, ...] = ()
    reset: int = 0
    is_address: bool = False

    def field(self, name: str) -> Field:
        """The field called `name`. Raises `RegisterError`."""
        for entry in self.fields:
            if entry.name == name:
                return entry
        raise RegisterError(f"register {self.name} has no field '{name}'")

    @property
    def parts(self) -> tuple[Field, ...]:
        """The fields, or the whole word as one field called ``value``."""
        return self.fields or (Field("value", 0, WORD_BITS, self.description),)


@dataclass(frozen=True)
class Window:
    """`count` copies of the same writable registers, `stride` bytes apart from `offset` on."""

    name: str
    offset: int
    stride: int
    count: int
    description: str
    registers: tuple[Register, ...]


@dataclass(frozen=True)
class RegisterMap:
    """All registers of one AXI4-Lite subordinate. Offsets are in bytes. Raises `RegisterError` on overlaps."""

    name: str
    registers: tuple[Register, ...]
    windows: tuple[Window, ...] = ()

    def __post_init__(self) -> None:
        for register in self.registers:
            _check_register(register)
        for window in self.windows:
            _check_window(window)
        _check_overlaps(self)

    @cached_property
    def addresses(self) -> dict[str, int]:
        """Byte offset of every register by name; a window's are called ``WINDOW[index].REGISTER``."""
        return dict(_locations(self))

    @cached_property
    def by_offset(self) -> dict[int, Register]:
        """Every register by its byte offset, those of windows too."""
        repeated = {window.offset + index * window.stride + register.offset: register
                    for window in self.windows for index in range(window.count) for register in window.registers}
        return {register.offset: register for register in self.registers} | repeated

    @cached_property
    def address_width(self) -> int:
        """Bits of the byte addresses."""
        return max(self.addresses.values()).bit_length()

    def address(self, name: str) -> int:
        """Byte offset of register `name`. Raises `RegisterError`."""
        try:
            return self.addresses[name]
        except KeyError:
            raise RegisterError(f"there is no register '{name}' in {self.name}") from None

    def register(self, name: str) -> Register:
        """The description of a register that is in no window. Raises `RegisterError`."""
        for register in self.registers:
            if register.name == name:
                return register
        raise RegisterError(f"there is no register '{name}' in {self.name}")

    def window(self, name: str) -> Window:
        """The window called `name`. Raises `RegisterError`."""
        for window in self.windows:
            if window.name == name:
                return window
        raise RegisterError(f"there is no window '{name}' in {self.name}")

    def encode(self, name: str, **fields: int) -> int:
        """The word of register `name` with the given fields and zeros elsewhere. Raises `RegisterError`."""
        word = 0
        for key, value in fields.items():
            field = self.register(name).field(key)
            if not 0 <= value < 1 << field.width:
                raise RegisterError(f"{name}.{key} is {value}, but has {field.width} bits")
            word |= value << field.low
        return word

    def decode(self, name: str, word: int) -> dict[str, int]:
        """Every field of register `name` in `word`; enumerated fields as members where the code has a name."""
        return {field.name: _named(field, field.extract(word)) for field in self.register(name).parts}

    def c_header(self) -> str:
        """The map as a C header: offsets, shifts, masks and codes."""
        return "\n".join(_header_lines(self)) + "\n"

    def markdown(self) -> str:
        """The map as Markdown tables."""
        return "\n".join(_markdown_lines(self)) + "\n"


def _named(field: Field, value: int) -> int:
    if field.values is not None and value in set(field.values):
        return field.values(value)
    return value


def _check_register(register: Register) -> None:
    if register.offset % WORD_BYTES:
        raise RegisterError(f"register {register.name} is at {register.offset:#x}, not a multiple of 4")
    used = 0
    for field in register.fields:
        if used & field.mask:
            raise RegisterError(f"field {register.name}.{field.name} overlaps another")
        if field.mask >> WORD_BITS:
            raise RegisterError(f"field {register.name}.{field.name} does not fit into 32 bits")
        used |= field.mask


def _check_window(window: Window) -> None:
    size = window.stride
    if size & (size - 1) or window.offset % size:
        raise RegisterError(f"window {window.name} must start at a multiple of its stride, a power of two")
    for register in window.registers:
        _check_register(register)
        if register.offset >= size:
            raise RegisterError(f"register {register.name} is outside window {window.name}")


def _check_overlaps(registers: RegisterMap) -> None:
    seen: dict[int, str] = {}
    for name, address in _locations(registers):
        if address in seen:
            raise RegisterError(f"registers {seen[address]} and {name} are both at {address:#x}")
        seen[address] = name


def _locations(registers: RegisterMap) -> Iterator[tuple[str, int]]:
    for register in registers.registers:
        yield register.name, register.offset
    for window in registers.windows:
        for index in range(window.count):
            for register in window.registers:
                yield (f"{window.name}[{index}].{register.name}",
                       window.offset + index * window.stride + register.offset)


def _header_lines(registers: RegisterMap) -> Iterator[str]:
    prefix = registers.name.upper()
    yield f"#ifndef {prefix}_REGISTERS_H"
    yield f"#define {prefix}_REGISTERS_H"
    for register in registers.registers:
        yield ""
        yield from _header_register(f"{prefix}_{register.name}", f"0x{register.offset:04x}", register)
    for window in registers.windows:
        yield ""
        yield f"/* {window.description} */"
        yield f"#define {prefix}_{window.name}_COUNT {window.count}"
        for register in window.registers:
            place = f"(0x{window.offset + register.offset:04x} + 0x{window.stride:x} * (i))"
            yield from _header_register(f"{prefix}_{window.name}_{register.name}(i)", place, register)
    yield ""
    yield "#endif"


def _header_register(name: str, place: str, register: Register) -> Iterator[str]:
    yield f"/* {register.description} */"
    yield f"#define {name} {place}"
    base = name.removesuffix("(i)")
    if register.access == "constant":
        yield f"#define {base}_CONSTANT 0x{register.reset:08x}u"
    for field in register.fields:
        yield f"#define {base}_{field.name.upper()}_SHIFT {field.low}"
        yield f"#define {base}_{field.name.upper()}_MASK 0x{field.mask:08x}u"
        for code in field.values or ():
            yield f"#define {base}_{field.name.upper()}_{code.name} {code.value}"


def _markdown_lines(registers: RegisterMap) -> Iterator[str]:
    yield "| offset | register | access | meaning |"
    yield "|---|---|---|---|"
    for register in registers.registers:
        yield from _markdown_register(f"0x{register.offset:04x}", register)
    for window in registers.windows:
        yield ""
        yield f"{window.name}: {window.description}. Copy *i* (0 to {window.count - 1}) starts at " \
              f"0x{window.offset:04x} + 0x{window.stride:x}·*i*."
        yield ""
        yield "| offset in copy | register | access | meaning |"
        yield "|---|---|---|---|"
        for register in window.registers:
            yield from _markdown_register(f"0x{register.offset:02x}", register)


def _markdown_register(place: str, register: Register) -> Iterator[str]:
    yield f"| {place} | {register.name} | {register.access} | {register.description} |"
    for field in register.fields:
        bits = f"{field.low + field.width - 1}:{field.low}" if field.width > 1 else f"{field.low}"
        codes = ", ".join(f"{code.value} {code.name}" for code in field.values or ())
        meaning = f"{field.description}: {codes}" if codes else field.description
        yield f"| {bits} | {register.name}.{field.name} | | {meaning} |"
