"""Options of the systolic target."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compiler.bind.memory_options import MemoryOptions
from compiler.bind.systolic.errors import MappingError
from hw.dataflow.floating import FLOAT_LATENCY
from hw.float.spec import LONGEST
from hw.systolic.spec import BUSES
from hw.technology import TECHNOLOGIES

__all__ = ["Options"]


@dataclass(frozen=True)
class Options(MemoryOptions):
    """Choices of the user; what is None the compiler chooses.

    * `space`: one or two space loops, ``("i", "j")`` or ``"i,j"``.
    * `array`: processing elements along each space loop, ``(4, 8)`` or ``"4x8"``.
    * `time`: steps per tile along loops, ``{"k": 16}`` or ``"k:16,i:2"``; for a space loop these are the iterations
      that each processing element has of it in a tile (latency hiding).
    * `order`: the loops of a tile, outermost first; loops that are left out are further out.
    * `simd`: loop and lanes, ``("k", 4)`` or ``"k:4"``; ``"off"`` for none.
    * `pack`: words per beat of the daisy chains (a power of two). `double_buffering`: tiles are fetched and results
      leave while the array computes. `bus_bits`: width of the memory port.
    * `technology`: an FPGA family (``"ecp5"``) whose multipliers the Verilog names, with the registers inside them,
      for flows that move none there; None: Verilog for any FPGA.
    * `latency`: cycles of operations on floating-point numbers, ``{"add": 6}`` or ``"add:6,mul:4"``; the others take
      those of `hw.dataflow.floating.FLOAT_LATENCY`.
    * `reassociate`: whether sums of floating-point numbers may be made along space loops, in lanes and in any order of
      tiles; results are then those of `SystolicDesign.reference`, bit for bit.
    * `partial_sums` of each result, a power of two, which steps take in turns; with `reassociate`.
    * `check`: whether the plan is proven before hardware is made (translation validation).

    Raises `MappingError` for values outside these.
    """

    space: Any = None
    array: Any = None
    time: Any = None
    order: Any = None
    simd: Any = None
    pack: int | None = None
    double_buffering: bool = True
    bus_bits: int = 64
    technology: str | None = None
    latency: Any = None
    reassociate: bool = False
    partial_sums: int | None = None
    check: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        set_ = object.__setattr__
        set_(self, "space", _names("space", self.space))
        set_(self, "array", _numbers("array", self.array))
        set_(self, "time", _counts("time", self.time))
        set_(self, "latency", _counts("latency", self.latency, "operations", "add:6,mul:4"))
        for op, cycles in (self.latency or {}).items():
            if op not in FLOAT_LATENCY or cycles > LONGEST:
                raise MappingError(f"latency of '{op}' is {cycles}; operations on floating-point numbers take 1 to "
                                   f"{LONGEST} cycles: {', '.join(FLOAT_LATENCY)}")
        set_(self, "order", _names("order", self.order))
        set_(self, "simd", _simd(self.simd))
        if self.pack is not None and (not _whole(self.pack) or self.pack & (self.pack - 1)):
            raise MappingError(f"pack is {self.pack}, not a power of two")
        parts = self.partial_sums
        if parts is not None and (not _whole(parts) or parts & (parts - 1)):
            raise MappingError(f"partial_sums is {parts!r}, not a power of two")
        if parts not in (None, 1) and not self.reassociate:
            raise MappingError(f"partial_sums={parts} adds floating-point numbers in another order than the program, "
                               "which rounds otherwise; let sums change with reassociate=True")
        if self.bus_bits not in BUSES:
            raise MappingError(f"bus_bits is {self.bus_bits}, not one of {', '.join(map(str, BUSES))}")
        if self.technology is not None and self.technology not in TECHNOLOGIES:
            raise MappingError(f"technology is {self.technology!r}, not one of {', '.join(TECHNOLOGIES)}")
        for name in ("double_buffering", "reassociate", "check"):
            if not isinstance(getattr(self, name), bool):
                raise MappingError(f"{name} is {getattr(self, name)!r}, neither True nor False")
        if self.array is not None and self.space is not None and len(self.array) != len(self.space):
            raise MappingError(f"array has {len(self.array)} extents for {len(self.space)} space loops")


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _names(option: str, value: Any) -> tuple[str, ...] | None:
    given = value
    if value is None:
        return None
    parts = re.split(r"[,\s]+", value.strip()) if isinstance(value, str) else value
    if not isinstance(parts, Sequence) or not parts or not all(isinstance(p, str) and p for p in parts):
        raise MappingError(f"{option} is {given!r}; write loop names, like i,j")
    if len(set(parts)) != len(parts):
        raise MappingError(f"{option} names a loop twice: {', '.join(parts)}")
    return tuple(parts)


def _numbers(option: str, value: Any) -> tuple[int, ...] | None:
    given = value
    if value is None:
        return None
    if isinstance(value, str):
        value = [int(p) if p.isdecimal() else p for p in re.split(r"[x,]", value)]
    elif isinstance(value, int):
        value = (value,)
    if not isinstance(value, Sequence) or not 1 <= len(value) <= 2 or not all(map(_whole, value)):
        raise MappingError(f"{option} is {given!r}; write one or two numbers of at least 1, like 4x8")
    return tuple(value)


def _counts(option: str, value: Any, what: str = "loops", example: str = "i:2,k:8") -> Mapping[str, int] | None:
    given = value
    if value is None:
        return None
    if isinstance(value, str):
        pairs = [part.partition(":") for part in value.split(",")]
        value = {name.strip(): int(number) if number.strip().isdecimal() else number for name, _, number in pairs}
    if not isinstance(value, Mapping) or not all(isinstance(k, str) and _whole(v) for k, v in value.items()):
        raise MappingError(f"{option} is {given!r}; write {what} with numbers of at least 1, like {example}")
    return dict(value)


def _simd(value: Any) -> tuple[str, int] | None:
    """("", 1) is none at all."""
    given = value
    if value is None:
        return None
    if value in ("off", ("", 1)):
        return "", 1
    if isinstance(value, str):
        name, _, number = value.partition(":")
        value = (name, int(number) if number.isdecimal() else number)
    if not isinstance(value, Sequence) or len(value) != 2 or not isinstance(value[0], str) or not _whole(value[1]):
        raise MappingError(f"simd is {given!r}; write a loop and a number of lanes, like k:4, or off")
    return value[0], value[1]
