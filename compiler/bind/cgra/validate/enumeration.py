"""Following words through memories whose controllers are real loop nests: every instance, one by one, in numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod

import islpy as isl
import numpy as np

from compiler.analysis.points import all_points, count_points, values_at
from compiler.bind.cgra.validate.addressed import AddressedProof
from compiler.bind.cgra.validate.banks import BankProof
from compiler.bind.cgra.validate.claims import Claims
from compiler.bind.cgra.validate.control_bits import behind_delays
from compiler.bind.cgra.validate.fabric import PE_LATENCY, Fabric, Origin
from compiler.bind.cgra.validate.memory import MemoryProof
from compiler.bind.cgra.validate.memory_enumerated import MemoryNumbers
from compiler.ir.expr import Const
from compiler.sched.verify import Source
from hw.fabric.routing import CoreOutput, StreamSource
from hw.fabric.spec import GLB_INPUT_LATENCY
from hw.memtile import DualPortConfig, PubConfig
from hw.pe.config import RESTART, PeConfig

__all__ = ["Enumeration"]

_MOST = 1 << 22
"""Most points, and most events of a controller, that are enumerated."""

_CHEAP = 1 << 16
"""So many take less time than any relation does."""

_QUICK = 1 << 18
"""So many take about a second; for more of them relations are tried first."""

_BYTES = 2


@dataclass
class Enumeration:
    """Follows words in the configured array. `visible` gives {instance -> [cycle]} of a statement, as claimed."""

    fabric: Fabric
    claims: Claims
    banks: Mapping[int, BankProof]
    memories: Mapping[tuple[int, int], MemoryProof | AddressedProof]
    visible: Callable[[str], isl.Map]
    _numbers: dict[tuple[int, int], MemoryNumbers] = field(default_factory=dict)

    def cheap(self, domain: isl.Set) -> bool:
        """Whether there are so few points and events that going through them is the quickest proof."""
        return self._within(_CHEAP, domain)

    def quick(self, domain: isl.Set) -> bool:
        """Whether there are so few points and events that nothing else has to be tried."""
        return self._within(_QUICK, domain)

    def affordable(self, domain: isl.Set) -> bool:
        """Whether there are few enough points and events to go through."""
        return self._within(_MOST, domain)

    def _within(self, limit: int, domain: isl.Set) -> bool:
        return count_points(domain) <= limit and all(memory.largest <= limit for memory in self.memories.values())

    def even(self, origin: Origin, source: Source) -> bool:
        """Whether all memories on the way from `origin` back to `source` are delay lines.

        Relations are quick then, however long the run.
        """
        return self._even(origin, source, set())

    def _even(self, origin: Origin, source: Source, seen: set[Origin]) -> bool:
        if not isinstance(origin, CoreOutput) or origin in seen or self.is_result(origin, source):
            return True
        passed = self.fabric.passed(origin)
        if passed is not None:
            return self._even(passed.origin, source, seen | {origin})
        memory = self.memories.get((origin.row, origin.column))
        if memory is None:
            return True
        ports = self.fabric.tile(origin.row, origin.column).connections
        before = [self.fabric.arrival(origin.row, origin.column, port).origin for port in ports]
        return memory.even and all(self._even(o, source, seen | {origin}) for o in before)

    def is_result(self, origin: Origin, source: Source) -> bool:
        """Whether it is there that the unit of `source` shows its values."""
        return source.computed and not self._unmapped(source.name) and self.claims.result(source.name) == origin

    def _unmapped(self, statement: str) -> bool:
        """Whether no unit computes a statement, for its value is a constant of the units that take it."""
        constant = isinstance(self.claims.program.statement(statement).value, Const)
        return constant and statement not in self.claims.application.results

    def first_wrong(self, origin: Origin, source: Source, cycles: isl.Map, wanted: isl.Map) -> tuple[int, ...] | None:
        """The first point that does not see at `origin`, in its cycle, the value of `source` that it wants."""
        points = all_points(wanted.domain())
        timed, when = values_at(cycles, points)
        named, values = values_at(wanted, points)
        good = timed & named & self.right(origin, source, when[:, 0], values)
        return None if good.all() else tuple(points[int(np.argmin(good))].tolist())

    def right(self, origin: Origin, source: Source, cycles: np.ndarray, values: np.ndarray) -> np.ndarray:
        """By query: whether `origin` shows in this cycle the value of `source` with these coordinates."""
        if self.is_result(origin, source):
            defined, expected = values_at(self.visible(source.name), values)
            return defined & (expected[:, 0] == cycles)
        if isinstance(origin, StreamSource):
            bank = self.banks.get(origin.column)
            if bank is None or source != Source(bank.array.name, computed=False) or bank.bank.direction != "input":
                return np.zeros(len(cycles), dtype=bool)
            return _sends(bank, cycles - GLB_INPUT_LATENCY, values)
        passed = self.fabric.passed(origin)
        if passed is not None:
            return self.right(passed.origin, source, cycles - passed.lag, values)
        fed_back = self.fabric.fed_back(origin)
        if fed_back is not None:
            return self._restarted(origin, fed_back, source, cycles, values)
        core = self.fabric.tile(origin.row, origin.column).core
        if isinstance(core, PeConfig):
            return self._selected(origin, core, source, cycles, values)
        return self._shown(origin, source, cycles, values)

    # Merges of several sources.

    def is_merge(self, origin: Origin) -> bool:
        """Whether a word comes from a unit that selects one of two words by a bit, as of an operand that is the own
        result or an input, or from a memory that passes others on between its own."""
        if not isinstance(origin, CoreOutput):
            return False
        if self.fabric.fed_back(origin) is not None:
            return True
        core = self.fabric.tile(origin.row, origin.column).core
        if isinstance(core, PubConfig | DualPortConfig):
            port = core.outputs[int(origin.port.removeprefix("out"))]
            return port is not None and port.passing
        return isinstance(core, PeConfig) and core.op == "select" and origin.port == core.output

    def _selected(self, origin: CoreOutput, core: PeConfig, source: Source, cycles: np.ndarray,
                  values: np.ndarray) -> np.ndarray:
        """The value is on the way that the bit of that cycle selects."""
        right = np.zeros(len(cycles), dtype=bool)
        if core.op == "pass" and core.constants[0] is not None and core.feedback is None:
            return np.full(len(cycles), source.computed and self.is_constant(source.name, core.constants[0]))
        if not self.is_merge(origin):
            return right
        operands = cycles - PE_LATENCY
        bit = self._bits(origin, "bit0", operands)
        for port, here in ((0, bit == 1), (1, bit == 0)):
            if port != core.feedback:  # what an element holds is its own statement's value, which is known by its name
                right[here] = self._taken(origin, core, port, source, operands[here], values[here])
        return right

    def _restarted(self, origin: CoreOutput, core: PeConfig, source: Source, cycles: np.ndarray,
                   values: np.ndarray) -> np.ndarray:
        """The value is the element's own result, or on the way to the input where the bit of that cycle restarts."""
        assert core.feedback is not None
        bit = self._bits(origin, RESTART, cycles) if core.restart else np.zeros(len(cycles), dtype=np.int64)
        result = CoreOutput(origin.row, origin.column, core.output)
        right = np.zeros(len(cycles), dtype=bool)
        if self.is_result(result, source):
            right[bit == 0] = self.right(result, source, cycles[bit == 0], values[bit == 0])
        right[bit == 1] = self._taken(origin, core, core.feedback, source, cycles[bit == 1], values[bit == 1])
        return right

    def _taken(self, unit: CoreOutput, core: PeConfig, number: int, source: Source, cycles: np.ndarray,
               values: np.ndarray) -> np.ndarray:
        """Whether word input `number`, or the constant in its place, has the value in these cycles."""
        constant = core.constants[number]
        if constant is not None:
            return np.full(len(cycles), source.computed and self.is_constant(source.name, constant))
        if not len(cycles):
            return np.zeros(0, dtype=bool)
        arrival = self.fabric.arrival(unit.row, unit.column, f"word{number}")
        return self.right(arrival.origin, source, cycles - arrival.lag, values)

    def is_constant(self, statement: str, pattern: int) -> bool:
        """Whether all values of a statement are this word."""
        value = self.claims.program.statement(statement).value
        return isinstance(value, Const) and value.value & ((1 << self.fabric.spec.width) - 1) == pattern

    def _bits(self, unit: CoreOutput, port: str, cycles: np.ndarray) -> np.ndarray:
        """The bit that a merge takes at a port in these cycles: whether a table's word differs from a constant; -1 if
        unknown."""
        unknown = np.full(len(cycles), -1)
        test, lag = behind_delays(self.fabric, unit, port)
        if not isinstance(test, CoreOutput):
            return unknown
        core = self.fabric.tile(test.row, test.column).core
        if isinstance(core, PeConfig) and core.op == "lut3":
            return self._looked_up(test, core, cycles - lag - PE_LATENCY)
        tested = core.constants[1] if isinstance(core, PeConfig) and core.op == "ne" else None
        if not isinstance(core, PeConfig) or tested is None or core.constants[0] is not None:
            return unknown
        table, more = behind_delays(self.fabric, test, "word0")
        if not isinstance(table, CoreOutput) or (table.row, table.column) not in self.memories:
            return unknown
        when = cycles - lag - PE_LATENCY - more
        known, words = self._memory(table).contents(int(table.port.removeprefix("out")), when)
        return np.where(known, (words != tested).astype(np.int64), -1)

    def _looked_up(self, unit: CoreOutput, core: PeConfig, cycles: np.ndarray) -> np.ndarray:
        """The bit that a truth table gives for its operands of these cycles; -1 if one is unknown."""
        bits = [np.full(len(cycles), constant) if constant is not None else self._bits(unit, f"bit{k}", cycles)
                for k, constant in enumerate(core.bit_constants)]
        number = sum(bit << k for k, bit in enumerate(bits))
        return np.where(np.min(bits, axis=0) < 0, -1, core.table >> np.maximum(number, 0) & 1)

    def _memory(self, origin: CoreOutput) -> MemoryNumbers | AddressedProof:
        place = origin.row, origin.column
        memory = self.memories[place]
        if isinstance(memory, AddressedProof):
            return memory
        if place not in self._numbers:
            self._numbers[place] = MemoryNumbers(memory.config, self.fabric.spec.mem_at(place[1]))
        return self._numbers[place]

    def _shown(self, origin: CoreOutput, source: Source, cycles: np.ndarray, values: np.ndarray) -> np.ndarray:
        place = origin.row, origin.column
        right = np.zeros(len(cycles), dtype=bool)
        if place not in self.memories:
            return right
        seen = self._memory(origin).seen(int(origin.port.removeprefix("out")), cycles)
        inputs = self.fabric.spec.mem.inputs
        for number in np.unique(seen.port[seen.found]).tolist():
            here = seen.found & (seen.port == number)
            port = f"in{number}" if number < inputs else f"chain{number - inputs}"
            arrival = self.fabric.arrival(*place, port)
            right[here] = self.right(arrival.origin, source, seen.cycle[here] - arrival.lag, values[here])
        return right


def _sends(bank: BankProof, cycles: np.ndarray, elements: np.ndarray) -> np.ndarray:
    """Whether an input bank reads these elements in these cycles."""
    nest, plan, d = bank.bank.nest, bank.plan, bank.descriptor
    tile = np.clip((cycles - nest.time_offset) // plan.period, 0, plan.tiles - 1)
    within = cycles - tile * plan.period
    times = nest.times()
    event = np.minimum(np.searchsorted(times, within), len(times) - 1)
    address = nest.evaluate(bank.word)[event]
    row_words = d.row_bytes // _BYTES
    inner, outer = d.tiles
    byte = (d.base + tile % inner.count * inner.stride + tile // inner.count % outer.count * outer.stride
            + address // (row_words * d.rows.count) * d.planes.stride
            + address // row_words % d.rows.count * d.rows.stride + address % row_words * _BYTES)
    steps = np.array([prod(bank.array.shape[k + 1:]) for k in range(len(bank.array.shape))], dtype=np.int64)
    return (times[event] == within) & (byte == bank.address + _BYTES * (elements @ steps))
