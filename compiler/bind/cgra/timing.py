"""The difference constraints that a netlist and its routes put on physical times.

One variable per timed thing: a PE (both outputs appear in the same cycle), an output pin of a memory or an
input stream, an input pin of a memory or an output stream. Its value T is the physical cycle of logical
cycle 0. Times are unstalled cycles. Liu 2023, sections 4.2 and 5.7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ortools.linear_solver import pywraplp

from compiler.bind.cgra.netlist import Edge, Netlist, PeNode, Pin, SkewBound, StreamIn, StreamOut
from hw.errors import SluiceError

__all__ = ["INPUT_STAGE", "MEMORY_START", "Bound", "RecurrenceViolation", "TimingSystem", "latency", "linear_solver"]

INPUT_STAGE = 1
"""Cycles from a track wire to the core behind an input stage without extra delay; also the IO connection box."""
MEMORY_START = 4
"""A memory output has its first fetch in cycle 0 at the earliest and is visible so many cycles later."""


class RecurrenceViolation(SluiceError):
    """A loop of connections is slower than its logical distance allows; no delay can repair that."""

    def __init__(self, causes: tuple[Edge | SkewBound, ...], excess: int, message: str = ""):
        self.causes, self.excess = causes, excess
        pins = [c.sink if isinstance(c, Edge) else c.output for c in causes]
        self.units = tuple(dict.fromkeys(pin.node for pin in pins))
        path = " -> ".join(map(str, [*pins, pins[0]]))
        super().__init__(message or f"the recurrence {path} is {excess} cycles longer than its dependence distances "
                         "allow")

    def of(self, labels: Mapping[str, str]) -> RecurrenceViolation:
        """The same error for a user, if units of a statement are in the loop. `labels`: of every statement."""
        mine = list(dict.fromkeys(labels[name] for unit in self.units if (name := unit.partition(".")[0]) in labels))
        if not mine:
            return self
        others = f" through {', '.join(mine[1:])}" if len(mine) > 1 else ""
        units = sum(unit.partition(".")[0] in labels for unit in self.units)
        return RecurrenceViolation(self.causes, self.excess, (
            f"{mine[0]}: its loop-carried dependence{others} passes {units} processing elements and arrives "
            f"{self.excess} cycles after the next iteration needs it; compute less between two iterations, or put a "
            "loop that carries nothing inside"))


@dataclass(frozen=True)
class Bound:
    """``low <= T[after] - T[before] <= high``."""

    before: int
    after: int
    low: int
    high: int
    cause: Edge | SkewBound


def latency(netlist: Netlist, edge: Edge) -> int:
    """Cycles from the last track wire of an edge to the sink's time, with no extra delay."""
    node = netlist.nodes[edge.sink.node]
    return node.latency if isinstance(node, PeNode) else INPUT_STAGE


@dataclass
class TimingSystem:
    """All constraints of a routed netlist.

    `hops` gives the switch-box registers on the way to each sink pin, `delay_depth` the depth of an input
    stage (extra delays 0 .. delay_depth - 1), `stream_latency` the earliest time of an input stream.
    """

    netlist: Netlist
    hops: Mapping[Pin, int]
    delay_depth: int
    stream_latency: int
    variables: dict[Pin, int] = field(default_factory=dict, init=False)
    bounds: list[Bound] = field(default_factory=list, init=False)
    anchors: dict[int, int] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        for edge in self.netlist.edges:
            self._add_edge(edge)
        for s in self.netlist.separations:
            self.bounds.append(Bound(self.variable(s.input), self.variable(s.output), s.minimum, s.maximum, s))
        self._anchor()

    def variable(self, pin: Pin) -> int:
        """Index of the variable that times `pin`; the pins of a PE share one."""
        if isinstance(self.netlist.nodes[pin.node], PeNode):
            pin = Pin(pin.node, "")
        return self.variables.setdefault(pin, len(self.variables))

    def outputs(self) -> list[int]:
        """Variables of the output streams."""
        nodes = self.netlist.nodes
        return [index for pin, index in self.variables.items() if isinstance(nodes[pin.node], StreamOut)]

    def _add_edge(self, edge: Edge) -> None:
        low = self.hops[edge.sink] + latency(self.netlist, edge) - edge.distance
        fixed = isinstance(self.netlist.nodes[edge.sink.node], StreamOut)
        high = low if fixed else low + self.delay_depth - 1
        self.bounds.append(Bound(self.variable(edge.source), self.variable(edge.sink), low, high, edge))

    def _anchor(self) -> None:
        """Give a lower bound to everything that no other constraint bounds from below, and to what has an earliest
        time."""
        followers = {bound.after for bound in self.bounds}
        for pin, index in self.variables.items():
            if isinstance(self.netlist.nodes[pin.node], StreamIn):
                self.anchors[index] = self.stream_latency
            elif index not in followers:
                self.anchors[index] = MEMORY_START
        successors: dict[int, list[int]] = {}
        for bound in self.bounds:
            successors.setdefault(bound.before, []).append(bound.after)
        reached: set[int] = set()
        _reach(self.anchors, successors, reached)
        for index in range(len(self.variables)):
            if index not in reached:
                self.anchors[index] = MEMORY_START
                _reach([index], successors, reached)
        for pin, start in self.netlist.starts.items():
            if pin in self.variables:
                index = self.variables[pin]
                self.anchors[index] = max(start, self.anchors.get(index, start))

    def earliest(self, *, limits: bool) -> list[int]:
        """The least solution, which is the least in every variable at once.

        With `limits` off, input stages may delay without bound. Raises `RecurrenceViolation` if there is no solution.
        """
        arcs = [(b.before, b.after, b.low, b) for b in self.bounds]
        arcs += [(b.after, b.before, -b.high, b) for b in self.bounds if limits or self._hard(b)]
        times: list[int | None] = [self.anchors.get(index) for index in range(len(self.variables))]
        via: dict[int, tuple[int, Bound, int]] = {}
        for _ in range(len(times) + 1):
            changed = -1
            for before, after, weight, bound in arcs:
                start, end = times[before], times[after]
                if start is not None and (end is None or start + weight > end):
                    times[after] = start + weight
                    via[after] = (before, bound, weight)
                    changed = after
            if changed < 0:
                return [time if time is not None else MEMORY_START for time in times]
        raise _loop(via, changed)

    def latest(self, earliest: list[int]) -> list[int]:
        """The greatest times with which, delays unlimited, no output is later than in `earliest`.

        What leads to no output has the greatest of all.
        """
        end = max(earliest, default=0)
        outputs = self.outputs()
        last = max((earliest[index] for index in outputs), default=end)
        times = [last if index in outputs else end for index in range(len(earliest))]
        changed = True
        while changed:
            changed = False
            for bound in self.bounds:
                if times[bound.after] - bound.low < times[bound.before]:
                    times[bound.before] = times[bound.after] - bound.low
                    changed = True
        return times

    def _hard(self, bound: Bound) -> bool:
        """True where extra delay cannot be inserted."""
        return isinstance(bound.cause, SkewBound) or bound.low == bound.high


def linear_solver() -> pywraplp.Solver:
    """A simplex solver. Preprocessing is off: these programs are small, and it warns about unbounded variables."""
    solver = pywraplp.Solver.CreateSolver("GLOP")
    solver.SetSolverSpecificParametersAsString("use_preprocessing:false")
    return solver


def _reach(starts: Mapping[int, int] | list[int], successors: dict[int, list[int]], reached: set[int]) -> None:
    stack = list(starts)
    while stack:
        index = stack.pop()
        if index not in reached:
            reached.add(index)
            stack += successors.get(index, [])


def _loop(via: dict[int, tuple[int, Bound, int]], index: int) -> RecurrenceViolation:
    """The loop of constraints that keeps pushing variable `index`."""
    for _ in range(len(via)):
        index = via[index][0]
    causes: list[Edge | SkewBound] = []
    excess, current = 0, index
    while True:
        current, bound, weight = via[current]
        causes.append(bound.cause)
        excess += weight
        if current == index:
            return RecurrenceViolation(tuple(reversed(causes)), excess)
