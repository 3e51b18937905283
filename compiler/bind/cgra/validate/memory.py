"""What the outputs of a memory tile show, as relations between cycles, from the decoded affine nests alone.

For every output the result is {cycle in which a word is visible -> cycle in which it was at an input}. It comes from
last-write analysis, stage by stage and over all events at once: transpose buffer, SRAM, aggregator ("pub"), or SRAM
("dual-port"). Any write overwrites, so a value that is overwritten too early shows as another one. Also proven: no
SRAM port is used twice in a cycle (each pair of controllers has disjoint firing cycles).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import combinations

import islpy as isl

from compiler.bind.cgra.validate.nests import Events, Expression, field, increasing, modulo, quotient
from compiler.sched.verify import ValidationError, Writes, latest
from compiler.sched.verify.relations import first_point, simplified
from hw.memtile import AffineNest, DualPortConfig, MemTileSpec, PubConfig

__all__ = ["MemoryProof"]

Config = PubConfig | DualPortConfig


class MemoryProof:
    """One configured memory tile. `name` is for messages, `cycles` the length of the run.

    Raises `ValidationError` if a port is used twice in a cycle or a controller's time does not advance.
    """

    def __init__(self, name: str, config: Config, spec: MemTileSpec, cycles: int) -> None:
        self.name = name
        self.config = config
        self.spec = spec
        self.cycles = cycles
        self.port_pairs = 0
        self._events: dict[str, Events] = {}
        self._seen: dict[int, list[tuple[str, isl.Map]]] = {}
        self._only: isl.Set | None = None
        stages: Sequence[tuple[str, tuple]] = (("write", config.inputs), ("store", config.inputs),
                                               ("fetch", config.outputs), ("read", config.outputs))
        for role, ports in stages:
            for number, port in enumerate(ports):
                if port is not None and hasattr(port, role):
                    self._add(f"{role}{number}", getattr(port, role))
        self._require_free_ports()

    def _add(self, controller: str, nest: AffineNest) -> None:
        if not increasing(nest):
            raise ValidationError(f"memory {self.name}: the time of controller {controller} does not advance")
        widths = self.spec.controllers[controller].address_widths
        self._events[controller] = Events(controller, nest, widths, rings=True)

    def _roles(self, *roles: str) -> list[Events]:
        return [e for name, e in self._events.items() if name.rstrip("0123456789") in roles]

    def _require_free_ports(self) -> None:
        shared = [("store", "fetch")] if self.spec.kind == "pub" else [("write",), ("read",)]
        if self.spec.sram_ports > 1:
            return
        run = isl.Set(f"{{ [c] : 0 <= c < {self.cycles} }}")
        for roles in shared:
            for first, second in combinations(self._roles(*roles), 2):
                within = first.times.intersect_range(run)
                both = within.apply_range(second.times.reverse())
                if not both.is_empty():
                    cycle = first_point(within.intersect_domain(both.domain()).range())[0]
                    raise ValidationError(f"memory {self.name}: controllers {first} and {second} use one SRAM port "
                                          f"in cycle {cycle}")
                self.port_pairs += 1

    @property
    def even(self) -> bool:
        """Whether every controller is one homogeneous loop, as those of delay lines are."""
        return all(len(events.nest.ranges) == 1 for events in self._events.values())

    @property
    def largest(self) -> int:
        """Events of the controller that has most."""
        return max((events.nest.count for events in self._events.values()), default=0)

    def shown(self, output: int) -> list[tuple[str, isl.Map]]:
        """What output `output` shows: (input port, {visible cycle -> cycle at that input}) in pieces.

        Only cycles right after a read controller has fired are covered, not those in which the output just holds.
        """
        if output not in self._seen:
            self._seen[output] = self._shown(output, None)
        return self._seen[output]

    def shown_in(self, output: int, cycles: isl.Set) -> list[tuple[str, isl.Map]]:
        """The same for a few `cycles` only, which is quick however irregular the controllers are."""
        return self._shown(output, cycles)

    def _shown(self, output: int, cycles: isl.Set | None) -> list[tuple[str, isl.Map]]:
        read = self._events.get(f"read{output}")
        if read is None:
            return []
        visible = read.times.reverse().apply_domain(isl.Map("{ [c] -> [c + 1] }"))
        if cycles is not None:
            visible = visible.intersect_domain(cycles)
        self._only = None if cycles is None else visible.range()
        arrivals = self._arrivals_pub(output) if self.spec.kind == "pub" else self._arrivals_dual_port(output)
        return [(port, simplified(visible.apply_range(relation))) for port, relation in arrivals]

    def held(self, output: int, cycles: isl.Set) -> isl.Map:
        """{cycle -> the read event whose word output `output` shows in it}, the last one before."""
        read = self._events[f"read{output}"]
        asked = isl.Map("{ [c] -> held[] }").intersect_domain(cycles)
        at = isl.Map("{ [c] -> [c] }").intersect_domain(cycles)
        found = _last(asked, at, [(read, read.relation("held[]"))], delay=1)
        return found[0] if found else read.times.reverse().subtract(read.times.reverse())

    def table_words(self, output: int) -> isl.Map | None:
        """{read event -> word[number in the contents]} of a memory alone that nothing writes; None for any other."""
        port = self.config.outputs[output]
        if port is None or any(self.config.inputs) or port.chained or self.config.chain_id is not None:
            return None
        read, width = self._events[f"read{output}"], self.spec.fetch_width
        if self.spec.kind != "pub":
            place, _ = self._place(read, 0, port)
            return read.relation(f"word[{place.text}]")
        fetch, word = self._events[f"fetch{output}"], read.address(0)
        blocks = read.relation(f"tb[{quotient(word, width).text}]")
        fetched = _last(blocks, read.times, [(fetch, fetch.relation(f"tb[{fetch.address(1).text}]"))], delay=2)
        if not fetched:
            return None
        place, _ = self._place(fetch, 0, port)
        both = fetched[0].apply_range(fetch.relation(f"[{place.text}]")).range_product(
            read.relation(f"[{modulo(word, width).text}]"))
        return both.apply_range(isl.Map(f"{{ [[p] -> [l]] -> word[{width}*p + l] }}"))

    def _reads(self, accesses: isl.Map) -> isl.Map:
        """Accesses of the read events that are looked at."""
        return accesses if self._only is None else accesses.intersect_domain(self._only)

    def _reached(self, accesses: isl.Map, found: isl.Map) -> isl.Map:
        """Accesses of the events that `found` leads to, if only some read events are looked at."""
        return accesses if self._only is None else accesses.intersect_domain(found.range())

    # Places in the SRAM.

    def _place(self, events: Events, number: int, port) -> tuple[Expression, str]:
        """Physical SRAM address of address generator `number`, and the condition under which it is this tile's."""
        address = events.address(number, port.mask.bit_length())
        logical = _masked(address, port.mask, port.base)
        bits = self.spec.sram_bits
        physical, above = modulo(logical, 1 << bits), quotient(logical, 1 << bits)
        if self.config.chain_id is None:
            return physical, "0 = 0"
        return physical, f"{above.text} = {self.config.chain_id}"

    def _sram_access(self, events: Events, number: int, port) -> isl.Map:
        place, own = self._place(events, number, port)
        return events.relation(f"sram[{place.text}]", own)

    def _foreign(self, events: Events, number: int, port) -> isl.Set:
        _, own = self._place(events, number, port)
        return events.times.domain().subtract(events.relation("own[]", own).domain())

    @cached_property
    def _sram_writes(self) -> list[tuple[Events, isl.Map]]:
        """Events that write the SRAM, with their places."""
        role, number = ("store", 1) if self.spec.kind == "pub" else ("write", 0)
        found = []
        for k, port in enumerate(self.config.inputs):
            if port is not None:
                events = self._events[f"{role}{k}"]
                found.append((events, self._sram_access(events, number, port)))
        return found

    def _sram_sources(self, reader: Events, accesses: isl.Map) -> list[isl.Map]:
        """For every SRAM read the write event whose word it gets; a read sees writes of earlier cycles."""
        return _last(accesses, reader.times, self._sram_writes, delay=1)

    # The two kinds.

    def _arrivals_dual_port(self, output: int) -> list[tuple[str, isl.Map]]:
        read, port = self._events[f"read{output}"], self.config.outputs[output]
        accesses = self._reads(self._sram_access(read, 0, port))
        found = [self._input_of(relation) for relation in self._sram_sources(read, accesses)]
        if port is not None and port.chained:
            foreign = self._foreign(read, 0, port)
            found.append((f"chain{output}", self._reads(read.times).intersect_domain(foreign)))
        return found

    def _arrivals_pub(self, output: int) -> list[tuple[str, isl.Map]]:
        read, fetch = self._events[f"read{output}"], self._events[f"fetch{output}"]
        port, width = self.config.outputs[output], self.spec.fetch_width
        word = read.address(0)
        blocks = self._reads(read.relation(f"tb[{quotient(word, width).text}]"))
        filled = [(fetch, fetch.relation(f"tb[{fetch.address(1).text}]"))]
        lane = read.relation(f"lane[{modulo(word, width).text}]")
        accesses = self._sram_access(fetch, 0, port)
        found = []
        # A fetch in cycle c fills its block at the end of c + 1.
        for fetched in _last(blocks, read.times, filled, delay=2):
            for stored in self._sram_sources(fetch, self._reached(accesses, fetched)):
                found += self._through_aggregator(fetched.apply_range(stored).range_product(lane))
            if port is not None and port.chained:
                foreign = fetched.intersect_range(self._foreign(fetch, 0, port)).domain()
                found.append((f"chain{output}", read.times.intersect_domain(foreign)))
        return found

    def _through_aggregator(self, stored: isl.Map) -> list[tuple[str, isl.Map]]:
        """From {read -> [store event -> lane]} to the cycles in which the words were at the input."""
        store = self._events[stored.range().unwrap().get_tuple_name(isl.dim_type.in_)]
        number = store.name.removeprefix("store")
        write, width = self._events[f"write{number}"], self.spec.fetch_width
        point = f"[{store.point} -> lane[l]]"
        block = store.address(0)
        lanes = store.relation("lane[l]", f"0 <= l < {width}").wrap()
        words = isl.Map(f"{{ {point} -> agg[{width}*({block.text}) + l] }}").intersect_domain(lanes)
        times = isl.Map(f"{{ {point} -> [{store.cycle}] }}").intersect_domain(lanes)
        written = write.relation(f"agg[{modulo(write.address(0), self.spec.agg_words).text}]")
        sources = _last(self._reached(words, stored), times, [(write, written)], delay=1)
        return [self._input_of(stored.apply_range(relation)) for relation in sources]

    def _input_of(self, relation: isl.Map) -> tuple[str, isl.Map]:
        """{read -> write event} as the input port and {read -> cycle}."""
        write = self._events[relation.get_tuple_name(isl.dim_type.out)]
        return f"in{write.name.removeprefix('write')}", relation.apply_range(write.times)


def _masked(address: Expression, mask: int, base: int) -> Expression:
    """``base | (address & mask)``; the two have no bit in common."""
    parts, low = [], 0
    while mask >> low:
        if not mask >> low & 1:
            low += 1
            continue
        high = low
        while mask >> high & 1:
            high += 1
        parts.append(field(address, low, high))
        low = high
    text = " + ".join([*(p.text for p in parts), str(base)])
    return Expression(text, base + sum(p.low for p in parts), base + sum(p.high for p in parts))


def _last(reads: isl.Map, cycles: isl.Map, writers: Sequence[tuple[Events, isl.Map]], delay: int) -> list[isl.Map]:
    """Last writes by source; a read in cycle c sees writes of cycles up to c - `delay`."""
    sources = [Writes(places, events.times) for events, places in writers]
    return [found for found in latest(reads, sources, cycles, delay) if not found.is_empty()]
