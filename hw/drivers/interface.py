"""What a host has to know of a design: its registers, its arrays, where these lie in memory, and how a run is begun."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, Literal

from hw.dma.registers import RegisterMap

__all__ = ["Area", "Block", "HostArray", "HostInterface", "RegisterWrite", "c_identifier"]


def c_identifier(text: str) -> str:
    """`text` with underscores for everything that a C identifier cannot have."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", text)
    return name if name[:1].isalpha() or name[:1] == "_" else f"_{name}"


@dataclass(frozen=True)
class HostArray:
    """An array of the host, row-major. `role`: input or output. `type`: the format of an element, in the notation of
    programs; `c_type`: what holds one in C; `dtype`: the same for numpy."""

    name: str
    role: str
    type: str
    c_type: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def declaration(self) -> str:
        """As a parameter in C."""
        extents = "".join(f"[{extent}]" for extent in self.shape or (1,))
        return f"{'const ' if self.role == 'input' else ''}{self.c_type} {self.name}{extents}"


@dataclass(frozen=True)
class Block:
    """A box of an array's elements in memory, in loops of `shape`. Element *k* has in dimension *d* the index
    ``low[d] + step[d] * k[d]`` of the array and lies at byte ``offset + sum(strides[d] * k[d])`` of its area, as a
    word of the C type `word`. `shift`: words hold the bits of the element from this one on (where an element takes
    several words). `clamped`: indices outside of the array stand for the nearest one inside."""

    low: tuple[int, ...]
    step: tuple[int, ...]
    shape: tuple[int, ...]
    offset: int
    strides: tuple[int, ...]
    word: str
    shift: int = 0
    clamped: bool = False

    def describe(self) -> dict[str, Any]:
        """For the manifest."""
        more = {"shift": self.shift} if self.shift else {}
        more |= {"clamped": True} if self.clamped else {}
        return {"first": list(self.low), "step": list(self.step), "shape": list(self.shape), "offset": self.offset,
                "strides": list(self.strides), "word": self.word, **more}


@dataclass(frozen=True)
class Area:
    """A part of the design's memory that holds elements of `array`, None for constants: `bytes` bytes at `address`.

    `blocks`: which elements, where they lie in boxes; else `copy` gives the lines of C that move all of them between
    the array and the area, to which ``memory`` points, as words of the C type `word`, and `order` says which word is
    which. `strides`: bytes from tile to tile, by the loop over tiles.
    """

    name: str
    array: str | None
    address: int
    bytes: int
    blocks: tuple[Block, ...] = ()
    copy: Callable[[], Sequence[str]] | None = None
    layout: Literal["boxes", "stream", "tiles"] = "boxes"
    word: str = ""
    order: str = ""
    strides: Mapping[str, int] = field(default_factory=dict)

    def describe(self) -> dict[str, Any]:
        """For the manifest."""
        found = {"name": self.name, "address": self.address, "bytes": self.bytes, "layout": self.layout}
        if self.blocks:
            return found | {"blocks": [block.describe() for block in self.blocks]}
        more = {"word": self.word, "order": self.order, "strides": dict(self.strides)}
        return found | {key: value for key, value in more.items() if value}


@dataclass(frozen=True)
class RegisterWrite:
    """A write of `value` to the register at byte `offset`; `is_address`: with the memory's address on the design's bus
    added."""

    offset: int
    value: int
    is_address: bool = False


@dataclass(frozen=True)
class HostInterface:
    """A design as its host sees it.

    name: of functions and files, an identifier. writes: those of a run, the last of which starts it. image: (address,
    bytes) that memory has to hold before the first run beside the inputs; all else is zero. relocatable: memory may be
    anywhere on the design's bus, not at 0 only. kept: lines of C that move what the design leaves alone from inputs to
    outputs. cycles: registers with the clock cycles of a run, the low word first.
    base: byte offset of the register pair with the address of memory, 64 bits, which the design adds to all others.
    alignment: of memory, in bytes. definitions: lines of C that `Area.copy` needs.
    """

    name: str
    registers: RegisterMap
    arrays: tuple[HostArray, ...]
    areas: tuple[Area, ...]
    writes: tuple[RegisterWrite, ...]
    memory_bytes: int
    image: tuple[tuple[int, bytes], ...] = ()
    relocatable: bool = True
    kept: tuple[str, ...] = ()
    cycles: tuple[str, ...] = ("WALL_CYCLES",)
    alignment: int = 4096
    definitions: tuple[str, ...] = ()
    base: int | None = None

    @property
    def inputs(self) -> tuple[HostArray, ...]:
        """What the host gives."""
        return tuple(array for array in self.arrays if array.role == "input")

    @property
    def outputs(self) -> tuple[HostArray, ...]:
        """What it gets."""
        return tuple(array for array in self.arrays if array.role == "output")

    def areas_of(self, array: HostArray) -> list[Area]:
        """Where elements of `array` are."""
        return [area for area in self.areas if area.array == array.name]

    def describe_arrays(self) -> list[dict[str, Any]]:
        """Element types, layout and strides of every array, for the manifest."""
        return [{"name": array.name, "role": array.role, "type": array.type, "host_type": array.c_type,
                 "shape": list(array.shape), "elements": prod(array.shape),
                 "areas": [area.describe() for area in self.areas_of(array)]} for array in self.arrays]
