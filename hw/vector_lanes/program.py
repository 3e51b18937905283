"""Compiled programs without RTL: an RV32IM instruction simulator whose custom-0 instructions drive a `VectorMachine`.

It executes what RISC-V gcc made of a C program against the reference simulator, with no notion of time: vector
instructions and transfers are finished when they are issued. Bit-exact results in milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from hw.errors import SluiceError
from hw.vector_lanes.isa import Control, Entry, FunctionKind, Parameter, Status, decode_function
from hw.vector_lanes.machine import VectorMachine

__all__ = ["ProgramModel", "ProgramModelError"]

_WORD = 0xFFFFFFFF


class ProgramModelError(SluiceError):
    """The program did what the model of the core does not know: an instruction, an address, or no end."""


class ProgramModel:
    """A scalar core, main memory from address 0 and a vector machine.

    `memory`: uint8 array, shared with `machine`; also seen from 0x80000000 (uncached). Other addresses go to
    `store(address, value)` and `load(address)` (words). After `run`: `instructions` (executed by the core), `entries`
    (handed to the vector machine, a list if `keep_entries`), and the machine's own counters.
    """

    def __init__(self, machine: VectorMachine, load: Callable[[int], int], store: Callable[[int, int], None],
                 keep_entries: bool = False) -> None:
        if machine.memory is None or machine.memory_base:
            raise ProgramModelError("the model of the core needs a machine with main memory from address 0")
        self.machine, self.memory = machine, machine.memory
        self.words = self.memory[: len(self.memory) & ~3].view(np.uint32)
        self.load, self.store = load, store
        self.registers, self.pc, self.instructions, self.stopped = [0] * 32, 0, 0, False
        self.entries: list[Entry] | None = [] if keep_entries else None
        self.pair, self.half = (0, 0), 0

    def stop(self) -> None:
        """End the run after this instruction (for `store`)."""
        self.stopped = True

    def run(self, limit: int = 10_000_000) -> None:
        """Execute from address 0 until `stop`. Raises `ProgramModelError` after `limit` instructions."""
        while not self.stopped:
            if self.instructions >= limit:
                raise ProgramModelError(f"the program has not ended after {limit} instructions")
            if self.pc & 3 or self.pc >= len(self.memory):
                raise ProgramModelError(f"the program jumped to {self.pc:#x}")
            self.instructions += 1
            self._step(int(self.words[self.pc >> 2]))

    def _step(self, word: int) -> None:
        opcode, rd, funct3, rs1, rs2, funct7 = _fields(word)
        handler = _HANDLERS.get(opcode)
        if handler is None:
            raise ProgramModelError(f"instruction {word:#010x} at {self.pc:#x} is not known")
        after = self.pc + 4
        a, b = self.registers[rs1], self.registers[rs2]
        value, target = handler(self, word, funct3, funct7, a, b)
        if rd and value is not None:
            self.registers[rd] = value & _WORD
        self.pc = after if target is None else target & _WORD

    # --- memory -------------------------------------------------------------------------------------------------------

    def _place(self, address: int) -> int | None:
        """Index into memory, or None for a peripheral."""
        place = address & 0x7FFFFFFF
        return place if place < len(self.memory) else None

    def read(self, address: int, size: int) -> int:
        """The unsigned number of ``1 << size`` bytes at an address."""
        place = self._place(address)
        if place is None:
            return self.load(address)
        return int.from_bytes(self.memory[place:place + (1 << size)].tobytes(), "little")

    def write(self, address: int, size: int, value: int) -> None:
        """Store the low bytes of `value`."""
        place = self._place(address)
        if place is None:
            self.store(address, value)
        else:
            data = (value & (1 << (8 << size)) - 1).to_bytes(1 << size, "little")
            self.memory[place:place + (1 << size)] = np.frombuffer(data, np.uint8)

    # --- custom instructions ------------------------------------------------------------------------------------------

    def custom(self, function: int, a: int, b: int) -> int:
        """What the vector unit's command port does; the result is its answer."""
        half = decode_function(function)
        if half.kind is FunctionKind.OPERANDS:
            self.half, self.pair = half.value, (a, b)
        elif half.kind is FunctionKind.EXECUTE:
            self._issue(Entry(False, half.value << 9 | self.half, *self.pair, a))
        elif half.kind is FunctionKind.CONTROL:
            return self._control(half.value, a, b)
        else:
            self.machine.status |= Status.ILLEGAL
        return 0

    def _control(self, number: int, a: int, b: int) -> int:
        if number in (Control.DMA_TO_VECTOR, Control.DMA_TO_HOST):
            self._issue(Entry(True, number, *self.pair, a, b))
        elif number < Control.DMA_TO_VECTOR:
            self._issue(Entry(True, number, a, b))
        elif number == Control.OPERANDS:
            self.pair = (a, b)
        elif number == Control.GET and a < len(Parameter):
            return self.machine.get(Parameter(a))
        elif number > Control.GET:
            self.machine.status |= Status.ILLEGAL
        return 0

    def _issue(self, entry: Entry) -> None:
        if self.entries is not None:
            self.entries.append(entry)
        self.machine.execute([entry])


@lru_cache(maxsize=1 << 16)
def _fields(word: int) -> tuple[int, int, int, int, int, int]:
    return word & 127, word >> 7 & 31, word >> 12 & 7, word >> 15 & 31, word >> 20 & 31, word >> 25


def _signed(value: int, bits: int = 32) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


Outcome = tuple[int | None, int | None]
"""Value for rd and next address, None where there is none."""


def _load(m: ProgramModel, word: int, funct3: int, funct7: int, a: int, b: int) -> Outcome:
    size = funct3 & 3
    value = m.read(a + _signed(word >> 20, 12) & _WORD, size)
    return (value if funct3 & 4 else _signed(value, 8 << size)), None


def _store(m: ProgramModel, word: int, funct3: int, funct7: int, a: int, b: int) -> Outcome:
    offset = _signed(word >> 25 << 5 | word >> 7 & 31, 12)
    m.write(a + offset & _WORD, funct3 & 3, b)
    return None, None


def _branch(m: ProgramModel, word: int, funct3: int, funct7: int, a: int, b: int) -> Outcome:
    if funct3 < 6:
        a, b = _signed(a), _signed(b)
    taken = (a == b if funct3 < 2 else a < b) != bool(funct3 & 1)
    offset = word >> 31 << 12 | (word >> 7 & 1) << 11 | (word >> 25 & 63) << 5 | (word >> 8 & 15) << 1
    return None, m.pc + _signed(offset, 13) if taken else None


def _jump(m: ProgramModel, word: int, funct3: int, funct7: int, a: int, b: int) -> Outcome:
    offset = word >> 31 << 20 | (word >> 12 & 255) << 12 | (word >> 20 & 1) << 11 | (word >> 21 & 1023) << 1
    return m.pc + 4, m.pc + _signed(offset, 21)


def _jump_register(m: ProgramModel, word: int, funct3: int, funct7: int, a: int, b: int) -> Outcome:
    return m.pc + 4, a + _signed(word >> 20, 12) & ~1


def _immediate(m: ProgramModel, word: int, funct3: int, funct7: int, a: int, b: int) -> Outcome:
    return _arithmetic(funct3, a, _signed(word >> 20, 12), funct3 == 5 and funct7 == 32), None


def _register(m: ProgramModel, word: int, funct3: int, funct7: int, a: int, b: int) -> Outcome:
    if funct7 == 1:
        return _multiply(funct3, a, b), None
    return _arithmetic(funct3, a, b, funct7 == 32), None


def _arithmetic(funct3: int, a: int, b: int, other: bool) -> int:
    amount = b & 31
    if funct3 == 5:
        return (_signed(a) if other else a) >> amount
    results: dict[int, Any] = {0: a - b if other else a + b, 1: a << amount, 2: _signed(a) < _signed(b),
                               3: a < b & _WORD, 4: a ^ b, 6: a | b, 7: a & b}
    return int(results[funct3])


def _multiply(funct3: int, a: int, b: int) -> int:
    sa, sb = _signed(a), _signed(b)
    if funct3 < 4:
        return (a * b, sa * sb >> 32, sa * b >> 32, a * b >> 32)[funct3]
    if b == 0:
        return _WORD if funct3 < 6 else a
    if funct3 & 1:
        return a // b if funct3 == 5 else a % b
    quotient = abs(sa) // abs(sb) * (1 if (sa < 0) == (sb < 0) else -1)
    return quotient if funct3 == 4 else sa - quotient * sb


def _custom(m: ProgramModel, word: int, funct3: int, funct7: int, a: int, b: int) -> Outcome:
    return m.custom(funct7 << 3 | funct3, a, b), None


_HANDLERS: dict[int, Callable[[ProgramModel, int, int, int, int, int], Outcome]] = {
    0x03: _load, 0x23: _store, 0x63: _branch, 0x6F: _jump, 0x67: _jump_register, 0x13: _immediate, 0x33: _register,
    0x37: lambda m, word, *_: (word & 0xFFFFF000, None),
    0x17: lambda m, word, *_: (m.pc + (word & 0xFFFFF000), None),
    0x0B: _custom,
    # Fences and cache flushes: there is no cache. Control registers hold nothing and read as zero.
    0x0F: lambda *_: (None, None), 0x73: lambda *_: (0, None),
}
