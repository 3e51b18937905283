"""Configuration registers: one layout from which both the hardware and the encoder of a unit come.

A unit's configuration is a list of named fields. `Layout` packs them into 32-bit registers of one feature of the
configuration bus; `ConfigurationStore` is the hardware that holds those registers. Liu 2023, section 6.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value, ValueLike
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.errors import SluiceError
from hw.lib.multiplexer import hold

__all__ = [
    "WORD_BITS",
    "ConfigSignature",
    "ConfigurationError",
    "ConfigurationStore",
    "Field",
    "Layout",
    "Words",
    "passed_on",
]

WORD_BITS = 32

Words = Mapping[tuple[int, int], int]
"""Configuration of one unit: data by (feature, register)."""


class ConfigurationError(SluiceError):
    """A configuration that does not fit the hardware, or configuration words that no configuration encodes to."""


class ConfigSignature(wiring.Signature):
    """Writes to configuration registers: in each cycle with `valid`, `data` (32 bits) to `register` (8) of `feature`
    (8), which is left out where all writes are to one feature."""

    def __init__(self, *, feature: bool = True):
        super().__init__({
            "valid": Out(1), **({"feature": Out(8)} if feature else {}), "register": Out(8), "data": Out(WORD_BITS)})


def passed_on(source: Any, target: Any, valid: ValueLike | None = None) -> list[Any]:
    """What gives the writes of one interface to another, of a configuration bus too; `valid` in place of the source's
    own says which."""
    others = [getattr(target, name).eq(getattr(source, name)) for name in target.signature.members if name != "valid"]
    return [target.valid.eq(source.valid if valid is None else valid), *others]


@dataclass(frozen=True)
class Field:
    """A named unsigned field of `width` bits (1 to 32); it is zero after a clear."""

    name: str
    width: int


@dataclass(frozen=True)
class Placement:
    """Where a field is: its register, the offset of its low bit, its width."""

    register: int
    offset: int
    width: int


@dataclass(frozen=True)
class Layout:
    """Fields packed in order into 32-bit registers 0, 1, ... of one `feature`; no field crosses a register."""

    owner: str
    feature: int
    fields: tuple[Field, ...]

    @cached_property
    def placements(self) -> dict[str, Placement]:
        """Place of each field by its name."""
        places: dict[str, Placement] = {}
        register = offset = 0
        for item in self.fields:
            if offset + item.width > WORD_BITS:
                register, offset = register + 1, 0
            places[item.name] = Placement(register, offset, item.width)
            offset += item.width
        return places

    @cached_property
    def register_widths(self) -> tuple[int, ...]:
        """Number of bits that are used in each register."""
        count = 1 + max(place.register for place in self.placements.values())
        return tuple(
            max(place.offset + place.width for place in self.placements.values() if place.register == register)
            for register in range(count)
        )

    def encode(self, values: Mapping[str, int]) -> dict[tuple[int, int], int]:
        """Words of the registers that differ from zero. Fields that are not named are zero.

        Raises `ConfigurationError` if a value does not fit its field.
        """
        registers: dict[int, int] = {}
        for name, value in values.items():
            place = self.placements[name]
            if not 0 <= value < 1 << place.width:
                raise ConfigurationError(f"{self.owner}: {name} = {value} does not fit in {place.width} bits")
            registers[place.register] = registers.get(place.register, 0) | value << place.offset
        return {(self.feature, register): data for register, data in sorted(registers.items()) if data}

    def decode(self, words: Words) -> dict[str, int]:
        """Value of every field. Words of other features are ignored.

        Raises `ConfigurationError` for a register that does not exist or a bit that no field owns.
        """
        registers = {register: data for (feature, register), data in words.items() if feature == self.feature}
        for register, data in registers.items():
            self._check(register, data)
        return {
            name: registers.get(place.register, 0) >> place.offset & (1 << place.width) - 1
            for name, place in self.placements.items()
        }

    def _check(self, register: int, data: int) -> None:
        if not 0 <= register < len(self.register_widths):
            raise ConfigurationError(f"{self.owner}: there is no register {register} in feature {self.feature}")
        if not 0 <= data < 1 << self.register_widths[register]:
            raise ConfigurationError(f"{self.owner}: register {register} cannot hold {data:#x}")


class ConfigurationStore(wiring.Component):
    """The registers of a `Layout`. A word that is written in one cycle is in effect in the next.

    Ports: `cfg`, a `ConfigSignature`: one word to write. `clear` zeroes all registers. `value(name)` gives a field as
    an unsigned value of its width.
    """

    def __init__(self, layout: Layout):
        self.layout = layout
        self._registers = [
            Signal(width, name=f"register_{index}") for index, width in enumerate(layout.register_widths)
        ]
        super().__init__({"cfg": In(ConfigSignature()), "clear": In(1)})

    def value(self, name: str) -> Value:
        """The field called `name`."""
        place = self.layout.placements[name]
        return self._registers[place.register][place.offset : place.offset + place.width]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        selected = self.cfg.valid & (self.cfg.feature == self.layout.feature)
        for index, register in enumerate(self._registers):
            written = hold(register, selected & (self.cfg.register == index), self.cfg.data[: len(register)])
            m.d.sync += register.eq(Mux(self.clear, 0, written))
        return m
