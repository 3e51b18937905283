"""That a ready-valid configuration does what the static mapping does, which is proven by itself.

Both configurations are decoded from their words. The static one assigns to every cycle and every output a word. Proven
here: each stream of tokens is what the same output shows in the static array from some cycle on (its start). Starts are
not taken from the compiler but found by following routes from unit to unit; each input must give the same one:

    start(result) = start(source) + route and delay of the static array - tokens at the start + latency of the unit.

Then the k-th firing of a unit has the operands of one static cycle. A buffet must append, read and look up in the
tokens of the same cycles as the static memory writes and reads, with the same addresses, and give nothing up that is
still to be read; a bank must send and take the same. Streams carry the same tokens whatever their timing (Kahn), so the
outputs are equal if the tokens do not stop. That is what the token game shows
(`compiler.bind.cgra.elastic.token_simulation`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from compiler.bind.cgra.elastic.address_unwrap import unwrapped
from compiler.bind.cgra.elastic.errors import ElasticError
from compiler.bind.cgra.validate.fabric import PE_LATENCY, Fabric, Origin
from hw.fabric.config import ArrayConfig, TileConfig
from hw.fabric.routing import CoreOutput, StreamSource
from hw.fabric.spec import GLB_INPUT_LATENCY, FabricSpec
from hw.memtile import AffineNest, BuffetConfig, DualPortConfig
from hw.pe.config import PeConfig

__all__ = ["require_same"]

_READ_LATENCY = 1
"""Cycles from a read of the static memory to the cycle in which its word is visible."""


def require_same(static: ArrayConfig, elastic: ArrayConfig, static_spec: FabricSpec, spec: FabricSpec) -> None:
    """Raise `ElasticError` unless `elastic` is the ready-valid form of `static`."""
    if static.ios != elastic.ios or static.tiles.keys() != elastic.tiles.keys():
        raise ElasticError("the ready-valid configuration uses other tiles than the static one")
    for place, tile in static.tiles.items():
        other = elastic.tiles[place]
        if (tile.switches, tile.connections) != (other.switches, other.connections):
            raise ElasticError(f"the routes of tile {place} are not those of the static configuration")
        if isinstance(tile.core, PeConfig) and tile.core != other.core:
            raise ElasticError(f"the processing element at {place} is not that of the static configuration")
    _Starts(static, elastic, static_spec, spec).check()


class _Starts:
    """Relations between the starts of outputs, and those that are known."""

    def __init__(self, static: ArrayConfig, elastic: ArrayConfig, static_spec: FabricSpec, spec: FabricSpec) -> None:
        self.static, self.elastic, self.spec = static, elastic, spec
        self.fabric = Fabric(static, static_spec)
        self.known: dict[Origin, int] = {}
        self.relations: list[tuple[Origin, Origin, int, str]] = []

    def check(self) -> None:
        """Find the starts of all outputs, then compare memories and banks."""
        for column, bank in self.static.banks.items():
            other = self.elastic.banks.get(column)
            if other is None or replace(other, nest=bank.nest, first=bank.first, lead=0) != bank:
                raise ElasticError(f"the bank of column {column} is not that of the static configuration")
            if other.nest.time_offset != other.lead or _moved(other.nest, bank.first - other.lead) != bank.nest:
                raise ElasticError(f"the bank of column {column} does not pass its words in the static order")
            if bank.direction == "input":
                self.known[StreamSource(column)] = bank.first - other.lead + GLB_INPUT_LATENCY
        for (row, column), tile in self.static.tiles.items():
            if tile.core is not None:
                self._relate(row, column, tile)
        self._solve()
        for (row, column), tile in self.static.tiles.items():
            if isinstance(tile.core, DualPortConfig):
                self._check_memory(row, column, tile.core)
        self._check_outputs()

    def _arrival(self, row: int, column: int, port: str) -> tuple[Origin, int]:
        """What an input takes, and the start at it less the start of that."""
        arrival = self.fabric.arrival(row, column, port)
        return arrival.origin, arrival.lag - self.elastic.tiles[row, column].delays.get(port, 0)

    def _relate(self, row: int, column: int, tile: TileConfig) -> None:
        core = tile.core
        if isinstance(core, PeConfig):
            output, latency = CoreOutput(row, column, core.output), PE_LATENCY
        elif isinstance(core, DualPortConfig) and core.rom:
            output, latency = CoreOutput(row, column, "out0"), self.spec.mem.ROM_LATENCY
        else:
            assert isinstance(core, DualPortConfig)
            self._known_memory(row, column, core)
            return
        for port in tile.connections:
            origin, lag = self._arrival(row, column, port)
            self.relations.append((origin, output, lag + latency, f"input {port} of tile ({row}, {column})"))

    def _known_memory(self, row: int, column: int, core: DualPortConfig) -> None:
        """A memory's reads tell its start: both read the first word that anybody uses."""
        other = self.elastic.tiles[row, column].core
        ports = [port for port in core.outputs if port is not None]
        if not isinstance(other, BuffetConfig) or other.read is None or len(ports) != 1:
            raise ElasticError(f"the memory at ({row}, {column}) is no buffet that is read")
        address = other.read.addresses[0]
        own = replace(other.read, addresses=(replace(address, offset=address.offset - other.present),))
        skipped = _skipped(ports[0].read, own)
        if skipped is None:
            raise ElasticError(f"the buffet at ({row}, {column}) reads other words than the static memory")
        self.known[CoreOutput(row, column, "out0")] = skipped + _READ_LATENCY

    def _solve(self) -> None:
        """Follow the relations until nothing new is known; each must agree."""
        pending = self.relations
        while pending:
            waiting = []
            for relation in pending:
                before, after, lag, what = relation
                if before in self.known:
                    start = self.known.setdefault(after, self.known[before] + lag)
                    if start != self.known[before] + lag:
                        raise ElasticError(f"{what} has {start - self.known[before] - lag} tokens too few at the start")
                else:
                    waiting.append(relation)
            if len(waiting) == len(pending):
                before, after, lag, _ = waiting[0]
                if after not in self.known:
                    raise ElasticError(f"nothing tells when the stream of {before} starts")
                self.known[before] = self.known[after] - lag
            pending = waiting

    def _check_memory(self, row: int, column: int, core: DualPortConfig) -> None:
        other = self.elastic.tiles[row, column].core
        assert isinstance(other, BuffetConfig)
        what = f"the buffet at ({row}, {column})"
        if (core.contents, core.rom) != (other.contents, other.lookup):
            raise ElasticError(f"{what} holds other words than the static memory")
        writes = [port for port in core.inputs if port is not None]
        if not writes:
            return
        origin, lag = self._arrival(row, column, "in0")
        if other.fill is None or _moved(other.fill, self.known[origin] + lag) != replace(writes[0].write, addresses=()):
            raise ElasticError(f"{what} is not filled by the words that the static memory writes")
        address = writes[0].write.evaluate(writes[0].write.addresses[0]) % (1 << 16)
        if not np.array_equal(address, np.arange(len(address)) % (1 << 16)):
            raise ElasticError(f"{what} is not filled in the order of the static memory's addresses")
        self._check_shrink(what, other)

    def _check_shrink(self, what: str, config: BuffetConfig) -> None:
        """Nothing is read after it has been given up."""
        if config.shrink is None or config.read is None:
            return
        reads, words = config.read.times(), unwrapped(config.read)
        lowest = np.append(np.minimum.accumulate(words[::-1])[::-1], np.iinfo(np.int64).max)
        times, heads = config.shrink.times(), unwrapped(config.shrink)
        if (np.diff(heads) < 0).any() or (heads > lowest[np.searchsorted(reads, times, side="right")]).any():
            raise ElasticError(f"{what} gives words up that are still to be read")

    def _check_outputs(self) -> None:
        """A unit without inputs, for which nothing tells a start, gives the same word in every cycle: any will do."""
        for column, bank in self.static.banks.items():
            if bank.direction == "output":
                arrival = self.fabric.capture(column)
                start = bank.first - self.elastic.banks[column].lead - arrival.lag
                if self.known.setdefault(arrival.origin, start) != start:
                    raise ElasticError(f"the bank of column {column} does not take the words of the static one")


def _moved(nest: AffineNest, cycles: int) -> AffineNest:
    return replace(nest, time_offset=nest.time_offset + cycles)


def _skipped(static: AffineNest, elastic: AffineNest) -> int | None:
    """By how many cycles the reads of the static memory are later than tokens of the buffet; the buffet may leave out
    reads that nobody uses. None if it reads anything else."""
    times, address = static.times(), static.evaluate(static.addresses[0]) % (1 << 16)
    mine, wanted = elastic.times(), elastic.evaluate(elastic.addresses[0]) % (1 << 16)
    for first in np.flatnonzero(address == wanted[0]).tolist():
        shift = int(times[first] - mine[0])
        place = np.searchsorted(times, mine + shift)
        if place[-1] < len(times) and (times[place] == mine + shift).all() and (address[place] == wanted).all():
            return shift
    return None
