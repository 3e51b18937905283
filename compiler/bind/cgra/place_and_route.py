"""From a netlist to its place on an array: placement, routing, retiming and delays until they agree.

Liu 2023, section 5.7 and chapter 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from compiler.bind.cgra.budget import Budget
from compiler.bind.cgra.check import check
from compiler.bind.cgra.netlist import Netlist, PeNode, Pin
from compiler.bind.cgra.path_balancing import insert_delays, plan_delays
from compiler.bind.cgra.place import Placement, place
from compiler.bind.cgra.retime import DelayShortage, Retiming, retime
from compiler.bind.cgra.route import Routes, Unroutable, route
from compiler.bind.cgra.sites import ArrayTooSmall, check_capacity
from compiler.bind.cgra.timing import RecurrenceViolation
from hw.errors import SluiceError
from hw.fabric.spec import GLB_INPUT_LATENCY, FabricSpec

__all__ = ["Physical", "implement"]

_T = TypeVar("_T")

_TRIES = 8
_WORK = 400
"""Tries beyond the first that closes, to pick the best of: this by units ** (4/3), the cost of one."""
_USUAL_HOPS = (1, 0, 1, 0, 2)
"""Guesses of an edge's hops before placement, for one try after the other. A high one inserts more delays."""
_SPREADS = (1.5, 2.0, 3.0)
"""Room for routes, for as many tries as were unroutable."""
_HOPELESS = 3
"""First tries that find the array too small for the delays, after which there is no other."""
_REPAIRS, _STILL = 10, 3
"""Repairs in one try; after so many of them units stay where they are."""


@dataclass(frozen=True)
class Physical:
    """A netlist (with the PEs that only delay), where its units are, their connections and their times."""

    netlist: Netlist
    placement: Placement
    routes: Routes
    retiming: Retiming

    def __str__(self) -> str:
        return "\n".join(map(str, (self.placement, self.routes, self.retiming)))


def implement(netlist: Netlist, spec: FabricSpec, seed: int = 0, budget: Budget | None = None) -> Physical:
    """Place, route and retime; the same for the same arguments, and checked by `check`.

    Inserts PEs that only delay where the input stages cannot balance the paths. Of a few tries the one with the fewest
    PEs, then the earliest last output, then the fewest wires is taken. Raises `ArrayTooSmall`, `Unroutable`,
    `DelayShortage` or `RecurrenceViolation` if none succeeds, and `OutOfTime` before a try for which `budget` has no
    time.
    """
    netlist.verify()
    check_capacity(netlist, spec)
    enough = int(_WORK / max(1, len(netlist.nodes)) ** (4 / 3)) + 1
    closed: list[Physical] = []
    failures: list[SluiceError] = []
    for attempt in range(_TRIES):
        if len(closed) >= enough or (closed and attempt >= enough):
            break
        if budget is not None and not closed:
            budget.require()
        crowded = sum(isinstance(failure, Unroutable) for failure in failures)
        try:
            closed.append(_Try(netlist, spec, seed + attempt, _pick(_SPREADS, crowded)).close(attempt))
        except (ArrayTooSmall, DelayShortage, RecurrenceViolation, Unroutable) as failure:
            failures.append(failure)
        if len(failures) == _HOPELESS and all(isinstance(failure, ArrayTooSmall) for failure in failures):
            break
    if not closed:
        raise min(failures, key=_severity)
    best = min(closed, key=lambda p: (p.netlist.count(PeNode), p.retiming.latest, p.routes.wires))
    check(best, spec, netlist)
    return best


class _Try:
    """One placement and its repair."""

    def __init__(self, netlist: Netlist, spec: FabricSpec, seed: int, spread: float):
        self.original, self.netlist, self.spec, self.seed = netlist, netlist, spec, seed
        self.spread = spread
        self.detours: dict[Pin, int] = {}

    def close(self, attempt: int) -> Physical:
        """Insert, place, route and repair until the retiming succeeds."""
        self.anticipate(_pick(_USUAL_HOPS, attempt))
        placement = place(self.netlist, self.spec, self.seed, spread=self.spread)
        for repair in range(_REPAIRS):
            routes = route(self.netlist, placement, self.spec, self.detours)
            try:
                retiming = retime(self.netlist, routes.hops, self.spec.delay_depth, GLB_INPUT_LATENCY)
                return Physical(self.netlist, placement, routes, retiming)
            except DelayShortage as shortage:
                if repair == _REPAIRS - 1:
                    raise shortage
            if self.repair(routes):
                fixed = placement.sites if repair >= _STILL else None
                placement = place(self.netlist, self.spec, self.seed, fixed, start=placement)
        raise AssertionError("the last repair returns or raises")

    def anticipate(self, usual: int) -> None:
        """Insert the delays that routes of the usual length need, if there is room for them."""
        hops = {edge.sink: usual for edge in self.netlist.edges}
        plan = plan_delays(self.netlist, hops, self.spec.delay_depth, GLB_INPUT_LATENCY, detours=False)
        padded = insert_delays(self.netlist, plan)
        try:
            check_capacity(padded, self.spec)
        except ArrayTooSmall:
            return
        self.netlist = padded

    def repair(self, routes: Routes) -> bool:
        """Ask for detours or insert delays; whether there are new units to place."""
        plan = plan_delays(self.netlist, routes.hops, self.spec.delay_depth, GLB_INPUT_LATENCY)
        if not plan.count:
            self.detours |= plan.detours
            return False
        self.detours = {}
        self.netlist = insert_delays(self.netlist, plan)
        check_capacity(self.netlist, self.spec, self.netlist.count(PeNode) - self.original.count(PeNode))
        return True


def _severity(failure: SluiceError) -> int:
    """Orders failures: of arrays that are too small the one that came closest, before all others."""
    return failure.needed[0] if isinstance(failure, ArrayTooSmall) else 1 << 32


def _pick(values: tuple[_T, ...], index: int) -> _T:
    return values[min(index, len(values) - 1)]
