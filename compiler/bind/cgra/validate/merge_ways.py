"""Which of its inputs a unit passes on that selects one of two words by a bit, as sets of cycles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import islpy as isl

from compiler.bind.cgra.validate.addressed import AddressedProof
from compiler.bind.cgra.validate.control_bits import BitCycles, bit_cycles, later
from compiler.bind.cgra.validate.fabric import PE_LATENCY, Fabric, Origin
from compiler.bind.cgra.validate.memory import MemoryProof
from hw.fabric.routing import CoreOutput
from hw.pe.config import RESTART, PeConfig

__all__ = ["MergeWays", "Way"]


@dataclass(frozen=True)
class Way:
    """In `cycles` the word is what `origin` showed `lag` cycles before; without an origin a constant, or nothing known
    where there is none."""

    cycles: isl.Set
    origin: Origin | None
    lag: int
    constant: int | None = None


@dataclass(frozen=True)
class MergeWays:
    """The ways through merges of an array."""

    fabric: Fabric
    memories: Mapping[tuple[int, int], MemoryProof | AddressedProof]

    def of(self, origin: Origin, run: isl.Set) -> list[Way] | None:
        """The ways to a merge in the cycles `run`; None if its bit is not that of a table, or it is a memory."""
        if not isinstance(origin, CoreOutput):
            return None
        restarted, core = self.fabric.fed_back(origin), self.fabric.tile(origin.row, origin.column).core
        if restarted is not None:
            return self._restarted(origin, restarted, run)
        return self._selected(origin, core, run) if isinstance(core, PeConfig) else None

    def _restarted(self, origin: CoreOutput, core: PeConfig, run: isl.Set) -> list[Way] | None:
        """The element's own result, or the way to the input where the bit of that cycle restarts."""
        assert core.feedback is not None
        own = CoreOutput(origin.row, origin.column, core.output)
        if not core.restart:
            return [Way(run, own, 0)]
        bit = self._bit(origin, RESTART, run)
        return None if bit is None else [Way(bit[0], own, 0), self._input(origin, core, core.feedback, bit[1], 0)]

    def _selected(self, origin: CoreOutput, core: PeConfig, run: isl.Set) -> list[Way] | None:
        """The operand that the bit selects; what an element holds is its own statement's value."""
        bit = self._bit(origin, "bit0", later(run, -PE_LATENCY))
        if bit is None:
            return None
        taken = ((0, later(bit[1], PE_LATENCY)), (1, later(bit[0], PE_LATENCY)))
        return [self._input(origin, core, number, cycles, PE_LATENCY) for number, cycles in taken
                if number != core.feedback]

    def _input(self, unit: CoreOutput, core: PeConfig, number: int, cycles: isl.Set, lag: int) -> Way:
        constant = core.constants[number]
        if constant is not None:
            return Way(cycles, None, 0, constant)
        arrival = self.fabric.arrival(unit.row, unit.column, f"word{number}")
        return Way(cycles, arrival.origin, lag + arrival.lag)

    def _bit(self, unit: CoreOutput, port: str, run: isl.Set) -> BitCycles | None:
        tables = {place: memory for place, memory in self.memories.items() if isinstance(memory, MemoryProof)}
        return bit_cycles(self.fabric, tables, unit, port, run)
