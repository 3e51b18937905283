"""What the outputs of a memory tile show, cycle by cycle: the same last-write analysis as `memory`, in numbers.

For controllers that are real loop nests, relations can take long. Then all events are enumerated; that is as
complete, and takes time in proportion to the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hw.memtile import AffineNest, DualPortConfig, MemTileSpec, PubConfig, PubInput, PubOutput

__all__ = ["MemoryNumbers", "Seen", "last_write"]


@dataclass(frozen=True)
class Seen:
    """By query: whether it sees a word, the input port of that word (chain inputs come after the others), and the
    cycle in which it was at the input."""

    found: np.ndarray
    port: np.ndarray
    cycle: np.ndarray


def last_write(place: np.ndarray, until: np.ndarray, write_place: np.ndarray, write_time: np.ndarray) -> np.ndarray:
    """For every query the number of the last write to its place in cycles up to `until`, -1 if there is none."""
    if not len(write_place):
        return np.full(len(place), -1)
    span = int(max(write_time.max(), until.max(initial=0))) + 2
    order = np.lexsort((write_time, write_place))
    keys = (write_place * span + write_time + 1)[order]
    position = np.searchsorted(keys, place * span + np.maximum(until, -1) + 1, side="right") - 1
    found = order[np.maximum(position, 0)]
    return np.where((position >= 0) & (write_place[found] == place), found, -1)


class MemoryNumbers:
    """One configured memory tile, its events enumerated."""

    def __init__(self, config: PubConfig | DualPortConfig, spec: MemTileSpec) -> None:
        self.config = config
        self.spec = spec

    def seen(self, output: int, visible: np.ndarray) -> Seen:
        """What output `output` shows in the cycles `visible`: the word of the last read before, which it holds."""
        port = self.config.outputs[output] if output < len(self.config.outputs) else None
        if port is None:
            nothing = np.zeros(len(visible), dtype=np.int64)
            return Seen(nothing != 0, nothing, nothing)
        fired, event = self._event(port.read, visible)
        cycle = port.read.times()[event]
        address = self._addresses(port.read, 0, f"read{output}")[event]
        own, seen = (self._pub if self.spec.kind == "pub" else self._dual_port)(output, address, cycle)
        chain = np.full(len(visible), self.spec.inputs + output)
        port_number = np.where(own, seen.port, chain)
        found = fired & np.where(own, seen.found, port.chained)
        when = np.where(own, seen.cycle, cycle)
        if not port.passing:
            return Seen(found, port_number, when)
        passed = ~fired | (cycle != visible - 1)
        return Seen(found | passed, np.where(passed, chain, port_number), np.where(passed, visible - 1, when))

    def contents(self, output: int, visible: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Words of a memory that nothing writes, as output `output` shows them in these cycles; and where it does."""
        port = self.config.outputs[output] if output < len(self.config.outputs) else None
        zero = np.zeros(len(visible), dtype=np.int64)
        if port is None or any(self.config.inputs) or port.chained:
            return zero != 0, zero
        table = np.zeros(self.spec.capacity_words, dtype=np.int64)
        table[: len(self.config.contents)] = self.config.contents
        known, event = self._event(port.read, visible)
        word = self._addresses(port.read, 0, f"read{output}")[event]
        if not isinstance(port, PubOutput):
            return known, table[self._places(word, port)[0]]
        word = word % self.spec.tb_words
        blocks = self._addresses(port.fetch, 1, f"fetch{output}")
        fetch = last_write(word // self.spec.fetch_width, port.read.times()[event] - 2, blocks, port.fetch.times())
        wide = _pick(self._places(self._addresses(port.fetch, 0, f"fetch{output}"), port)[0], fetch)
        return known & (fetch >= 0), table[wide * self.spec.fetch_width + word % self.spec.fetch_width]

    def filled(self, words: np.ndarray) -> tuple[int, np.ndarray, np.ndarray, int]:
        """Of a memory with one input in use: the input, by word address whether it is stored and the cycle in which
        what is stored last was at the input, and the cycle of the last store, or -1."""
        port = next((k for k, source in enumerate(self.config.inputs) if source is not None), None)
        zero = np.zeros(len(words), dtype=np.int64)
        if port is None:
            return 0, zero != 0, zero, -1
        source = self.config.inputs[port]
        places, times, _, _ = self._writes
        end = int(times.max(initial=-1))
        width = self.spec.fetch_width if isinstance(source, PubInput) else 1
        store = last_write(words // width, np.full(len(words), end), places, times)
        if not isinstance(source, PubInput):
            return port, store >= 0, _pick(times, store), end
        write = np.where(store >= 0, self._aggregated(port, source, np.maximum(store, 0), words % width), -1)
        return port, write >= 0, _pick(source.write.times(), write), end

    def _event(self, nest: AffineNest, visible: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The read event whose word an output shows in each of these cycles: the last one before; if there is one."""
        event = np.searchsorted(nest.times(), visible - 1, side="right") - 1
        return event >= 0, np.maximum(event, 0)

    def _addresses(self, nest: AffineNest, number: int, controller: str) -> np.ndarray:
        width = self.spec.controllers[controller].address_widths[number]
        return nest.evaluate(nest.addresses[number]) % (1 << width)

    def _places(self, addresses: np.ndarray, port) -> tuple[np.ndarray, np.ndarray]:
        """Physical SRAM addresses, and whether they are this tile's."""
        logical = port.base | (addresses & port.mask)
        bits = self.spec.sram_bits
        chain_id = self.config.chain_id
        own = np.full(len(logical), True) if chain_id is None else logical >> bits == chain_id
        return logical & ((1 << bits) - 1), own

    @cached_property
    def _writes(self) -> tuple[np.ndarray, ...]:
        """All events that write the SRAM: place, cycle, input port, number of the event at its port."""
        role, number = ("store", 1) if self.spec.kind == "pub" else ("write", 0)
        columns: list[list[np.ndarray]] = [[], [], [], []]
        for k, port in enumerate(self.config.inputs):
            if port is not None:
                nest = getattr(port, role)
                place, own = self._places(self._addresses(nest, number, f"{role}{k}"), port)
                for column, values in zip(columns, (place, nest.times(), np.full(len(own), k), np.arange(len(own))),
                                          strict=True):
                    column.append(values[own])
        return tuple(np.concatenate(c) if c else np.zeros(0, dtype=np.int64) for c in columns)

    def _dual_port(self, output: int, address: np.ndarray, cycle: np.ndarray) -> tuple[np.ndarray, Seen]:
        """Words that are this tile's, and what the others see of its SRAM."""
        place, own = self._places(address, self.config.outputs[output])
        places, times, ports, _ = self._writes
        write = last_write(place, cycle - 1, places, times)
        return own, Seen(write >= 0, _pick(ports, write), _pick(times, write))

    def _pub(self, output: int, address: np.ndarray, cycle: np.ndarray) -> tuple[np.ndarray, Seen]:
        """The same through transpose buffer, SRAM and aggregators."""
        port, controller = self.config.outputs[output], f"fetch{output}"
        assert isinstance(port, PubOutput)
        word, fetched_at = address % self.spec.tb_words, port.fetch.times()
        blocks = self._addresses(port.fetch, 1, controller)
        fetch = last_write(word // self.spec.fetch_width, cycle - 2, blocks, fetched_at)
        sources, owns = self._places(self._addresses(port.fetch, 0, controller), port)
        places, times, ports, _ = self._writes
        store = last_write(_pick(sources, fetch), _pick(fetched_at, fetch) - 1, places, times)
        store = np.where(fetch >= 0, store, -1)
        own = (fetch < 0) | (_pick(owns.astype(np.int64), fetch) > 0)
        found, taken = np.zeros(len(word), dtype=bool), np.zeros(len(word), dtype=np.int64)
        for k, source in enumerate(self.config.inputs):
            here = (store >= 0) & (_pick(ports, store) == k)
            if isinstance(source, PubInput) and here.any():
                write = self._aggregated(k, source, store[here], word[here] % self.spec.fetch_width)
                found[here], taken[here] = write >= 0, _pick(source.write.times(), write)
        return own, Seen(found, _pick(ports, store), taken)

    def _aggregated(self, number: int, port: PubInput, store: np.ndarray, lane: np.ndarray) -> np.ndarray:
        """For lanes of stored blocks the write event of the input that put the word into the aggregator, or -1."""
        _, times, _, numbers = self._writes
        block = self._addresses(port.store, 0, f"store{number}")[numbers[store]]
        words = self._addresses(port.write, 0, f"write{number}") % self.spec.agg_words
        wanted = (block * self.spec.fetch_width + lane) % self.spec.agg_words
        return last_write(wanted, times[store] - 1, words, port.write.times())


def _pick(values: np.ndarray, index: np.ndarray) -> np.ndarray:
    """``values[index]``, 0 where the index is -1."""
    if not len(values):
        return np.zeros(len(index), dtype=np.int64)
    return np.where(index >= 0, values[np.maximum(index, 0)], 0)
