"""Cycle-accurate software model of the memory cores.

It takes a configuration as the compiler makes it and computes `data_out` cycle by cycle from the events of its nests.
It shares no code with the hardware or with the encoding of configurations.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

import numpy as np

from hw.memtile.affine import AffineNest
from hw.memtile.config import DualPortConfig, DualPortInput, DualPortOutput, PubConfig, PubInput, PubOutput
from hw.memtile.spec import MemTileSpec

__all__ = ["Trace", "simulate"]

Port = PubInput | PubOutput | DualPortInput | DualPortOutput
Schedule = dict[int, tuple[int, ...]]
"""Cycle -> addresses of the event in that cycle."""


@dataclass(frozen=True)
class Trace:
    """`data_out`: int64 array (outputs, cycles), the words on the ports in each cycle; `conflict`: the first cycle
    in which two controllers wanted one SRAM port, or None."""

    data_out: np.ndarray
    conflict: int | None


def simulate(
    config: PubConfig | DualPortConfig, spec: MemTileSpec, data_in: np.ndarray, chain_in: np.ndarray | None = None
) -> Trace:
    """Run a core from cycle 0 for as many unstalled cycles as `data_in` (inputs, cycles) has columns.

    `chain_in` (outputs, cycles) is 0 if absent. Memories and outputs hold 0 at the start, save for the contents.
    """
    cycles = data_in.shape[1]
    chain = np.zeros((spec.outputs, cycles), dtype=np.int64) if chain_in is None else chain_in
    model = _WideFetch(config, spec, cycles) if isinstance(config, PubConfig) else _DualPort(config, spec, cycles)
    out = np.zeros((spec.outputs, cycles), dtype=np.int64)
    for cycle in range(cycles):
        out[:, cycle] = model.data_out
        model.advance(cycle, data_in[:, cycle].tolist(), chain[:, cycle].tolist())
    return Trace(out, model.conflict)


def _schedule(nest: AffineNest, cycles: int) -> Schedule:
    return dict(takewhile(lambda event: event[0] < cycles, nest.events()))


@dataclass
class _Region:
    """Where addresses of a port lie: (physical address, whether it is this tile's)."""

    base: int
    mask: int
    chain_id: int | None
    size: int

    def locate(self, address: int) -> tuple[int, bool]:
        logical = self.base | (address % 0x10000 & self.mask)
        tile, physical = divmod(logical, self.size)
        return physical, self.chain_id is None or tile == self.chain_id


def _region(port: Port, config: PubConfig | DualPortConfig, size: int) -> _Region:
    return _Region(port.base, port.mask, config.chain_id, size)


@dataclass
class _Core:
    """State that both kinds have."""

    spec: MemTileSpec
    sram: list[int]
    data_out: list[int]
    conflict: int | None = None
    rom_word: int | None = None

    def granted(self, ports: list[int], cycle: int) -> int | None:
        """The one of the requesting ports that gets an SRAM port."""
        if len(ports) > 1 and self.conflict is None:
            self.conflict = cycle
        return min(ports, default=None)

    def serve_rom(self, address: int) -> None:
        word, self.rom_word = self.rom_word, self.sram[address % len(self.sram)]
        self.data_out[0] = self.data_out[0] if word is None else word


def _core_state(config: PubConfig | DualPortConfig, spec: MemTileSpec) -> tuple[list[int], list[int]]:
    return [*config.contents, *[0] * (spec.capacity_words - len(config.contents))], [0] * spec.outputs


def _foreign(output: PubOutput | DualPortOutput, own: bool) -> bool:
    return output.chained and not own


class _DualPort(_Core):
    def __init__(self, config: DualPortConfig, spec: MemTileSpec, cycles: int) -> None:
        super().__init__(spec, *_core_state(config, spec))
        self.is_rom = config.rom
        self.inputs = {
            i: (_schedule(p.write, cycles), _region(p, config, spec.capacity_words))
            for i, p in enumerate(config.inputs)
            if p is not None
        }
        self.outputs = {
            o: (p, _schedule(p.read, cycles), _region(p, config, spec.capacity_words))
            for o, p in enumerate(config.outputs)
            if p is not None
        }

    def advance(self, cycle: int, data_in: list[int], chain_in: list[int]) -> None:
        if self.is_rom:
            self.serve_rom(data_in[0])
        self._read(cycle, chain_in)
        firing = [i for i, (schedule, _) in self.inputs.items() if cycle in schedule]
        port = self.granted(firing, cycle)
        if port is not None:
            schedule, region = self.inputs[port]
            address, own = region.locate(schedule[cycle][0])
            if own:
                self.sram[address] = data_in[port]

    def _read(self, cycle: int, chain_in: list[int]) -> None:
        port = self.granted([o for o, (_, schedule, _) in self.outputs.items() if cycle in schedule], cycle)
        if port is not None:
            output, schedule, region = self.outputs[port]
            address, own = region.locate(schedule[cycle][0])
            self.data_out[port] = chain_in[port] if _foreign(output, own) else self.sram[address]


class _WideFetch(_Core):
    def __init__(self, config: PubConfig, spec: MemTileSpec, cycles: int) -> None:
        super().__init__(spec, *_core_state(config, spec))
        self.is_rom = config.rom
        self.agg = [[0] * spec.agg_words for _ in range(spec.inputs)]
        self.tb = [[(0, False)] * spec.tb_words for _ in range(spec.outputs)]
        self.pending: tuple[int, int, list[tuple[int, bool]]] | None = None
        self.inputs = {
            i: (_schedule(p.write, cycles), _schedule(p.store, cycles), _region(p, config, spec.depth))
            for i, p in enumerate(config.inputs)
            if p is not None
        }
        self.outputs = {
            o: (p, _schedule(p.fetch, cycles), _schedule(p.read, cycles), _region(p, config, spec.depth))
            for o, p in enumerate(config.outputs)
            if p is not None
        }

    def advance(self, cycle: int, data_in: list[int], chain_in: list[int]) -> None:
        if self.is_rom:
            self.serve_rom(data_in[0])
        self._read(cycle, chain_in)
        self._fill()
        self._access(cycle)
        for i, (write, _, _) in self.inputs.items():
            if cycle in write:
                self.agg[i][write[cycle][0] % self.spec.agg_words] = data_in[i]

    def _read(self, cycle: int, chain_in: list[int]) -> None:
        for o, (output, _, read, _) in self.outputs.items():
            if cycle in read:
                word, own = self.tb[o][read[cycle][0] % self.spec.tb_words]
                self.data_out[o] = chain_in[o] if _foreign(output, own) else word

    def _fill(self) -> None:
        if self.pending is not None:
            port, start, words = self.pending
            self.tb[port][start : start + len(words)] = words
            self.pending = None

    def _access(self, cycle: int) -> None:
        """One store or fetch. Ports are numbered as in the priority order: inputs, then outputs."""
        firing = [i for i, (_, store, _) in self.inputs.items() if cycle in store]
        firing += [self.spec.inputs + o for o, (_, fetch, _, _) in self.outputs.items() if cycle in fetch]
        port = self.granted(firing, cycle)
        if port is not None and port < self.spec.inputs:
            self._store(port, cycle)
        elif port is not None:
            self._fetch(port - self.spec.inputs, cycle)

    def _store(self, port: int, cycle: int) -> None:
        _, store, region = self.inputs[port]
        width = self.spec.fetch_width
        block, target = store[cycle]
        address, own = region.locate(target)
        start = block * width % self.spec.agg_words
        if own:
            self.sram[address * width : (address + 1) * width] = self.agg[port][start : start + width]

    def _fetch(self, port: int, cycle: int) -> None:
        _, fetch, _, region = self.outputs[port]
        width = self.spec.fetch_width
        source, block = fetch[cycle]
        address, own = region.locate(source)
        words = [(word, own) for word in self.sram[address * width : (address + 1) * width]]
        self.pending = (port, block * width % self.spec.tb_words, words)
