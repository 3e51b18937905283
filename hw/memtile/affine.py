"""Affine access patterns: what a controller does, as a loop nest, and its encoding in configuration registers.

The hardware is in `hw.memtile.controller`; nothing here depends on it, so `AffineNest.events` is its software
model. Registers of one controller (its feature is given by the unit that contains it):

==============  ==================================================================================
register        contents
==============  ==================================================================================
0x00            bit 31 enable; bit d set if dimension d has a single iteration (only outermost ones can)
0x10 + d        trip count of dimension d less 2
0x20 + d        cycles from an event to the next one if that increments dimension d, less 1
0x2F            cycle of the first event
0x30+16a + d    change of address a from an event to the next one if that increments dimension d
0x3F+16a        address a of the first event
==============  ==================================================================================

Entries of dimensions with a single iteration are never read, and need not be written.
Liu 2023, section 6.1.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hw.memtile.spec import AffineSpec, ConfigurationError

__all__ = ["Affine", "AffineNest", "ControllerRegister", "decode_nest", "deltas", "encode_nest", "strides"]


class ControllerRegister:
    """Register numbers of a controller; tables are 16 registers apart."""

    CONTROL = 0x00
    RANGE = 0x10
    TIME = 0x20
    ADDRESS = 0x30
    TABLE = 0x10
    ENABLE_BIT = 31


@dataclass(frozen=True)
class Affine:
    """``offset + sum_d i_d * strides[d]``, innermost dimension first. Strides may be negative."""

    strides: tuple[int, ...]
    offset: int = 0

    def __post_init__(self) -> None:
        _require_ints((*self.strides, self.offset), "address")


@dataclass(frozen=True)
class AffineNest:
    """A loop nest whose every iteration is an event: it happens in a cycle and has addresses.

    `ranges` are trip counts, innermost first. The event of iteration vector i happens in cycle
    ``time_offset + sum_d i_d * time[d]`` (unstalled cycles since the start) with one address of each of
    `addresses`. Events are in lexicographic order of the nest, and each must be at least one cycle after the last.

    Raises `ConfigurationError` if the parts disagree, or if time does not advance.
    """

    ranges: tuple[int, ...]
    time: tuple[int, ...]
    time_offset: int
    addresses: tuple[Affine, ...]

    def __post_init__(self) -> None:
        _require_ints((*self.ranges, *self.time, self.time_offset), "nest")
        if not self.ranges:
            raise ConfigurationError("nest has no dimensions")
        for name, strides_ in [("time", self.time), *((f"address {a}", x.strides) for a, x in self._numbered)]:
            if len(strides_) != len(self.ranges):
                raise ConfigurationError(f"{name} has {len(strides_)} strides for {len(self.ranges)} dimensions")
        self._check_order()

    def _check_order(self) -> None:
        if self.time_offset < 0:
            raise ConfigurationError(f"first event is in cycle {self.time_offset}, before the start")
        for d, trips in enumerate(self.ranges):
            if trips < 1:
                raise ConfigurationError(f"dimension {d} has {trips} iterations")
        for d, (trips, delta) in enumerate(zip(self.ranges, deltas(self.ranges, self.time), strict=True)):
            if trips > 1 and delta < 1:
                raise ConfigurationError(f"incrementing dimension {d} takes {delta} cycles, at least 1 is needed")

    @property
    def _numbered(self) -> Iterator[tuple[int, Affine]]:
        return enumerate(self.addresses)

    @property
    def count(self) -> int:
        """Number of events."""
        return int(np.prod(self.ranges, dtype=object))

    @property
    def last_time(self) -> int:
        """Cycle of the last event."""
        return self.time_offset + sum((n - 1) * s for n, s in zip(self.ranges, self.time, strict=True))

    def evaluate(self, function: Affine) -> np.ndarray:
        """Values of an affine function of this nest's iterators, one per event in order, as int64."""
        total = np.array([function.offset], dtype=np.int64)
        for trips, stride in zip(self.ranges, function.strides, strict=True):
            total = (np.arange(trips, dtype=np.int64)[:, None] * stride + total[None, :]).ravel()
        return total

    def times(self) -> np.ndarray:
        """Cycles of all events, in order, as int64."""
        return self.evaluate(Affine(self.time, self.time_offset))

    def events(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """All events in order: cycle, and unwrapped addresses."""
        columns = [self.evaluate(address).tolist() for address in self.addresses]
        yield from zip(self.times().tolist(), zip(*columns, strict=True), strict=True)

    def trimmed(self) -> AffineNest:
        """The same events without the dimensions that have a single iteration (but with at least one dimension)."""
        keep = [d for d, trips in enumerate(self.ranges) if trips > 1] or [0]

        def pick(values: Sequence[int]) -> tuple[int, ...]:
            return tuple(values[d] for d in keep)

        nest = tuple(Affine(pick(a.strides), a.offset) for a in self.addresses)
        return AffineNest(pick(self.ranges), pick(self.time), self.time_offset, nest)

    def canonical(self, spec: AffineSpec) -> AffineNest:
        """The nest that `decode_nest` gives back: trimmed, strides and offsets of addresses modulo 2^width."""
        nest = self.trimmed()
        single = nest.ranges == (1,)

        def wrap(address: Affine, width: int) -> Affine:
            strides_ = tuple(0 if single else s % (1 << width) for s in address.strides)
            return Affine(strides_, address.offset % (1 << width))

        addresses = tuple(map(wrap, nest.addresses, spec.address_widths))
        return replace(nest, time=(0,) if single else nest.time, addresses=addresses)


def deltas(ranges: Sequence[int], strides_: Sequence[int]) -> tuple[int, ...]:
    """Change of an affine function when dimension d is incremented and all inner ones return to zero."""
    result, spans = [], 0
    for trips, stride in zip(ranges, strides_, strict=True):
        result.append(stride - spans)
        spans += (trips - 1) * stride
    return tuple(result)


def strides(ranges: Sequence[int], deltas_: Sequence[int]) -> tuple[int, ...]:
    """Inverse of `deltas`."""
    result, spans = [], 0
    for trips, delta in zip(ranges, deltas_, strict=True):
        result.append(delta + spans)
        spans += (trips - 1) * result[-1]
    return tuple(result)


def encode_nest(nest: AffineNest, spec: AffineSpec) -> dict[int, int]:
    """Registers of an enabled controller that runs `nest`. Raises `ConfigurationError` if it does not fit."""
    if len(nest.addresses) != len(spec.address_widths):
        raise ConfigurationError(f"{len(nest.addresses)} addresses for {len(spec.address_widths)} generators")
    nest = nest.trimmed()
    if len(nest.ranges) > spec.dims:
        raise ConfigurationError(f"{len(nest.ranges)} dimensions with several iterations, at most {spec.dims} fit")
    registers = {ControllerRegister.CONTROL: _control(nest, spec)}
    registers |= _encode_ranges(nest, spec) | _encode_time(nest, spec)
    for number, (address, width) in enumerate(zip(nest.addresses, spec.address_widths, strict=True)):
        base = ControllerRegister.ADDRESS + number * ControllerRegister.TABLE
        for d in _counted(nest):
            registers[base + d] = deltas(nest.ranges, address.strides)[d] % (1 << width)
        registers[base + spec.OFFSET_ENTRY] = address.offset % (1 << width)
    return registers


def _counted(nest: AffineNest) -> list[int]:
    return [d for d, trips in enumerate(nest.ranges) if trips > 1]


def _control(nest: AffineNest, spec: AffineSpec) -> int:
    single = (1 << spec.dims) - 1
    for d in _counted(nest):
        single &= ~(1 << d)
    return 1 << ControllerRegister.ENABLE_BIT | single


def _encode_ranges(nest: AffineNest, spec: AffineSpec) -> dict[int, int]:
    limit = 1 << spec.counter_width
    for d in _counted(nest):
        if nest.ranges[d] > limit:
            raise ConfigurationError(f"dimension {d} has {nest.ranges[d]} iterations, at most {limit} fit")
    return {ControllerRegister.RANGE + d: nest.ranges[d] - 2 for d in _counted(nest)}


def _encode_time(nest: AffineNest, spec: AffineSpec) -> dict[int, int]:
    limit = 1 << spec.time_width
    if nest.time_offset >= limit:
        raise ConfigurationError(f"first event is in cycle {nest.time_offset}, at most {limit - 1} fits")
    steps = deltas(nest.ranges, nest.time)
    for d in _counted(nest):
        if steps[d] > limit:
            raise ConfigurationError(f"incrementing dimension {d} takes {steps[d]} cycles, at most {limit} fit")
    registers = {ControllerRegister.TIME + d: steps[d] - 1 for d in _counted(nest)}
    return registers | {ControllerRegister.TIME + spec.OFFSET_ENTRY: nest.time_offset}


def decode_nest(registers: Mapping[int, int], spec: AffineSpec) -> AffineNest | None:
    """Inverse of `encode_nest` (in canonical form); None if the controller is disabled.

    Raises `ConfigurationError` for registers that are missing, unknown or out of range.
    """
    control = registers.get(ControllerRegister.CONTROL, 0)
    dims = [d for d in range(spec.dims) if not control >> d & 1]
    if dims and dims[-1] != len(dims) - 1:
        raise ConfigurationError(f"dimension {dims[-1]} has several iterations, one inside it has a single one")
    tables = _tables(spec)
    _check_registers(registers, tables, spec)
    if not control >> ControllerRegister.ENABLE_BIT & 1:
        return None

    def entries(table: int, bias: int) -> tuple[int, ...]:
        return tuple(_entry(registers, table + d) + bias for d in dims)

    ranges = entries(ControllerRegister.RANGE, 2)
    time = strides(ranges, entries(ControllerRegister.TIME, 1))
    addresses = []
    for base, width in list(tables.items())[2:]:
        steps = strides(ranges, entries(base, 0))
        offset = _entry(registers, base + spec.OFFSET_ENTRY)
        addresses.append(Affine(tuple(s % (1 << width) for s in steps) or (0,), offset))
    offset = _entry(registers, ControllerRegister.TIME + spec.OFFSET_ENTRY)
    return AffineNest(ranges or (1,), time or (0,), offset, tuple(addresses))


def _tables(spec: AffineSpec) -> dict[int, int]:
    """First register and bits per entry of each table."""
    addresses = range(ControllerRegister.ADDRESS, 0x100, ControllerRegister.TABLE)
    return {
        ControllerRegister.RANGE: spec.counter_width,
        ControllerRegister.TIME: spec.time_width,
        **dict(zip(addresses, spec.address_widths, strict=False)),
    }


def _check_registers(registers: Mapping[int, int], tables: Mapping[int, int], spec: AffineSpec) -> None:
    for register, data in registers.items():
        if register == ControllerRegister.CONTROL:
            limit = 1 << ControllerRegister.ENABLE_BIT
            data &= limit - 1
            width = spec.dims
        else:
            base, entry = register & ~0xF, register & 0xF
            has_offset = base != ControllerRegister.RANGE and entry == spec.OFFSET_ENTRY
            if base not in tables or not (entry < spec.dims or has_offset):
                raise ConfigurationError(f"controller has no register 0x{register:02x}")
            width = tables[base]
        if not 0 <= data < 1 << width:
            raise ConfigurationError(f"controller register 0x{register:02x}: 0x{data:x} exceeds {width} bits")


def _entry(registers: Mapping[int, int], register: int) -> int:
    if register not in registers:
        raise ConfigurationError(f"enabled controller lacks register 0x{register:02x}")
    return registers[register]


def _require_ints(values: Sequence[int], what: str) -> None:
    for value in values:
        if not isinstance(value, int) or isinstance(value, bool):
            raise ConfigurationError(f"{what} holds {value!r}, which is not an integer")
