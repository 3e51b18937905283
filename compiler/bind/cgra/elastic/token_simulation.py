"""The token game: where every token of a configured ready-valid array is, cycle by cycle, without its value.

A model in Python of the handshakes alone, from the decoded configuration. It says in which cycle the last word reaches
its bank, that nothing stops before, and how full each buffet gets. Relays, queues and processing elements are arrays
of counts that advance together; the few buffets and banks advance one by one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from compiler.bind.cgra.elastic.address_unwrap import unwrapped
from compiler.bind.cgra.elastic.errors import ElasticError
from hw.fabric.config import ArrayConfig, TileConfig
from hw.fabric.driver import RunPlan
from hw.fabric.routing import CoreSource, Network, Side, Source, neighbour
from hw.fabric.spec import FabricSpec, TileKind
from hw.memtile import AffineNest, BuffetConfig
from hw.pe.config import PeConfig

__all__ = ["Outcome", "play"]

_RELAY = 2
"""Tokens in a relay."""

_Key = tuple
"""Names a source of tokens: a wire, an output of a core, or the stream into a column."""


@dataclass(frozen=True)
class Outcome:
    """`cycles`: until the last word is in its bank; `run_cycles`: until inputs have given all their words, too.
    `occupancy`: most words in the buffet of each tile."""

    cycles: int
    run_cycles: int
    occupancy: dict[tuple[int, int], int]


@dataclass
class _Circuit:
    """Takers (relays and queues) with their drivers, and sources; numbers instead of places."""

    sources: dict[_Key, int] = field(default_factory=dict)
    drivers: list[int] = field(default_factory=list)
    capacity: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    relays: dict[int, int] = field(default_factory=dict)
    queues: dict[tuple[int, int, str], int] = field(default_factory=dict)
    ups: dict[int, int] = field(default_factory=dict)

    def source(self, key: _Key) -> int:
        """Number of a source."""
        return self.sources.setdefault(key, len(self.sources))

    def taker(self, driver: _Key, capacity: int, tokens: int = 0) -> int:
        """A new taker of a source."""
        self.drivers.append(self.source(driver))
        self.capacity.append(capacity)
        self.tokens.append(tokens)
        return len(self.drivers) - 1


def _driver(spec: FabricSpec, row: int, column: int, network: Network, source: Source) -> _Key:
    """What a multiplexer of a tile that selects `source` takes."""
    if isinstance(source, CoreSource):
        return "core", row, column, source.port
    place = neighbour(spec, row, column, source.side)
    if place is None:
        return "stream", column
    return "wire", *place, network, source.side.opposite, source.track


def _circuit(config: ArrayConfig, spec: FabricSpec) -> _Circuit:
    circuit = _Circuit()
    for (row, column), tile in config.tiles.items():
        _add_tile(circuit, row, column, tile, spec)
    for column, bank in config.banks.items():
        if bank.direction == "input":
            down = circuit.taker(("bank", column), _RELAY)
            circuit.relays[circuit.source(("stream", column))] = down
    for column, io in config.ios.items():
        circuit.ups[column] = circuit.taker(("wire", 0, column, Network.WORD, Side.N, io.track), _RELAY)
    return circuit


def _add_tile(circuit: _Circuit, row: int, column: int, tile: TileConfig, spec: FabricSpec) -> None:
    for (network, side, track), source in tile.switches.items():
        relay = circuit.taker(_driver(spec, row, column, network, source), _RELAY)
        circuit.relays[circuit.source(("wire", row, column, network, side, track))] = relay
    for port, source in tile.connections.items():
        network = Network.BIT if port.startswith("bit") else Network.WORD
        driver = _driver(spec, row, column, network, source)
        circuit.queues[row, column, port] = circuit.taker(driver, spec.delay_depth, tile.delays.get(port, 0))


class _Buffet:
    """One buffet: `Buffet` of `hw.memtile.buffet` without values, and without updates."""

    def __init__(self, config: BuffetConfig, capacity: int) -> None:
        self.lookup, self.table, self.capacity = config.lookup, config.table, capacity
        self.fills = _times(config.fill)
        self.reads, self.addresses = _times(config.read), _addresses(config.read)
        self.shrinks, self.heads = _times(config.shrink), _addresses(config.shrink)
        self._head_now = 0
        self.taken = self.given = self.filled = self.head = self.read = self.shrunk = 0
        self.tail = self.most = config.present
        self.fetched = self.valid = False

    def step(self, offered: bool, room: bool) -> bool:
        """A cycle in which a token is `offered` to fill and there is `room` for the output; whether the former goes."""
        self._head_now = self.head
        loaded = not self.valid or room
        issue = (not self.fetched or loaded) and (offered if self.lookup else self._possible())
        takes = issue if self.lookup else offered and self._fill()
        self.valid, self.fetched = self.fetched or not loaded, issue or (self.fetched and not loaded)
        if issue and not self.lookup:
            self._issue()
        return takes

    def _fill(self) -> bool:
        kept = self.filled < len(self.fills) and self.fills[self.filled] == self.taken
        if kept and self.tail - self._head_now >= self.capacity:
            return False
        self.taken += 1
        self.filled += kept
        self.tail += kept
        self.most = max(self.most, self.tail - self._head_now)
        return True

    def _possible(self) -> bool:
        if self.table:
            return True
        if self._reads() and not self.head <= self.addresses[self.read] < self.tail:
            return False
        return not self._shrinks() or self.heads[self.shrunk] <= self.tail

    def _reads(self) -> bool:
        return self.read < len(self.reads) and self.reads[self.read] == self.given

    def _shrinks(self) -> bool:
        return self.shrunk < len(self.shrinks) and self.shrinks[self.shrunk] == self.given

    def _issue(self) -> None:
        self.read += self._reads()
        if self._shrinks():
            self.head = self.heads[self.shrunk]
            self.shrunk += 1
        self.given += 1


def _times(nest: AffineNest | None) -> list[int]:
    return [] if nest is None else nest.times().tolist()


def _addresses(nest: AffineNest | None) -> list[int]:
    return [] if nest is None else unwrapped(nest).tolist()


class _Bank:
    """One bank: `ElasticBank` without values. `cycle` numbers unstalled cycles."""

    def __init__(self, lead: int, first: int, plan: RunPlan, words: list[int]) -> None:
        self.plan, self.first = plan, first
        self.words = words
        self.stored = self.token = self.begun = 0
        self.passing, self.free, self.rest = lead > 0, False, lead - 1
        self.valid = False
        self.last = -1
        if lead == 0 and first == 0:
            self._open()
        elif first == 0:
            self.begun = 1

    def _open(self) -> None:
        self.passing, self.free, self.rest = True, False, self.plan.period - 1

    def step(self, cycle: int, possible: bool) -> bool:
        """Whether a token passes in this cycle, if that is `possible`."""
        tile, early = divmod(cycle + 1 - self.first, self.plan.period)
        begins = early == 0 and 0 <= tile < self.plan.tiles
        more = cycle <= self.first + (self.plan.tiles - 1) * self.plan.period
        passes = self.passing and possible
        if passes:
            if self.stored < len(self.words) and self.words[self.stored] == self.token:
                self.stored, self.last = self.stored + 1, cycle
            self.token += 1
        turns = not self.passing or (passes and self.rest == 0 and not self.free)
        opens = turns and (self.begun > 0 or begins)
        self.begun += begins - opens
        if opens:
            self._open()
        elif turns:
            self.passing = self.free = not more
        elif passes:
            self.rest -= 1
        return passes


def _bank(config: ArrayConfig, column: int, plan: RunPlan) -> _Bank:
    bank = config.banks[column]
    tiles = np.arange(plan.tiles)[:, None] * plan.period
    words = (bank.nest.times()[None, :] - bank.nest.time_offset + bank.lead + tiles).ravel().tolist()
    return _Bank(bank.lead, bank.first, plan, words)


class _Game:
    """The state of the whole array."""

    def __init__(self, config: ArrayConfig, plan: RunPlan, spec: FabricSpec) -> None:
        self.circuit = circuit = _circuit(config, spec)
        self.inputs = {c: _bank(config, c, plan) for c, b in config.banks.items() if b.direction == "input"}
        self.outputs = {c: _bank(config, c, plan) for c, b in config.banks.items() if b.direction == "output"}
        self.buffets = {place: _Buffet(tile.core, spec.mem.capacity_words)
                        for place, tile in config.tiles.items() if isinstance(tile.core, BuffetConfig)}
        self.elements = [place for place, tile in config.tiles.items()
                         if tile.core is not None and spec.tile_kind(*place) is TileKind.PE]
        self.count, self.capacity = np.array(circuit.tokens), np.array(circuit.capacity)
        self._number_elements(config)
        self._number_sources()

    def _number_elements(self, config: ArrayConfig) -> None:
        """Queues of processing elements with the number of their element, and the outputs of each."""
        circuit, number = self.circuit, {place: k for k, place in enumerate(self.elements)}
        mine = [(t, number[row, column]) for (row, column, _), t in circuit.queues.items() if (row, column) in number]
        self.operands = np.array([t for t, _ in mine], dtype=np.int64)
        self.owner = np.array([k for _, k in mine], dtype=np.int64)
        outputs = []
        for row, column in self.elements:
            core = config.tiles[row, column].core
            assert isinstance(core, PeConfig)
            outputs.append(circuit.source(("core", row, column, core.output)))
        self.results = np.array(outputs, dtype=np.int64)
        self.first = np.zeros(len(self.elements), dtype=bool)
        self.second = np.zeros(len(self.elements), dtype=bool)

    def _number_sources(self) -> None:
        circuit = self.circuit
        for place in self.buffets:
            circuit.source(("core", *place, "out0"))
        self.drivers = np.array(circuit.drivers, dtype=np.int64)
        self.relays = np.array([*circuit.relays.values()], dtype=np.int64)
        self.wires = np.array([*circuit.relays], dtype=np.int64)
        self.size = len(circuit.sources)

    def step(self, cycle: int) -> None:
        """One cycle of the whole array."""
        circuit = self.circuit
        room = self.count < self.capacity
        free = np.bincount(self.drivers[~room], minlength=self.size) == 0
        valid = np.zeros(self.size, dtype=bool)
        valid[self.wires] = self.count[self.relays] > 0
        valid[self.results] = self.second
        for place, buffet in self.buffets.items():
            valid[circuit.sources["core", *place, "out0"]] = buffet.valid
        for column, bank in self.inputs.items():
            valid[circuit.sources["bank", column]] = bank.valid
        moves = valid & free
        push = moves[self.drivers]
        pop = np.zeros(len(push), dtype=bool)
        pop[self.relays] = moves[self.wires]
        self._elements(moves, push, pop)
        for place, buffet in self.buffets.items():
            taker = circuit.queues.get((*place, "in0"))
            offered = taker is not None and bool(self.count[taker] or push[taker])
            taken = buffet.step(offered, bool(free[circuit.sources["core", *place, "out0"]]))
            if taker is not None:
                pop[taker] = taken
        for column, bank in self.inputs.items():
            ready = bool(free[circuit.sources["bank", column]])
            passes = bank.step(cycle, not bank.valid or ready)
            bank.valid = passes or (bank.valid and not ready)
        for column, bank in self.outputs.items():
            taker = circuit.ups[column]
            pop[taker] = bank.step(cycle, bool(self.count[taker]))
        self.count = self.count + push - pop

    def _elements(self, moves: np.ndarray, push: np.ndarray, pop: np.ndarray) -> None:
        missing = (self.count[self.operands] == 0) & ~push[self.operands]
        present = np.bincount(self.owner[missing], minlength=len(self.elements)) == 0
        leaves = moves[self.results]
        forward = self.first & (~self.second | leaves)
        fire = present & (~self.first | forward)
        pop[self.operands] = fire[self.owner]
        self.first, self.second = fire | (self.first & ~forward), forward | (self.second & ~leaves)


def play(config: ArrayConfig, plan: RunPlan, spec: FabricSpec, limit: int) -> Outcome:
    """Play until every output bank has its last word, and every input bank has given its own.

    Raises `ElasticError` if that takes more than `limit` cycles: then it stops for ever, or the limit is too low.
    """
    game = _Game(config, plan, spec)
    banks = game.outputs | game.inputs
    for cycle in range(limit):
        game.step(cycle)
        if all(bank.stored == len(bank.words) for bank in banks.values()):
            occupancy = {place: buffet.most for place, buffet in game.buffets.items()}
            return Outcome(max(bank.last for bank in game.outputs.values()) + 1, cycle + 1, occupancy)
    late = min(banks, key=lambda c: banks[c].stored / max(1, len(banks[c].words)))
    bank = banks[late]
    raise ElasticError(f"tokens stop: after {limit} cycles the bank of column {late} has {bank.stored} of "
                       f"{len(bank.words)} words")
