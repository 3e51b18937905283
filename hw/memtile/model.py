"""Cycle-accurate software models of the memory cores.

They take a configuration as the compiler makes it and compute `data_out` cycle by cycle from the events of its nests.
They share no code with the hardware or with the encoding of configurations. Memories hold 0 at first and keep their
words from one configuration to the next, as the hardware does in simulation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np

from hw.memtile.affine import AffineNest
from hw.memtile.config import DualPortConfig, DualPortInput, DualPortOutput, PubConfig, PubInput, PubOutput
from hw.memtile.spec import MemTileSpec

__all__ = ["DualPortModel", "MemModel", "Trace", "WideFetchModel", "simulate"]

Config = PubConfig | DualPortConfig
Port = PubInput | PubOutput | DualPortInput | DualPortOutput
Schedule = dict[int, tuple[int, ...]]
"""Cycle -> addresses of the event in that cycle."""


@dataclass(frozen=True)
class Trace:
    """`data_out`: int64 array (outputs, cycles), the words on the ports in each cycle. `conflict`: the first cycle
    in which two controllers wanted one SRAM port, or None."""

    data_out: np.ndarray
    conflict: int | None


def simulate(config: Config, spec: MemTileSpec, data_in: np.ndarray, chain_in: np.ndarray | None = None) -> Trace:
    """Run a new core of the kind that `config` is for; see `MemModel.run`."""
    model = WideFetchModel(spec) if isinstance(config, PubConfig) else DualPortModel(spec)
    model.configure(config)
    return model.run(data_in, chain_in)


@dataclass(frozen=True)
class _Region:
    """Where SRAM addresses of a port lie: physical address, and whether it is in this tile."""

    base: int
    mask: int
    chain_id: int | None
    size: int

    def locate(self, address: int) -> tuple[int, bool]:
        logical = self.base | (address % 0x10000 & self.mask)
        tile, physical = divmod(logical, self.size)
        return physical, self.chain_id is None or tile == self.chain_id


class MemModel(ABC):
    """What the models of both kinds share. `rows` is the number of addresses of the SRAM."""

    def __init__(self, spec: MemTileSpec, rows: int) -> None:
        self.spec = spec
        self.sram = [0] * spec.capacity_words
        self.rows = rows
        self.configure_ports(None, 0)
        self.data_out = [0] * spec.outputs
        self.config: Config | None = None

    def configure(self, config: Config) -> None:
        """Reset everything but the memories, then load `config` and its contents."""
        self.config = config
        self.data_out = [0] * self.spec.outputs
        self.sram[: len(config.contents)] = config.contents

    def run(self, data_in: np.ndarray, chain_in: np.ndarray | None = None) -> Trace:
        """Flush, then run for as many unstalled cycles as `data_in` (inputs, cycles) has columns.

        `chain_in` (outputs, cycles) is 0 if absent.
        """
        cycles = data_in.shape[1]
        chain = np.zeros((self.spec.outputs, cycles), dtype=np.int64) if chain_in is None else chain_in
        out = np.zeros((self.spec.outputs, cycles), dtype=np.int64)
        self.conflict: int | None = None
        self.rom_words: deque[int] = deque()
        self.configure_ports(self.config, cycles)
        for cycle in range(cycles):
            out[:, cycle] = self.data_out
            self.advance(cycle, data_in[:, cycle].tolist(), chain[:, cycle].tolist())
            if self.config is not None and self.config.rom:
                self._serve_rom(int(data_in[0, cycle]))
        return Trace(out, self.conflict)

    @abstractmethod
    def configure_ports(self, config: Config | None, cycles: int) -> None:
        """Restart all controllers, for a run of `cycles`."""

    @abstractmethod
    def advance(self, cycle: int, data_in: list[int], chain_in: list[int]) -> None:
        """One unstalled cycle."""

    def _serve_rom(self, address: int) -> None:
        self.rom_words.append(self.sram[address % len(self.sram)])
        if len(self.rom_words) == self.spec.ROM_LATENCY:
            self.data_out[0] = self.rom_words.popleft()

    def _grant(self, ports: list[int], cycle: int) -> int | None:
        """The one of the requesting ports that gets an SRAM port."""
        if len(ports) > 1 and self.conflict is None:
            self.conflict = cycle
        return min(ports, default=None)

    def _region(self, port: Port) -> _Region:
        chain_id = None if self.config is None else self.config.chain_id
        return _Region(port.base, port.mask, chain_id, self.rows)


def _schedule(nest: AffineNest, cycles: int) -> Schedule:
    return dict(takewhile(lambda event: event[0] < cycles, nest.events()))


def _used(ports: Sequence[Port | None]) -> Iterator[tuple[int, Port]]:
    return ((number, port) for number, port in enumerate(ports) if port is not None)


def _passing(outputs: Sequence[Port | None]) -> list[int]:
    return [number for number, port in _used(outputs) if isinstance(port, PubOutput | DualPortOutput) and port.passing]


class DualPortModel(MemModel):
    """Model of `hw.memtile.dual_port.DualPortBuffer` and, with several SRAM ports, `hw.memtile.multi_port`."""

    def __init__(self, spec: MemTileSpec) -> None:
        super().__init__(spec, spec.capacity_words)

    def configure_ports(self, config: Config | None, cycles: int) -> None:
        inputs, outputs = (config.inputs, config.outputs) if isinstance(config, DualPortConfig) else ((), ())
        self.writes = {i: (_schedule(p.write, cycles), self._region(p)) for i, p in _used(inputs)}
        self.reads = {o: (_schedule(p.read, cycles), self._region(p), p.chained) for o, p in _used(outputs)}
        self.passing = _passing(outputs)

    def advance(self, cycle: int, data_in: list[int], chain_in: list[int]) -> None:
        self._read(cycle, chain_in)
        for port in self._granted([i for i, (schedule, _) in self.writes.items() if cycle in schedule], cycle):
            schedule, region = self.writes[port]
            address, own = region.locate(schedule[cycle][0])
            if own:
                self.sram[address] = data_in[port]

    def _granted(self, ports: list[int], cycle: int) -> list[int]:
        """Those of the requesting ports that get an SRAM port."""
        if self.spec.sram_ports > 1:
            return ports
        port = self._grant(ports, cycle)
        return [] if port is None else [port]

    def _read(self, cycle: int, chain_in: list[int]) -> None:
        granted = self._granted([o for o, (schedule, _, _) in self.reads.items() if cycle in schedule], cycle)
        for port in granted:
            schedule, region, chained = self.reads[port]
            address, own = region.locate(schedule[cycle][0])
            self.data_out[port] = chain_in[port] if chained and not own else self.sram[address]
        for other in self.passing:
            if other not in granted:
                self.data_out[other] = chain_in[other]


class WideFetchModel(MemModel):
    """Model of `hw.memtile.wide_fetch.WideFetchBuffer`."""

    def __init__(self, spec: MemTileSpec) -> None:
        self.agg = [[0] * spec.agg_words for _ in range(spec.inputs)]
        self.tb = [[0] * spec.tb_words for _ in range(spec.outputs)]
        self.tb_own = [[False] * spec.tb_blocks for _ in range(spec.outputs)]
        super().__init__(spec, spec.depth)

    def configure(self, config: Config) -> None:
        super().configure(config)
        self.tb_own = [[False] * self.spec.tb_blocks for _ in range(self.spec.outputs)]

    def configure_ports(self, config: Config | None, cycles: int) -> None:
        inputs, outputs = (config.inputs, config.outputs) if isinstance(config, PubConfig) else ((), ())
        self.fetched: tuple[int, int, list[int], bool] | None = None
        self.writes = {i: _schedule(p.write, cycles) for i, p in _used(inputs)}
        self.stores = {i: (_schedule(p.store, cycles), self._region(p)) for i, p in _used(inputs)}
        self.fetches = {o: (_schedule(p.fetch, cycles), self._region(p)) for o, p in _used(outputs)}
        self.reads = {o: (_schedule(p.read, cycles), p.chained) for o, p in _used(outputs)}
        self.passing = _passing(outputs)

    def advance(self, cycle: int, data_in: list[int], chain_in: list[int]) -> None:
        for port, (schedule, chained) in self.reads.items():
            if cycle in schedule:
                self._read(port, schedule[cycle][0], chain_in[port] if chained else None)
            elif port in self.passing:
                self.data_out[port] = chain_in[port]
        self._fill()
        self._access(cycle)
        for port, schedule in self.writes.items():
            if cycle in schedule:
                self.agg[port][schedule[cycle][0] % self.spec.agg_words] = data_in[port]

    def _read(self, port: int, address: int, foreign_word: int | None) -> None:
        address %= self.spec.tb_words
        own = self.tb_own[port][address // self.spec.fetch_width]
        self.data_out[port] = self.tb[port][address] if own or foreign_word is None else foreign_word

    def _fill(self) -> None:
        """The transpose buffer gets what was fetched in the last cycle."""
        if self.fetched is not None:
            port, block, words, own = self.fetched
            start = block * self.spec.fetch_width
            self.tb[port][start : start + len(words)] = words
            self.tb_own[port][block] = own
            self.fetched = None

    def _access(self, cycle: int) -> None:
        """One store or fetch. Ports are numbered in the order of priority: inputs, then outputs."""
        firing = [i for i, (schedule, _) in self.stores.items() if cycle in schedule]
        firing += [self.spec.inputs + o for o, (schedule, _) in self.fetches.items() if cycle in schedule]
        port = self._grant(firing, cycle)
        if port is not None and port < self.spec.inputs:
            self._store(port, cycle)
        elif port is not None:
            self._fetch(port - self.spec.inputs, cycle)

    def _store(self, port: int, cycle: int) -> None:
        schedule, region = self.stores[port]
        width = self.spec.fetch_width
        block, target = schedule[cycle]
        address, own = region.locate(target)
        start = block * width % self.spec.agg_words
        if own:
            self.sram[address * width : (address + 1) * width] = self.agg[port][start : start + width]

    def _fetch(self, port: int, cycle: int) -> None:
        schedule, region = self.fetches[port]
        width = self.spec.fetch_width
        source, block = schedule[cycle]
        address, own = region.locate(source)
        words = self.sram[address * width : (address + 1) * width]
        self.fetched = (port, block % self.spec.tb_blocks, words, own)
