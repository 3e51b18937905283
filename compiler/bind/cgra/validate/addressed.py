"""Memories whose addresses processing elements compute: the decoded elements are evaluated, cycle by cycle.

From the address and enable inputs of a memory the configured multiplexers are followed back to counters, to the
`started` bit of a memory, and through all elements in between. What a register held before the run is unknown, and
so is everything computed from it. From the numbers that come out, the same last-write analysis as for other
memories follows: a word that is written before the last unknown address is not relied on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import islpy as isl
import numpy as np

from compiler.analysis.points import all_points
from compiler.bind.cgra.validate.datapath import operation_evaluator
from compiler.bind.cgra.validate.fabric import PE_LATENCY, Arrival, Fabric, Origin
from compiler.bind.cgra.validate.memory_enumerated import Seen, last_write
from compiler.sched.verify import ValidationError
from hw.fabric.routing import CoreOutput
from hw.memtile import AddressedConfig, AddressedInput, AddressedOutput, MemTileSpec
from hw.ops import Kind
from hw.pe.config import COUNT, PeConfig

__all__ = ["AddressStreams", "AddressedProof"]

UNKNOWN = -1


@dataclass
class AddressStreams:
    """What outputs show in each of the first `cycles` cycles of a run, `UNKNOWN` where it depends on the past."""

    fabric: Fabric
    cycles: int
    _known: dict[Origin, np.ndarray] = field(default_factory=dict)

    def arriving(self, row: int, column: int, port: str) -> np.ndarray:
        """Numbers at a core input by cycle; 0 if nothing is connected."""
        if port not in self.fabric.tile(row, column).connections:
            return np.zeros(self.cycles, dtype=np.int64)
        arrival = self.fabric.arrival(row, column, port)
        return _later(self.shown(arrival.origin), arrival.lag)

    def shown(self, origin: Origin) -> np.ndarray:
        """Numbers at an output by cycle. Raises `ValidationError` for what is no element that computes."""
        if origin not in self._known:
            self._evaluate(origin)
        return self._known[origin]

    def _evaluate(self, wanted: Origin) -> None:
        graph: dict[Origin, list[Origin]] = {}
        self._collect(wanted, graph)
        reached = {origin: _reached(origin, graph) for origin in graph}
        for origin in sorted(graph, key=lambda o: (len(reached[o]), o not in reached[o])):
            if origin in self._known:
                continue
            if origin in reached[origin]:
                self._run_loop([o for o in reached[origin] if origin in reached[o]])
            else:
                self._known[origin] = self._result(origin)

    def _collect(self, origin: Origin, graph: dict[Origin, list[Origin]]) -> None:
        if origin in graph or origin in self._known:
            return
        graph[origin] = before = [a.origin for a in self._operands(origin) if isinstance(a, Arrival)]
        for other in before:
            self._collect(other, graph)

    def _element(self, origin: Origin) -> PeConfig | None:
        """The element of an output, None for the start of a memory."""
        if isinstance(origin, CoreOutput):
            core = self.fabric.tile(origin.row, origin.column).core
            counts = isinstance(core, PeConfig) and core.op == COUNT.name
            if isinstance(core, PeConfig) and (origin.port == core.output or counts):
                return core
            if origin.port == "started":
                return None
        raise ValidationError(f"an address is computed from {origin}, which no processing element computes")

    def _operands(self, origin: Origin) -> list[Arrival | int]:
        """Operands of an element: what arrives, or a constant."""
        config = self._element(origin)
        if config is None or config.op == COUNT.name or not isinstance(origin, CoreOutput):
            return []
        counts = {Kind.WORD: 0, Kind.BIT: 0}
        operands: list[Arrival | int] = []
        for kind in config.operation.operands:
            index = counts[kind]
            counts[kind] += 1
            constant = (config.constants if kind is Kind.WORD else config.bit_constants)[index]
            operands.append(constant if constant is not None else
                            self.fabric.arrival(origin.row, origin.column, f"{kind.value}{index}"))
        return operands

    def _result(self, origin: Origin) -> np.ndarray:
        """All cycles at once of an element that does not depend on itself."""
        config = self._element(origin)
        if config is None:
            return (np.arange(self.cycles) >= MemTileSpec.START_CYCLES).astype(np.int64)
        if config.op == COUNT.name:
            return self._counted(config, isinstance(origin, CoreOutput) and origin.port == "bit0")
        values = [np.full(self.cycles, o) if isinstance(o, int) else _later(self._known[o.origin], o.lag + PE_LATENCY)
                  for o in self._operands(origin)]
        return self._apply(config, values)

    def _counted(self, config: PeConfig, bit: bool) -> np.ndarray:
        first, stride, last = (constant or 0 for constant in config.constants)
        ones = (1 << self.fabric.spec.width) - 1
        values, value = [], first
        for _ in range(self.cycles):
            values.append(value)
            value = 0 if value == last else value + stride & ones
        found = np.array(values, dtype=np.int64)
        return (found == last).astype(np.int64) if bit else found

    def _apply(self, config: PeConfig, values: list[np.ndarray]) -> np.ndarray:
        result = operation_evaluator(config, [lambda _, v=v: v for v in values], self.fabric.spec.width)({})
        unknown = np.zeros(len(values[0]), dtype=bool)
        for number, value in enumerate(values):
            needed = np.ones(len(value), dtype=bool)
            if config.op == "select" and number:
                needed = values[0] == 2 - number
            unknown |= needed & (value == UNKNOWN)
        return np.where(unknown, UNKNOWN, result)

    def _run_loop(self, loop: list[Origin]) -> None:
        """Elements that depend on each other, a few cycles at a time: as many as the quickest way between them."""
        operands = {origin: self._operands(origin) for origin in loop}
        inner = [a.lag + PE_LATENCY for o in loop for a in operands[o] if isinstance(a, Arrival) and a.origin in loop]
        step = min(inner)
        values = {origin: np.full(self.cycles, UNKNOWN, dtype=np.int64) for origin in loop}
        for start in range(0, self.cycles, step):
            now = np.arange(start, min(start + step, self.cycles))
            for origin in loop:
                config = self._element(origin)
                assert config is not None
                taken = [np.full(len(now), a) if isinstance(a, int) else
                         _at(values[a.origin] if a.origin in values else self._known[a.origin],
                             now - a.lag - PE_LATENCY) for a in operands[origin]]
                values[origin][now] = self._apply(config, taken)
        self._known |= values


def _reached(origin: Origin, graph: Mapping[Origin, list[Origin]]) -> set[Origin]:
    """Outputs that an output depends on, itself only if it is in a loop."""
    found: set[Origin] = set()
    waiting = list(graph[origin])
    while waiting:
        other = waiting.pop()
        if other not in found:
            found.add(other)
            waiting += graph.get(other, [])
    return found


def _later(values: np.ndarray, cycles: int) -> np.ndarray:
    return _at(values, np.arange(len(values)) - cycles)


def _at(values: np.ndarray, index: np.ndarray) -> np.ndarray:
    """``values[index]``, unknown outside of the run."""
    inside = (index >= 0) & (index < len(values))
    return np.where(inside, values[np.where(inside, index, 0)], UNKNOWN)


class AddressedProof:
    """One memory of kind "dual-port-pe"; stands for `MemoryProof` and for `MemoryNumbers`."""

    port_pairs = 0
    even = False

    def __init__(self, name: str, place: tuple[int, int], config: AddressedConfig, streams: AddressStreams) -> None:
        self.name = name
        self.place = place
        self.config = config
        self.streams = streams

    @property
    def spec(self) -> MemTileSpec:
        """Sizes of the memory."""
        return self.streams.fabric.spec.mem

    @property
    def largest(self) -> int:
        """Cycles, in each of which there can be a write and a read."""
        return self.streams.cycles

    def _places(self, addresses: np.ndarray, port: AddressedInput | AddressedOutput) -> tuple[np.ndarray, np.ndarray]:
        logical = port.base | (addresses & port.mask)
        chain_id, bits = self.config.chain_id, self.spec.sram_bits
        own = np.full(len(logical), True) if chain_id is None else logical >> bits == chain_id
        return logical & ((1 << bits) - 1), own

    @cached_property
    def _writes(self) -> tuple[np.ndarray, np.ndarray]:
        """Places and cycles of all writes that are known to happen after the last one that is not known."""
        port = next(iter(self.config.inputs), None)
        if port is None:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        address = self.streams.arriving(*self.place, "write_address")
        enable = self.streams.arriving(*self.place, "write_enable") if port.gated else np.ones_like(address)
        unknown = np.flatnonzero((enable == UNKNOWN) | ((enable == 1) & (address == UNKNOWN)))
        cycle = np.flatnonzero(enable == 1)
        cycle = cycle[cycle > (unknown[-1] if len(unknown) else -1)]
        place, own = self._places(address[cycle], port)
        return place[own], cycle[own]

    def _read(self, output: int, visible: np.ndarray) -> tuple[AddressedOutput | None, np.ndarray]:
        """The output and the addresses whose words it shows in these cycles."""
        port = self.config.outputs[output] if output < len(self.config.outputs) else None
        return port, _at(self.streams.arriving(*self.place, "read_address"), visible - 2)

    def seen(self, output: int, visible: np.ndarray) -> Seen:
        """As `MemoryNumbers.seen`."""
        port, address = self._read(output, visible)
        zero = np.zeros(len(visible), dtype=np.int64)
        if port is None:
            return Seen(zero != 0, zero, zero)
        place, own = self._places(address, port)
        places, cycles = self._writes
        write = last_write(place, visible - 2, places, cycles)
        written = cycles[np.maximum(write, 0)] if len(cycles) else zero
        found = (address != UNKNOWN) & np.where(own, write >= 0, port.chained)
        return Seen(found, np.where(own, 0, self.spec.inputs + output), np.where(own, written, visible - 1))

    def contents(self, output: int, visible: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As `MemoryNumbers.contents`."""
        port, address = self._read(output, visible)
        if port is None or any(self.config.inputs) or port.chained:
            return np.zeros(len(visible), dtype=bool), np.zeros(len(visible), dtype=np.int64)
        table = np.zeros(self.spec.capacity_words, dtype=np.int64)
        table[: len(self.config.contents)] = self.config.contents
        return address != UNKNOWN, table[self._places(address, port)[0]]

    def shown(self, output: int) -> list[tuple[str, isl.Map]]:
        """There is no relation for all cycles. Raises `ValidationError`."""
        raise ValidationError(f"memory {self.name}: the run of {self.largest} cycles is too long to follow the "
                              f"addresses of output {output} through processing elements")

    def shown_in(self, output: int, cycles: isl.Set) -> list[tuple[str, isl.Map]]:
        """As `MemoryProof.shown_in`."""
        visible = all_points(cycles)[:, 0]
        seen = self.seen(output, visible)
        found: dict[str, isl.Map] = {}
        for ok, number, cycle, show in zip(seen.found, seen.port, seen.cycle, visible, strict=True):
            if ok:
                port = f"in{number}" if number < self.spec.inputs else f"chain{number - self.spec.inputs}"
                pair = isl.Map(f"{{ [{show}] -> [{cycle}] }}")
                found[port] = found[port].union(pair) if port in found else pair
        return list(found.items())
