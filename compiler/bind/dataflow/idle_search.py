"""Idle ticks for the recurrences of a network: what a model of them chooses, with the channels that follow from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import networkx as nx

from compiler.bind.dataflow.chaining import chain_recurrences
from compiler.bind.dataflow.expressions import Pipeline
from compiler.bind.dataflow.idle_model import Box, IdleModel
from compiler.bind.dataflow.iteration_counters import Idle, TickClock
from compiler.bind.dataflow.options import Options
from compiler.bind.dataflow.timing import Carried, carry, later_ticks, settle, timing_needs
from compiler.bind.dataflow.word_ticks import CountedTicks
from compiler.sched.process_network import ProcessNetwork

__all__ = ["MOST_TICKS", "choose_idle", "recurrent_edges"]

MOST_TICKS = 1 << 16
"""Ticks of a clock behind any of which there may be idle ones."""

_AMPLE = 256
"""Idle ticks that are enough for all but recurrences of single ticks."""

_MOST_BOXES = 6
"""Boxes of firing times in which idle ticks are looked for apart."""

_MOST_NEEDS = 4
"""Times that what channels need is corrected by the idle ticks that were chosen."""


def recurrent_edges(network: ProcessNetwork) -> list[int]:
    """Numbers of the edges inside recurrences."""
    graph: nx.DiGraph[str] = nx.DiGraph((edge.source, edge.sink) for edge in network.edges)
    loops = list(nx.strongly_connected_components(graph))
    return [k for k, edge in enumerate(network.edges)
            if any({edge.source, edge.sink} <= members for members in loops)]


def choose_idle(network: ProcessNetwork, clock: TickClock, pipelines: Mapping[str, Pipeline],
                most: int, chained: Options | None = None) -> list[tuple[Idle, ...]]:
    """Idle ticks in `clock` with which the recurrences of `network` go at full rate: the fewest that are the same
    everywhere, and the fewest that differ between the nodes' firing times, if there may be fewer than `most`. With
    `chained`, operators of recurrences of single ticks are chained as these options say. Clocks with many ticks
    are not looked at."""
    if clock.ticks > MOST_TICKS:
        return []
    carried = carry(network, clock, recurrent_edges(network))
    if not all(isinstance(item.words, CountedTicks) for item in carried):
        return []
    search = _Search(network, clock, carried, dict(pipelines))
    if chained is not None and not search.chain(chained):
        return []
    whole: Box = tuple((counter.minimum, counter.maximum) for counter in clock.counters)
    boxes = tuple(dict.fromkeys((whole, *_firing_boxes(network, carried))))[:_MOST_BOXES]
    found = [search.idle(chosen, most) for chosen in dict.fromkeys((boxes[:1], boxes))]
    return [idle for idle in found if idle is not None and clock.added(idle, network.sizes) < most]


def _firing_boxes(network: ProcessNetwork, carried: Sequence[Carried]) -> list[Box]:
    """First and last firing time, by dimension, of each node of the edges."""
    names = {name for item in carried for name in (item.edge.source, item.edge.sink)}
    return [tuple(_extents(network, node.name)) for node in network.nodes if node.name in names]


def _extents(network: ProcessNetwork, name: str) -> Iterator[tuple[int, int]]:
    fired = network.times[name].range()
    for dim in range(fired.n_dim()):
        yield fired.dim_min_val(dim).to_python(), fired.dim_max_val(dim).to_python()


class _Search:
    """`carried`: the edges of recurrences, without idle ticks."""

    def __init__(self, network: ProcessNetwork, clock: TickClock, carried: list[Carried],
                 pipelines: dict[str, Pipeline]) -> None:
        self.network, self.clock, self.carried, self.pipelines = network, clock, carried, pipelines

    def chain(self, options: Options) -> bool:
        """Chain the operators of recurrences that are too short without idle ticks; whether that changes any."""
        levels = range(self.network.sizes + 1, len(self.clock.counters))
        late = self._late([Idle(level, _AMPLE, False) for level in levels])
        found = chain_recurrences(self.carried, self.pipelines, options, idling=late)
        if found is None or found[1] == self.pipelines:
            return False
        self.carried = [replace(item, registers=chained.registers)
                        for item, chained in zip(self.carried, found[0], strict=True)]
        self.pipelines = found[1]
        return True

    def _late(self, idle: Sequence[Idle]) -> list[Carried]:
        late = later_ticks(self.network, self.clock, idle, self.carried)(self.carried)
        return [replace(new, registers=old.registers) for new, old in zip(late, self.carried, strict=True)]

    def idle(self, boxes: Sequence[Box], most: int) -> tuple[Idle, ...] | None:
        """The fewest idle ticks, None if there are none or channels need others and others again, or if there are
        `most` at least."""
        moved = [item.words for item in self.carried if isinstance(item.words, CountedTicks)]
        model = IdleModel(self.clock, moved, self.network.sizes, boxes)
        late, needs = self.carried, timing_needs(self.carried, self.pipelines)
        bound = model.bound(needs) if model.fits else None
        if bound is None or bound >= most:
            return None
        for _ in range(_MOST_NEEDS):
            found = model.solve(needs)
            if found is None:
                return None
            late = [replace(new, memory=new.memory or old.memory)
                    for new, old in zip(self._late(found), late, strict=True)]
            if self._settles(late):
                return found
            late = [replace(item, memory=not item.constant) for item in late]
            later = timing_needs(late, self.pipelines)
            needs = [max(pair, key=lambda need: need.ticks) for pair in zip(needs, later, strict=True)]
        return None

    def _settles(self, late: list[Carried]) -> bool:
        return settle(self.network, late, self.pipelines) is not None
