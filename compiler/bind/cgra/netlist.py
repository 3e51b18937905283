"""The netlist of an application on the array: units, connections and logical timing, before placement.

Every value stream in the netlist has *logical* times, the cycles of the schedule; physical times follow
from them by retiming (`compiler.bind.cgra.retime`). Liu 2023, sections 4.2 and 5.7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from hw.errors import SluiceError
from hw.pe.config import PE_LATENCY, PeConfig

__all__ = ["Edge", "MemNode", "Netlist", "NetlistError", "Node", "PeNode", "Pin", "SkewBound", "StreamIn", "StreamOut"]

Network = Literal["word", "bit"]


class NetlistError(SluiceError):
    """The netlist contradicts itself: an unknown unit, a pin that is driven twice."""


@dataclass(frozen=True)
class PeNode:
    """One processing element. Pins: inputs word0..word2 and bit0..bit2, outputs word0 and bit0. `latency`: cycles from
    a track wire to its output, `PeSpec.latency` of its operation."""

    name: str
    config: PeConfig
    latency: int = PE_LATENCY


@dataclass(frozen=True)
class MemNode:
    """One memory tile. Pins: inputs in0, in1, chain0, chain1; outputs out0, out1. `depth`: its wide words, where the
    array has memories of several depths; None for the largest."""

    name: str
    depth: int | None = None


@dataclass(frozen=True)
class StreamIn:
    """A global-buffer bank that feeds the array. Pin: out."""

    name: str


@dataclass(frozen=True)
class StreamOut:
    """A global-buffer bank that collects from the array. Pin: in."""

    name: str


Node = PeNode | MemNode | StreamIn | StreamOut


@dataclass(frozen=True, order=True)
class Pin:
    """A named port of a unit."""

    node: str
    port: str

    def __str__(self) -> str:
        return f"{self.node}.{self.port}"


@dataclass(frozen=True)
class Edge:
    """A connection. At logical cycle s the sink uses the source's value of logical cycle ``s - distance``."""

    source: Pin
    sink: Pin
    network: Network
    distance: int = 0

    def __str__(self) -> str:
        return f"{self.source} -> {self.sink} ({self.network}, distance {self.distance})"


@dataclass(frozen=True)
class SkewBound:
    """Bounds on the retiming of a memory's output against one of its inputs: minimum <= T(out) - T(in) <= maximum."""

    output: Pin
    input: Pin
    minimum: int
    maximum: int


@dataclass(frozen=True)
class Netlist:
    """Units by name, connections, and the separations that memories impose. `starts`: the earliest times of outputs of
    memories, whose first fetch cannot come before the run starts."""

    nodes: dict[str, Node]
    edges: tuple[Edge, ...]
    separations: tuple[SkewBound, ...] = field(default=())
    starts: Mapping[Pin, int] = field(default_factory=dict)

    @cached_property
    def nets(self) -> dict[Pin, tuple[Edge, ...]]:
        """Edges grouped by the output pin that drives them."""
        groups: dict[Pin, list[Edge]] = {}
        for edge in self.edges:
            groups.setdefault(edge.source, []).append(edge)
        return {pin: tuple(edges) for pin, edges in groups.items()}

    def count(self, kind: type) -> int:
        """Number of units of one kind."""
        return sum(isinstance(node, kind) for node in self.nodes.values())

    def verify(self) -> None:
        """Raise `NetlistError` if an edge names an unknown unit or an input pin has two drivers."""
        driven: set[Pin] = set()
        for edge in self.edges:
            for pin in (edge.source, edge.sink):
                if pin.node not in self.nodes:
                    raise NetlistError(f"edge {edge}: there is no unit '{pin.node}'")
            if edge.sink in driven:
                raise NetlistError(f"input {edge.sink} is driven twice")
            driven.add(edge.sink)

    def __str__(self) -> str:
        lines = [f"{type(node).__name__} {name}" for name, node in self.nodes.items()]
        return "\n".join([*lines, *map(str, self.edges)])
