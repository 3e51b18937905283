"""Reference simulator of the vector processor: instruction by instruction, bit-exact with the hardware.

Whole instructions are single numpy operations. Only where an instruction overwrites what it still has to read, or
writes the same bytes from several rows, does it go row by row, and only within such a row wavefront by wavefront.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from hw.errors import SluiceError
from hw.vector_lanes.float_meaning import compute_float
from hw.vector_lanes.isa import FLOAT, Control, Entry, Mode, Op, Parameter, Status, check
from hw.vector_lanes.meaning import Operands, accumulate, compute, keeps_width, number_type, predicate
from hw.vector_lanes.spec import VectorSpec

__all__ = ["MachineError", "Mask", "Span", "VectorMachine"]

MAX_TRANSFER_ROWS = 65535
_WORD = 1 << 32


class MachineError(SluiceError):
    """The simulator was asked for something that is no operation of the machine."""


@dataclass(frozen=True)
class Span:
    """Where an operand lies in the scratchpad: mats * rows rows of `length` elements of ``1 << size`` bytes."""

    base: int
    size: int
    length: int
    rows: int = 1
    mats: int = 1
    step: int = 0
    step3: int = 0

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return self.length << self.size

    @property
    def low(self) -> int:
        """Lowest byte address over all rows."""
        return self.base + min(0, (self.rows - 1) * self.step) + min(0, (self.mats - 1) * self.step3)

    @property
    def high(self) -> int:
        """One above the highest byte address over all rows."""
        highest = max(0, (self.rows - 1) * self.step) + max(0, (self.mats - 1) * self.step3)
        return self.base + highest + self.row_bytes

    def apart(self, other: Span) -> bool:
        """Whether the two bounding ranges have no byte in common."""
        return self.high <= other.low or other.high <= self.low

    @property
    def overlaps_itself(self) -> bool:
        """Whether two rows may have a byte in common (may be true when they do not)."""
        if self.rows > 1 and abs(self.step) < self.row_bytes:
            return True
        plane = (self.rows - 1) * abs(self.step) + self.row_bytes
        return self.mats > 1 and abs(self.step3) < plane

    def row(self, mat: int, row: int) -> Span:
        """One of its rows."""
        return Span(self.base + mat * self.step3 + row * self.step, self.size, self.length)

    def part(self, first: int, count: int) -> Span:
        """Some elements of a single row."""
        return Span(self.base + (first << self.size), self.size, count)

    def view(self, buffer: np.ndarray[Any, Any], kind: np.dtype[Any] | type) -> np.ndarray[Any, Any]:
        """Its elements in `buffer`: an array (mats, rows, length) that shares the memory."""
        strides = (self.step3, self.step, 1 << self.size)
        return np.ndarray((self.mats, self.rows, self.length), kind, buffer, self.base, strides)


def _runs_ahead(target: Span, source: Span) -> bool:
    """Whether writing `target` may destroy elements of `source` before they are read (conservative)."""
    if target.apart(source):
        return False
    if target.base > source.base or target.size > source.size:
        return True
    if source.rows == source.mats == 1:
        return target.rows != 1
    if source.mats > 1 or target.mats > 1 or target.step != source.step:
        return True
    ahead = source.base - target.base
    if source.step >= 0:
        return target.row_bytes > source.step + ahead
    return source.row_bytes > -source.step - ahead


@dataclass(frozen=True)
class Mask:
    """The mask: `active` (bool, one per element) for elements of `size`."""

    size: int
    active: np.ndarray[Any, Any]

    @property
    def length(self) -> int:
        """Elements, active or not."""
        return len(self.active)

    def waves(self, per_wave: int) -> int:
        """Wavefronts with an active element."""
        padded = np.zeros(-(-self.length // per_wave) * per_wave, bool)
        padded[: self.length] = self.active
        return int(padded.reshape(-1, per_wave).any(axis=1).sum())


@lru_cache(maxsize=4096)
def _decoded(code: int, float32: bool, bfloat16: bool, fma: bool) -> tuple[Mode, bool]:
    mode = Mode.decode(code)
    return mode, not check(mode, float32, bfloat16, fma)


@dataclass(frozen=True)
class _Spans:
    """Operands of one instruction; None where there is no vector."""

    d: Span | None
    a: Span | None
    b: Span | None

    def present(self) -> list[Span]:
        return [span for span in (self.d, self.a, self.b) if span is not None]


class VectorMachine:
    """A vector processor and main memory.

    `memory` holds the bytes from address `memory_base` on: a bytearray or an array of uint8, changed in place.
    Attributes: `scratchpad` (uint8), `flags` (uint8, 0 or 1 per byte), `status`, `mask` (None: no valid mask), `vl`,
    `rows`, `mats` and the steps, `ideal_cycles` (cycles of the lanes without any bubble), `instructions` (executed),
    `operations` (elements computed), `operation_bytes` (the same times the bytes of the execution size: what the lanes
    work on in a cycle is a row of bytes), `dma_bytes`.
    """

    def __init__(self, spec: VectorSpec, memory: bytearray | np.ndarray[Any, Any] | None = None,
                 memory_base: int = 0) -> None:
        self.spec = spec
        self.memory = np.frombuffer(memory, np.uint8) if isinstance(memory, bytearray) else memory
        self.memory_base = memory_base
        self.scratchpad = np.zeros(spec.capacity, np.uint8)
        self.flags = np.zeros(spec.capacity, np.uint8)
        self.status = Status(0)
        self.mask: Mask | None = None
        self.vl = self.rows = self.mats = 0
        self.steps = {"d": 0, "a": 0, "b": 0}
        self.steps3 = {"d": 0, "a": 0, "b": 0}
        self.dma_steps = (0, 0)
        self.ideal_cycles = self.instructions = self.operations = self.operation_bytes = self.dma_bytes = 0

    def execute(self, entries: Iterable[Entry]) -> None:
        """Run entries in order."""
        for entry in entries:
            if entry.control:
                self._control(entry)
            else:
                self._instruction(entry)

    def get(self, parameter: Parameter) -> int:
        """What GET answers. Counters of time know only ideal cycles; reading the status clears it."""
        values = {Parameter.LANES: self.spec.lanes, Parameter.SCRATCHPAD: self.spec.capacity,
                  Parameter.STATUS: int(self.status), Parameter.MASK_WAVES: self._mask_waves(),
                  Parameter.CYCLES: self.ideal_cycles, Parameter.BUSY: self.ideal_cycles,
                  Parameter.INSTRUCTIONS: self.instructions}
        if parameter is Parameter.STATUS:
            self.status = Status(0)
        return values.get(parameter, 0) % _WORD

    def _mask_waves(self) -> int:
        return self.mask.waves(self.spec.wave_elements(self.mask.size)) if self.mask else 0

    # --- control ------------------------------------------------------------------------------------------------------

    def _control(self, entry: Entry) -> None:
        if entry.code >= Control.OPERANDS:
            self.status |= Status.ILLEGAL
            return
        control, a, b = Control(entry.code), entry.a, entry.b
        if control is Control.SET_VL:
            self.vl = a
        elif control is Control.SET_2D_ROWS:
            self.rows, self.steps["d"] = a, _signed(b)
        elif control is Control.SET_2D_SOURCES:
            self.steps.update(a=_signed(a), b=_signed(b))
        elif control is Control.SET_3D_MATS:
            self.mats, self.steps3["d"] = a, _signed(b)
        elif control is Control.SET_3D_SOURCES:
            self.steps3.update(a=_signed(a), b=_signed(b))
        elif control is Control.SET_DMA_INC:
            self.dma_steps = (_signed(a), _signed(b))
        else:
            self._transfer(control is Control.DMA_TO_HOST, entry)

    def _transfer(self, to_host: bool, entry: Entry) -> None:
        count, rows = entry.d, max(entry.c, 1)
        if rows > MAX_TRANSFER_ROWS:
            self.status |= Status.ILLEGAL
            return
        if count == 0:
            return
        steps = self.dma_steps if rows > 1 else (0, 0)
        if not self._inside([Span(entry.a, 0, count, rows, step=steps[0])]):
            self.status |= Status.ADDRESS
            return
        if not self._in_memory(Span(entry.b, 0, count, rows, step=steps[1])):
            self.status |= Status.DMA_WRITE if to_host else Status.DMA_READ
            return
        self.dma_bytes += count * rows
        for row in range(rows):
            self._transfer_row(to_host, entry.a + row * steps[0], entry.b - self.memory_base + row * steps[1], count)

    def _in_memory(self, span: Span) -> bool:
        size = 0 if self.memory is None else len(self.memory)
        return self.memory_base <= span.low and span.high <= self.memory_base + size

    def _transfer_row(self, to_host: bool, local: int, host: int, count: int) -> None:
        if self.memory is None:
            raise MachineError("a transfer needs a main memory, and this machine has none")
        if to_host:
            self.memory[host:host + count] = self.scratchpad[local:local + count]
        else:
            self.scratchpad[local:local + count] = self.memory[host:host + count]
            self.flags[local:local + count] = 0

    # --- vector instructions ------------------------------------------------------------------------------------------

    def _instruction(self, entry: Entry) -> None:
        mode, legal = _decoded(entry.code, self.spec.float32, self.spec.bfloat16, self.spec.fma)
        if not legal or not self._mask_allows(mode):
            self.status |= Status.ILLEGAL
            return
        length = self.mask.length if mode.masked and self.mask else self.vl
        rows, mats = (self.rows if mode.dimensions else 1), (self.mats if mode.dimensions == 2 else 1)
        if mode.sets_mask and length == 0:
            self.mask = Mask(mode.in_size, np.zeros(0, bool))
        if 0 in (length, rows, mats):
            return
        spans = self._spans(mode, entry, length, rows, mats)
        if not self._inside(spans.present()):
            self.status |= Status.ADDRESS
            return
        self._run(mode, entry, spans, (mats, rows, length))

    def _mask_allows(self, mode: Mode) -> bool:
        """Whether the mask fits the instruction; a mask setup that is too long makes the mask invalid."""
        if mode.masked and (self.mask is None or self.mask.size != mode.exec_size):
            return False
        if not mode.sets_mask:
            return True
        if mode.masked:
            return self.mask is not None and self.mask.length == self.vl
        if self.vl > self.spec.mask_elements(mode.in_size):
            self.mask = None
            return False
        return True

    def _spans(self, mode: Mode, entry: Entry, length: int, rows: int, mats: int) -> _Spans:
        def span(operand: str, base: int, size: int, elements: int = length) -> Span:
            return Span(base, size, elements, rows, mats, self.steps[operand] if mode.dimensions else 0,
                        self.steps3[operand] if mode.dimensions == 2 else 0)

        a_size = mode.out_size if mode.op is Op.VSCATTER else mode.in_element
        return _Spans(
            span("d", entry.d, mode.out_element, 1 if mode.accumulate else length) if mode.writes_d else None,
            span("a", entry.a, a_size) if mode.reads_a else None,
            span("b", entry.b, mode.in_element, 1 if mode.repeats_b else length) if mode.reads_b else None)

    def _inside(self, spans: list[Span]) -> bool:
        return all(span.low >= 0 and span.high <= self.spec.capacity for span in spans)

    def _run(self, mode: Mode, entry: Entry, spans: _Spans, shape: tuple[int, int, int]) -> None:
        elements = shape[0] * shape[1] * shape[2]
        self.instructions += 1
        self.operations += elements
        self.operation_bytes += elements << mode.exec_size
        self.ideal_cycles += self._cycles(mode, shape)
        if mode.op.indexed:
            self._indexed(mode, entry, spans, shape)
        elif mode.sets_mask:
            self._set_mask(mode, entry, spans, shape)
        elif self._whole(mode, spans):
            self._compute(mode, entry, spans, shape, 0)
        else:
            self._by_rows(mode, entry, spans, shape)

    def _cycles(self, mode: Mode, shape: tuple[int, int, int]) -> int:
        mats, rows, length = shape
        if mode.op.indexed:
            return mats * rows * length
        if mode.masked:
            return mode.beats * max(self._mask_waves(), int(mode.accumulate))
        return mode.beats * mats * rows * -(-(length << mode.exec_size) // self.spec.row_bytes)

    @staticmethod
    def _whole(mode: Mode, spans: _Spans) -> bool:
        """Whether all elements may be read before any is written."""
        if spans.d is None or spans.d.overlaps_itself:
            return False
        sources = [span for span in (spans.a, spans.b) if span is not None]
        if mode.repeats_b and spans.b is not None and not spans.d.apart(spans.b):
            return False
        if mode.accumulate:
            return spans.d.rows == spans.d.mats == 1 or all(spans.d.apart(source) for source in sources)
        return not any(_runs_ahead(spans.d, source) for source in sources)

    def _by_rows(self, mode: Mode, entry: Entry, spans: _Spans, shape: tuple[int, int, int]) -> None:
        mats, rows, length = shape
        for mat in range(mats):
            for row in range(rows):
                line = _Spans(*(span and span.row(mat, row) for span in (spans.d, spans.a, spans.b)))
                if self._whole(mode, line):
                    self._compute(mode, entry, line, (1, 1, length), 0)
                else:
                    self._by_waves(mode, entry, line, length)

    def _by_waves(self, mode: Mode, entry: Entry, line: _Spans, length: int) -> None:
        step = self.spec.wave_elements(mode.exec_size)
        for first in range(0, length, step):
            count = min(step, length - first)
            part = _Spans(*(span and (span if span.length == 1 else span.part(first, count))
                            for span in (line.d, line.a, line.b)))
            self._compute(mode, entry, part, (1, 1, count), first)

    def _operands(self, mode: Mode, entry: Entry, spans: _Spans, shape: tuple[int, int, int], first: int) -> Operands:
        if mode.floating:
            return self._float_operands(mode, entry, spans)
        kind, native = number_type(mode.exec_size, mode.signed), keeps_width(mode)
        wide = kind if native else np.dtype(np.int64)
        a: Any = np.asarray(entry.a).astype(kind).astype(wide)
        b: Any = a
        fa: Any = 0
        fb: Any = 0
        if spans.a is not None:
            a, fa = self._read(spans.a, mode.signed, wide)
        if spans.b is not None:
            b, fb = self._read(spans.b, mode.signed, wide)
        elif mode.op is not Op.VMOV:
            b = np.arange(first, first + shape[2]).astype(kind).astype(wide)
        d: Any = 0
        if mode.op is Op.VMAC and spans.d is not None:
            d = self._read(spans.d, mode.signed, wide)[0]
        return Operands(mode, a, b, fa, fb, d, self.spec.fraction_bits[mode.exec_size], native)

    def _float_operands(self, mode: Mode, entry: Entry, spans: _Spans) -> Operands:
        """Patterns of floating-point numbers; integers as they are."""
        kind = number_type(mode.in_element, mode.signed and mode.in_size != FLOAT)

        def words(span: Span | None) -> Any:
            return None if span is None else np.array(span.view(self.scratchpad, kind))

        size = mode.in_element if mode.in_size == FLOAT else mode.exec_size
        scalar = np.asarray(entry.a).astype(number_type(size, mode.signed and mode.in_size != FLOAT))
        return Operands(mode, scalar if spans.a is None else words(spans.a), words(spans.b),
                        d=words(spans.d) if mode.reads_d else 0)

    def _read(self, span: Span, signed: bool, wide: np.dtype[Any]) -> tuple[Any, Any]:
        values = span.view(self.scratchpad, number_type(span.size, signed)).astype(wide, copy=False)
        return values, span.view(self.flags, np.uint8)

    def _active(self, mode: Mode, operands: Operands, first: int, count: int) -> Any:
        """Which elements are executed and, for a conditional move, pass: True or an array."""
        active: Any = True
        if mode.masked and self.mask is not None:
            active = self.mask.active[first:first + count]
        if mode.op.conditional:
            active = predicate(operands) & active
        return active

    def _compute(self, mode: Mode, entry: Entry, spans: _Spans, shape: tuple[int, int, int], first: int) -> None:
        operands = self._operands(mode, entry, spans, shape, first)
        active = self._active(mode, operands, first, shape[2])
        if spans.d is None:
            raise MachineError(f"{mode.op.name} has no destination")
        if mode.floating:
            self._write(spans.d, compute_float(mode, operands.a, operands.b, operands.d), 0, active)
            return
        if mode.accumulate:
            value, flag = accumulate(operands, active, shape)
            self._write(spans.d, value[..., None], flag[..., None], True)
        else:
            value, flag = compute(operands)
            self._write(spans.d, value, flag, active)

    def _write(self, span: Span, value: Any, flag: Any, active: Any) -> None:
        kind = number_type(span.size, False)
        spread = np.asarray(flag).astype(kind)
        if span.size:
            spread = spread * kind.type(0x01010101 & (1 << (8 << span.size)) - 1)
        target, flags = span.view(self.scratchpad, kind), span.view(self.flags, kind)
        if active is True:
            # A value may be a view of what is overwritten.
            target[...] = np.asarray(value).astype(kind)
            flags[...] = spread
        else:
            np.copyto(target, np.asarray(value).astype(kind), where=active)
            np.copyto(flags, spread, where=active)

    def _set_mask(self, mode: Mode, entry: Entry, spans: _Spans, shape: tuple[int, int, int]) -> None:
        operands = self._operands(mode, entry, replace(spans, a=None), shape, 0)
        active = predicate(operands).reshape(-1)
        if mode.masked and self.mask is not None:
            active = active & self.mask.active
        self.mask = Mask(mode.in_size, active)

    # --- gather and scatter -------------------------------------------------------------------------------------------

    def _indexed(self, mode: Mode, entry: Entry, spans: _Spans, shape: tuple[int, int, int]) -> None:
        mats, rows, _ = shape
        for mat in range(mats):
            for row in range(rows):
                line = _Spans(*(span and span.row(mat, row) for span in (spans.d, spans.a, spans.b)))
                if mode.op is Op.VGATHER:
                    self._gather(mode, entry.a, line)
                else:
                    base = entry.d + (self.steps["d"] * row if mode.dimensions else 0)
                    self._scatter(mode, base + (self.steps3["d"] * mat if mode.dimensions == 2 else 0), entry.a, line)

    def _addresses(self, mode: Mode, base: int, indices: Span) -> tuple[Any, Any]:
        """Element addresses and which of them are inside the scratchpad."""
        index = indices.view(self.scratchpad, number_type(indices.size, mode.signed)).reshape(-1).astype(np.int64)
        addresses = base + (index << mode.out_size) & _WORD - 1
        return addresses, addresses + (1 << mode.out_size) <= self.spec.capacity

    def _gather(self, mode: Mode, base: int, line: _Spans) -> None:
        if line.d is None or line.b is None:
            raise MachineError("VGATHER has a destination and a vector of indices")
        addresses, inside = self._addresses(mode, base, line.b)
        touched = addresses[inside]
        clear = line.d.apart(line.b) and (touched.size == 0 or line.d.apart(self._touched(mode, touched)))
        if not clear and line.d.length > 1:
            for i in range(line.d.length):
                self._gather(mode, base, _Spans(line.d.part(i, 1), None, line.b.part(i, 1)))
            return
        if not inside.all():
            self.status |= Status.ADDRESS
        source = np.where(inside, addresses, 0)
        values = [self.scratchpad[source + byte] for byte in range(1 << mode.out_size)]
        flags = self.flags[source]
        for byte, value in enumerate(values):
            target = Span(line.d.base + byte, mode.out_size, line.d.length)
            np.copyto(target.view(self.scratchpad, np.uint8), value, where=inside)
            np.copyto(target.view(self.flags, np.uint8), flags, where=inside)

    @staticmethod
    def _touched(mode: Mode, addresses: Any) -> Span:
        low, high = int(addresses.min()), int(addresses.max()) + (1 << mode.out_size)
        return Span(low, 0, high - low)

    def _scatter(self, mode: Mode, base: int, scalar: int, line: _Spans) -> None:
        if line.b is None:
            raise MachineError("VSCATTER has a vector of indices")
        addresses, inside = self._addresses(mode, base, line.b)
        touched = self._touched(mode, addresses[inside]) if inside.any() else None
        clear = touched is None or all(touched.apart(span) for span in line.present())
        if not clear and line.b.length > 1:
            for i in range(line.b.length):
                self._scatter(mode, base, scalar, _Spans(None, line.a and line.a.part(i, 1), line.b.part(i, 1)))
            return
        if not inside.all():
            self.status |= Status.ADDRESS
        self._scatter_bytes(mode, addresses[inside], inside, scalar, line.a)

    def _scatter_bytes(self, mode: Mode, addresses: Any, inside: Any, scalar: int, source: Span | None) -> None:
        values: Any = scalar
        flags: Any = 0
        if source is not None:
            values = source.view(self.scratchpad, number_type(source.size, False)).reshape(-1)[inside].astype(np.int64)
            flags = source.view(self.flags, np.uint8).reshape(-1)[inside]
        if mode.accumulate:
            self._scatter_sums(mode, addresses, values)
            return
        for byte in range(1 << mode.out_size):
            self.scratchpad[addresses + byte] = values >> 8 * byte & 255
            self.flags[addresses + byte] = flags

    def _scatter_sums(self, mode: Mode, addresses: Any, values: Any) -> None:
        """One after the other: addresses may come again, and elements overlap."""
        size, limit = 1 << mode.out_size, 1 << (8 << mode.out_size)
        for address, value in zip(addresses.tolist(), np.broadcast_to(values, addresses.shape).tolist(), strict=True):
            old = int.from_bytes(self.scratchpad[address:address + size].tobytes(), "little")
            total = old + value % limit
            self.scratchpad[address:address + size] = np.frombuffer((total % limit).to_bytes(size, "little"), np.uint8)
            self.flags[address:address + size] = total >= limit


def _signed(word: int) -> int:
    return word - _WORD if word >> 31 else word
