"""A cycle-by-cycle software model of the configured array: the second opinion that validation is tested against.

Follows the timing of the hardware's docstrings, one word per signal and cycle. Memories are the models of
`hw.memtile.model`. Nothing here is symbolic and nothing is shared with `compiler.bind.cgra.validate`.
"""

from __future__ import annotations

from collections.abc import Mapping as Dictionary

import numpy as np
from verify_mappings import Mapping

from compiler.ir.types import Int
from hw.dma.descriptor import DmaDescriptor
from hw.fabric.bank_config import BankConfig
from hw.fabric.routing import CoreOutput, Network, Side, StreamSource, TrackSource, Wire, neighbour
from hw.memtile import DualPortConfig, PubConfig
from hw.memtile.model import DualPortModel, MemModel, WideFetchModel
from hw.ops import OPERATIONS, Kind
from hw.pe.config import PeConfig

Place = tuple[int, int]


class ArrayModel:
    """The array of a mapping, and its main memory as 16-bit words (`memory`, from address 0)."""

    def __init__(self, mapping: Mapping, inputs: Dictionary[str, np.ndarray]) -> None:
        self.mapping, self.spec, self.plan = mapping, mapping.spec, mapping.plan
        self.cycles = self.plan.run_cycles
        ends = [mapping.addresses[a.name] // 2 + int(np.prod(a.shape)) for a in mapping.program.arrays
                if a.name in mapping.addresses]
        self.memory = np.zeros(max(ends) + 64, dtype=np.int64)
        for name, data in inputs.items():
            start = mapping.addresses[name] // 2
            self.memory[start: start + data.size] = np.asarray(data, dtype=np.int64).ravel() & 0xFFFF
        self.history: dict[object, list[int]] = {}
        self.models = {p: self._memory(t.core) for p, t in mapping.config.tiles.items()
                       if isinstance(t.core, PubConfig | DualPortConfig)}

    def run(self) -> None:
        """Run all cycles; `memory` then holds the outputs."""
        streams = {c: self._stream(b, self.plan.banks[c]) for c, b in self.mapping.config.banks.items()
                   if b.direction == "input"}
        for cycle in range(self.cycles):
            step: dict[object, int] = {StreamSource(c): words[cycle] for c, words in streams.items()}
            for place, tile in self.mapping.config.tiles.items():
                for (network, side, track), source in tile.switches.items():
                    wire = Wire(*place, network, side, track)
                    step[wire] = self._value(self._signal(place, network, source), cycle - 1)
                step |= self._core(place, cycle)
            for signal, value in step.items():
                self.history.setdefault(signal, []).append(value)
        for column, bank in self.mapping.config.banks.items():
            if bank.direction == "output":
                self._capture(column, bank, self.plan.banks[column])

    def output(self, name: str) -> np.ndarray:
        """An output array, as 16-bit patterns."""
        array = self.mapping.program.array(name)
        start = self.mapping.addresses[name] // 2
        return self.memory[start: start + int(np.prod(array.shape))].reshape(array.shape)

    def _value(self, signal: object, cycle: int) -> int:
        words = self.history.get(signal)
        return 0 if cycle < 0 or words is None else words[cycle]

    def _signal(self, place: Place, network: Network, source: object) -> object:
        if not isinstance(source, TrackSource):
            return CoreOutput(*place, source.port)
        beyond = neighbour(self.spec, *place, source.side)
        if beyond is not None:
            return Wire(*beyond, network, source.side.opposite, source.track)
        return StreamSource(place[1]) if source.side is Side.N and network is Network.WORD else None

    def _input(self, place: Place, port: str, cycle: int) -> int:
        """Word or bit at a core input in a cycle."""
        tile = self.mapping.config.tiles[place]
        if port not in tile.connections:
            return 0
        network = Network.BIT if port.startswith("bit") else Network.WORD
        signal = self._signal(place, network, tile.connections[port])
        return self._value(signal, cycle - 1 - tile.delays.get(port, 0))

    def _core(self, place: Place, cycle: int) -> dict[object, int]:
        core = self.mapping.config.tiles[place].core
        if isinstance(core, PeConfig):
            return {CoreOutput(*place, core.output): self._result(place, core, cycle - 1)}
        if place in self.models:
            model = self.models[place]
            shown = {CoreOutput(*place, f"out{o}"): word for o, word in enumerate(model.data_out)}
            ins = [self._input(place, f"in{i}", cycle) for i in range(self.spec.mem.inputs)]
            chain = [self._input(place, f"chain{o}", cycle) for o in range(self.spec.mem.outputs)]
            model.advance(cycle, ins, chain)
            if core.rom:
                model._serve_rom(ins[0])
            return shown
        return {}

    def _memory(self, core: PubConfig | DualPortConfig) -> MemModel:
        model = WideFetchModel(self.spec.mem) if isinstance(core, PubConfig) else DualPortModel(self.spec.mem)
        model.configure(core)
        model.conflict = model.rom_word = None
        model.configure_ports(core, self.cycles)
        return model

    def _result(self, place: Place, core: PeConfig, cycle: int) -> int:
        word, count, operands = Int(self.spec.width, core.signed), {Kind.WORD: 0, Kind.BIT: 0}, []
        for kind in core.operation.operands:
            index = count[kind]
            count[kind] += 1
            constant = (core.constants if kind is Kind.WORD else core.bit_constants)[index]
            value = self._input(place, f"{kind.value}{index}", cycle) if constant is None else constant
            own = kind is Kind.WORD and index == core.feedback
            if own and not (core.restart and self._input(place, "bit2", cycle)):
                value = self._value(CoreOutput(*place, core.output), cycle)
            operands.append(word.wrap(value) if kind is Kind.WORD else value)
        table = [core.table] if core.op == "lut3" else []
        result = int(OPERATIONS[core.op].evaluate(self.spec.width, *table, *operands))
        return result & (0xFFFF if core.operation.result is Kind.WORD else 1)

    # Banks.

    def _accesses(self, bank: BankConfig) -> list[tuple[int, int, int]]:
        """(cycle, tile, word address) of every access."""
        size = 2 * self.spec.glb.half_words
        events = [(time, addresses[0] % size) for time, addresses in bank.nest.events()]
        begin = bank.first - bank.nest.time_offset
        return [(t * self.plan.period + begin + time, t, address) for t in range(self.plan.tiles)
                for time, address in events]

    @staticmethod
    def _places(descriptor: DmaDescriptor, tile: int) -> np.ndarray:
        """Main-memory word addresses of a tile's packed words."""
        rows = [np.arange(start // 2, (start + descriptor.row_bytes) // 2) for start in descriptor.row_addresses(tile)]
        return np.concatenate(rows)

    def _stream(self, bank: BankConfig, descriptor: DmaDescriptor) -> list[int]:
        """Words on the tracks in every cycle: two cycles after the access, and held."""
        halves = [self.memory.take(self._places(descriptor, t), mode="wrap") for t in range(self.plan.tiles)]
        shown = {cycle + 2: int(halves[t][address % len(halves[t])]) for cycle, t, address in self._accesses(bank)}
        words, word = [], 0
        for cycle in range(self.cycles):
            word = shown.get(cycle, word)
            words.append(word)
        return words

    def _capture(self, column: int, bank: BankConfig, descriptor: DmaDescriptor) -> None:
        track = self.mapping.config.ios[column].track
        wire = Wire(0, column, Network.WORD, Side.N, track)
        for cycle, tile, address in self._accesses(bank):
            places = self._places(descriptor, tile)
            self.memory[places[address]] = self._value(wire, cycle - 1)
