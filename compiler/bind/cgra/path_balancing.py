"""Delay where the input stages do not have enough of it: chains of PEs that only pass their input on.

A PE that passes delays by its input stage and its result register, 2 .. delay_depth + 1 cycles, and by its own
hops. The sinks of a net that need much delay share one chain and tap it where it suits them (Liu 2023, section
5.1.2 and Figure 5.1b); sinks that need little stay on the net itself, which makes the tree of Figure 5.1c. A few
cycles can come from a longer route instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ortools.linear_solver import pywraplp

from compiler.bind.cgra.netlist import Edge, Netlist, Network, PeNode, Pin
from compiler.bind.cgra.timing import Bound, TimingSystem
from hw.errors import SluiceError
from hw.pe.config import PE_LATENCY, PeConfig

__all__ = ["DelayPlan", "UnbalanceablePathsError", "insert_delays", "pass_node", "plan_delays"]

_PASS, _DETOUR, _LATENCY = 200, 40, 2
"""Cost of a PE that passes, of a detour of two hops, of a cycle of output latency."""
_LONGEST_CHAIN = 64
_LONGEST_DETOUR = 4
"""Longest detour, in pairs of hops: a grid has no detour of an odd length."""
_SOLVER = "limits/nodes = 100\nlimits/gap = 0.01\n"
"""Limits that do not depend on the speed of the machine, so that results repeat."""
_IDENTITY = 0b10101010
"""Truth table of a LUT that gives its first input."""


class UnbalanceablePathsError(SluiceError):
    """Values would have to wait for others longer than passing through any chain of processing elements takes."""


@dataclass(frozen=True)
class DelayPlan:
    """`stages`: for each output pin that needs a chain, the sinks that tap each of its PEs; `detours`: the least
    hops wanted for the routes to sink pins."""

    stages: dict[Pin, tuple[tuple[Pin, ...], ...]]
    detours: dict[Pin, int]

    @property
    def count(self) -> int:
        """Number of PEs that pass."""
        return sum(map(len, self.stages.values()))

    def __str__(self) -> str:
        lines = [f"delay {pin}: " + " | ".join(", ".join(map(str, taps)) or "-" for taps in stages)
                 for pin, stages in self.stages.items()]
        return "\n".join([*lines, *(f"detour to {pin}: {hops} hops" for pin, hops in self.detours.items())])


def plan_delays(
    netlist: Netlist, hops: Mapping[Pin, int], delay_depth: int, stream_latency: int, *, detours: bool = True
) -> DelayPlan:
    """The fewest PEs that pass, then the fewest detours (none if not allowed), that let the retiming succeed.

    `hops` are those of the routes or an estimate. Raises `RecurrenceViolation` if no delay can help,
    `UnbalanceablePathsError` if it would have to be too long.
    """
    system = TimingSystem(netlist, hops, delay_depth, stream_latency)
    model = _Model(system, detours)
    model.solve()
    wanted = {edge.sink: hops[edge.sink] + 2 * pairs for edge, pairs in model.detours.items() if pairs}
    stages: dict[Pin, tuple[tuple[Pin, ...], ...]] = {}
    for pin, length in model.chains.items():
        if length:
            stages[pin] = _stages(model.needs(pin), delay_depth)
    return DelayPlan({pin: chain for pin, chain in stages.items() if chain}, wanted)


class _Model:
    """The integer program: times, length of the chain of each net, detour of each edge."""

    def __init__(self, system: TimingSystem, detours: bool):
        self.system = system
        self.earliest = system.earliest(limits=False)
        self.solver = pywraplp.Solver.CreateSolver("SCIP")
        self.solver.SetSolverSpecificParametersAsString(_SOLVER)
        horizon = max(self.earliest, default=0) + sum(abs(s.minimum) for s in system.netlist.separations)
        self.times = [self.solver.IntVar(time, horizon + 8 * system.delay_depth, "") for time in self.earliest]
        self.lengths = {pin: self.solver.IntVar(0, _LONGEST_CHAIN, "") for pin in system.netlist.nets}
        longest = _LONGEST_DETOUR if detours else 0
        self.pairs: dict[Edge, pywraplp.Variable] = {}
        for bound in system.bounds:
            self._constrain(bound, longest)
        self.detours: dict[Edge, int] = {}
        self.chains: dict[Pin, int] = {}

    def _constrain(self, bound: Bound, longest: int) -> None:
        gap = self.times[bound.after] - self.times[bound.before]
        self.solver.Add(gap >= bound.low)
        edge = bound.cause
        if not isinstance(edge, Edge) or bound.low == bound.high:
            self.solver.Add(gap <= bound.high)
            return
        self.pairs[edge] = pairs = self.solver.IntVar(0, longest, "")
        gain = self.system.delay_depth - 1 + PE_LATENCY
        self.solver.Add(gap - gain * self.lengths[edge.source] - 2 * pairs <= bound.high)

    def solve(self) -> None:
        """Find chain lengths, detours and times."""
        chains, pairs = list(self.lengths.values()), list(self.pairs.values())
        outputs = [self.times[index] for index in self.system.outputs()]
        total = self.solver.Sum
        self.solver.Minimize(_PASS * total(chains) + _DETOUR * total(pairs) + _LATENCY * total(outputs))
        if self.solver.Solve() not in (pywraplp.Solver.OPTIMAL, pywraplp.Solver.FEASIBLE):
            raise UnbalanceablePathsError(f"paths that meet differ by more cycles than chains of "
                                          f"{_LONGEST_CHAIN} processing elements can wait")
        self.chains = {pin: round(length.solution_value()) for pin, length in self.lengths.items()}
        self.detours = {edge: round(pairs.solution_value()) for edge, pairs in self.pairs.items()}

    def needs(self, pin: Pin) -> dict[Pin, int]:
        """Delay words that each sink of a net needs beyond its detour."""
        found: dict[Pin, int] = {}
        for bound in self.system.bounds:
            edge = bound.cause
            if isinstance(edge, Edge) and edge.source == pin and edge in self.pairs:
                times = [round(self.times[index].solution_value()) for index in (bound.before, bound.after)]
                found[edge.sink] = times[1] - times[0] - bound.low - 2 * self.detours[edge]
        return found


def _stages(needs: dict[Pin, int], delay_depth: int) -> tuple[tuple[Pin, ...], ...]:
    """Sinks that tap each PE of the shortest chain; those that the input stage can serve alone are left out."""
    waiting = sorted(((need, pin) for pin, need in needs.items() if need >= delay_depth), reverse=True)
    reach, stages = 0, []
    while waiting:
        reach = min(reach + delay_depth - 1 + PE_LATENCY, waiting[-1][0])
        taps: list[Pin] = []
        while waiting and waiting[-1][0] - reach < delay_depth:
            taps.append(waiting.pop()[1])
        stages.append(tuple(taps))
    return tuple(stages)


def pass_node(name: str, network: Network) -> PeNode:
    """A PE that gives its input word0 or bit0 on its output of the same name."""
    if network == "word":
        return PeNode(name, PeConfig("pass"))
    return PeNode(name, PeConfig("lut3", bit_constants=(None, 0, 0), table=_IDENTITY))


def insert_delays(netlist: Netlist, plan: DelayPlan) -> Netlist:
    """The netlist with the plan's chains."""
    nodes = dict(netlist.nodes)
    moved: dict[Pin, Pin] = {}
    added: list[Edge] = []
    for pin, stages in plan.stages.items():
        network, last = netlist.nets[pin][0].network, pin
        for number, taps in enumerate(stages):
            name = _fresh(f"{pin.node}_delay", number, nodes)
            nodes[name] = pass_node(name, network)
            added.append(Edge(last, Pin(name, f"{network}0"), network))
            last = Pin(name, f"{network}0")
            moved |= dict.fromkeys(taps, last)
    edges = [Edge(moved.get(e.sink, e.source), e.sink, e.network, e.distance) for e in netlist.edges]
    return replace(netlist, nodes=nodes, edges=(*edges, *added))


def _fresh(stem: str, number: int, taken: Mapping[str, object]) -> str:
    while f"{stem}{number}" in taken:
        number += 1
    return f"{stem}{number}"
