"""With which logical cycle each stream of tokens begins, so that inputs can hold the tokens that taps need."""

from __future__ import annotations

from collections.abc import Collection

from compiler.bind.cgra.elastic.errors import ElasticError
from compiler.bind.cgra.netlist import Edge, Netlist, Pin, StreamOut
from compiler.bind.cgra.timing import TimingSystem

__all__ = ["Starts", "solve_initial_tokens"]


class Starts:
    """`lead(pin)`: tokens that the stream of a pin has before that of logical cycle 0, so one of cycle s is token
    ``s + lead``. `tokens(edge)`: tokens that the sink of an edge holds at the start."""

    def __init__(self, system: TimingSystem, leads: list[int]) -> None:
        self._system = system
        self._leads = leads

    def lead(self, pin: Pin) -> int:
        """Tokens of `pin` before the one of logical cycle 0."""
        return self._leads[self._system.variable(pin)]

    def tokens(self, edge: Edge) -> int:
        """At logical cycle s the sink takes the source's value of ``s - distance``."""
        return edge.distance + self.lead(edge.sink) - self.lead(edge.source)


def solve_initial_tokens(netlist: Netlist, system: TimingSystem, tables: Collection[str]) -> Starts:
    """The fewest tokens before logical cycle 0 with which every input holds between 0 and its depth less 1.

    `tables` names the memories that look words up: each token in is one out. Raises `ElasticError` if an input would
    have to hold more than it has room for.
    """
    arcs: list[tuple[int, int, int, Edge | None]] = []
    for edge in netlist.edges:
        source, sink = system.variable(edge.source), system.variable(edge.sink)
        most = 0 if isinstance(netlist.nodes[edge.sink.node], StreamOut) else system.delay_depth - 1
        arcs.append((source, sink, -edge.distance, edge))
        arcs.append((sink, source, edge.distance - most, edge))
    for name in tables:
        taken, given = system.variable(Pin(name, "in0")), system.variable(Pin(name, "out0"))
        arcs += [(taken, given, 0, None), (given, taken, 0, None)]
    leads = [0] * len(system.variables)
    last: Edge | None = None
    for _ in range(len(leads) + 1):
        changed = False
        for before, after, more, edge in arcs:
            if leads[before] + more > leads[after]:
                leads[after] = leads[before] + more
                changed, last = True, edge or last
        if not changed:
            return Starts(system, leads)
    raise ElasticError(f"connection {last}: an input holds {system.delay_depth} words, too few for those between taps")
